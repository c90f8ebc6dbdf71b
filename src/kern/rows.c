/* Ops that move rows or work on one row at a time without weights. */
#include "kern/cpu.h"

#include <math.h>

/* Row i of an operand as floats. */
static f32 *row(const struct mat *m, u32 i) {
    return (f32 *)(void *)(m->p + i * m->pitch);
}

void cpu_embed(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *w = &c->a[1];
    f32 scale = embed_params(c->op).scale;
    const struct quant *q = quant_find(w->type);
    u32 from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 t = from; t < to; t++) {
        u64 id = (u64)c->step->rows[t].id; /* the session checked the range */
        quant_row(q, w->p + id * w->pitch, 0, y->cols, row(y, t));
        if (scale != 1.0f) c->isa->scale_mul(row(y, t), NULL, scale, row(y, t), y->cols);
    }
}

void cpu_pick(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *x = &c->a[1];
    u32 from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 r = from; r < to; r++) {
        memcpy(row(y, r), row(x, c->step->out_rows[r]), y->cols * sizeof(f32));
    }
}

/* Values are taken in the order of their ids: an equal one that comes later stays behind. */
void cpu_top(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *x = &c->a[1];
    u32 room = top_params(c->op).n, most = c->step->draw ? c->step->draw->n : room, from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 r = from; r < to; r++) {
        const f32 *in = row(x, r);
        f32 *ids = row(y, r), *best = ids + room, *smallest = best + room;
        u32 n = 0;
        *smallest = in[0];
        for (u32 i = 0; i < x->cols; i++) {
            u32 at = n;
            if (in[i] < *smallest || isnan(*smallest)) *smallest = in[i];
            while (at > 0 && (in[i] > best[at - 1] || (isnan(in[i]) && !isnan(best[at - 1]))))
                at--;
            if (at == most) continue;
            u32 moved = MIN(n, most - 1) - at;
            memmove(best + at + 1, best + at, moved * sizeof *best);
            memmove(ids + at + 1, ids + at, moved * sizeof *ids);
            best[at] = in[i];
            ids[at] = (f32)i;
            n = MIN(n + 1, most);
        }
    }
}

/* The first of n candidates, the best first, that steps leave; their weights are in w then. */
static u32 draw_cut(const struct draw *d, const f32 *value, f64 w[TOP_MOST]) {
    u32 n = d->n;
    f64 beta = 1;
    for (u32 s = 0; s <= d->n_steps; s++) {
        f64 v = s < d->n_steps ? (f64)d->steps[s].value : 0, total = 0, sum = 0;
        u32 least = MIN(MAX(d->least, 1u), n), i = 0;
        for (u32 j = 0; j < n; j++)
            total += w[j] = exp(((f64)value[j] - (f64)value[0]) * beta);
        if (s == d->n_steps) break;
        switch (d->steps[s].kind) {
        case DRAW_BETA:
            beta = v;
            break;
        case DRAW_TOP_K:
            n = MIN(n, MAX((u32)v, least));
            break;
        case DRAW_TOP_P:
            for (; i < n && (i < least || sum < v * total); i++)
                sum += w[i];
            n = i;
            break;
        case DRAW_MIN_P:
            while (i < n && (i < least || (f64)value[i] >= (f64)value[0] + v / beta))
                i++;
            n = i;
        }
    }
    return n;
}

void cpu_draw(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *x = &c->a[1];
    const struct draw *d = c->step->draw;
    f64 w[TOP_MOST];
    u32 from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 r = from; r < to && d; r++) {
        const f32 *ids = row(x, r);
        u32 n = draw_cut(d, ids + x->cols / 2, w), i = 0;
        f64 left = 0;
        for (u32 j = 0; j < n; j++)
            left += w[j];
        left *= (f64)d->u;
        while (i + 1 < n && (left -= w[i]) >= 0 && w[i + 1] > 0)
            i++;
        row(y, r)[0] = ids[i];
    }
}

void cpu_quantize(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *x = &c->a[1];
    u32 from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 t = from; t < to; t++)
        c->isa->a8_row(row(x, t), x->cols, row(y, t));
}

void cpu_add(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *a = &c->a[1], *b = &c->a[2];
    f32 scale = add_params(c->op).scale;
    u32 from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 t = from; t < to; t++)
        c->isa->add(row(a, t), row(b, t), scale, row(y, t), y->cols);
}

void cpu_scale(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *x = &c->a[1];
    f32 scale = scale_params(c->op).scale;
    u32 from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 t = from; t < to; t++)
        c->isa->scale_mul(row(x, t), NULL, scale, row(y, t), y->cols);
}

void cpu_softcap(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *x = &c->a[1];
    f32 cap = softcap_params(c->op).cap;
    u32 from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 t = from; t < to; t++)
        c->isa->softcap(row(x, t), cap, row(y, t), y->cols);
}

typedef void gate_fn(const f32 *gate, const f32 *up, f32 *y, u32 n);

static void gated(const struct cpu_call *c, gate_fn *fn) {
    const struct mat *y = &c->a[0], *gate = &c->a[1], *up = &c->a[2];
    u32 from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 t = from; t < to; t++)
        fn(row(gate, t), row(up, t), row(y, t), y->cols);
}

/* Fused rows fit the scratch: model/block.c uses the plain ops beyond that. */
static void gated_q(const struct cpu_call *c, gate_fn *fn) {
    const struct mat *y = &c->a[0], *gate = &c->a[1], *up = &c->a[2];
    f32 *tmp = (f32 *)(void *)c->scratch;
    u32 from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 t = from; t < to; t++) {
        fn(row(gate, t), row(up, t), tmp, y->cols);
        c->isa->a8_row(tmp, y->cols, row(y, t));
    }
}

void cpu_swiglu(const struct cpu_call *c) {
    gated(c, c->isa->swiglu);
}

void cpu_swiglu_q(const struct cpu_call *c) {
    gated_q(c, c->isa->swiglu);
}

void cpu_geglu(const struct cpu_call *c) {
    gated(c, c->isa->geglu);
}

void cpu_geglu_q(const struct cpu_call *c) {
    gated_q(c, c->isa->geglu);
}
