/* An allocator that counts, and that can be told to fail: for tests of memory limits, leaks and of
 * every n-th allocation failing. */
#ifndef TEST_COUNT_ALLOC_H
#define TEST_COUNT_ALLOC_H

#include "base/mem.h"

#include <stdlib.h>

struct count_alloc {
    glim_alloc alloc; /* hand out &c.alloc */
    u64 live, peak;   /* bytes */
    u64 calls;        /* that asked for memory */
    u64 fail_at;      /* the call (from 1) that fails, and all after it; 0: none */
    bool once;        /* only that one fails */
};

static inline void *count_alloc_fn(void *ud, void *ptr, size_t old_size, size_t new_size) {
    struct count_alloc *c = ud;
    if (new_size == 0) {
        if (ptr) c->live -= old_size;
        free(ptr);
        return NULL;
    }
    c->calls++;
    if (c->fail_at && (c->once ? c->calls == c->fail_at : c->calls >= c->fail_at)) return NULL;
    void *p = realloc(ptr, new_size);
    if (!p) return NULL;
    c->live += new_size - (ptr ? old_size : 0);
    c->peak = MAX(c->peak, c->live);
    return p;
}

static inline void count_alloc_init(struct count_alloc *c) {
    *c = (struct count_alloc){.alloc = {count_alloc_fn, c}};
}

#endif
