/* Filters over single values and text. Those over sequences are in jinja_seq.c. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/jinja_seq.h"
#include "text/unicode.h"

static struct jval self_text(struct jcall *c) {
    return jval_to_str(c->m, c->self);
}

static struct jval filter_upper(struct jcall *c) {
    return jstr_case(c->m, self_text(c).s, 'u');
}
static struct jval filter_lower(struct jcall *c) {
    return jstr_case(c->m, self_text(c).s, 'l');
}
static struct jval filter_capitalize(struct jcall *c) {
    return jstr_case(c->m, self_text(c).s, 'c');
}
static struct jval filter_string(struct jcall *c) {
    return self_text(c);
}
static struct jval filter_trim(struct jcall *c) {
    return jstr_strip(c->m, self_text(c).s, jcall_str(c, 0), true, true);
}

/* Words begin behind white space, hyphens and opening brackets; their other letters are small. */
static struct jval filter_title(struct jcall *c) {
    struct jbuf b = {0};
    const struct jstr *s = self_text(c).s;
    for (size_t i = 0; i < s->t.n && !c->m->rc;) {
        size_t from = i;
        while (i < s->t.n) {
            struct unicode_char ch = unicode_read(s->t.p + i, s->t.n - i);
            i += ch.len;
            if (jstr_is_space(ch.code) || (ch.code < 0x80 && strchr("-({[<", (int)ch.code))) break;
        }
        struct jval word = jval_part(c->m, s, from, i - from);
        jbuf_str(c->m, &b, jstr_case(c->m, word.s, 'w').s);
    }
    return jbuf_done(c->m, &b);
}

/* For undefined values, and with its second argument for everything that is false. */
static struct jval filter_default(struct jcall *c) {
    bool falsy = jcall_bool(c, 1, false) && !jval_true(c->self);
    if (c->self.kind != JVAL_UNDEFINED && !falsy) return c->self;
    return c->a[0].kind == JVAL_ABSENT ? jval_text(c->m, "", true) : c->a[0];
}

/* Unlike the method it takes anything and makes it text first. */
static struct jval filter_replace(struct jcall *c) {
    struct jval old = jval_to_str(c->m, c->a[0]), new = jval_to_str(c->m, c->a[1]);
    return jstr_replace(c->m, self_text(c).s, old.s, new.s, jcall_int(c, 2, -1));
}

static struct jval filter_abs(struct jcall *c) {
    if (!jval_is_num(c->self)) {
        jmem_fail(c->m, GLIM_ARG, "bad operand type for abs(): '%s'", jval_type(c->self));
        return jval_undefined();
    }
    if (c->self.kind == JVAL_FLOAT) return jval_float(fabs(c->self.f));
    i64 i = c->self.kind == JVAL_BOOL ? c->self.b : c->self.i;
    return i < 0 ? jinja_math(c->m, JOP_SUB, jval_int(0), jval_int(i)) : jval_int(i);
}

/* Python's float(): of numbers, and of text that is one. */
static bool text_number(struct jcall *c, f64 *f) {
    char text[80], *end;
    if (jval_is_num(c->self)) *f = jval_number(c->self);
    if (jval_is_num(c->self)) return true;
    if (c->self.kind != JVAL_STR) return false;
    struct jval s = jstr_strip(c->m, c->self.s, NULL, true, true);
    if (s.s->t.n == 0 || s.s->t.n >= sizeof text || memchr(s.s->t.p, 'x', s.s->t.n)) return false;
    memcpy(text, s.s->t.p, s.s->t.n);
    text[s.s->t.n] = 0;
    *f = strtod(text, &end);
    return *end == 0;
}

/* What is no number gives the default, but an undefined value is an error. */
static struct jval filter_float(struct jcall *c) {
    struct jval otherwise = c->a[0].kind == JVAL_ABSENT ? jval_float(0) : c->a[0];
    f64 f;
    if (c->self.kind == JVAL_UNDEFINED) jmem_fail(c->m, GLIM_ARG, "float of an undefined value");
    return text_number(c, &f) ? jval_float(f) : otherwise;
}

static struct jval filter_int(struct jcall *c) {
    char text[80], *end;
    struct jval otherwise = c->a[0].kind == JVAL_ABSENT ? jval_int(0) : c->a[0];
    i64 base = jcall_int(c, 1, 10);
    if (c->self.kind == JVAL_UNDEFINED) jmem_fail(c->m, GLIM_ARG, "int of an undefined value");
    if (c->self.kind == JVAL_INT) return c->self;
    if (c->self.kind == JVAL_BOOL) return jval_int(c->self.b);
    if (c->self.kind == JVAL_FLOAT) {
        if (!(fabs(c->self.f) < 9e18)) return otherwise;
        return jval_int((i64)c->self.f);
    }
    if (c->self.kind != JVAL_STR || base < 2 || base > 36) return otherwise;
    struct jval s = jstr_strip(c->m, c->self.s, NULL, true, true);
    if (s.s->t.n == 0 || s.s->t.n >= sizeof text) return otherwise;
    memcpy(text, s.s->t.p, s.s->t.n);
    text[s.s->t.n] = 0;
    errno = 0;
    i64 i = strtoll(text, &end, (int)base);
    if (*end == 0 && !errno) return jval_int(i);
    f64 f = strtod(text, &end); /* int("1.5") falls back on int(float("1.5")) */
    return *end || !(fabs(f) < 9e18) ? otherwise : jval_int((i64)f);
}

/* Without a method halves go to the even neighbour of the exact value. */
static struct jval filter_round(struct jcall *c) {
    i64 digits = MAX(-300, MIN(jcall_int(c, 0, 0), 300));
    const struct jstr *method = jcall_str(c, 1);
    if (!jval_is_num(c->self)) {
        jmem_fail(c->m, GLIM_ARG, "round of %s", jval_type(c->self));
        return jval_undefined();
    }
    f64 v = jval_number(c->self), scale = pow(10, (f64)digits);
    if (method && str_is(method->t, "ceil")) return jval_float(ceil(v * scale) / scale);
    if (method && str_is(method->t, "floor")) return jval_float(floor(v * scale) / scale);
    if (c->self.kind == JVAL_INT && digits >= 0) return c->self;
    if (digits < 0) return jval_float(nearbyint(v * scale) / scale);
    /* Python rounds the decimal digits of the exact value, which is what printing them does. */
    char text[700];
    snprintf(text, sizeof text, "%.*f", (int)digits, v);
    return jval_float(strtod(text, NULL));
}

static struct jval filter_length(struct jcall *c) {
    i64 n = jval_len(c->self);
    if (n < 0) jmem_fail(c->m, GLIM_ARG, "object of type '%s' has no len()", jval_type(c->self));
    return jval_int(n);
}

static void put_escaped(struct jmem *m, struct jbuf *b, const struct jstr *s) {
    static const char *const table[][2] = {
        {"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"'", "&#39;"}, {"\"", "&#34;"}};
    for (size_t i = 0; i < s->t.n && !m->rc; i++) {
        const char *to = NULL;
        for (u32 k = 0; k < COUNT(table); k++) {
            if (s->t.p[i] == table[k][0][0]) to = table[k][1];
        }
        jbuf_like(m, b, to ? to : s->t.p + i, to ? strlen(to) : 1, s, i);
    }
}

static struct jval filter_escape(struct jcall *c) {
    struct jbuf b = {0};
    put_escaped(c->m, &b, self_text(c).s);
    return jbuf_done(c->m, &b);
}

/* A dictionary as attributes, a blank in front unless told otherwise. */
static struct jval filter_xmlattr(struct jcall *c) {
    struct jbuf b = {0};
    bool lead = jcall_bool(c, 0, true);
    if (c->self.kind != JVAL_DICT) jmem_fail(c->m, GLIM_ARG, "xmlattr of %s", jval_type(c->self));
    for (u64 i = 0; !c->m->rc && i < c->self.d->n; i++) {
        struct jval v = c->self.d->val[i], key = c->self.d->key[i];
        if (v.kind == JVAL_NONE || v.kind == JVAL_UNDEFINED) continue;
        if (key.kind != JVAL_STR) {
            jmem_fail(c->m, GLIM_ARG, "xmlattr: a name is %s, not text", jval_type(key));
            break;
        }
        for (size_t k = 0; k < key.s->t.n; k++) {
            if (key.s->t.p[k] && strchr(" \t\n\r\f\v/>=", key.s->t.p[k]))
                jmem_fail(c->m, GLIM_ARG, "xmlattr: a name has a character that ends it");
        }
        if (lead || b.n) jbuf_put(c->m, &b, " ", 1, true);
        put_escaped(c->m, &b, key.s);
        jbuf_put(c->m, &b, "=\"", 2, true);
        put_escaped(c->m, &b, jval_to_str(c->m, v).s);
        jbuf_put(c->m, &b, "\"", 1, true);
    }
    return jbuf_done(c->m, &b);
}

/* 13 kB, 4.1 MB; with its argument in steps of 1024. */
static struct jval filter_filesizeformat(struct jcall *c) {
    static const char prefixes[] = "kMGTPEZY";
    bool binary = jcall_bool(c, 0, false);
    f64 bytes, base = binary ? 1024 : 1000;
    long double unit = (long double)base; /* Python's is a whole number of any size */
    char text[400];
    if (!text_number(c, &bytes) || (isinf(bytes) && bytes < 0)) {
        jmem_fail(c->m, GLIM_ARG, "filesizeformat: no number but %s", jval_type(c->self));
        return jval_undefined();
    }
    if (bytes == 1) return jval_text(c->m, "1 Byte", true);
    if (bytes < base) {
        snprintf(text, sizeof text, "%.0f Bytes", trunc(bytes) + 0.0); /* no -0 */
        return jval_text(c->m, text, true);
    }
    u32 i = 0;
    for (unit *= (long double)base; !((long double)bytes < unit) && prefixes[i + 1]; i++)
        unit *= (long double)base;
    snprintf(text, sizeof text, "%.1f %c%s", base * bytes / (f64)unit,
             binary && i == 0 ? 'K' : prefixes[i], binary ? "iB" : "B");
    return jval_text(c->m, text, true);
}

/* The first line stays where it is, and so do empty ones, unless told otherwise. */
static struct jval filter_indent(struct jcall *c) {
    struct jbuf b = {0}, pad = {0};
    const struct jstr *s = self_text(c).s;
    bool first = jcall_bool(c, 1, false), blank = jcall_bool(c, 2, false);
    if (c->a[0].kind == JVAL_STR)
        jbuf_str(c->m, &pad, c->a[0].s);
    else
        for (i64 i = MIN(jcall_int(c, 0, 4), 10000); i > 0; i--)
            jbuf_put(c->m, &pad, " ", 1, true);
    struct jval indent = jbuf_done(c->m, &pad);
    for (size_t at = 0; at <= s->t.n && !c->m->rc;) {
        const char *stop = memchr(s->t.p + at, '\n', s->t.n - at);
        size_t n = stop ? (size_t)(stop - s->t.p) - at : s->t.n - at;
        if (at == 0 ? first : n || blank) jbuf_str(c->m, &b, indent.s);
        jbuf_str(c->m, &b, jval_part(c->m, s, at, n).s);
        if (!stop) break;
        jbuf_like(c->m, &b, "\n", 1, s, at + n);
        at += n + 1;
    }
    return jbuf_done(c->m, &b);
}

static struct jval filter_center(struct jcall *c) {
    struct jbuf b = {0};
    struct jval s = self_text(c);
    i64 n = jval_len(s), pad = MIN(jcall_int(c, 0, 80), 100000) - n;
    /* Python's str.center: an odd blank goes left where the width is odd. */
    i64 left = pad / 2 + (pad & (n + pad) & 1);
    for (i64 i = 0; i < pad; i++) {
        if (i == left) jbuf_str(c->m, &b, s.s);
        jbuf_put(c->m, &b, " ", 1, true);
    }
    if (pad <= 0 || left == pad) jbuf_str(c->m, &b, s.s);
    return jbuf_done(c->m, &b);
}

/* Whole words unless told otherwise, and nothing where only a little would go. */
static struct jval filter_truncate(struct jcall *c) {
    struct jval s = self_text(c);
    i64 length = jcall_int(c, 0, 255), leeway = jcall_int(c, 3, 5), n = jval_len(s);
    bool kill = jcall_bool(c, 1, false);
    struct jval end = c->a[2].kind == JVAL_STR ? c->a[2] : jval_text(c->m, "...", true);
    if (length < jval_len(end))
        jmem_fail(c->m, GLIM_ARG, "truncate: length %lld is too small", (long long)length);
    if (c->m->rc || n <= length + leeway) return s;
    struct jval cut =
        jinja_slice(c->x, s, jval_none(), jval_int(length - jval_len(end)), jval_none());
    size_t bytes = cut.kind == JVAL_STR ? cut.s->t.n : 0;
    if (!kill && bytes) {
        const char *blank = memrchr(cut.s->t.p, ' ', bytes);
        if (blank) bytes = (size_t)(blank - cut.s->t.p);
    }
    struct jbuf b = {0};
    if (bytes) jbuf_str(c->m, &b, jval_part(c->m, cut.s, 0, bytes).s);
    jbuf_str(c->m, &b, end.s);
    return jbuf_done(c->m, &b);
}

/* Words of a regular expression: letters, digits and underscores. */
static struct jval filter_wordcount(struct jcall *c) {
    const struct jstr *s = self_text(c).s;
    i64 count = 0;
    bool in_word = false;
    for (size_t i = 0; i < s->t.n;) {
        struct unicode_char ch = unicode_read(s->t.p + i, s->t.n - i);
        bool word = ch.code == '_' || unicode_flags(ch.code) & (UNICODE_LETTER | UNICODE_NUMBER);
        count += word && !in_word;
        in_word = word;
        i += ch.len;
    }
    return jval_int(count);
}

static struct jval filter_format(struct jcall *c) {
    struct jval args = jval_list(c->m, JLIST_TUPLE);
    for (u32 i = 0; i < c->n_pos; i++)
        jlist_push(c->m, args.l, c->pos[i]);
    if (c->n_key) jmem_fail(c->m, GLIM_ARG, "format by names is not supported");
    return c->m->rc ? args : jinja_format(c->m, self_text(c).s, args);
}

static struct jval filter_attr(struct jcall *c) {
    struct jval name = jval_to_str(c->m, c->a[0]);
    /* Only what Python would call an attribute: not the keys of a dictionary. */
    if (c->self.kind == JVAL_DICT) return jval_missing(c->m, name.s->t);
    return jinja_attr(c->x, c->self, name.s->t);
}

static struct jval filter_urlencode(struct jcall *c) {
    struct jbuf b = {0};
    const struct jstr *s = self_text(c).s;
    for (size_t i = 0; i < s->t.n && !c->m->rc; i++) {
        static const char hex[] = "0123456789ABCDEF";
        u8 byte = (u8)s->t.p[i];
        bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                     (byte >= 'a' && byte <= 'z') || (byte && strchr("_.-~/", byte));
        char coded[3] = {'%', hex[byte >> 4], hex[byte & 15]};
        jbuf_like(c->m, &b, plain ? s->t.p + i : coded, plain ? 1 : 3, s, i);
    }
    return jbuf_done(c->m, &b);
}

/* As chat templates have it: json.dumps, not Jinja's own, which is for HTML. */
static struct jval filter_tojson(struct jcall *c) {
    struct jval indent = c->a[1];
    const struct jstr *between = NULL, *colon = NULL;
    if (c->a[2].kind == JVAL_LIST && c->a[2].l->n == 2 && c->a[2].l->v[0].kind == JVAL_STR &&
        c->a[2].l->v[1].kind == JVAL_STR) {
        between = c->a[2].l->v[0].s;
        colon = c->a[2].l->v[1].s;
    } else if (c->a[2].kind != JVAL_ABSENT && c->a[2].kind != JVAL_NONE) {
        jmem_fail(c->m, GLIM_ARG, "tojson: separators must be two texts");
    }
    if (indent.kind == JVAL_INT || indent.kind == JVAL_BOOL) {
        struct jbuf b = {0};
        for (i64 i = MIN(jcall_int(c, 1, 0), 100); i > 0; i--)
            jbuf_put(c->m, &b, " ", 1, true);
        indent = jbuf_done(c->m, &b);
    }
    return json_dump(c->m, c->self, indent.kind == JVAL_STR ? indent.s : NULL,
                     jcall_bool(c, 0, false), jcall_bool(c, 3, false), between, colon);
}

static const struct jspec filters[] = {
    {"abs", filter_abs, ""},
    {"attr", filter_attr, "name"},
    {"capitalize", filter_capitalize, ""},
    {"center", filter_center, "width?"},
    {"count", filter_length, ""},
    {"d", filter_default, "default_value? boolean?"},
    {"default", filter_default, "default_value? boolean?"},
    {"e", filter_escape, ""},
    {"escape", filter_escape, ""},
    {"filesizeformat", filter_filesizeformat, "binary?"},
    {"float", filter_float, "default?"},
    {"forceescape", filter_escape, ""},
    {"format", filter_format, NULL},
    {"indent", filter_indent, "width? first? blank?"},
    {"int", filter_int, "default? base?"},
    {"length", filter_length, ""},
    {"lower", filter_lower, ""},
    {"replace", filter_replace, "old new count?"},
    {"round", filter_round, "precision? method?"},
    {"safe", filter_string, ""},
    {"string", filter_string, ""},
    {"title", filter_title, ""},
    {"tojson", filter_tojson, "ensure_ascii? indent? separators? sort_keys?"},
    {"trim", filter_trim, "chars?"},
    {"truncate", filter_truncate, "length? killwords? end? leeway?"},
    {"upper", filter_upper, ""},
    {"urlencode", filter_urlencode, ""},
    {"wordcount", filter_wordcount, ""},
    {"wordwrap", filter_wordwrap, "width? break_long_words? wrapstring? break_on_hyphens?"},
    {"xmlattr", filter_xmlattr, "autospace?"},
};

const struct jspec *jspec_filter(struct str name) {
    for (size_t i = 0; i < COUNT(filters); i++) {
        if (str_is(name, filters[i].name)) return &filters[i];
    }
    return jspec_seq_filter(name);
}
