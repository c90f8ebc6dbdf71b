/* A fixed set of threads that work on one thing together. The caller is thread 0; the others wait
 * for work by spinning briefly, then by parking. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/mem.h"

enum { POOL_MAX = 256 }; /* threads in all */

struct pool;
typedef void pool_fn(void *arg, u32 ith, u32 nth);

/* n threads in all, the caller included; n - 1 are started, each pinned to a processor of its own
 * when there are enough of them. GLIM_DEVICE if a thread cannot be started. */
int pool_open(struct pool **out, u32 n, const glim_alloc *a, glim_err *e);
void pool_close(struct pool *p); /* NULL is fine */
u32 pool_threads(const struct pool *p);

/* Runs fn(arg, ith, nth) on every thread and returns when all have. Not reentrant. */
void pool_run(struct pool *p, pool_fn *fn, void *arg);

/* Inside fn, called by all threads: nobody passes before everybody has arrived, and what was
 * written before is visible after. */
void pool_barrier(struct pool *p);

#endif
