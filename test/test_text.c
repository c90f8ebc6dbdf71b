/* Code points, the streaming detokenizer, stop strings, and turns against Jinja2's rendering. */
#include "load_gguf.h"

#include "text/chatml.h"
#include "text/stop.h"
#include "text/turns.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <jansson.h>

static struct str text_of(const char *s) {
    return (struct str){s, strlen(s)};
}

/* ---- Code points ----------------------------------------------------------------------------- */

static void test_unicode_flags(void **state) {
    (void)state;
    assert_int_equal(unicode_flags('a'), UNICODE_LETTER | UNICODE_LOWER);
    assert_int_equal(unicode_flags('A'), UNICODE_LETTER | UNICODE_UPPER);
    assert_int_equal(unicode_flags(' '), UNICODE_SPACE);
    assert_int_equal(unicode_flags('\n'), UNICODE_SPACE);
    assert_int_equal(unicode_flags('7'), UNICODE_NUMBER);
    assert_int_equal(unicode_flags(0x1c), 0);                /* a separator for Python only */
    assert_int_equal(unicode_flags(0x85), UNICODE_SPACE);    /* next line */
    assert_int_equal(unicode_flags(0x200b), 0);              /* zero width, no white space */
    assert_int_equal(unicode_flags(0x3000), UNICODE_SPACE);  /* ideographic blank */
    assert_int_equal(unicode_flags(0x0301), UNICODE_MARK);   /* combining acute */
    assert_int_equal(unicode_flags(0x216b), UNICODE_NUMBER); /* roman twelve */
    assert_int_equal(unicode_flags(0x4e00), UNICODE_LETTER); /* ranges: first, middle, last */
    assert_int_equal(unicode_flags(0x6f22), UNICODE_LETTER);
    assert_int_equal(unicode_flags(0x9fff), UNICODE_LETTER);
    assert_int_equal(unicode_flags(0x1f600), UNICODE_SYMBOL);
    assert_int_equal(unicode_flags(0x10ffff), 0);
    assert_int_equal(unicode_flags(0x110000), 0);
    assert_int_equal(unicode_flags(0xffffffff), 0);
}

static void test_unicode_read(void **state) {
    (void)state;
    /* Every code point comes back, and is a part of itself before its last byte. */
    for (u32 code = 0; code < 0x110000; code++) {
        char p[4];
        u32 n = unicode_write(code, p);
        struct unicode_char c = unicode_read(p, n);
        if (code >= 0xd800 && code < 0xe000) {
            assert_int_equal(c.state, UNICODE_INVALID);
            continue;
        }
        assert_true(c.state == UNICODE_WHOLE && c.code == code && c.len == n);
        for (u32 i = 1; i < n; i++) {
            c = unicode_read(p, i);
            assert_true(c.state == UNICODE_PART && c.len == i);
        }
    }
    static const struct {
        const char *p;
        u32 len;
    } bad[] = {{"\x80", 1},
               {"\xc0\x80", 1},
               {"\xc1\xbf", 1},
               {"\xe0\x9f\xbf", 1},
               {"\xf0\x8f\xbf\xbf", 1},
               {"\xf4\x90\x80\x80", 1},
               {"\xf5\x80", 1},
               {"\xff", 1},
               {"\xe2\x82q", 2},
               {"\xf0\x9f\x98q", 3},
               {"\xc3(", 1}};
    for (u32 i = 0; i < COUNT(bad); i++) {
        struct unicode_char c = unicode_read(bad[i].p, strlen(bad[i].p));
        assert_int_equal(c.state, UNICODE_INVALID);
        assert_int_equal(c.len, bad[i].len);
    }
}

/* ---- Streaming detokenizer ------------------------------------------------------------------- */

struct sink {
    char p[4096];
    size_t n;
};
static void sink_put(struct sink *o, struct str s) {
    assert_true(o->n + s.n < sizeof o->p);
    if (s.n) memcpy(o->p + o->n, s.p, s.n);
    o->n += s.n;
    o->p[o->n] = 0;
}

/* All that comes out for one piece of bytes. */
static void feed_utf8(struct utf8_stream *s, struct sink *o, struct str in) {
    for (struct str out; (out = utf8_next(s, &in)).n;) {
        for (size_t i = 0; i < out.n;) {
            struct unicode_char c = unicode_read(out.p + i, out.n - i);
            assert_int_equal(c.state, UNICODE_WHOLE);
            i += c.len;
        }
        sink_put(o, out);
    }
    assert_int_equal(in.n, 0);
}

static void test_utf8_as_soon_as_whole(void **state) {
    (void)state;
    /* Token bytes 20 F0 9F | 98 B8, then two emoji in a row, a family and a flag, byte by byte. */
    struct utf8_stream s = {0};
    struct sink o = {.n = 0};
    feed_utf8(&s, &o, (struct str){" \xf0\x9f", 3});
    assert_string_equal(o.p, " ");
    feed_utf8(&s, &o, (struct str){"\x98\xb8", 2});
    assert_string_equal(o.p, " \xf0\x9f\x98\xb8");
    const char *text = "\U0001f600\U0001f601\U0001f468\u200d\U0001f469\u200d\U0001f467\U0001f1e9"
                       "\U0001f1ea\u00e9z";
    size_t shown = o.n, whole = 0;
    for (size_t i = 0; text[i]; i++) {
        feed_utf8(&s, &o, (struct str){text + i, 1});
        /* What is out now is exactly the characters whose last byte has come. */
        struct unicode_char c = unicode_read(text + whole, i + 1 - whole);
        if (c.state == UNICODE_WHOLE) whole = i + 1;
        assert_int_equal(o.n - shown, whole);
    }
    assert_string_equal(o.p + shown, text);
    assert_int_equal(utf8_end(&s).n, 0);
}

static void test_utf8_bad_bytes(void **state) {
    (void)state;
#define R "\xef\xbf\xbd"
    static const char *const cases[][2] = {
        {"a\xff"
         "b",
         "a" R "b"},
        {"\x80\x80", R R},
        {"\xc3(", R "("},
        {"\xe2\x82"
         "a",
         R "a"},
        {"\xf0\x9f\x98\xf0\x9f\x98\x80", R "\xf0\x9f\x98\x80"},
        {"\xed\xa0\x80", R R R},
        {"\xc0\xaf", R R},
        {"\xf0\x9f\x98", R},
        {"\xe2\xe2\xe2\x82\xac", R R "\xe2\x82\xac"},
        {"", ""},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct str in = text_of(cases[i][0]);
        /* Cut at every place into two pieces, and into single bytes: always the same. */
        for (size_t cut = 0; cut <= in.n + 1; cut++) {
            struct utf8_stream s = {0};
            struct sink o = {.n = 0};
            if (cut <= in.n) {
                feed_utf8(&s, &o, (struct str){in.p, cut});
                feed_utf8(&s, &o, (struct str){in.p + cut, in.n - cut});
            } else {
                for (size_t k = 0; k < in.n; k++)
                    feed_utf8(&s, &o, (struct str){in.p + k, 1});
            }
            sink_put(&o, utf8_end(&s));
            sink_put(&o, utf8_end(&s));
            assert_string_equal(o.p, cases[i][1]);
        }
    }
#undef R
}

/* ---- Stop strings ---------------------------------------------------------------------------- */

/* Feeds text in pieces of n bytes; what came out, and which string was met. */
static i32 run_stop(struct stop *s, const char *text, size_t n, struct sink *o) {
    struct str out[2], all = text_of(text);
    bool hit = false;
    stop_reset(s);
    for (size_t i = 0; i < all.n; i += n) {
        hit = stop_feed(s, (struct str){text + i, MIN(n, all.n - i)}, out);
        sink_put(o, out[0]);
        sink_put(o, out[1]);
        assert_int_equal(hit, s->hit >= 0);
    }
    sink_put(o, stop_end(s));
    return s->hit;
}

/* The definition, by trying every end of the text: first complete, then longest. */
static i32 naive_stop(const struct str *strings, u32 n, struct str text, size_t *end) {
    for (size_t i = 1; i <= text.n; i++) {
        i32 best = -1;
        for (u32 k = 0; k < n; k++) {
            size_t len = strings[k].n;
            if (len > i || memcmp(text.p + i - len, strings[k].p, len) != 0) continue;
            if (best < 0 || len > strings[best].n) best = (i32)k;
        }
        if (best < 0) continue;
        *end = i - strings[best].n;
        return best;
    }
    *end = text.n;
    return -1;
}

static void test_stop_all_short_texts(void **state) {
    (void)state;
    static const char *const sets[][4] = {
        {"ab"},        {"aab", "ab"}, {"aba", "b"},         {"abab", "bb"}, {"aaaa"},
        {"ac", "bab"}, {"ab", "aab"}, {"bba", "abb"},       {"abc", "b"},   {"abcabd", "ca"},
        {NULL},        {"ab", "ab"},  {"aabaaa", "aabaab"},
    };
    glim_err e = {0};
    struct arena arena;
    arena_init(&arena, &mem_libc);
    for (u32 set = 0; set < COUNT(sets); set++) {
        struct str strings[4];
        u32 n = 0;
        for (; n < 4 && sets[set][n]; n++)
            strings[n] = text_of(sets[set][n]);
        struct stop *s;
        assert_int_equal(stop_open(&s, strings, n, &arena, &e), 0);
        /* Every text of up to 8 letters out of a, b, c, d. */
        for (u32 code = 0; code < 1u << 16; code += set < 9 ? 1 : 7) {
            char text[9] = "";
            u32 len = 1 + code % 8;
            for (u32 i = 0; i < len; i++)
                text[i] = (char)('a' + (code >> (2 * i) & 3));
            text[len] = 0;
            size_t end;
            i32 want = naive_stop(strings, n, text_of(text), &end);
            for (size_t piece = 1; piece <= len; piece += 2) {
                struct sink o = {.n = 0};
                assert_int_equal(run_stop(s, text, piece, &o), want);
                assert_int_equal(o.n, end);
                assert_memory_equal(o.p, text, end);
            }
        }
    }
    arena_free(&arena);
}

static void test_stop_shows_at_once(void **state) {
    (void)state;
    glim_err e = {0};
    struct arena arena;
    arena_init(&arena, &mem_libc);
    const struct str strings[] = {text_of("\nUser:"), text_of("</s>"), text_of("\u00e9\u00e9")};
    struct stop *s;
    assert_int_equal(stop_open(&s, strings, COUNT(strings), &arena, &e), 0);
    u64 before = arena.total;
    static const char *const steps[][2] = {
        /* piece, what may be shown after it */
        {"Hello\nUs", "Hello"},     {"a", "\nUsa"}, {"\n", ""}, {"\n", "\n"}, {"User", ""},
        {"!", "\nUser!"},           {"<", ""},      {"/s", ""}, {"<", "</s"}, {"/s\u00e9", "</s"},
        {"\u00e8", "\u00e9\u00e8"}, {"\nUser", ""}, {":x", ""}, {"more", ""},
    };
    for (u32 i = 0; i < COUNT(steps); i++) {
        struct str out[2];
        struct sink o = {.n = 0};
        bool hit = stop_feed(s, text_of(steps[i][0]), out);
        sink_put(&o, out[0]);
        sink_put(&o, out[1]);
        assert_string_equal(o.p, steps[i][1]);
        assert_int_equal(hit, i >= COUNT(steps) - 2);
    }
    assert_int_equal(s->hit, 0);
    assert_int_equal(stop_end(s).n, 0);
    assert_true(arena.total == before);
    /* An empty string would stop everything; it is refused by number. */
    const struct str empty[] = {text_of("x"), text_of("")};
    assert_int_equal(stop_open(&s, empty, 2, &arena, &e), GLIM_ARG);
    assert_says(&e, "stop string 2|empty");
    arena_free(&arena);
}

/* ---- Turns ----------------------------------------------------------------------------------- */

/* A vocabulary with ChatML's marks, of the kind given for the end mark, and a template. */
static void build_chat(struct build *b, const char *template, u32 end_kind) {
    static const char *const tokens[] = {"<|im_start|>", "<|im_end|>", "a"};
    const u32 kinds[] = {VOCAB_CONTROL, end_kind, VOCAB_NORMAL};
    build_head(b, 3, 0, template ? 9 : 8);
    build_kv_str(b, "general.architecture", "llama");
    build_kv_str(b, "general.name", "Tiny");
    build_kv_str(b, "tokenizer.ggml.model", "gpt2");
    build_kv_str(b, "tokenizer.ggml.pre", "smollm");
    build_kv_u32(b, "tokenizer.ggml.bos_token_id", 0);
    build_kv_array(b, "tokenizer.ggml.tokens", GGUF_STR, COUNT(tokens));
    for (u32 i = 0; i < COUNT(tokens); i++)
        build_str(b, tokens[i]);
    build_kv_array(b, "tokenizer.ggml.token_type", GGUF_I32, COUNT(kinds));
    for (u32 i = 0; i < COUNT(kinds); i++)
        build_u32(b, kinds[i]);
    if (template) build_kv_str(b, "tokenizer.chat_template", template);
    build_kv_array(b, "tokenizer.ggml.merges", GGUF_STR, 0);
}

static void open_chat(struct load *l, struct vocab **v, const char *template, u32 end_kind) {
    struct build b = {0};
    build_chat(&b, template, end_kind);
    build_pad(&b, 32);
    assert_loads(l, &b);
    if (vocab_open(v, &l->g, &l->arena, &l->e)) fail_test("%s", l->e.msg);
}

static void check_case(const struct turns *t, json_t *c) {
    json_t *list = json_object_get(c, "turns");
    struct turn turn[8];
    struct vocab_span span[64];
    u32 n = (u32)json_array_size(list);
    assert_true(n > 0 && n <= COUNT(turn));
    for (u32 i = 0; i < n; i++) {
        json_t *pair = json_array_get(list, i);
        turn[i].role = text_of(json_string_value(json_array_get(pair, 0)));
        turn[i].text = text_of(json_string_value(json_array_get(pair, 1)));
    }
    u32 flags = json_is_true(json_object_get(c, "reply")) ? TURNS_REPLY : 0;
    glim_err e = {0};
    i64 n_spans = turns_spans(t, turn, n, flags, NULL, 0, &e);
    assert_true(n_spans >= 0 && n_spans <= (i64)COUNT(span));
    assert_int_equal(turns_spans(t, turn, n, flags, span, COUNT(span), &e), n_spans);
    struct sink whole = {.n = 0};
    u32 plain = 0;
    for (i64 i = 0; i < n_spans; i++) {
        sink_put(&whole, span[i].text);
        plain += !span[i].control;
    }
    assert_string_equal(whole.p, json_string_value(json_object_get(c, "text")));
    /* Roles and texts are plain, nothing else is (empty ones give no span). */
    u32 said = 0;
    for (u32 i = 0; i < n; i++)
        said += (turn[i].role.n > 0) + (turn[i].text.n > 0);
    assert_int_equal(plain, said);
    /* Cut after any answer: the first part, then the rest as a continuation, is the same text. */
    for (u32 cut = 1; cut + 1 < n; cut++) {
        if (!str_is(turn[cut].role, "assistant")) continue;
        for (u32 ended = 0; ended < 2; ended++) {
            struct sink o = {.n = 0};
            i64 k = turns_spans(t, turn, cut, TURNS_REPLY, span, COUNT(span), &e);
            for (i64 i = 0; i < k; i++)
                sink_put(&o, span[i].text);
            sink_put(&o, turn[cut].text);
            if (ended) sink_put(&o, text_of(CHATML_END));
            k = turns_spans(t, turn + cut + 1, n - cut - 1,
                            flags | TURNS_AFTER | (ended ? TURNS_ENDED : 0), span, COUNT(span), &e);
            for (i64 i = 0; i < k; i++)
                sink_put(&o, span[i].text);
            assert_string_equal(o.p, whole.p);
        }
    }
}

static void test_turns_like_jinja(void **state) {
    (void)state;
    json_error_t error;
    json_t *all = json_load_file("test/data/chatml.json", 0, &error);
    if (!all) fail_test("%s", error.text);
    u32 ours = 0, others = 0;
    size_t i, k;
    json_t *entry, *c;
    json_array_foreach(all, i, entry) {
        const char *template = json_string_value(json_object_get(entry, "template"));
        bool is = json_is_true(json_object_get(entry, "ours"));
        struct load l;
        struct vocab *v;
        struct turns *t;
        open_chat(&l, &v, template, VOCAB_CONTROL);
        int status = turns_open(&t, &l.g, v, &l.arena, &l.e);
        if (status != (is ? 0 : GLIM_UNSUPPORTED)) {
            fail_test("template %u: status %d, %s", (u32)i, status, l.e.msg);
        }
        if (is) {
            assert_int_equal(turns_end(t), 1);
            json_array_foreach(json_object_get(entry, "cases"), k, c) {
                check_case(t, c);
            }
        } else {
            assert_says(&l.e, "Tiny|--raw");
        }
        ours += is;
        others += !is;
        load_free(&l);
    }
    assert_true(ours >= 8 && others >= 16);
    json_decref(all);
}

static void test_turns_refused(void **state) {
    (void)state;
    static const char chatml[] =
        "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
        "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}"
        "{{ '<|im_start|>assistant\\n' }}{% endif %}";
    struct load l;
    struct vocab *v;
    struct turns *t;
    open_chat(&l, &v, NULL, VOCAB_CONTROL);
    assert_int_equal(turns_open(&t, &l.g, v, &l.arena, &l.e), GLIM_UNSUPPORTED);
    assert_says(&l.e, "'Tiny'|tokenizer.chat_template|--raw");
    assert_null(t);
    load_free(&l);
    /* The marks must be control tokens, or text could not tell turns apart. */
    open_chat(&l, &v, chatml, VOCAB_NORMAL);
    assert_int_equal(turns_open(&t, &l.g, v, &l.arena, &l.e), GLIM_UNSUPPORTED);
    assert_says(&l.e, "<|im_end|>|not a control token");
    load_free(&l);
    /* The quote is the first 60 bytes, cut between characters. */
    char text[80];
    memset(text, 'x', sizeof text);
    memcpy(text + 59, "\u00e9", 2);
    text[79] = 0;
    open_chat(&l, &v, text, VOCAB_CONTROL);
    assert_int_equal(turns_open(&t, &l.g, v, &l.arena, &l.e), GLIM_UNSUPPORTED);
    text[59] = 0;
    assert_says(&l.e, text);
    assert_null(strstr(l.e.msg, "\u00e9"));
    load_free(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unicode_flags),         cmocka_unit_test(test_unicode_read),
        cmocka_unit_test(test_utf8_as_soon_as_whole), cmocka_unit_test(test_utf8_bad_bytes),
        cmocka_unit_test(test_stop_all_short_texts),  cmocka_unit_test(test_stop_shows_at_once),
        cmocka_unit_test(test_turns_like_jinja),      cmocka_unit_test(test_turns_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
