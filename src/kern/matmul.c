/* Matrix products. Threads take strips of output columns (weight rows), so that every weight is
 * read once per batch; a strip's result does not depend on who computes it. */
#include "kern/cpu.h"

void cpu_matmul(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *x = &c->a[1], *w = &c->a[2], *b = &c->a[3];
    struct matmul m = {
        .w = w->p,
        .w_pitch = w->pitch,
        .type = w->type,
        .k = x->cols,
        .x = x->p,
        .x_pitch = x->pitch,
        .y = (f32 *)(void *)y->p,
        .y_pitch = y->pitch / sizeof(f32),
        .t = y->rows,
        .a8 = x->dtype == DT_A8,
    };
    u32 from, to;
    cpu_share(c, w->rows, ISA_ROWS, &from, &to);
    if (from >= to || m.t == 0) return;
    c->isa->matmul(&m, from, to, c->scratch);
    const f32 *bias = (const f32 *)(const void *)b->p;
    for (u32 t = 0; bias && t < m.t; t++) {
        f32 *out = m.y + t * m.y_pitch + from;
        c->isa->add(out, bias + from, 1.0f, out, to - from);
    }
}
