/* Page pool and sequences. */
#include "run/kv.h"

#include <assert.h>
#include <string.h>

struct kv_slab {
    struct kv_slab *next;
    size_t size; /* whole allocation */
};

/* Offsets of the layers inside a page, each aligned to 64 bytes; returns the page's size. */
static u64 layout(const struct kv_layer *from, struct kv_layer *to, u32 n, bool f16) {
    u64 at = 0;
    for (u32 i = 0; i < n; i++) {
        u64 half = (u64)from[i].n_heads * from[i].head_dim * KV_PAGE * (f16 ? 2 : 4);
        half = (half + 63) & ~(u64)63;
        if (to) {
            to[i] = from[i];
            to[i].k_off = at;
            to[i].v_off = at + half;
        }
        at += 2 * half;
    }
    return at;
}

u64 kv_bytes(const struct model *m, bool f16, u64 n) {
    return layout(m->kv, NULL, m->n_kv, f16) * ((n + KV_PAGE - 1) / KV_PAGE);
}

int kv_pool_init(struct kv_pool *p, const struct model *m, bool f16, const glim_alloc *a,
                 glim_err *e) {
    *p = (struct kv_pool){.alloc = a};
    p->layers = mem_get(a, m->n_kv * sizeof *p->layers);
    if (!p->layers) return fail(e, GLIM_NOMEM, "out of memory (KV layers)");
    u64 bytes = layout(m->kv, p->layers, m->n_kv, f16);
    p->layout = (struct kv_layout){
        .layers = p->layers, .n_layers = m->n_kv, .page_bytes = bytes, .f16 = f16};
    return GLIM_OK;
}

void kv_pool_free(struct kv_pool *p) {
    if (!p->alloc) return;
    while (p->slabs) {
        struct kv_slab *s = p->slabs;
        p->slabs = s->next;
        mem_put(p->alloc, s, s->size);
    }
    mem_put(p->alloc, p->layers, p->layout.n_layers * sizeof *p->layers);
    mem_put(p->alloc, p->pages, p->cap * sizeof *p->pages);
    mem_put(p->alloc, p->free, p->cap * sizeof *p->free);
    *p = (struct kv_pool){0};
}

/* Adds n pages in one slab. */
static int add_pages(struct kv_pool *p, u32 n, glim_err *e) {
    u64 bytes, cap = (u64)p->n_pages + n;
    if (!mul_ok(n, p->layout.page_bytes, &bytes) || !add_ok(bytes, 128, &bytes) ||
        bytes > SIZE_MAX || cap > UINT32_MAX / 2) {
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
        p->pages[p->n_pages] = (struct kv_page){(u8 *)at + i * p->layout.page_bytes, 0};
        p->free[p->n_free++] = p->n_pages++;
    }
    return GLIM_OK;
}

int kv_seq_init(struct kv_seq *s, struct kv_pool *p, u32 n_ctx, glim_err *e) {
    u32 n = (n_ctx + KV_PAGE - 1) / KV_PAGE;
    *s = (struct kv_seq){.pool = p, .max_pages = n};
    s->pages = mem_get(p->alloc, n * sizeof *s->pages);
    s->data = mem_get(p->alloc, n * sizeof *s->data);
    int rc = s->pages && s->data ? GLIM_OK : fail(e, GLIM_NOMEM, "out of memory (KV page table)");
    u32 free = p->n_pages - p->promised;
    if (rc == GLIM_OK && n > free) rc = add_pages(p, n - free, e);
    if (rc < 0) {
        mem_put(p->alloc, s->pages, n * sizeof *s->pages);
        mem_put(p->alloc, s->data, n * sizeof *s->data);
        *s = (struct kv_seq){0};
        return rc;
    }
    p->promised += n;
    return GLIM_OK;
}

void kv_seq_free(struct kv_seq *s) {
    if (!s->pool) return;
    kv_seq_truncate(s, 0);
    s->pool->promised -= s->max_pages;
    mem_put(s->pool->alloc, s->pages, s->max_pages * sizeof *s->pages);
    mem_put(s->pool->alloc, s->data, s->max_pages * sizeof *s->data);
    *s = (struct kv_seq){0};
}

void kv_seq_extend(struct kv_seq *s, u32 n) {
    struct kv_pool *p = s->pool;
    u32 want = (u32)(((u64)n + KV_PAGE - 1) / KV_PAGE);
    assert(want <= s->max_pages);
    while (s->n_pages < want) {
        assert(p->n_free > 0);
        u32 page = p->free[--p->n_free];
        p->pages[page].refs = 1;
        s->pages[s->n_pages] = page;
        s->data[s->n_pages++] = p->pages[page].data;
    }
}

void kv_seq_truncate(struct kv_seq *s, u32 n) {
    struct kv_pool *p = s->pool;
    u32 keep = (u32)(((u64)n + KV_PAGE - 1) / KV_PAGE);
    while (s->n_pages > keep) {
        u32 page = s->pages[--s->n_pages];
        assert(p->pages[page].refs > 0);
        if (--p->pages[page].refs == 0) p->free[p->n_free++] = page;
    }
}
