/* Allocator and arenas. */
#include "mem.h"

#include <stdlib.h>
#include <string.h>

static void *libc_fn(void *ud, void *ptr, size_t old_size, size_t new_size) {
    (void)ud;
    (void)old_size;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, new_size);
}
const glim_alloc mem_libc = {libc_fn, NULL};

void *mem_get(const glim_alloc *a, size_t n) {
    return n ? a->fn(a->ud, NULL, 0, n) : NULL;
}

void mem_put(const glim_alloc *a, void *p, size_t n) {
    if (p) a->fn(a->ud, p, n, 0);
}

#if defined(GLIM_OOM) || defined(GLIM_SHRINK)
enum { ALIGN = 64, BLOCK = 1 }; /* every request is an allocation, which a test can make fail */
#else
enum { ALIGN = 64, BLOCK = 64 * 1024 };
#endif

struct arena_block {
    struct arena_block *below;
    size_t size; /* whole allocation */
    size_t used; /* from the block's start, header included */
};

void arena_init(struct arena *a, const glim_alloc *alloc) {
    *a = (struct arena){.alloc = alloc};
}

void arena_free(struct arena *a) {
    while (a->top) {
        struct arena_block *b = a->top;
        a->top = b->below;
        mem_put(a->alloc, b, b->size);
    }
    a->total = 0;
}

/* Room in block b for size bytes, aligned; NULL when it does not fit. */
static void *take(struct arena_block *b, size_t size) {
    uintptr_t base = (uintptr_t)b;
    uintptr_t at = (base + b->used + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1);
    size_t start = at - base;
    if (start > b->size || b->size - start < size) return NULL;
    b->used = start + size;
    return memset((void *)at, 0, size);
}

void *arena_get(struct arena *a, u64 size) {
    if (size > SIZE_MAX / 2) return NULL;
    void *p = a->top && BLOCK > 1 ? take(a->top, (size_t)size) : NULL;
    if (p) return p;
    size_t need = (size_t)size + sizeof(struct arena_block) + ALIGN;
    size_t block = MAX(need, (size_t)BLOCK);
    struct arena_block *b = mem_get(a->alloc, block);
    if (!b) return NULL;
    *b = (struct arena_block){.below = a->top, .size = block, .used = sizeof *b};
    a->top = b;
    a->total += block;
    return take(b, (size_t)size);
}

void *arena_array(struct arena *a, u64 n, u64 size) {
    u64 total;
    if (!mul_ok(n, size, &total)) return NULL;
    return arena_get(a, total);
}

char *arena_text(struct arena *a, struct str s) {
    u64 n;
    if (!add_ok(s.n, 1, &n)) return NULL;
    char *copy = arena_get(a, n);
    if (copy && s.n) memcpy(copy, s.p, s.n);
    return copy;
}
