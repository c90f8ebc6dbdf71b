/* The candidates for a token, and the samplers that cut some of them off.
 *
 * A vocabulary has up to 262,144 tokens and most cuts leave a few: candidates are put in order only
 * as far as somebody asks. */
#ifndef RUN_SAMPLE_CUT_H
#define RUN_SAMPLE_CUT_H

#include "base/base.h"

struct candidate {
    f32 logit;
    i32 id;
};

struct candidates {
    struct candidate *c; /* [n]; the best `sorted` of them lie at the end, the very best last */
    u32 n, sorted;
    bool heaped; /* those before the sorted ones form a heap */
    bool dense;  /* none was moved yet: c[i].id is i */
    f64 beta;    /* 1 / temperature so far: probabilities go as exp(beta * logit) */
};

/* Order of candidates: likelier first, then the lower id, so that ties do not depend on heaps. */
static inline bool candidate_before(struct candidate a, struct candidate b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

/* All of v logits; c has room for them. */
void candidates_fill(struct candidates *s, struct candidate *c, const f32 *logits, u32 v);
/* The n best of them, best first, with ids that are whole numbers. */
void candidates_fill_best(struct candidates *s, struct candidate *c, const f32 *ids,
                          const f32 *logits, u32 n);
/* Logits were changed: what was known of their order is not. */
void candidates_changed(struct candidates *s);
/* The i-th best, i < n. */
struct candidate candidates_best(struct candidates *s, u32 i);
/* Leaves the k best, 1 <= k <= n. */
void candidates_keep(struct candidates *s, u32 k);
/* The best, without ordering the others. */
struct candidate candidates_top(const struct candidates *s);
/* Probability of c relative to the best, and the sum of that over all. */
f64 candidates_weight(const struct candidates *s, struct candidate c, struct candidate top);
f64 candidates_total(const struct candidates *s);
/* The candidate at u, in [0, 1), of the way through the probabilities, best first. */
struct candidate candidates_draw(struct candidates *s, f64 u);

/* Each leaves min_keep candidates at least, and one at least; fewer only where there are no more.
 */
void cut_top_k(struct candidates *s, u32 k, u32 min_keep);
void cut_top_p(struct candidates *s, f64 p, u32 min_keep);
void cut_min_p(struct candidates *s, f64 p, u32 min_keep);
void cut_typical(struct candidates *s, f64 p, u32 min_keep);
void cut_top_n_sigma(struct candidates *s, f64 n, u32 min_keep);
/* Takes away all but the least likely of those that have `threshold` of the probability. Does
 * nothing rather than leave fewer than min_keep. */
void cut_xtc(struct candidates *s, f64 threshold, u32 min_keep);
/* Takes away those of more than mu bits of surprise. total: candidates_total before the cut. */
void cut_surprise(struct candidates *s, f64 mu, f64 total, u32 min_keep);

#endif
