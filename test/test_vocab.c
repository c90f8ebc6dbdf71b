/* Opening vocabularies: begin and end tokens, malformed and odd files, memory and time. */
#include "small_vocab.h"

/* ---- Begin, end ------------------------------------------------------------------------------ */

static void test_begin_and_end(void **state) {
    (void)state;
    static const struct {
        const char *pre;
        int add_bos;
        bool has_bos;
        const char *empty, *begin_text;
    } cases[] = {
        {"gpt2", -1, true, "", "256"},         {"gpt2", 1, true, "256", "256"},
        {"llama-bpe", -1, true, "256", "256"}, {"llama-bpe", 0, true, "", "256"},
        {"llama-bpe", -1, false, "", "256"}, /* no key, no begin token: never an invented id */
        {"gpt2", 1, false, "", "256"},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct small s = {"gpt2", cases[i].pre, .tokens = {"<s>"}, .kinds = {VOCAB_CONTROL},
                          .add_bos = cases[i].add_bos};
        if (cases[i].has_bos) {
            s.key[0] = "tokenizer.ggml.bos_token_id";
            s.value[0] = 256;
        }
        struct load l;
        struct vocab *v = must_open(&l, &s);
        assert_int_equal(v->begin, cases[i].has_bos ? 256 : -1);
        assert_int_equal(v->end, -1);
        assert_ids(v, text_of(""), VOCAB_BEGIN | VOCAB_END, cases[i].empty);
        assert_ids(v, text_of(""), 0, "");
        /* A text that brings its own begin token does not get a second one. */
        assert_ids(v, text_of("<s>"), VOCAB_BEGIN | VOCAB_SPECIAL, cases[i].begin_text);
        load_free(&l);
    }
}

static void test_what_ends_an_answer(void **state) {
    (void)state;
    struct load l;
    const struct small s = {
        "gpt2",
        "gpt2",
        .tokens = {"<e>", "<t>", "<m>", "<|im_end|>", "<|eot_id|>", "<|im_start|>"},
        .kinds = {VOCAB_CONTROL, VOCAB_CONTROL, VOCAB_CONTROL, VOCAB_CONTROL, VOCAB_NORMAL,
                  VOCAB_CONTROL},
        .key = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                "tokenizer.ggml.eom_token_id"},
        .value = {256, 257, 258},
        .add_bos = -1};
    struct vocab *v = must_open(&l, &s);
    for (i32 id = -1; id <= (i32)v->n; id++) {
        assert_int_equal(vocab_ends(v, id), id >= 256 && id <= 259);
    }
    assert_ids(v, text_of("a"), VOCAB_END, "97"); /* add_eos_token is not set */
    load_free(&l);
}

/* ---- Malformed vocabularies ------------------------------------------------------------------ */

static void test_refused(void **state) {
    (void)state;
    static const struct {
        struct small s;
        int code;
        const char *says;
    } cases[] = {
        {{NULL, "gpt2", .add_bos = -1}, GLIM_FORMAT, "tokenizer.ggml.model|missing"},
        {{"rwkv", "gpt2", .add_bos = -1},
         GLIM_UNSUPPORTED,
         "'rwkv'|supported: gpt2, llama, gemma4"},
        {{"gpt2", NULL, .add_bos = -1}, GLIM_UNSUPPORTED, "tokenizer.ggml.pre|smollm|llama-bpe"},
        {{"gpt2", "viking", .add_bos = -1},
         GLIM_UNSUPPORTED,
         "'viking'|smollm|gpt2|llama-bpe|qwen2|tekken"},
        {{"gpt2", "gpt2", .kinds = {9}, .tokens = {"x"}, .add_bos = -1},
         GLIM_FORMAT,
         "token_type|256|9"},
        {{"gpt2", "gpt2", .merges = {"ab"}, .add_bos = -1}, GLIM_FORMAT, "merges|entry 0|'ab'"},
        {{"gpt2", "gpt2", .merges = {"a "}, .add_bos = -1}, GLIM_FORMAT, "merges|entry 0|'a '"},
        {{"gpt2", "gpt2", .merges = {""}, .add_bos = -1}, GLIM_FORMAT, "merges|entry 0"},
        {{"gpt2", "gpt2", .merges = {" "}, .add_bos = -1}, GLIM_FORMAT, "merges|entry 0"},
        {{"gpt2", "gpt2", .tokens = {"ab"}, .merges = {"a b", "a c"}, .add_bos = -1},
         GLIM_FORMAT,
         "entry 1|'a c'|joined text"},
        {{"gpt2", "gpt2", .tokens = {"ab"}, .merges = {"ac b"}, .add_bos = -1},
         GLIM_FORMAT,
         "first part"},
        {{"gpt2", "gpt2", .tokens = {"ab"}, .merges = {"a bc"}, .add_bos = -1},
         GLIM_FORMAT,
         "second part"},
        {{"gpt2", "gpt2", .key = {"tokenizer.ggml.bos_token_id"}, .value = {256}, .add_bos = -1},
         GLIM_FORMAT,
         "bos_token_id|256"},
        {{"gpt2", "gpt2", .key = {"tokenizer.ggml.eos_token_id"}, .value = {0xffffffff},
          .add_bos = -1},
         GLIM_FORMAT,
         "eos_token_id|4294967295"},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct load l;
        struct vocab *v;
        open_small(&l, &v, &cases[i].s);
        if (l.rc != cases[i].code) fail_test("case %u: status %d (%s)", i, l.rc, l.e.msg);
        assert_says(&l.e, cases[i].says);
        load_free(&l);
    }
}

/* Odd but harmless: equal tokens, equal merges, merges whose result stands for something else. */
static void test_odd_vocabularies(void **state) {
    (void)state;
    struct load l;
    const struct small s = {"gpt2",
                            "gpt2",
                            .tokens = {"ab", "ab", "", "Ġa", "ĠaĠ", "日", "bc"},
                            .kinds = {0, 0, VOCAB_CONTROL, VOCAB_USER, 0, 0, 0},
                            .merges = {"a b", "b c", "a b", "Ġ a"},
                            .add_bos = -1};
    struct vocab *v = must_open(&l, &s);
    assert_ids(v, text_of("ab"), 0, "257"); /* the later of two equal tokens, as elsewhere */
    /* The added word "Ġa" stands for itself, not for a blank and an a. */
    assert_ids(v, text_of(" a"), VOCAB_SPECIAL, "32 97");
    assert_ids(v, text_of("Ġa"), 0, "259");
    /* A text outside of the byte alphabet is meant literally. */
    assert_true(str_is(vocab_piece(v, 261, 0), "日"));
    /* Of equal merges the first counts: "a b" still comes before "b c". */
    assert_ids(v, text_of("abc"), 0, "257 99");
    assert_int_equal(v->missing['a'] + v->missing[0] + v->missing[255], 0);
    load_free(&l);
}

/* Arrays of other types and lengths. */
static void test_wrong_arrays(void **state) {
    (void)state;
    static const struct {
        u32 token_type, types, type_type, merge_type;
        bool has_merges;
        const char *says;
    } cases[] = {
        {GGUF_STR, 2, GGUF_I32, GGUF_STR, true, NULL},
        {GGUF_U32, 2, GGUF_I32, GGUF_STR, true, "tokens is not an array of strings"},
        {GGUF_STR, 1, GGUF_I32, GGUF_STR, true, "token_type has 1 entries for 2 tokens"},
        {GGUF_STR, 3, GGUF_I32, GGUF_STR, true, "token_type has 3 entries for 2 tokens"},
        {GGUF_STR, 2, GGUF_F32, GGUF_STR, true, "token_type is not an array of integers"},
        {GGUF_STR, 2, GGUF_I32, GGUF_U32, true, "merges is not an array of strings"},
        {GGUF_STR, 2, GGUF_I32, GGUF_STR, false, "merges is missing"},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct build b = {0};
        build_head(&b, 3, 0, 5 + cases[i].has_merges);
        build_kv_str(&b, "general.architecture", "llama");
        build_kv_str(&b, "tokenizer.ggml.model", "gpt2");
        build_kv_str(&b, "tokenizer.ggml.pre", "gpt2");
        build_kv_array(&b, "tokenizer.ggml.tokens", cases[i].token_type, 2);
        for (u32 k = 0; k < 2; k++) {
            if (cases[i].token_type == GGUF_STR)
                build_str(&b, k ? "b" : "a");
            else
                build_u32(&b, k);
        }
        build_kv_array(&b, "tokenizer.ggml.token_type", cases[i].type_type, cases[i].types);
        for (u32 k = 0; k < cases[i].types; k++)
            build_u32(&b, VOCAB_NORMAL);
        if (cases[i].has_merges) {
            build_kv_array(&b, "tokenizer.ggml.merges", cases[i].merge_type, 0);
        }
        build_pad(&b, 32);
        struct load l;
        struct vocab *v;
        assert_loads(&l, &b);
        int status = vocab_open(&v, &l.g, &l.arena, &l.e);
        assert_int_equal(status, cases[i].says ? GLIM_FORMAT : 0);
        if (cases[i].says)
            assert_says(&l.e, cases[i].says);
        else
            assert_int_equal(vocab_lost(v, text_of("abc")), 1);
        load_free(&l);
    }
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void test_out_of_memory(void **state) {
    (void)state;
    char text[1000];
    memset(text, 'a', sizeof text);
    const struct vocab_span spans[] = {{{text, 500}, false}, {{text, 500}, true}};
    bool done = false;
    for (u64 nth = 1; !done; nth++) {
        struct load l;
        struct vocab *v = NULL;
        load_path(&l, "test/data/llama.gguf");
        assert_int_equal(l.rc, 0);
        l.count.fail_at = l.count.calls + nth;
        int status = vocab_open(&v, &l.g, &l.arena, &l.e);
        i64 n = status ? status : vocab_encode_spans(v, spans, 2, 0, NULL, 0, &l.count.alloc, &l.e);
        done = n > 0;
        if (!done) assert_int_equal(n, GLIM_NOMEM);
        assert_int_equal(l.e.code, done ? 0 : GLIM_NOMEM);
        l.count.fail_at = 0;
        load_free(&l); /* checks that nothing is left */
        assert_true(nth < 100);
    }
}

static void test_loads_quickly(void **state) {
    (void)state;
    FILE *f = fopen(MODEL, "rb");
    if (!f) skip();
    fclose(f);
    struct load l;
    memset(&l, 0, sizeof l);
    count_alloc_init(&l.count);
    arena_init(&l.arena, &l.count.alloc);
    assert_int_equal(gguf_open(&l.g, MODEL, &l.arena, quant_size, &l.e), 0);
    struct vocab *v = NULL;
    f64 start = seconds();
    assert_int_equal(vocab_open(&v, &l.g, &l.arena, &l.e), 0);
    /* About 15 ms as shipped; sanitizers and a busy machine take a multiple. */
    assert_true(seconds() - start < 0.1 * SLOWER);
    load_free(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begin_and_end), cmocka_unit_test(test_what_ends_an_answer),
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_odd_vocabularies),
        cmocka_unit_test(test_wrong_arrays),  cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_loads_quickly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
