/* Opening and closing an engine. */
#include "run/engine.h"
#include "base/plat_cpu.h"

#include <string.h>

int engine_open(struct engine **out, const glim_engine_params *p, glim_err *e) {
    static const glim_engine_params defaults;
    if (!p) p = &defaults;
    *out = NULL;
    if (p->device && strcmp(p->device, "cpu") != 0 && strcmp(p->device, "auto") != 0) {
        return fail(e, GLIM_UNSUPPORTED, "device '%.40s' is not supported; known: auto, cpu",
                    p->device);
    }
    const struct isa *isa = isa_pick(p->isa);
    if (!isa) {
        return fail(e, GLIM_UNSUPPORTED, "instruction set '%.40s' is unknown or cannot run here",
                    p->isa);
    }
    glim_alloc alloc = p->alloc.fn ? p->alloc : mem_libc;
    struct engine *g = mem_get(&alloc, sizeof *g);
    if (!g) return fail(e, GLIM_NOMEM, "out of memory (engine)");
    *g = (struct engine){.alloc = alloc, .isa = isa, .log = p->log, .log_ud = p->log_ud};
    u32 n = p->n_threads ? p->n_threads : MIN(plat_cpu_count(), (u32)POOL_MAX);
    int rc = pool_open(&g->pool, n, &g->alloc, e);
    if (rc == GLIM_OK) {
        g->scratch_size = (size_t)n * ENGINE_SCRATCH + 64;
        g->scratch_block = mem_get(&g->alloc, g->scratch_size);
        if (!g->scratch_block) rc = fail(e, GLIM_NOMEM, "out of memory (thread scratch)");
    }
    if (rc < 0) {
        engine_close(g);
        return rc;
    }
    g->scratch = (u8 *)(((uintptr_t)g->scratch_block + 63) & ~(uintptr_t)63);
    *out = g;
    return GLIM_OK;
}

void engine_close(struct engine *g) {
    if (!g) return;
    pool_close(g->pool);
    mem_put(&g->alloc, g->scratch_block, g->scratch_size);
    glim_alloc alloc = g->alloc; /* the engine itself came from it */
    mem_put(&alloc, g, sizeof *g);
}
