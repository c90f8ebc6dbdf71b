/* Python's ways with text that keep the marks of who wrote what. */
#include <string.h>

#include "text/jinja_call.h"
#include "text/unicode.h"

#include "text/casing.inc"

/* A code point's other case by a table of ranges; itself where it has none. */
static u32 other_case(const struct casing *table, u32 n, u32 code) {
    u32 low = 0, high = n;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (table[middle].last < code)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == n || code < table[low].first) return code;
    if (table[low].step == 2 && (code - table[low].first) % 2) return code;
    return (u32)((i64)code + table[low].add);
}

static bool has_case(u32 code) {
    return unicode_flags(code) & (UNICODE_UPPER | UNICODE_LOWER);
}

/* Whether a capital sigma at byte i ends a word, which changes its small form. */
static bool ends_word(const struct jstr *s, size_t i, size_t len) {
    bool before = false;
    if (i > 0) {
        size_t k = i - 1;
        while (k > 0 && ((u8)s->t.p[k] & 0xc0) == 0x80)
            k--;
        before = has_case(unicode_read(s->t.p + k, i - k).code);
    }
    bool after =
        i + len < s->t.n && has_case(unicode_read(s->t.p + i + len, s->t.n - i - len).code);
    return before && !after;
}

/* A few characters become several, the sharp s and ligatures among them. */
static void put_upper(struct jmem *m, struct jbuf *b, const struct jstr *s, size_t i, u32 code,
                      bool title) {
    char text[4];
    for (u32 k = 0; k < COUNT(casing_special); k++) {
        if (casing_special[k].code != code) continue;
        const char *to = title ? casing_special[k].title : casing_special[k].upper;
        jbuf_like(m, b, to, strlen(to), s, i);
        return;
    }
    u32 to = title ? other_case(casing_title, COUNT(casing_title), code)
                   : other_case(casing_upper, COUNT(casing_upper), code);
    jbuf_like(m, b, text, unicode_write(to, text), s, i);
}

static void put_lower(struct jmem *m, struct jbuf *b, const struct jstr *s, size_t i, u32 code,
                      u32 len) {
    char text[4];
    if (code == 0x130) { /* I with a dot becomes i and a combining dot */
        jbuf_like(m, b, "i\xcc\x87", 3, s, i);
        return;
    }
    u32 to = code == 0x3a3 && ends_word(s, i, len)
                 ? 0x3c2
                 : other_case(casing_lower, COUNT(casing_lower), code);
    jbuf_like(m, b, text, unicode_write(to, text), s, i);
}

/* Bytes that are no UTF-8 stay as they are. */
struct jval jstr_case(struct jmem *m, const struct jstr *s, char how) {
    struct jbuf b = {0};
    bool in_word = false; /* the character before was a letter with case */
    if (!jmem_step(m, s->t.n / 8)) return jval_of_str(s);
    for (size_t i = 0; i < s->t.n && !m->rc;) {
        struct unicode_char c = unicode_read(s->t.p + i, s->t.n - i);
        bool upper = how == 'u' || ((how == 'c' || how == 'w') && i == 0) ||
                     (how == 't' && !in_word) ||
                     (how == 's' && unicode_flags(c.code) & UNICODE_LOWER);
        if (c.state != UNICODE_WHOLE)
            jbuf_like(m, &b, s->t.p + i, c.len, s, i);
        else if (upper)
            put_upper(m, &b, s, i, c.code, how == 'c' || how == 't');
        else
            put_lower(m, &b, s, i, c.code, c.len);
        in_word = has_case(c.code);
        i += c.len;
    }
    return jbuf_done(m, &b);
}

/* Whether the character at p is among chars; chars NULL: white space. */
static bool is_among(const char *p, struct unicode_char c, const struct jstr *chars) {
    if (!chars) return c.state == UNICODE_WHOLE && jstr_is_space(c.code);
    for (size_t i = 0; i < chars->t.n;) {
        u32 len = unicode_read(chars->t.p + i, chars->t.n - i).len;
        if (len == c.len && !memcmp(chars->t.p + i, p, len)) return true;
        i += len;
    }
    return false;
}

/* chars is a set of characters, not a text. */
struct jval jstr_strip(struct jmem *m, const struct jstr *s, const struct jstr *chars, bool front,
                       bool back) {
    size_t from = 0, to = s->t.n;
    while (front && from < to) {
        struct unicode_char c = unicode_read(s->t.p + from, to - from);
        if (!is_among(s->t.p + from, c, chars)) break;
        from += c.len;
    }
    while (back && to > from) {
        size_t i = to - 1;
        while (i > from && ((u8)s->t.p[i] & 0xc0) == 0x80)
            i--;
        struct unicode_char c = unicode_read(s->t.p + i, to - i);
        if (i + c.len != to || !is_among(s->t.p + i, c, chars)) break;
        to = i;
    }
    jmem_step(m, 1 + (s->t.n - (to - from)) / 16);
    return jval_part(m, s, from, to - from);
}

struct jval jstr_replace(struct jmem *m, const struct jstr *s, const struct jstr *old,
                         const struct jstr *new, i64 count) {
    struct jbuf b = {0};
    size_t at = 0;
    for (; count != 0 && !m->rc; count--) {
        size_t stop;
        if (old->t.n == 0) { /* before each character, and at the end */
            stop = at;
        } else {
            const char *hit = memmem(s->t.p + at, s->t.n - at, old->t.p, old->t.n);
            if (!hit) break;
            stop = (size_t)(hit - s->t.p);
        }
        jbuf_str(m, &b, jval_part(m, s, at, stop - at).s);
        jbuf_str(m, &b, new);
        at = stop + old->t.n;
        if (!jmem_step(m, 1)) break;
        if (old->t.n) continue;
        if (at == s->t.n) break;
        u32 len = unicode_read(s->t.p + at, s->t.n - at).len;
        jbuf_str(m, &b, jval_part(m, s, at, len).s);
        at += len;
    }
    if (!m->rc) jbuf_str(m, &b, jval_part(m, s, at, s->t.n - at).s);
    return jbuf_done(m, &b);
}
