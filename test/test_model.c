/* Opening models: every key and every tensor wrong in every way, and the ways that are right.
 * Files are changed copies of the llama fixture; values are checked against float64. */
#include "ref_llama.h"
#include "run_model.h"

#define MODEL "test/data/llama.gguf"

enum { N = 12 };
static const i32 ids[N] = {0, 17, 300, 5, 5, 211, 42, 9, 133, 7, 64, 319};

/* ---- Refusals -------------------------------------------------------------------------------- */

static glim_engine *engine;

static int open_engine(void **state) {
    (void)state;
    glim_err e = {0};
    glim_engine_params p = {.n_threads = 1};
    return glim_engine_open(&engine, &p, &e);
}
static int close_engine(void **state) {
    (void)state;
    glim_engine_close(engine);
    return 0;
}

/* The message must name each of the words (separated by '|'). */
static void says(const glim_err *e, const char *words) {
    char copy[256];
    snprintf(copy, sizeof copy, "%s", words);
    for (char *w = strtok(copy, "|"); w; w = strtok(NULL, "|")) {
        if (!strstr(e->msg, w)) fail_test("'%s' does not say '%s'", e->msg, w);
    }
}

static void refused(const struct edit *e, u32 n, int code, const char *words) {
    struct temp t = edit_gguf(MODEL, e, n);
    glim_model *m;
    glim_err err = {0};
    int rc = glim_model_open(&m, engine, t.path, &err);
    temp_remove(&t);
    if (rc != code) fail_test("status %d (%s), expected %d (%s)", rc, err.msg, code, words);
    assert_int_equal(err.code, code);
    assert_null(m);
    says(&err, words);
}
static void refused_kv(struct edit e, int code, const char *words) {
    refused(&e, 1, code, words ? words : e.key);
}

/* Loads, and gives the logits that float64 gives. */
static void agrees(const struct edit *e, u32 n) {
    struct temp t = edit_gguf(MODEL, e, n);
    struct ref_llama ref;
    f32 *got = run_path(t.path, 2, NULL, true, GLIM_KV_AUTO, ids, N, 5);
    ref_open(&ref, t.path, false, false);
    f64 *want = calloc((size_t)N * ref.vocab, sizeof *want);
    ref_logits(&ref, ids, N, want);
    for (size_t i = 0; i < (size_t)N * ref.vocab; i++) {
        if (fabs((f64)got[i] - want[i]) <= 1e-4) continue;
        fail_test("logit %zu is %g, expected %g", i, (f64)got[i], want[i]);
    }
    ref_close(&ref);
    free(want);
    free(got);
    temp_remove(&t);
}

#define KEY(name, ...)                                                                             \
    (struct edit) {                                                                                \
        .key = "llama." name, __VA_ARGS__                                                          \
    }
#define TENSOR(name, ...)                                                                          \
    (struct edit) {                                                                                \
        .tensor = name, __VA_ARGS__                                                                \
    }
#define U32(v) .as = EDIT_U32, .u = (v)
#define F32(v) .as = EDIT_F32, .f = (v)
#define TEXT   .as = EDIT_STR, .s = "4"

static void test_keys(void **state) {
    (void)state;
    static const char *const required[] = {
        "llama.block_count",          "llama.context_length",      "llama.embedding_length",
        "llama.attention.head_count", "llama.feed_forward_length",
    };
    for (u32 i = 0; i < COUNT(required); i++) {
        const char *key = required[i];
        refused_kv((struct edit){.key = key, .as = EDIT_DROP}, GLIM_FORMAT, NULL);
        refused_kv((struct edit){.key = key, U32(0)}, GLIM_FORMAT, NULL);
        refused_kv((struct edit){.key = key, U32(1u << 31)}, GLIM_FORMAT, NULL);
        refused_kv((struct edit){.key = key, U32(UINT32_MAX)}, GLIM_FORMAT, NULL);
    }
    static const char *const integers[] = {
        "llama.block_count",          "llama.context_length",
        "llama.embedding_length",     "llama.attention.head_count",
        "llama.feed_forward_length",  "llama.attention.head_count_kv",
        "llama.attention.key_length", "llama.attention.value_length",
        "llama.rope.dimension_count", "llama.attention.sliding_window",
    };
    static const i32 negative[] = {-1, -1, -1, -1};
    for (u32 i = 0; i < COUNT(integers); i++) {
        const char *key = integers[i];
        refused_kv((struct edit){.key = key, TEXT}, GLIM_FORMAT, NULL);
        refused_kv((struct edit){.key = key, F32(2)}, GLIM_FORMAT, NULL);
        refused_kv((struct edit){.key = key, U32(UINT32_MAX)}, GLIM_FORMAT, NULL);
        refused_kv((struct edit){.key = key, .as = EDIT_I32S, .items = negative, .n_items = 4},
                   GLIM_FORMAT, NULL);
    }
    static const char *const reals[] = {"llama.attention.layer_norm_rms_epsilon",
                                        "llama.rope.freq_base", "llama.rope.scale_linear"};
    for (u32 i = 0; i < COUNT(reals); i++) {
        refused_kv((struct edit){.key = reals[i], TEXT}, GLIM_FORMAT, NULL);
        refused_kv((struct edit){.key = reals[i], F32(NAN)}, GLIM_FORMAT, NULL);
        refused_kv((struct edit){.key = reals[i], F32(INFINITY)}, GLIM_FORMAT, NULL);
        refused_kv((struct edit){.key = reals[i], F32(-1)}, GLIM_FORMAT, NULL);
    }
}

static void test_values_that_do_not_fit(void **state) {
    (void)state;
    refused_kv(KEY("attention.head_count", U32(5)), GLIM_FORMAT, "head");
    refused_kv(KEY("attention.head_count", U32(6)), GLIM_FORMAT, "embedding_length 64|6");
    refused_kv(KEY("attention.head_count_kv", U32(0)), GLIM_FORMAT, NULL);
    refused_kv(KEY("attention.head_count_kv", U32(3)), GLIM_FORMAT, NULL);
    refused_kv(KEY("attention.head_count_kv", U32(8)), GLIM_FORMAT, NULL);
    refused_kv(KEY("embedding_length", U32(63)), GLIM_FORMAT, "embedding_length 63|head_count 4");
    refused_kv(KEY("attention.key_length", U32(1)), GLIM_FORMAT, NULL);
    refused_kv(KEY("attention.key_length", U32(5000)), GLIM_FORMAT, NULL);
    refused_kv(KEY("attention.value_length", U32(8)), GLIM_UNSUPPORTED, "value_length 8");
    refused_kv(KEY("rope.dimension_count", U32(0)), GLIM_FORMAT, NULL);
    refused_kv(KEY("rope.dimension_count", U32(15)), GLIM_FORMAT, "rope.dimension_count 15|odd");
    refused_kv(KEY("rope.dimension_count", U32(18)), GLIM_FORMAT, NULL);
    refused_kv(KEY("rope.freq_base", F32(0)), GLIM_FORMAT, NULL);
    refused_kv(KEY("rope.freq_base", F32(1)), GLIM_FORMAT, NULL);
    refused_kv(KEY("rope.scaling.type", .as = EDIT_STR, .s = "dynamic"), GLIM_UNSUPPORTED,
               "llama.rope.scaling.type|dynamic|yarn");
    refused_kv(KEY("rope.scaling.type", U32(1)), GLIM_FORMAT, NULL);
    struct edit scaled[] = {KEY("rope.scaling.type", .as = EDIT_STR, .s = "linear"),
                            KEY("rope.scaling.factor", F32(0))};
    refused(scaled, 2, GLIM_FORMAT, "llama.rope.scaling.factor");
    scaled[1].f = NAN;
    refused(scaled, 2, GLIM_FORMAT, "llama.rope.scaling.factor");
    /* Other sizes are other models: the tensors say which. */
    refused_kv(KEY("block_count", U32(5)), GLIM_SHAPE, "9 of the tensors|'blk.4.attn_norm.weight'");
    refused_kv(KEY("block_count", U32(3)), GLIM_UNSUPPORTED, "blk.3.");
    refused_kv(KEY("block_count", U32(4096)), GLIM_SHAPE, "'blk.4.attn_norm.weight' is missing");
    refused_kv(KEY("embedding_length", U32(128)), GLIM_SHAPE, "[64, 320], expected [128, 320]");
    refused_kv(KEY("feed_forward_length", U32(97)), GLIM_SHAPE, "blk.0.ffn_gate.weight|97");
    refused_kv(KEY("attention.head_count_kv", U32(4)), GLIM_SHAPE, "blk.0.attn_k.weight|[64, 32]");
    refused_kv(KEY("attention.key_length", U32(32)), GLIM_SHAPE, "blk.0.attn_q.weight");
    refused_kv(KEY("rope.dimension_count", U32(8)), GLIM_SHAPE, "rope_freqs.weight");
}

static void test_architectures(void **state) {
    (void)state;
    struct edit e = {.key = "general.architecture", .as = EDIT_DROP};
    refused(&e, 1, GLIM_FORMAT, "general.architecture|missing");
    e = (struct edit){.key = "general.architecture", U32(3)};
    refused(&e, 1, GLIM_FORMAT, "general.architecture");
    static const char *const others[] = {"mamba", "", "llama2", "LLAMA", "llam"};
    for (u32 i = 0; i < COUNT(others); i++) {
        e = (struct edit){.key = "general.architecture", .as = EDIT_STR, .s = others[i]};
        refused(&e, 1, GLIM_UNSUPPORTED, "architecture '|not supported|llama");
    }
}

/* ---- Tensors --------------------------------------------------------------------------------- */

/* Each tensor of the fixture, missing, renamed, with another shape, of another type. */
static void test_each_tensor(void **state) {
    (void)state;
    struct arena arena;
    struct gguf g;
    glim_err err = {0};
    arena_init(&arena, &mem_libc);
    assert_int_equal(gguf_open(&g, MODEL, &arena, quant_size, &err), 0);
    assert_true(g.n_tensors > 30);
    for (u64 i = 0; i < g.n_tensors; i++) {
        const struct gguf_tensor *t = &g.tensors[i];
        char name[72], quoted[80];
        snprintf(name, sizeof name, "%.*s", STR(t->name));
        snprintf(quoted, sizeof quoted, "'%s' is", name);
        bool optional = strcmp(name, "rope_freqs.weight") == 0,
             embd = str_is(t->name, "token_embd.weight");
        struct edit e = TENSOR(name, .as = EDIT_DROP);
        if (optional)
            agrees(&e, 1);
        else
            refused(&e, 1, GLIM_SHAPE, embd ? "token_embd.weight" : quoted);
        e = TENSOR(name, .as = EDIT_RENAME, .s = "layers.0.attention.wq.weight");
        refused(&e, 1, optional ? GLIM_UNSUPPORTED : GLIM_SHAPE,
                optional ? "layers.0.attention.wq.weight" : name);
        e = TENSOR(name, .as = EDIT_DIMS, .dims = {t->dims[0] + 1, t->dims[1]});
        refused(&e, 1, GLIM_SHAPE, quoted);
        if (embd) continue; /* more rows are a larger vocabulary */
        e = TENSOR(name, .as = EDIT_DIMS, .dims = {t->dims[0], t->dims[1] + 1});
        refused(&e, 1, GLIM_SHAPE, quoted);
        if (t->dims[0] == t->dims[1]) continue;
        e = TENSOR(name, .as = EDIT_DIMS, .dims = {t->dims[1], t->dims[0]});
        refused(&e, 1, GLIM_SHAPE, quoted);
        if (t->n_dims == 1) { /* norms and rope factors are read as floats */
            e = TENSOR(name, .as = EDIT_TYPE, .u = QUANT_F16);
            refused(&e, 1, GLIM_SHAPE, "has type F16, expected F32");
        }
    }
    gguf_close(&g);
    arena_free(&arena);
}

static void test_unfamiliar_names(void **state) {
    (void)state;
    struct arena arena;
    struct gguf g;
    glim_err err = {0};
    arena_init(&arena, &mem_libc);
    assert_int_equal(gguf_open(&g, MODEL, &arena, quant_size, &err), 0);
    u32 n = 0;
    struct edit *e = calloc(g.n_tensors, sizeof *e);
    char(*names)[2][80] = calloc(g.n_tensors, sizeof *names);
    for (u64 i = 0; i < g.n_tensors; i++) {
        snprintf(names[i][0], 80, "%.*s", STR(g.tensors[i].name));
        snprintf(names[i][1], 80, "model.%.*s", STR(g.tensors[i].name));
        if (strcmp(names[i][0], "token_embd.weight") == 0) continue;
        e[n++] = TENSOR(names[i][0], .as = EDIT_RENAME, .s = names[i][1]);
    }
    gguf_close(&g);
    refused(e, n, GLIM_SHAPE, "37 of the tensors that llama needs|'output_norm.weight' is missing");
    free(names);
    free(e);
    arena_free(&arena);
}

static void test_extra_tensors(void **state) {
    (void)state;
    static const char *const names[] = {"blk.0.attn_q.bias", "blk.4.attn_q.weight", "cls.weight",
                                        "blk.0.attn_q.weight.scale"};
    for (u32 i = 0; i < COUNT(names); i++) {
        struct edit e = TENSOR(names[i], .as = EDIT_ADD, .dims = {64, 1}, .f = 1);
        refused(&e, 1, GLIM_UNSUPPORTED, names[i]);
    }
}

static void test_rope_factors(void **state) {
    (void)state;
    static const f32 bad[] = {0, -0.0f, NAN};
    for (u32 i = 0; i < COUNT(bad); i++) {
        struct edit e = TENSOR("rope_freqs.weight", .as = EDIT_FILL, .f = bad[i]);
        refused(&e, 1, GLIM_FORMAT, "rope_freqs.weight");
    }
    struct edit e = TENSOR("rope_freqs.weight", .as = EDIT_FILL, .f = INFINITY); /* no rotation */
    struct temp t = edit_gguf(MODEL, &e, 1);
    f32 *a = run_path(t.path, 1, NULL, true, GLIM_KV_AUTO, ids, N, N);
    for (u32 i = 0; i < N * 320; i++)
        assert_true(isfinite(a[i]));
    free(a);
    temp_remove(&t);
}

/* ---- What is right --------------------------------------------------------------------------- */

static void test_scalar_keys(void **state) {
    (void)state;
    agrees(NULL, 0);
    struct edit e = KEY("attention.sliding_window", U32(5));
    agrees(&e, 1);
    e = KEY("attention.key_length", U32(16));
    agrees(&e, 1);
    e = KEY("attention.layer_norm_rms_epsilon", F32(0.5f));
    agrees(&e, 1);
    struct edit partial[] = {KEY("rope.dimension_count", U32(8)),
                             TENSOR("rope_freqs.weight", .as = EDIT_DIMS, .dims = {4, 1})};
    agrees(partial, 2);
    /* Absent keys with a default: KV heads as query heads need other tensors, so not here. */
    e = KEY("rope.freq_base", .as = EDIT_DROP);
    agrees(&e, 1);
    e = KEY("attention.layer_norm_rms_epsilon", .as = EDIT_DROP);
    agrees(&e, 1);
    e = KEY("rope.dimension_count", .as = EDIT_DROP);
    agrees(&e, 1);
}

static void test_per_layer_keys(void **state) {
    (void)state;
    static const i32 same[] = {2, 2, 2, 2, 2}, kv[] = {2, 1, 4, 2}, ff[] = {96, 64, 128, 31};
    static const i32 zero[] = {2, 0, 2, 2};
    struct edit e = KEY("attention.head_count_kv", .as = EDIT_I32S, .items = same, .n_items = 4);
    agrees(&e, 1);
    e.n_items = 3;
    refused(&e, 1, GLIM_FORMAT, "llama.attention.head_count_kv|3|4");
    e.n_items = 5;
    refused(&e, 1, GLIM_FORMAT, "llama.attention.head_count_kv|5|4");
    e.n_items = 0;
    refused(&e, 1, GLIM_FORMAT, "llama.attention.head_count_kv|0|4");
    e = KEY("attention.head_count_kv", .as = EDIT_I32S, .items = zero, .n_items = 4);
    refused(&e, 1, GLIM_FORMAT, "llama.attention.head_count_kv is 0");
    e = KEY("feed_forward_length", .as = EDIT_I32S, .items = ff, .n_items = 3);
    refused(&e, 1, GLIM_FORMAT, "llama.feed_forward_length|3|4");
    struct edit all[] = {
        KEY("attention.head_count_kv", .as = EDIT_I32S, .items = kv, .n_items = 4),
        TENSOR("blk.1.attn_k.weight", .as = EDIT_DIMS, .dims = {64, 16}),
        TENSOR("blk.1.attn_v.weight", .as = EDIT_DIMS, .dims = {64, 16}),
        TENSOR("blk.2.attn_k.weight", .as = EDIT_DIMS, .dims = {64, 64}),
        TENSOR("blk.2.attn_v.weight", .as = EDIT_DIMS, .dims = {64, 64}),
        KEY("feed_forward_length", .as = EDIT_I32S, .items = ff, .n_items = 4),
        TENSOR("blk.1.ffn_gate.weight", .as = EDIT_DIMS, .dims = {64, 64}),
        TENSOR("blk.1.ffn_up.weight", .as = EDIT_DIMS, .dims = {64, 64}),
        TENSOR("blk.1.ffn_down.weight", .as = EDIT_DIMS, .dims = {64, 64}),
        TENSOR("blk.2.ffn_gate.weight", .as = EDIT_DIMS, .dims = {64, 128}),
        TENSOR("blk.2.ffn_up.weight", .as = EDIT_DIMS, .dims = {64, 128}),
        TENSOR("blk.2.ffn_down.weight", .as = EDIT_DIMS, .dims = {128, 64}),
        TENSOR("blk.3.ffn_gate.weight", .as = EDIT_DIMS, .dims = {64, 31}),
        TENSOR("blk.3.ffn_up.weight", .as = EDIT_DIMS, .dims = {64, 31}),
        TENSOR("blk.3.ffn_down.weight", .as = EDIT_DIMS, .dims = {31, 64}),
    };
    agrees(all, COUNT(all));
    refused(all, COUNT(all) - 1, GLIM_SHAPE, "blk.3.ffn_down.weight|[96, 64], expected [31, 64]");
}

/* No output.weight: the embedding serves. What decoding reads differs. */
static void test_tied_and_untied(void **state) {
    (void)state;
    glim_err err = {0};
    glim_model *m;
    glim_model_info info;
    assert_int_equal(glim_model_open(&m, engine, MODEL, &err), 0);
    glim_model_get_info(m, &info);
    assert_string_equal(info.arch, "llama");
    assert_int_equal(info.n_layers, 4);
    assert_int_equal(info.n_embd, 64);
    assert_int_equal(info.n_vocab, 320);
    assert_int_equal(info.n_ctx_train, 1024);
    assert_int_equal(info.weight_bytes, info.bytes_per_token);
    u64 tied = info.weight_bytes;
    glim_model_close(m);
    struct edit e = TENSOR("output.weight", .as = EDIT_ADD, .dims = {64, 320}, .f = 0.2f);
    agrees(&e, 1);
    struct temp t = edit_gguf(MODEL, &e, 1);
    assert_int_equal(glim_model_open(&m, engine, t.path, &err), 0);
    glim_model_get_info(m, &info);
    assert_int_equal(info.weight_bytes, tied + 64 * 320 * 4);
    assert_int_equal(info.bytes_per_token, tied + 64 * 4); /* one row of the embedding */
    glim_plan plan; /* the rest of it need not be in memory */
    assert_int_equal(glim_session_plan(m, NULL, &plan, &err), 0);
    assert_int_equal(plan.tables, 64 * 320 * 4);
    assert_int_equal(plan.weights, tied);
    assert_int_equal(plan.total, plan.weights + plan.kv + plan.activations);
    glim_model_close(m);
    temp_remove(&t);
    e.dims[1] = 319;
    refused(&e, 1, GLIM_SHAPE, "'output.weight' is [64, 319], expected [64, 320]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_values_that_do_not_fit),
        cmocka_unit_test(test_architectures),
        cmocka_unit_test(test_each_tensor),
        cmocka_unit_test(test_unfamiliar_names),
        cmocka_unit_test(test_extra_tensors),
        cmocka_unit_test(test_rope_factors),
        cmocka_unit_test(test_scalar_keys),
        cmocka_unit_test(test_per_layer_keys),
        cmocka_unit_test(test_tied_and_untied),
    };
    return cmocka_run_group_tests_name("model", tests, open_engine, close_engine);
}
