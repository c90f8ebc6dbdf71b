/* Statements of templates, and opening a program. */
#include <string.h>

#include "text/jinja_parse.h"

static struct jnode *parse_until(struct jparse *p, const char *const *ends);

/* ---- Targets --------------------------------------------------------------------------------- */

/* What a value is given to: a name, or several, in brackets or not. */
static struct jnode *parse_target_one(struct jparse *p) {
    struct jnode *n;
    if (jparse_at_op(p, "(")) {
        if (p->m->depth >= JPARSE_DEPTH)
            jmem_fail(p->m, GLIM_FORMAT, "a target is nested too deeply");
        n = jparse_node(p, JNODE_TUPLE);
        p->m->depth++;
        jparse_next(p);
        while (!p->m->rc && !jparse_at_op(p, ")")) {
            jparse_add(p, n, parse_target_one(p));
            if (!jparse_eat_op(p, ",")) break;
        }
        p->m->depth--;
        jparse_want_op(p, ")");
        return n;
    }
    n = jparse_node(p, JNODE_NAME);
    n->name = jparse_want_name(p);
    jparse_gets_value(p, n->name);
    return n;
}

static struct jnode *parse_target(struct jparse *p) {
    struct jnode *first = parse_target_one(p);
    if (!jparse_at_op(p, ",")) return first;
    struct jnode *all = jparse_node(p, JNODE_TUPLE);
    jparse_add(p, all, first);
    while (!p->m->rc && jparse_eat_op(p, ",")) {
        if (p->t.kind != JTOKEN_NAME && !jparse_at_op(p, "(")) break;
        if (jparse_at_name(p, "in")) break;
        jparse_add(p, all, parse_target_one(p));
    }
    return all;
}

/* ---- Statements ------------------------------------------------------------------------------ */

/* Behind the name of a tag: its end, and the text up to one of the tags that may follow, whose name
 * is current then. */
static struct jnode *parse_body(struct jparse *p, const char *const *ends) {
    jparse_want_end(p);
    return parse_until(p, ends);
}

static struct jnode *parse_end(struct jparse *p, const char *end) {
    const char *const ends[] = {end, NULL};
    struct jnode *body = parse_body(p, ends);
    jparse_next(p);
    return body;
}

/* elif is an if in the else branch; the last one has the else. */
static struct jnode *parse_if(struct jparse *p) {
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    struct jnode *first = jparse_node(p, JNODE_IF), *n = first;
    for (;;) {
        jparse_next(p); /* if, elif */
        n->a = jparse_tuple(p, false, NULL, false);
        n->b = parse_body(p, ends);
        if (p->m->rc || !jparse_at_name(p, "elif")) break;
        n->c = jparse_node(p, JNODE_IF);
        n = n->c;
    }
    if (jparse_at_name(p, "else")) {
        jparse_next(p);
        n->c = parse_end(p, "endif");
    } else {
        jparse_next(p);
    }
    return first;
}

/* break and continue are for the body alone, not for the else. */
static struct jnode *parse_for(struct jparse *p) {
    static const char *const ends[] = {"else", "endfor", NULL};
    struct jnode *n = jparse_node(p, JNODE_FOR), *body, *otherwise = NULL;
    jparse_next(p);
    n->a = parse_target(p);
    if (!jparse_eat_name(p, "in")) jparse_unexpected(p, "in");
    n->b = jparse_tuple(p, false, "recursive", false);
    if (jparse_eat_name(p, "if")) n->c = jparse_expression(p);
    if (jparse_at_name(p, "recursive"))
        jmem_fail(p->m, GLIM_UNSUPPORTED, "recursive loops are not supported");
    p->loops++;
    body = parse_body(p, ends);
    p->loops--;
    bool has_else = jparse_at_name(p, "else");
    jparse_next(p);
    if (has_else) otherwise = parse_end(p, "endfor");
    jparse_add(p, n, body);
    jparse_add(p, n, otherwise);
    return n;
}

/* Filters behind each other, the innermost with nothing in front. */
static struct jnode *parse_filter_chain(struct jparse *p) {
    struct jnode *n = jparse_filter(p, NULL);
    for (u32 i = 0; !p->m->rc && jparse_eat_op(p, "|"); i++) {
        if (i == JPARSE_DEPTH) jmem_fail(p->m, GLIM_FORMAT, "too many filters");
        n = jparse_filter(p, n);
    }
    return n;
}

/* "set a = 1", "set a, b = 1, 2", "set ns.a = 1", or a block whose text is the value. */
static struct jnode *parse_set(struct jparse *p) {
    struct jnode *n = jparse_node(p, JNODE_SET);
    jparse_next(p);
    struct jnode *target = parse_target(p);
    if (target->kind == JNODE_NAME && jparse_eat_op(p, ".")) {
        struct str attr = p->t.text;
        target->kind = JNODE_NS_ATTR;
        jparse_want_name(p);
        target->value = jval_str(p->m, attr, true);
    }
    n->a = target;
    if (jparse_eat_op(p, "=")) {
        n->b = jparse_tuple(p, true, NULL, false);
        return n;
    }
    n->kind = JNODE_SET_BLOCK;
    if (jparse_eat_op(p, "|")) n->c = parse_filter_chain(p);
    n->b = parse_end(p, "endset");
    return n;
}

/* (name, name=default, ...) */
static void parse_params(struct jparse *p, struct jnode *n) {
    jparse_want_op(p, "(");
    bool defaults = false;
    while (!p->m->rc && !jparse_at_op(p, ")")) {
        struct jnode *param = jparse_node(p, JNODE_PARAM);
        param->name = jparse_want_name(p);
        jparse_gets_value(p, param->name);
        if (jparse_eat_op(p, "=")) {
            param->a = jparse_expression(p);
            defaults = true;
        } else if (defaults) {
            jmem_fail(p->m, GLIM_FORMAT, "a parameter without default follows one that has one");
        }
        jparse_add(p, n, param);
        if (!jparse_eat_op(p, ",")) break;
    }
    jparse_want_op(p, ")");
}

/* A macro's or call block's inside; notes which of its hidden parameters are read. */
static void parse_macro_body(struct jparse *p, struct jnode *n, const char *end) {
    bool rest = p->reads_rest, kwargs = p->reads_kwargs, caller = p->reads_caller;
    u32 loops = p->loops;
    p->reads_rest = p->reads_kwargs = p->reads_caller = false;
    p->loops = 0;
    n->b = parse_end(p, end);
    n->takes_rest = p->reads_rest;
    n->takes_kwargs = p->reads_kwargs;
    n->takes_caller = p->reads_caller;
    p->reads_rest = rest;
    p->reads_kwargs = kwargs;
    p->reads_caller = caller;
    p->loops = loops;
}

/* Its name is known in all of the template, also before it. */
static struct jnode *parse_macro(struct jparse *p) {
    struct jnode *n = jparse_node(p, JNODE_MACRO);
    jparse_next(p);
    n->name = jparse_want_name(p);
    jparse_gets_value(p, n->name);
    parse_params(p, n);
    parse_macro_body(p, n, "endmacro");
    return n;
}

static struct jnode *parse_call_block(struct jparse *p) {
    struct jnode *n = jparse_node(p, JNODE_CALL_BLOCK);
    jparse_next(p);
    if (jparse_at_op(p, "(")) parse_params(p, n);
    n->a = jparse_expression(p);
    if (n->a->kind != JNODE_CALL && !p->m->rc)
        jmem_fail(p->m, GLIM_FORMAT, "a call block calls nothing");
    parse_macro_body(p, n, "endcall");
    return n;
}

static struct jnode *parse_filter_block(struct jparse *p) {
    struct jnode *n = jparse_node(p, JNODE_FILTER_BLOCK);
    jparse_next(p);
    n->c = parse_filter_chain(p);
    n->b = parse_end(p, "endfilter");
    return n;
}

/* The values are evaluated outside, so that "with a = a" takes the outer one. */
static struct jnode *parse_with(struct jparse *p) {
    struct jnode *n = jparse_node(p, JNODE_WITH);
    jparse_next(p);
    while (!p->m->rc && p->t.kind != JTOKEN_BLOCK_END) {
        struct jnode *set = jparse_node(p, JNODE_SET);
        set->a = parse_target_one(p);
        jparse_want_op(p, "=");
        set->b = jparse_expression(p);
        jparse_add(p, n, set);
        if (!jparse_eat_op(p, ",")) break;
    }
    n->b = parse_end(p, "endwith");
    return n;
}

/* Marks what the model itself says, for training; nothing in a rendering. */
static struct jnode *parse_generation(struct jparse *p) {
    struct jnode *n = jparse_node(p, JNODE_WITH);
    jparse_next(p);
    n->b = parse_end(p, "endgeneration");
    return n;
}

static struct jnode *parse_leave(struct jparse *p) {
    struct jnode *n = jparse_node(p, jparse_at_name(p, "break") ? JNODE_BREAK : JNODE_CONTINUE);
    if (p->loops == 0) jmem_fail(p->m, GLIM_FORMAT, "'%.*s' outside of a loop", STR(p->t.text));
    jparse_next(p);
    return n;
}

static const struct {
    const char *tag;
    struct jnode *(*parse)(struct jparse *p);
} statements[] = {
    {"if", parse_if},           {"for", parse_for},
    {"set", parse_set},         {"macro", parse_macro},
    {"call", parse_call_block}, {"filter", parse_filter_block},
    {"with", parse_with},       {"break", parse_leave},
    {"continue", parse_leave},  {"generation", parse_generation},
};

/* The tag whose name is current, up to and with its last %}. */
static struct jnode *parse_statement(struct jparse *p) {
    if (p->m->depth >= JPARSE_DEPTH) jmem_fail(p->m, GLIM_FORMAT, "tags are nested too deeply");
    for (size_t i = 0; i < COUNT(statements) && !p->m->rc; i++) {
        if (!jparse_at_name(p, statements[i].tag)) continue;
        p->m->depth++;
        struct jnode *n = statements[i].parse(p);
        p->m->depth--;
        jparse_want_end(p);
        return n;
    }
    jmem_fail(p->m, GLIM_UNSUPPORTED, "the tag '%.*s' is not known here",
              (int)MIN(p->t.text.n, 60u), p->t.text.p);
    return jparse_node(p, JNODE_BODY);
}

/* Text and tags up to a tag of one of these names, which is current then; ends NULL: all. */
static struct jnode *parse_until(struct jparse *p, const char *const *ends) {
    struct jnode *body = jparse_node(p, JNODE_BODY);
    while (!p->m->rc) {
        if (p->t.kind == JTOKEN_TEXT) {
            struct jnode *n = jparse_node(p, JNODE_TEXT);
            n->value = jval_str(p->m, p->t.text, true);
            jparse_add(p, body, n);
            jparse_next(p);
        } else if (p->t.kind == JTOKEN_PRINT) {
            struct jnode *n = jparse_node(p, JNODE_PRINT);
            jparse_next(p);
            n->a = jparse_tuple(p, true, NULL, false);
            jparse_add(p, body, n);
            if (p->t.kind == JTOKEN_PRINT_END)
                jparse_next(p);
            else
                jparse_unexpected(p, "}}");
        } else if (p->t.kind == JTOKEN_BLOCK) {
            jparse_next(p);
            for (u32 i = 0; ends && ends[i]; i++) {
                if (jparse_at_name(p, ends[i])) return body;
            }
            jparse_add(p, body, parse_statement(p));
        } else {
            if (ends) jparse_unexpected(p, ends[0][0] == 'e' && ends[1] ? "an end tag" : ends[0]);
            break;
        }
    }
    return body;
}

/* ---- Programs -------------------------------------------------------------------------------- */

/* Every plain name that is called is a function, or something the template defines. */
static void check_called(struct jparse *p) {
    const struct jcalled *unknown = NULL;
    for (const struct jcalled *c = p->called; c; c = c->next) {
        bool known =
            (c->name < p->n_set && p->set[c->name]) || jspec_function(p->j->names[c->name]);
        if (!known) unknown = c; /* the first in the template is the last in the list */
    }
    if (!unknown) return;
    struct str name = p->j->names[unknown->name];
    p->m->line = unknown->line;
    jmem_fail(p->m, GLIM_UNSUPPORTED, "no function '%.*s' is known", (int)MIN(name.n, 60u), name.p);
}

/* What a template may take: its tree is some hundred bytes for each tag or operator. */
#define TREE_LIMIT(bytes) ((u64)(bytes)*1024 + (1u << 20))

int jinja_open(struct jinja **out, struct str template, struct arena *a, glim_err *e) {
    struct jmem m;
    *out = NULL;
    jmem_init(&m, a, TREE_LIMIT(template.n), UINT64_MAX, e);
    struct jinja *j = jmem_get(&m, 1, sizeof *j);
    struct jparse *p = jmem_get(&m, 1, sizeof *p);
    if (!j || !p) return m.rc;
    p->j = j;
    p->m = &m;
    j->name_loop = jinja_name(&m, j, (struct str){"loop", 4});
    j->name_caller = jinja_name(&m, j, (struct str){"caller", 6});
    j->name_varargs = jinja_name(&m, j, (struct str){"varargs", 7});
    j->name_kwargs = jinja_name(&m, j, (struct str){"kwargs", 6});
    jparse_gets_value(p, j->name_caller);
    jlex_begin(&p->lex, &m, jlex_source(&m, template));
    jparse_next(p);
    j->body = parse_until(p, NULL);
    if (!m.rc) check_called(p);
    if (m.rc) return m.rc;
    *out = j;
    return GLIM_OK;
}

bool jinja_reads(const struct jinja *j, const char *name) {
    for (u32 i = 0; i < j->n_names; i++) {
        if (str_is(j->names[i], name)) return true;
    }
    return false;
}
