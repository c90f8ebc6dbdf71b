/* JSON: read into values, and written as Python's json.dumps does. */
#include "text/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/jinja_call.h"
#include "text/unicode.h"

/* ---- Writing --------------------------------------------------------------------------------- */

struct dump {
    struct jmem *m;
    struct jbuf b;
    const struct jstr *indent, *between, *colon; /* between, colon NULL: the usual ones */
    bool ascii, sorted;
    u32 level;
};

static void dump_value(struct dump *d, struct jval v);

static void dump_text(struct dump *d, const struct jstr *s) {
    char text[16];
    jbuf_put(d->m, &d->b, "\"", 1, true);
    size_t from = 0; /* what is plain goes out in one piece */
    for (size_t i = 0; i < s->t.n && !d->m->rc;) {
        struct unicode_char c = unicode_read(s->t.p + i, s->t.n - i);
        static const char plain[] = "\b\f\n\r\t\"\\", letter[] = "bfnrt\"\\";
        const char *named = c.code && c.code < 0x80 ? strchr(plain, (int)c.code) : NULL;
        text[0] = 0;
        if (named)
            snprintf(text, sizeof text, "\\%c", letter[named - plain]);
        else if (c.code < 0x20 || (d->ascii && c.code >= 0x7f && c.code < 0x10000))
            snprintf(text, sizeof text, "\\u%04x", c.code);
        else if (d->ascii && c.code >= 0x10000)
            snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xd7c0 + (c.code >> 10),
                     0xdc00 + (c.code & 0x3ff));
        if (text[0]) {
            jbuf_str(d->m, &d->b, jval_part(d->m, s, from, i - from).s);
            jbuf_like(d->m, &d->b, text, strlen(text), s, i);
            from = i + c.len;
        }
        i += c.len;
    }
    if (!d->m->rc) jbuf_str(d->m, &d->b, jval_part(d->m, s, from, s->t.n - from).s);
    jbuf_put(d->m, &d->b, "\"", 1, true);
}

/* Only with an indent are there lines; then commas lose their blank. */
static void dump_line(struct dump *d) {
    if (!d->indent) return;
    jbuf_puts(d->m, &d->b, "\n", true);
    for (u32 i = 0; i < d->level; i++)
        jbuf_str(d->m, &d->b, d->indent);
}

static void dump_between(struct dump *d) {
    if (d->between)
        jbuf_str(d->m, &d->b, d->between);
    else
        jbuf_puts(d->m, &d->b, d->indent ? "," : ", ", true);
    dump_line(d);
}

static void dump_list(struct dump *d, const struct jlist *l) {
    if (l->n == 0) {
        jbuf_puts(d->m, &d->b, "[]", true);
        return;
    }
    jbuf_puts(d->m, &d->b, "[", true);
    d->level++;
    dump_line(d);
    for (u64 i = 0; i < l->n && !d->m->rc; i++) {
        if (i) dump_between(d);
        dump_value(d, l->v[i]);
    }
    d->level--;
    dump_line(d);
    jbuf_puts(d->m, &d->b, "]", true);
}

/* Keys that are no text become it, as JSON wants: 1 is "1", true is "true". */
static void dump_key(struct dump *d, struct jval key) {
    if (key.kind == JVAL_STR) {
        dump_text(d, key.s);
    } else if (key.kind == JVAL_NONE || jval_is_num(key)) {
        jbuf_puts(d->m, &d->b, "\"", true);
        dump_value(d, key);
        jbuf_puts(d->m, &d->b, "\"", true);
    } else {
        jmem_fail(d->m, GLIM_ARG, "tojson: keys must be str, int, float, bool or None, not %s",
                  jval_type(key));
    }
}

/* The order of keys: places, sorted by insertion as dictionaries here are small. */
static u32 *dump_order(struct dump *d, const struct jdict *dict) {
    u32 *order = jmem_get(d->m, dict->n, sizeof *order);
    for (u64 i = 0; order && i < dict->n && !d->m->rc; i++) {
        u64 k = i;
        for (; d->sorted && k > 0 && jval_order(d->m, dict->key[order[k - 1]], dict->key[i]) > 0;
             k--)
            order[k] = order[k - 1];
        order[k] = (u32)i;
    }
    return order;
}

static void dump_dict(struct dump *d, const struct jdict *dict) {
    if (dict->n == 0) {
        jbuf_puts(d->m, &d->b, "{}", true);
        return;
    }
    u32 *order = dump_order(d, dict);
    jbuf_puts(d->m, &d->b, "{", true);
    d->level++;
    dump_line(d);
    for (u64 i = 0; i < dict->n && !d->m->rc; i++) {
        if (i) dump_between(d);
        dump_key(d, dict->key[order[i]]);
        if (d->colon)
            jbuf_str(d->m, &d->b, d->colon);
        else
            jbuf_puts(d->m, &d->b, ": ", true);
        dump_value(d, dict->val[order[i]]);
    }
    d->level--;
    dump_line(d);
    jbuf_puts(d->m, &d->b, "}", true);
}

/* Tuples are lists; what is made on demand cannot be written, nor can undefined values. */
static void dump_value(struct dump *d, struct jval v) {
    if (!jmem_step(d->m, 1)) return;
    bool list = v.kind == JVAL_LIST && v.l->flavour <= JLIST_TUPLE;
    if (v.kind == JVAL_STR)
        dump_text(d, v.s);
    else if (v.kind == JVAL_NONE)
        jbuf_puts(d->m, &d->b, "null", true);
    else if (v.kind == JVAL_BOOL)
        jbuf_puts(d->m, &d->b, v.b ? "true" : "false", true);
    else if (v.kind == JVAL_FLOAT && (isnan(v.f) || isinf(v.f)))
        jbuf_puts(d->m, &d->b, isnan(v.f) ? "NaN" : v.f < 0 ? "-Infinity" : "Infinity", true);
    else if (v.kind == JVAL_INT || v.kind == JVAL_FLOAT)
        jbuf_repr(d->m, &d->b, v);
    else if (list)
        dump_list(d, v.l);
    else if (v.kind == JVAL_DICT)
        dump_dict(d, v.d);
    else
        jmem_fail(d->m, GLIM_ARG, "Object of type %s is not JSON serializable", jval_type(v));
}

struct jval json_dump(struct jmem *m, struct jval v, const struct jstr *indent, bool ascii,
                      bool sorted, const struct jstr *between, const struct jstr *colon) {
    struct dump d = {.m = m,
                     .indent = indent,
                     .between = between,
                     .colon = colon,
                     .ascii = ascii,
                     .sorted = sorted};
    dump_value(&d, v);
    return jbuf_done(m, &d.b);
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct json_in {
    struct jmem *m;
    const char *p, *end;
    u32 depth;
};

static struct jval parse_value(struct json_in *in);

static struct jval json_wrong(struct json_in *in, const char *what) {
    jmem_fail(in->m, GLIM_FORMAT, "JSON: %s", what);
    return jval_undefined();
}

static void json_blank(struct json_in *in) {
    while (in->p < in->end && strchr(" \t\r\n", *in->p) && *in->p) {
        in->m->line += *in->p == '\n';
        in->p++;
    }
}

static bool json_eat(struct json_in *in, char c) {
    json_blank(in);
    if (in->p == in->end || *in->p != c) return false;
    in->p++;
    return true;
}

/* Four hexadecimal digits, or -1. */
static i32 json_unit(struct json_in *in) {
    i32 v = 0;
    for (u32 i = 0; i < 4; i++, in->p++) {
        char c = in->p < in->end ? *in->p : 0;
        i32 d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0) return -1;
        v = v * 16 + d;
    }
    return v;
}

static void json_escape(struct json_in *in, struct jbuf *b) {
    static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    char c = in->p < in->end ? *in->p++ : 0, utf8[4];
    const char *at = c ? strchr(letters, c) : NULL;
    if (at) {
        jbuf_put(in->m, b, &bytes[at - letters], 1, false);
        return;
    }
    i32 code = c == 'u' ? json_unit(in) : -1;
    if (code >= 0xd800 && code < 0xdc00 && in->end - in->p >= 6 && in->p[0] == '\\' &&
        in->p[1] == 'u') {
        in->p += 2;
        i32 low = json_unit(in);
        code =
            low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : -1;
    }
    if (code < 0 || (code >= 0xd800 && code < 0xe000)) {
        json_wrong(in, "an escape that is no character");
        return;
    }
    jbuf_put(in->m, b, utf8, unicode_write((u32)code, utf8), false);
}

/* What is between escapes is taken in one piece. Nothing of it is the template's. */
static struct jval json_text(struct json_in *in) {
    struct jbuf b = {0};
    const char *from = in->p;
    while (in->p < in->end && *in->p != '"' && !in->m->rc) {
        struct unicode_char c = unicode_read(in->p, (size_t)(in->end - in->p));
        if (c.code < 0x20) return json_wrong(in, "a control character in a string");
        if (c.state != UNICODE_WHOLE) return json_wrong(in, "text that is not UTF-8");
        if (c.code != '\\') {
            in->p += c.len;
            continue;
        }
        jbuf_put(in->m, &b, from, (size_t)(in->p - from), false);
        in->p++;
        json_escape(in, &b);
        from = in->p;
    }
    if (in->m->rc) return jval_undefined();
    if (in->p == in->end) return json_wrong(in, "a string has no end");
    jbuf_put(in->m, &b, from, (size_t)(in->p - from), false);
    in->p++;
    struct jval v = jbuf_done(in->m, &b);
    return v.s->t.n ? v : jval_str(in->m, (struct str){"", 0}, false);
}

/* JSON allows no leading zeros and no bare point; strtod would. */
static struct jval json_number(struct json_in *in) {
    char text[64], *end;
    size_t n = 0;
    bool whole = true;
    const char *p = in->p;
    while (p < in->end && *p && strchr("+-0123456789.eE", *p)) {
        if (n + 1 == sizeof text) return json_wrong(in, "a number of too many digits");
        whole &= !strchr(".eE", *p);
        text[n++] = *p++;
    }
    text[n] = 0;
    const char *digits = text + (text[0] == '-');
    bool zeros = digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
    if (digits[0] < '0' || digits[0] > '9' || zeros || text[n - 1] == '.')
        return json_wrong(in,
                          in->p < in->end ? "something that is no value" : "a value is missing");
    in->p = p;
    errno = 0;
    if (whole) {
        i64 i = strtoll(text, &end, 10);
        if (!errno && !*end) return jval_int(i);
    }
    f64 f = strtod(text, &end);
    return *end ? json_wrong(in, "something that is no number") : jval_float(f);
}

static struct jval json_list(struct json_in *in) {
    struct jval list = jval_list(in->m, JLIST_LIST);
    if (json_eat(in, ']')) return list;
    do {
        jlist_push(in->m, list.l, parse_value(in));
    } while (!in->m->rc && json_eat(in, ','));
    if (!json_eat(in, ']')) return json_wrong(in, "a ] is missing");
    return list;
}

/* A key that comes again replaces the value but keeps its place, as in Python. */
static struct jval json_dict(struct json_in *in) {
    struct jval dict = jval_dict(in->m);
    if (json_eat(in, '}')) return dict;
    do {
        if (!json_eat(in, '"')) return json_wrong(in, "a key is missing");
        struct jval key = json_text(in);
        if (!json_eat(in, ':')) return json_wrong(in, "a : is missing");
        struct jval v = parse_value(in);
        if (!in->m->rc) jdict_set(in->m, dict.d, key, v);
    } while (!in->m->rc && json_eat(in, ','));
    if (!json_eat(in, '}')) return json_wrong(in, "a } is missing");
    return dict;
}

/* The depth of content is bounded here, once for everything that walks it later. */
static struct jval parse_value(struct json_in *in) {
    static const struct {
        const char *word;
        struct jval v;
    } words[] = {{"true", {.kind = JVAL_BOOL, .b = true}},
                 {"false", {.kind = JVAL_BOOL, .b = false}},
                 {"null", {.kind = JVAL_NONE}}};
    struct jval v;
    json_blank(in);
    if (!jmem_step(in->m, 1)) return jval_undefined();
    for (u32 i = 0; i < COUNT(words); i++) {
        size_t n = strlen(words[i].word);
        if ((size_t)(in->end - in->p) < n || memcmp(in->p, words[i].word, n) != 0) continue;
        in->p += n;
        return words[i].v;
    }
    if (in->depth >= JVAL_DEEP - 1) return json_wrong(in, "nested too deeply");
    in->depth++;
    if (json_eat(in, '"'))
        v = json_text(in);
    else if (json_eat(in, '['))
        v = json_list(in);
    else if (json_eat(in, '{'))
        v = json_dict(in);
    else
        v = json_number(in);
    in->depth--;
    return v;
}

struct jval json_parse(struct jmem *m, struct str text) {
    struct json_in in = {m, text.p, text.p + text.n, 0};
    m->line = 1;
    struct jval v = parse_value(&in);
    json_blank(&in);
    if (!m->rc && in.p != in.end) return json_wrong(&in, "more behind the value");
    return m->rc ? jval_undefined() : v;
}
