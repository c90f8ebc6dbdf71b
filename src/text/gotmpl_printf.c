/* printf of Go templates: the verbs v s d q t x X c e f g with flags, width and precision. Go
 * writes what does not fit into its text ("%!d(string=hi)"); here it is a failure, as no template
 * can mean that. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/gotmpl_node.h"
#include "text/unicode.h"

struct verb {
    char c;
    bool minus, plus, zero, space, sharp;
    i32 width, precision; /* -1: none */
};

enum { WIDEST = 1000000 }; /* as in Go; what is more is no width */

/* A number, or * for one among the arguments; -1: there is none. */
static i64 read_size(struct grun *x, const char **p, const char *end, const struct gval *arg, u32 n,
                     u32 *at) {
    i64 v = -1;
    if (*p < end && **p == '*') {
        ++*p;
        struct gval size = *at < n ? gval_plain(arg[(*at)++]) : gval_nil();
        if (size.type && size.type->kind == GKIND_INT && size.v.i >= -WIDEST && size.v.i <= WIDEST)
            return size.v.i;
        jmem_fail(x->m, GLIM_ARG, "printf: * wants an int of at most %d", WIDEST);
        return -1;
    }
    for (; *p < end && **p >= '0' && **p <= '9'; ++*p)
        v = MIN((v < 0 ? 0 : v) * 10 + (**p - '0'), WIDEST + 1);
    if (v > WIDEST) jmem_fail(x->m, GLIM_ARG, "printf: more than %d characters", WIDEST);
    return v;
}

/* Behind a %. A width below zero is a sign for the left, and a precision below zero none. */
static struct verb read_verb(struct grun *x, const char **p, const char *end,
                             const struct gval *arg, u32 n, u32 *at) {
    struct verb v = {.width = -1, .precision = -1};
    for (; *p < end && strchr("-+0 #", **p) && **p; ++*p) {
        v.minus |= **p == '-';
        v.plus |= **p == '+';
        v.zero |= **p == '0';
        v.space |= **p == ' ';
        v.sharp |= **p == '#';
    }
    bool star = *p < end && **p == '*';
    i64 width = read_size(x, p, end, arg, n, at);
    v.minus |= star && width < 0;
    v.width = (i32)(star && width < 0 ? -width : width);
    if (*p < end && **p == '.') {
        ++*p;
        star = *p < end && **p == '*';
        i64 precision = read_size(x, p, end, arg, n, at);
        v.precision = star || precision > 0 ? (i32)precision : 0;
        if (v.precision < 0) v.precision = -1;
    }
    v.c = *p < end ? *(*p)++ : 0;
    return v;
}

static u64 characters(const struct jstr *s) {
    u64 n = 0;
    for (size_t i = 0; i < s->t.n; n++)
        i += unicode_read(s->t.p + i, s->t.n - i).len;
    return n;
}

/* Text with blanks (or zeros behind a sign) up to the width, which is in characters. */
static void put_padded(struct jmem *m, struct jbuf *b, const struct verb *v, const struct jstr *s) {
    u64 n = characters(s), blanks = v->width > 0 && (u64)v->width > n ? (u64)v->width - n : 0;
    bool zeros = v->zero && !v->minus;
    size_t sign = zeros && s->t.n && (s->t.p[0] == '-' || s->t.p[0] == '+') ? 1 : 0;
    if (!jmem_step(m, blanks / 16)) return;
    if (v->minus) jbuf_str(m, b, s);
    if (sign) jbuf_str(m, b, jval_part(m, s, 0, 1).s);
    for (u64 i = 0; i < blanks; i++)
        jbuf_puts(m, b, zeros ? "0" : " ", true);
    if (!v->minus) jbuf_str(m, b, jval_part(m, s, sign, s->t.n - sign).s);
}

static struct jval gprintf_cut(struct jmem *m, struct jval text, i32 precision) {
    size_t i = 0;
    for (i32 n = 0; i < text.s->t.n && n < precision; n++)
        i += unicode_read(text.s->t.p + i, text.s->t.n - i).len;
    return precision < 0 ? text : jval_part(m, text.s, 0, i);
}

/* Go's quotes, of text that is UTF-8 and can be shown. */
static struct jval quoted(struct jmem *m, const struct jstr *s) {
    struct jbuf b = {0};
    jbuf_puts(m, &b, "\"", true);
    for (size_t i = 0; i < s->t.n && !m->rc;) {
        static const char plain[] = "\a\b\f\n\r\t\v\"\\", letter[] = "abfnrtv\"\\";
        struct unicode_char c = unicode_read(s->t.p + i, s->t.n - i);
        const char *named = c.code && c.code < 0x80 ? strchr(plain, (int)c.code) : NULL;
        char text[16] = "";
        bool shown = c.code < 0x80 ? c.code >= 0x20 && c.code != 0x7f
                                   : unicode_flags(c.code) & ~(u32)UNICODE_SPACE;
        if (named)
            snprintf(text, sizeof text, "\\%c", letter[named - plain]);
        else if (c.state != UNICODE_WHOLE)
            snprintf(text, sizeof text, "\\x%02x", (u8)s->t.p[i]);
        else if (!shown)
            snprintf(text, sizeof text,
                     c.code < 0x80      ? "\\x%02x"
                     : c.code < 0x10000 ? "\\u%04x"
                                        : "\\U%08x",
                     c.code);
        u32 len = c.state == UNICODE_WHOLE ? c.len : 1;
        if (text[0])
            jbuf_like(m, &b, text, strlen(text), s, i);
        else
            jbuf_like(m, &b, s->t.p + i, len, s, i);
        i += len;
    }
    jbuf_puts(m, &b, "\"", true);
    return jbuf_done(m, &b);
}

/* A number by C's printf, which agrees on these verbs. */
static struct jval number(struct jmem *m, const struct verb *v, struct gval arg) {
    char text[400];
    i64 i = arg.v.i;
    bool integer = arg.type->kind == GKIND_INT;
    if (integer && v->c == 'c') {
        char utf8[4];
        u32 code = i >= 0 && i < 0x110000 && !(i >= 0xd800 && i < 0xe000) ? (u32)i : UNICODE_BAD;
        return jval_str(m, (struct str){utf8, unicode_write(code, utf8)}, true);
    }
    const char *sign = v->plus ? "+" : v->space ? " " : "";
    if (integer && (v->c == 'x' || v->c == 'X')) {
        u64 u = i < 0 ? 0 - (u64)i : (u64)i;
        snprintf(text, sizeof text, v->c == 'x' ? "%s%s%llx" : "%s%s%llX", i < 0 ? "-" : sign,
                 v->sharp ? (v->c == 'x' ? "0x" : "0X") : "", (unsigned long long)u);
    } else if (integer) {
        snprintf(text, sizeof text, "%s%lld", i < 0 ? "" : sign, (long long)i);
    } else {
        size_t at = !signbit(arg.v.f) && sign[0] ? 1 : 0;
        int precision = MIN(v->precision < 0 ? 6 : v->precision, 60);
        text[0] = sign[0];
        if (v->precision < 0 && v->c != 'f' && v->c != 'e')
            gput_float(arg.v.f, 'g', text + at);
        else if (v->c == 'f')
            snprintf(text + at, sizeof text - 1, "%.*f", precision, arg.v.f);
        else if (v->c == 'e')
            snprintf(text + at, sizeof text - 1, "%.*e", precision, arg.v.f);
        else
            snprintf(text + at, sizeof text - 1, "%.*g", precision, arg.v.f);
    }
    return jval_text(m, text, true);
}

static struct jval as_text(struct jmem *m, struct gval v) {
    struct jbuf b = {0};
    gput_argument(m, &b, v);
    return jbuf_done(m, &b);
}

/* One argument under one verb. */
static void put_verb(struct grun *x, struct jbuf *b, const struct verb *v, struct gval arg) {
    struct jmem *m = x->m;
    struct jval text;
    arg = gval_plain(arg);
    enum gkind kind = arg.type ? arg.type->kind : GKIND_ANY;
    bool shown = arg.type && arg.type->show != GSHOW_FMT;
    bool like_text = kind == GKIND_STR || shown;
    struct verb plain = *v;
    if ((v->c == 'v' && kind != GKIND_INT && kind != GKIND_FLOAT) || (v->c == 's' && like_text)) {
        plain.zero = false;
        if (v->sharp || (v->plus && !like_text) || (v->width >= 0 && !like_text)) v = NULL;
        text = as_text(m, arg);
        if (v && like_text) text = gprintf_cut(m, text, v->precision);
    } else if (v->c == 'q' && like_text && !v->sharp && !v->plus) {
        text = quoted(m, gprintf_cut(m, as_text(m, arg), v->precision).s);
        plain.zero = false;
    } else if (v->c == 't' && kind == GKIND_BOOL) {
        text = as_text(m, arg);
    } else if (kind == GKIND_INT && strchr("vdxXc", v->c) && v->c && v->precision < 0) {
        text = number(m, v, arg);
    } else if (kind == GKIND_FLOAT && strchr("vefg", v->c) && v->c && !v->sharp) {
        text = number(m, v, arg);
    } else {
        v = NULL;
    }
    if (v)
        put_padded(m, b, &plain, text.s);
    else
        jmem_fail(m, GLIM_ARG, "printf: %%%c does not fit a value of type %s",
                  plain.c ? plain.c : ' ', gval_type(arg));
}

struct gval gprintf(struct grun *x, const struct gval *arg, u32 n) {
    struct jbuf b = {0};
    struct gval format = gval_plain(arg[0]);
    u32 at = 1;
    if (!format.type || format.type->kind != GKIND_STR) {
        jmem_fail(x->m, GLIM_ARG, "printf: the format is of type %s", gval_type(format));
        return gval_nil();
    }
    const struct jstr *s = format.v.s;
    const char *p = s->t.p, *end = p + s->t.n;
    while (p < end && !x->m->rc) {
        const char *hit = memchr(p, '%', (size_t)(end - p)), *stop = hit ? hit : end;
        jbuf_str(x->m, &b, jval_part(x->m, s, (size_t)(p - s->t.p), (size_t)(stop - p)).s);
        if (!hit) break;
        p = hit + 1;
        struct verb v = read_verb(x, &p, end, arg, n, &at);
        if (v.c == '%')
            jbuf_puts(x->m, &b, "%", true);
        else if (at < n)
            put_verb(x, &b, &v, arg[at++]);
        else
            jmem_fail(x->m, GLIM_ARG, "printf: there is no value for %%%c", v.c ? v.c : ' ');
    }
    if (at < n) jmem_fail(x->m, GLIM_ARG, "printf: more values than the format has places for");
    return gval_str(jbuf_done(x->m, &b));
}
