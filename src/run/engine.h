/* The engine: what computes, a GPU or the threads of the CPU. */
#ifndef RUN_ENGINE_H
#define RUN_ENGINE_H

#include "base/pool.h"
#include "kern/cpu.h"
#include "run/device.h"

enum { ENGINE_SCRATCH = ISA_SCRATCH + CPU_SCRATCH };

struct engine {
    glim_alloc alloc;
    struct pool *pool;     /* owned */
    const struct isa *isa; /* static */
    u8 *scratch;           /* ENGINE_SCRATCH bytes per thread, aligned to 64; in scratch_block */
    void *scratch_block;
    size_t scratch_size;
    struct device *device; /* owned; NULL: the CPU computes */
    void (*log)(void *ud, const char *msg);
    void *log_ud;
};

/* p may be NULL. */
int engine_open(struct engine **out, const glim_engine_params *p, glim_err *e);
/* The same on a GPU that the caller chooses, with limits that tests lower. */
int engine_open_gpu(struct engine **out, const glim_engine_params *p, const struct gpu_choice *c,
                    glim_err *e);
/* What the device "auto" comes to where the system has a device node of a GPU, or none: a real GPU
 * that can be used, else the CPU. Where only the WebGPU library is missing, the log is told. */
int engine_open_auto(struct engine **out, const glim_engine_params *p, const struct gpu_choice *c,
                     bool has_node, glim_err *e);
void engine_close(struct engine *g); /* NULL is fine */
/* In src/glim.c: the engine, which it takes over, as the public API's. For tests of GPUs with lower
 * limits. */
int engine_publish(glim_engine **out, struct engine *g, glim_err *e);

#endif
