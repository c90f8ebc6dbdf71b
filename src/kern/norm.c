/* Normalisation. RMSNorm: Zhang and Sennrich 2019, arXiv 1910.07467. */
#include "kern/cpu.h"
#include <math.h>

/* y[n] = w x / sqrt(mean(x^2) + eps); w may be NULL. */
static void rms_norm(const struct isa *isa, const f32 *x, const f32 *w, u32 n, f32 eps, f32 *y) {
    f32 mean = isa->sum_squares(x, n) / (f32)n;
    isa->scale_mul(x, w, 1.0f / sqrtf(mean + eps), y, n);
}

void cpu_rms_norm(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *x = &c->a[1];
    const f32 *w = (const f32 *)(const void *)c->a[2].p;
    struct rms_norm_params p = rms_norm_params(c->op);
    u32 from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 t = from; t < to; t++) {
        const f32 *in = (const f32 *)(const void *)(x->p + t * x->pitch);
        f32 *out = (f32 *)(void *)(y->p + t * y->pitch);
        for (u32 i = 0; i < y->cols; i += p.width) {
            rms_norm(c->isa, in + i, w, p.width, p.eps, out + i);
        }
    }
}

void cpu_rms_norm_q(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *x = &c->a[1];
    const f32 *w = (const f32 *)(const void *)c->a[2].p;
    struct rms_norm_q_params p = rms_norm_q_params(c->op);
    f32 *tmp = (f32 *)(void *)c->scratch;
    u32 from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 t = from; t < to; t++) {
        rms_norm(c->isa, (const f32 *)(const void *)(x->p + t * x->pitch), w, p.width, p.eps, tmp);
        c->isa->a8_row(tmp, y->cols, y->p + t * y->pitch);
    }
}
