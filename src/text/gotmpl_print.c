/* Values of Go templates as text: fmt's %v, and encoding/json. What values say keeps its marks;
 * what stands around it is the template's. */
#include "text/gotmpl_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/unicode.h"

/* The two differ in where the exponent begins, and in how many digits it has at least. */
u32 gput_float(f64 f, char style, char out[48]) {
    if (isnan(f) || isinf(f))
        return (u32)snprintf(out, 48, "%s", isnan(f) ? "NaN" : f < 0 ? "-Inf" : "+Inf");
    char digits[40];
    int head, exponent, precision = jbuf_digits(f, digits, &head, &exponent);
    int low = style == 'j' ? -6 : -4, high = style == 'j' ? 20 : 5;
    if (f == 0 || (exponent >= low && exponent <= high))
        return (u32)snprintf(out, 48, "%.*f", f == 0 ? 0 : MAX(0, precision - exponent), f);
    return (u32)snprintf(out, 48, "%.*se%c%0*d", head, digits, exponent < 0 ? '-' : '+',
                         style == 'j' ? 1 : 2, abs(exponent));
}

static void gput(struct jmem *m, struct jbuf *b, const char *text) {
    jbuf_puts(m, b, text, true);
}

/* Counts a level of nesting; false: too many. */
static bool gput_enter(struct jmem *m) {
    if (!jmem_step(m, 1)) return false;
    if (m->depth >= JMEM_DEPTH) return jmem_fail(m, GLIM_ARG, "a value is nested too deeply");
    m->depth++;
    return true;
}

/* ---- fmt ------------------------------------------------------------------------------------- */

static void put_inner(struct jmem *m, struct jbuf *b, struct gval v);

static void put_struct(struct jmem *m, struct jbuf *b, struct gval v) {
    gput(m, b, "{");
    for (u32 i = 0; i < v.type->n_field && !m->rc; i++) {
        if (i) gput(m, b, " ");
        put_inner(m, b, gval_of(v.type->field[i].type, v.v.l->v[i]));
    }
    gput(m, b, "}");
}

static void put_map(struct jmem *m, struct jbuf *b, struct gval v) {
    const struct jdict *d = v.v.kind == JVAL_DICT ? v.v.d : NULL;
    u32 *order = d ? gmap_order(m, d) : NULL;
    gput(m, b, "map[");
    for (u64 i = 0; d && i < d->n && !m->rc; i++) {
        if (i) gput(m, b, " ");
        jbuf_value(m, b, d->key[order[i]]);
        gput(m, b, ":");
        put_inner(m, b, gval_of(v.type->elem, d->val[order[i]]));
    }
    gput(m, b, "]");
}

static void gput_list(struct jmem *m, struct jbuf *b, struct gval v) {
    u64 n = v.v.kind == JVAL_LIST ? v.v.l->n : 0;
    gput(m, b, "[");
    for (u64 i = 0; i < n && !m->rc; i++) {
        if (i) gput(m, b, " ");
        put_inner(m, b, gval_of(v.type->elem, v.v.l->v[i]));
    }
    gput(m, b, "]");
}

/* One type is itself, several are a list. */
static void put_types(struct jmem *m, struct jbuf *b, struct gval v) {
    u64 n = v.v.kind == JVAL_LIST ? v.v.l->n : 0;
    if (n == 1)
        jbuf_value(m, b, v.v.l->v[0]);
    else if (n > 1)
        gput_list(m, b, v);
}

static void put_any(struct jmem *m, struct jbuf *b, struct gval v) {
    char text[48];
    switch (v.type->kind) {
    case GKIND_BOOL:
        gput(m, b, v.v.b ? "true" : "false");
        break;
    case GKIND_INT:
        snprintf(text, sizeof text, "%lld", (long long)v.v.i);
        gput(m, b, text);
        break;
    case GKIND_FLOAT:
        jbuf_put(m, b, text, gput_float(v.v.f, 'g', text), true);
        break;
    case GKIND_STR:
        jbuf_value(m, b, v.v);
        break;
    case GKIND_LIST:
        gput_list(m, b, v);
        break;
    case GKIND_MAP:
        put_map(m, b, v);
        break;
    case GKIND_STRUCT:
        put_struct(m, b, v);
        break;
    default:
        jmem_fail(m, GLIM_ARG, "a value of type %s has no text", v.type->name);
    }
}

/* Go writes addresses of structs that others point to: nobody can mean that. */
static void put_inner(struct jmem *m, struct jbuf *b, struct gval v) {
    if (v.type && v.type->pointer && v.v.kind != JVAL_NONE)
        jmem_fail(m, GLIM_ARG, "a list of messages has no text; range over it, or use json");
    else
        gput_value(m, b, v);
}

void gput_value(struct jmem *m, struct jbuf *b, struct gval v) {
    if (!gput_enter(m)) return;
    bool nil = !v.type ||
               (v.v.kind == JVAL_NONE && v.type->kind != GKIND_LIST && v.type->kind != GKIND_MAP);
    if (nil)
        gput(m, b, "<nil>");
    else if (v.type->show == GSHOW_TYPES)
        put_types(m, b, v);
    else if (v.type->show == GSHOW_JSON && v.v.kind == JVAL_NONE && v.type->kind == GKIND_MAP)
        gput(m, b, "{}");
    else if (v.type->show == GSHOW_JSON)
        gput_json(m, b, v);
    else
        put_any(m, b, v);
    m->depth--;
}

void gput_argument(struct jmem *m, struct jbuf *b, struct gval v) {
    if (v.type && v.type->pointer && v.v.kind != JVAL_NONE) gput(m, b, "&");
    gput_value(m, b, gval_plain(v));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* What stands for a character: as HTML is safe with it; text[0] 0: itself. */
static void escape(struct unicode_char c, char text[16]) {
    static const char plain[] = "\b\f\n\r\t\"\\", letter[] = "bfnrt\"\\";
    const char *named = c.code && c.code < 0x80 ? strchr(plain, (int)c.code) : NULL;
    text[0] = 0;
    if (c.state != UNICODE_WHOLE)
        snprintf(text, 16, "\\ufffd");
    else if (named)
        snprintf(text, 16, "\\%c", letter[named - plain]);
    else if (c.code < 0x20 || c.code == '<' || c.code == '>' || c.code == '&' || c.code == 0x2028 ||
             c.code == 0x2029)
        snprintf(text, 16, "\\u%04x", c.code);
}

static void gput_json_text(struct jmem *m, struct jbuf *b, const struct jstr *s) {
    char text[16];
    size_t from = 0, i = 0; /* what is plain goes out in one piece */
    gput(m, b, "\"");
    while (i < s->t.n && !m->rc) {
        struct unicode_char c = unicode_read(s->t.p + i, s->t.n - i);
        escape(c, text);
        if (text[0]) {
            jbuf_str(m, b, jval_part(m, s, from, i - from).s);
            jbuf_like(m, b, text, strlen(text), s, i);
            from = i + c.len;
        }
        i += c.len;
    }
    if (!m->rc) jbuf_str(m, b, jval_part(m, s, from, s->t.n - from).s);
    gput(m, b, "\"");
}

static void json_map(struct jmem *m, struct jbuf *b, struct gval v) {
    const struct jdict *d = v.v.d;
    u32 *order = v.type->ordered ? NULL : gmap_order(m, d);
    gput(m, b, "{");
    for (u64 i = 0; i < d->n && !m->rc; i++) {
        u64 at = order ? order[i] : i;
        if (i) gput(m, b, ",");
        gput_json_text(m, b, d->key[at].s);
        gput(m, b, ":");
        gput_json(m, b, gval_of(v.type->elem, d->val[at]));
    }
    gput(m, b, "}");
}

static void gput_json_list(struct jmem *m, struct jbuf *b, struct gval v) {
    gput(m, b, "[");
    for (u64 i = 0; i < v.v.l->n && !m->rc; i++) {
        if (i) gput(m, b, ",");
        gput_json(m, b, gval_of(v.type->elem, v.v.l->v[i]));
    }
    gput(m, b, "]");
}

/* What omitempty leaves out. */
static bool is_empty(struct jval v) {
    return v.kind == JVAL_NONE || (v.kind == JVAL_STR && v.s->t.n == 0) ||
           (v.kind == JVAL_LIST && v.l->n == 0);
}

static void json_struct(struct jmem *m, struct jbuf *b, struct gval v) {
    bool first = true;
    gput(m, b, "{");
    for (u32 i = 0; i < v.type->n_field && !m->rc; i++) {
        const struct gfield *f = &v.type->field[i];
        struct jval x = v.v.l->v[i];
        if (f->omit && is_empty(x) && !(f->type->kind == GKIND_ANY && x.kind != JVAL_NONE))
            continue;
        gput(m, b, first ? "\"" : ",\"");
        gput(m, b, f->json ? f->json : f->name);
        gput(m, b, "\":");
        gput_json(m, b, gval_of(f->type, x));
        first = false;
    }
    gput(m, b, "}");
}

void gput_json(struct jmem *m, struct jbuf *b, struct gval v) {
    char text[48];
    if (!gput_enter(m)) return;
    if (gval_is_nil(v)) {
        gput(m, b, "null");
    } else if (v.type->show == GSHOW_TYPES && v.v.l->n == 1) {
        gput_json_text(m, b, v.v.l->v[0].s);
    } else if (v.v.kind == JVAL_STR) {
        gput_json_text(m, b, v.v.s);
    } else if (v.v.kind == JVAL_FLOAT) {
        if (isnan(v.v.f) || isinf(v.v.f))
            jmem_fail(m, GLIM_ARG, "JSON has no number that is not finite");
        jbuf_put(m, b, text, gput_float(v.v.f, 'j', text), true);
    } else if (v.v.kind == JVAL_DICT) {
        json_map(m, b, v);
    } else if (v.type->kind == GKIND_STRUCT) {
        json_struct(m, b, v);
    } else if (v.v.kind == JVAL_LIST && v.type->kind == GKIND_LIST) {
        gput_json_list(m, b, v);
    } else {
        put_any(m, b, v); /* true, false, int */
    }
    m->depth--;
}

struct gval gval_json(struct jmem *m, struct gval v) {
    struct jbuf b = {0};
    gput_json(m, &b, v);
    return gval_str(jbuf_done(m, &b));
}

/* ---- TypeScript ------------------------------------------------------------------------------ */

static const char *typescript_of(struct str type) {
    static const char *const names[][2] = {{"string", "string"},  {"number", "number"},
                                           {"integer", "number"}, {"boolean", "boolean"},
                                           {"array", "any[]"},    {"object", "Record<string, any>"},
                                           {"null", "null"}};
    for (size_t i = 0; i < COUNT(names); i++) {
        if (str_is(type, names[i][0])) return names[i][1];
    }
    return "any";
}

/* The places of anyOf and type are those of gtype_property. */
void gput_typescript(struct jmem *m, struct jbuf *b, struct gval v) {
    if (!gput_enter(m)) return;
    if (v.type != &gtype_property || v.v.kind != JVAL_LIST) {
        gput(m, b, "any");
        m->depth--;
        return;
    }
    struct jval either = v.v.l->v[0], types = v.v.l->v[1];
    u64 n_either = either.kind == JVAL_LIST ? either.l->n : 0;
    u64 n = n_either || types.kind != JVAL_LIST ? n_either : types.l->n;
    for (u64 i = 0; i < n && !m->rc; i++) {
        if (i) gput(m, b, " | ");
        if (n_either)
            gput_typescript(m, b, (struct gval){&gtype_property, either.l->v[i]});
        else
            gput(m, b, typescript_of(types.l->v[i].s->t));
    }
    if (n == 0) gput(m, b, "any");
    m->depth--;
}
