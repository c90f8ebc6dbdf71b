/* What tests of the GPU share. The library is where ./dev puts it; without it, or without an
 * adapter, tests are skipped and say why. Include after cmocka.h. */
#ifndef TEST_GPU_RIG_H
#define TEST_GPU_RIG_H

#include "gpu/gpu.h"

#ifdef CMOCKA_H_ /* headers are compiled alone too */
#define GPU_LIBRARY "deps/libwebgpu_dawn.so"

/* Opens a GPU; skip() if there is none. c may be NULL. */
static inline struct gpu *rig_gpu(const struct gpu_choice *c) {
    struct gpu_choice choice = c ? *c : (struct gpu_choice){0};
    struct gpu *g;
    glim_err e = {0};
    choice.library = GPU_LIBRARY;
    if (gpu_open(&g, &choice, &mem_libc, &e) < 0) {
        print_message("no GPU: %s\n", e.msg);
        skip();
    }
    return g;
}
#endif

#endif
