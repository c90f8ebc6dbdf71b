/* Code points, the streaming detokenizer, stop strings. */
#include "load_gguf.h"

#include "text/stop.h"
#include "text/unicode.h"
#include "text/utf8.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unicode_flags),         cmocka_unit_test(test_unicode_read),
        cmocka_unit_test(test_utf8_as_soon_as_whole), cmocka_unit_test(test_utf8_bad_bytes),
        cmocka_unit_test(test_stop_all_short_texts),  cmocka_unit_test(test_stop_shows_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
