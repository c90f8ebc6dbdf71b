/* The chain of samplers and its state. */
#include "run/sample.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- Names ----------------------------------------------------------------------------------- */

/* llama.cpp's names, which files and people use; the default order is that of enum sample_step. */
static const char *const step_names[SAMPLE_STEPS] = {
    "penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"};
static const struct {
    const char *name;
    u8 step;
} step_aliases[] = {
    {"typical_p", SAMPLE_TYPICAL}, {"typical", SAMPLE_TYPICAL}, {"temp", SAMPLE_TEMP}};

static i32 find_step(struct str word) {
    for (u32 i = 0; i < SAMPLE_STEPS; i++) {
        if (str_is(word, step_names[i])) return (i32)i;
    }
    for (u32 i = 0; i < COUNT(step_aliases); i++) {
        if (str_is(word, step_aliases[i].name)) return step_aliases[i].step;
    }
    return -1;
}

int sample_order_parse(struct sample_order *o, const char *names, char *unknown, size_t cap,
                       glim_err *e) {
    *o = (struct sample_order){0};
    for (; !names && o->n < SAMPLE_STEPS; o->n++)
        o->step[o->n] = (u8)o->n;
    if (unknown) unknown[0] = 0;
    for (const char *p = names; p && *p;) {
        struct str word = {p, strcspn(p, ";,")};
        p += word.n + (p[word.n] != 0);
        i32 step = find_step(word);
        if (step < 0 && unknown) {
            size_t n = MIN(word.n, cap - 1);
            if (unknown[0]) continue;
            memcpy(unknown, word.p, n);
            unknown[n] = 0;
            continue;
        }
        if (step < 0) {
            return fail(e, GLIM_ARG,
                        "samplers: '%.*s' is none of penalties, dry, top_n_sigma, top_k, typ_p, "
                        "top_p, min_p, xtc, temperature",
                        (int)MIN(word.n, 40u), word.p);
        }
        if (memchr(o->step, step, o->n)) {
            return fail(e, GLIM_ARG, "samplers: '%s' is named twice; each may be named once",
                        step_names[step]);
        }
        o->step[o->n++] = (u8)step;
    }
    return GLIM_OK;
}

void sample_order_text(const struct sample_order *o, char text[SAMPLE_ORDER_TEXT]) {
    size_t n = 0;
    for (u32 i = 0; i < o->n; i++) {
        const char *name = step_names[o->step[i]];
        if (i) text[n++] = ';';
        memcpy(text + n, name, strlen(name));
        n += strlen(name);
    }
    text[n] = 0;
}

/* ---- Checks ---------------------------------------------------------------------------------- */

#define SAMPLE_REAL(name, lo, hi)                                                                  \
    { #name, offsetof(glim_generation, name), lo, hi }
static const struct {
    const char *name;
    size_t at;
    f32 lo, hi;
} reals[] = {
    SAMPLE_REAL(temp, 0, 1000),
    SAMPLE_REAL(top_p, 0, 1),
    SAMPLE_REAL(min_p, 0, 1),
    SAMPLE_REAL(repeat_penalty, 0.01f, 100),
    SAMPLE_REAL(presence_penalty, -100, 100),
    SAMPLE_REAL(frequency_penalty, -100, 100),
    SAMPLE_REAL(typical_p, 0, 1),
    SAMPLE_REAL(top_n_sigma, 0, 1000),
    SAMPLE_REAL(xtc_probability, 0, 1),
    SAMPLE_REAL(xtc_threshold, 0, 1),
    SAMPLE_REAL(dry_multiplier, 0, 100),
    SAMPLE_REAL(dry_base, 1, 100),
    SAMPLE_REAL(mirostat_tau, 0, 100),
    SAMPLE_REAL(mirostat_eta, 0, 1),
};

enum { MOST_LOGPROBS = 100 };

static int check_texts(const glim_generation *p, glim_err *e) {
    for (size_t i = 0; p->dry_breakers && i < p->n_dry_breakers; i++) {
        if (p->dry_breakers[i] && *p->dry_breakers[i]) continue;
        return fail(e, GLIM_ARG, "dry_breakers: text %zu is %s; each must have a byte at least", i,
                    p->dry_breakers[i] ? "empty" : "NULL");
    }
    struct sample_order order;
    return sample_order_parse(&order, p->samplers, NULL, 0, e);
}

int sample_check(const glim_generation *p, glim_err *e) {
    for (u32 i = 0; i < COUNT(reals); i++) {
        f32 v;
        memcpy(&v, (const char *)p + reals[i].at, sizeof v);
        if (v >= reals[i].lo && v <= reals[i].hi) continue; /* false for NaN */
        return fail(e, GLIM_ARG, "%s is %g; must be %g to %g", reals[i].name, (f64)v,
                    (f64)reals[i].lo, (f64)reals[i].hi);
    }
    if (p->top_k < 0) return fail(e, GLIM_ARG, "top_k is %d; must be 0 or more", p->top_k);
    if (p->dry_last_n < -1) {
        return fail(e, GLIM_ARG, "dry_last_n is %d; must be -1 (all) or more", p->dry_last_n);
    }
    if (p->mirostat != 0 && p->mirostat != 2) {
        return fail(e, GLIM_ARG, "mirostat is %d; must be 0 (off) or 2", p->mirostat);
    }
    if (p->n_logprobs > MOST_LOGPROBS) {
        return fail(e, GLIM_ARG, "n_logprobs is %u; must be 0 to %d", p->n_logprobs, MOST_LOGPROBS);
    }
    if (p->n_logit_bias && !p->logit_bias) {
        return fail(e, GLIM_ARG, "logit_bias is NULL, n_logit_bias %zu", p->n_logit_bias);
    }
    for (size_t i = 0; i < p->n_logit_bias; i++) {
        f32 bias = p->logit_bias[i].bias;
        if (bias == -INFINITY || (bias >= -1000 && bias <= 1000)) continue;
        return fail(e, GLIM_ARG, "logit_bias of token %d is %g; must be -1000 to 1000 or -infinity",
                    p->logit_bias[i].id, (f64)bias);
    }
    return check_texts(p, e);
}

/* ---- Setting up ------------------------------------------------------------------------------ */

int sampler_open(struct sampler *s, u32 vocab, u32 n_ctx, struct arena *arena, glim_err *e) {
    *s = (struct sampler){.gen = glim_generation_default(),
                          .vocab = vocab,
                          .n_ctx = n_ctx,
                          .work = arena_array(arena, vocab, sizeof *s->work),
                          .counts = arena_array(arena, vocab, sizeof *s->counts),
                          .mu = arena_array(arena, (u64)n_ctx + 2, sizeof *s->mu),
                          .drawn = arena_array(arena, (u64)n_ctx + 1, sizeof *s->drawn)};
    arena_init(&s->setup.arena, arena->alloc);
    sample_order_parse(&s->setup.order, NULL, NULL, 0, NULL);
    if (s->work && s->counts && s->mu && s->drawn) return GLIM_OK;
    return fail(e, GLIM_NOMEM, "out of memory (sampler)");
}

void sampler_close(struct sampler *s) {
    if (s->setup.arena.alloc) arena_free(&s->setup.arena);
}

static int prepare_dry(const struct sampler *s, const glim_generation *p,
                       struct sample_setup *setup, glim_err *e) {
    /* Their author's choice: what structures a text rather than repeats in it. */
    static const char *const usual[] = {"\n", ":", "\"", "*"};
    if (p->dry_multiplier == 0) return GLIM_OK;
    const char *const *breaks = p->dry_breakers ? p->dry_breakers : usual;
    size_t n = p->dry_breakers ? p->n_dry_breakers : COUNT(usual);
    if (n && !s->texts.fn) {
        return fail(e, GLIM_UNSUPPORTED,
                    "DRY's breakers are texts, and how this model spells its tokens is not known; "
                    "set dry_breakers to none");
    }
    return dry_open(&setup->dry, breaks, n, s->n_ctx, &setup->arena, e);
}

static int prepare_rest(const struct sampler *s, const glim_generation *p,
                        struct sample_setup *setup, glim_err *e) {
    struct arena *arena = &setup->arena;
    for (size_t i = 0; i < p->n_logit_bias; i++) {
        i32 id = p->logit_bias[i].id;
        if (id >= 0 && (u32)id < s->vocab) continue;
        return fail(e, GLIM_ARG, "logit_bias: token %d; the vocabulary has ids 0 to %u", id,
                    s->vocab - 1);
    }
    if (p->n_logit_bias) {
        setup->bias = arena_array(arena, p->n_logit_bias, sizeof *setup->bias);
        if (!setup->bias) return fail(e, GLIM_NOMEM, "out of memory (logit bias)");
        memcpy(setup->bias, p->logit_bias, p->n_logit_bias * sizeof *setup->bias);
        setup->n_bias = (u32)p->n_logit_bias;
    }
    if (p->n_logprobs) {
        u64 rows = (u64)s->n_ctx + 1;
        setup->n_kept = arena_array(arena, rows, sizeof *setup->n_kept);
        setup->logprobs = arena_array(arena, rows * (p->n_logprobs + 1), sizeof *setup->logprobs);
        if (!setup->n_kept || !setup->logprobs) {
            return fail(e, GLIM_NOMEM, "out of memory (%u log-probabilities for %u tokens)",
                        p->n_logprobs, s->n_ctx);
        }
    }
    return prepare_dry(s, p, setup, e);
}

int sampler_prepare(const struct sampler *s, const glim_generation *p, struct sample_setup *setup,
                    glim_err *e) {
    *setup = (struct sample_setup){0};
    arena_init(&setup->arena, s->setup.arena.alloc);
    int rc = sample_check(p, e);
    if (rc == GLIM_OK) rc = sample_order_parse(&setup->order, p->samplers, NULL, 0, e);
    if (rc == GLIM_OK) rc = prepare_rest(s, p, setup, e);
    if (rc < 0) arena_free(&setup->arena);
    return rc;
}

void sampler_adopt(struct sampler *s, const glim_generation *p, const struct sample_setup *setup) {
    arena_free(&s->setup.arena);
    s->setup = *setup;
    s->gen = *p;
    s->gen.stops = s->gen.dry_breakers = NULL;
    s->gen.logit_bias = NULL;
    s->gen.samplers = NULL;
    s->gen.n_stops = s->gen.n_dry_breakers = s->gen.n_logit_bias = 0;
    s->fresh = false; /* its log-probabilities went with the old setup */
}

/* ---- Draws ----------------------------------------------------------------------------------- */

/* SplitMix64's finaliser: every output bit depends on every input bit. */
static u64 mix(u64 x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static u64 draw_bits(u64 seed, u64 pos) {
    return mix(mix(seed + 0x9e3779b97f4a7c15u) ^ mix(pos * 0x9e3779b97f4a7c15u + 1));
}

f64 sample_draw(u64 seed, u64 pos) {
    return (f64)(draw_bits(seed, pos) >> 11) * 0x1p-53;
}

f64 sample_draw_xtc(u64 seed, u64 pos) {
    return (f64)(mix(draw_bits(seed, pos) + 0x9e3779b97f4a7c15u) >> 11) * 0x1p-53;
}

/* ---- The chain ------------------------------------------------------------------------------- */

static int check_logits(const f32 *logits, u32 v, u64 pos, glim_err *e) {
    for (u32 i = 0; i < v; i++) {
        if (!isnan(logits[i]) && logits[i] != INFINITY) continue;
        return fail(e, GLIM_NUMERIC, "the logit of token %u at position %llu is %s", i,
                    (unsigned long long)pos, isnan(logits[i]) ? "NaN" : "infinite");
    }
    return GLIM_OK;
}

/* Cuts, which mirostat takes the place of. */
static void cut(const glim_generation *p, u8 step, u64 pos, struct candidates *c) {
    u32 keep = p->min_keep;
    switch (step) {
    case SAMPLE_TOP_N_SIGMA:
        if (p->top_n_sigma > 0) cut_top_n_sigma(c, (f64)p->top_n_sigma, keep);
        return;
    case SAMPLE_TOP_K:
        if (p->top_k > 0) cut_top_k(c, (u32)p->top_k, keep);
        return;
    case SAMPLE_TYPICAL:
        if (p->typical_p < 1) cut_typical(c, (f64)p->typical_p, keep);
        return;
    case SAMPLE_TOP_P:
        if (p->top_p < 1) cut_top_p(c, (f64)p->top_p, keep);
        return;
    case SAMPLE_MIN_P:
        if (p->min_p > 0) cut_min_p(c, (f64)p->min_p, keep);
        return;
    case SAMPLE_XTC:
        if (sample_draw_xtc(p->seed, pos) < (f64)p->xtc_probability)
            cut_xtc(c, (f64)p->xtc_threshold, keep);
    }
}

/* Below that the likeliest has all probability. */
static bool is_greedy(const glim_generation *p) {
    return p->temp < 1e-6f;
}

static void run_chain(struct sampler *s, struct candidates *c, const i32 *ids, u32 n, u64 pos) {
    const glim_generation *p = &s->gen;
    bool greedy = is_greedy(p);
    u32 recent = MIN(p->repeat_last_n, n);
    /* Exactly these values are "off". */
    bool penalties =
        p->repeat_penalty != 1 || p->presence_penalty != 0 || p->frequency_penalty != 0;
    for (u32 i = 0; i < s->setup.order.n; i++) {
        u8 step = s->setup.order.step[i];
        if (step == SAMPLE_PENALTIES) {
            if (penalties) repeat_penalties(p, c, ids + n - recent, recent, s->counts);
        } else if (step == SAMPLE_DRY) {
            if (p->dry_multiplier > 0) dry_apply(&s->setup.dry, p, &s->texts, c, ids, n, s->counts);
        } else if (greedy) {
            continue;
        } else if (step == SAMPLE_TEMP) {
            c->beta = 1 / (f64)p->temp;
        } else if (p->mirostat == 0) {
            cut(p, step, pos, c);
        }
    }
}

/* The paper measures surprise by the model's distribution, before the cut. */
static struct candidate draw_mirostat(struct sampler *s, struct candidates *c, u64 pos,
                                      f32 *next_mu) {
    const glim_generation *p = &s->gen;
    f64 total = candidates_total(c), tau = (f64)p->mirostat_tau;
    f64 mu = s->mu[pos] != 0 ? (f64)s->mu[pos] : 2 * tau;
    struct candidate top = candidates_top(c);
    cut_surprise(c, mu, total, p->min_keep);
    struct candidate chosen = candidates_draw(c, sample_draw(p->seed, pos));
    f64 surprise = log2(total / candidates_weight(c, chosen, top));
    mu -= (f64)p->mirostat_eta * (surprise - tau);
    *next_mu = mu == 0 ? FLT_MIN : (f32)mu; /* 0 stands for the beginning */
    return chosen;
}

/* The log-softmax of the row, with the maximum taken off first. */
static void keep_logprobs(struct sampler *s, const f32 *logits, u64 pos, i32 id) {
    u32 most = s->gen.n_logprobs, n = 0;
    glim_logprob *row = s->setup.logprobs + pos * (most + 1), *top = row + 1;
    for (u32 i = 0; i < s->vocab; i++) {
        if (logits[i] == -INFINITY || (n == most && logits[i] <= top[n - 1].logprob)) continue;
        u32 at = n < most ? n++ : n - 1;
        for (; at > 0 && top[at - 1].logprob < logits[i]; at--)
            top[at] = top[at - 1];
        top[at] = (glim_logprob){(i32)i, logits[i]};
    }
    f64 best = (f64)top[0].logprob, total = 0;
    for (u32 i = 0; i < s->vocab; i++)
        total += exp((f64)logits[i] - best);
    row[0] = (glim_logprob){id, logits[id]};
    for (u32 i = 0; i <= n; i++)
        row[i].logprob = (f32)MAX((f64)row[i].logprob - best - log(total), -(f64)FLT_MAX);
    s->setup.n_kept[pos] = n + 1;
}

int sample_candidates(struct sampler *s, const f32 *logits, const i32 *ids, u32 n, u64 pos,
                      struct candidates *c, glim_err *e) {
    int rc = check_logits(logits, s->vocab, pos, e);
    if (rc < 0) return rc;
    candidates_fill(c, s->work, logits, s->vocab);
    for (u32 i = 0; i < s->setup.n_bias; i++)
        s->work[s->setup.bias[i].id].logit += s->setup.bias[i].bias;
    if (candidates_top(c).logit == -INFINITY) {
        return fail(e, GLIM_NUMERIC, "no token is possible at position %llu%s",
                    (unsigned long long)pos, s->setup.n_bias ? ", with logit_bias as it is" : "");
    }
    run_chain(s, c, ids, n, pos);
    return GLIM_OK;
}

/* Draws from what is left. logits: the whole row, for log-probabilities, if there is one. */
static void choose(struct sampler *s, struct candidates *c, const f32 *logits, u64 pos, i32 *id) {
    const glim_generation *p = &s->gen;
    f32 mu = 0;
    if (is_greedy(p))
        *id = candidates_top(c).id;
    else if (p->mirostat == 2)
        *id = draw_mirostat(s, c, pos, &mu).id;
    else
        *id = candidates_draw(c, sample_draw(p->seed, pos)).id;
    if (pos > s->n_ctx) return; /* a draw without a place in a text */
    s->mu[pos + 1] = mu;
    s->drawn[pos] = *id;
    s->n_known = (u32)pos + 1;
    s->fresh = true;
    if (s->setup.logprobs) keep_logprobs(s, logits, pos, *id);
}

int sample(struct sampler *s, const f32 *logits, const i32 *ids, u32 n, u64 pos, i32 *id,
           glim_err *e) {
    struct candidates c;
    int rc = sample_candidates(s, logits, ids, n, pos, &c, e);
    if (rc == GLIM_OK) choose(s, &c, logits, pos, id);
    return rc;
}

/* ---- Drawing elsewhere ----------------------------------------------------------------------- */

static void plan_step(struct draw *d, enum draw_step kind, f64 value) {
    d->steps[d->n_steps].kind = kind;
    d->steps[d->n_steps++].value = (f32)value;
}

/* Adds a step of the chain; false: it needs all candidates, or is not known elsewhere. */
static bool plan_one(const glim_generation *p, u8 step, struct draw *d) {
    bool few = d->n != 0; /* top-k came before */
    switch (step) {
    case SAMPLE_PENALTIES:
        /* Exactly these values are "off". */
        return p->repeat_last_n == 0 ||
               (p->repeat_penalty == 1 && p->presence_penalty == 0 && p->frequency_penalty == 0);
    case SAMPLE_DRY:
        return p->dry_multiplier == 0;
    case SAMPLE_TOP_N_SIGMA:
        return p->top_n_sigma == 0;
    case SAMPLE_TOP_K:
        if (p->top_k > 0) d->n = MAX((u32)p->top_k, d->least);
        if (p->top_k > 0) plan_step(d, DRAW_TOP_K, d->n);
        return d->n <= TOP_MOST;
    case SAMPLE_TYPICAL:
        return p->typical_p == 1;
    case SAMPLE_TOP_P:
        if (p->top_p < 1) plan_step(d, DRAW_TOP_P, (f64)p->top_p);
        return p->top_p == 1 || few;
    case SAMPLE_MIN_P: /* what it leaves is the first few, whether top-k comes before or after */
        if (p->min_p > 0) plan_step(d, DRAW_MIN_P, log((f64)p->min_p));
        return true;
    case SAMPLE_XTC:
        return p->xtc_probability == 0;
    default:
        plan_step(d, DRAW_BETA, 1 / (f64)p->temp);
        return true;
    }
}

bool sample_plan(const struct sampler *s, u64 pos, struct draw *d) {
    const glim_generation *p = &s->gen;
    bool greedy = is_greedy(p);
    *d = (struct draw){.least = MAX(p->min_keep, 1u)};
    if (s->setup.n_bias || s->setup.logprobs || p->mirostat) return false;
    for (u32 i = 0; i < s->setup.order.n; i++) {
        u8 step = s->setup.order.step[i];
        bool cuts = step != SAMPLE_PENALTIES && step != SAMPLE_DRY;
        if (!(greedy && cuts) && !plan_one(p, step, d)) return false;
    }
    if (greedy) d->n = 1;
    d->n = MIN(d->n, s->vocab);
    d->u = (f32)sample_draw(p->seed, pos);
    return d->n != 0;
}

int sample_best(struct sampler *s, const struct draw *d, const f32 *ids, const f32 *logits, u64 pos,
                i32 *id, glim_err *e) {
    struct candidates c;
    if (!isfinite(logits[0])) return fail(e, GLIM_NUMERIC, "the largest logit is not finite");
    candidates_fill_best(&c, s->work, ids, logits, d->n);
    run_chain(s, &c, NULL, 0, pos);
    choose(s, &c, NULL, pos, id);
    return GLIM_OK;
}

/* ---- State of positions ---------------------------------------------------------------------- */

void sampler_fed(struct sampler *s, u32 pos, i32 id) {
    s->fresh = false;
    if (pos < s->n_known && s->drawn[pos] == id) return;
    s->drawn[pos] = -1;
    s->n_known = pos + 1; /* what was drawn for later positions stood behind another token */
    s->mu[pos + 1] = 0;
    if (s->setup.n_kept) s->setup.n_kept[pos] = 0;
}

void sampler_rewound(struct sampler *s, u32 n) {
    s->fresh = false;
    dry_rewound(&s->setup.dry, n);
}

const glim_logprob *sampler_logprobs(const struct sampler *s, size_t pos, u32 n_ids, size_t *n) {
    bool there = pos < n_ids || (pos == n_ids && s->fresh && s->n_known == pos + 1);
    *n = s->setup.n_kept && there ? s->setup.n_kept[pos] : 0;
    return *n ? s->setup.logprobs + pos * (s->gen.n_logprobs + 1) : NULL;
}
