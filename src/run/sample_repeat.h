/* Samplers that look back: penalties on tokens that occurred, and DRY, a penalty on going on with a
 * sequence that occurred. */
#ifndef RUN_SAMPLE_REPEAT_H
#define RUN_SAMPLE_REPEAT_H

#include "base/mem.h"
#include "run/sample_cut.h"

/* How a token is spelled: bytes that live as long as whoever gave this. */
struct dry_texts {
    struct str (*fn)(const void *ud, i32 id);
    const void *ud;
};

struct dry {
    /* Breakers are looked for in the text, wherever tokens begin and end in it, by Knuth, Morris
     * and Pratt's method: back[k] is where a match of k bytes goes on when the next byte is
     * another.
     */
    struct dry_break {
        struct str text;
        u32 *back;   /* [text.n + 1] */
        u32 matched; /* bytes, by the end of the tokens marked so far */
    } * breaks;
    u32 n_breaks;
    u8 *marks;    /* [n_ctx] whether a breaker ends within the token */
    u32 n_marked; /* tokens looked at */
    u32 *reach;   /* [n_ctx] scratch */
};

/* Copies breakers and takes scratch for n_ctx tokens from arena. */
int dry_open(struct dry *d, const char *const *breaks, size_t n, u32 n_ctx, struct arena *arena,
             glim_err *e);
/* Tokens from n on are forgotten. */
void dry_rewound(struct dry *d, u32 n);
/* Penalises candidates behind the n tokens ids; p: dry_*. counts: [vocab] zero before and after. */
void dry_apply(struct dry *d, const glim_generation *p, const struct dry_texts *texts,
               struct candidates *s, const i32 *ids, u32 n, u32 *counts);

/* repeat_penalty, presence_penalty, frequency_penalty, for the n tokens ids. */
void repeat_penalties(const glim_generation *p, struct candidates *s, const i32 *ids, u32 n,
                      u32 *counts);

#endif
