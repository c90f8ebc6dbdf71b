/* Go templates carried out: pipelines, bodies, and Ollama's ways with conversations. */
#include "text/gotmpl.h"

#include <string.h>

#include "text/gotmpl_node.h"

/* Where a template is: its variables, and what the dot is. */
struct gscope {
    struct gval *var; /* [n_slots] */
    struct gval dot;
};

static struct gval eval_pipe(struct grun *x, struct gscope *s, const struct gnode *n);
static void grun_walk(struct grun *x, struct gscope *s, const struct gnode *n, struct jbuf *out);

/* Counts a step and a level; false: too many, or failed. */
static bool grun_enter(struct grun *x, const struct gnode *n) {
    if (!jmem_step(x->m, 1)) return false;
    x->m->line = n->line;
    if (x->m->depth >= JMEM_DEPTH)
        return jmem_fail(x->m, GLIM_ARG, "templates and values are nested too deeply");
    x->m->depth++;
    return true;
}

/* ---- Pipelines ------------------------------------------------------------------------------- */

static struct gval grun_refuse(struct grun *x, const char *why) {
    jmem_fail(x->m, GLIM_ARG, "%s", why);
    return gval_nil();
}

/* Fields one after the other; a method ends the struct's or map's own. */
static struct gval grun_chain(struct grun *x, struct gval v, const struct gnode *n) {
    for (u32 i = 0; i < n->n_names && !x->m->rc; i++) {
        const struct gfun *method = gfun_method(v, n->names[i]);
        v = method ? method->call(x, &v, 1) : gval_field(x->m, v, n->names[i]);
    }
    return v;
}

static struct gval constant(struct jval v) {
    if (v.kind == JVAL_INT) return gval_int(v.i);
    return gval_of(&gtype_any, v);
}

/* Carries a function out. last: what the pipeline has before it, or NULL. */
static struct gval grun_call(struct grun *x, struct gscope *s, const struct gfun *f,
                             const struct gnode *command, u32 n_given, const struct gval *last);

/* One operand, as an argument or by itself. */
static struct gval grun_eval(struct grun *x, struct gscope *s, const struct gnode *n) {
    struct gval v = gval_nil();
    if (!grun_enter(x, n)) return v;
    switch (n->kind) {
    case GNODE_DOT:
        v = s->dot;
        break;
    case GNODE_FIELD:
        v = grun_chain(x, s->dot, n);
        break;
    case GNODE_VARIABLE:
        v = grun_chain(x, s->var[n->slot[0]], n);
        break;
    case GNODE_CHAIN:
        v = grun_chain(x, grun_eval(x, s, n->a), n);
        break;
    case GNODE_FUNCTION:
        v = grun_call(x, s, n->fun, NULL, 0, NULL);
        break;
    case GNODE_PIPE:
        v = eval_pipe(x, s, n);
        break;
    case GNODE_VALUE:
        v = constant(n->value);
        break;
    default:
        break; /* nil */
    }
    x->m->depth--;
    return v;
}

/* and, or: the first argument that decides is the value, else the last. */
static struct gval lazy(struct grun *x, struct gscope *s, const struct gnode *command, u32 n,
                        const struct gval *last, bool stops_at) {
    struct gval v = gval_nil();
    for (u32 i = 0; i < n && !x->m->rc; i++) {
        v = grun_eval(x, s, command->list[i + 1]);
        if (gval_true(v) == stops_at) return v;
    }
    return last ? *last : v;
}

static struct gval grun_call(struct grun *x, struct gscope *s, const struct gfun *f,
                             const struct gnode *command, u32 n_given, const struct gval *last) {
    u32 n = n_given + (last != NULL);
    bool stops_at;
    if (n < f->min || n > f->max) {
        jmem_fail(x->m, GLIM_ARG, "%s with %u argument%s", f->name, n, n == 1 ? "" : "s");
        return gval_nil();
    }
    if (gfun_is_lazy(f, &stops_at)) return lazy(x, s, command, n_given, last, stops_at);
    struct gval few[4], *arg = n <= COUNT(few) ? few : jmem_get(x->m, n, sizeof *arg);
    if (!arg) return gval_nil();
    for (u32 i = 0; i < n_given; i++)
        arg[i] = grun_eval(x, s, command->list[i + 1]);
    if (last) arg[n_given] = *last;
    return x->m->rc ? gval_nil() : f->call(x, arg, n);
}

/* How many of its words are left where what is behind the answer is left out. */
static u32 words(const struct grun *x, const struct gnode *command) {
    u32 n = 0;
    while (n < command->n && !(x->cutting && command->list[n]->gone))
        n++;
    return n;
}

static struct gval eval_command(struct grun *x, struct gscope *s, const struct gnode *command,
                                const struct gval *last) {
    const struct gnode *first = command->list[0];
    u32 n = words(x, command);
    if (n == 0) return gval_nil();
    if (first->kind == GNODE_FUNCTION) return grun_call(x, s, first->fun, command, n - 1, last);
    if (first->kind == GNODE_NIL) return grun_refuse(x, "nil is no command");
    if (n > 1 || last) return grun_refuse(x, "something that is no function is given an argument");
    return grun_eval(x, s, first);
}

static struct gval eval_pipe(struct grun *x, struct gscope *s, const struct gnode *n) {
    struct gval v = gval_nil();
    if (!grun_enter(x, n)) return v;
    for (u32 i = 0; i < n->n && !x->m->rc; i++)
        v = gval_plain(eval_command(x, s, n->list[i], i ? &v : NULL));
    for (u32 i = 0; i < n->n_slot && !x->m->rc; i++)
        s->var[n->slot[i]] = v;
    x->m->depth--;
    return x->m->rc ? gval_nil() : v;
}

/* ---- Bodies ---------------------------------------------------------------------------------- */

static bool is_gone(const struct grun *x, const struct gnode *n) {
    return x->cutting && n->gone;
}

static void walk_else(struct grun *x, struct gscope *s, const struct gnode *n, struct jbuf *out) {
    if (n->c && !is_gone(x, n->c)) grun_walk(x, s, n->c, out);
}

static void walk_if(struct grun *x, struct gscope *s, const struct gnode *n, struct jbuf *out) {
    struct gval v = eval_pipe(x, s, n->a);
    if (x->m->rc) return;
    struct gscope inner = *s;
    if (n->kind == GNODE_WITH) inner.dot = v;
    if (gval_true(v))
        grun_walk(x, &inner, n->b, out);
    else
        walk_else(x, s, n, out);
}

/* One turn of a loop; false: it was the last. */
static bool turn(struct grun *x, struct gscope *s, const struct gnode *n, struct gval key,
                 struct gval item, struct jbuf *out) {
    const struct gnode *pipe = n->a;
    struct gscope inner = {s->var, item};
    if (!jmem_step(x->m, 1)) return false;
    if (pipe->n_slot == 2) s->var[pipe->slot[0]] = key;
    if (pipe->n_slot) s->var[pipe->slot[pipe->n_slot - 1]] = item;
    grun_walk(x, &inner, n->b, out);
    bool leaves = x->leave == GRUN_BREAK;
    x->leave = GRUN_ON;
    return !leaves && !x->m->rc;
}

/* Of a number its count, of lists and maps their items, maps in the order of keys. */
static void walk_range(struct grun *x, struct gscope *s, const struct gnode *n, struct jbuf *out) {
    struct gval v = eval_pipe(x, s, n->a);
    if (x->m->rc) return;
    u64 count = 0;
    u32 *order = NULL;
    enum gkind kind = v.type ? v.type->kind : GKIND_LIST;
    if (kind == GKIND_INT) {
        if (n->a->n_slot == 2) grun_refuse(x, "a loop over a number has one variable");
        count = v.v.i > 0 ? (u64)v.v.i : 0;
    } else if (kind == GKIND_MAP) {
        count = v.v.kind == JVAL_DICT ? v.v.d->n : 0;
        order = count ? gmap_order(x->m, v.v.d) : NULL;
    } else if (kind == GKIND_LIST) {
        count = v.v.kind == JVAL_LIST ? v.v.l->n : 0;
    } else {
        jmem_fail(x->m, GLIM_ARG, "range over a value of type %s", gval_type(v));
    }
    if (count == 0 && !x->m->rc) walk_else(x, s, n, out);
    for (u64 i = 0; i < count && !x->m->rc; i++) {
        struct gval key = gval_int((i64)i), item = key;
        if (order) {
            key = gval_str(v.v.d->key[order[i]]);
            item = gval_of(v.type->elem, v.v.d->val[order[i]]);
        } else if (kind == GKIND_LIST) {
            item = gval_of(v.type->elem, v.v.l->v[i]);
        }
        if (!turn(x, s, n, key, item, out)) break;
    }
}

/* Another template sees nothing of this one's variables. */
static void walk_template(struct grun *x, u32 number, struct gval dot, struct jbuf *out) {
    const struct gtemplate *t = &x->t->all[number];
    struct gscope s = {jmem_get(x->m, t->n_slots, sizeof *s.var), dot};
    if (!s.var) return;
    for (u32 i = 0; i < t->n_slots; i++)
        s.var[i] = gval_nil();
    s.var[0] = dot;
    grun_walk(x, &s, t->body, out);
}

/* At the top of a pipeline nil is "<no value>", inside of lists and the like "<nil>". */
static void grun_print(struct grun *x, struct gval v, struct jbuf *out) {
    if (x->m->rc) return;
    if (v.type)
        gput_value(x->m, out, v);
    else
        jbuf_puts(x->m, out, "<no value>", true);
}

static void walk_node(struct grun *x, struct gscope *s, const struct gnode *n, struct jbuf *out) {
    struct gval v;
    switch (n->kind) {
    case GNODE_BODY:
        for (u32 i = 0; i < n->n && !x->m->rc && x->leave == GRUN_ON; i++) {
            if (!is_gone(x, n->list[i])) grun_walk(x, s, n->list[i], out);
        }
        break;
    case GNODE_TEXT:
        jbuf_str(x->m, out, n->value.s);
        break;
    case GNODE_ACTION:
        v = eval_pipe(x, s, n->a);
        if (n->a->n_slot == 0) grun_print(x, v, out);
        break;
    case GNODE_IF:
    case GNODE_WITH:
        walk_if(x, s, n, out);
        break;
    case GNODE_RANGE:
        walk_range(x, s, n, out);
        break;
    case GNODE_CALL:
        v = n->a ? eval_pipe(x, s, n->a) : gval_nil();
        if (!x->m->rc) walk_template(x, n->number, v, out);
        break;
    case GNODE_BREAK:
        x->leave = GRUN_BREAK;
        break;
    case GNODE_CONTINUE:
        x->leave = GRUN_CONTINUE;
        break;
    default:
        break; /* parts of pipelines */
    }
}

static void grun_walk(struct grun *x, struct gscope *s, const struct gnode *n, struct jbuf *out) {
    if (!grun_enter(x, n)) return;
    walk_node(x, s, n, out);
    x->m->depth--;
}

/* ---- Conversations --------------------------------------------------------------------------- */

/* Variables that are the same in all of a rendering. Where a template has a place for thoughts,
 * Ollama has the model think unless it is told not to. */
static struct jval grun_variables(const struct gotmpl *t, struct jmem *m,
                                  const struct gotmpl_request *r) {
    static const char *const switches[] = {"think", "enable_thinking", "thinking"};
    struct jval all = jval_list(m, JLIST_LIST);
    struct jval think = jval_none(), level = jval_none();
    for (u32 i = 0; r->more && i < COUNT(switches) && think.kind == JVAL_NONE; i++) {
        const struct jval *v = jdict_find(r->more, switches[i]);
        if (v && (v->kind == JVAL_BOOL || v->kind == JVAL_STR)) think = *v;
    }
    const struct jval *effort = r->more ? jdict_find(r->more, "reasoning_effort") : NULL;
    if (think.kind == JVAL_NONE && !effort && gotmpl_reads(t, "thinking")) think = jval_bool(true);
    if (think.kind == JVAL_STR)
        level = think;
    else if (effort && effort->kind == JVAL_STR && (think.kind == JVAL_NONE || think.b))
        think = level = *effort;
    else if (think.kind == JVAL_BOOL && think.b)
        level = jval_text(m, "medium", true);
    for (u32 i = 0; i < GROOT_COUNT && !m->rc; i++)
        jlist_push(m, all.l, (struct jval){.kind = JVAL_ABSENT});
    if (m->rc) return all;
    struct jval *v = all.l->v;
    bool set = think.kind != JVAL_NONE;
    v[GROOT_THINK] = jval_bool(set && (think.kind == JVAL_STR || think.b));
    v[GROOT_LEVEL] = level.kind == JVAL_STR ? level : jval_text(m, "", true);
    v[GROOT_THINK_SET] = jval_bool(set);
    if (r->more)
        v[GROOT_MORE] = (struct jval){.kind = JVAL_DICT, .d = (struct jdict *)(uintptr_t)r->more};
    return all;
}

static const struct jstr *message_text(struct jval message, enum gmessage field) {
    return message.l->v[field].s;
}

/* Text behind text, a blank line between them. */
static struct jval joined(struct jmem *m, const struct jstr *a, const struct jstr *b) {
    struct jbuf both = {0};
    jbuf_str(m, &both, a);
    jbuf_puts(m, &both, "\n\n", true);
    jbuf_str(m, &both, b);
    return jbuf_done(m, &both);
}

/* Messages of one role that follow each other are one, but for those of tools. *system: what all
 * system messages say. */
static struct jval collate(struct jmem *m, struct jval messages, struct jval *system) {
    struct jval all = jval_list(m, JLIST_LIST);
    bool first = true;
    *system = jval_str(m, (struct str){"", 0}, false);
    for (u64 i = 0; i < messages.l->n && !m->rc; i++) {
        struct jval message = messages.l->v[i];
        const struct jstr *role = message_text(message, GMESSAGE_ROLE);
        const struct jstr *content = message_text(message, GMESSAGE_CONTENT);
        if (str_is(role->t, "system")) {
            *system = first ? jval_of_str(content) : joined(m, system->s, content);
            first = false;
        }
        struct jval *before = all.l->n ? &all.l->v[all.l->n - 1] : NULL;
        bool same = before && !str_is(role->t, "tool") &&
                    jval_equal(m, before->l->v[GMESSAGE_ROLE], jval_of_str(role));
        if (same)
            before->l->v[GMESSAGE_CONTENT] =
                joined(m, message_text(*before, GMESSAGE_CONTENT), content);
        else
            jlist_push(m, all.l, message);
    }
    return all;
}

static void grun_render(struct grun *x, struct jval root, struct jbuf *out) {
    if (x->m->rc) return;
    walk_template(x, 0, (struct gval){&gtype_root, root}, out);
}

/* A template of one turn: each turn that is complete as it is, the last one up to its answer. */
static void grun_turns(struct grun *x, struct jval root, struct jval messages, struct jbuf *out) {
    struct jval *v = root.l->v, empty = jval_str(x->m, (struct str){"", 0}, false);
    v[GROOT_SYSTEM] = v[GROOT_PROMPT] = v[GROOT_RESPONSE] = empty;
    for (u64 i = 0; i < messages.l->n && !x->m->rc; i++) {
        const struct jstr *role = message_text(messages.l->v[i], GMESSAGE_ROLE);
        struct jval content = messages.l->v[i].l->v[GMESSAGE_CONTENT];
        bool system = str_is(role->t, "system"), user = str_is(role->t, "user");
        bool full = v[GROOT_RESPONSE].s->t.n || (system && v[GROOT_PROMPT].s->t.n);
        if ((system || user) && full) {
            grun_render(x, root, out);
            v[GROOT_SYSTEM] = v[GROOT_PROMPT] = v[GROOT_RESPONSE] = empty;
        }
        if (system)
            v[GROOT_SYSTEM] = content;
        else if (user)
            v[GROOT_PROMPT] = content;
        else if (str_is(role->t, "assistant"))
            v[GROOT_RESPONSE] = content;
        else
            jmem_fail(x->m, GLIM_ARG,
                      "message %llu: a template of single turns has no place for "
                      "the role '%.*s'",
                      (unsigned long long)i + 1, (int)MIN(role->t.n, 40u), role->t.p);
    }
    x->cutting = true;
    grun_render(x, root, out);
}

int gotmpl_render(const struct gotmpl *t, struct jmem *m, const struct gotmpl_request *r,
                  struct jinja_result *out) {
    struct grun x = {.t = t, .m = m, .now = r->now};
    struct jbuf b = {0};
    *out = (struct jinja_result){.text = {"", 0}, .ours = true};
    struct jval root = grun_variables(t, m, r), system;
    struct jval messages = gotmpl_messages(m, r->messages, gotmpl_reads(t, "thinking"));
    if (m->rc) return m->rc;
    messages = collate(m, messages, &system);
    if (m->rc) return m->rc;
    if (t->reads_messages) {
        root.l->v[GROOT_SYSTEM] = system;
        root.l->v[GROOT_MESSAGES] = messages;
        root.l->v[GROOT_TOOLS] = gotmpl_tools(m, r->tools);
        root.l->v[GROOT_RESPONSE] = jval_str(m, (struct str){"", 0}, false);
        grun_render(&x, root, &b);
    } else {
        grun_turns(&x, root, messages, &b);
    }
    if (m->rc) return m->rc;
    *out = (struct jinja_result){{b.n ? b.p : "", b.n}, b.n ? b.marks : NULL, b.n == 0 || b.ours};
    return GLIM_OK;
}
