/* The fixture of every architecture on the CPU, with 1, 2 and 3 threads and every instruction set.
 */
#include "golden_rig.h"

/* The logits' standard deviation
 * is above 1; float32 engines differ from each other by about 1e-5, in gemma4, whose scores are not
 * scaled down, by 1e-4. */
static f64 tolerance(const void *name) {
    return strncmp(name, "gemma4", 6) == 0 ? 5e-4 : 1e-4;
}

static int open_engine(glim_engine **out, u32 threads, const char *isa, glim_err *e) {
    glim_engine_params p = {.n_threads = threads, .isa = isa, .device = "cpu"};
    return glim_engine_open(out, &p, e);
}

const struct golden_on golden_on = {tolerance, open_engine, 3};

static void test_every_instruction_set(void **state) {
    static const char *const isas[] = {"scalar", "avx2", "avx512"};
    struct golden g;
    golden_open(&g, state);
    size_t n = (size_t)N_PROMPT * g.n_vocab;
    f32 *out = calloc(n, sizeof *out);
    u32 ran = 0;
    for (u32 i = 0; i < COUNT(isas); i++) {
        glim_err e = {0};
        glim_engine *probe;
        glim_engine_params ep = {.n_threads = 1, .isa = isas[i]};
        if (glim_engine_open(&probe, &ep, &e)) continue;
        glim_engine_close(probe);
        struct run r;
        run_open(&r, &g, 2, isas[i], &EXACT);
        logits_of(&r, g.tokens, 0, N_PROMPT, N_PROMPT, g.n_vocab, out);
        assert_near(out, g.logits, n, golden_on.tolerance(*state));
        run_close(&r);
        ran++;
    }
    assert_true(ran >= 1);
    free(out);
    golden_close(&g);
}

#define ALL_TESTS(name)                                                                            \
    cmocka_unit_test_prestate(test_exact_in_any_chunks, (void *)(uintptr_t)name),                  \
        cmocka_unit_test_prestate(test_every_instruction_set, (void *)(uintptr_t)name),            \
        cmocka_unit_test_prestate(test_greedy, (void *)(uintptr_t)name),                           \
        cmocka_unit_test_prestate(test_rewind, (void *)(uintptr_t)name),                           \
        cmocka_unit_test_prestate(test_last_row_only, (void *)(uintptr_t)name),                    \
        cmocka_unit_test_prestate(test_any_rows, (void *)(uintptr_t)name),                         \
        cmocka_unit_test_prestate(test_long_text, (void *)(uintptr_t)name),                        \
        cmocka_unit_test_prestate(test_f16_cache, (void *)(uintptr_t)name),                        \
        cmocka_unit_test_prestate(test_two_sessions, (void *)(uintptr_t)name)

int main(void) {
    const struct CMUnitTest tests[] = {
        ALL_TESTS("llama"),        ALL_TESTS("qwen2"),      ALL_TESTS("qwen3"),
        ALL_TESTS("granite"),      ALL_TESTS("gemma3"),     ALL_TESTS("gemma4-e2b"),
        ALL_TESTS("gemma4-large"), ALL_TESTS("gemma4-moe"), ALL_TESTS("lfm2"),
        ALL_TESTS("lfm2moe"),
    };
    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
