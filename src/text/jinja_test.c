/* Tests: what stands behind "is". */
#include <string.h>

#include "text/jinja_call.h"
#include "text/unicode.h"

static struct jval test_defined(struct jcall *c) {
    return jval_bool(c->self.kind != JVAL_UNDEFINED);
}
static struct jval test_undefined(struct jcall *c) {
    return jval_bool(c->self.kind == JVAL_UNDEFINED);
}
static struct jval test_none(struct jcall *c) {
    return jval_bool(c->self.kind == JVAL_NONE);
}
static struct jval test_boolean(struct jcall *c) {
    return jval_bool(c->self.kind == JVAL_BOOL);
}
static struct jval test_true(struct jcall *c) {
    return jval_bool(c->self.kind == JVAL_BOOL && c->self.b);
}
static struct jval test_false(struct jcall *c) {
    return jval_bool(c->self.kind == JVAL_BOOL && !c->self.b);
}
static struct jval test_integer(struct jcall *c) {
    return jval_bool(c->self.kind == JVAL_INT);
}
static struct jval test_float(struct jcall *c) {
    return jval_bool(c->self.kind == JVAL_FLOAT);
}
/* True is a number, but no integer below. */
static struct jval test_number(struct jcall *c) {
    return jval_bool(jval_is_num(c->self));
}
static struct jval test_string(struct jcall *c) {
    return jval_bool(c->self.kind == JVAL_STR);
}
static struct jval test_mapping(struct jcall *c) {
    return jval_bool(c->self.kind == JVAL_DICT);
}

/* Has a length and items: text and dictionaries too. Undefined values answer to both. */
static struct jval test_sequence(struct jcall *c) {
    struct jval v = c->self;
    bool list = v.kind == JVAL_LIST && (v.l->flavour <= JLIST_TUPLE || v.l->flavour == JLIST_RANGE);
    return jval_bool(list || v.kind == JVAL_STR || v.kind == JVAL_DICT || v.kind == JVAL_UNDEFINED);
}
static struct jval test_iterable(struct jcall *c) {
    enum jkind k = c->self.kind;
    return jval_bool(k == JVAL_LIST || k == JVAL_STR || k == JVAL_DICT || k == JVAL_UNDEFINED ||
                     k == JVAL_LOOP);
}
/* An undefined value says that it can be called, and fails when it is. */
static struct jval test_callable(struct jcall *c) {
    return jval_bool(c->self.kind == JVAL_FUNCTION || c->self.kind == JVAL_UNDEFINED);
}

static struct jval rest_of(struct jcall *c, struct jval by) {
    return jinja_math(c->m, JOP_MOD, c->self, by);
}
static struct jval test_even(struct jcall *c) {
    return jval_bool(!jval_true(rest_of(c, jval_int(2))));
}
static struct jval test_odd(struct jcall *c) {
    return jval_bool(jval_equal(c->m, rest_of(c, jval_int(2)), jval_int(1)));
}
static struct jval test_divisibleby(struct jcall *c) {
    return jval_bool(!jval_true(rest_of(c, c->a[0])));
}

static struct jval test_eq(struct jcall *c) {
    return jval_bool(jval_equal(c->m, c->self, c->a[0]));
}
static struct jval test_ne(struct jcall *c) {
    return jval_bool(!jval_equal(c->m, c->self, c->a[0]));
}
static struct jval test_lt(struct jcall *c) {
    return jval_bool(jinja_has_order(c->m, JOP_LT, c->self, c->a[0]));
}
static struct jval test_le(struct jcall *c) {
    return jval_bool(jinja_has_order(c->m, JOP_LE, c->self, c->a[0]));
}
static struct jval test_gt(struct jcall *c) {
    return jval_bool(jinja_has_order(c->m, JOP_GT, c->self, c->a[0]));
}
static struct jval test_ge(struct jcall *c) {
    return jval_bool(jinja_has_order(c->m, JOP_GE, c->self, c->a[0]));
}
static struct jval test_in(struct jcall *c) {
    return jval_bool(jval_in(c->m, c->self, c->a[0]));
}

/* Python's "is": one object. Small values count as one where they are equal. */
static struct jval test_sameas(struct jcall *c) {
    struct jval a = c->self, b = c->a[0];
    if (a.kind == JVAL_LIST && b.kind == JVAL_LIST) return jval_bool(a.l == b.l);
    if (a.kind == JVAL_DICT && b.kind == JVAL_DICT) return jval_bool(a.d == b.d);
    return jval_bool(a.kind == b.kind && jval_equal(c->m, a, b));
}

/* Python's str.isupper and islower: there is a letter with case, and none of the other. */
static struct jval cased(struct jcall *c, u32 want, u32 other) {
    const struct jstr *s = jval_to_str(c->m, c->self).s;
    bool some = false;
    for (size_t i = 0; i < s->t.n;) {
        struct unicode_char ch = unicode_read(s->t.p + i, s->t.n - i);
        u32 flags = unicode_flags(ch.code);
        if (flags & other) return jval_bool(false);
        some |= (flags & want) != 0;
        i += ch.len;
    }
    return jval_bool(some);
}
static struct jval test_upper(struct jcall *c) {
    return cased(c, UNICODE_UPPER, UNICODE_LOWER);
}
static struct jval test_lower(struct jcall *c) {
    return cased(c, UNICODE_LOWER, UNICODE_UPPER);
}

static struct jval test_filter(struct jcall *c) {
    return jval_bool(c->self.kind == JVAL_STR && jspec_filter(c->self.s->t));
}
static struct jval test_test(struct jcall *c) {
    return jval_bool(c->self.kind == JVAL_STR && jspec_test(c->self.s->t));
}
static struct jval test_escaped(struct jcall *c) {
    (void)c;
    return jval_bool(false);
}

static const struct jspec tests[] = {
    {"boolean", test_boolean, ""},     {"callable", test_callable, ""},
    {"defined", test_defined, ""},     {"divisibleby", test_divisibleby, "num"},
    {"eq", test_eq, "other"},          {"equalto", test_eq, "other"},
    {"==", test_eq, "other"},          {"escaped", test_escaped, ""},
    {"even", test_even, ""},           {"false", test_false, ""},
    {"filter", test_filter, ""},       {"float", test_float, ""},
    {"ge", test_ge, "other"},          {">=", test_ge, "other"},
    {"greaterthan", test_gt, "other"}, {"gt", test_gt, "other"},
    {">", test_gt, "other"},           {"in", test_in, "seq"},
    {"integer", test_integer, ""},     {"iterable", test_iterable, ""},
    {"le", test_le, "other"},          {"<=", test_le, "other"},
    {"lessthan", test_lt, "other"},    {"lower", test_lower, ""},
    {"lt", test_lt, "other"},          {"<", test_lt, "other"},
    {"mapping", test_mapping, ""},     {"ne", test_ne, "other"},
    {"!=", test_ne, "other"},          {"none", test_none, ""},
    {"number", test_number, ""},       {"odd", test_odd, ""},
    {"sameas", test_sameas, "other"},  {"sequence", test_sequence, ""},
    {"string", test_string, ""},       {"test", test_test, ""},
    {"true", test_true, ""},           {"undefined", test_undefined, ""},
    {"upper", test_upper, ""},
};

const struct jspec *jspec_test(struct str name) {
    for (size_t i = 0; i < COUNT(tests); i++) {
        if (str_is(name, tests[i].name)) return &tests[i];
    }
    return NULL;
}
