/* What a template cannot do in any conversation is said when it is read: fields that Ollama's types
 * do not have, functions with too few or too many arguments. Types are followed as far as they are
 * known; what may be anything is looked at when it is carried out. So are fields where a condition
 * stands before them: in Ollama's library there are templates that work as long as nobody has
 * tools. */
#include "text/gotmpl_node.h"

#include <string.h>

struct gcheck {
    struct jmem *m;
    const struct gtype **var; /* [n_slots] NULL: may be anything */
    const bool *assigned;     /* [n_slots] something is put into it later */
    const struct gtype *dot;
    u32 conditions; /* around here */
};

static const struct gtype *check_pipe(struct gcheck *c, const struct gnode *n);
static void check_node(struct gcheck *c, const struct gnode *n);

/* What may be anything is not followed. */
static const struct gtype *known(const struct gtype *t) {
    return t && t->kind == GKIND_ANY ? NULL : t;
}

static const struct gtype *field_of(struct gcheck *c, const struct gtype *t, const struct gnode *n,
                                    struct str name) {
    struct gval v = {t, jval_none()};
    if (!t) return NULL;
    if (gfun_method(v, name)) return &gtype_str;
    for (u32 i = 0; i < t->n_field; i++) {
        if (str_is(name, t->field[i].name)) return known(t->field[i].type);
    }
    if (t->kind == GKIND_ROOT) return NULL; /* callers may add variables */
    if (t->kind == GKIND_MAP) return known(t->elem);
    if (c->conditions) return NULL;
    c->m->line = n->line;
    jmem_fail(c->m, GLIM_UNSUPPORTED, "there is no '%.*s' in a value of type %s",
              (int)MIN(name.n, 60u), name.p, t->name);
    return NULL;
}

static const struct gtype *gcheck_operand(struct gcheck *c, const struct gnode *n) {
    const struct gtype *t = NULL;
    if (n->kind == GNODE_PIPE) return check_pipe(c, n);
    if (n->kind == GNODE_DOT || n->kind == GNODE_FIELD) t = c->dot;
    if (n->kind == GNODE_VARIABLE) t = c->var[n->slot[0]];
    if (n->kind == GNODE_CHAIN) t = gcheck_operand(c, n->a);
    for (u32 i = 0; i < n->n_names && !c->m->rc; i++)
        t = field_of(c, t, n, n->names[i]);
    return t;
}

static void check_count(struct gcheck *c, const struct gnode *n, const struct gfun *f, u32 count) {
    if (count >= f->min && count <= f->max) return;
    c->m->line = n->line;
    jmem_fail(c->m, GLIM_FORMAT, "%s has %u argument%s here", f->name, count,
              count == 1 ? "" : "s");
}

/* piped: the pipeline has an argument for it. */
static const struct gtype *check_command(struct gcheck *c, const struct gnode *n, bool piped) {
    const struct gnode *first = n->list[0];
    const struct gtype *t = gcheck_operand(c, first), *arg = NULL;
    for (u32 i = 1; i < n->n && !c->m->rc; i++) {
        const struct gtype *at = gcheck_operand(c, n->list[i]);
        if (n->list[i]->kind == GNODE_FUNCTION && !c->m->rc) check_count(c, n, n->list[i]->fun, 0);
        if (i == 1) arg = at;
    }
    if (c->m->rc || first->kind != GNODE_FUNCTION) return t;
    check_count(c, n, first->fun, n->n - 1 + piped);
    if (piped || !arg) return NULL;
    if (strcmp(first->fun->name, "slice") == 0) return arg;
    bool item = strcmp(first->fun->name, "index") == 0 && n->n == 3;
    return item && (arg->kind == GKIND_LIST || arg->kind == GKIND_MAP) ? known(arg->elem) : NULL;
}

static const struct gtype *check_pipe(struct gcheck *c, const struct gnode *n) {
    const struct gtype *t = NULL;
    for (u32 i = 0; i < n->n && !c->m->rc; i++)
        t = check_command(c, n->list[i], i > 0);
    for (u32 i = 0; i < n->n_slot; i++)
        c->var[n->slot[i]] = c->assigned[n->slot[i]] ? NULL : t;
    return t;
}

/* The variables of a loop are of other types than what it loops over. That there is something to
 * loop over is a condition, too, but for messages. */
static void check_range(struct gcheck *c, const struct gnode *n) {
    const struct gtype *t = check_pipe(c, n->a), *outer = c->dot, *item = NULL;
    if (t && (t->kind == GKIND_LIST || t->kind == GKIND_MAP)) item = known(t->elem);
    for (u32 i = 0; i < n->a->n_slot; i++) {
        u32 slot = n->a->slot[i];
        bool last = i + 1 == n->a->n_slot;
        c->var[slot] = last && !c->assigned[slot] ? item : NULL;
    }
    u32 conditions = c->conditions;
    c->conditions += t != &gtype_messages;
    c->dot = item;
    check_node(c, n->b);
    c->dot = outer;
    if (n->c) check_node(c, n->c);
    c->conditions = conditions;
}

static void check_node(struct gcheck *c, const struct gnode *n) {
    const struct gtype *outer = c->dot, *t;
    if (c->m->rc) return;
    switch (n->kind) {
    case GNODE_BODY:
        for (u32 i = 0; i < n->n; i++)
            check_node(c, n->list[i]);
        break;
    case GNODE_IF:
    case GNODE_WITH:
        t = check_pipe(c, n->a);
        if (n->kind == GNODE_WITH) c->dot = t;
        c->conditions++;
        check_node(c, n->b);
        c->dot = outer;
        if (n->c) check_node(c, n->c);
        c->conditions--;
        break;
    case GNODE_RANGE:
        check_range(c, n);
        break;
    default:
        if (n->a) check_pipe(c, n->a);
    }
}

/* The variables that something is put into. */
static void find_assigned(const struct gnode *n, bool *assigned) {
    if (!n) return;
    for (u32 i = 0; n->kind == GNODE_PIPE && n->assigns && i < n->n_slot; i++)
        assigned[n->slot[i]] = true;
    for (u32 i = 0; i < n->n; i++)
        find_assigned(n->list[i], assigned);
    find_assigned(n->a, assigned);
    find_assigned(n->b, assigned);
    find_assigned(n->c, assigned);
}

void gotmpl_check(struct gotmpl *t, struct jmem *m) {
    for (u32 i = 0; i < t->n && !m->rc; i++) {
        const struct gtemplate *at = &t->all[i];
        struct gcheck c = {.m = m, .dot = i == 0 ? &gtype_root : NULL};
        bool *assigned = jmem_get(m, at->n_slots, sizeof *assigned);
        c.assigned = assigned;
        c.var = jmem_get(m, at->n_slots, sizeof *c.var);
        if (m->rc) return;
        find_assigned(at->body, assigned);
        c.var[0] = c.dot;
        check_node(&c, at->body);
    }
}
