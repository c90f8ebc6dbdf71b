/* Penalties for repetition. */
#include "run/sample_repeat.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* An infinite logit would have no difference from the best; an impossible token stays so. */
static void set_logit(struct candidate *c, f64 x) {
    if (c->logit == -INFINITY) return;
    c->logit = (f32)MAX(MIN(x, (f64)FLT_MAX), -(f64)FLT_MAX);
}

/* ---- Penalties ------------------------------------------------------------------------------- */

/* beta: what goes off a logit that a temperature has scaled already is to come off as it is. */
static void penalise(const glim_generation *p, struct candidate *c, u32 count, f64 beta) {
    f64 x = (f64)c->logit, r = (f64)p->repeat_penalty;
    x = x > 0 ? x / r : x * r;
    x -= ((f64)p->presence_penalty + count * (f64)p->frequency_penalty) / beta;
    set_logit(c, x);
}

void repeat_penalties(const glim_generation *p, struct candidates *s, const i32 *ids, u32 n,
                      u32 *counts) {
    for (u32 i = 0; i < n; i++)
        counts[ids[i]]++;
    for (u32 i = 0; s->dense && i < n; i++) { /* the common case: no walk through the vocabulary */
        if (counts[ids[i]]) penalise(p, &s->c[ids[i]], counts[ids[i]], s->beta);
        counts[ids[i]] = 0; /* once per token, however often it occurred */
    }
    for (u32 i = 0; !s->dense && i < s->n; i++) {
        if (counts[s->c[i].id]) penalise(p, &s->c[i], counts[s->c[i].id], s->beta);
    }
    for (u32 i = 0; i < n; i++)
        counts[ids[i]] = 0;
    candidates_changed(s);
}

/* ---- Breakers -------------------------------------------------------------------------------- */

int dry_open(struct dry *d, const char *const *breaks, size_t n, u32 n_ctx, struct arena *arena,
             glim_err *e) {
    *d = (struct dry){.breaks = arena_array(arena, n, sizeof *d->breaks),
                      .n_breaks = (u32)n,
                      .marks = arena_array(arena, n_ctx, sizeof *d->marks),
                      .reach = arena_array(arena, n_ctx, sizeof *d->reach)};
    bool ok = d->breaks && d->marks && d->reach;
    for (size_t i = 0; ok && i < n; i++) {
        struct dry_break *b = &d->breaks[i];
        b->text.n = strlen(breaks[i]);
        b->text.p = arena_text(arena, (struct str){breaks[i], b->text.n});
        b->back = arena_array(arena, b->text.n + 1, sizeof *b->back);
        ok = b->text.p && b->back;
        for (u32 k = 1, m = 0; ok && k < b->text.n; k++) {
            while (m && b->text.p[k] != b->text.p[m])
                m = b->back[m];
            m += b->text.p[k] == b->text.p[m];
            b->back[k + 1] = m;
        }
    }
    return ok ? GLIM_OK : fail(e, GLIM_NOMEM, "out of memory (DRY over %u tokens)", n_ctx);
}

void dry_rewound(struct dry *d, u32 n) {
    if (n >= d->n_marked) return;
    d->n_marked = 0; /* where a breaker had begun is known for the end only */
    for (u32 i = 0; i < d->n_breaks; i++)
        d->breaks[i].matched = 0;
}

/* Whether a breaker ends within the next bytes of the text. */
static bool ends_within(struct dry_break *b, struct str piece) {
    bool found = false;
    u32 m = b->matched;
    for (size_t i = 0; i < piece.n; i++) {
        while (m && (m == b->text.n || piece.p[i] != b->text.p[m]))
            m = b->back[m];
        m += piece.p[i] == b->text.p[m];
        found |= m == b->text.n;
    }
    b->matched = m;
    return found;
}

static void mark(struct dry *d, const struct dry_texts *texts, const i32 *ids, u32 n) {
    for (; d->n_breaks && d->n_marked < n; d->n_marked++) {
        struct str piece = texts->fn(texts->ud, ids[d->n_marked]);
        u8 found = 0;
        for (u32 i = 0; i < d->n_breaks; i++)
            found |= ends_within(&d->breaks[i], piece);
        d->marks[d->n_marked] = found;
    }
}

/* ---- DRY ------------------------------------------------------------------------------------- */

/* Sets reach[k], for 0 < k < n, to how many tokens before the k-th from the end equal those before
 * the end itself: the Z function of the sequence read backwards, in linear time. at: the last
 * token. */
static void reach_back(const i32 *at, u32 n, u32 *reach) {
    u32 from = 0, to = 0; /* tokens [from, to) equal [0, to - from) */
    for (u32 k = 1; k < n; k++) {
        u32 m = k < to ? MIN(to - k, reach[k - from]) : 0;
        while (k + m < n && at[-(i64)m] == at[-(i64)(k + m)])
            m++;
        reach[k] = m;
        if (k + m > to) {
            from = k;
            to = k + m;
        }
    }
}

static void dry_penalise(const glim_generation *p, struct candidate *c, u32 longest, f64 beta) {
    f64 over = (f64)longest - (f64)p->dry_allowed_length;
    set_logit(c, (f64)c->logit - (f64)p->dry_multiplier * pow((f64)p->dry_base, over) / beta);
}

void dry_apply(struct dry *d, const glim_generation *p, const struct dry_texts *texts,
               struct candidates *s, const i32 *ids, u32 n, u32 *counts) {
    mark(d, texts, ids, n);
    u32 window = p->dry_last_n < 0 ? n : MIN((u32)p->dry_last_n, n), limit = 0;
    if (window < 2) return;
    const i32 *last = ids + n - 1;
    const u8 *marks = d->marks + n - 1;
    while (limit < window && !(d->n_breaks && marks[-(i64)limit]))
        limit++; /* tokens of the end that no breaker separates */
    if (limit == 0) return;
    reach_back(last, window, d->reach);
    u32 least = MAX(p->dry_allowed_length, 1u);
    /* What followed the k-th token from the end, and how long a repetition it would go on with: the
     * longest counts. A token that completed a breaker there is needed for structure: not held
     * back. */
    for (u32 k = 1; k < window; k++) {
        u32 next = k - 1, length = MIN(d->reach[k], limit);
        if (length < least || (d->n_breaks && marks[-(i64)next])) continue;
        u32 *longest = &counts[last[-(i64)next]];
        *longest = MAX(*longest, length);
    }
    for (u32 k = 0; s->dense && k < window; k++) {
        i32 id = last[-(i64)k];
        if (counts[id]) dry_penalise(p, &s->c[id], counts[id], s->beta);
        counts[id] = 0;
    }
    for (u32 i = 0; !s->dense && i < s->n; i++) {
        if (counts[s->c[i].id]) dry_penalise(p, &s->c[i], counts[s->c[i].id], s->beta);
    }
    for (u32 k = 0; k < window; k++)
        counts[last[-(i64)k]] = 0;
    candidates_changed(s);
}
