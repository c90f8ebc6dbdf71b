/* Whole models on a GPU whose activations are beyond half precision: the logits of the same models
 * with small ones, finite and right. */
#include "gpu_golden_rig.h"

#include "large_rig.h"

static f32 *logits(const struct golden *g, const struct temp *model, bool exact) {
    struct golden copy = *g;
    struct run r;
    const glim_session_params p = {.exact = exact, .max_logits = N_PROMPT, .n_batch = N_PROMPT};
    f32 *out = calloc((size_t)N_PROMPT * g->n_vocab, sizeof *out);
    assert_non_null(out);
    snprintf(copy.model, sizeof copy.model, "%s", model->path);
    run_open(&r, &copy, 1, NULL, &p);
    logits_of(&r, g->tokens, 0, N_PROMPT, N_PROMPT, g->n_vocab, out);
    run_close(&r);
    return out;
}

static void large(void **state) {
    const struct large_case *k = *state;
    void *name = (void *)(uintptr_t)k->name;
    struct golden g;
    golden_open(&g, &name);
    for (u32 fast = 0; fast < 2; fast++) {
        struct temp a = large_copy(k->name, k->arch, k->layers, false, fast);
        struct temp b = large_copy(k->name, k->arch, k->layers, true, fast);
        f32 *want = logits(&g, &a, !fast), *got = logits(&g, &b, !fast);
        assert_near(got, want, (size_t)N_PROMPT * g.n_vocab, tolerance(NULL));
        free(want);
        free(got);
        temp_remove(&a);
        temp_remove(&b);
    }
    golden_close(&g);
}

#define ON(setup, i)                                                                               \
    { "large " #setup " " #i, large, setup, NULL, (void *)(uintptr_t)&large_cases[i] }

int main(void) {
    const struct CMUnitTest tests[] = {
        ON(use_device, 0), ON(use_floor, 1), ON(use_device, 2), ON(use_floor, 3), ON(use_device, 4),
    };
    if (!rig_has_gpu()) return 0;
    return cmocka_run_group_tests_name("gpu families", tests, NULL, NULL);
}
