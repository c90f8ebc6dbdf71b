/* Choosing a token from a row of logits: bias, then samplers in a settable order, then a draw that
 * is a function of (seed, position), so that a continuation after a reload repeats.
 *
 * Where the formulae come from:
 *   repetition penalty  Keskar et al. 2019, arXiv 1909.05858
 *   presence, frequency OpenAI's API reference: logit - count * frequency - (count > 0) * presence
 *   top-p (nucleus)     Holtzman et al. 2019, arXiv 1904.09751
 *   locally typical     Meister et al. 2022, arXiv 2202.00666
 *   min-p               Nguyen et al. 2024, arXiv 2407.01082
 *   top-n-sigma         Tang et al. 2024, arXiv 2411.07641
 *   mirostat 2          Basu et al. 2020, arXiv 2007.14966
 *   XTC, DRY            their author's proposals: oobabooga/textgen pull requests 6335 and 5677 */
#ifndef RUN_SAMPLE_H
#define RUN_SAMPLE_H

#include "base/mem.h"
#include "kern/op.h"
#include "run/sample_repeat.h"

enum sample_step {
    SAMPLE_PENALTIES,
    SAMPLE_DRY,
    SAMPLE_TOP_N_SIGMA,
    SAMPLE_TOP_K,
    SAMPLE_TYPICAL,
    SAMPLE_TOP_P,
    SAMPLE_MIN_P,
    SAMPLE_XTC,
    SAMPLE_TEMP,
    SAMPLE_STEPS
};

/* Samplers in the order that they are used in. */
struct sample_order {
    u8 step[SAMPLE_STEPS]; /* enum sample_step */
    u32 n;
};
enum { SAMPLE_ORDER_TEXT = 128 }; /* room for the longest list of names */
/* Reads names with ';' or ',' between; NULL is the default. An unknown name is GLIM_ARG, or, where
 * unknown is not NULL, is written there (first one only, at most cap bytes) and left out. */
int sample_order_parse(struct sample_order *o, const char *names, char *unknown, size_t cap,
                       glim_err *e);
/* The names, as sample_order_parse reads them. */
void sample_order_text(const struct sample_order *o, char text[SAMPLE_ORDER_TEXT]);

/* What a glim_generation asks for, copied and laid out: everything that takes memory. */
struct sample_setup {
    struct arena arena;
    struct sample_order order;
    glim_logit_bias *bias; /* [n_bias] arena */
    u32 n_bias;
    struct dry dry;
    /* Row p, of n_logprobs + 1, belongs to the token at position p: itself, then the likeliest. */
    glim_logprob *logprobs; /* arena; NULL: not asked for */
    u32 *n_kept;            /* arena: entries in each row, 0 where no token was drawn */
};

struct sampler {
    glim_generation gen; /* numbers only: what it pointed to is in the setup */
    struct sample_setup setup;
    u32 vocab, n_ctx;
    struct candidate *work; /* [vocab] */
    u32 *counts;            /* [vocab] zero between calls */
    f32 *mu;     /* [n_ctx + 2] mirostat's state before a position; 0: at its beginning */
    i32 *drawn;  /* [n_ctx + 1] what was drawn for a position, -1 nothing */
    u32 n_known; /* positions below have entries in drawn that belong to the present text */
    bool fresh;  /* the last draw was for the position behind the text */
    struct dry_texts texts; /* how tokens are spelled; fn NULL: not known */
};

/* Numbers and names only; GLIM_ARG names the value and its range. */
int sample_check(const glim_generation *p, glim_err *e);

/* n_ctx: positions that tokens may be drawn for when mirostat or logprobs are on. Memory is from
 * arena; begins with glim_generation_default. */
int sampler_open(struct sampler *s, u32 vocab, u32 n_ctx, struct arena *arena, glim_err *e);
void sampler_close(struct sampler *s);
/* Checks p and prepares it, changing nothing; then sampler_adopt, which cannot fail, or
 * arena_free(&setup->arena). */
int sampler_prepare(const struct sampler *s, const glim_generation *p, struct sample_setup *setup,
                    glim_err *e);
void sampler_adopt(struct sampler *s, const glim_generation *p, const struct sample_setup *setup);

/* How a device can draw the token for position pos from the best logits alone. False where the
 * samplers need to see more than TOP_MOST of them. */
bool sample_plan(const struct sampler *s, u64 pos, struct draw *d);
/* As `sample`, with the d->n best logits that the plan d for this position asked for, best first.
 */
int sample_best(struct sampler *s, const struct draw *d, const f32 *ids, const f32 *logits, u64 pos,
                i32 *id, glim_err *e);

/* What is left to draw from, as `sample` has it: *c lies in s->work. With temp 0 nothing is cut. */
int sample_candidates(struct sampler *s, const f32 *logits, const i32 *ids, u32 n, u64 pos,
                      struct candidates *c, glim_err *e);
/* The token for position pos, from vocab logits, behind the n tokens ids. Allocates nothing.
 * GLIM_NUMERIC if a logit is NaN or +infinity, or no token is possible. The same call gives the
 * same token, until sampler_fed. */
int sample(struct sampler *s, const f32 *logits, const i32 *ids, u32 n, u64 pos, i32 *id,
           glim_err *e);
/* Token id now stands at position pos. Where it is the one that was drawn there, now or before a
 * rewind, mirostat's state and log-probabilities stay; otherwise they begin anew. */
void sampler_fed(struct sampler *s, u32 pos, i32 id);
/* Tokens from position n on are forgotten. */
void sampler_rewound(struct sampler *s, u32 n);
/* Row of position pos, n_ids tokens being there; NULL where there is none. */
const glim_logprob *sampler_logprobs(const struct sampler *s, size_t pos, u32 n_ids, size_t *n);

/* Uniform in [0, 1): the draw at a position, and one that is independent of it. */
f64 sample_draw(u64 seed, u64 pos);
f64 sample_draw_xtc(u64 seed, u64 pos);

#endif
