/* Tokenizers over characters (SentencePiece, Gemma 4): another engine's ids, the plain algorithm
 * run on random vocabularies, long lines, and what is refused. */
#include "small_spm.h"

#include <math.h>

#define GEMMA "models/gemma-3-270m-Q4_K_M.gguf" /* present where it was fetched */
#define SP    "\xe2\x96\x81"                    /* U+2581 */

/* ---- Another engine's ids -------------------------------------------------------------------- */

/* Ids as llama.cpp gives them for the same vocabulary (August 2026). */
struct expect {
    const char *text, *ids;
};
static void check_all(const struct small_spm *s, u32 flags, const struct expect *x, u32 n) {
    struct load l;
    struct vocab *v = open_spm(&l, s);
    for (u32 i = 0; i < n; i++)
        assert_ids(v, text_of(x[i].text), flags, x[i].ids);
    load_free(&l);
}

static const struct small_spm llama2 = {
    "llama",
    "default",
    .tokens = {SP,         "H",    "e",  "l", "o",        SP "H", "el", "lo",  SP "Hel",
               SP "Hello", "<us>", "<",  "s", ">",        "<s",   "un", SP SP, "u",
               "n",        SP "o", "éd", "d", "a" SP "b", "a" SP, "a",  "b",   "\n"},
    .kinds = {[10] = VOCAB_USER, [15] = VOCAB_UNUSED},
    .falling = true,
    .space_prefix = -1,
    .add_bos = -1};

/* The blank in front: of the text and of what follows an added token, unless the file says no. */
static void test_blank_in_front(void **state) {
    (void)state;
    static const struct expect prefixed[] = {
        {"", ""},
        {"Hello", "268"},
        {" Hello", "259 268"},
        {"  Hello", "275 268"},
        {"<s>Hello", "1 268"},
        {"<s> Hello", "1 259 268"},
        {"<us>Hello", "269 268"},
        {"o<us>Hello<s>o", "278 269 268 1 278"},
        {"a b", "259 281"},
        {"\n", "259 285"},
    };
    static const struct expect bare[] = {
        {"", ""},
        {"Hello", "260 265 266"},
        {" Hello", "268"},
        {"  Hello", "259 268"},
        {"<s>Hello", "1 260 265 266"},
        {"<s> Hello", "1 268"},
        {"<us>Hello", "269 260 265 266"},
        {"o<us>Hello<s>o", "263 269 260 265 266 1 263"},
        {"a b", "281"},
        {"\n", "285"},
    };
    struct small_spm s = llama2;
    check_all(&s, VOCAB_SPECIAL, prefixed, COUNT(prefixed)); /* also where the file is silent */
    s.space_prefix = 1;
    check_all(&s, VOCAB_SPECIAL, prefixed, COUNT(prefixed));
    s.space_prefix = 0;
    check_all(&s, VOCAB_SPECIAL, bare, COUNT(bare));
}

static void test_characters(void **state) {
    (void)state;
    static const struct expect cases[] = {
        {"un", "274"},         /* an unused token is a token like others */
        {SP "Hello", "268"},   /* U+2581 cannot be told from a blank */
        {"éd", "279"},         /* é alone is no token, yet it joins */
        {"éo", "198 172 263"}, /* characters that are no token go byte by byte */
        {"a\\nb", "283 95 277 284"},
        {"a\nb", "283 285 284"},
        {"<0x41>", "270 51 123 55 52 272"}, /* written out, it spells itself */
        {"\xff\xc3o", "258 198 263"},
    };
    struct small_spm s = llama2;
    s.space_prefix = 0;
    check_all(&s, 0, cases, COUNT(cases));
    struct load l;
    struct vocab *v = open_spm(&l, &s);
    assert_true(str_is(vocab_piece(v, 268, 0), " Hello"));
    assert_true(str_is(vocab_piece(v, 68, 0), "A"));
    assert_true(str_is(vocab_piece(v, 13, 0), "\n"));
    assert_true(str_is(vocab_piece(v, 1, 0), ""));
    assert_int_equal(vocab_lost(v, text_of("\xff any é")), 0);
    load_free(&l);
}

/* A token's text with a real blank in it cannot come up, though it would stand for the same bytes
 * as one that can. */
static void test_real_blanks_in_tokens(void **state) {
    (void)state;
    struct load l;
    const struct small_spm s = {
        "llama",
        NULL,
        .tokens = {SP, "a", "b", SP "a", SP "b", " ", " a", "b" SP "a", "b a"},
        .falling = true,
        .space_prefix = 0,
        .add_bos = -1};
    struct vocab *v = open_spm(&l, &s);
    assert_ids(v, text_of(" "), 0, "259");
    assert_ids(v, text_of(" a"), 0, "262");
    assert_ids(v, text_of("b a"), 0, "266");
    load_free(&l);
}

/* "<s" and ">" join to a control token's text: plain text must not. (llama.cpp lets it.) */
static void test_no_control_by_joining(void **state) {
    (void)state;
    struct load l;
    struct small_spm s = llama2;
    s.space_prefix = 0;
    struct vocab *v = open_spm(&l, &s);
    assert_ids(v, text_of("<s>"), 0, "273 272");
    assert_ids(v, text_of("<s>"), VOCAB_SPECIAL, "1");
    assert_ids(v, text_of("<unk>"), 0, "270 274 110 272");
    assert_ids(v, text_of("<us>"), 0, "269"); /* added words are found in any text */
    load_free(&l);
}

/* The begin token: by default, once, and not where the file says no; gemma4's always. */
static void test_begin(void **state) {
    (void)state;
    static const struct {
        const char *model, *pre;
        int add_bos;
        const char *want;
    } cases[] = {
        {"llama", NULL, -1, "1"},    {"llama", NULL, 1, "1"},     {"llama", NULL, 0, ""},
        {"gemma4", NULL, -1, "1"},   {"gemma4", "any", 0, "1"},   {"gemma4", NULL, 1, "1"},
        {"llama", "gemma4", 0, "1"}, {"llama", "default", 0, ""},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct load l;
        const struct small_spm s = {cases[i].model, cases[i].pre, .add_bos = cases[i].add_bos,
                                    .space_prefix = -1};
        struct vocab *v = open_spm(&l, &s);
        assert_ids(v, text_of(""), VOCAB_BEGIN, cases[i].want);
        assert_ids(v, text_of(""), 0, "");
        assert_ids(v, text_of("<s>"), VOCAB_BEGIN | VOCAB_SPECIAL, "1");
        load_free(&l);
    }
}

/* Without byte tokens a run of characters that cannot be spelled is one unknown token. */
static void test_no_byte_tokens(void **state) {
    (void)state;
    struct load l;
    struct small_spm s = llama2;
    s.space_prefix = 0;
    s.no_bytes = true;
    struct vocab *v = open_spm(&l, &s);
    assert_ids(v, text_of("o日本o日"), 0, "263 0 263 0");
    assert_ids(v, text_of("日 本"), 0, "0 259 0");
    assert_int_equal(v->missing['H'], 0);
    assert_int_equal(v->missing['Q'], 1);
    load_free(&l);
}

static const struct small_spm gemma4 = {
    "gemma4",
    NULL,
    .tokens = {SP,  SP SP,  SP SP SP SP, "\n",   "\n\n", "\n\n\n",    "a",
               "b", "a" SP, "a" SP "b",  "\nb",  "\r",   "\r\n",      SP "\n",
               "é", "ü",    "éü",        "<us>", "ab",   "\n\n\n\n\n"},
    .kinds = {[17] = VOCAB_USER},
    .merges = {SP " " SP, SP SP " " SP SP, "a " SP, "a" SP " b", "\n b", "\r \n", "a b", SP " \n",
               "é ü"},
    .space_prefix = -1,
    .add_bos = -1};

/* Text is cut where newlines begin and end; runs that are tokens stay whole without any merge. */
static void test_gemma4(void **state) {
    (void)state;
    static const struct expect cases[] = {
        {"\n", "262"},
        {"\n\n", "263"},
        {"\n\n\n", "264"},
        {"\n\n\n\n", "262 262 262 262"},
        {"\n\n\n\n\n", "278"},
        {"\n\n\n\n\n\n", "262 262 262 262 262 262"},
        {"a\nb", "265 262 266"},
        {"a\n\nb", "265 263 266"},
        {"a\n\n\n\nb", "265 262 262 262 262 266"},
        {"\n\n  b", "263 260 266"},
        {" \n", "259 262"},
        {"a \nb", "267 262 266"},
        {"\r\n\r\n", "270 262 270 262"},
        {"\n\r\n", "262 270 262"},
        {"a b", "268"},
        {"a  b", "265 260 266"},
        {"     ", "261 259"},
        {"éü", "275"},
        {"e\xcc\x88", "104 207 139"},
        {"日", "233 154 168"},
        {"<us>a", "276 265"},
        {SP "a b", "259 268"},
        {"<s>\n\n", "1 263"},
    };
    struct small_spm s = gemma4;
    check_all(&s, VOCAB_SPECIAL, cases, COUNT(cases));
    s.model = "llama"; /* as one packager writes it */
    s.pre = "gemma4";
    check_all(&s, VOCAB_SPECIAL, cases, COUNT(cases));
}

/* ---- The plain algorithm --------------------------------------------------------------------- */

/* Joins pairs one at a time, looking at all of them each time: what the ids must be. */
struct plain {
    char tokens[SPM_MORE][32]; /* with blanks for U+2581 */
    f32 scores[SPM_MORE];
    u32 left[SPM_MORE], right[SPM_MORE]; /* merges, by rank */
    u32 n, n_merges;
    bool ranked;
};

static u32 random_below(u32 *seed, u32 n) {
    *seed = *seed * 1664525 + 1013904223;
    return (u32)((u64)*seed * n >> 32);
}

/* How good it is to join a and b (the best is the largest), or -INFINITY. */
static f32 plain_join(const struct plain *p, struct str a, struct str b) {
    for (u32 i = 0; p->ranked && i < p->n_merges; i++) {
        if (str_is(a, p->tokens[p->left[i]]) && str_is(b, p->tokens[p->right[i]])) return -(f32)i;
    }
    for (u32 i = 0; !p->ranked && i < p->n; i++) {
        if (str_is((struct str){a.p, a.n + b.n}, p->tokens[i])) return p->scores[i];
    }
    return -INFINITY;
}

static u32 plain_encode(const struct plain *p, struct str text, i32 *ids) {
    struct str sym[256];
    u32 n = 0, count = 0;
    for (size_t i = 0, len; i < text.n; i += len) {
        u8 lead = (u8)text.p[i];
        len = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : 3;
        sym[n++] = (struct str){text.p + i, len};
    }
    for (;;) {
        u32 best = n;
        f32 most = -INFINITY;
        for (u32 i = 0; i + 1 < n; i++) {
            f32 score = plain_join(p, sym[i], sym[i + 1]);
            if (score > most) {
                most = score;
                best = i;
            }
        }
        if (best == n) break;
        sym[best].n += sym[best + 1].n;
        memmove(sym + best + 1, sym + best + 2, (--n - best - 1) * sizeof *sym);
    }
    for (u32 i = 0; i < n; i++) {
        u32 k = 0;
        while (k < p->n && !str_is(sym[i], p->tokens[k]))
            k++;
        for (u32 b = 0; k == p->n && b < sym[i].n; b++)
            ids[count++] = 3 + (u8)sym[i].p[b];
        if (k < p->n) ids[count++] = (i32)(SPM_FIRST + k);
    }
    return count;
}

static const char *const alphabet[] = {" ", "a", "b", "\xc3\xa9", "\xe6\x97\xa5", "\xe6\x97\xa6"};

/* A random vocabulary: some characters, and texts made of them; for merges of two tokens. */
static void plain_fill(struct plain *p, u32 *seed) {
    p->n = p->n_merges = 0;
    for (u32 i = 0; i < COUNT(alphabet); i++) {
        if (p->ranked || random_below(seed, 4)) strcpy(p->tokens[p->n++], alphabet[i]);
    }
    for (u32 tries = 0; tries < 60; tries++) {
        char text[64] = "";
        u32 left = random_below(seed, p->n), right = random_below(seed, p->n);
        for (u32 i = 2 + random_below(seed, 3); !p->ranked && i > 0; i--)
            strcat(text, alphabet[random_below(seed, COUNT(alphabet))]);
        if (p->ranked) snprintf(text, sizeof text, "%s%s", p->tokens[left], p->tokens[right]);
        if (strlen(text) > 20) continue;
        u32 k = 0;
        while (k < p->n && strcmp(text, p->tokens[k]) != 0)
            k++;
        if (k == p->n) strcpy(p->tokens[p->n++], text);
        p->left[p->n_merges] = left;
        p->right[p->n_merges++] = right;
    }
    for (u32 i = 0; i < p->n; i++) /* ties, both signs, zeros of both signs */
        p->scores[i] = (f32)((i32)random_below(seed, 9) - 4) * (random_below(seed, 2) ? 0.5f : -1);
}

static void escape(const char *text, char *out) {
    for (; *text; text++)
        out += sprintf(out, *text == ' ' ? SP : "%c", *text);
    *out = 0;
}

static void check_plain(struct plain *p, u32 *seed) {
    static char tokens[SPM_MORE][96], merges[SPM_MORE][200];
    struct small_spm s = {p->ranked ? "gemma4" : "llama", NULL, .space_prefix = 0, .add_bos = -1};
    plain_fill(p, seed);
    for (u32 i = 0; i < p->n; i++) {
        escape(p->tokens[i], tokens[i]);
        s.tokens[i] = tokens[i];
        s.scores[i] = p->scores[i];
    }
    for (u32 i = 0; p->ranked && i < p->n_merges; i++) {
        snprintf(merges[i], sizeof merges[i], "%s %s", tokens[p->left[i]], tokens[p->right[i]]);
        s.merges[i] = merges[i];
    }
    struct load l;
    struct vocab *v = open_spm(&l, &s);
    for (u32 round = 0; round < 40; round++) {
        char text[200] = "";
        for (u32 i = random_below(seed, 50); i > 0; i--)
            strcat(text, alphabet[random_below(seed, COUNT(alphabet))]);
        i32 want[256];
        i64 n, wanted = plain_encode(p, text_of(text), want);
        i32 *ids = encode_text(v, text_of(text), 0, &n);
        if (n != wanted || (n && memcmp(ids, want, (size_t)n * sizeof *ids) != 0)) {
            fail_test("'%s' comes out other than by the plain algorithm", text);
        }
        free(ids);
    }
    load_free(&l);
}

static void test_like_the_plain_algorithm(void **state) {
    (void)state;
    static struct plain p;
    u32 seed = 7;
    for (u32 i = 0; i < 120; i++) {
        p.ranked = i % 2;
        check_plain(&p, &seed);
    }
}

/* ---- Round trips, long lines ----------------------------------------------------------------- */

static void test_round_trip_of_any_bytes(void **state) {
    (void)state;
    static const char *const paths[] = {"test/data/gemma3.gguf",
                                        "test/data/gemma4-e2b-tokenizer.gguf"};
    for (u32 k = 0; k < COUNT(paths); k++) {
        struct load l;
        struct vocab *v = open_vocab(&l, paths[k]);
        u32 seed = 1;
        char text[300];
        for (u32 round = 0; round < 3000; round++) {
            size_t n = round % sizeof text;
            for (size_t i = 0; i < n; i++)
                text[i] = round % 2 ? (char)random_below(&seed, 256)
                                    : "the and is \n re"[random_below(&seed, 15)];
            i64 count;
            struct str all = {text, n};
            i32 *ids = encode_text(v, all, round % 4 < 2 ? VOCAB_SPECIAL : 0, &count);
            if (!memmem(text, n, SP, 3)) assert_spells(v, ids, count, all);
            free(ids);
        }
        load_free(&l);
    }
}

static void test_one_long_line(void **state) {
    (void)state;
    static const char *const units[] = {
        "a",        " ",  "\U0001f600", "\n",
        "\xff",     "<|", " a",         "the engine reads 12345 weights, it's the end. ",
        "thethethe"};
    static const char *const paths[] = {"test/data/gemma3.gguf",
                                        "test/data/gemma4-e2b-tokenizer.gguf"};
    for (u32 i = 0; i < COUNT(units); i++) {
        for (u32 k = 0; k < COUNT(paths); k++) {
            check_long(paths[k], units[i], 64 << 10, 0.1 * SLOWER);
            check_long(paths[k], units[i], 1 << 20, 1.0 * SLOWER);
        }
    }
    for (u32 k = 0; k < COUNT(paths); k++) {
        check_long(paths[k], units[COUNT(units) - 2], 8 << 20, 8.0 * SLOWER);
        check_long(paths[k], units[COUNT(units) - 1], 8 << 20, 8.0 * SLOWER);
    }
}

/* ---- Refused, out of memory ------------------------------------------------------------------ */

static void test_refused(void **state) {
    (void)state;
    static const struct {
        struct small_spm s;
        const char *says;
    } cases[] = {
        {{"llama", NULL, .scores_type = GGUF_I32, .space_prefix = -1, .add_bos = -1},
         "tokenizer.ggml.scores|not an array of numbers"},
        {{"llama", NULL, .scores_short = true, .space_prefix = -1, .add_bos = -1},
         "tokenizer.ggml.scores|258 entries for 259 tokens"},
        {{"llama", NULL, .tokens = {"a"}, .scores = {NAN}, .space_prefix = -1, .add_bos = -1},
         "tokenizer.ggml.scores|entry 259|not a number"},
        {{"gemma4", NULL, .merges = {"a b"}, .space_prefix = -1, .add_bos = -1},
         "tokenizer.ggml.merges|entry 0|first part"},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct build b = {0};
        struct load l;
        struct vocab *v;
        build_spm(&b, &cases[i].s);
        assert_loads(&l, &b);
        assert_int_equal(vocab_open(&v, &l.g, &l.arena, &l.e), GLIM_FORMAT);
        assert_null(v);
        assert_says(&l.e, cases[i].says);
        load_free(&l);
    }
}

static void test_out_of_memory(void **state) {
    (void)state;
    char text[1000];
    memset(text, 'a', sizeof text);
    memcpy(text + 300, SP, 3);
    static const struct small_spm *const vocabs[] = {&llama2, &gemma4};
    for (u32 i = 0; i < COUNT(vocabs); i++) {
        bool done = false;
        for (u64 nth = 1; !done; nth++) {
            struct load l;
            struct build b = {0};
            struct vocab *v = NULL;
            build_spm(&b, vocabs[i]);
            assert_loads(&l, &b);
            l.count.fail_at = l.count.calls + nth;
            i64 n = vocab_open(&v, &l.g, &l.arena, &l.e);
            if (n == 0) {
                struct str all = {text, sizeof text};
                n = vocab_encode(v, all, 0, NULL, 0, &l.count.alloc, &l.e);
            }
            done = n > 0;
            assert_int_equal(done ? 0 : n, l.e.code);
            assert_int_equal(l.e.code, done ? 0 : GLIM_NOMEM);
            l.count.fail_at = 0;
            load_free(&l); /* checks that nothing is left */
            assert_true(nth < 100);
        }
    }
}

/* ---- Gemma 3 --------------------------------------------------------------------------------- */

static void test_gemma3_270m(void **state) {
    (void)state;
    FILE *f = fopen(GEMMA, "rb");
    if (!f) skip();
    fclose(f);
    struct load l = {0};
    count_alloc_init(&l.count);
    arena_init(&l.arena, &l.count.alloc);
    assert_int_equal(gguf_open(&l.g, GEMMA, &l.arena, quant_size, &l.e), 0);
    struct vocab *v = NULL;
    f64 start = seconds();
    assert_int_equal(vocab_open(&v, &l.g, &l.arena, &l.e), 0);
    assert_int_equal(v->n, 262144);
    /* About 80 ms as shipped; sanitizers take a multiple. */
    assert_true(seconds() - start < 0.3 * SLOWER);
    assert_true(check_reference(v, "test/data/gemma3-270m.tokens", NULL) > 400);
    /* Composed and decomposed text. */
    assert_ids(v, text_of("Hello world! Caf\u00e9 d\u00e9j\u00e0 vu \u2014 123 \U0001f60a"), 0,
               "9259 1902 236888 62367 29234 11042 2192 236743 236770 236778 236800 103453");
    assert_ids(v, text_of("Hello world! Cafe\u0301 de\u0301ja\u0300 vu \u2014 123 \U0001f60a"), 0,
               "9259 1902 236888 48127 238288 569 238288 2489 239101 11042 2192 236743 236770 "
               "236778 236800 103453");
    /* The file calls </s> an added word, not a control token: it strikes text through. */
    assert_ids(v, text_of("<s>a</s>"), 0, "203 236746 212");
    assert_ids(v, text_of("<bos><start_of_turn>user\nHi<end_of_turn>\n"), VOCAB_SPECIAL,
               "2 105 2364 107 10979 106 107");
    /* Typed marks of a turn are text. */
    assert_ids(v, text_of("<bos><start_of_turn>user\nHi<end_of_turn>\n"), 0,
               "236820 46757 1798 3041 236779 1340 236779 887 236813 2364 107 10979 236820 643 "
               "236779 1340 236779 887 236813 107");
    load_free(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blank_in_front),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_real_blanks_in_tokens),
        cmocka_unit_test(test_no_control_by_joining),
        cmocka_unit_test(test_begin),
        cmocka_unit_test(test_no_byte_tokens),
        cmocka_unit_test(test_gemma4),
        cmocka_unit_test(test_like_the_plain_algorithm),
        cmocka_unit_test(test_round_trip_of_any_bytes),
        cmocka_unit_test(test_one_long_line),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_gemma3_270m),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
