/* What golden_rig.h's tests run on, on a GPU: as the device is, with the least that WebGPU has,
 * with limits so small that everything that can be split is, or with emulated subgroups. */
#ifndef TEST_GPU_GOLDEN_RIG_H
#define TEST_GPU_GOLDEN_RIG_H

#include "golden_rig.h"

#include "gpu_rig.h"
#include "run/engine.h"

/* Of the exact arithmetic on a GPU: its exp, tanh and division round more freely, and sums have
 * other orders. */
static inline f64 tolerance(const void *name) {
    (void)name;
    return 1e-3;
}

static const struct gpu_choice as_it_is, floor_only = {.floor = true};
static const struct gpu_choice tiny = {
    .floor = true, .at_most = {.groups_per_dimension = 3, .staging = 64, .binding = 1 << 20}};
static const struct gpu_choice *choice;
static u32 lanes; /* of emulated subgroups; 0: none are emulated */

static inline int open_engine(glim_engine **out, u32 threads, const char *isa, glim_err *e) {
    struct gpu_choice c = *choice;
    struct engine *g;
    (void)threads;
    (void)isa;
    c.library = GPU_LIBRARY;
    int rc = engine_open_gpu(&g, NULL, &c, e);
    if (rc == GLIM_OK && lanes)
        g->device->subgroups = (struct wgsl_subgroups){SUBGROUPS_EMULATED, lanes};
    return rc < 0 ? rc : engine_publish(out, g, e);
}

const struct golden_on golden_on = {tolerance, open_engine, 1};

static inline int use(void **state, const struct gpu_choice *c) {
    (void)state;
    choice = c;
    lanes = 0;
    return 0;
}
static inline int use_device(void **state) {
    return use(state, &as_it_is);
}
static inline int use_floor(void **state) {
    return use(state, &floor_only);
}
static inline int use_tiny(void **state) {
    return use(state, &tiny);
}

static inline int use_lanes_8(void **state) {
    use(state, &floor_only);
    lanes = 8;
    return 0;
}
static inline int use_lanes_64(void **state) {
    use(state, &floor_only);
    lanes = 64;
    return 0;
}

#define T(test, setup, name)                                                                       \
    { #test " " name " " #setup, test, setup, NULL, (void *)(uintptr_t)name }

#endif
