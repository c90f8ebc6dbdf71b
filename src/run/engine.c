/* Opening and closing an engine. */
#include "run/engine.h"
#include "base/plat_cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "gpu" or "gpu:N". */
static bool is_gpu(const char *device, u32 *index) {
    char *end;
    *index = 0;
    if (strncmp(device, "gpu", 3) != 0) return false;
    if (device[3] == 0) return true;
    unsigned long n = strtoul(device + 4, &end, 10);
    *index = (u32)n;
    return device[3] == ':' && device[4] >= '0' && device[4] <= '9' && *end == 0 && n < 1000;
}

/* The CPU's side, which a GPU's engine has too. */
static int open_cpu(struct engine **out, const glim_engine_params *p, glim_err *e) {
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

static const glim_engine_params defaults;

int engine_open_gpu(struct engine **out, const glim_engine_params *p, const struct gpu_choice *c,
                    glim_err *e) {
    glim_engine_params one = p ? *p : defaults;
    *out = NULL;
    one.n_threads = 1; /* nothing is shared out */
    int rc = open_cpu(out, &one, e);
    if (rc < 0) return rc;
    rc = device_open(&(*out)->device, c, &(*out)->alloc, e);
    if (rc < 0) {
        engine_close(*out);
        *out = NULL;
    }
    return rc;
}

int engine_open(struct engine **out, const glim_engine_params *p, glim_err *e) {
    if (!p) p = &defaults;
    *out = NULL;
    const char *device = p->device ? p->device : "auto";
    const char *features = p->gpu_features ? p->gpu_features : "all";
    struct gpu_choice c = {.library = p->gpu_library, .plain = strcmp(features, "none") == 0};
    if (!c.plain && strcmp(features, "all") != 0)
        return fail(e, GLIM_ARG, "gpu_features '%.40s' are unknown; known: all, none", features);
    if (is_gpu(device, &c.index)) return engine_open_gpu(out, p, &c, e);
    if (strcmp(device, "cpu") == 0) return open_cpu(out, p, e);
    if (strcmp(device, "auto") != 0) {
        return fail(e, GLIM_UNSUPPORTED,
                    "device '%.40s' is not supported; known: auto, cpu, gpu, gpu:N", device);
    }
    return engine_open_auto(out, p, &c, plat_has_gpu(), e);
}

int engine_open_auto(struct engine **out, const glim_engine_params *p, const struct gpu_choice *c,
                     bool has_node, glim_err *e) {
    struct gpu_info first;
    glim_err why = {0};
    int n = has_node ? gpu_list(c->library, &first, 1, &why) : 0;
    /* A program that plays a GPU is slower than the CPU's own path. */
    if (n == 1 && !first.software) return engine_open_gpu(out, p, c, e);
    if (n < 0 && p->log) {
        char text[sizeof why.msg + 100];
        snprintf(text, sizeof text,
                 "the GPU of this machine is not used: %s; --device cpu does without it", why.msg);
        p->log(p->log_ud, text);
    }
    return open_cpu(out, p, e);
}

void engine_close(struct engine *g) {
    if (!g) return;
    device_close(g->device);
    pool_close(g->pool);
    mem_put(&g->alloc, g->scratch_block, g->scratch_size);
    glim_alloc alloc = g->alloc; /* the engine itself came from it */
    mem_put(&alloc, g, sizeof *g);
}
