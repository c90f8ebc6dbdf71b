/* Candidates in a heap that is emptied only as far as needed, and what cuts them. */
#include "run/sample_cut.h"

#include <math.h>

/* ---- Order ----------------------------------------------------------------------------------- */

/* What a heap has at its root. */
struct candidate_order {
    enum { ORDER_BEST, ORDER_WORST, ORDER_NEAREST } way;
    f64 centre; /* nearest to this logit */
};
static const struct candidate_order best_first = {.way = ORDER_BEST},
                                    worst_first = {.way = ORDER_WORST};

static inline bool goes_first(struct candidate a, struct candidate b,
                              const struct candidate_order *o) {
    if (o->way == ORDER_BEST) return candidate_before(a, b);
    if (o->way == ORDER_WORST) return candidate_before(b, a);
    f64 x = fabs((f64)a.logit - o->centre), y = fabs((f64)b.logit - o->centre);
    return x < y || (x == y && candidate_before(a, b));
}

static void sift(struct candidate *heap, u32 n, u32 i, const struct candidate_order *o) {
    for (;;) {
        u32 child = 2 * i + 1;
        if (child >= n) return;
        if (child + 1 < n && goes_first(heap[child + 1], heap[child], o)) child++;
        if (!goes_first(heap[child], heap[i], o)) return;
        struct candidate c = heap[i];
        heap[i] = heap[child];
        heap[child] = c;
        i = child;
    }
}

static void heapify(struct candidate *heap, u32 n, const struct candidate_order *o) {
    for (u32 i = n / 2; i-- > 0;)
        sift(heap, n, i, o);
}

/* Takes the root off a heap of *n: it moves behind the heap's new end. */
static struct candidate pop(struct candidate *heap, u32 *n, const struct candidate_order *o) {
    struct candidate root = heap[0];
    heap[0] = heap[--*n];
    heap[*n] = root;
    sift(heap, *n, 0, o);
    return root;
}

void candidates_fill(struct candidates *s, struct candidate *c, const f32 *logits, u32 v) {
    for (u32 i = 0; i < v; i++)
        c[i] = (struct candidate){logits[i], (i32)i};
    *s = (struct candidates){.c = c, .n = v, .dense = true, .beta = 1};
}

void candidates_fill_best(struct candidates *s, struct candidate *c, const f32 *ids,
                          const f32 *logits, u32 n) {
    for (u32 i = 0; i < n; i++)
        c[n - 1 - i] = (struct candidate){logits[i], (i32)ids[i]};
    *s = (struct candidates){.c = c, .n = n, .sorted = n, .heaped = true, .beta = 1};
}

void candidates_changed(struct candidates *s) {
    s->sorted = 0;
    s->heaped = false;
}

struct candidate candidates_best(struct candidates *s, u32 i) {
    u32 heap = s->n - s->sorted;
    if (s->sorted <= i && !s->heaped) {
        heapify(s->c, heap, &best_first);
        s->heaped = true;
        s->dense = false;
    }
    while (s->sorted <= i) {
        pop(s->c, &heap, &best_first);
        s->sorted++;
    }
    return s->c[s->n - 1 - i];
}

/* Brings the k best of an unordered set to the front: a heap of the k best so far, with the worst
 * at its root, meets each of the others. Most of them are worse and cost one comparison. */
static void select_best(struct candidates *s, u32 k) {
    heapify(s->c, k, &worst_first);
    for (u32 i = k; i < s->n; i++) {
        if (!candidate_before(s->c[i], s->c[0])) continue;
        s->c[0] = s->c[i];
        sift(s->c, k, 0, &worst_first);
    }
    s->n = k;
    s->dense = false;
}

void candidates_keep(struct candidates *s, u32 k) {
    if (k >= s->n) return;
    if (s->sorted == 0 && !s->heaped && k < s->n / 4) {
        select_best(s, k);
        return;
    }
    candidates_best(s, k - 1);
    s->c += s->n - k;
    s->n = s->sorted = k;
    s->heaped = true; /* an empty one */
    s->dense = false;
}

struct candidate candidates_top(const struct candidates *s) {
    if (s->sorted) return s->c[s->n - 1];
    struct candidate top = s->c[0];
    for (u32 i = 1; !s->heaped && i < s->n; i++)
        top = candidate_before(s->c[i], top) ? s->c[i] : top;
    return top;
}

/* ---- Probabilities --------------------------------------------------------------------------- */

f64 candidates_weight(const struct candidates *s, struct candidate c, struct candidate top) {
    return exp(((f64)c.logit - (f64)top.logit) * s->beta);
}

f64 candidates_total(const struct candidates *s) {
    struct candidate top = candidates_top(s);
    f64 total = 0;
    for (u32 i = 0; i < s->n; i++)
        total += candidates_weight(s, s->c[i], top);
    return total;
}

struct candidate candidates_draw(struct candidates *s, f64 u) {
    f64 left = u * candidates_total(s);
    struct candidate top = candidates_best(s, 0), c = top;
    for (u32 i = 0; i < s->n; i++) {
        struct candidate next = candidates_best(s, i);
        f64 w = candidates_weight(s, next, top);
        if (w == 0) break; /* rounding has left something over: the last possible one it is */
        c = next;
        left -= w;
        if (left < 0) break;
    }
    return c;
}

/* ---- Cuts ------------------------------------------------------------------------------------ */

static u32 keep_at_least(const struct candidates *s, u32 min_keep) {
    return MIN(MAX(min_keep, 1u), s->n);
}

void cut_top_k(struct candidates *s, u32 k, u32 min_keep) {
    candidates_keep(s, MAX(MIN(k, s->n), keep_at_least(s, min_keep)));
}

void cut_top_p(struct candidates *s, f64 p, u32 min_keep) {
    u32 least = keep_at_least(s, min_keep), i = 0;
    f64 enough = p * candidates_total(s), sum = 0;
    struct candidate top = candidates_top(s);
    for (; i < s->n && (i < least || sum < enough); i++)
        sum += candidates_weight(s, candidates_best(s, i), top);
    candidates_keep(s, i);
}

/* Leaves those with a logit of at least `limit`, without putting them in order. */
static void cut_below(struct candidates *s, f64 limit, u32 min_keep) {
    u32 least = keep_at_least(s, min_keep), kept = 0;
    for (u32 i = 0; i < s->n; i++)
        kept += (f64)s->c[i].logit >= limit;
    if (kept == s->n) return;
    if (kept <= least || s->sorted == s->n) {
        candidates_keep(s, MAX(kept, least));
        return;
    }
    for (u32 i = kept = 0; i < s->n; i++) {
        if ((f64)s->c[i].logit >= limit) s->c[kept++] = s->c[i];
    }
    s->n = kept;
    s->dense = false;
    candidates_changed(s);
}

void cut_min_p(struct candidates *s, f64 p, u32 min_keep) {
    cut_below(s, (f64)candidates_top(s).logit + log(p) / s->beta, min_keep);
}

/* sigma is that of all possible candidates still there. Both sides of the comparison scale with the
 * temperature, which therefore makes no difference. */
void cut_top_n_sigma(struct candidates *s, f64 n, u32 min_keep) {
    f64 sum = 0, squares = 0;
    u32 possible = 0;
    for (u32 i = 0; i < s->n; i++) {
        if (s->c[i].logit == -INFINITY) continue;
        sum += (f64)s->c[i].logit;
        possible++;
    }
    f64 mean = sum / possible;
    for (u32 i = 0; i < s->n; i++) {
        if (s->c[i].logit == -INFINITY) continue;
        f64 d = (f64)s->c[i].logit - mean;
        squares += d * d;
    }
    cut_below(s, (f64)candidates_top(s).logit - n * sqrt(squares / possible), min_keep);
}

/* A candidate of logit x has the surprise log(total) - beta * (x - top); the one whose surprise is
 * the expected one, H, lies at `centre`, and candidates go by their distance from there. */
void cut_typical(struct candidates *s, f64 p, u32 min_keep) {
    u32 least = keep_at_least(s, min_keep), heap = s->n, kept = 0;
    struct candidate top = candidates_top(s);
    f64 total = candidates_total(s), below = 0, sum = 0;
    for (u32 i = 0; i < s->n; i++) {
        if (s->c[i].logit == -INFINITY) continue;
        f64 x = ((f64)s->c[i].logit - (f64)top.logit) * s->beta;
        below += exp(x) * x;
    }
    /* H = log(total) - below / total, so that log(total) - H is: */
    struct candidate_order o = {ORDER_NEAREST, (f64)top.logit + below / total / s->beta};
    heapify(s->c, heap, &o);
    for (; kept < s->n && (kept < least || sum < p * total); kept++)
        sum += candidates_weight(s, pop(s->c, &heap, &o), top);
    s->c += s->n - kept;
    s->n = kept;
    s->dense = false;
    candidates_changed(s);
}

void cut_xtc(struct candidates *s, f64 threshold, u32 min_keep) {
    f64 enough = threshold * candidates_total(s);
    struct candidate top = candidates_top(s);
    u32 m = 0;
    for (; m < s->n; m++) {
        f64 w = candidates_weight(s, candidates_best(s, m), top);
        if (w < enough || w == 0) break;
    }
    if (m < 2 || s->n - (m - 1) < min_keep) return;
    s->n -= m - 1;
    s->sorted -= m - 1;
}

void cut_surprise(struct candidates *s, f64 mu, f64 total, u32 min_keep) {
    u32 least = keep_at_least(s, min_keep), i = 0;
    struct candidate top = candidates_top(s);
    for (; i < s->n; i++) {
        f64 w = candidates_weight(s, candidates_best(s, i), top);
        if (i >= least && !(log2(total / w) <= mu)) break;
    }
    candidates_keep(s, i);
}
