/* Expressions. */
#include <string.h>

#include "text/jinja_run.h"

/* ---- Scopes ---------------------------------------------------------------------------------- */

struct jframe *jframe_open(struct jrun *x, struct jframe *up) {
    struct jframe *f = jmem_get(x->m, 1, sizeof *f);
    if (f) f->up = up;
    return f;
}

/* Scopes hold a few names: they are searched one by one. */
void jframe_set(struct jrun *x, struct jframe *f, u32 name, struct jval v) {
    if (x->m->rc || !f) return;
    for (u32 i = 0; i < f->n; i++) {
        if (f->name[i] != name) continue;
        f->v[i] = v;
        return;
    }
    if (f->n == f->cap) {
        u32 cap = MAX(4u, 2 * f->cap);
        u32 *names = jmem_get(x->m, cap, sizeof *names);
        struct jval *vals = jmem_get(x->m, cap, sizeof *vals);
        if (x->m->rc) return;
        if (f->n) memcpy(names, f->name, f->n * sizeof *names);
        if (f->n) memcpy(vals, f->v, f->n * sizeof *vals);
        f->name = names;
        f->v = vals;
        f->cap = cap;
    }
    f->name[f->n] = name;
    f->v[f->n++] = v;
}

static struct jval function_value(struct jrun *x, const struct jspec *spec, struct jval self) {
    struct jfun *fun = jmem_get(x->m, 1, sizeof *fun);
    if (!fun) return jval_undefined();
    fun->spec = spec;
    fun->self = self;
    return (struct jval){.kind = JVAL_FUNCTION, .fun = fun};
}

/* Inner scopes hide outer ones, and anything hides functions. */
static struct jval eval_name(struct jrun *x, struct jframe *f, u32 name) {
    for (; f; f = f->up) {
        for (u32 i = 0; i < f->n; i++) {
            if (f->name[i] == name) return f->v[i];
        }
    }
    const struct jspec *spec = jspec_function(x->j->names[name]);
    if (spec) return function_value(x, spec, jval_undefined());
    return jval_missing(x->m, x->j->names[name]);
}

/* ---- Attributes and items -------------------------------------------------------------------- */

/* An undefined value may be printed, tested and compared, but nothing of it can be had. */
static void undefined_used(struct jrun *x, struct jval v) {
    if (v.s)
        jmem_fail(x->m, GLIM_ARG, "'%.*s' is undefined", (int)MIN(v.s->t.n, 60u), v.s->t.p);
    else
        jmem_fail(x->m, GLIM_ARG, "a value is undefined");
}

static struct jval loop_attr(struct jrun *x, struct jloop *l, struct str name) {
    i64 at = (i64)l->at, n = (i64)l->all->n;
    if (str_is(name, "index")) return jval_int(at + 1);
    if (str_is(name, "index0")) return jval_int(at);
    if (str_is(name, "revindex")) return jval_int(n - at);
    if (str_is(name, "revindex0")) return jval_int(n - at - 1);
    if (str_is(name, "first")) return jval_bool(at == 0);
    if (str_is(name, "last")) return jval_bool(at == n - 1);
    if (str_is(name, "length")) return jval_int(n);
    if (str_is(name, "depth")) return jval_int(1);
    if (str_is(name, "depth0")) return jval_int(0);
    if (str_is(name, "previtem") && at > 0) return l->all->v[at - 1];
    if (str_is(name, "nextitem") && at + 1 < n) return l->all->v[at + 1];
    return jval_missing(x->m, name);
}

/* A method, or undefined: what would change a value is out of reach in Jinja's sandbox. */
static struct jval method_or_missing(struct jrun *x, struct jval v, struct str name) {
    const struct jspec *spec = jspec_method(v, name);
    return spec && spec->run ? function_value(x, spec, v) : jval_missing(x->m, name);
}

/* As Python: a method hides a key of that name, so that d.items is never the key "items". */
struct jval jinja_attr(struct jrun *x, struct jval v, struct str name) {
    struct jstr key = {name, NULL, true};
    const struct jval *found = NULL;
    if (v.kind == JVAL_UNDEFINED) {
        undefined_used(x, v);
        return v;
    }
    if (v.kind == JVAL_NAMESPACE) {
        found = jdict_get(v.d, jval_of_str(&key));
        return found ? *found : jval_missing(x->m, name);
    }
    struct jval method = method_or_missing(x, v, name);
    if (method.kind == JVAL_FUNCTION) return method;
    if (v.kind == JVAL_LOOP) return loop_attr(x, v.loop, name);
    if (v.kind == JVAL_DICT) found = jdict_get(v.d, jval_of_str(&key));
    return found ? *found : method;
}

/* The byte at which character i begins; text.n behind the last. */
static size_t char_start(struct str text, u64 i) {
    size_t at = 0;
    for (; i && at < text.n; i--) {
        at++;
        while (at < text.n && ((u8)text.p[at] & 0xc0) == 0x80)
            at++;
    }
    return at;
}

/* As Jinja: a key hides a method, and where there is no such key d["items"] is the method after
 * all. */
struct jval jinja_item(struct jrun *x, struct jval v, struct jval key) {
    const struct jval *found = NULL;
    if (v.kind == JVAL_UNDEFINED) {
        undefined_used(x, v);
        return v;
    }
    if (v.kind == JVAL_DICT) found = jdict_get(v.d, key);
    if (found) return *found;
    if (key.kind == JVAL_STR) {
        return v.kind == JVAL_NAMESPACE ? jinja_attr(x, v, key.s->t)
                                        : method_or_missing(x, v, key.s->t);
    }
    bool indexed =
        v.kind == JVAL_STR ||
        (v.kind == JVAL_LIST && (v.l->flavour <= JLIST_TUPLE || v.l->flavour == JLIST_RANGE));
    if (!indexed || (key.kind != JVAL_INT && key.kind != JVAL_BOOL)) return jval_undefined();
    i64 n = jval_len(v), i = key.kind == JVAL_BOOL ? key.b : key.i;
    if (!jmem_step(x->m, 1 + (v.kind == JVAL_STR ? v.s->t.n / 64 : 0))) return jval_undefined();
    if (i < 0) i += n;
    if (i < 0 || i >= n) return jval_undefined();
    if (v.kind == JVAL_LIST) return v.l->v[i];
    size_t from = char_start(v.s->t, (u64)i);
    struct str rest = {v.s->t.p + from, v.s->t.n - from};
    return jval_part(x->m, v.s, from, char_start(rest, 1));
}

/* One bound of a slice, Python's way: counted from the end where negative, and brought into range.
 */
static bool slice_bound(struct jmem *m, struct jval v, i64 n, i64 low, i64 high, i64 *out) {
    if (v.kind != JVAL_INT && v.kind != JVAL_BOOL)
        return jmem_fail(m, GLIM_ARG, "slice indices must be integers or None, not %s",
                         jval_type(v));
    i64 i = v.kind == JVAL_BOOL ? v.b : v.i;
    if (i < 0) i = i < -n ? low : i + n;
    *out = MAX(low, MIN(i, high));
    return true;
}

/* By characters. Without a step the slice is a part of the same memory. */
static struct jval slice_text(struct jmem *m, const struct jstr *s, i64 from, i64 to, i64 step) {
    if (step == 1) {
        size_t a = char_start(s->t, (u64)from);
        struct str rest = {s->t.p + a, s->t.n - a};
        return jval_part(m, s, a, from < to ? char_start(rest, (u64)(to - from)) : 0);
    }
    struct jbuf b = {0};
    struct jlist *chars = jval_walk(m, jval_of_str(s));
    for (i64 i = from; chars && (step > 0 ? i < to : i > to) && !m->rc; i += step)
        jbuf_str(m, &b, chars->v[i].s);
    return jbuf_done(m, &b);
}

/* A negative step walks from the end, whose default bounds lie outside on the other side. */
struct jval jinja_slice(struct jrun *x, struct jval v, struct jval from, struct jval to,
                        struct jval step) {
    struct jmem *m = x->m;
    bool list = v.kind == JVAL_LIST && (v.l->flavour <= JLIST_TUPLE || v.l->flavour == JLIST_RANGE);
    i64 by = 1, n = jval_len(v), a, b;
    if (v.kind == JVAL_UNDEFINED) undefined_used(x, v);
    if (m->rc || (!list && v.kind != JVAL_STR)) return jval_undefined();
    if (!jmem_step(m, 1 + (u64)n / 16)) return jval_undefined();
    if (step.kind != JVAL_NONE && !slice_bound(m, step, 0, INT32_MIN, INT32_MAX, &by))
        return jval_undefined();
    if (step.kind == JVAL_INT) by = MAX(-INT32_MAX, MIN(step.i, INT32_MAX));
    if (by == 0) {
        jmem_fail(m, GLIM_ARG, "slice step cannot be zero");
        return jval_undefined();
    }
    i64 low = by > 0 ? 0 : -1, high = by > 0 ? n : n - 1;
    a = by > 0 ? low : high;
    b = by > 0 ? high : low;
    if (from.kind != JVAL_NONE && !slice_bound(m, from, n, low, high, &a)) return jval_undefined();
    if (to.kind != JVAL_NONE && !slice_bound(m, to, n, low, high, &b)) return jval_undefined();
    if (v.kind == JVAL_STR) return slice_text(m, v.s, a, b, by);
    struct jval out = jval_list(m, v.l->flavour);
    for (i64 i = a; (by > 0 ? i < b : i > b) && !m->rc; i += by)
        jlist_push(m, out.l, v.l->v[i]);
    return out;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Arguments as they were given. */
struct given {
    struct jval *pos;
    struct jkeyword *key;
    u32 n_pos, n_key, cap_pos, cap_key;
};

static void give(struct jrun *x, struct given *g, struct jval v) {
    if (g->n_pos == g->cap_pos) {
        u32 cap = MAX(4u, 2 * g->cap_pos);
        struct jval *grown = jmem_get(x->m, cap, sizeof *grown);
        if (!grown) return;
        if (g->n_pos) memcpy(grown, g->pos, g->n_pos * sizeof *grown);
        g->pos = grown;
        g->cap_pos = cap;
    }
    g->pos[g->n_pos++] = v;
}

static void give_key(struct jrun *x, struct given *g, struct str name, struct jval v) {
    if (g->n_key == g->cap_key) {
        u32 cap = MAX(4u, 2 * g->cap_key);
        struct jkeyword *grown = jmem_get(x->m, cap, sizeof *grown);
        if (!grown) return;
        if (g->n_key) memcpy(grown, g->key, g->n_key * sizeof *grown);
        g->key = grown;
        g->cap_key = cap;
    }
    g->key[g->n_key++] = (struct jkeyword){name, v};
}

/* In the order of writing, as what they do may be seen: a raise_exception among them, say. */
static struct given eval_args(struct jrun *x, struct jframe *f, const struct jnode *n) {
    struct given g = {0};
    for (u32 i = 0; i < n->n && !x->m->rc; i++) {
        const struct jnode *arg = n->list[i];
        struct jval v = jinja_eval(x, f, arg->a);
        if (arg->op == JOP_MUL) {
            struct jlist *all = jval_walk(x->m, v);
            for (u64 k = 0; all && k < all->n; k++)
                give(x, &g, all->v[k]);
        } else if (arg->op == JOP_UNPACK && v.kind == JVAL_DICT) {
            for (u64 k = 0; k < v.d->n; k++) {
                if (v.d->key[k].kind == JVAL_STR) give_key(x, &g, v.d->key[k].s->t, v.d->val[k]);
            }
        } else if (arg->op == JOP_UNPACK) {
            jmem_fail(x->m, GLIM_ARG, "argument after ** must be a mapping, not %s", jval_type(v));
        } else if (arg->value.s) {
            give_key(x, &g, arg->value.s->t, v);
        } else {
            give(x, &g, v);
        }
    }
    return g;
}

struct jval jinja_call(struct jrun *x, struct jval callee, const struct jval *pos, u32 n_pos,
                       const struct jkeyword *key, u32 n_key) {
    if (callee.kind == JVAL_UNDEFINED) undefined_used(x, callee);
    if (callee.kind != JVAL_FUNCTION)
        jmem_fail(x->m, GLIM_ARG, "'%s' object is not callable", jval_type(callee));
    if (x->m->rc) return jval_undefined();
    const struct jfun *fun = callee.fun;
    if (!fun->spec) return jinja_call_macro(x, fun, pos, n_pos, key, n_key);
    return jcall_run(x, fun->spec, fun->state ? callee : fun->self, pos, n_pos, key, n_key);
}

struct jval jinja_eval_call(struct jrun *x, struct jframe *f, const struct jnode *n,
                            struct jval caller) {
    struct jval callee = jinja_eval(x, f, n->a);
    struct given g = eval_args(x, f, n);
    if (caller.kind != JVAL_ABSENT) give_key(x, &g, (struct str){"caller", 6}, caller);
    if (x->m->rc) return jval_undefined();
    x->m->line = n->line;
    return jinja_call(x, callee, g.pos, g.n_pos, g.key, g.n_key);
}

static struct jval apply(struct jrun *x, struct jframe *f, const struct jnode *n, struct jval v) {
    struct given g = eval_args(x, f, n);
    if (x->m->rc) return jval_undefined();
    x->m->line = n->line;
    return jcall_run(x, n->spec, v, g.pos, g.n_pos, g.key, g.n_key);
}

struct jval jinja_filters(struct jrun *x, struct jframe *f, const struct jnode *n, struct jval v) {
    return apply(x, f, n, n->a ? jinja_filters(x, f, n->a, v) : v);
}

/* ---- Operators ------------------------------------------------------------------------------- */

/* NaN is in no order with anything, itself included. */
bool jinja_has_order(struct jmem *m, enum jop op, struct jval a, struct jval b) {
    switch (op) {
    case JOP_EQ:
        return jval_equal(m, a, b);
    case JOP_NE:
        return !jval_equal(m, a, b);
    case JOP_IN:
        return jval_in(m, a, b);
    case JOP_NOT_IN:
        return !jval_in(m, a, b);
    default:
        break;
    }
    bool nan = (a.kind == JVAL_FLOAT && a.f != a.f) || (b.kind == JVAL_FLOAT && b.f != b.f);
    int c = jval_order(m, a, b);
    if (nan) return false;
    return op == JOP_LT ? c < 0 : op == JOP_LE ? c <= 0 : op == JOP_GT ? c > 0 : c >= 0;
}

/* Ends at the first comparison that fails; what follows is not evaluated. */
static struct jval eval_compare(struct jrun *x, struct jframe *f, const struct jnode *n) {
    struct jval left = jinja_eval(x, f, n->a);
    for (u32 i = 0; i < n->n && !x->m->rc; i++) {
        struct jval right = jinja_eval(x, f, n->list[i]->a);
        if (x->m->rc || !jinja_has_order(x->m, n->list[i]->op, left, right))
            return jval_bool(false);
        left = right;
    }
    return jval_bool(true);
}

/* -True is -1. */
static struct jval eval_sign(struct jrun *x, struct jframe *f, const struct jnode *n) {
    struct jval v = jinja_eval(x, f, n->a);
    if (v.kind == JVAL_UNDEFINED) undefined_used(x, v);
    if (!jval_is_num(v)) {
        jmem_fail(x->m, GLIM_ARG, "bad operand type for a sign: '%s'", jval_type(v));
        return jval_undefined();
    }
    if (v.kind == JVAL_BOOL) v = jval_int(v.b);
    if (n->kind == JNODE_PLUS) return v;
    if (v.kind == JVAL_FLOAT) return jval_float(-v.f);
    return jinja_math(x->m, JOP_SUB, jval_int(0), v);
}

/* A format may take an undefined value, which is empty; nothing else can. */
static struct jval eval_math(struct jrun *x, struct jframe *f, const struct jnode *n) {
    struct jval a = jinja_eval(x, f, n->a), b = jinja_eval(x, f, n->b);
    x->m->line = n->line;
    if (a.kind == JVAL_UNDEFINED)
        undefined_used(x, a);
    else if (b.kind == JVAL_UNDEFINED && !(n->op == JOP_MOD && a.kind == JVAL_STR))
        undefined_used(x, b);
    return x->m->rc ? jval_undefined() : jinja_math(x->m, n->op, a, b);
}

static struct jval eval_list(struct jrun *x, struct jframe *f, const struct jnode *n) {
    struct jval list = jval_list(x->m, n->kind == JNODE_TUPLE ? JLIST_TUPLE : JLIST_LIST);
    for (u32 i = 0; i < n->n && !x->m->rc; i++)
        jlist_push(x->m, list.l, jinja_eval(x, f, n->list[i]));
    return list;
}

static struct jval eval_dict(struct jrun *x, struct jframe *f, const struct jnode *n) {
    struct jval d = jval_dict(x->m);
    for (u32 i = 0; i + 1 < n->n && !x->m->rc; i += 2) {
        struct jval key = jinja_eval(x, f, n->list[i]);
        jdict_set(x->m, d.d, key, jinja_eval(x, f, n->list[i + 1]));
    }
    return d;
}

static struct jval eval_concat(struct jrun *x, struct jframe *f, const struct jnode *n) {
    struct jbuf b = {0};
    for (u32 i = 0; i < n->n && !x->m->rc; i++)
        jbuf_value(x->m, &b, jinja_eval(x, f, n->list[i]));
    return jbuf_done(x->m, &b);
}

static struct jval eval_bound(struct jrun *x, struct jframe *f, const struct jnode *n) {
    return n ? jinja_eval(x, f, n) : jval_none();
}

static struct jval eval_item(struct jrun *x, struct jframe *f, const struct jnode *n) {
    struct jval v = jinja_eval(x, f, n->a);
    if (n->b->kind == JNODE_SLICE) {
        struct jval from = eval_bound(x, f, n->b->a), to = eval_bound(x, f, n->b->b);
        struct jval step = eval_bound(x, f, n->b->c);
        return x->m->rc ? v : jinja_slice(x, v, from, to, step);
    }
    struct jval key = jinja_eval(x, f, n->b);
    x->m->line = n->line;
    return x->m->rc ? v : jinja_item(x, v, key);
}

static struct jval eval_node(struct jrun *x, struct jframe *f, const struct jnode *n) {
    struct jval v;
    switch (n->kind) {
    case JNODE_CONST:
        return n->value;
    case JNODE_NAME:
        return eval_name(x, f, n->name);
    case JNODE_LIST:
    case JNODE_TUPLE:
        return eval_list(x, f, n);
    case JNODE_DICT:
        return eval_dict(x, f, n);
    case JNODE_NOT:
        return jval_bool(!jval_true(jinja_eval(x, f, n->a)));
    case JNODE_NEGATE:
    case JNODE_PLUS:
        return eval_sign(x, f, n);
    case JNODE_AND:
        v = jinja_eval(x, f, n->a);
        return jval_true(v) ? jinja_eval(x, f, n->b) : v;
    case JNODE_OR:
        v = jinja_eval(x, f, n->a);
        return jval_true(v) ? v : jinja_eval(x, f, n->b);
    case JNODE_MATH:
        return eval_math(x, f, n);
    case JNODE_CONCAT:
        return eval_concat(x, f, n);
    case JNODE_COMPARE:
        return eval_compare(x, f, n);
    case JNODE_IF_ELSE:
        if (jval_true(jinja_eval(x, f, n->b))) return jinja_eval(x, f, n->a);
        return n->c ? jinja_eval(x, f, n->c) : jval_undefined();
    case JNODE_ATTR:
        v = jinja_eval(x, f, n->a);
        x->m->line = n->line;
        return x->m->rc ? v : jinja_attr(x, v, x->j->names[n->name]);
    case JNODE_ITEM:
        return eval_item(x, f, n);
    case JNODE_CALL:
        return jinja_eval_call(x, f, n, (struct jval){.kind = JVAL_ABSENT});
    case JNODE_FILTER:
    case JNODE_TEST:
        v = jinja_eval(x, f, n->a);
        return x->m->rc ? v : apply(x, f, n, v);
    default:
        jmem_fail(x->m, GLIM_FORMAT, "a slice stands where a value is needed");
        return jval_undefined();
    }
}

/* The one way down, where steps, depth and the line for messages are kept. */
struct jval jinja_eval(struct jrun *x, struct jframe *f, const struct jnode *n) {
    if (!jmem_step(x->m, 1)) return jval_undefined();
    if (x->m->depth >= JMEM_DEPTH) {
        jmem_fail(x->m, GLIM_ARG, "calls are nested too deeply");
        return jval_undefined();
    }
    x->m->depth++;
    x->m->line = n->line;
    struct jval v = eval_node(x, f, n);
    x->m->depth--;
    return x->m->rc ? jval_undefined() : v;
}
