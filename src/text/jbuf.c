/* Text being put together. */
#include "text/jbuf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/unicode.h"

/* Doubling: what is left behind is at most as much as the text. */
static bool jbuf_room(struct jmem *m, struct jbuf *b, size_t n) {
    if (m->rc) return false;
    if (n <= b->cap - b->n) return true;
    size_t cap = MAX(64u, 2 * (b->n + n));
    char *p = jmem_get(m, cap, 1);
    u8 *marks = b->marks ? jmem_get(m, cap, 1) : NULL;
    if (m->rc) return false;
    if (b->n) memcpy(p, b->p, b->n);
    if (b->n && marks) memcpy(marks, b->marks, b->n);
    b->p = p;
    b->marks = marks;
    b->cap = cap;
    return true;
}

/* From here on every byte has its mark. */
static bool jbuf_mixed(struct jmem *m, struct jbuf *b) {
    if (b->marks) return true;
    b->marks = jmem_get(m, b->cap, 1);
    if (!b->marks) return false;
    memset(b->marks, b->ours, b->n);
    return true;
}

void jbuf_put(struct jmem *m, struct jbuf *b, const char *p, size_t n, bool ours) {
    if (n == 0 || !jbuf_room(m, b, n) || !jmem_step(m, n / 64)) return;
    if (b->n == 0) b->ours = ours;
    if (ours != b->ours && !jbuf_mixed(m, b)) return;
    memcpy(b->p + b->n, p, n);
    if (b->marks) memset(b->marks + b->n, ours, n);
    b->n += n;
}

void jbuf_puts(struct jmem *m, struct jbuf *b, const char *text, bool ours) {
    jbuf_put(m, b, text, strlen(text), ours);
}

/* Marks are copied along with the bytes. */
void jbuf_str(struct jmem *m, struct jbuf *b, const struct jstr *s) {
    if (!s->marks) {
        jbuf_put(m, b, s->t.p, s->t.n, s->ours);
        return;
    }
    if (s->t.n == 0 || !jbuf_room(m, b, s->t.n) || !jbuf_mixed(m, b) || !jmem_step(m, s->t.n / 64))
        return;
    memcpy(b->p + b->n, s->t.p, s->t.n);
    memcpy(b->marks + b->n, s->marks, s->t.n);
    b->n += s->t.n;
}

void jbuf_like(struct jmem *m, struct jbuf *b, const char *p, size_t n, const struct jstr *s,
               size_t i) {
    jbuf_put(m, b, p, n, jstr_mark(s, i));
}

struct jval jbuf_done(struct jmem *m, struct jbuf *b) {
    struct jstr *s = jmem_get(m, 1, sizeof *s);
    if (!s) return jval_of_str(NULL);
    *s = (struct jstr){{b->n ? b->p : "", b->n}, b->n ? b->marks : NULL, b->n == 0 || b->ours};
    return jval_of_str(s);
}

/* ---- Values as text -------------------------------------------------------------------------- */

int jbuf_digits(f64 f, char digits[40], int *head, int *exponent) {
    int precision = 0;
    do
        snprintf(digits, 40, "%.*e", precision, f);
    while (precision++ < 17 && strtod(digits, NULL) != f);
    const char *e = strchr(digits, 'e');
    *head = (int)(e - digits);
    *exponent = atoi(e + 1);
    return precision - 1;
}

u32 jbuf_float(f64 f, char out[40]) {
    if (isnan(f) || isinf(f))
        return (u32)snprintf(out, 40, "%s", isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
    char digits[40];
    int head, exponent, precision = jbuf_digits(f, digits, &head, &exponent);
    if (exponent < -4 || exponent >= 16) {
        return (u32)snprintf(out, 40, "%.*se%c%02d", head, digits, exponent < 0 ? '-' : '+',
                             abs(exponent));
    }
    return (u32)snprintf(out, 40, "%.*f", MAX(1, precision - exponent), f);
}

bool jstr_is_space(u32 code) {
    return (code >= 0x1c && code <= 0x1f) ||
           (code != UNICODE_BAD && unicode_flags(code) & UNICODE_SPACE);
}

/* Whether repr() shows the character as it is. */
static bool is_shown(u32 code) {
    if (code < 0x80) return code >= 0x20 && code != 0x7f;
    u32 flags = unicode_flags(code);
    return flags && !(flags & UNICODE_SPACE);
}

/* Python prefers single quotes, unless the text has some and no double ones. */
static void put_quoted(struct jmem *m, struct jbuf *b, const struct jstr *s) {
    bool single = memchr(s->t.p, '\'', s->t.n) && !memchr(s->t.p, '"', s->t.n);
    char quote = single ? '"' : '\'';
    jbuf_put(m, b, &quote, 1, true);
    for (size_t i = 0; i < s->t.n && !m->rc;) {
        struct unicode_char c = unicode_read(s->t.p + i, s->t.n - i);
        char text[16];
        if (c.code == '\n' || c.code == '\t' || c.code == '\r')
            snprintf(text, sizeof text, "\\%c", c.code == '\n' ? 'n' : c.code == '\t' ? 't' : 'r');
        else if (c.code == '\\' || c.code == (u8)quote)
            snprintf(text, sizeof text, "\\%c", (char)c.code);
        else if (c.state != UNICODE_WHOLE || is_shown(c.code))
            text[0] = 0;
        else
            snprintf(text, sizeof text,
                     c.code < 0x100     ? "\\x%02x"
                     : c.code < 0x10000 ? "\\u%04x"
                                        : "\\U%08x",
                     c.code);
        if (text[0])
            jbuf_like(m, b, text, strlen(text), s, i);
        else
            jbuf_like(m, b, s->t.p + i, c.len, s, i);
        i += c.len;
    }
    jbuf_put(m, b, &quote, 1, true);
}

/* Views and tuples show what they are; of a generator Python shows an address, which no template
 * can mean to print. */
static void put_list(struct jmem *m, struct jbuf *b, const struct jlist *l) {
    static const char *const around[][2] = {
        [JLIST_LIST] = {"[", "]"},
        [JLIST_TUPLE] = {"(", ")"},
        [JLIST_LAZY] = {"<generator object>", ""},
        [JLIST_RANGE] = {"[", "]"},
        [JLIST_KEYS] = {"dict_keys([", "])"},
        [JLIST_VALUES] = {"dict_values([", "])"},
        [JLIST_ITEMS] = {"dict_items([", "])"},
    };
    jbuf_puts(m, b, around[l->flavour][0], true);
    for (u64 i = 0; i < l->n && l->flavour != JLIST_LAZY && !m->rc; i++) {
        if (i) jbuf_puts(m, b, ", ", true);
        jbuf_repr(m, b, l->v[i]);
    }
    if (l->flavour == JLIST_TUPLE && l->n == 1) jbuf_puts(m, b, ",", true);
    jbuf_puts(m, b, around[l->flavour][1], true);
}

static void put_dict(struct jmem *m, struct jbuf *b, const struct jdict *d) {
    jbuf_puts(m, b, "{", true);
    for (u64 i = 0; i < d->n && !m->rc; i++) {
        if (i) jbuf_puts(m, b, ", ", true);
        jbuf_repr(m, b, d->key[i]);
        jbuf_puts(m, b, ": ", true);
        jbuf_repr(m, b, d->val[i]);
    }
    jbuf_puts(m, b, "}", true);
}

void jbuf_repr(struct jmem *m, struct jbuf *b, struct jval v) {
    char text[40];
    if (!jmem_step(m, 1)) return;
    if (m->depth >= JMEM_DEPTH) {
        jmem_fail(m, GLIM_ARG, "a value is nested too deeply");
        return;
    }
    m->depth++;
    switch (v.kind) {
    case JVAL_UNDEFINED:
    case JVAL_ABSENT:
        jbuf_puts(m, b, "Undefined", true);
        break;
    case JVAL_NONE:
        jbuf_puts(m, b, "None", true);
        break;
    case JVAL_BOOL:
        jbuf_puts(m, b, v.b ? "True" : "False", true);
        break;
    case JVAL_INT:
        snprintf(text, sizeof text, "%lld", (long long)v.i);
        jbuf_puts(m, b, text, true);
        break;
    case JVAL_FLOAT:
        jbuf_put(m, b, text, jbuf_float(v.f, text), true);
        break;
    case JVAL_STR:
        put_quoted(m, b, v.s);
        break;
    case JVAL_LIST:
        put_list(m, b, v.l);
        break;
    case JVAL_DICT:
        put_dict(m, b, v.d);
        break;
    case JVAL_NAMESPACE:
        jbuf_puts(m, b, "<Namespace ", true);
        put_dict(m, b, v.d);
        jbuf_puts(m, b, ">", true);
        break;
    case JVAL_FUNCTION:
        jbuf_puts(m, b, "<function>", true);
        break;
    case JVAL_LOOP:
        jbuf_puts(m, b, "<LoopContext>", true);
        break;
    }
    m->depth--;
}

void jbuf_value(struct jmem *m, struct jbuf *b, struct jval v) {
    if (v.kind == JVAL_STR)
        jbuf_str(m, b, v.s);
    else if (v.kind != JVAL_UNDEFINED && v.kind != JVAL_ABSENT)
        jbuf_repr(m, b, v);
}

struct jval jval_to_str(struct jmem *m, struct jval v) {
    if (v.kind == JVAL_STR) return v;
    struct jbuf b = {0};
    jbuf_value(m, &b, v);
    return jbuf_done(m, &b);
}
