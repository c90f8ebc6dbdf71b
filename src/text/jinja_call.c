/* Binding arguments, global functions, and arithmetic. */
#include "text/jinja_call.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Binding --------------------------------------------------------------------------------- */

/* The next name of params, without its "?"; false at the end. */
static bool next_param(const char **params, struct str *name, bool *optional) {
    *name = (struct str){*params, strcspn(*params, " ")};
    if (name->n == 0) return false;
    *params += name->n + ((*params)[name->n] == ' ');
    *optional = name->p[name->n - 1] == '?';
    name->n -= *optional;
    return true;
}

/* By place, then by name. Every argument must find its parameter. */
static bool bind_args(struct jcall *c, const struct jspec *spec) {
    const char *params = spec->params;
    struct str name;
    bool optional;
    u32 n = 0, used = 0;
    for (; next_param(&params, &name, &optional); n++) {
        c->a[n].kind = JVAL_ABSENT;
        if (n < c->n_pos) c->a[n] = c->pos[n];
        for (u32 k = 0; k < c->n_key; k++) {
            if (c->key[k].name.n != name.n || memcmp(c->key[k].name.p, name.p, name.n) != 0)
                continue;
            if (n < c->n_pos)
                return jmem_fail(c->m, GLIM_ARG, "%s: argument '%.*s' is given twice", spec->name,
                                 STR(name));
            c->a[n] = c->key[k].v;
            used++;
        }
        if (c->a[n].kind == JVAL_ABSENT && !optional)
            return jmem_fail(c->m, GLIM_ARG, "%s: argument '%.*s' is missing", spec->name,
                             STR(name));
    }
    if (c->n_pos > n)
        return jmem_fail(c->m, GLIM_ARG, "%s takes not more than %u arguments", spec->name, n);
    if (used < c->n_key)
        return jmem_fail(c->m, GLIM_ARG, "%s: an argument by name that it does not take",
                         spec->name);
    return true;
}

struct jval jcall_run(struct jrun *x, const struct jspec *spec, struct jval self,
                      const struct jval *pos, u32 n_pos, const struct jkeyword *key, u32 n_key) {
    struct jcall c = {
        .x = x, .m = x->m, .self = self, .pos = pos, .n_pos = n_pos, .key = key, .n_key = n_key};
    if (!jmem_step(x->m, 1) || (spec->params && !bind_args(&c, spec))) return jval_undefined();
    struct jval v = spec->run(&c);
    return x->m->rc ? jval_undefined() : v;
}

i64 jcall_int(struct jcall *c, u32 i, i64 otherwise) {
    struct jval v = c->a[i];
    if (v.kind == JVAL_ABSENT || v.kind == JVAL_NONE) return otherwise;
    if (v.kind == JVAL_INT) return v.i;
    if (v.kind == JVAL_BOOL) return v.b;
    jmem_fail(c->m, GLIM_ARG, "an integer is needed, not %s", jval_type(v));
    return otherwise;
}

bool jcall_bool(struct jcall *c, u32 i, bool otherwise) {
    return c->a[i].kind == JVAL_ABSENT ? otherwise : jval_true(c->a[i]);
}

const struct jstr *jcall_str(struct jcall *c, u32 i) {
    struct jval v = c->a[i];
    if (v.kind == JVAL_ABSENT || v.kind == JVAL_NONE) return NULL;
    if (v.kind == JVAL_STR) return v.s;
    jmem_fail(c->m, GLIM_ARG, "text is needed, not %s", jval_type(v));
    return NULL;
}

/* ---- Functions ------------------------------------------------------------------------------- */

enum { RANGE_LIMIT = 100000 }; /* the sandbox's own */

static struct jval fn_range(struct jcall *c) {
    i64 a = jcall_int(c, 0, 0), b = jcall_int(c, 1, 0), step = jcall_int(c, 2, 1);
    bool one = c->a[1].kind == JVAL_ABSENT;
    if (one) {
        b = a;
        a = 0;
    }
    if (step == 0) jmem_fail(c->m, GLIM_ARG, "range() arg 3 must not be zero");
    struct jval all = jval_list(c->m, JLIST_RANGE);
    f64 count = step ? ceil(((f64)b - (f64)a) / (f64)step) : 0;
    if (count > RANGE_LIMIT) jmem_fail(c->m, GLIM_ARG, "a range of more than %d", RANGE_LIMIT);
    for (i64 i = a; !c->m->rc && (step > 0 ? i < b : i > b); i += step)
        jlist_push(c->m, all.l, jval_int(i));
    return all;
}

/* dict(...) and namespace(...): from a dictionary or pairs, and keywords. */
static struct jval fn_dict(struct jcall *c) {
    struct jval d = jval_dict(c->m);
    if (c->n_pos > 1) jmem_fail(c->m, GLIM_ARG, "dict takes not more than one argument");
    if (c->n_pos == 1 && c->pos[0].kind == JVAL_DICT) {
        for (u64 i = 0; i < c->pos[0].d->n; i++)
            jdict_set(c->m, d.d, c->pos[0].d->key[i], c->pos[0].d->val[i]);
    } else if (c->n_pos == 1) {
        struct jlist *all = jval_walk(c->m, c->pos[0]);
        for (u64 i = 0; all && i < all->n && !c->m->rc; i++) {
            struct jlist *pair = jval_walk(c->m, all->v[i]);
            if (pair && pair->n != 2) jmem_fail(c->m, GLIM_ARG, "dict is made of pairs");
            if (pair && !c->m->rc) jdict_set(c->m, d.d, pair->v[0], pair->v[1]);
        }
    }
    for (u32 k = 0; k < c->n_key && !c->m->rc; k++)
        jdict_set(c->m, d.d, jval_str(c->m, c->key[k].name, true), c->key[k].v);
    return d;
}

/* A dictionary whose members can be set. */
static struct jval fn_namespace(struct jcall *c) {
    struct jval ns = fn_dict(c);
    if (ns.kind == JVAL_DICT) ns.kind = JVAL_NAMESPACE;
    return ns;
}

/* How templates refuse a conversation; the text is for people. */
static struct jval fn_raise(struct jcall *c) {
    struct jval text = jval_to_str(c->m, c->a[0]);
    jmem_fail(c->m, GLIM_ARG, "it refuses the conversation: %.*s", (int)MIN(text.s->t.n, 150u),
              text.s->t.p);
    return jval_undefined();
}

static struct jval fn_strftime_now(struct jcall *c) {
    const struct jstr *format = jcall_str(c, 0);
    return format ? jinja_strftime(c->m, format->t, c->x->now.seconds) : jval_undefined();
}

/* What joiner() and cycler() give is called again and remembers. */
static struct jval stateful(struct jcall *c, const struct jspec *again) {
    struct jfun *fun = jmem_get(c->m, 1, sizeof *fun);
    struct jval d = jval_dict(c->m);
    if (!fun || c->m->rc) return jval_undefined();
    fun->spec = again;
    fun->state = d.d;
    return (struct jval){.kind = JVAL_FUNCTION, .fun = fun};
}

static struct jval state_of(struct jcall *c, const char *key) {
    const struct jval *v = jdict_find(c->self.fun->state, key);
    return v ? *v : jval_none();
}

static struct jval joiner_again(struct jcall *c) {
    struct jval separator = state_of(c, "separator");
    if (jval_true(state_of(c, "used"))) return separator;
    jdict_set(c->m, c->self.fun->state, jval_text(c->m, "used", true), jval_bool(true));
    return jval_text(c->m, "", true);
}

static struct jval fn_joiner(struct jcall *c) {
    static const struct jspec again = {"joiner", joiner_again, ""};
    struct jval v = stateful(c, &again);
    if (c->m->rc) return v;
    struct jval separator = c->a[0].kind == JVAL_ABSENT ? jval_text(c->m, ", ", true) : c->a[0];
    jdict_set(c->m, v.fun->state, jval_text(c->m, "separator", true), separator);
    return v;
}

static const struct jspec functions[] = {
    {"range", fn_range, "start stop? step?"},    {"dict", fn_dict, NULL},
    {"namespace", fn_namespace, NULL},           {"raise_exception", fn_raise, "message"},
    {"strftime_now", fn_strftime_now, "format"}, {"joiner", fn_joiner, "sep?"},
};

const struct jspec *jspec_function(struct str name) {
    for (size_t i = 0; i < COUNT(functions); i++) {
        if (str_is(name, functions[i].name)) return &functions[i];
    }
    return NULL;
}

/* ---- Arithmetic ------------------------------------------------------------------------------ */

/* Text and numbers never mix: there is "~" for that. */
static struct jval bad_operands(struct jmem *m, enum jop op, struct jval a, struct jval b) {
    const char *sign = op == JOP_FLOOR ? "//" : op == JOP_POW ? "**" : "";
    jmem_fail(m, GLIM_ARG, "unsupported operand types for %.1s%s: '%s' and '%s'",
              *sign ? "" : (const char[]){(char)op, 0}, sign, jval_type(a), jval_type(b));
    return jval_undefined();
}

static struct jval too_large(struct jmem *m) {
    jmem_fail(m, GLIM_ARG, "an integer of more than 64 bits");
    return jval_undefined();
}

static struct jval int_power(struct jmem *m, i64 a, i64 b) {
    i64 result = 1;
    if (b < 0) return jval_float(pow((f64)a, (f64)b));
    for (; b; b >>= 1) {
        if (b & 1 && __builtin_mul_overflow(result, a, &result)) return too_large(m);
        if (b > 1 && __builtin_mul_overflow(a, a, &a)) return too_large(m);
    }
    return jval_int(result);
}

/* Python has integers of any size. More than 64 bits are an error here, not another number. */
static struct jval int_math(struct jmem *m, enum jop op, i64 a, i64 b) {
    i64 r = 0;
    bool wraps = false;
    if ((op == JOP_DIV || op == JOP_FLOOR || op == JOP_MOD) && b == 0) {
        jmem_fail(m, GLIM_ARG, "division by zero");
        return jval_undefined();
    }
    if (op == JOP_DIV) return jval_float((f64)a / (f64)b);
    if (op == JOP_POW) return int_power(m, a, b);
    if (op == JOP_ADD) wraps = __builtin_add_overflow(a, b, &r);
    if (op == JOP_SUB) wraps = __builtin_sub_overflow(a, b, &r);
    if (op == JOP_MUL) wraps = __builtin_mul_overflow(a, b, &r);
    if (op == JOP_FLOOR || op == JOP_MOD) {
        if (b == -1) return op == JOP_MOD ? jval_int(0) : int_math(m, JOP_SUB, 0, a);
        i64 left = a % b;
        bool down = left != 0 && (left < 0) != (b < 0); /* Python rounds down, C towards zero */
        r = op == JOP_MOD ? left + (down ? b : 0) : a / b - down;
    }
    return wraps ? too_large(m) : jval_int(r);
}

/* The remainder has the divisor's sign, and the quotient is whole and matches it. */
static struct jval float_math(struct jmem *m, enum jop op, f64 a, f64 b) {
    if ((op == JOP_DIV || op == JOP_FLOOR || op == JOP_MOD) && b == 0) {
        jmem_fail(m, GLIM_ARG, "division by zero");
        return jval_undefined();
    }
    f64 left;
    switch (op) {
    case JOP_ADD:
        return jval_float(a + b);
    case JOP_SUB:
        return jval_float(a - b);
    case JOP_MUL:
        return jval_float(a * b);
    case JOP_DIV:
        return jval_float(a / b);
    case JOP_POW:
        return jval_float(pow(a, b));
    default:
        left = fmod(a, b);
        if (left != 0 && (left < 0) != (b < 0)) left += b;
        return jval_float(op == JOP_MOD ? left : round((a - left) / b));
    }
}

/* Text or a list, count times. */
static struct jval repeated(struct jmem *m, struct jval v, i64 count) {
    struct jbuf b = {0};
    struct jval list = jval_list(m, v.kind == JVAL_LIST ? v.l->flavour : JLIST_LIST);
    for (i64 i = 0; i < count && jmem_step(m, 1); i++) {
        if (v.kind == JVAL_STR) {
            if (v.s->t.n == 0) break;
            jbuf_str(m, &b, v.s);
            continue;
        }
        if (v.l->n == 0) break;
        for (u64 k = 0; k < v.l->n; k++)
            jlist_push(m, list.l, v.l->v[k]);
    }
    return v.kind == JVAL_STR ? jbuf_done(m, &b) : list;
}

static bool is_plain_list(struct jval v) {
    return v.kind == JVAL_LIST && v.l->flavour <= JLIST_TUPLE;
}

static bool is_whole(struct jval v) {
    return v.kind == JVAL_INT || v.kind == JVAL_BOOL;
}

static i64 whole_of(struct jval v) {
    return v.kind == JVAL_BOOL ? v.b : v.i;
}

/* Joining and repeating are arithmetic, too. */
struct jval jinja_math(struct jmem *m, enum jop op, struct jval a, struct jval b) {
    if (m->rc) return jval_undefined();
    if (is_whole(a) && is_whole(b)) return int_math(m, op, whole_of(a), whole_of(b));
    if (jval_is_num(a) && jval_is_num(b)) return float_math(m, op, jval_number(a), jval_number(b));
    if (op == JOP_MOD && a.kind == JVAL_STR) return jinja_format(m, a.s, b);
    if (op == JOP_ADD && a.kind == JVAL_STR && b.kind == JVAL_STR) {
        struct jbuf buf = {0};
        if (a.s->t.n == 0) return b;
        if (b.s->t.n == 0) return a;
        jbuf_str(m, &buf, a.s);
        jbuf_str(m, &buf, b.s);
        return jbuf_done(m, &buf);
    }
    if (op == JOP_ADD && is_plain_list(a) && is_plain_list(b) && a.l->flavour == b.l->flavour) {
        struct jval list = jval_list(m, a.l->flavour);
        for (u64 i = 0; i < a.l->n && jmem_step(m, 1); i++)
            jlist_push(m, list.l, a.l->v[i]);
        for (u64 i = 0; i < b.l->n && jmem_step(m, 1); i++)
            jlist_push(m, list.l, b.l->v[i]);
        return list;
    }
    if (op == JOP_MUL && (a.kind == JVAL_STR || is_plain_list(a)) && is_whole(b))
        return repeated(m, a, whole_of(b));
    if (op == JOP_MUL && (b.kind == JVAL_STR || is_plain_list(b)) && is_whole(a))
        return repeated(m, b, whole_of(a));
    return bad_operands(m, op, a, b);
}

/* ---- Formatting ------------------------------------------------------------------------------ */

/* One conversion of s % args, spec between % and its letter. */
static void put_conversion(struct jmem *m, struct jbuf *b, struct str spec, char letter,
                           struct jval v) {
    char format[32], text[400];
    bool digits = true;
    for (size_t i = 0; i < spec.n; i++)
        digits &= strchr("0123456789.-+ #", spec.p[i]) != NULL;
    if (!digits || spec.n > 12) {
        jmem_fail(m, GLIM_ARG, "a format that is not supported");
        return;
    }
    if (strchr("sr", letter)) {
        struct jbuf piece = {0};
        if (letter == 's')
            jbuf_value(m, &piece, v);
        else
            jbuf_repr(m, &piece, v);
        struct jval s = jbuf_done(m, &piece);
        i64 width = 0;
        bool left = spec.n && spec.p[0] == '-';
        for (size_t i = left; i < spec.n && spec.p[i] >= '0' && spec.p[i] <= '9'; i++)
            width = width * 10 + (spec.p[i] - '0');
        i64 pad = MIN(width, 100000) - jval_len(s);
        if (left) jbuf_str(m, b, s.s);
        for (i64 i = 0; i < pad && jmem_step(m, 1); i++)
            jbuf_puts(m, b, " ", true);
        if (!left) jbuf_str(m, b, s.s);
        return;
    }
    if (!jval_is_num(v)) {
        jmem_fail(m, GLIM_ARG, "%%%c format: a number is required, not %s", letter, jval_type(v));
        return;
    }
    if (strchr("feEgG", letter)) {
        snprintf(format, sizeof format, "%%%.*s%c", (int)spec.n, spec.p, letter);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, format, jval_number(v));
    } else {
        i64 i = v.kind == JVAL_FLOAT ? (i64)MAX(-9e18, MIN(v.f, 9e18)) : whole_of(v);
        snprintf(format, sizeof format, "%%%.*sll%c", (int)spec.n, spec.p,
                 letter == 'i' ? 'd' : letter);
        snprintf(text, sizeof text, format, (long long)i);
#pragma GCC diagnostic pop
    }
    jbuf_puts(m, b, text, true);
}

/* A tuple is the arguments, anything else is the only one. */
struct jval jinja_format(struct jmem *m, const struct jstr *s, struct jval args) {
    struct jbuf b = {0};
    struct jval one = args;
    bool tuple = args.kind == JVAL_LIST && args.l->flavour == JLIST_TUPLE;
    const struct jval *v = tuple ? args.l->v : &one;
    u64 n = tuple ? args.l->n : 1, used = 0;
    for (size_t i = 0; i < s->t.n && !m->rc;) {
        if (s->t.p[i] != '%') {
            jbuf_like(m, &b, s->t.p + i, 1, s, i);
            i++;
            continue;
        }
        size_t from = ++i;
        while (i < s->t.n && strchr("0123456789.-+ #", s->t.p[i]) && s->t.p[i])
            i++;
        char letter = i < s->t.n ? s->t.p[i] : 0;
        struct str spec = {s->t.p + from, i - from};
        i++;
        if (letter == '%')
            jbuf_puts(m, &b, "%", true);
        else if (!letter || !strchr("srdixXofeEgG", letter))
            jmem_fail(m, GLIM_ARG, "a format that is not supported");
        else if (used == n)
            jmem_fail(m, GLIM_ARG, "not enough arguments for format string");
        else
            put_conversion(m, &b, spec, letter, v[used++]);
    }
    if (used < n && (tuple || (args.kind != JVAL_DICT && args.kind != JVAL_LIST)))
        jmem_fail(m, GLIM_ARG, "not all arguments converted during string formatting");
    return jbuf_done(m, &b);
}
