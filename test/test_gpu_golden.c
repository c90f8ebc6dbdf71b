/* The fixture of every architecture on a GPU: as the device is, with the least that WebGPU has, and
 * with limits so small that everything that can be split is; one of them by subgroups of widths
 * that the device may not have. */
#include "golden_rig.h"

#include "gpu_rig.h"
#include "run/engine.h"

/* Of the exact arithmetic on a GPU: its exp, tanh and division round more freely, and sums have
 * other orders. */
static f64 tolerance(const void *name) {
    (void)name;
    return 1e-3;
}

static const struct gpu_choice as_it_is, floor_only = {.floor = true};
static const struct gpu_choice tiny = {
    .floor = true, .at_most = {.groups_per_dimension = 3, .staging = 64, .binding = 1 << 20}};
static const struct gpu_choice *choice;
static u32 lanes; /* of emulated subgroups; 0: none are emulated */

static int open_engine(glim_engine **out, u32 threads, const char *isa, glim_err *e) {
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

static int use(void **state, const struct gpu_choice *c) {
    (void)state;
    choice = c;
    lanes = 0;
    return 0;
}
static int use_device(void **state) {
    return use(state, &as_it_is);
}
static int use_floor(void **state) {
    return use(state, &floor_only);
}
static int use_tiny(void **state) {
    return use(state, &tiny);
}

static int use_lanes_8(void **state) {
    use(state, &floor_only);
    lanes = 8;
    return 0;
}
static int use_lanes_64(void **state) {
    use(state, &floor_only);
    lanes = 64;
    return 0;
}

#define T(test, setup, name)                                                                       \
    { #test " " name " " #setup, test, setup, NULL, (void *)(uintptr_t)name }
#define ALL_TESTS(name)                                                                            \
    T(test_exact_in_any_chunks, use_device, name), T(test_greedy, use_device, name),               \
        T(test_rewind, use_device, name), T(test_last_row_only, use_device, name),                 \
        T(test_f16_cache, use_device, name), T(test_two_sessions, use_device, name),               \
        T(test_greedy, use_floor, name), T(test_rewind, use_tiny, name)

int main(void) {
    const struct CMUnitTest tests[] = {
        ALL_TESTS("llama"),
        ALL_TESTS("qwen2"),
        ALL_TESTS("qwen3"),
        ALL_TESTS("granite"),
        ALL_TESTS("gemma3"),
        ALL_TESTS("gemma4-e2b"),
        ALL_TESTS("gemma4-large"),
        ALL_TESTS("gemma4-moe"),
        ALL_TESTS("lfm2"),
        ALL_TESTS("lfm2moe"),
        T(test_greedy, use_lanes_8, "gemma4-moe"),
        T(test_greedy, use_lanes_64, "gemma4-moe"),
    };
    struct gpu_info info;
    glim_err e = {0};
    if (gpu_list(GPU_LIBRARY, &info, 1, &e) < 1) {
        printf("1..0 # SKIP %s\n", *e.msg ? e.msg : "no GPU");
        return 0;
    }
    return cmocka_run_group_tests_name("gpu golden", tests, NULL, NULL);
}
