/* KV cache: pages of KV_PAGE positions, owned by a model's pool, reference-counted; a sequence is a
 * table of pages per kind of layer. Dropping the end of a sequence, sharing a prefix and snapshots
 * are edits of that table; sliding-window layers go round a ring of pages. */
#ifndef RUN_KV_H
#define RUN_KV_H

#include "model/model.h"

struct kv_page {
    u8 *data; /* into a slab */
    u32 refs;
};

/* The pages of one kind of layer. */
struct kv_pool {
    const glim_alloc *alloc; /* borrowed; NULL: not in use */
    u64 page_bytes;
    struct kv_page *pages; /* owned: all pages ever made */
    u32 *free;             /* owned: stack of page numbers with refs 0 */
    struct kv_slab *slabs; /* owned */
    u32 n_pages, n_free, cap;
    u32 promised; /* pages that open sequences may take in all */
};

/* A model's cache in one number format. */
struct kv_cache {
    struct kv_layout layout;
    struct kv_layer *layers; /* owned */
    struct kv_pool pools[KV_KINDS];
    u32 windows[KV_KINDS]; /* positions that a layer sees */
};

/* Sets sizes from the model's layers; takes no pages yet. elsewhere: pages are on a device, and
 * only counted here. */
int kv_cache_init(struct kv_cache *c, const struct model *m, bool f16, bool elsewhere,
                  const glim_alloc *a, glim_err *e);
void kv_cache_free(struct kv_cache *c);
/* Bytes of the pages that a sequence of n_ctx positions in passes of n_batch takes. */
u64 kv_bytes(const struct model *m, bool f16, u32 n_ctx, u32 n_batch);

/* A sequence: at most n_ctx positions, at most n_batch written per pass. Its pages are promised by
 * the pools at init, so that taking one during a step allocates nothing (memory is touched only
 * when used). */
struct kv_seq {
    struct kv_cache *cache; /* borrowed */
    struct kv_table {
        u32 *pages; /* owned: page numbers */
        u8 **data;  /* owned: their addresses, for steps */
        u32 n, max; /* in use; slots */
    } kinds[KV_KINDS];
    u32 end; /* positions written so far are below this */
};
int kv_seq_init(struct kv_seq *s, struct kv_cache *c, u32 n_ctx, u32 n_batch, glim_err *e);
void kv_seq_free(struct kv_seq *s);
/* Makes positions below n writable: takes pages as needed. n is at most n_ctx and at most n_batch
 * beyond the last. */
void kv_seq_extend(struct kv_seq *s, u32 n);
/* Forgets positions from n on. Returns how many of the first n are still usable: n, or 0 where
 * sliding layers have overwritten what position n would need to see (the ring keeps at least
 * KV_REWIND positions more than the window). */
u32 kv_seq_truncate(struct kv_seq *s, u32 n);

enum { KV_REWIND = KV_PAGE };

#endif
