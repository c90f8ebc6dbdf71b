/* The fixture of every architecture on a GPU: as the device is, with the least that WebGPU has, and
 * with limits so small that everything that can be split is; one of them by subgroups of widths
 * that the device may not have. */
#include "gpu_golden_rig.h"

#define ALL_TESTS(name)                                                                            \
    T(test_exact_in_any_chunks, use_device, name), T(test_greedy, use_device, name),               \
        T(test_rewind, use_device, name), T(test_last_row_only, use_device, name),                 \
        T(test_f16_cache, use_device, name), T(test_two_sessions, use_device, name),               \
        T(test_long_text, use_device, name), T(test_exact_in_any_chunks, use_floor, name),         \
        T(test_greedy, use_floor, name), T(test_rewind, use_floor, name),                          \
        T(test_rewind, use_tiny, name)

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
    if (!rig_has_gpu()) return 0;
    return cmocka_run_group_tests_name("gpu golden", tests, NULL, NULL);
}
