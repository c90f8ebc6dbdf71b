/* Memory: everything goes through the engine's allocator; arenas group it by lifetime (engine,
 * model, session). A decode step allocates nothing. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/base.h"

/* The C library's allocator, used when the caller gives none. */
extern const glim_alloc mem_libc;

/* Uninitialised memory, or NULL. n = 0 gives NULL without asking. */
void *mem_get(const glim_alloc *a, size_t n);
/* Gives back what mem_get(a, n) returned; NULL is fine. */
void mem_put(const glim_alloc *a, void *p, size_t n);

/* A growing list of blocks that are freed together. Not thread-safe. */
struct arena {
    const glim_alloc *alloc; /* borrowed */
    struct arena_block *top; /* owned */
    size_t total;            /* bytes taken from alloc */
};
void arena_init(struct arena *a, const glim_alloc *alloc);
void arena_free(struct arena *a); /* leaves it empty and usable */

/* Zeroed memory aligned to 64 bytes, or NULL. Size 0 gives a valid pointer. */
void *arena_get(struct arena *a, u64 size);
/* n items of size bytes, zeroed; NULL also when n * size wraps. */
void *arena_array(struct arena *a, u64 n, u64 size);
/* A zero-terminated copy. */
char *arena_text(struct arena *a, struct str s);

#endif
