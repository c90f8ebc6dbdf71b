/* The engine: a device and its threads. For now the CPU. */
#ifndef RUN_ENGINE_H
#define RUN_ENGINE_H

#include "base/pool.h"
#include "kern/cpu.h"

enum { ENGINE_SCRATCH = ISA_SCRATCH + CPU_SCRATCH };

struct engine {
    glim_alloc alloc;
    struct pool *pool;     /* owned */
    const struct isa *isa; /* static */
    u8 *scratch;           /* ENGINE_SCRATCH bytes per thread, aligned to 64; in scratch_block */
    void *scratch_block;
    size_t scratch_size;
    void (*log)(void *ud, const char *msg);
    void *log_ud;
};

/* p may be NULL. */
int engine_open(struct engine **out, const glim_engine_params *p, glim_err *e);
void engine_close(struct engine *g); /* NULL is fine */

#endif
