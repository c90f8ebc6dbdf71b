/* The KV cache's store and one-pass attention over it. Online softmax: Milakov and Gimelshein 2018,
 * arXiv 1805.02867; the block form follows Dao et al. 2022, arXiv 2205.14135. */
#include "kern/cpu.h"

#include <float.h>
#include <math.h>

/* Address of key or value `pos` of head h, given the layer's K or V offset. */
static u8 *kv_at(const struct step *s, u32 seq, u64 off, const struct kv_layer *l, u32 h, u32 pos) {
    u64 item = ((u64)h * KV_PAGE + pos % KV_PAGE) * l->head_dim;
    return kv_page_at(s, seq, l, pos) + off + item * (s->kv->f16 ? 2 : 4);
}

/* Finite numbers beyond f16's range become its largest: an infinite key would make every score one.
 */
static void store_f16(const struct cpu_call *c, const f32 *x, u16 *y, u32 n) {
    c->isa->to_f16(x, y, n);
    for (u32 i = 0; i < n; i++) {
        bool beyond = (y[i] & 0x7fff) == 0x7c00 && fabsf(x[i]) <= FLT_MAX;
        y[i] = (u16)(y[i] - beyond);
    }
}

void cpu_kv_store(const struct cpu_call *c) {
    const struct kv_layer *l = &c->step->kv->layers[kv_store_params(c->op).layer];
    const u64 offs[2] = {l->k_off, l->v_off};
    u32 from, to;
    cpu_share(c, c->a[0].rows, 1, &from, &to);
    for (u32 t = from; t < to; t++) {
        const struct step_row *row = &c->step->rows[t];
        for (u32 i = 0; i < 2; i++) {
            const f32 *src = (const f32 *)(const void *)(c->a[i].p + t * c->a[i].pitch);
            for (u32 h = 0; h < l->n_heads; h++, src += l->head_dim) {
                u8 *dst = kv_at(c->step, row->seq, offs[i], l, h, row->pos);
                if (c->step->kv->f16) {
                    store_f16(c, src, (u16 *)(void *)dst, l->head_dim);
                } else {
                    memcpy(dst, src, l->head_dim * sizeof(f32));
                }
            }
        }
    }
}

/* Rows of attention state that a thread carries at a time: some tokens times the query heads that
 * share a KV head, so that a page's keys are loaded once for all of them. */
enum { ROWS = 64 };

/* Attention of rows t0..t1 (one sequence) for query heads head .. head + group, which share KV head
 * h. (t1 - t0) * group is at most ROWS. */
static void attend_block(const struct cpu_call *c, const struct attend_params *p, u32 h, u32 head,
                         u32 group, u32 t0, u32 t1) {
    const struct mat *y = &c->a[0], *q = &c->a[1];
    const struct step *s = c->step;
    const struct kv_layer *l = &s->kv->layers[p->layer];
    struct attend_row rows[ROWS];
    u32 n = 0, first = UINT32_MAX, last = 0; /* key positions that any row sees: [first, last] */
    for (u32 t = t0; t < t1; t++) {
        u32 pos = cpu_row(c, t)->pos;
        first = MIN(first, p->window && pos >= p->window ? pos - p->window + 1 : 0u);
        last = MAX(last, pos);
        for (u32 g = 0; g < group; g++, n++) {
            u64 col = (u64)(head + g) * p->head_dim;
            rows[n].q = (const f32 *)(const void *)(q->p + t * q->pitch) + col;
            rows[n].o = (f32 *)(void *)(y->p + t * y->pitch) + col;
            rows[n].m = -INFINITY;
            rows[n].l = 0;
            memset(rows[n].o, 0, p->head_dim * sizeof(f32));
        }
    }
    struct attend_span span = {.pitch = p->head_dim,
                               .e = p->head_dim,
                               .f16 = s->kv->f16,
                               .scale = p->scale,
                               .softcap = p->softcap};
    for (u32 page = first / KV_PAGE; page <= last / KV_PAGE; page++) {
        u32 base = page * KV_PAGE;
        for (u32 i = 0; i < n; i++) {
            u32 pos = cpu_row(c, t0 + i / group)->pos;
            u32 lo = p->window && pos >= p->window ? pos - p->window + 1 : 0;
            rows[i].lo = lo > base ? MIN(lo - base, (u32)KV_PAGE) : 0;
            rows[i].hi = pos >= base ? MIN(pos - base + 1, (u32)KV_PAGE) : 0;
            if (rows[i].hi < rows[i].lo) rows[i].hi = rows[i].lo;
        }
        span.k = kv_at(s, cpu_row(c, t0)->seq, l->k_off, l, h, base);
        span.v = kv_at(s, cpu_row(c, t0)->seq, l->v_off, l, h, base);
        c->isa->attend(&span, rows, n, c->scratch);
    }
    for (u32 i = 0; i < n; i++) {
        c->isa->scale_mul(rows[i].o, NULL, 1.0f / rows[i].l, rows[i].o, p->head_dim);
    }
}

void cpu_attend(const struct cpu_call *c) {
    struct attend_params p = attend_params(c->op);
    const struct kv_layer *l = &c->step->kv->layers[p.layer];
    u32 t = c->a[0].rows, heads = c->a[0].cols / p.head_dim, group = heads / l->n_heads;
    u32 sub = MIN(group, (u32)ROWS); /* query heads at a time */
    u32 block = MAX((u32)ROWS / sub, 1u);
    /* Items go round the threads, a KV head's blocks in order: late rows cost more than early
     * ones, so that adjacent blocks go to different threads. */
    u32 item = 0;
    for (u32 t0 = 0; t0 < t;) {
        u32 t1 = t0 + 1;
        while (t1 < t && t1 - t0 < block && cpu_row(c, t1)->seq == cpu_row(c, t0)->seq)
            t1++;
        for (u32 head = 0; head < heads; item++) {
            u32 h = head / group, n = MIN(sub, (h + 1) * group - head);
            if (item % c->nth == c->ith) attend_block(c, &p, h, head, n, t0, t1);
            head += n;
        }
        t0 = t1;
    }
}
