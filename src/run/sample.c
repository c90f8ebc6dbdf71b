/* Samplers. Order: repetition penalty, top-k, top-p, min-p, temperature, draw.
 * Nucleus sampling: Holtzman et al. 2019, arXiv 1904.09751; min-p: Nguyen et al. 2024,
 * arXiv 2407.01082; repetition penalty: Keskar et al. 2019, arXiv 1909.05858. */
#include "run/sample.h"

#include <float.h>
#include <math.h>

static int check(const char *name, f32 v, f32 lo, f32 hi, glim_err *e) {
    if (v >= lo && v <= hi) return GLIM_OK; /* false for NaN */
    return fail(e, GLIM_ARG, "%s is %g; must be %g to %g", name, (f64)v, (f64)lo, (f64)hi);
}

int sample_check(const glim_generation *p, glim_err *e) {
    int rc;
    if ((rc = check("temp", p->temp, 0, 1000, e)) < 0 ||
        (rc = check("top_p", p->top_p, 0, 1, e)) < 0 ||
        (rc = check("min_p", p->min_p, 0, 1, e)) < 0 ||
        (rc = check("repeat_penalty", p->repeat_penalty, 0.01f, 100, e)) < 0) {
        return rc;
    }
    if (p->top_k < 0) return fail(e, GLIM_ARG, "top_k is %d; must be 0 or more", p->top_k);
    return GLIM_OK;
}

/* SplitMix64's finaliser: every output bit depends on every input bit. */
static u64 mix(u64 x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

f64 sample_draw(u64 seed, u64 pos) {
    u64 bits = mix(mix(seed + 0x9e3779b97f4a7c15u) ^ mix(pos * 0x9e3779b97f4a7c15u + 1));
    return (f64)(bits >> 11) * 0x1p-53;
}

/* Order of candidates: likelier first, then the lower id, so that ties do not depend on heaps. */
static bool before(struct candidate a, struct candidate b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

static void sift(struct candidate *heap, u32 n, u32 i) {
    for (;;) {
        u32 child = 2 * i + 1;
        if (child >= n) return;
        if (child + 1 < n && before(heap[child + 1], heap[child])) child++;
        if (!before(heap[child], heap[i])) return;
        struct candidate c = heap[i];
        heap[i] = heap[child];
        heap[child] = c;
        i = child;
    }
}

static void heapify(struct candidate *heap, u32 n) {
    for (u32 i = n / 2; i-- > 0;)
        sift(heap, n, i);
}

/* Takes the best candidate off a heap of *n: it moves behind the heap's new end. */
static struct candidate pop(struct candidate *heap, u32 *n) {
    struct candidate best = heap[0];
    heap[0] = heap[--*n];
    heap[*n] = best;
    sift(heap, *n, 0);
    return best;
}

/* Probability of c relative to the likeliest. */
static f64 weight(struct candidate c, f32 best) {
    return exp((f64)c.logit - (f64)best);
}

/* Cuts candidates so that the kept ones, best first, lie at the end of work, in reverse: kept i is
 * work[v - 1 - i]. Returns how many. */
static u32 keep(const glim_generation *p, struct candidate *work, u32 v) {
    u32 heap = v, k = p->top_k > 0 && (u32)p->top_k < v ? (u32)p->top_k : v;
    heapify(work, v);
    f32 best = work[0].logit;
    f64 total = 0;
    if (p->top_p < 1) {
        if (k < v) { /* probabilities are among the top k */
            while (v - heap < k)
                total += weight(pop(work, &heap), best);
        } else {
            for (u32 i = 0; i < v; i++)
                total += weight(work[i], best);
        }
    }
    u32 n = 0;
    for (f64 sum = 0; n < k; n++) {
        if (n > 0 && p->top_p < 1 && sum >= (f64)p->top_p * total) break;
        struct candidate c = n < v - heap ? work[v - 1 - n] : pop(work, &heap);
        f64 w = weight(c, best);
        if (n > 0 && (w < (f64)p->min_p || w == 0)) break;
        sum += w;
    }
    return n;
}

static void penalise(const glim_generation *p, struct candidate *work, const i32 *recent, u32 n,
                     u8 *marks) {
    if (p->repeat_penalty == 1) return;
    for (u32 i = 0; i < n; i++) {
        struct candidate *c = &work[recent[i]];
        if (marks[recent[i]]) continue; /* once per token, however often it occurred */
        marks[recent[i]] = 1;
        if (c->logit == -INFINITY) continue;
        f32 x = c->logit > 0 ? c->logit / p->repeat_penalty : c->logit * p->repeat_penalty;
        c->logit = MAX(MIN(x, FLT_MAX), -FLT_MAX); /* an infinite one would have no difference */
    }
    for (u32 i = 0; i < n; i++)
        marks[recent[i]] = 0;
}

int sample(const glim_generation *p, const f32 *logits, u32 v, const i32 *recent, u32 n, u64 pos,
           struct candidate *work, u8 *marks, i32 *id, glim_err *e) {
    u32 finite = 0;
    for (u32 i = 0; i < v; i++) {
        if (isnan(logits[i]) || logits[i] == INFINITY) {
            return fail(e, GLIM_NUMERIC, "the logit of token %u at position %llu is %s", i,
                        (unsigned long long)pos, isnan(logits[i]) ? "NaN" : "infinite");
        }
        finite += logits[i] != -INFINITY;
        work[i] = (struct candidate){logits[i], (i32)i};
    }
    if (finite == 0) {
        return fail(e, GLIM_NUMERIC, "no token is possible at position %llu",
                    (unsigned long long)pos);
    }
    penalise(p, work, recent, n, marks);
    struct candidate best = work[0];
    if (p->temp < 1e-6f) { /* below that the likeliest has all probability */
        for (u32 i = 1; i < v; i++)
            best = before(work[i], best) ? work[i] : best;
        *id = best.id;
        return GLIM_OK;
    }
    u32 n_kept = keep(p, work, v);
    const struct candidate *kept = work + v - 1; /* downwards */
    f64 total = 0;
    for (u32 i = 0; i < n_kept; i++) {
        total += exp(((f64)kept[-(i64)i].logit - (f64)kept->logit) / (f64)p->temp);
    }
    f64 left = sample_draw(p->seed, pos) * total;
    u32 i = 0;
    for (; i + 1 < n_kept; i++) {
        left -= exp(((f64)kept[-(i64)i].logit - (f64)kept->logit) / (f64)p->temp);
        if (left < 0) break;
    }
    *id = kept[-(i64)i].id;
    return GLIM_OK;
}
