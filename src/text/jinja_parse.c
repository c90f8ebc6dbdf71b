/* Templates from tokens to trees, by recursive descent with Jinja2's precedence: filters and tests
 * bind tightest, then ** * + ~ comparisons, not, and, or, if-else. */
#include <string.h>

#include "text/jinja_parse.h"

static struct jnode *parse_primary(struct jparse *p);
static struct jnode *parse_postfix(struct jparse *p, struct jnode *n);
static struct jnode *parse_filters(struct jparse *p, struct jnode *n);

/* ---- Tools ----------------------------------------------------------------------------------- */

u32 jinja_name(struct jmem *m, struct jinja *j, struct str name) {
    for (u32 i = 0; i < j->n_names; i++) {
        if (j->names[i].n == name.n && !memcmp(j->names[i].p, name.p, name.n)) return i;
    }
    if (j->n_names == j->cap_names) {
        u32 cap = MAX(32u, 2 * j->cap_names);
        struct str *names = jmem_get(m, cap, sizeof *names);
        if (!names) return 0;
        if (j->n_names) memcpy(names, j->names, j->n_names * sizeof *names);
        j->names = names;
        j->cap_names = cap;
    }
    j->names[j->n_names] = name; /* of the source, or constant */
    return j->n_names++;
}

struct jnode *jparse_node(struct jparse *p, enum jnode_kind kind) {
    struct jnode *n = jmem_get(p->m, 1, sizeof *n);
    if (!n) return &p->nothing;
    n->kind = kind;
    n->line = p->t.line;
    return n;
}

void jparse_add(struct jparse *p, struct jnode *n, struct jnode *item) {
    if (p->m->rc) return;
    if ((n->n & (n->n - 1)) == 0) { /* full at each power of two */
        struct jnode **grown = jmem_get(p->m, MAX(1u, 2 * n->n), sizeof *grown);
        if (!grown) return;
        if (n->n) memcpy(grown, n->list, n->n * sizeof *grown);
        n->list = grown;
    }
    n->list[n->n++] = item;
}

void jparse_next(struct jparse *p) {
    p->t = jlex_next(&p->lex);
    p->m->line = p->t.line;
}

bool jparse_at_op(const struct jparse *p, const char *op) {
    return p->t.kind == JTOKEN_OP && str_is(p->t.text, op);
}

bool jparse_at_name(const struct jparse *p, const char *name) {
    return p->t.kind == JTOKEN_NAME && str_is(p->t.text, name);
}

bool jparse_eat_op(struct jparse *p, const char *op) {
    if (!jparse_at_op(p, op)) return false;
    jparse_next(p);
    return true;
}

bool jparse_eat_name(struct jparse *p, const char *name) {
    if (!jparse_at_name(p, name)) return false;
    jparse_next(p);
    return true;
}

void jparse_unexpected(struct jparse *p, const char *wanted) {
    static const char *const kinds[] = {"the end of the template", "text", "{{", "}}", "{%", "%}"};
    struct str got = p->t.text;
    if (p->t.kind == JTOKEN_END) got = (struct str){kinds[0], strlen(kinds[0])};
    jmem_fail(p->m, GLIM_FORMAT, "%s is missing before '%.*s'", wanted, (int)MIN(got.n, 40u),
              got.p);
}

void jparse_want_op(struct jparse *p, const char *op) {
    if (!jparse_eat_op(p, op)) jparse_unexpected(p, op);
}

void jparse_want_end(struct jparse *p) {
    if (p->t.kind == JTOKEN_BLOCK_END)
        jparse_next(p);
    else
        jparse_unexpected(p, "%}");
}

/* The number of the current token's name. */
u32 jparse_want_name(struct jparse *p) {
    if (p->t.kind != JTOKEN_NAME) {
        jparse_unexpected(p, "a name");
        return 0;
    }
    u32 name = jinja_name(p->m, p->j, p->t.text);
    jparse_next(p);
    return name;
}

void jparse_gets_value(struct jparse *p, u32 name) {
    if (name >= p->n_set) {
        u32 n = MAX(64u, 2 * name);
        bool *set = jmem_get(p->m, n, sizeof *set);
        if (!set) return;
        if (p->n_set) memcpy(set, p->set, p->n_set);
        p->set = set;
        p->n_set = n;
    }
    p->set[name] = true;
}

/* ---- Expressions ----------------------------------------------------------------------------- */

static bool ends_tuple(const struct jparse *p, const char *stop) {
    return p->t.kind == JTOKEN_PRINT_END || p->t.kind == JTOKEN_BLOCK_END ||
           p->t.kind == JTOKEN_END || jparse_at_op(p, ")") || (stop && jparse_at_name(p, stop));
}

/* One expression, or several apart by commas, which are a tuple. whole: if-else is taken. */
struct jnode *jparse_tuple(struct jparse *p, bool whole, const char *stop, bool empty_ok) {
    struct jnode *first = NULL, *tuple = NULL;
    u32 line = p->t.line;
    while (!p->m->rc && !ends_tuple(p, stop)) {
        struct jnode *n = whole ? jparse_expression(p) : jparse_or(p);
        if (!first)
            first = n;
        else
            jparse_add(p, tuple, n);
        if (!jparse_at_op(p, ",")) break;
        if (!tuple) {
            tuple = jparse_node(p, JNODE_TUPLE);
            jparse_add(p, tuple, first);
        }
        jparse_next(p);
    }
    if (tuple) tuple->line = line;
    if (tuple) return tuple;
    if (first) return first;
    if (!empty_ok) jparse_unexpected(p, "an expression");
    return jparse_node(p, JNODE_TUPLE);
}

/* Items up to the closing bracket; the opening one is current. */
static struct jnode *parse_list(struct jparse *p) {
    struct jnode *n = jparse_node(p, JNODE_LIST);
    jparse_next(p);
    while (!p->m->rc && !jparse_at_op(p, "]")) {
        jparse_add(p, n, jparse_expression(p));
        if (!jparse_eat_op(p, ",")) break;
    }
    jparse_want_op(p, "]");
    return n;
}

/* Keys may be any expression. */
static struct jnode *parse_dict(struct jparse *p) {
    struct jnode *n = jparse_node(p, JNODE_DICT);
    jparse_next(p);
    while (!p->m->rc && !jparse_at_op(p, "}")) {
        jparse_add(p, n, jparse_expression(p));
        jparse_want_op(p, ":");
        jparse_add(p, n, jparse_expression(p));
        if (!jparse_eat_op(p, ",")) break;
    }
    jparse_want_op(p, "}");
    return n;
}

static struct jnode *parse_name(struct jparse *p) {
    static const struct {
        const char *name;
        struct jval v;
    } constants[] = {
        {"true", {.kind = JVAL_BOOL, .b = true}},
        {"True", {.kind = JVAL_BOOL, .b = true}},
        {"false", {.kind = JVAL_BOOL, .b = false}},
        {"False", {.kind = JVAL_BOOL, .b = false}},
        {"none", {.kind = JVAL_NONE}},
        {"None", {.kind = JVAL_NONE}},
    };
    struct jnode *n = jparse_node(p, JNODE_NAME);
    for (size_t i = 0; i < COUNT(constants); i++) {
        if (!jparse_at_name(p, constants[i].name)) continue;
        n->kind = JNODE_CONST;
        n->value = constants[i].v;
        jparse_next(p);
        return n;
    }
    n->name = jparse_want_name(p);
    p->reads_caller |= n->name == p->j->name_caller;
    p->reads_rest |= n->name == p->j->name_varargs;
    p->reads_kwargs |= n->name == p->j->name_kwargs;
    return n;
}

/* What is no operator: names, literals, and brackets of all kinds. */
static struct jnode *parse_primary(struct jparse *p) {
    if (p->t.kind == JTOKEN_NAME) return parse_name(p);
    if (p->t.kind == JTOKEN_STRING) return jparse_string(p);
    if (p->t.kind == JTOKEN_INT || p->t.kind == JTOKEN_FLOAT) return jparse_number(p);
    if (jparse_at_op(p, "[")) return parse_list(p);
    if (jparse_at_op(p, "{")) return parse_dict(p);
    if (jparse_at_op(p, "(")) {
        jparse_next(p);
        struct jnode *n = jparse_tuple(p, true, NULL, true);
        jparse_want_op(p, ")");
        return n;
    }
    jparse_unexpected(p, "an expression");
    return jparse_node(p, JNODE_CONST);
}

/* Arguments up to the closing bracket; the opening one is current. */
static void parse_args(struct jparse *p, struct jnode *call) {
    jparse_next(p);
    while (!p->m->rc && !jparse_at_op(p, ")")) {
        struct jnode *arg = jparse_node(p, JNODE_ARG);
        if (jparse_eat_op(p, "*")) {
            arg->op = JOP_MUL;
        } else if (jparse_eat_op(p, "**")) {
            arg->op = JOP_UNPACK;
        } else if (p->t.kind == JTOKEN_NAME) {
            /* "name =" is told from an expression by what the name's expression turns out to be. */
            struct jnode *n = jparse_expression(p);
            if (n->kind == JNODE_NAME && jparse_eat_op(p, "=")) {
                arg->value = jval_str(p->m, p->j->names[n->name], true);
                n = jparse_expression(p);
            }
            arg->a = n;
        }
        if (!arg->a) arg->a = jparse_expression(p);
        jparse_add(p, call, arg);
        if (!jparse_eat_op(p, ",")) break;
    }
    jparse_want_op(p, ")");
}

/* Calls of plain names are checked when the whole template is read, as macros may come later;
 * methods at once, as nothing can define one. */
static void check_callee(struct jparse *p, const struct jnode *n) {
    if (p->m->rc) return;
    if (n->kind == JNODE_NAME) {
        struct jcalled *c = jmem_get(p->m, 1, sizeof *c);
        if (!c) return;
        *c = (struct jcalled){n->name, n->line, p->called};
        p->called = c;
    }
    if (n->kind == JNODE_ATTR && !jspec_is_method(p->j->names[n->name])) {
        struct str name = p->j->names[n->name];
        p->m->line = n->line;
        jmem_fail(p->m, GLIM_UNSUPPORTED, "no method '%.*s' is known", (int)MIN(name.n, 60u),
                  name.p);
    }
}

static struct jnode *parse_call(struct jparse *p, struct jnode *callee) {
    struct jnode *n = jparse_node(p, JNODE_CALL);
    check_callee(p, callee);
    n->a = callee;
    parse_args(p, n);
    return n;
}

/* What is between the brackets of x[...]. */
static struct jnode *parse_subscript(struct jparse *p) {
    struct jnode *part[3] = {NULL, NULL, NULL};
    u32 n = 0;
    bool slice = false;
    struct jnode *made = jparse_node(p, JNODE_SLICE);
    while (!p->m->rc && !jparse_at_op(p, "]") && !jparse_at_op(p, ",")) {
        if (jparse_at_op(p, ":")) {
            slice = true;
            jparse_next(p);
            if (++n > 2) break;
            continue;
        }
        if (part[n]) break;
        part[n] = jparse_expression(p);
    }
    if (!slice) {
        if (!part[0]) jparse_unexpected(p, "an expression");
        return part[0];
    }
    made->a = part[0];
    made->b = part[1];
    made->c = part[2];
    return made;
}

/* Attributes, items and calls, as many as there are. */
static struct jnode *parse_postfix(struct jparse *p, struct jnode *n) {
    for (u32 depth = 0; !p->m->rc; depth++) {
        if (depth > JPARSE_DEPTH)
            jmem_fail(p->m, GLIM_FORMAT, "an expression is nested too deeply");
        if (jparse_at_op(p, ".")) {
            jparse_next(p);
            struct jnode *at = jparse_node(p, p->t.kind == JTOKEN_INT ? JNODE_ITEM : JNODE_ATTR);
            at->a = n;
            if (p->t.kind == JTOKEN_INT)
                at->b = jparse_number(p);
            else
                at->name = jparse_want_name(p);
            n = at;
        } else if (jparse_at_op(p, "[")) {
            jparse_next(p);
            struct jnode *at = jparse_node(p, JNODE_ITEM);
            at->a = n;
            at->b = parse_subscript(p);
            jparse_want_op(p, "]");
            n = at;
        } else if (jparse_at_op(p, "(")) {
            n = parse_call(p, n);
        } else {
            break;
        }
    }
    return n;
}

/* A filter's or test's name, dots included, and its row. */
static const struct jspec *parse_spec(struct jparse *p, bool test) {
    struct str name = p->t.text;
    u32 line = p->t.line;
    jparse_want_name(p);
    while (!p->m->rc && jparse_eat_op(p, ".")) {
        struct str part = p->t.text;
        jparse_want_name(p);
        if (!p->m->rc) name.n = (size_t)(part.p + part.n - name.p);
    }
    if (p->m->rc) return NULL;
    const struct jspec *spec = test ? jspec_test(name) : jspec_filter(name);
    if (spec) return spec;
    p->m->line = line;
    jmem_fail(p->m, GLIM_UNSUPPORTED, "no %s '%.*s' is known", test ? "test" : "filter",
              (int)MIN(name.n, 60u), name.p);
    return NULL;
}

struct jnode *jparse_filter(struct jparse *p, struct jnode *n) {
    struct jnode *f = jparse_node(p, JNODE_FILTER);
    f->a = n;
    f->spec = parse_spec(p, false);
    if (jparse_at_op(p, "(")) parse_args(p, f);
    return f;
}

/* A test's argument may stand without brackets: "x is divisibleby 3". */
static struct jnode *parse_test(struct jparse *p, struct jnode *n) {
    struct jnode *test = jparse_node(p, JNODE_TEST);
    jparse_next(p);
    bool negated = jparse_eat_name(p, "not");
    test->a = n;
    test->spec = parse_spec(p, true);
    if (jparse_at_op(p, "(")) {
        parse_args(p, test);
    } else if ((p->t.kind == JTOKEN_NAME && !jparse_at_name(p, "else") &&
                !jparse_at_name(p, "or") && !jparse_at_name(p, "and")) ||
               p->t.kind == JTOKEN_STRING || p->t.kind == JTOKEN_INT || p->t.kind == JTOKEN_FLOAT ||
               jparse_at_op(p, "[") || jparse_at_op(p, "{")) {
        if (jparse_at_name(p, "is"))
            jmem_fail(p->m, GLIM_FORMAT, "tests cannot be chained with is");
        struct jnode *arg = jparse_node(p, JNODE_ARG);
        arg->a = parse_postfix(p, parse_primary(p));
        jparse_add(p, test, arg);
    }
    if (!negated) return test;
    struct jnode *not = jparse_node(p, JNODE_NOT);
    not ->a = test;
    return not ;
}

/* Filters, tests and calls of their results. They bind tighter than any operator. */
static struct jnode *parse_filters(struct jparse *p, struct jnode *n) {
    for (u32 depth = 0; !p->m->rc; depth++) {
        if (depth > JPARSE_DEPTH)
            jmem_fail(p->m, GLIM_FORMAT, "an expression is nested too deeply");
        if (jparse_eat_op(p, "|"))
            n = jparse_filter(p, n);
        else if (jparse_at_name(p, "is"))
            n = parse_test(p, n);
        else if (jparse_at_op(p, "("))
            n = parse_call(p, n);
        else
            break;
    }
    return n;
}

/* Every way down into an expression comes through here, which is where depth is bounded. */
struct jnode *jparse_unary(struct jparse *p, bool filtered) {
    struct jnode *n;
    if (p->m->depth >= JPARSE_DEPTH)
        jmem_fail(p->m, GLIM_FORMAT, "an expression is nested too deeply");
    if (p->m->rc) return jparse_node(p, JNODE_CONST);
    p->m->depth++;
    if (jparse_at_op(p, "-") || jparse_at_op(p, "+")) {
        n = jparse_node(p, jparse_at_op(p, "-") ? JNODE_NEGATE : JNODE_PLUS);
        jparse_next(p);
        n->a = jparse_unary(p, false);
    } else {
        n = parse_primary(p);
    }
    n = parse_postfix(p, n);
    if (filtered) n = parse_filters(p, n);
    p->m->depth--;
    return n;
}

static struct jnode *binary(struct jparse *p, enum jnode_kind kind, enum jop op, struct jnode *a) {
    struct jnode *n = jparse_node(p, kind);
    n->op = op;
    n->a = a;
    jparse_next(p);
    return n;
}

/* A chain of left-associative operators may be as long as the steps of one evaluation are deep. */
static bool chain(struct jparse *p, u32 *links) {
    if (++*links <= JPARSE_DEPTH) return true;
    return jmem_fail(p->m, GLIM_FORMAT, "an expression is too long");
}

static struct jnode *parse_pow(struct jparse *p) {
    struct jnode *n = jparse_unary(p, true);
    u32 links = 0;
    while (!p->m->rc && jparse_at_op(p, "**") && chain(p, &links)) {
        n = binary(p, JNODE_MATH, JOP_POW, n);
        n->b = jparse_unary(p, true);
    }
    return n;
}

static struct jnode *parse_product(struct jparse *p) {
    struct jnode *n = parse_pow(p);
    u32 links = 0;
    while (!p->m->rc &&
           (jparse_at_op(p, "*") || jparse_at_op(p, "/") || jparse_at_op(p, "//") ||
            jparse_at_op(p, "%")) &&
           chain(p, &links)) {
        enum jop op = jparse_at_op(p, "//") ? JOP_FLOOR : (enum jop)p->t.text.p[0];
        n = binary(p, JNODE_MATH, op, n);
        n->b = parse_pow(p);
    }
    return n;
}

/* "~" joins all its neighbours at once, and binds tighter than "+". */
static struct jnode *parse_concat(struct jparse *p) {
    struct jnode *n = parse_product(p);
    if (!jparse_at_op(p, "~")) return n;
    struct jnode *all = jparse_node(p, JNODE_CONCAT);
    jparse_add(p, all, n);
    while (!p->m->rc && jparse_eat_op(p, "~"))
        jparse_add(p, all, parse_product(p));
    return all;
}

static struct jnode *parse_sum(struct jparse *p) {
    struct jnode *n = parse_concat(p);
    u32 links = 0;
    while (!p->m->rc && (jparse_at_op(p, "+") || jparse_at_op(p, "-")) && chain(p, &links)) {
        n = binary(p, JNODE_MATH, (enum jop)p->t.text.p[0], n);
        n->b = parse_concat(p);
    }
    return n;
}

static enum jop compare_op(struct jparse *p) {
    static const struct {
        const char *text;
        enum jop op;
    } ops[] = {{"==", JOP_EQ}, {"!=", JOP_NE}, {"<", JOP_LT},
               {"<=", JOP_LE}, {">", JOP_GT},  {">=", JOP_GE}};
    for (size_t i = 0; i < COUNT(ops); i++) {
        if (jparse_eat_op(p, ops[i].text)) return ops[i].op;
    }
    if (jparse_eat_name(p, "in")) return JOP_IN;
    if (!jparse_at_name(p, "not")) return JOP_NONE;
    /* "a not in b"; anything else behind an operand cannot begin with not. */
    jparse_next(p);
    if (!jparse_eat_name(p, "in")) jparse_unexpected(p, "in");
    return JOP_NOT_IN;
}

/* "a < b < c" is one comparison, in which each operand is evaluated once. */
static struct jnode *parse_compare(struct jparse *p) {
    struct jnode *first = parse_sum(p), *all = NULL;
    for (enum jop op; !p->m->rc && (op = compare_op(p)) != JOP_NONE;) {
        if (!all) {
            all = jparse_node(p, JNODE_COMPARE);
            all->a = first;
        }
        struct jnode *operand = jparse_node(p, JNODE_OPERAND);
        operand->op = op;
        operand->a = parse_sum(p);
        jparse_add(p, all, operand);
    }
    return all ? all : first;
}

/* "not x is defined" negates the test: it is below comparisons, above tests. */
static struct jnode *parse_not(struct jparse *p) {
    if (!jparse_at_name(p, "not")) return parse_compare(p);
    if (p->m->depth >= JPARSE_DEPTH)
        jmem_fail(p->m, GLIM_FORMAT, "an expression is nested too deeply");
    struct jnode *n = jparse_node(p, JNODE_NOT);
    if (p->m->rc) return n;
    p->m->depth++;
    jparse_next(p);
    n->a = parse_not(p);
    p->m->depth--;
    return n;
}

static struct jnode *parse_and(struct jparse *p) {
    struct jnode *n = parse_not(p);
    u32 links = 0;
    while (!p->m->rc && jparse_at_name(p, "and") && chain(p, &links)) {
        n = binary(p, JNODE_AND, JOP_NONE, n);
        n->b = parse_not(p);
    }
    return n;
}

struct jnode *jparse_or(struct jparse *p) {
    struct jnode *n = parse_and(p);
    u32 links = 0;
    while (!p->m->rc && jparse_at_name(p, "or") && chain(p, &links)) {
        n = binary(p, JNODE_OR, JOP_NONE, n);
        n->b = parse_and(p);
    }
    return n;
}

/* "a if b else c", where else may be missing and c may be such a choice again. */
struct jnode *jparse_expression(struct jparse *p) {
    struct jnode *n = jparse_or(p);
    u32 links = 0;
    while (!p->m->rc && jparse_at_name(p, "if") && chain(p, &links)) {
        struct jnode *choice = binary(p, JNODE_IF_ELSE, JOP_NONE, n);
        choice->b = jparse_or(p);
        if (p->m->depth >= JPARSE_DEPTH)
            jmem_fail(p->m, GLIM_FORMAT, "an expression is nested too deeply");
        p->m->depth++;
        if (jparse_eat_name(p, "else")) choice->c = jparse_expression(p);
        p->m->depth--;
        n = choice;
    }
    return n;
}
