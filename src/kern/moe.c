/* Mixtures of experts. A token's chosen experts are its slots; slot t * used + j is token t's j-th.
 * Batches are worked through expert by expert, so that an expert's weights are read once; those of
 * experts that nobody chose are not read at all. */
#include "kern/cpu.h"
#include <math.h>

static f32 *moe_row(const struct mat *m, u64 i) {
    return (f32 *)(void *)(m->p + i * m->pitch);
}

/* p[e]: the weights before normalisation; rank[e]: what the choice goes by. */
static void gate_scores(enum route_gate gate, const f32 *x, const f32 *bias, u32 n, f32 *p,
                        f32 *rank) {
    f32 most = x[0], sum = 0;
    for (u32 e = 1; e < n; e++)
        most = fmaxf(most, x[e]);
    for (u32 e = 0; e < n; e++) {
        p[e] = gate == ROUTE_SOFTMAX ? expf(x[e] - most) : 1 / (1 + expf(-x[e]));
        sum += p[e];
    }
    for (u32 e = 0; e < n; e++) {
        if (gate == ROUTE_SOFTMAX) p[e] /= sum;
        rank[e] = bias ? p[e] + bias[e] : p[e];
    }
}

void cpu_route(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *x = &c->a[1];
    const f32 *bias = (const f32 *)(const void *)c->a[2].p;
    const f32 *scale = (const f32 *)(const void *)c->a[3].p;
    struct route_params r = route_params(c->op);
    f32 *p = (f32 *)(void *)c->own, *rank = p + x->cols; /* model files bound the experts */
    u32 from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 t = from; t < to; t++) {
        f32 *ids = moe_row(y, t), *weights = ids + r.used, sum = 0;
        gate_scores((enum route_gate)r.gate, moe_row(x, t), bias, x->cols, p, rank);
        for (u32 j = 0; j < r.used; j++) { /* of equal ones the lower id */
            u32 best = 0;
            for (u32 e = 1; e < x->cols; e++)
                best = rank[e] > rank[best] ? e : best;
            rank[best] = -INFINITY;
            ids[j] = (f32)best;
            weights[j] = p[best];
            sum += p[best];
        }
        if (r.gate == ROUTE_SIGMOID) sum += 1e-6f;
        for (u32 j = 0; j < r.used; j++) {
            weights[j] /= sum;
            if (scale) weights[j] *= scale[(u32)ids[j]];
        }
    }
}

/* Some slots of one expert, gathered: their inputs, and the outputs before they go where they
 * belong. */
struct gathered {
    u8 *x;     /* [most][x_pitch] */
    f32 *y;    /* [most][n] */
    u32 *slot; /* [most] */
    u32 n, most;
};

static void flush(const struct cpu_call *c, struct matmul *m, struct gathered *g, u32 from,
                  u32 to) {
    if (g->n == 0) return;
    m->t = g->n;
    c->isa->matmul(m, from, to, c->scratch);
    for (u32 i = 0; i < g->n; i++) {
        memcpy(moe_row(&c->a[0], g->slot[i]) + from, g->y + i * m->y_pitch + from,
               (to - from) * sizeof(f32));
    }
    g->n = 0;
}

void cpu_expert(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *x = &c->a[1], *route = &c->a[2], *w = &c->a[3];
    struct expert_params p = expert_params(c->op);
    u32 from, to, per_token = x->rows == y->rows ? 1 : p.used;
    cpu_share(c, p.n, ISA_ROWS, &from, &to);
    if (from >= to) return;
    u64 bytes = x->dtype == DT_A8 ? a8_row_bytes(x->cols) : (u64)x->cols * sizeof(f32);
    u64 x_pitch = (bytes + 63) & ~(u64)63, y_bytes = (u64)p.n * sizeof(f32);
    struct gathered g = {.most = (u32)MIN(64u, CPU_SCRATCH / (x_pitch + y_bytes + sizeof(u32)))};
    g.x = c->own;
    g.y = (f32 *)(void *)(g.x + g.most * x_pitch);
    g.slot = (u32 *)(void *)(g.y + (u64)g.most * p.n);
    struct matmul m = {.w_pitch = w->pitch,
                       .type = w->type,
                       .k = x->cols,
                       .x = g.x,
                       .x_pitch = x_pitch,
                       .y = g.y,
                       .y_pitch = p.n,
                       .a8 = x->dtype == DT_A8};
    u32 n_experts = w->rows / p.stride;
    for (u32 e = 0; e < n_experts; e++) {
        m.w = w->p + ((u64)e * p.stride + p.first) * w->pitch;
        for (u32 s = 0; s < y->rows; s++) {
            if ((u32)moe_row(route, s / p.used)[s % p.used] != e) continue;
            memcpy(g.x + g.n * x_pitch, x->p + s / per_token * x->pitch, bytes);
            g.slot[g.n++] = s;
            if (g.n == g.most) flush(c, &m, &g, from, to);
        }
        flush(c, &m, &g, from, to);
    }
}

void cpu_mix(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *x = &c->a[1], *route = &c->a[2];
    u32 used = mix_params(c->op).used, from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 t = from; t < to; t++) {
        const f32 *weights = moe_row(route, t) + used;
        c->isa->scale_mul(moe_row(x, (u64)t * used), NULL, weights[0], moe_row(y, t), y->cols);
        for (u32 j = 1; j < used; j++) {
            c->isa->add(moe_row(y, t), moe_row(x, (u64)t * used + j), weights[j], moe_row(y, t),
                        y->cols);
        }
    }
}
