/* Go templates cut into tokens, as Go's text/template does. */
#include "text/gotmpl_node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text/unicode.h"

void glex_begin(struct glex *l, struct jmem *m, struct str source) {
    *l = (struct glex){.m = m, .p = source.p, .n = source.n, .line = 1};
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The byte i places on, or 0 at the end. */
static char ahead(const struct glex *l, size_t i) {
    return l->n - l->at > i ? l->p[l->at + i] : 0;
}

static bool at_text(const struct glex *l, size_t i, const char *text) {
    size_t n = strlen(text);
    return l->n - l->at >= i + n && memcmp(l->p + l->at + i, text, n) == 0;
}

static struct gtoken glex_failed(struct glex *l, const char *why) {
    l->m->line = l->line;
    jmem_fail(l->m, GLIM_FORMAT, "%s", why);
    return (struct gtoken){.kind = GTOKEN_END, .line = l->line};
}

static void move(struct glex *l, size_t n) {
    for (size_t i = 0; i < n; i++)
        l->line += l->p[l->at + i] == '\n';
    l->at += n;
}

static void glex_skip_space(struct glex *l) {
    while (l->at < l->n && is_space(l->p[l->at]))
        move(l, 1);
}

/* ---- Outside of actions ---------------------------------------------------------------------- */

/* "}}" or " -}}" i bytes on: its length, or 0. */
static size_t close_at(const struct glex *l, size_t i) {
    if (at_text(l, i, "}}")) return 2;
    return is_space(ahead(l, i)) && at_text(l, i + 1, "-}}") ? 4 : 0;
}

static void glex_close(struct glex *l, size_t n) {
    move(l, n);
    if (n == 4) glex_skip_space(l);
}

/* Behind the "{{" and its sign, at a comment's beginning. */
static bool glex_skip_comment(struct glex *l) {
    const char *end = memmem(l->p + l->at + 2, l->n - l->at - 2, "*/", 2);
    if (!end) return false;
    move(l, (size_t)(end + 2 - (l->p + l->at)));
    size_t n = close_at(l, 0);
    if (n) glex_close(l, n);
    return n;
}

/* Text up to an action, without the white space that "{{- " takes from its end. Comments are no
 * tokens, and may leave nothing between two of them. */
static struct gtoken glex_outside(struct glex *l) {
    for (;;) {
        const char *hit = memmem(l->p + l->at, l->n - l->at, "{{", 2);
        size_t from = l->at, tag = hit ? (size_t)(hit - l->p) : l->n, end = tag;
        struct gtoken t = {GTOKEN_TEXT, false, l->line, {l->p + from, 0}};
        move(l, tag - from);
        bool trims = hit && ahead(l, 2) == '-' && is_space(ahead(l, 3));
        while (trims && end > from && is_space(l->p[end - 1]))
            end--;
        t.text.n = end - from;
        if (!hit && t.text.n == 0) t.kind = GTOKEN_END;
        if (!hit) return t;
        size_t skip = trims ? 4 : 2;
        if (!at_text(l, skip, "/*")) {
            l->inside = l->pending = true;
            l->trim = trims;
            l->open = 0;
            if (t.text.n) return t;
            return glex_next(l);
        }
        move(l, skip);
        if (!glex_skip_comment(l)) return glex_failed(l, "a comment has no end, or more behind it");
        if (t.text.n) return t;
    }
}

/* ---- In actions ------------------------------------------------------------------------------ */

/* Bytes of the letter, digit or underscore there, or 0. */
static u32 alnum_at(const struct glex *l) {
    if (l->at >= l->n) return 0;
    struct unicode_char c = unicode_read(l->p + l->at, l->n - l->at);
    if (c.state != UNICODE_WHOLE) return 0;
    bool ascii = c.code < 0x80 && ((c.code | 32) - 'a' < 26 || c.code - '0' < 10);
    bool other = c.code >= 0x80 && unicode_flags(c.code) & (UNICODE_LETTER | UNICODE_NUMBER);
    return ascii || other || c.code == '_' ? c.len : 0;
}

/* Words, fields and variables end at white space and at some signs only. */
static bool at_end_of_word(const struct glex *l) {
    char c = ahead(l, 0);
    return l->at == l->n || is_space(c) || (c && strchr(".,|:)(", c)) || at_text(l, 0, "}}");
}

static struct gtoken lex_word(struct glex *l, struct gtoken t, enum gtoken_kind kind) {
    size_t from = l->at;
    for (u32 n; (n = alnum_at(l)) != 0;)
        l->at += n;
    t.kind = kind;
    t.text = (struct str){l->p + from, l->at - from};
    if (!at_end_of_word(l)) return glex_failed(l, "a character that cannot be part of a name");
    return t;
}

static void skip_digits(struct glex *l, const char *digits) {
    while (ahead(l, 0) && strchr(digits, ahead(l, 0)))
        l->at++;
}

static bool eat_any(struct glex *l, const char *chars) {
    bool yes = ahead(l, 0) && strchr(chars, ahead(l, 0));
    l->at += yes;
    return yes;
}

static struct gtoken glex_scan_number(struct glex *l, struct gtoken t) {
    const char *digits = "0123456789_";
    size_t from = l->at;
    bool hex = false, whole = false;
    eat_any(l, "+-");
    if (eat_any(l, "0")) {
        hex = eat_any(l, "xX");
        if (hex)
            digits = "0123456789abcdefABCDEF_";
        else if (eat_any(l, "oObB"))
            whole = true;
    }
    skip_digits(l, digits);
    if (eat_any(l, ".")) skip_digits(l, digits);
    if (!whole && eat_any(l, hex ? "pP" : "eE")) {
        eat_any(l, "+-");
        skip_digits(l, "0123456789_");
    }
    t.kind = GTOKEN_NUMBER;
    t.text = (struct str){l->p + from, l->at - from};
    if (alnum_at(l) || ahead(l, 0) == '+' || ahead(l, 0) == '-')
        return glex_failed(l, "something that is no number");
    return t;
}

static struct gtoken lex_quoted(struct glex *l, struct gtoken t, char quote) {
    size_t from = l->at++;
    while (l->at < l->n && l->p[l->at] != quote) {
        if (quote != '`' && l->p[l->at] == '\\' && ahead(l, 1)) l->at++;
        if (quote != '`' && l->p[l->at] == '\n') return glex_failed(l, "a string has no end");
        move(l, 1);
    }
    if (l->at == l->n) return glex_failed(l, "a string has no end");
    l->at++;
    t.kind = quote == '\'' ? GTOKEN_CHAR : GTOKEN_STRING;
    t.text = (struct str){l->p + from, l->at - from};
    return t;
}

static struct gtoken lex_sign(struct glex *l, struct gtoken t) {
    char c = ahead(l, 0);
    t.kind = GTOKEN_SIGN;
    t.text = (struct str){l->p + l->at, 1};
    if (c == ':' && ahead(l, 1) == '=') t.text.n = 2;
    if (!strchr("=|(),", c) && t.text.n == 1)
        return glex_failed(l, "a character that has no meaning in an action");
    if (c == '(') l->open++;
    if (c == ')' && l->open-- == 0) return glex_failed(l, "a ) closes nothing");
    l->at += t.text.n;
    return t;
}

static struct gtoken glex_inside(struct glex *l) {
    struct gtoken t = {.line = l->line};
    size_t close = close_at(l, 0);
    /* White space goes before an end without a sign; the last of it belongs to one with a sign. */
    while (!close && is_space(ahead(l, 0))) {
        t.spaced = true;
        move(l, 1);
        close = close_at(l, 0);
    }
    t.line = l->line;
    if (l->at == l->n) return glex_failed(l, "an action has no end");
    if (close) {
        if (l->open) return glex_failed(l, "a ( has no )");
        t.kind = GTOKEN_CLOSE;
        t.text = (struct str){l->p + l->at, close};
        l->inside = false;
        glex_close(l, close);
        return t;
    }
    char c = ahead(l, 0), next = ahead(l, 1);
    if (c == '"' || c == '`' || c == '\'') return lex_quoted(l, t, c);
    if (c == '$') {
        struct gtoken v;
        l->at++;
        v = lex_word(l, t, GTOKEN_VARIABLE);
        if (v.kind == GTOKEN_VARIABLE) v.text = (struct str){v.text.p - 1, v.text.n + 1};
        return v;
    }
    if (c == '.' && !(next >= '0' && next <= '9')) {
        l->at++;
        t = lex_word(l, t, GTOKEN_FIELD);
        if (t.kind == GTOKEN_FIELD && t.text.n == 0) t.kind = GTOKEN_DOT;
        return t;
    }
    if (c == '.' || c == '+' || c == '-' || (c >= '0' && c <= '9')) return glex_scan_number(l, t);
    return alnum_at(l) ? lex_word(l, t, GTOKEN_WORD) : lex_sign(l, t);
}

struct gtoken glex_next(struct glex *l) {
    struct gtoken t = {.kind = GTOKEN_END, .line = l->line};
    if (l->m->rc) return t;
    if (l->pending) {
        t = (struct gtoken){GTOKEN_OPEN, false, l->line, {l->p + l->at, 2}};
        l->at += l->trim ? 3 : 2; /* the white space behind the sign separates as any does */
        l->pending = false;
        return t;
    }
    return l->inside ? glex_inside(l) : glex_outside(l);
}

/* ---- Literals -------------------------------------------------------------------------------- */

static i32 digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* n digits in that base from p on, at most to end; -1: they are none. */
static i64 glex_digits(const char *p, const char *end, u32 n, i32 base) {
    i64 v = 0;
    for (u32 i = 0; i < n; i++, p++) {
        if (p >= end || digit_of(*p) >= base) return -1;
        v = v * base + digit_of(*p);
    }
    return v;
}

/* Behind a backslash at *p: what it stands for into out; its length, 0: there is no such escape. */
static u32 glex_unescape(const char **p, const char *end, char quote, char out[4]) {
    static const char letter[] = "abfnrtv\\", byte[] = "\a\b\f\n\r\t\v\\";
    char c = *(*p)++;
    const char *at = c ? strchr(letter, c) : NULL;
    if (at || c == quote) {
        out[0] = at ? byte[at - letter] : c;
        return 1;
    }
    u32 n = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    bool octal = c >= '0' && c <= '7';
    i64 code = octal ? glex_digits(*p - 1, end, 3, 8) : n ? glex_digits(*p, end, n, 16) : -1;
    *p += octal ? 2 : n;
    if (code < 0) return 0;
    if (octal || c == 'x') {
        out[0] = (char)code;
        return code < 256;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
    return unicode_write((u32)code, out);
}

struct jval glex_text(struct jmem *m, struct str s) {
    struct jbuf b = {0};
    const char *p = s.p + 1, *end = s.p + s.n - 1;
    while (p < end && !m->rc) {
        char out[4];
        if (s.p[0] == '`') { /* Go leaves out carriage returns */
            if (*p != '\r') jbuf_put(m, &b, p, 1, true);
            p++;
        } else if (*p != '\\') {
            jbuf_put(m, &b, p++, 1, true);
        } else {
            p++;
            u32 n = glex_unescape(&p, end, s.p[0], out);
            if (n == 0) jmem_fail(m, GLIM_FORMAT, "a string has an escape that is none");
            jbuf_put(m, &b, out, n, true);
        }
    }
    return jbuf_done(m, &b);
}

/* A character is its number. */
static struct jval char_number(struct jmem *m, struct str s) {
    const char *p = s.p + 1, *end = s.p + s.n - 1;
    char out[4] = {0};
    struct unicode_char c = {0};
    if (p < end && *p == '\\') {
        p++;
        bool byte = *p == 'x' || (*p >= '0' && *p <= '7');
        u32 n = glex_unescape(&p, end, '\'', out);
        if (n) c = byte ? (struct unicode_char){.code = (u8)out[0]} : unicode_read(out, n);
        if (n == 0) p = NULL;
    } else if (p < end) {
        c = unicode_read(p, (size_t)(end - p));
        p += c.len;
    } else {
        p = NULL;
    }
    if (p != end) jmem_fail(m, GLIM_FORMAT, "a character constant that is not one character");
    return jval_int(c.code);
}

/* Underscores may stand between digits and behind a base's prefix. */
static bool without_underscores(struct str s, char out[80]) {
    size_t n = 0;
    bool prefixed = s.n > 2 && strchr("xXoObB", s.p[1]) != NULL;
    for (size_t i = 0; i < s.n; i++) {
        if (n + 1 == 80) return false;
        if (s.p[i] != '_') {
            out[n++] = s.p[i];
            continue;
        }
        bool before = i > 0 && (digit_of(s.p[i - 1]) < 16 || (prefixed && i == 2));
        if (!before || i + 1 == s.n || digit_of(s.p[i + 1]) >= 16) return false;
    }
    out[n] = 0;
    return true;
}

/* Go's bases: 0x, 0o, 0b, and a plain 0 for octal numbers. What has a point or an exponent is a
 * float. */
struct jval glex_number(struct jmem *m, struct gtoken t) {
    char text[80], *end = NULL;
    if (t.kind == GTOKEN_CHAR) return char_number(m, t.text);
    bool minus = t.text.p[0] == '-', sign = minus || t.text.p[0] == '+';
    struct str digits = {t.text.p + sign, t.text.n - sign};
    bool fine = without_underscores(digits, text);
    bool hex = fine && text[0] == '0' && (text[1] | 32) == 'x';
    if (fine && strpbrk(text, hex ? ".pP" : ".eE")) {
        f64 f = strtod(text, &end);
        bool power = !hex || strpbrk(text, "pP");
        if (*end || end == text || !power || f - f != 0) fine = false;
        if (fine) return jval_float(minus ? -f : f);
    } else if (fine) {
        u32 skip = hex || (text[0] == '0' && strchr("oObB", text[1]) && text[1]) ? 2 : 0;
        int base = hex ? 16 : skip ? ((text[1] | 32) == 'o' ? 8 : 2) : text[0] == '0' ? 8 : 10;
        errno = 0;
        unsigned long long u = digit_of(text[skip]) < base ? strtoull(text + skip, &end, base) : 0;
        fine = end && !*end && !errno && u <= (unsigned long long)INT64_MAX + minus;
        if (fine) return jval_int(minus ? (i64)(0 - u) : (i64)u);
    }
    jmem_fail(m, GLIM_FORMAT, "'%.*s' is no number here", (int)MIN(t.text.n, 40u), t.text.p);
    return jval_int(0);
}
