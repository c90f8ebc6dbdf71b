/* Page pools, caches and sequences. */
#include "run/kv.h"

#include <assert.h>
#include <string.h>

struct kv_slab {
    struct kv_slab *next;
    size_t size; /* whole allocation */
};

/* Offsets of the layers inside their kind's page, each aligned to 64 bytes, and the pages' sizes.
 * to may be NULL. */
static void layout(const struct model *m, bool f16, struct kv_layer *to, u64 bytes[KV_KINDS]) {
    for (u32 k = 0; k < KV_KINDS; k++)
        bytes[k] = 0;
    for (u32 i = 0; i < m->n_kv; i++) {
        const struct kv_layer *l = &m->kv[i];
        bool conv = l->kind == KV_CONV;
        u64 half = (u64)l->n_heads * l->head_dim * KV_PAGE * (f16 && !conv ? 2 : 4);
        half = (half + 63) & ~(u64)63;
        if (to) {
            to[i] = *l;
            to[i].k_off = bytes[l->kind];
            to[i].v_off = bytes[l->kind] + half;
        }
        bytes[l->kind] += conv ? half : 2 * half;
    }
}

/* Page slots of a sequence. The ring holds the window before the oldest row of a pass, the pass
 * itself or what a rewind may go back, and a page that is only partly in use at either end. */
static u32 slots(enum kv_kind kind, u32 window, u32 n_ctx, u32 n_batch) {
    u64 all = ((u64)n_ctx + KV_PAGE - 1) / KV_PAGE;
    if (kind == KV_FULL) return (u32)all;
    u64 ring = (u64)window + MAX(n_batch, (u32)KV_REWIND);
    return (u32)MIN(all, (ring + KV_PAGE - 1) / KV_PAGE + 1);
}

u64 kv_bytes(const struct model *m, bool f16, u32 n_ctx, u32 n_batch) {
    u64 bytes[KV_KINDS], sum = 0;
    layout(m, f16, NULL, bytes);
    for (u32 k = 0; k < KV_KINDS; k++) {
        sum += bytes[k] * slots((enum kv_kind)k, m->windows[k], n_ctx, n_batch);
    }
    return sum;
}

int kv_cache_init(struct kv_cache *c, const struct model *m, bool f16, bool elsewhere,
                  const glim_alloc *a, glim_err *e) {
    *c = (struct kv_cache){0};
    c->layers = mem_get(a, m->n_kv * sizeof *c->layers);
    if (!c->layers) return fail(e, GLIM_NOMEM, "out of memory (KV layers)");
    c->layout = (struct kv_layout){.layers = c->layers, .n_layers = m->n_kv, .f16 = f16};
    layout(m, f16, c->layers, c->layout.page_bytes);
    for (u32 k = 0; k < KV_KINDS; k++) {
        c->windows[k] = m->windows[k];
        u64 bytes = elsewhere ? 0 : c->layout.page_bytes[k];
        c->pools[k] = (struct kv_pool){.alloc = a, .page_bytes = bytes};
    }
    return GLIM_OK;
}

static void pool_free(struct kv_pool *p) {
    while (p->slabs) {
        struct kv_slab *s = p->slabs;
        p->slabs = s->next;
        mem_put(p->alloc, s, s->size);
    }
    mem_put(p->alloc, p->pages, p->cap * sizeof *p->pages);
    mem_put(p->alloc, p->free, p->cap * sizeof *p->free);
}

void kv_cache_free(struct kv_cache *c) {
    if (!c->layers) return;
    mem_put(c->pools[0].alloc, c->layers, c->layout.n_layers * sizeof *c->layers);
    for (u32 k = 0; k < KV_KINDS; k++)
        pool_free(&c->pools[k]);
    *c = (struct kv_cache){0};
}

/* Adds n pages in one slab. */
static int add_pages(struct kv_pool *p, u32 n, glim_err *e) {
    u64 bytes, cap = (u64)p->n_pages + n;
    if (!mul_ok(n, p->page_bytes, &bytes) || !add_ok(bytes, 128, &bytes) || bytes > SIZE_MAX ||
        cap > UINT32_MAX / 2) {
        return fail(e, GLIM_NOMEM, "a KV cache of %u pages is too large; use a smaller context", n);
    }
    struct kv_page *pages = mem_get(p->alloc, cap * sizeof *pages);
    u32 *free = mem_get(p->alloc, cap * sizeof *free);
    struct kv_slab *slab = mem_get(p->alloc, (size_t)bytes);
    if (!pages || !free || !slab) {
        mem_put(p->alloc, pages, cap * sizeof *pages);
        mem_put(p->alloc, free, cap * sizeof *free);
        mem_put(p->alloc, slab, (size_t)bytes);
        return fail(e, GLIM_NOMEM, "no memory for %llu MiB of KV cache; use a smaller context (-c)",
                    (unsigned long long)(bytes >> 20));
    }
    if (p->n_pages) memcpy(pages, p->pages, p->n_pages * sizeof *pages);
    if (p->n_free) memcpy(free, p->free, p->n_free * sizeof *free);
    mem_put(p->alloc, p->pages, p->cap * sizeof *p->pages);
    mem_put(p->alloc, p->free, p->cap * sizeof *p->free);
    p->pages = pages;
    p->free = free;
    p->cap = (u32)cap;
    *slab = (struct kv_slab){p->slabs, (size_t)bytes};
    p->slabs = slab;
    uintptr_t at = ((uintptr_t)slab + sizeof *slab + 63) & ~(uintptr_t)63;
    for (u32 i = n; i-- > 0;) { /* lowest address is taken first */
        p->pages[p->n_pages] = (struct kv_page){(u8 *)at + i * p->page_bytes, 0};
        p->free[p->n_free++] = p->n_pages++;
    }
    return GLIM_OK;
}

/* A table of n slots, with the pool's promise of as many pages. */
static int table_init(struct kv_table *t, struct kv_pool *p, u32 n, glim_err *e) {
    t->pages = mem_get(p->alloc, n * sizeof *t->pages);
    t->data = mem_get(p->alloc, n * sizeof *t->data);
    int rc = t->pages && t->data ? GLIM_OK : fail(e, GLIM_NOMEM, "out of memory (KV page table)");
    u32 unpromised = p->n_pages - p->promised;
    if (rc == GLIM_OK && n > unpromised) rc = add_pages(p, n - unpromised, e);
    if (rc < 0) {
        mem_put(p->alloc, t->pages, n * sizeof *t->pages);
        mem_put(p->alloc, t->data, n * sizeof *t->data);
        *t = (struct kv_table){0};
        return rc;
    }
    t->max = n;
    p->promised += n;
    return GLIM_OK;
}

int kv_seq_init(struct kv_seq *s, struct kv_cache *c, u32 n_ctx, u32 n_batch, glim_err *e) {
    *s = (struct kv_seq){.cache = c};
    for (u32 k = 0; k < KV_KINDS; k++) {
        if (!c->layout.page_bytes[k]) continue;
        u32 n = slots((enum kv_kind)k, c->windows[k], n_ctx, n_batch);
        int rc = table_init(&s->kinds[k], &c->pools[k], n, e);
        if (rc == GLIM_OK) continue;
        kv_seq_free(s);
        return rc;
    }
    return GLIM_OK;
}

/* Gives back the pages of slots n and above. */
static void table_cut(struct kv_table *t, struct kv_pool *p, u32 n) {
    while (t->n > n) {
        u32 page = t->pages[--t->n];
        assert(p->pages[page].refs > 0);
        if (--p->pages[page].refs == 0) p->free[p->n_free++] = page;
    }
}

void kv_seq_free(struct kv_seq *s) {
    if (!s->cache) return;
    for (u32 k = 0; k < KV_KINDS; k++) {
        struct kv_table *t = &s->kinds[k];
        struct kv_pool *p = &s->cache->pools[k];
        table_cut(t, p, 0);
        p->promised -= t->max;
        mem_put(p->alloc, t->pages, t->max * sizeof *t->pages);
        mem_put(p->alloc, t->data, t->max * sizeof *t->data);
    }
    *s = (struct kv_seq){0};
}

void kv_seq_extend(struct kv_seq *s, u32 n) {
    u32 pages = (u32)(((u64)n + KV_PAGE - 1) / KV_PAGE);
    for (u32 k = 0; k < KV_KINDS; k++) {
        struct kv_table *t = &s->kinds[k];
        struct kv_pool *p = &s->cache->pools[k];
        assert(k != KV_FULL || !t->max || pages <= t->max);
        while (t->n < MIN(pages, t->max)) { /* a full ring goes round: its pages are there */
            assert(p->n_free > 0);
            u32 page = p->free[--p->n_free];
            p->pages[page].refs = 1;
            t->pages[t->n] = page;
            t->data[t->n++] = p->pages[page].data;
        }
    }
    s->end = MAX(s->end, n);
}

/* The first position of a kind that may still be there, given where the sequence has been. */
static u32 oldest(const struct kv_seq *s, u32 k) {
    u32 end_page = (u32)(((u64)s->end + KV_PAGE - 1) / KV_PAGE), max = s->kinds[k].max;
    return k != KV_FULL && max && end_page > max ? (end_page - max) * KV_PAGE : 0;
}

u32 kv_seq_truncate(struct kv_seq *s, u32 n) {
    for (u32 k = 0; k < KV_KINDS; k++) {
        u32 window = s->cache->windows[k];
        u32 first = n >= window ? n - window + 1 : 0; /* that position n sees */
        if (k != KV_FULL && first < oldest(s, k)) n = 0;
    }
    u32 keep = (u32)(((u64)n + KV_PAGE - 1) / KV_PAGE);
    for (u32 k = 0; k < KV_KINDS; k++) {
        /* A ring that has gone round keeps all its pages until it starts anew. */
        if (n == 0 || oldest(s, k) == 0) table_cut(&s->kinds[k], &s->cache->pools[k], keep);
    }
    /* What was written beyond n stays in a ring and goes on to count as overwriting, unless all
     * starts anew. */
    if (n == 0) s->end = 0;
    return n;
}
