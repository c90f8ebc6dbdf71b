/* Statements, macros, and renderings as a whole. */
#include "text/jinja_run.h"

#include <string.h>

/* ---- Setting --------------------------------------------------------------------------------- */

/* Several names take as many items. */
static void assign(struct jrun *x, struct jframe *f, const struct jnode *target, struct jval v) {
    if (x->m->rc) return;
    if (target->kind == JNODE_NAME) {
        jframe_set(x, f, target->name, v);
        return;
    }
    struct jlist *all = jval_walk(x->m, v);
    if (!all) return;
    if (all->n != target->n) {
        jmem_fail(x->m, GLIM_ARG, "%llu values for %u names", (unsigned long long)all->n,
                  target->n);
        return;
    }
    for (u32 i = 0; i < target->n; i++)
        assign(x, f, target->list[i], all->v[i]);
}

/* The one thing that templates can change: what a loop is to remember goes into a namespace. */
static void set_attr(struct jrun *x, struct jframe *f, const struct jnode *target, struct jval v) {
    struct jnode name = {.kind = JNODE_NAME, .line = target->line, .name = target->name};
    struct jval ns = jinja_eval(x, f, &name);
    if (ns.kind != JVAL_NAMESPACE)
        jmem_fail(x->m, GLIM_ARG, "cannot assign attribute on non-namespace object");
    else
        jdict_set(x->m, ns.d, target->value, v);
}

static void exec_set(struct jrun *x, struct jframe *f, const struct jnode *n) {
    struct jval v;
    if (n->kind == JNODE_SET) {
        v = jinja_eval(x, f, n->b);
    } else {
        struct jbuf b = {0};
        jinja_exec(x, jframe_open(x, f), n->b, &b);
        v = jbuf_done(x->m, &b);
        if (n->c && !x->m->rc) v = jinja_filters(x, f, n->c, v);
    }
    if (x->m->rc) return;
    if (n->a->kind == JNODE_NS_ATTR)
        set_attr(x, f, n->a, v);
    else
        assign(x, f, n->a, v);
}

/* ---- Loops ----------------------------------------------------------------------------------- */

/* The items for which the loop's condition holds. */
static struct jlist *filtered(struct jrun *x, struct jframe *f, const struct jnode *n,
                              struct jlist *all) {
    struct jval kept = jval_list(x->m, JLIST_LIST);
    for (u64 i = 0; i < all->n && !x->m->rc; i++) {
        struct jframe *inner = jframe_open(x, f);
        assign(x, inner, n->a, all->v[i]);
        if (!x->m->rc && jval_true(jinja_eval(x, inner, n->c))) jlist_push(x->m, kept.l, all->v[i]);
    }
    return x->m->rc ? NULL : kept.l;
}

/* Each turn has a scope of its own: what it sets is gone in the next. A scope is used again unless
 * a macro was made that may have kept it. */
static void exec_for(struct jrun *x, struct jframe *f, const struct jnode *n, struct jbuf *out) {
    struct jlist *all = jval_walk(x->m, jinja_eval(x, f, n->b));
    if (all && n->c) all = filtered(x, f, n, all);
    struct jloop *loop = jmem_get(x->m, 1, sizeof *loop);
    if (!all || !loop) return;
    loop->all = all;
    loop->changed.kind = JVAL_ABSENT;
    struct jframe *inner = NULL;
    for (u64 captured = 0; loop->at < all->n && jmem_step(x->m, 1); loop->at++) {
        if (!inner || captured != x->captured) inner = jframe_open(x, f);
        if (!inner) break;
        captured = x->captured;
        inner->n = 0;
        assign(x, inner, n->a, all->v[loop->at]);
        jframe_set(x, inner, x->j->name_loop, (struct jval){.kind = JVAL_LOOP, .loop = loop});
        jinja_exec(x, inner, n->list[0], out);
        bool leave = x->leave == JRUN_BREAK;
        x->leave = JRUN_ON;
        if (leave) break;
    }
    if (all->n == 0 && n->list[1]) jinja_exec(x, jframe_open(x, f), n->list[1], out);
}

/* A branch is no scope: what it sets stays. */
static void exec_if(struct jrun *x, struct jframe *f, const struct jnode *n, struct jbuf *out) {
    while (n && n->kind == JNODE_IF) {
        bool yes = jval_true(jinja_eval(x, f, n->a));
        if (x->m->rc) return;
        if (yes) {
            jinja_exec(x, f, n->b, out);
            return;
        }
        n = n->c;
    }
    if (n) jinja_exec(x, f, n, out);
}

/* ---- Macros ---------------------------------------------------------------------------------- */

static struct jval macro_value(struct jrun *x, struct jframe *f, const struct jnode *n) {
    struct jfun *fun = jmem_get(x->m, 1, sizeof *fun);
    if (!fun) return jval_undefined();
    fun->macro = n;
    fun->scope = f;
    x->captured++;
    return (struct jval){.kind = JVAL_FUNCTION, .fun = fun};
}

/* Gives parameter i its value: by place, by name, or none yet. Marks the keyword as used. */
static struct jval argument(struct jrun *x, const struct jnode *macro, u32 i,
                            const struct jval *pos, u32 n_pos, const struct jkeyword *key,
                            u32 n_key, bool *used) {
    if (i < n_pos) return pos[i];
    struct str name = x->j->names[macro->list[i]->name];
    for (u32 k = 0; k < n_key; k++) {
        if (key[k].name.n != name.n || memcmp(key[k].name.p, name.p, name.n) != 0) continue;
        used[k] = true;
        return key[k].v;
    }
    return (struct jval){.kind = JVAL_ABSENT};
}

/* What is left of the arguments: into varargs, kwargs and caller, or an error. */
static void hidden_arguments(struct jrun *x, struct jframe *f, const struct jnode *macro,
                             const struct jval *pos, u32 n_pos, const struct jkeyword *key,
                             u32 n_key, bool *used) {
    struct jval rest = jval_list(x->m, JLIST_TUPLE), kwargs = jval_dict(x->m);
    struct jval caller = jval_missing(x->m, (struct str){"caller", 6});
    for (u32 i = macro->n; i < n_pos; i++)
        jlist_push(x->m, rest.l, pos[i]);
    for (u32 k = 0; k < n_key && !x->m->rc; k++) {
        if (used[k]) continue;
        if (macro->takes_caller && str_is(key[k].name, "caller")) {
            caller = key[k].v;
        } else if (macro->takes_kwargs) {
            jdict_set(x->m, kwargs.d, jval_str(x->m, key[k].name, true), key[k].v);
        } else {
            jmem_fail(x->m, GLIM_ARG, "the macro takes no argument '%.*s'",
                      (int)MIN(key[k].name.n, 60u), key[k].name.p);
        }
    }
    if (n_pos > macro->n && !macro->takes_rest)
        jmem_fail(x->m, GLIM_ARG, "the macro takes not more than %u arguments", macro->n);
    if (macro->takes_rest) jframe_set(x, f, x->j->name_varargs, rest);
    if (macro->takes_kwargs) jframe_set(x, f, x->j->name_kwargs, kwargs);
    if (macro->takes_caller) jframe_set(x, f, x->j->name_caller, caller);
}

/* Defaults are evaluated at each call, where earlier parameters are known already. */
struct jval jinja_call_macro(struct jrun *x, const struct jfun *fun, const struct jval *pos,
                             u32 n_pos, const struct jkeyword *key, u32 n_key) {
    const struct jnode *macro = fun->macro;
    struct jframe *f = jframe_open(x, fun->scope);
    bool *used = jmem_get(x->m, n_key, sizeof *used);
    if (x->m->rc) return jval_undefined();
    for (u32 i = 0; i < macro->n && !x->m->rc; i++) {
        const struct jnode *param = macro->list[i];
        struct jval v = argument(x, macro, i, pos, n_pos, key, n_key, used);
        if (v.kind == JVAL_ABSENT)
            v = param->a ? jinja_eval(x, f, param->a)
                         : jval_missing(x->m, x->j->names[param->name]);
        jframe_set(x, f, param->name, v);
    }
    hidden_arguments(x, f, macro, pos, n_pos, key, n_key, used);
    if (x->m->rc) return jval_undefined();
    struct jbuf b = {0};
    jinja_exec(x, f, macro->b, &b);
    return jbuf_done(x->m, &b);
}

/* ---- Statements ------------------------------------------------------------------------------ */

/* What break or continue left behind in a body is not carried out. */
static void exec_node(struct jrun *x, struct jframe *f, const struct jnode *n, struct jbuf *out) {
    struct jbuf b = {0};
    switch (n->kind) {
    case JNODE_TEXT:
        jbuf_str(x->m, out, n->value.s);
        break;
    case JNODE_PRINT:
        jbuf_value(x->m, out, jinja_eval(x, f, n->a));
        break;
    case JNODE_BODY:
        for (u32 i = 0; i < n->n && !x->m->rc && x->leave == JRUN_ON; i++)
            jinja_exec(x, f, n->list[i], out);
        break;
    case JNODE_IF:
        exec_if(x, f, n, out);
        break;
    case JNODE_FOR:
        exec_for(x, f, n, out);
        break;
    case JNODE_SET:
    case JNODE_SET_BLOCK:
        exec_set(x, f, n);
        break;
    case JNODE_MACRO:
        jframe_set(x, f, n->name, macro_value(x, f, n));
        break;
    case JNODE_CALL_BLOCK:
        jbuf_value(x->m, out, jinja_eval_call(x, f, n->a, macro_value(x, f, n)));
        break;
    case JNODE_FILTER_BLOCK:
        jinja_exec(x, jframe_open(x, f), n->b, &b);
        if (!x->m->rc) jbuf_value(x->m, out, jinja_filters(x, f, n->c, jbuf_done(x->m, &b)));
        break;
    case JNODE_WITH: {
        struct jframe *inner = jframe_open(x, f);
        for (u32 i = 0; i < n->n && !x->m->rc; i++)
            assign(x, inner, n->list[i]->a, jinja_eval(x, f, n->list[i]->b));
        jinja_exec(x, inner, n->b, out);
        break;
    }
    case JNODE_BREAK:
        x->leave = JRUN_BREAK;
        break;
    case JNODE_CONTINUE:
        x->leave = JRUN_CONTINUE;
        break;
    default:
        break; /* expressions are evaluated, not carried out */
    }
}

void jinja_exec(struct jrun *x, struct jframe *f, const struct jnode *n, struct jbuf *out) {
    if (!jmem_step(x->m, 1)) return;
    if (x->m->depth >= JMEM_DEPTH) {
        jmem_fail(x->m, GLIM_ARG, "calls are nested too deeply");
        return;
    }
    x->m->depth++;
    x->m->line = n->line;
    exec_node(x, f, n, out);
    x->m->depth--;
}

int jinja_render(const struct jinja *j, struct jmem *m, const struct jdict *variables,
                 struct jinja_clock now, struct jinja_result *out) {
    struct jrun x = {.j = j, .m = m, .variables = variables, .now = now};
    struct jbuf b = {0};
    *out = (struct jinja_result){.text = {"", 0}, .ours = true};
    struct jframe *f = jframe_open(&x, NULL);
    for (u32 i = 0; i < j->n_names && f; i++) {
        struct jstr name = {j->names[i], NULL, true};
        const struct jval *v = variables ? jdict_get(variables, jval_of_str(&name)) : NULL;
        if (v) jframe_set(&x, f, i, *v);
    }
    if (f) jinja_exec(&x, f, j->body, &b);
    if (m->rc) return m->rc;
    *out = (struct jinja_result){{b.n ? b.p : "", b.n}, b.n ? b.marks : NULL, b.n == 0 || b.ours};
    return GLIM_OK;
}
