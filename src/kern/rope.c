/* Rotary position embedding: Su et al. 2021, arXiv 2104.09864. */
#include "kern/cpu.h"
#include <math.h>

/* Angles are formed in double: at position 100,000 a float angle is already off by 0.004. */
void cpu_rope_angles(const struct cpu_call *c) {
    const struct mat *y = &c->a[0];
    const f32 *inv_freq = (const f32 *)(const void *)c->a[1].p;
    u32 n = c->a[1].cols;
    f64 factor = (f64)rope_angles_params(c->op).factor;
    u32 from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 t = from; t < to; t++) {
        f32 *out = (f32 *)(void *)(y->p + t * y->pitch);
        f64 pos = (f64)c->step->rows[t].pos;
        for (u32 j = 0; j < n; j++) {
            f64 angle = pos * (f64)inv_freq[j];
            out[j] = (f32)(cos(angle) * factor);
            out[n + j] = (f32)(sin(angle) * factor);
        }
    }
}

void cpu_rope(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *x = &c->a[1], *angles = &c->a[2];
    struct rope_params p = rope_params(c->op);
    u32 n = angles->cols / 2; /* rotated pairs; the rest of a head passes through */
    u32 from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 t = from; t < to; t++) {
        const f32 *in = (const f32 *)(const void *)(x->p + t * x->pitch);
        f32 *out = (f32 *)(void *)(y->p + t * y->pitch);
        const f32 *cos_t = (const f32 *)(const void *)(angles->p + t * angles->pitch);
        const f32 *sin_t = cos_t + n;
        for (u32 h = 0; h < y->cols; h += p.head_dim) {
            const f32 *a = in + h;
            f32 *b = out + h;
            for (u32 j = 0; j < n; j++) {
                u32 i0 = p.neox ? j : 2 * j, i1 = p.neox ? j + n : 2 * j + 1;
                f32 u = a[i0], v = a[i1];
                b[i0] = u * cos_t[j] - v * sin_t[j];
                b[i1] = u * sin_t[j] + v * cos_t[j];
            }
            memcpy(b + 2 * n, a + 2 * n, (p.head_dim - 2 * n) * sizeof(f32));
        }
    }
}
