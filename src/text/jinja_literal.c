/* Numbers and strings in templates. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text/jinja_parse.h"
#include "text/unicode.h"

static u32 read_digits(const char **s, const char *end, u32 most, u32 base, u32 *out) {
    u32 n = 0, v = 0;
    while (n < most && *s < end) {
        char c = **s;
        u32 d = c >= '0' && c <= '9'   ? (u32)(c - '0')
                : c >= 'a' && c <= 'f' ? (u32)(c - 'a') + 10
                : c >= 'A' && c <= 'F' ? (u32)(c - 'A') + 10
                                       : 99;
        if (d >= base) break;
        v = v * base + d;
        n++;
        ++*s;
    }
    *out = v;
    return n;
}

/* One escape, s behind its backslash; Python's, so that an unknown one stays as it is. */
static void put_escape(struct jparse *p, struct jbuf *b, const char **s, const char *end) {
    static const char simple[][2] = {{'n', '\n'},  {'t', '\t'}, {'r', '\r'}, {'\\', '\\'},
                                     {'\'', '\''}, {'"', '"'},  {'a', '\a'}, {'b', '\b'},
                                     {'f', '\f'},  {'v', '\v'}};
    char c = **s, utf8[4];
    u32 code;
    for (size_t i = 0; i < COUNT(simple); i++) {
        if (c != simple[i][0]) continue;
        ++*s;
        jbuf_put(p->m, b, &simple[i][1], 1, true);
        return;
    }
    if (c == '\n') {
        ++*s;
        return;
    }
    u32 digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits) {
        ++*s;
        if (read_digits(s, end, digits, 16, &code) != digits || code > 0x10ffff ||
            (code >= 0xd800 && code < 0xe000)) {
            jmem_fail(p->m, GLIM_FORMAT, "a string has an escape that is no character");
            return;
        }
        jbuf_put(p->m, b, utf8, unicode_write(code, utf8), true);
    } else if (read_digits(s, end, 3, 8, &code)) {
        jbuf_put(p->m, b, utf8, unicode_write(code, utf8), true);
    } else {
        jbuf_put(p->m, b, "\\", 1, true);
    }
}

static void put_literal(struct jparse *p, struct jbuf *b, struct str quoted) {
    const char *s = quoted.p + 1, *end = quoted.p + quoted.n - 1;
    while (s < end && !p->m->rc) {
        const char *stop = memchr(s, '\\', (size_t)(end - s));
        if (!stop) stop = end;
        jbuf_put(p->m, b, s, (size_t)(stop - s), true);
        s = stop;
        if (s == end) break;
        s++;
        put_escape(p, b, &s, end);
    }
}

struct jnode *jparse_number(struct jparse *p) {
    struct jnode *n = jparse_node(p, JNODE_CONST);
    char text[64], *end;
    size_t len = 0;
    for (size_t i = 0; i < p->t.text.n && len + 1 < sizeof text; i++) {
        if (p->t.text.p[i] != '_') text[len++] = p->t.text.p[i];
    }
    text[len] = 0;
    if (p->t.kind == JTOKEN_FLOAT) {
        n->value = jval_float(strtod(text, &end));
    } else {
        int base = len > 1 && strchr("xX", text[1])   ? 16
                   : len > 1 && strchr("oO", text[1]) ? 8
                   : len > 1 && strchr("bB", text[1]) ? 2
                                                      : 10;
        errno = 0;
        n->value = jval_int(strtoll(base == 10 || base == 16 ? text : text + 2, &end, base));
        if (errno) jmem_fail(p->m, GLIM_UNSUPPORTED, "%s is too large", text);
    }
    if (*end) jmem_fail(p->m, GLIM_FORMAT, "%s is not a number", text);
    jparse_next(p);
    return n;
}

struct jnode *jparse_string(struct jparse *p) {
    struct jnode *n = jparse_node(p, JNODE_CONST);
    struct jbuf b = {0};
    for (; p->t.kind == JTOKEN_STRING; jparse_next(p)) /* neighbours are one */
        put_literal(p, &b, p->t.text);
    n->value = jbuf_done(p->m, &b);
    return n;
}
