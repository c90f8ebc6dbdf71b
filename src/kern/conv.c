/* Short causal convolution over the sequence, one filter per channel, gated before and after: the
 * block of LFM2. Its state is the history of filter inputs, kept per position in pages like keys
 * and values, so that rewinding works the same way. */
#include "kern/cpu.h"

static f32 *history_at(const struct step *s, const struct kv_layer *l, u32 seq, u32 pos) {
    u8 *page = kv_page_at(s, seq, l, pos) + l->k_off;
    return (f32 *)(void *)page + (u64)(pos % KV_PAGE) * l->head_dim;
}

void cpu_conv_store(const struct cpu_call *c) {
    const struct mat *a = &c->a[0], *b = &c->a[1];
    const struct kv_layer *l = &c->step->kv->layers[conv_store_params(c->op).layer];
    u32 from, to;
    cpu_share(c, a->rows, 1, &from, &to);
    for (u32 t = from; t < to; t++) {
        const struct step_row *row = cpu_row(c, t);
        const f32 *x = (const f32 *)(const void *)(a->p + t * a->pitch);
        const f32 *y = (const f32 *)(const void *)(b->p + t * b->pitch);
        c->isa->scale_mul(x, y, 1.0f, history_at(c->step, l, row->seq, row->pos), a->cols);
    }
}

void cpu_conv(const struct cpu_call *c) {
    const struct mat *y = &c->a[0], *x = &c->a[1], *w = &c->a[2];
    struct conv_params p = conv_params(c->op);
    const struct kv_layer *l = &c->step->kv->layers[p.layer];
    u32 from, to;
    cpu_share(c, y->rows, 1, &from, &to);
    for (u32 t = from; t < to; t++) {
        const struct step_row *row = cpu_row(c, t);
        f32 *out = (f32 *)(void *)(y->p + t * y->pitch);
        const f32 *gate = (const f32 *)(const void *)(x->p + t * x->pitch);
        memset(out, 0, y->cols * sizeof *out);
        for (u32 j = 0; j < p.taps; j++) { /* the last tap is now */
            u32 back = p.taps - 1 - j;
            if (row->pos < back) continue;
            const f32 *z = history_at(c->step, l, row->seq, row->pos - back);
            const f32 *tap = (const f32 *)(const void *)(w->p + j * w->pitch);
            for (u32 i = 0; i < y->cols; i++)
                out[i] += tap[i] * z[i];
        }
        c->isa->scale_mul(out, gate, 1.0f, out, y->cols);
    }
}
