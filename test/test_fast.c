/* Quantised weights in both arithmetics, against float64 from the same weights. Exact mode must be
 * as near as float32 gets. Fast mode rounds activations to int8 and the cache to half: it is
 * compared with float64 that rounds in the same places. A value on the border between two int8 may
 * fall to either side, and from there on all later roundings differ: so most, but not all, single
 * tokens must agree to the last digits, and long texts be no further from that reference than
 * rounding itself leads. */
#include "ref_llama.h"

#include "make_llama.h"
#include "run_model.h"

enum { N = 16 };

static i32 ids[N];

static void choose_ids(u32 vocab) {
    for (u32 i = 0; i < N; i++)
        ids[i] = (i32)(rng() % vocab);
}

static f64 *reference(const char *path, bool fast, u32 *vocab) {
    struct ref_llama r;
    ref_open(&r, path, fast, fast);
    f64 *logits = calloc((size_t)N * r.vocab, sizeof *logits);
    assert_non_null(logits);
    choose_ids(r.vocab);
    ref_logits(&r, ids, N, logits);
    *vocab = r.vocab;
    ref_close(&r);
    return logits;
}

struct distance {
    f64 rms, worst;
};
static struct distance distance(const f32 *x, const f64 *y, size_t n) {
    struct distance d = {0};
    for (size_t i = 0; i < n; i++) {
        f64 diff = fabs((f64)x[i] - y[i]);
        if (!(diff <= d.worst)) d.worst = diff;
        d.rms += diff * diff;
    }
    d.rms = sqrt(d.rms / (f64)n);
    return d;
}
static f64 size_of(const f64 *y, size_t n) {
    f64 sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += y[i] * y[i];
    return sqrt(sum / (f64)n);
}

/* Tokens as sequences of their own: at least half of them meet no border. */
static void check_singly(const char *path, const char *name, f64 size) {
    struct run r;
    struct ref_llama ref;
    u32 close = 0;
    run_open(&r, path, 2, NULL, NULL);
    ref_open(&ref, path, true, true);
    f64 *want = calloc(ref.vocab, sizeof *want);
    f32 *got = calloc(ref.vocab, sizeof *got);
    assert_true(want && got);
    for (u32 i = 0; i < N; i++) {
        ref_logits(&ref, &ids[i], 1, want);
        run_ok(&r, glim_rewind(r.session, 0));
        run_feed(&r, &ids[i], 1, 1, got);
        close += distance(got, want, ref.vocab).worst <= 2e-5 * size;
    }
    if (close < N / 2) fail_test("%s: only %u of %u single tokens agree", name, close, N);
    ref_close(&ref);
    run_close(&r);
    free(want), free(got);
}

/* Both arithmetics of one file. */
static void check(const char *path, const char *name) {
    u32 vocab;
    u64 seed = rng_state;
    f64 *want = reference(path, false, &vocab);
    rng_state = seed; /* the same ids */
    f64 *want_fast = reference(path, true, &vocab);
    size_t n = (size_t)N * vocab;
    f64 size = size_of(want, n);
    f32 *exact = run_path(path, 2, NULL, true, GLIM_KV_AUTO, ids, N, 7);
    struct distance d = distance(exact, want, n);
    if (!(d.worst <= 1e-4 * size)) fail_test("%s, exact: off by %g of %g", name, d.worst, size);

    f32 *fast = run_path(path, 1, NULL, false, GLIM_KV_AUTO, ids, N, N);
    struct distance whole = distance(fast, want, n), part = distance(fast, want_fast, n);
    if (!(whole.rms <= 0.03 * size))
        fail_test("%s: rounding costs %g of %g", name, whole.rms, size);
    if (!(part.rms <= whole.rms)) {
        fail_test("%s: off its reference by %g, the rounding by %g", name, part.rms, whole.rms);
    }
    check_singly(path, name, size);
    for (u32 threads = 2; threads <= 3; threads++) { /* the same bits */
        f32 *again = run_path(path, threads, NULL, false, GLIM_KV_AUTO, ids, N, N);
        assert_memory_equal(again, fast, n * sizeof *fast);
        free(again);
    }
    static const u32 chunks[] = {1, 5, 16};
    for (u32 i = 0; i < COUNT(chunks); i++) {
        f32 *again = run_path(path, 2, NULL, false, GLIM_KV_AUTO, ids, N, chunks[i]);
        struct distance c = distance(again, want_fast, n);
        if (!(c.rms <= whole.rms)) fail_test("%s in chunks of %u: %g", name, chunks[i], c.rms);
        free(again);
    }
    free(want), free(want_fast), free(exact), free(fast);
}

static void test_formats(void **state) {
    (void)state;
    for (u32 i = 0; i < COUNT(isa_types); i++) {
        struct temp t = make_llama(&isa_types[i], &isa_types[i]);
        check(t.path, quant_find(isa_types[i].type)->name);
        temp_remove(&t);
    }
}

/* Another format for the embedding, which is the output matrix as well. */
static void test_mixed_formats(void **state) {
    (void)state;
    for (u32 i = 3; i < 7; i++) {
        struct temp t = make_llama(&isa_types[(i * 5) % COUNT(isa_types)], &isa_types[i]);
        check(t.path, "mixed");
        temp_remove(&t);
    }
}

/* The fixture with its own weights rounded: K = 64 and 96, blocks of 32. */
static void test_fixture(void **state) {
    (void)state;
    static const u32 types[] = {QUANT_Q8_0, QUANT_Q4_0, QUANT_Q4_1, QUANT_F16, QUANT_BF16};
    for (u32 i = 0; i < COUNT(types); i++) {
        struct temp t = edit_all_as("test/data/llama.gguf", types[i]);
        check(t.path, quant_find(types[i])->name);
        temp_remove(&t);
    }
}

/* Every instruction set gives the same model, nearly. */
static void test_instruction_sets(void **state) {
    (void)state;
    static const char *const isas[] = {"scalar", "avx2", "avx512"};
    struct temp t = make_llama(&isa_types[7], &isa_types[4]);
    u32 vocab;
    f64 *want = reference(t.path, true, &vocab);
    for (u32 i = 0; i < COUNT(isas); i++) {
        if (!isa_pick(isas[i])) continue;
        f32 *got = run_path(t.path, 2, isas[i], false, GLIM_KV_AUTO, ids, N, 9);
        struct distance d = distance(got, want, (size_t)N * vocab);
        f64 size = size_of(want, (size_t)N * vocab);
        if (!(d.rms <= 0.03 * size)) fail_test("%s: off by %g of %g", isas[i], d.rms, size);
        free(got);
    }
    free(want);
    temp_remove(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_mixed_formats),
        cmocka_unit_test(test_fixture),
        cmocka_unit_test(test_instruction_sets),
    };
    return cmocka_run_group_tests_name("fast", tests, NULL, NULL);
}
