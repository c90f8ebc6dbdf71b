/* Gemma and LFM2 files as they are found: older names, towers beside the text, keys left out,
 * activations beyond half precision. Each changed copy of a fixture must give what the fixture
 * gives. */
#include "large_rig.h"
#include "golden.h"
#include "run_model.h"

#include <math.h>

enum { N = 48 };

static char path_buf[64];
static const char *fixture(const char *name) {
    snprintf(path_buf, sizeof path_buf, "test/data/%s.gguf", name);
    return path_buf;
}

/* The prompt that all fixtures' expected values are for. */
static void prompt(const char *name, i32 ids[N]) {
    struct golden_file g;
    char path[64];
    snprintf(path, sizeof path, "test/data/%s.golden.gguf", name);
    golden_file_open(&g, path);
    memcpy(ids, gguf_tensor(&g.g, "tokens")->data, N * sizeof *ids);
    golden_file_close(&g);
}

/* ---- Opening with notes ---------------------------------------------------------------------- */

struct notes {
    char text[600];
};
static void take_note(void *ud, const char *message) {
    struct notes *n = ud;
    size_t at = strlen(n->text);
    snprintf(n->text + at, sizeof n->text - at, "%s\n", message);
}

/* Opens a changed copy. Returns the status; what was noted, or the error, is in notes. */
static int open_edited(const char *name, const struct edit *e, u32 n, struct notes *notes) {
    glim_err err = {0};
    glim_engine *engine;
    glim_model *m;
    *notes = (struct notes){{0}};
    glim_engine_params p = {.n_threads = 1, .log = take_note, .log_ud = notes};
    struct temp t = edit_gguf(fixture(name), e, n);
    assert_int_equal(glim_engine_open(&engine, &p, &err), 0);
    int rc = glim_model_open(&m, engine, t.path, &err);
    if (rc < 0) snprintf(notes->text, sizeof notes->text, "%s", err.msg);
    glim_model_close(m);
    glim_engine_close(engine);
    temp_remove(&t);
    return rc;
}

static void says(const struct notes *n, const char *words) {
    if (!strstr(n->text, words)) fail_test("'%s' does not say '%s'", n->text, words);
}

/* ---- The same model by other names ----------------------------------------------------------- */

static f32 *logits_of(const char *path, const i32 *ids, bool exact) {
    return run_path(path, 2, NULL, exact, GLIM_KV_AUTO, ids, N, 16);
}

/* The copy gives the fixture's logits, to the last bit. */
static void same(const char *name, const struct edit *e, u32 n) {
    i32 ids[N];
    prompt(name, ids);
    struct temp t = edit_gguf(fixture(name), e, n);
    f32 *want = logits_of(fixture(name), ids, true), *got = logits_of(t.path, ids, true);
    struct golden_file g;
    golden_file_open(&g, t.path);
    u64 vocab = gguf_tensor(&g.g, "token_embd.weight")->dims[1];
    golden_file_close(&g);
    if (memcmp(want, got, N * vocab * sizeof *want) != 0) {
        fail_test("%s with %s: other logits", name, e->tensor ? e->tensor : e->key);
    }
    free(want);
    free(got);
    temp_remove(&t);
}

/* Edits of layers, their names written into memory that the list owns. */
static void rename_in(struct edits *l, u32 layer, const char *from, const char *to) {
    add_edit(l, (struct edit){.tensor = name_in(l, from, layer),
                              .as = EDIT_RENAME,
                              .s = name_in(l, to, layer)});
}

static void test_older_names(void **state) {
    (void)state;
    enum { LAYERS = 5, FF = 32 };
    struct edits l = {0};
    /* Gemma 4's mixture: gate and up apart, and the experts' scale under the router's name. */
    for (u32 i = 0; i < LAYERS; i++) {
        rename_in(&l, i, "ffn_down_exps.scale", "ffn_gate_inp.per_expert_scale");
        struct edit e = {.tensor = name_in(&l, "ffn_gate_up_exps.weight", i), .as = EDIT_COPY};
        e.s = name_in(&l, "ffn_gate_exps.weight", i), e.dims[1] = FF;
        add_edit(&l, e);
        e.s = name_in(&l, "ffn_up_exps.weight", i), e.dims[0] = FF, e.dims[1] = 2 * FF;
        add_edit(&l, e);
        e.as = EDIT_DROP;
        add_edit(&l, e);
    }
    same("gemma4-moe", l.e, l.n);
    static const char *const lfm2[] = {"lfm2", "lfm2moe"};
    for (u32 i = 0; i < COUNT(lfm2); i++) {
        struct edit e = {
            .tensor = "token_embd_norm.weight", .as = EDIT_RENAME, .s = "output_norm.weight"};
        same(lfm2[i], &e, 1);
    }
    /* Gemma 4's tokenizer as Ollama names it. */
    const struct edit pre[] = {
        {.key = "tokenizer.ggml.model", .as = EDIT_STR, .s = "llama"},
        {.key = "tokenizer.ggml.pre", .as = EDIT_STR, .s = "gemma4"},
    };
    same("gemma4-e2b", pre, 2);
}

/* LFM2's final norm: either name, both if they agree, not neither. */
static void test_final_norm(void **state) {
    (void)state;
    struct notes notes;
    struct edit e[2] = {{.tensor = "token_embd_norm.weight",
                         .as = EDIT_COPY,
                         .s = "output_norm.weight",
                         .dims = {0, 1}}};
    same("lfm2", e, 1);
    e[0] = (struct edit){.tensor = "output_norm.weight", .as = EDIT_ADD, .dims = {64, 1}, .f = 1};
    assert_int_equal(open_edited("lfm2", e, 1, &notes), GLIM_FORMAT);
    says(&notes, "'output_norm.weight' and 'token_embd_norm.weight' differ");
    e[0] = (struct edit){.tensor = "token_embd_norm.weight", .as = EDIT_DROP};
    assert_int_equal(open_edited("lfm2", e, 1, &notes), GLIM_SHAPE);
    says(&notes, "'token_embd_norm.weight' is missing");
    e[0] = (struct edit){
        .tensor = "token_embd_norm.weight", .as = EDIT_RENAME, .s = "output_norm.weight"};
    e[1] = (struct edit){.tensor = "output_norm.weight", .as = EDIT_ADD, .dims = {64, 1}, .f = 1};
    assert_true(open_edited("lfm2", e, 2, &notes) < 0); /* twice one name */
}

/* LFM2's feed-forward width: the tensors are right, and it is said once. */
static void test_feed_forward_width(void **state) {
    (void)state;
    struct notes notes;
    struct edit e = {.key = "lfm2.feed_forward_length", .as = EDIT_U32, .u = 192};
    same("lfm2", &e, 1);
    assert_int_equal(open_edited("lfm2", &e, 1, &notes), 0);
    says(&notes, "feed_forward_length is 192 in the metadata, but 128 by the tensors");
    const char *first = strstr(notes.text, "feed_forward_length is");
    assert_null(strstr(first + 1, "feed_forward_length is")); /* not for each layer */
    e.key = "lfm2moe.feed_forward_length";
    same("lfm2moe", &e, 1);
    /* Tensors that disagree among themselves are no model. */
    struct edit wrong[] = {{.tensor = "blk.1.ffn_up.weight", .as = EDIT_DIMS, .dims = {64, 96}}};
    assert_int_equal(open_edited("lfm2", wrong, 1, &notes), GLIM_SHAPE);
    says(&notes, "'blk.1.ffn_up.weight' is [64, 96], expected [64, 128]");
}

/* ---- Ollama's files -------------------------------------------------------------------------- */

/* Without the norms' epsilon: each family's own. */
static void test_no_epsilon(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"gemma3", "gemma3"}, {"gemma4-e2b", "gemma4"}, {"gemma4-moe", "gemma4"},
        {"lfm2", "lfm2"},     {"lfm2moe", "lfm2moe"},   {"qwen2", "qwen2"},
        {"qwen3", "qwen3"},   {"llama", "llama"},       {"granite", "granite"},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        char key[64];
        snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", cases[i][1]);
        struct edit e = {.key = key, .as = EDIT_DROP};
        same(cases[i][0], &e, 1);
    }
}

/* Towers in the same file are left alone, and counted; tensors that nobody knows are refused. */
static void test_towers(void **state) {
    (void)state;
    static const char *const names[] = {"gemma3", "gemma4-e2b", "gemma4-large", "lfm2", "lfm2moe"};
    static const struct edit towers[] = {
        {.tensor = "v.patch_embd.weight", .as = EDIT_ADD, .dims = {16, 4}, .f = 1},
        {.tensor = "v.blk.0.attn_q.weight", .as = EDIT_ADD, .dims = {16, 16}, .f = 1},
        {.tensor = "v.clamp_data", .as = EDIT_ADD, .dims = {8, 1}, .f = 1},
        {.tensor = "a.blk.0.linear_pos.weight", .as = EDIT_ADD, .dims = {16, 16}, .f = 1},
        {.tensor = "mm.a.fc.weight", .as = EDIT_ADD, .dims = {16, 64}, .f = 1},
        {.tensor = "mm.input_projection.weight", .as = EDIT_ADD, .dims = {16, 64}, .f = 1},
        {.key = "gemma4.vision.block_count", .as = EDIT_U32, .u = 16},
        {.key = "gemma4.audio.block_count", .as = EDIT_U32, .u = 12},
    };
    struct notes notes;
    for (u32 i = 0; i < COUNT(names); i++) {
        same(names[i], towers, COUNT(towers));
        assert_int_equal(open_edited(names[i], towers, COUNT(towers), &notes), 0);
        says(&notes, "6 tensors of vision and audio towers are not used");
        struct edit odd = {.tensor = "vision.weight", .as = EDIT_ADD, .dims = {16, 4}, .f = 1};
        assert_int_equal(open_edited(names[i], &odd, 1, &notes), GLIM_UNSUPPORTED);
        says(&notes, "'vision.weight' is not part of");
    }
    struct edit both[] = {towers[0], {.key = "lfm2.feed_forward_length", .as = EDIT_U32, .u = 192}};
    assert_int_equal(open_edited("lfm2", both, 2, &notes), 0);
    says(&notes, "but 128 by the tensors; ");
    says(&notes, "1 tensors of vision");
    assert_int_equal(open_edited("llama", both, 1, &notes), GLIM_UNSUPPORTED);
}

/* Keys that a dense file may lack, or hold though they say nothing. */
static void test_optional_keys(void **state) {
    (void)state;
    struct edit e = {.key = "gemma4.expert_count", .as = EDIT_U32, .u = 0};
    same("gemma4-e2b", &e, 1);
    e = (struct edit){.key = "gemma4.shared_kv_layers", .as = EDIT_DROP};
    same("gemma4-large", &e, 1);
    static const char *const absent[] = {
        "gemma4.attention.shared_kv_layers",
        "gemma4.embedding_length_per_layer_input",
        "gemma4.rope.dimension_count",
        "gemma4.rope.dimension_count_swa",
        "gemma4.attention.value_length",
        "gemma4.vocab_size",
        "gemma4.rope.freq_base",
        "gemma4.rope.freq_base_swa",
    };
    for (u32 i = 0; i < COUNT(absent); i++) {
        e = (struct edit){.key = absent[i], .as = EDIT_DROP};
        same("gemma4-large", &e, 1);
    }
    /* With sharing, the number matters: without it layers lack tensors. */
    struct notes notes;
    e = (struct edit){.key = "gemma4.attention.shared_kv_layers", .as = EDIT_DROP};
    assert_int_equal(open_edited("gemma4-e2b", &e, 1, &notes), GLIM_SHAPE);
    says(&notes, "attn_k.weight");
    e = (struct edit){.key = "gemma4.attention.shared_kv_layers", .as = EDIT_U32, .u = 7};
    assert_int_equal(open_edited("gemma4-e2b", &e, 1, &notes), GLIM_FORMAT);
    says(&notes, "shares a cache, but no layer of its kind has one");
}

/* LFM2's mixture: a scale of the chosen weights is applied, weights left as they are refused. */
static void test_expert_weights(void **state) {
    (void)state;
    i32 ids[N];
    prompt("lfm2moe", ids);
    struct edits l = {0};
    for (u32 i = 2; i < 6; i++) {
        add_edit(&l, (struct edit){.tensor = name_in(&l, "ffn_down_exps.weight", i),
                                   .as = EDIT_SCALE,
                                   .f = 2});
    }
    struct edit key = {.key = "lfm2moe.expert_weights_scale", .as = EDIT_F32, .f = 2};
    struct temp by_key = edit_gguf(fixture("lfm2moe"), &key, 1);
    struct temp by_weight = edit_gguf(fixture("lfm2moe"), l.e, l.n);
    f32 *a = logits_of(by_key.path, ids, true), *b = logits_of(by_weight.path, ids, true);
    f32 *plain = logits_of(fixture("lfm2moe"), ids, true);
    assert_memory_equal(a, b, N * 320 * sizeof *a); /* a power of two: exact */
    assert_memory_not_equal(a, plain, N * 320 * sizeof *a);
    free(a);
    free(b);
    free(plain);
    temp_remove(&by_key);
    temp_remove(&by_weight);
    struct notes notes;
    const struct edit softmax = {.key = "lfm2moe.expert_gating_func", .as = EDIT_U32, .u = 1};
    assert_int_equal(open_edited("lfm2moe", &softmax, 1, &notes), GLIM_UNSUPPORTED);
    says(&notes, "expert_gating_func 1 is not supported");
}

/* Layers of e2b that share caches, with keys and values of their own in the file all the same. */
static void test_unread_keys(void **state) {
    (void)state;
    struct edits l = {0};
    for (u32 i = 5; i < 8; i++) {
        static const char *const names[] = {"attn_k.weight", "attn_v.weight", "attn_k_norm.weight"};
        for (u32 k = 0; k < COUNT(names); k++) {
            add_edit(&l, (struct edit){.tensor = name_in(&l, names[k], i),
                                       .as = EDIT_ADD,
                                       .dims = {k < 2 ? 64 : 16, k < 2 ? 16 : 1},
                                       .f = 1});
        }
    }
    struct notes notes;
    same("gemma4-e2b", l.e, l.n);
    assert_int_equal(open_edited("gemma4-e2b", l.e, l.n, &notes), 0);
    says(&notes, "9 tensors of layers that share caches are not used");
    struct edit other = {.tensor = "blk.6.attn_k.bias", .as = EDIT_ADD, .dims = {16, 1}, .f = 1};
    assert_int_equal(open_edited("gemma4-e2b", &other, 1, &notes), GLIM_UNSUPPORTED);
}

/* ---- Beyond half precision ------------------------------------------------------------------- */

static void check_large(const struct large_case *k) {
    i32 ids[N];
    prompt(k->name, ids);
    for (u32 fast = 0; fast < 2; fast++) {
        struct temp a = large_copy(k->name, k->arch, k->layers, false, fast);
        struct temp b = large_copy(k->name, k->arch, k->layers, true, fast);
        f32 *want = logits_of(a.path, ids, !fast), *got = logits_of(b.path, ids, !fast);
        for (u32 i = 0; i < N * (k->layers ? 384 : 320); i++) {
            if (got[i] == want[i] && isfinite(got[i])) continue;
            fail_test("%s, %s: logit %u is %g, expected %g", k->name, fast ? "fast" : "exact", i,
                      (f64)got[i], (f64)want[i]);
        }
        free(want);
        free(got);
        temp_remove(&a);
        temp_remove(&b);
    }
}

static void test_large_activations(void **state) {
    (void)state;
    for (u32 i = 0; i < COUNT(large_cases); i++)
        check_large(&large_cases[i]);
}

/* ---- The end of the context ------------------------------------------------------------------ */

/* Text is not shifted out of a full context, which would leave keys rotated for other places and
 * windows: it is full, and what is there stays as it was. */
static void test_no_shift(void **state) {
    (void)state;
    static const char *const names[] = {"gemma3", "gemma4-e2b", "lfm2"};
    for (u32 i = 0; i < COUNT(names); i++) {
        struct run r;
        i32 ids[N], id = 3;
        glim_session_params p = {.exact = true, .n_ctx = 64, .n_batch = 16};
        prompt(names[i], ids);
        run_open(&r, fixture(names[i]), 1, NULL, &p);
        run_ok(&r, glim_feed(r.session, ids, N, GLIM_LOGITS_LAST));
        run_ok(&r, glim_wait(r.session));
        u32 room = 0;
        while (glim_feed(r.session, &id, 1, GLIM_LOGITS_LAST) == 0 && room < 200) {
            room++;
            run_ok(&r, glim_wait(r.session));
        }
        assert_int_equal(room, 64 - N);
        assert_non_null(strstr(glim_session_error(r.session)->msg, "context of 64"));
        run_ok(&r, glim_rewind(r.session, N));
        run_ok(&r, glim_feed(r.session, &id, 1, GLIM_LOGITS_LAST));
        run_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_older_names),
        cmocka_unit_test(test_final_norm),
        cmocka_unit_test(test_feed_forward_width),
        cmocka_unit_test(test_no_epsilon),
        cmocka_unit_test(test_towers),
        cmocka_unit_test(test_optional_keys),
        cmocka_unit_test(test_expert_weights),
        cmocka_unit_test(test_unread_keys),
        cmocka_unit_test(test_large_activations),
        cmocka_unit_test(test_no_shift),
    };
    return cmocka_run_group_tests_name("families", tests, NULL, NULL);
}
