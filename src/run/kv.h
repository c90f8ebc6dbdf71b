/* KV cache: pages of KV_PAGE positions, owned by a model's pool, reference-counted; a sequence is a
 * table of pages. Dropping the end of a sequence, sharing a prefix and snapshots are edits of that
 * table. */
#ifndef RUN_KV_H
#define RUN_KV_H

#include "model/model.h"

struct kv_page {
    u8 *data; /* layout.page_bytes; into a slab */
    u32 refs;
};

struct kv_pool {
    const glim_alloc *alloc; /* borrowed */
    struct kv_layout layout;
    struct kv_layer *layers; /* owned */
    struct kv_page *pages;   /* owned: all pages ever made */
    u32 *free;               /* owned: stack of page numbers with refs 0 */
    struct kv_slab *slabs;   /* owned */
    u32 n_pages, n_free, cap;
    u32 promised; /* pages that open sequences may take in all */
};

/* Sets sizes from the model's layers; takes no pages yet. */
int kv_pool_init(struct kv_pool *p, const struct model *m, bool f16, const glim_alloc *a,
                 glim_err *e);
void kv_pool_free(struct kv_pool *p);
/* Bytes of the pages that n positions take, all layers. */
u64 kv_bytes(const struct model *m, bool f16, u64 n);

/* A sequence: at most n_ctx positions. Its pages are promised by the pool at init, so that taking
 * one during a step allocates nothing (the memory is touched only when used). */
struct kv_seq {
    struct kv_pool *pool; /* borrowed */
    u32 *pages;           /* owned: page numbers */
    u8 **data;            /* owned: their addresses, for steps */
    u32 n_pages, max_pages;
};
int kv_seq_init(struct kv_seq *s, struct kv_pool *p, u32 n_ctx, glim_err *e);
void kv_seq_free(struct kv_seq *s);
/* Makes positions 0 .. n - 1 writable: takes pages as needed. n is at most n_ctx. */
void kv_seq_extend(struct kv_seq *s, u32 n);
/* Forgets positions from n on. */
void kv_seq_truncate(struct kv_seq *s, u32 n);

#endif
