/* Go templates from tokens to trees. Variables become numbers of places: each template counts its
 * own, $ being 0. */
#include "text/gotmpl.h"

#include <string.h>

#include "text/gotmpl_node.h"

enum { GPARSE_DEPTH = 150, GPARSE_VARS = 500 };

struct gparse {
    struct gotmpl *t;
    struct jmem *m;
    struct glex lex;
    struct gtoken at;
    struct str var[GPARSE_VARS]; /* those in sight */
    u32 n_var, n_slots;
    u32 loops;            /* around here, in this template */
    struct gnode nothing; /* what is made after a failure; never looked at */
};

static struct gnode *gparse_body(struct gparse *p, bool whole);
static struct gnode *parse_pipe(struct gparse *p, const char *context);
static struct gnode *parse_action(struct gparse *p);

/* ---- Tools ----------------------------------------------------------------------------------- */

static struct gnode *gparse_make(struct gparse *p, enum gnode_kind kind) {
    struct gnode *n = jmem_get(p->m, 1, sizeof *n);
    if (!n) return &p->nothing;
    n->kind = kind;
    n->line = p->at.line;
    return n;
}

/* A list that doubles at each power of two. */
static void gparse_add(struct gparse *p, struct gnode *n, struct gnode *item) {
    if (p->m->rc) return;
    if ((n->n & (n->n - 1)) == 0) {
        struct gnode **grown = jmem_get(p->m, MAX(1u, 2 * n->n), sizeof *grown);
        if (!grown) return;
        if (n->n) memcpy(grown, n->list, n->n * sizeof *grown);
        n->list = grown;
    }
    n->list[n->n++] = item;
}

static void add_name(struct gparse *p, struct gnode *n, struct str name) {
    if (p->m->rc) return;
    if ((n->n_names & (n->n_names - 1)) == 0) {
        struct str *grown = jmem_get(p->m, MAX(1u, 2 * n->n_names), sizeof *grown);
        if (!grown) return;
        if (n->n_names) memcpy(grown, n->names, n->n_names * sizeof *grown);
        n->names = grown;
    }
    n->names[n->n_names++] = name;
}

static void gparse_next(struct gparse *p) {
    p->at = glex_next(&p->lex);
    p->m->line = p->at.line;
}

static bool at_sign(const struct gparse *p, const char *sign) {
    return p->at.kind == GTOKEN_SIGN && str_is(p->at.text, sign);
}

static bool at_word(const struct gparse *p, const char *word) {
    return p->at.kind == GTOKEN_WORD && str_is(p->at.text, word);
}

/* Always NULL. */
static struct gnode *gparse_wrong(struct gparse *p, const char *wanted) {
    struct str got = p->at.text;
    if (p->at.kind == GTOKEN_END) got = (struct str){"the end of the template", 23};
    jmem_fail(p->m, GLIM_FORMAT, "%s is missing before '%.*s'", wanted, (int)MIN(got.n, 40u),
              got.n ? got.p : "");
    return NULL;
}

static void want_close(struct gparse *p) {
    if (p->at.kind == GTOKEN_CLOSE)
        gparse_next(p);
    else
        gparse_wrong(p, "}}");
}

static u32 declare(struct gparse *p, struct str name) {
    if (p->n_var == GPARSE_VARS) {
        jmem_fail(p->m, GLIM_FORMAT, "too many variables");
        return 0;
    }
    p->var[p->n_var] = name;
    p->n_slots = MAX(p->n_slots, p->n_var + 1);
    return p->n_var++;
}

/* The latest variable of that name. */
static u32 find_variable(struct gparse *p, struct str name) {
    for (u32 i = p->n_var; i-- > 0;) {
        if (p->var[i].n == name.n && memcmp(p->var[i].p, name.p, name.n) == 0) return i;
    }
    jmem_fail(p->m, GLIM_FORMAT, "no variable %.*s is known there", (int)MIN(name.n, 60u), name.p);
    return 0;
}

/* The number of a template, given one if it has none. */
static u32 template_number(struct gparse *p, struct str name) {
    struct gotmpl *t = p->t;
    for (u32 i = 1; i < t->n; i++) {
        if (t->all[i].name.n == name.n && memcmp(t->all[i].name.p, name.p, name.n) == 0) return i;
    }
    if (t->n == t->cap) {
        u32 cap = MAX(4u, 2 * t->cap);
        struct gtemplate *grown = jmem_get(p->m, cap, sizeof *grown);
        if (!grown) return 0;
        if (t->n) memcpy(grown, t->all, t->n * sizeof *grown);
        t->all = grown;
        t->cap = cap;
    }
    t->all[t->n] = (struct gtemplate){.name = name, .line = p->at.line};
    return t->n++;
}

/* ---- Expressions ----------------------------------------------------------------------------- */

static struct gnode *parse_constant(struct gparse *p) {
    struct gnode *n = gparse_make(p, GNODE_VALUE);
    n->value = p->at.kind == GTOKEN_STRING ? glex_text(p->m, p->at.text) : glex_number(p->m, p->at);
    gparse_next(p);
    return n;
}

/* A word that is no keyword: a constant or a function, which must be known. */
static struct gnode *parse_word(struct gparse *p) {
    static const char *const keywords[] = {"if",     "else",     "end",   "range", "with",
                                           "define", "template", "block", "break", "continue"};
    struct str word = p->at.text;
    struct gnode *n = gparse_make(p, GNODE_VALUE);
    for (size_t i = 0; i < COUNT(keywords); i++) {
        if (str_is(word, keywords[i])) return gparse_wrong(p, "a value");
    }
    if (str_is(word, "nil")) {
        n->kind = GNODE_NIL;
    } else if (str_is(word, "true") || str_is(word, "false")) {
        n->value = jval_bool(str_is(word, "true"));
    } else {
        n->kind = GNODE_FUNCTION;
        n->fun = gfun_find(word);
        if (!n->fun) {
            jmem_fail(p->m, GLIM_UNSUPPORTED, "no function '%.*s' is known", (int)MIN(word.n, 60u),
                      word.p);
        }
    }
    gparse_next(p);
    return n;
}

/* NULL: there is no operand. */
static struct gnode *parse_term(struct gparse *p) {
    struct gnode *n;
    switch (p->at.kind) {
    case GTOKEN_DOT:
        n = gparse_make(p, GNODE_DOT);
        gparse_next(p);
        return n;
    case GTOKEN_FIELD:
        n = gparse_make(p, GNODE_FIELD);
        add_name(p, n, p->at.text);
        gparse_next(p);
        return n;
    case GTOKEN_VARIABLE:
        n = gparse_make(p, GNODE_VARIABLE);
        n->slot[0] = find_variable(p, p->at.text);
        gparse_next(p);
        return n;
    case GTOKEN_NUMBER:
    case GTOKEN_CHAR:
    case GTOKEN_STRING:
        return parse_constant(p);
    case GTOKEN_WORD:
        return parse_word(p);
    default:
        if (!at_sign(p, "(")) return NULL;
        gparse_next(p);
        n = parse_pipe(p, "()");
        if (at_sign(p, ")"))
            gparse_next(p);
        else
            gparse_wrong(p, ")");
        return n;
    }
}

/* A term and the fields right behind it. */
static struct gnode *parse_operand(struct gparse *p) {
    struct gnode *n = parse_term(p);
    if (!n || p->m->rc || p->at.kind != GTOKEN_FIELD || p->at.spaced) return n;
    if (n->kind == GNODE_VALUE || n->kind == GNODE_NIL || n->kind == GNODE_DOT) {
        jmem_fail(p->m, GLIM_FORMAT, "a field of something that has none");
        return n;
    }
    if (n->kind != GNODE_FIELD && n->kind != GNODE_VARIABLE) {
        struct gnode *chain = gparse_make(p, GNODE_CHAIN);
        chain->a = n;
        n = chain;
    }
    while (!p->m->rc && p->at.kind == GTOKEN_FIELD && !p->at.spaced) {
        add_name(p, n, p->at.text);
        gparse_next(p);
    }
    return n;
}

/* Operands with white space between, up to the end of the pipeline or with the | behind them. */
static struct gnode *parse_command(struct gparse *p) {
    struct gnode *n = gparse_make(p, GNODE_COMMAND);
    while (!p->m->rc) {
        struct gnode *operand = parse_operand(p);
        if (operand) gparse_add(p, n, operand);
        if (p->at.kind == GTOKEN_CLOSE || at_sign(p, ")")) break;
        if (at_sign(p, "|")) {
            gparse_next(p);
            break;
        }
        if (!operand || !p->at.spaced) gparse_wrong(p, "}}, | or white space");
    }
    if (n->n == 0 && !p->m->rc) gparse_wrong(p, "a value");
    return n;
}

/* "$x :=", "$x =", in loops also two with a comma; else the variable is a value. */
static void parse_declarations(struct gparse *p, struct gnode *pipe, bool loop) {
    while (p->at.kind == GTOKEN_VARIABLE && !p->m->rc) {
        struct glex before = p->lex;
        struct gtoken variable = p->at;
        gparse_next(p);
        bool assigns = at_sign(p, "="), comma = at_sign(p, ",");
        if (!assigns && !comma && !at_sign(p, ":=")) {
            p->lex = before;
            p->at = variable;
            return;
        }
        if (comma && (!loop || pipe->n_slot)) {
            jmem_fail(p->m, GLIM_FORMAT, "too many variables before the value");
            return;
        }
        pipe->assigns = assigns;
        pipe->slot[pipe->n_slot++] = 0;
        struct str *names = jmem_get(p->m, 2, sizeof *names);
        if (!names) return;
        if (pipe->names) names[0] = pipe->names[0];
        names[pipe->n_slot - 1] = variable.text;
        pipe->names = names;
        gparse_next(p);
        if (!comma) return;
        if (p->at.kind != GTOKEN_VARIABLE) gparse_wrong(p, "a variable");
    }
}

/* What is declared is in sight behind the pipeline, what is assigned to was before it. */
static void settle_declarations(struct gparse *p, struct gnode *pipe) {
    for (u32 i = 0; i < pipe->n_slot && !p->m->rc; i++)
        pipe->slot[i] =
            pipe->assigns ? find_variable(p, pipe->names[i]) : declare(p, pipe->names[i]);
    pipe->names = NULL;
}

static struct gnode *parse_pipe(struct gparse *p, const char *context) {
    struct gnode *n = gparse_make(p, GNODE_PIPE);
    bool inner = strcmp(context, "()") == 0;
    if (p->m->depth >= GPARSE_DEPTH) jmem_fail(p->m, GLIM_FORMAT, "nested too deeply");
    p->m->depth++;
    parse_declarations(p, n, strcmp(context, "range") == 0);
    while (!p->m->rc && p->at.kind != GTOKEN_CLOSE && !(inner && at_sign(p, ")"))) {
        struct gnode *command = parse_command(p);
        gparse_add(p, n, command);
        if (p->m->rc || n->n == 1) continue;
        enum gnode_kind first = command->list[0]->kind;
        if (first == GNODE_VALUE || first == GNODE_DOT || first == GNODE_NIL)
            jmem_fail(p->m, GLIM_FORMAT, "what is behind a | must be a function");
    }
    if (n->n == 0 && !p->m->rc) jmem_fail(p->m, GLIM_FORMAT, "a value is missing for %s", context);
    settle_declarations(p, n);
    p->m->depth--;
    return n;
}

/* ---- Actions --------------------------------------------------------------------------------- */

/* Behind the {{ of the action that closes a body. */
static void want_end(struct gparse *p) {
    if (at_word(p, "end")) {
        gparse_next(p);
        want_close(p);
    } else {
        gparse_wrong(p, "{{end}}");
    }
}

/* What its pipeline declares is in sight up to its end, what a branch declares up to the branch's.
 * "else if" is an if in the else. */
static struct gnode *parse_branch(struct gparse *p, enum gnode_kind kind, const char *word) {
    struct gnode *n = gparse_make(p, kind);
    u32 n_var = p->n_var;
    gparse_next(p);
    n->a = parse_pipe(p, word);
    want_close(p);
    u32 in_sight = p->n_var;
    p->loops += kind == GNODE_RANGE;
    n->b = gparse_body(p, false);
    p->loops -= kind == GNODE_RANGE;
    p->n_var = in_sight;
    if (at_word(p, "else") && !p->m->rc) {
        gparse_next(p);
        if (kind != GNODE_RANGE && at_word(p, word)) {
            if (p->m->depth >= GPARSE_DEPTH) jmem_fail(p->m, GLIM_FORMAT, "nested too deeply");
            p->m->depth++;
            n->c = gparse_make(p, GNODE_BODY);
            if (!p->m->rc) gparse_add(p, n->c, parse_branch(p, kind, word));
            p->m->depth--;
            p->n_var = n_var;
            return n;
        }
        want_close(p);
        n->c = gparse_body(p, false);
    }
    want_end(p);
    p->n_var = n_var;
    return n;
}

static struct str gparse_name(struct gparse *p) {
    if (p->at.kind != GTOKEN_STRING) {
        gparse_wrong(p, "a template's name");
        return (struct str){"", 0};
    }
    struct jval v = glex_text(p->m, p->at.text);
    gparse_next(p);
    return v.s->t;
}

/* Whether it prints nothing: then another of its name may come. */
static bool is_blank(const struct gnode *n) {
    for (u32 i = 0; i < n->n; i++) {
        if (n->list[i]->kind != GNODE_TEXT) return false;
        struct str t = n->list[i]->value.s->t;
        for (size_t k = 0; k < t.n; k++) {
            if (!strchr(" \t\r\n\v\f", t.p[k]) || !t.p[k]) return false;
        }
    }
    return true;
}

/* A template of its own, up to its end. */
static u32 parse_definition(struct gparse *p, struct str name) {
    u32 number = template_number(p, name), n_var = p->n_var, slots = p->n_slots, loops = p->loops;
    struct str *hidden = jmem_get(p->m, n_var, sizeof *hidden);
    if (!hidden) return 0;
    memcpy(hidden, p->var, n_var * sizeof *hidden);
    p->n_var = p->n_slots = 1;
    p->loops = 0;
    struct gnode *body = gparse_body(p, false);
    want_end(p);
    if (!p->m->rc) {
        struct gtemplate *at = &p->t->all[number];
        if (at->body && !is_blank(at->body) && !is_blank(body))
            jmem_fail(p->m, GLIM_FORMAT, "template '%.*s' is defined twice", (int)MIN(name.n, 60u),
                      name.p);
        if (!at->body || is_blank(at->body)) {
            at->body = body;
            at->n_slots = p->n_slots;
        }
    }
    memcpy(p->var, hidden, n_var * sizeof *hidden);
    p->n_var = n_var;
    p->n_slots = slots;
    p->loops = loops;
    return number;
}

static struct gnode *gparse_call(struct gparse *p, bool block) {
    struct gnode *n = gparse_make(p, GNODE_CALL);
    gparse_next(p);
    struct str name = gparse_name(p);
    if (block || p->at.kind != GTOKEN_CLOSE) n->a = parse_pipe(p, "template");
    want_close(p);
    if (!p->m->rc) n->number = block ? parse_definition(p, name) : template_number(p, name);
    return n;
}

static struct gnode *gparse_leave(struct gparse *p, enum gnode_kind kind) {
    struct gnode *n = gparse_make(p, kind);
    if (p->loops == 0) jmem_fail(p->m, GLIM_FORMAT, "'%.*s' outside of a loop", STR(p->at.text));
    gparse_next(p);
    want_close(p);
    return n;
}

/* Behind {{, up to and with the }} of its end. */
static struct gnode *parse_action(struct gparse *p) {
    if (at_word(p, "if")) return parse_branch(p, GNODE_IF, "if");
    if (at_word(p, "range")) return parse_branch(p, GNODE_RANGE, "range");
    if (at_word(p, "with")) return parse_branch(p, GNODE_WITH, "with");
    if (at_word(p, "template")) return gparse_call(p, false);
    if (at_word(p, "block")) return gparse_call(p, true);
    if (at_word(p, "break")) return gparse_leave(p, GNODE_BREAK);
    if (at_word(p, "continue")) return gparse_leave(p, GNODE_CONTINUE);
    struct gnode *n = gparse_make(p, GNODE_ACTION);
    n->a = parse_pipe(p, "an action");
    want_close(p);
    return n;
}

/* Text and actions: all, or up to an {{end or {{else, whose {{ is read then. */
static struct gnode *gparse_body(struct gparse *p, bool whole) {
    struct gnode *body = gparse_make(p, GNODE_BODY);
    if (p->m->depth >= GPARSE_DEPTH) jmem_fail(p->m, GLIM_FORMAT, "actions are nested too deeply");
    p->m->depth++;
    while (!p->m->rc && p->at.kind != GTOKEN_END) {
        if (p->at.kind == GTOKEN_TEXT) {
            struct gnode *n = gparse_make(p, GNODE_TEXT);
            n->value = jval_str(p->m, p->at.text, true);
            gparse_add(p, body, n);
            gparse_next(p);
            continue;
        }
        gparse_next(p); /* {{ */
        if (whole && at_word(p, "define")) {
            gparse_next(p);
            struct str name = gparse_name(p);
            want_close(p);
            if (!p->m->rc) parse_definition(p, name);
        } else if (at_word(p, "end") || at_word(p, "else")) {
            if (whole) jmem_fail(p->m, GLIM_FORMAT, "'%.*s' closes nothing", STR(p->at.text));
            break;
        } else {
            gparse_add(p, body, parse_action(p));
        }
    }
    if (!whole && p->at.kind == GTOKEN_END) gparse_wrong(p, "{{end}}");
    p->m->depth--;
    return body;
}

/* ---- Programs -------------------------------------------------------------------------------- */

bool gnode_mentions(const struct gnode *n, const char *name) {
    if (!n) return false;
    bool field = n->kind == GNODE_FIELD || n->kind == GNODE_VARIABLE;
    for (u32 i = 0; field && i < n->n_names; i++) {
        size_t k = 0;
        while (k < n->names[i].n && name[k] && (n->names[i].p[k] | 32) == (name[k] | 32))
            k++;
        if (k == n->names[i].n && !name[k]) return true;
    }
    for (u32 i = 0; i < n->n; i++) {
        if (gnode_mentions(n->list[i], name)) return true;
    }
    return n->kind != GNODE_CHAIN &&
           (gnode_mentions(n->a, name) || gnode_mentions(n->b, name) || gnode_mentions(n->c, name));
}

bool gotmpl_reads(const struct gotmpl *t, const char *name) {
    for (u32 i = 0; i < t->n; i++) {
        if (gnode_mentions(t->all[i].body, name)) return true;
    }
    return false;
}

/* Where a one-turn template does not say where the answer stands, it stands at the end. */
static void add_response(struct gparse *p) {
    struct gnode *field = gparse_make(p, GNODE_FIELD), *command = gparse_make(p, GNODE_COMMAND);
    struct gnode *pipe = gparse_make(p, GNODE_PIPE), *action = gparse_make(p, GNODE_ACTION);
    add_name(p, field, (struct str){"Response", 8});
    gparse_add(p, command, field);
    gparse_add(p, pipe, command);
    action->a = pipe;
    gparse_add(p, p->t->all[0].body, action);
}

/* ---- What is behind the answer --------------------------------------------------------------- */

static void cut_body(struct gnode *n, bool *cut);

/* Marks what is behind .Response in a pipeline; whether nothing of it is left. */
static bool cut_pipe(struct gnode *pipe, bool *cut) {
    bool empty = false;
    for (u32 i = 0; i < pipe->n; i++) {
        struct gnode *command = pipe->list[i];
        u32 left = 0;
        for (u32 k = 0; k < command->n; k++) {
            struct gnode *arg = command->list[k];
            bool answer = false;
            for (u32 f = 0; arg->kind == GNODE_FIELD && f < arg->n_names; f++)
                answer |= str_is(arg->names[f], "Response");
            if (answer) {
                *cut = true;
            } else if (*cut) {
                arg->gone = true;
            } else if (arg->kind == GNODE_PIPE) {
                arg->gone = cut_pipe(arg, cut);
            }
            left += !arg->gone;
        }
        empty |= left == 0;
    }
    return empty;
}

/* Conditions are not looked at. */
static void cut_node(struct gnode *n, bool *cut) {
    if (n->kind == GNODE_BODY) cut_body(n, cut);
    if (n->kind == GNODE_ACTION) n->gone = cut_pipe(n->a, cut);
    if (n->kind != GNODE_IF && n->kind != GNODE_RANGE && n->kind != GNODE_WITH) return;
    cut_body(n->b, cut);
    if (n->c && *cut)
        n->c->gone = true;
    else if (n->c)
        cut_body(n->c, cut);
}

static void cut_body(struct gnode *body, bool *cut) {
    for (u32 i = 0; i < body->n; i++) {
        if (*cut)
            body->list[i]->gone = true;
        else
            cut_node(body->list[i], cut);
    }
}

/* What a template may take: its tree is some hundred bytes for each name. */
#define TREE_LIMIT(bytes) ((u64)(bytes)*1024 + (1u << 20))

int gotmpl_open(struct gotmpl **out, struct str source, struct arena *a, glim_err *e) {
    struct jmem m;
    *out = NULL;
    jmem_init(&m, a, TREE_LIMIT(source.n), UINT64_MAX, e);
    m.where = GOTMPL_NAME;
    struct gotmpl *t = jmem_get(&m, 1, sizeof *t);
    struct gparse *p = jmem_get(&m, 1, sizeof *p);
    char *copy = jmem_get(&m, source.n, 1); /* names are parts of it */
    if (m.rc) return m.rc;
    if (source.n) memcpy(copy, source.p, source.n);
    p->t = t;
    p->m = &m;
    template_number(p, (struct str){"", 0});
    declare(p, (struct str){"$", 1});
    glex_begin(&p->lex, &m, (struct str){copy, source.n});
    gparse_next(p);
    struct gnode *body = gparse_body(p, true);
    if (m.rc) return m.rc;
    t->all[0].body = body;
    t->all[0].n_slots = p->n_slots;
    for (u32 i = 1; i < t->n; i++) {
        m.line = t->all[i].line;
        if (!t->all[i].body)
            return jmem_fail(&m, GLIM_FORMAT, "no template '%.*s' is defined",
                             (int)MIN(t->all[i].name.n, 60u), t->all[i].name.p),
                   m.rc;
    }
    gotmpl_check(t, &m);
    if (m.rc) return m.rc;
    t->reads_messages = gotmpl_reads(t, "messages");
    if (!t->reads_messages && !gotmpl_reads(t, "response")) add_response(p);
    bool cut = false;
    if (m.rc) return m.rc;
    cut_body(body, &cut);
    *out = t;
    return GLIM_OK;
}
