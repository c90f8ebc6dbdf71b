/* The functions of Go templates, and those that Ollama adds. */
#include <stdio.h>
#include <string.h>

#include "text/gotmpl_node.h"
#include "text/jinja_call.h"

static struct gval gfun_refuse(struct grun *x, const char *why) {
    jmem_fail(x->m, GLIM_ARG, "%s", why);
    return gval_nil();
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static bool is_basic(struct gval v) {
    return v.type && (v.type->kind == GKIND_BOOL || v.type->kind == GKIND_INT ||
                      v.type->kind == GKIND_FLOAT || v.type->kind == GKIND_STR);
}

static bool incompatible(struct grun *x, struct gval a, struct gval b) {
    return jmem_fail(x->m, GLIM_ARG, "incompatible types for comparison: %s and %s", gval_type(a),
                     gval_type(b));
}

/* Other kinds can be compared with nil only, and messages for being the same one. */
static bool is_equal(struct grun *x, struct gval a, struct gval b) {
    a = gval_plain(a);
    b = gval_plain(b);
    if (is_basic(a) || is_basic(b)) {
        if (!a.type || !b.type) return false;
        if (a.type->kind != b.type->kind) return incompatible(x, a, b);
        return jval_equal(x->m, a.v, b.v);
    }
    if (a.type && b.type && a.type->kind != b.type->kind) return incompatible(x, a, b);
    if (gval_is_nil(a) || gval_is_nil(b)) return gval_is_nil(a) && gval_is_nil(b);
    if (a.type == b.type && a.type->pointer) return a.v.l == b.v.l;
    return jmem_fail(x->m, GLIM_ARG, "values of type %s cannot be compared", gval_type(b));
}

/* Equal to any of those behind it. */
static struct gval fun_eq(struct grun *x, const struct gval *arg, u32 n) {
    bool yes = false;
    for (u32 i = 1; i < n && !yes && !x->m->rc; i++)
        yes = is_equal(x, arg[0], arg[i]);
    return gval_bool(yes);
}

static struct gval fun_ne(struct grun *x, const struct gval *arg, u32 n) {
    (void)n;
    return gval_bool(!is_equal(x, arg[0], arg[1]));
}

/* -1, 0, 1; 2: neither, as with numbers that are none. */
static int gfun_order(struct grun *x, const struct gval *arg) {
    struct gval a = gval_plain(arg[0]), b = gval_plain(arg[1]);
    if (!is_basic(a) || !is_basic(b)) {
        gfun_refuse(x, "only numbers and texts have an order");
        return 2;
    }
    if (a.type->kind != b.type->kind) {
        incompatible(x, a, b);
        return 2;
    }
    if (a.type->kind == GKIND_BOOL) {
        gfun_refuse(x, "only numbers and texts have an order");
        return 2;
    }
    return jval_order(x->m, a.v, b.v);
}

static struct gval fun_lt(struct grun *x, const struct gval *arg, u32 n) {
    (void)n;
    return gval_bool(gfun_order(x, arg) == -1);
}
static struct gval fun_le(struct grun *x, const struct gval *arg, u32 n) {
    (void)n;
    return gval_bool(gfun_order(x, arg) <= 0);
}
static struct gval fun_gt(struct grun *x, const struct gval *arg, u32 n) {
    (void)n;
    return gval_bool(gfun_order(x, arg) == 1);
}
static struct gval fun_ge(struct grun *x, const struct gval *arg, u32 n) {
    int o = gfun_order(x, arg);
    (void)n;
    return gval_bool(o == 0 || o == 1);
}

static struct gval fun_not(struct grun *x, const struct gval *arg, u32 n) {
    (void)x, (void)n;
    return gval_bool(!gval_true(arg[0]));
}

/* ---- Parts ----------------------------------------------------------------------------------- */

/* Of text in bytes; -1: it has none. */
static i64 length_of(struct gval v) {
    if (!v.type) return -1;
    switch (v.type->kind) {
    case GKIND_STR:
        return (i64)v.v.s->t.n;
    case GKIND_LIST:
        return v.v.kind == JVAL_LIST ? (i64)v.v.l->n : 0;
    case GKIND_MAP:
        return v.v.kind == JVAL_DICT ? (i64)v.v.d->n : 0;
    default:
        return -1;
    }
}

static struct gval fun_len(struct grun *x, const struct gval *arg, u32 n) {
    i64 length = length_of(arg[0]);
    (void)n;
    if (length < 0) jmem_fail(x->m, GLIM_ARG, "len of a value of type %s", gval_type(arg[0]));
    return gval_int(length);
}

/* An index up to and with top, or -1 and a failure. */
static i64 gfun_place(struct grun *x, struct gval v, i64 top) {
    v = gval_plain(v);
    if (!v.type || v.type->kind != GKIND_INT) {
        jmem_fail(x->m, GLIM_ARG, "an index of type %s; int is due", gval_type(v));
        return -1;
    }
    if (v.v.i >= 0 && v.v.i <= top) return v.v.i;
    jmem_fail(x->m, GLIM_ARG, "index %lld is out of range", (long long)v.v.i);
    return -1;
}

static struct gval item_of(struct grun *x, struct gval v, struct gval key) {
    v = gval_plain(v);
    if (v.type && (v.type->kind == GKIND_MAP || v.type->kind == GKIND_ROOT)) {
        key = gval_plain(key);
        if (key.type && key.type->kind == GKIND_STR) return gval_field(x->m, v, key.v.s->t);
        jmem_fail(x->m, GLIM_ARG, "a map's key of type %s; string is due", gval_type(key));
        return gval_nil();
    }
    bool list = v.type && v.type->kind == GKIND_LIST, text = v.type && v.type->kind == GKIND_STR;
    if (!list && !text) {
        jmem_fail(x->m, GLIM_ARG, "index of a value of type %s", gval_type(v));
        return gval_nil();
    }
    i64 i = gfun_place(x, key, length_of(v) - 1);
    if (i < 0) return gval_nil();
    if (list) return gval_of(v.type->elem, v.v.l->v[i]);
    return (struct gval){&gtype_byte, jval_int((u8)v.v.s->t.p[i])};
}

static struct gval fun_index(struct grun *x, const struct gval *arg, u32 n) {
    struct gval v = arg[0];
    if (!gval_plain(v).type) return gfun_refuse(x, "index of nil");
    for (u32 i = 1; i < n && !x->m->rc; i++)
        v = item_of(x, v, arg[i]);
    return v;
}

/* slice v from to; the third bound of Go, a capacity, would have no effect here. */
static struct gval fun_slice(struct grun *x, const struct gval *arg, u32 n) {
    struct gval v = gval_plain(arg[0]);
    i64 length = length_of(v), from = 0, to = length;
    if (length < 0 || v.type->kind == GKIND_MAP) {
        jmem_fail(x->m, GLIM_ARG, "slice of a value of type %s", gval_type(v));
        return gval_nil();
    }
    if (n > 1) from = gfun_place(x, arg[1], length);
    if (n > 2) to = gfun_place(x, arg[2], length);
    if (x->m->rc) return gval_nil();
    if (from > to) return gfun_refuse(x, "a slice ends before it begins");
    if (v.type->kind == GKIND_STR)
        return gval_str(jval_part(x->m, v.v.s, (size_t)from, (size_t)(to - from)));
    if (v.v.kind == JVAL_NONE) return v;
    struct jlist *part = jmem_get(x->m, 1, sizeof *part);
    if (!part) return gval_nil();
    *part = (struct jlist){.v = v.v.l->v ? v.v.l->v + from : NULL,
                           .n = (u64)(to - from),
                           .cap = (u64)(to - from),
                           .deep = v.v.l->deep,
                           .flavour = v.v.l->flavour};
    return (struct gval){v.type, {.kind = JVAL_LIST, .l = part}};
}

/* ---- Text ------------------------------------------------------------------------------------ */

static bool is_text(struct gval v) {
    return v.type && v.type->kind == GKIND_STR;
}

/* Blanks stand between two that are no text. */
static struct gval fun_print(struct grun *x, const struct gval *arg, u32 n) {
    struct jbuf b = {0};
    for (u32 i = 0; i < n && !x->m->rc; i++) {
        if (i && !is_text(arg[i - 1]) && !is_text(arg[i])) jbuf_puts(x->m, &b, " ", true);
        gput_argument(x->m, &b, arg[i]);
    }
    return gval_str(jbuf_done(x->m, &b));
}

static struct gval fun_println(struct grun *x, const struct gval *arg, u32 n) {
    struct jbuf b = {0};
    for (u32 i = 0; i < n && !x->m->rc; i++) {
        if (i) jbuf_puts(x->m, &b, " ", true);
        gput_argument(x->m, &b, arg[i]);
    }
    jbuf_puts(x->m, &b, "\n", true);
    return gval_str(jbuf_done(x->m, &b));
}

static struct gval fun_json(struct grun *x, const struct gval *arg, u32 n) {
    (void)n;
    return gval_json(x->m, gval_plain(arg[0]));
}

static struct gval fun_string(struct grun *x, const struct gval *arg, u32 n) {
    struct jbuf b = {0};
    (void)n;
    gput_value(x->m, &b, arg[0]);
    return gval_str(jbuf_done(x->m, &b));
}

static struct gval fun_typescript(struct grun *x, const struct gval *arg, u32 n) {
    struct jbuf b = {0};
    (void)n;
    gput_typescript(x->m, &b, arg[0]);
    return gval_str(jbuf_done(x->m, &b));
}

/* ---- Days ------------------------------------------------------------------------------------ */

/* Arguments were to be formats, and have no effect in Ollama either. */
static struct gval day(struct grun *x, const struct gval *arg, u32 n, i64 back) {
    for (u32 i = 0; i < n; i++) {
        if (!is_text(arg[i])) return gfun_refuse(x, "the format of a date must be text");
    }
    return gval_str(jinja_strftime(x->m, (struct str){"%Y-%m-%d", 8}, x->now - back * 86400));
}
static struct gval fun_today(struct grun *x, const struct gval *arg, u32 n) {
    return day(x, arg, n, 0);
}
static struct gval fun_yesterday(struct grun *x, const struct gval *arg, u32 n) {
    return day(x, arg, n, 1);
}

/* ---- By name --------------------------------------------------------------------------------- */

/* In their place arguments are not evaluated beforehand: see gfun_is_lazy. */
static struct gval fun_lazy(struct grun *x, const struct gval *arg, u32 n) {
    (void)x;
    return arg[n - 1];
}

enum { MANY = UINT32_MAX };
static const struct gfun gfun_all[] = {
    {"and", 1, MANY, fun_lazy},
    {"or", 1, MANY, fun_lazy},
    {"not", 1, 1, fun_not},
    {"eq", 2, MANY, fun_eq},
    {"ne", 2, 2, fun_ne},
    {"lt", 2, 2, fun_lt},
    {"le", 2, 2, fun_le},
    {"gt", 2, 2, fun_gt},
    {"ge", 2, 2, fun_ge},
    {"len", 1, 1, fun_len},
    {"index", 1, MANY, fun_index},
    {"slice", 1, 3, fun_slice},
    {"print", 0, MANY, fun_print},
    {"println", 0, MANY, fun_println},
    {"printf", 1, MANY, gprintf},
    {"json", 1, 1, fun_json},
    {"currentDate", 0, MANY, fun_today},
    {"yesterdayDate", 0, MANY, fun_yesterday},
    {"toTypeScriptType", 1, 1, fun_typescript},
};

const struct gfun *gfun_find(struct str name) {
    for (size_t i = 0; i < COUNT(gfun_all); i++) {
        if (str_is(name, gfun_all[i].name)) return &gfun_all[i];
    }
    return NULL;
}

bool gfun_is_lazy(const struct gfun *f, bool *stops_at) {
    *stops_at = f == &gfun_all[1];
    return f == &gfun_all[0] || f == &gfun_all[1];
}

/* Go finds methods before the keys of a map. */
const struct gfun *gfun_method(struct gval v, struct str name) {
    static const struct gfun string = {"String", 1, 1, fun_string};
    static const struct gfun typescript = {"ToTypeScriptType", 1, 1, fun_typescript};
    if (!v.type) return NULL;
    if (v.type->show != GSHOW_FMT && str_is(name, string.name)) return &string;
    return v.type == &gtype_property && str_is(name, typescript.name) ? &typescript : NULL;
}
