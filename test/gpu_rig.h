/* What tests of the GPU share. The library is where ./dev puts it; without it, or without an
 * adapter, tests are skipped and say why. Include after cmocka.h. */
#ifndef TEST_GPU_RIG_H
#define TEST_GPU_RIG_H

#include "gpu/gpu.h"

#include <stdio.h>
#include <string.h>

#ifdef CMOCKA_H_ /* headers are compiled alone too */
#define GPU_LIBRARY "deps/libwebgpu_dawn.so"

/* Whether there is a GPU; otherwise says so in the way of tests. */
static inline bool rig_has_gpu(void) {
    struct gpu_info info;
    glim_err e = {0};
    if (gpu_list(GPU_LIBRARY, &info, 1, &e) >= 1) return true;
    printf("1..0 # SKIP %s\n", *e.msg ? e.msg : "no GPU");
    return false;
}

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

/* The first n bytes of a buffer. */
static inline void rig_read(struct gpu *g, const struct gpu_buffer *from, void *to, u64 n) {
    struct gpu_buffer back;
    const void *bytes;
    glim_err e = {0};
    int rc = gpu_buffer_init(g, &back, n, GPU_READBACK, "back", &e);
    if (rc == GLIM_OK) {
        gpu_copy(g, from, 0, &back, 0, n);
        rc = gpu_submit(g, &e);
    }
    if (rc == GLIM_OK) rc = gpu_read_begin(g, &back, n, &e);
    while (rc == GLIM_OK && (rc = gpu_read_poll(g, &back, &bytes, &e)) == GLIM_AGAIN)
        rc = GLIM_OK;
    if (rc < 0) {
        print_error("ERROR: %s\n", e.msg);
        _fail(__FILE__, __LINE__);
    }
    memcpy(to, bytes, n);
    gpu_read_end(g, &back);
    gpu_buffer_free(g, &back);
}
#endif

#endif
