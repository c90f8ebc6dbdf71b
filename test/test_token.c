/* The tokenizer against other engines' ids, against its own promises (round trips, plain text never
 * becomes control tokens, linear time), and on malformed vocabularies. */
#include "load_gguf.h"

#include "kern/quant.h"
#include "text/split.h"
#include "text/token.h"
#include "text/turns.h"

#include <time.h>

#define MODEL "models/SmolLM2-135M-Instruct.Q4_1.gguf"

static f64 seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (f64)t.tv_sec + 1e-9 * (f64)t.tv_nsec;
}

static struct str text_of(const char *s) {
    return (struct str){s, strlen(s)};
}

/* A vocabulary from a file; free with load_free. */
static struct vocab *open_vocab(struct load *l, const char *path) {
    struct vocab *v = NULL;
    memset(l, 0, sizeof *l);
    count_alloc_init(&l->count);
    arena_init(&l->arena, &l->count.alloc);
    l->rc = gguf_open(&l->g, path, &l->arena, quant_size, &l->e);
    if (l->rc == 0) l->rc = vocab_open(&v, &l->g, &l->arena, &l->e);
    if (l->rc) fail_test("%s", l->e.msg);
    return v;
}

/* Ids in a fresh array; counts first, as callers do. */
static i32 *encode_text(const struct vocab *v, struct str text, u32 flags, i64 *n) {
    glim_err e = {0};
    *n = vocab_encode(v, text, flags, NULL, 0, &mem_libc, &e);
    if (*n < 0) fail_test("%s", e.msg);
    i32 *ids = malloc((size_t)*n * sizeof *ids + 1);
    assert_non_null(ids);
    assert_int_equal(vocab_encode(v, text, flags, ids, (u64)*n, &mem_libc, &e), *n);
    return ids;
}

/* ids must be the list that want spells, "1 2 3". */
static void assert_ids(const struct vocab *v, struct str text, u32 flags, const char *want) {
    i64 n;
    char got[256] = "";
    i32 *ids = encode_text(v, text, flags, &n);
    for (i64 i = 0, at = 0; i < n && at < 240; i++) {
        at += snprintf(got + at, sizeof got - (size_t)at, i ? " %d" : "%d", ids[i]);
    }
    free(ids);
    if (strcmp(got, want)) fail_test("'%.*s': got %s, expected %s", STR(text), got, want);
}

/* What the ids stand for must be text. */
static void assert_spells(const struct vocab *v, const i32 *ids, i64 n, struct str text) {
    size_t at = 0;
    for (i64 i = 0; i < n; i++) {
        struct str piece = vocab_piece(v, ids[i], VOCAB_SPECIAL);
        assert_true(piece.n <= text.n - at);
        assert_memory_equal(text.p + at, piece.p, piece.n);
        at += piece.n;
    }
    assert_int_equal(at, text.n);
}

/* ---- Other engines' ids ---------------------------------------------------------------------- */

/* Lines of script/make_token_fixtures.py. original: what an id is called there, or NULL. */
static u32 check_reference(const struct vocab *v, const char *path,
                           const struct gguf_kv *original) {
    FILE *f = fopen(path, "r");
    if (!f) fail_test("%s is missing", path);
    char *line = NULL;
    size_t room = 0;
    u32 cases = 0;
    while (getline(&line, &room, f) > 0) {
        if (line[0] == '#') continue;
        char *mode = strtok(line, " \n"), *hex = strtok(NULL, " \n");
        u32 flags = VOCAB_BEGIN | VOCAB_END | (strcmp(mode, "special") ? 0 : VOCAB_SPECIAL);
        struct str text = {hex, hex[0] == '-' ? 0 : strlen(hex) / 2};
        for (size_t i = 0; i < text.n; i++) {
            u32 byte;
            assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
            hex[i] = (char)byte;
        }
        i64 n, i = 0;
        i32 *ids = encode_text(v, text, flags, &n);
        for (char *want; (want = strtok(NULL, " \n")); i++) {
            i64 id = i < n ? ids[i] : -1;
            if (original && id >= 0) id = gguf_item_int(original, (u64)id);
            if (id == strtol(want, NULL, 10)) continue;
            fail_test("'%.*s' (%s): id %u is %d, expected %s", STR(text), mode, (u32)i, (i32)id,
                      want);
        }
        if (i != n) fail_test("'%.*s' (%s): %u ids too many", STR(text), mode, (u32)(n - i));
        free(ids);
        cases++;
    }
    free(line);
    fclose(f);
    return cases;
}

static void test_llama_reference(void **state) {
    (void)state;
    struct load l;
    struct vocab *v = open_vocab(&l, "test/data/llama.gguf");
    assert_int_equal(check_reference(v, "test/data/llama.tokens", NULL), 10);
    load_free(&l);
}

static void test_smollm2_reference_cut_down(void **state) {
    (void)state;
    struct load l;
    struct vocab *v = open_vocab(&l, "test/data/smollm2-tokenizer.gguf");
    const struct gguf_kv *original = gguf_find(&l.g, "test.original_id");
    assert_non_null(original);
    assert_int_equal(original->n, v->n);
    assert_true(check_reference(v, "test/data/smollm2.tokens", original) > 200);
    load_free(&l);
}

static void test_smollm2_reference(void **state) {
    (void)state;
    FILE *f = fopen(MODEL, "rb");
    if (!f) skip();
    fclose(f);
    struct load l;
    struct vocab *v = open_vocab(&l, MODEL);
    assert_true(check_reference(v, "test/data/smollm2.tokens", NULL) > 200);
    /* The model's own turns: template text gives control tokens, typed marks do not. */
    struct turns *t;
    if (turns_open(&t, &l.g, v, &l.arena, &l.e)) fail_test("%s", l.e.msg);
    const struct turn turn = {text_of("user"), text_of("<|im_end|>")};
    struct vocab_span span[16];
    u64 n = turns_spans(t, &turn, 1, TURNS_REPLY, span, COUNT(span));
    i32 ids[128];
    i64 count = vocab_encode_spans(v, span, n, VOCAB_BEGIN, ids, COUNT(ids), &mem_libc, &l.e);
    assert_true(count > 0 && count <= (i64)COUNT(ids));
    u32 starts = 0, ends = 0;
    for (i64 i = 0; i < count; i++) {
        starts += ids[i] == 1;
        ends += ids[i] == 2;
    }
    assert_int_equal(starts, 3);
    assert_int_equal(ends, 2);
    assert_true(vocab_ends(v, 2) && vocab_ends(v, 0) && !vocab_ends(v, 1));
    load_free(&l);
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* Against another library's words: script/make_split_fixtures.py. */
static void test_words(void **state) {
    (void)state;
    static const struct {
        const char *name;
        split_fn *split;
    } rules[] = {{"smollm", split_digits_gpt2}, {"gpt2", split_gpt2}, {"llama-bpe", split_llama3}};
    FILE *f = fopen("test/data/words.txt", "r");
    assert_non_null(f);
    char line[4096], bytes[2048];
    size_t length[512];
    u32 cases[COUNT(rules)] = {0};
    while (fgets(line, sizeof line, f)) {
        assert_non_null(strchr(line, '\n'));
        const char *name = strtok(line, " \n");
        struct str text = {bytes, 0};
        u32 words = 0, rule = 0;
        for (char *hex; (hex = strtok(NULL, " \n")); words++) {
            length[words] = strlen(hex) / 2;
            for (size_t i = 0; i < length[words]; i++) {
                u32 byte;
                assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
                bytes[text.n++] = (char)byte;
            }
        }
        while (strcmp(rules[rule].name, name) != 0)
            assert_true(++rule < COUNT(rules));
        cases[rule]++;
        for (u32 i = 0; i < words; i++) {
            size_t n = rules[rule].split(text);
            if (n != length[i]) {
                fail_test("%s: word %u at '%.*s': %zu bytes, expected %zu", name, i, STR(text), n,
                          length[i]);
            }
            text.p += n;
            text.n -= n;
        }
        assert_int_equal(text.n, 0);
    }
    fclose(f);
    for (u32 i = 0; i < COUNT(rules); i++)
        assert_true(cases[i] > 200);
}

/* ---- Round trips ----------------------------------------------------------------------------- */

static void test_round_trip_of_any_bytes(void **state) {
    (void)state;
    struct load l;
    struct vocab *v = open_vocab(&l, "test/data/llama.gguf");
    u32 seed = 1;
    char text[300];
    for (u32 round = 0; round < 4000; round++) {
        size_t n = round % sizeof text;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            u32 r = seed >> 24;
            /* Any bytes; then letters and blanks, where merges happen. */
            text[i] = round % 2 ? (char)r : "the and is \n re"[r % 15];
        }
        i64 count;
        i32 *ids = encode_text(v, (struct str){text, n}, round % 4 < 2 ? VOCAB_SPECIAL : 0, &count);
        assert_spells(v, ids, count, (struct str){text, n});
        free(ids);
    }
    load_free(&l);
}

/* ---- Long words ------------------------------------------------------------------------------ */

/* A text of n bytes that repeats unit must come back, in time and in memory linear in it. */
static void check_long(const char *path, const char *unit, size_t n, f64 limit) {
    struct load l;
    struct vocab *v = open_vocab(&l, path);
    char *text = malloc(n);
    assert_non_null(text);
    for (size_t i = 0, k = strlen(unit); i < n; i++)
        text[i] = unit[i % k];
    struct count_alloc count;
    count_alloc_init(&count);
    glim_err e = {0};
    i32 *ids = malloc(n * sizeof *ids);
    assert_non_null(ids);
    f64 start = seconds();
    i64 got = vocab_encode(v, (struct str){text, n}, VOCAB_SPECIAL, ids, n, &count.alloc, &e);
    f64 took = seconds() - start;
    assert_true(got > 0);
    if (took > limit) fail_test("%zu bytes of '%s' took %.1f s", n, unit, took);
    assert_true(count.peak <= 64 * n + 4096);
    assert_int_equal(count.live, 0);
    assert_spells(v, ids, got, (struct str){text, n});
    free(ids);
    free(text);
    load_free(&l);
}

static void test_one_long_line(void **state) {
    (void)state;
    static const char *const units[] = {
        "a",    " ",  "\U0001f600", "1",  "\n",
        "\xff", "<|", "'",          " a", "the engine reads 12345 weights, it's the end. "};
    static const char *const paths[] = {"test/data/llama.gguf", "test/data/smollm2-tokenizer.gguf"};
    for (u32 i = 0; i < COUNT(units); i++) {
        for (u32 k = 0; k < COUNT(paths); k++) {
            /* The cut-down vocabulary lacks some bytes, as the model's own does. */
            if (k == 1 && units[i][0] == '\xff') continue;
            check_long(paths[k], units[i], 64 << 10, 5);
            check_long(paths[k], units[i], 1 << 20, 20);
        }
    }
    check_long(paths[0], units[COUNT(units) - 1], 8 << 20, 60);
}

/* ---- Small vocabularies ---------------------------------------------------------------------- */

/* Byte-level spelling of the 256 bytes, in order, as UTF-8. */
static void byte_name(u32 byte, char *out) {
    u32 code = byte, other = 0;
    bool own = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
    for (u32 b = 0; b < byte; b++)
        other += !((b > 0x20 && b < 0x7f) || (b > 0xa0 && b != 0xad));
    if (!own) code = 0x100 + other;
    if (code < 0x80)
        snprintf(out, 3, "%c", (int)code);
    else
        snprintf(out, 3, "%c%c", (int)(0xc0 | code >> 6), (int)(0x80 | (code & 0x3f)));
}

struct small {
    const char *model, *pre;
    const char *tokens[16]; /* after the 256 bytes, from id 256 */
    u32 kinds[16];          /* 0: normal */
    const char *merges[16];
    const char *key[4]; /* u32 entries */
    u32 value[4];
    int add_bos; /* -1: no such key */
};

static void open_small(struct load *l, struct vocab **v, const struct small *s) {
    struct build b = {0};
    u64 n = 0, merges = 0, keys = 0;
    while (n < 16 && s->tokens[n])
        n++;
    while (merges < 16 && s->merges[merges])
        merges++;
    while (keys < 4 && s->key[keys])
        keys++;
    build_head(&b, 3, 0, 4 + keys + (s->model != NULL) + (s->pre != NULL) + (s->add_bos >= 0));
    build_kv_str(&b, "general.architecture", "llama");
    if (s->model) build_kv_str(&b, "tokenizer.ggml.model", s->model);
    if (s->pre) build_kv_str(&b, "tokenizer.ggml.pre", s->pre);
    if (s->add_bos >= 0) {
        build_key(&b, "tokenizer.ggml.add_bos_token", GGUF_BOOL);
        build_u8(&b, (u8)s->add_bos);
    }
    for (u64 i = 0; i < keys; i++)
        build_kv_u32(&b, s->key[i], s->value[i]);
    build_kv_array(&b, "tokenizer.ggml.tokens", GGUF_STR, 256 + n);
    for (u32 i = 0; i < 256; i++) {
        char name[4];
        byte_name(i, name);
        build_str(&b, name);
    }
    for (u64 i = 0; i < n; i++)
        build_str(&b, s->tokens[i]);
    build_kv_array(&b, "tokenizer.ggml.token_type", GGUF_I32, 256 + n);
    for (u32 i = 0; i < 256; i++)
        build_u32(&b, VOCAB_NORMAL);
    for (u64 i = 0; i < n; i++)
        build_u32(&b, s->kinds[i]);
    build_kv_array(&b, "tokenizer.ggml.merges", GGUF_STR, merges);
    for (u64 i = 0; i < merges; i++)
        build_str(&b, s->merges[i]);
    build_pad(&b, 32);
    assert_loads(l, &b);
    l->rc = vocab_open(v, &l->g, &l->arena, &l->e);
    assert_int_equal(l->rc != 0, *v == NULL);
}

static struct vocab *must_open(struct load *l, const struct small *s) {
    struct vocab *v = NULL;
    open_small(l, &v, s);
    if (l->rc) fail_test("%s", l->e.msg);
    return v;
}

/* Llama 3's expression keeps newlines together: "\n\n" and "\n\n\n\n" before text are one token
 * each; GPT-2's leaves the last blank of a run to the word behind it. */
static void test_newline_runs(void **state) {
    (void)state;
    struct load l;
    struct small s = {"gpt2", "llama-bpe", .tokens = {"ĊĊ", "ĊĊĊĊ", "čĊ", "čĊčĊ", "ĊĠĠĊ", "ĠĠ"},
                      .merges = {"Ċ Ċ", "ĊĊ ĊĊ", "č Ċ", "čĊ čĊ", "Ġ Ġ"}, .add_bos = 0};
    struct vocab *v = must_open(&l, &s);
    assert_ids(v, text_of("\n\nx"), 0, "256 120");
    assert_ids(v, text_of("\n\n\n\nx"), 0, "257 120");
    assert_ids(v, text_of("\r\n\r\nx"), 0, "259 120");
    assert_ids(v, text_of("\n  \nx"), 0, "260 120"); /* a whole word, though no merge makes it */
    assert_ids(v, text_of("\n  x"), 0, "10 32 32 120");
    assert_ids(v, text_of("   x"), 0, "261 32 120");
    load_free(&l);
    s.pre = "gpt2";
    v = must_open(&l, &s);
    assert_ids(v, text_of("\n\nx"), 0, "10 10 120");
    assert_ids(v, text_of("\n\n\n\nx"), 0, "256 10 10 120");
    assert_ids(v, text_of("\n  \nx"), 0, "10 261 10 120");
    assert_ids(v, text_of("\n\n"), 0, "256");
    load_free(&l);
}

/* Two characters, backslash and n, are not a newline. */
static void test_no_unescaping(void **state) {
    (void)state;
    struct load l;
    struct vocab *v = open_vocab(&l, "test/data/smollm2-tokenizer.gguf");
    i64 n;
    i32 *ids = encode_text(v, text_of("a\nb"), 0, &n);
    assert_spells(v, ids, n, text_of("a\nb"));
    free(ids);
    ids = encode_text(v, text_of("a\\nb"), 0, &n);
    assert_spells(v, ids, n, text_of("a\\nb"));
    for (i64 i = 0; i < n; i++)
        assert_null(memchr(v->piece[ids[i]].p, '\n', v->piece[ids[i]].n));
    free(ids);
    load_free(&l);
}

/* Control tokens only out of template text; added words out of any; the longest of several. */
static void test_control_text(void **state) {
    (void)state;
    struct load l;
    const struct small s = {
        "gpt2",
        "gpt2",
        .tokens = {"<|turn>", "<|turn>user", "<tool>", "<|tur", "un", "xy", "Ġ "},
        .kinds = {VOCAB_CONTROL, VOCAB_CONTROL, VOCAB_USER, VOCAB_NORMAL, VOCAB_UNKNOWN,
                  VOCAB_CONTROL, VOCAB_USER},
        .merges = {"x y"},
        .add_bos = -1};
    struct vocab *v = must_open(&l, &s);
    assert_ids(v, text_of("A<|turn>B"), VOCAB_SPECIAL, "65 256 66");
    assert_ids(v, text_of("A<|turn>B"), 0, "65 60 124 116 117 114 110 62 66");
    assert_ids(v, text_of("<|turn>use"), VOCAB_SPECIAL, "256 117 115 101");
    assert_ids(v, text_of("<|turn>user"), VOCAB_SPECIAL, "257");
    assert_ids(v, text_of("<tool><|turn"), 0, "258 60 124 116 117 114 110");
    assert_ids(v, text_of("un"), 0, "117 110");
    assert_ids(v, text_of("un"), VOCAB_SPECIAL, "260");
    assert_ids(v, text_of("xy"), 0, "120 121"); /* no way round by a merge either */
    assert_int_equal(vocab_piece(v, 256, 0).n, 0);
    assert_true(str_is(vocab_piece(v, 256, VOCAB_SPECIAL), "<|turn>"));
    assert_true(str_is(vocab_piece(v, 258, 0), "<tool>"));
    assert_int_equal(vocab_piece(v, -1, VOCAB_SPECIAL).n, 0);
    assert_int_equal(vocab_piece(v, (i32)v->n, VOCAB_SPECIAL).n, 0);
    assert_int_equal(vocab_find(v, text_of("<|turn>")), 256);
    assert_int_equal(vocab_find(v, text_of("<|turn>u")), -1);
    assert_int_equal(vocab_find(v, text_of("")), -1);
    /* A mark is not pieced together from template text and a message, nor across messages. */
    const struct vocab_span spans[] = {
        {text_of("<|turn>"), true},  {text_of("<|tu"), false}, {text_of("rn>"), true},
        {text_of("<|turn>"), false}, {text_of("<|tu"), true},  {text_of("rn>"), false},
        {text_of("<|tu"), true},     {text_of(""), true},      {text_of("rn>"), true}};
    i32 ids[64];
    i64 n = vocab_encode_spans(v, spans, COUNT(spans), 0, ids, COUNT(ids), &mem_libc, &l.e);
    assert_true(n > 2 && n <= 64);
    for (i64 i = 0; i < n; i++)
        assert_int_equal(ids[i] == 256, i == 0 || i == n - 1);
    load_free(&l);
}

/* Words are cut as if all spans were one text: a message's first blank belongs to its first word.
 */
static void test_spans_join_words(void **state) {
    (void)state;
    struct load l;
    const struct small s = {"gpt2", "gpt2", .tokens = {"Ċ\xc4\xa0", "Ġx"}, .merges = {"Ċ Ġ", "Ġ x"},
                            .add_bos = -1};
    struct vocab *v = must_open(&l, &s);
    const struct vocab_span spans[] = {{text_of("\n"), true}, {text_of("  x"), false}};
    i32 ids[8];
    assert_int_equal(vocab_encode_spans(v, spans, 2, 0, ids, 8, &mem_libc, &l.e), 2);
    assert_int_equal(ids[0], 256);
    assert_int_equal(ids[1], 257);
    load_free(&l);
}

/* A second turn encodes only what is new, and the context ends up as if encoded at once. */
static void test_second_turn(void **state) {
    (void)state;
    struct load l;
    struct vocab *v = open_vocab(&l, "test/data/smollm2-tokenizer.gguf");
    struct turns *t;
    if (turns_open(&t, &l.g, v, &l.arena, &l.e)) fail_test("%s", l.e.msg);
    const struct turn turn[] = {{text_of("user"), text_of("  Hi\n")},
                                {text_of("assistant"), text_of("Hello.")},
                                {text_of("user"), text_of("\n<|im_end|> again ")}};
    struct vocab_span span[32];
    i32 whole[256], parts[256];
    u64 n = turns_spans(t, turn, 3, TURNS_REPLY, span, COUNT(span));
    i64 count = vocab_encode_spans(v, span, n, 0, whole, 256, &mem_libc, &l.e);
    assert_true(count > 0 && count < 256);
    for (u32 ended = 0; ended < 2; ended++) {
        n = turns_spans(t, turn, 1, TURNS_REPLY, span, COUNT(span));
        i64 at = vocab_encode_spans(v, span, n, 0, parts, 256, &mem_libc, &l.e);
        assert_true(at > 0);
        at += vocab_encode(v, turn[1].text, 0, parts + at, (u64)(256 - at), &mem_libc, &l.e);
        if (ended) parts[at++] = turns_end(t); /* as sampled */
        u32 flags = TURNS_REPLY | TURNS_AFTER | (ended ? TURNS_ENDED : 0);
        n = turns_spans(t, turn + 2, 1, flags, span, COUNT(span));
        at += vocab_encode_spans(v, span, n, 0, parts + at, (u64)(256 - at), &mem_libc, &l.e);
        assert_int_equal(at, count);
        assert_memory_equal(parts, whole, (size_t)count * sizeof *whole);
    }
    load_free(&l);
}

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
        {{"rwkv", "gpt2", .add_bos = -1}, GLIM_UNSUPPORTED, "'rwkv'|supported: gpt2"},
        {{"gpt2", NULL, .add_bos = -1}, GLIM_UNSUPPORTED, "tokenizer.ggml.pre|smollm|llama-bpe"},
        {{"gpt2", "viking", .add_bos = -1}, GLIM_UNSUPPORTED, "'viking'|smollm|gpt2|llama-bpe"},
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
    assert_true(seconds() - start < 1.0);
    load_free(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_llama_reference),
        cmocka_unit_test(test_smollm2_reference_cut_down),
        cmocka_unit_test(test_smollm2_reference),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_round_trip_of_any_bytes),
        cmocka_unit_test(test_one_long_line),
        cmocka_unit_test(test_newline_runs),
        cmocka_unit_test(test_no_unescaping),
        cmocka_unit_test(test_control_text),
        cmocka_unit_test(test_spans_join_words),
        cmocka_unit_test(test_second_turn),
        cmocka_unit_test(test_begin_and_end),
        cmocka_unit_test(test_what_ends_an_answer),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_odd_vocabularies),
        cmocka_unit_test(test_wrong_arrays),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_loads_quickly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
