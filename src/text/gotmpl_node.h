/* The insides of Go templates: tokens, the tree, what the parser and the evaluator share. */
#ifndef TEXT_GOTMPL_NODE_H
#define TEXT_GOTMPL_NODE_H

#include "text/gotmpl_value.h"

/* ---- Tokens ---------------------------------------------------------------------------------- */

enum gtoken_kind {
    GTOKEN_END,
    GTOKEN_TEXT,  /* outside of actions */
    GTOKEN_OPEN,  /* {{ */
    GTOKEN_CLOSE, /* }} */
    GTOKEN_DOT,
    GTOKEN_FIELD,    /* text: without the point */
    GTOKEN_VARIABLE, /* text: with its $ */
    GTOKEN_WORD,     /* a function or a keyword */
    GTOKEN_NUMBER,
    GTOKEN_CHAR,   /* with its quotes, as the next two */
    GTOKEN_STRING, /* "..." or `...` */
    GTOKEN_SIGN,   /* = := | ( ) , or another character */
};

struct gtoken {
    enum gtoken_kind kind;
    bool spaced; /* white space before it, in an action */
    u32 line;
    struct str text; /* of the source */
};

struct glex {
    struct jmem *m;
    const char *p; /* [n] */
    size_t n, at;
    u32 line;
    u32 open;             /* parentheses of the action */
    bool inside, pending; /* in an action; its {{ was not given out yet */
    bool trim;            /* the action began with {{- */
};

void glex_begin(struct glex *l, struct jmem *m, struct str source);
struct gtoken glex_next(struct glex *l); /* END also after a failure */
/* What a literal says: text between quotes, or a number (bool *whole: no fraction). */
struct jval glex_text(struct jmem *m, struct str quoted);
struct jval glex_number(struct jmem *m, struct gtoken t);

/* ---- The tree -------------------------------------------------------------------------------- */

enum gnode_kind {
    GNODE_BODY,   /* list */
    GNODE_TEXT,   /* value */
    GNODE_ACTION, /* a */
    GNODE_IF,     /* a: b, else c (NULL: none) */
    GNODE_RANGE,  /* the same */
    GNODE_WITH,   /* the same */
    GNODE_CALL,   /* the template of that number, with a as its dot (NULL: none) */
    GNODE_BREAK,
    GNODE_CONTINUE,
    GNODE_PIPE,     /* list of commands; declares slot[0..n_slot) */
    GNODE_COMMAND,  /* list: what is called and its arguments */
    GNODE_FIELD,    /* . names */
    GNODE_VARIABLE, /* slot[0], names */
    GNODE_CHAIN,    /* a, names */
    GNODE_FUNCTION, /* fun */
    GNODE_DOT,
    GNODE_NIL,
    GNODE_VALUE, /* value: bool, int, float, text */
};

struct gfun;

struct gnode {
    enum gnode_kind kind;
    u32 line;
    bool assigns; /* GNODE_PIPE: = instead of := */
    bool gone;    /* comes behind the answer, see gotmpl_cut */
    u32 number;   /* GNODE_CALL */
    u32 slot[2], n_slot;
    struct gnode *a, *b, *c;
    struct gnode **list;
    u32 n;
    struct str *names; /* fields, one after the other */
    u32 n_names;
    struct jval value;
    const struct gfun *fun;
};

struct gtemplate {
    struct str name;
    struct gnode *body; /* NULL: called, not defined */
    u32 n_slots;        /* variables at most; slot 0 is $ */
    u32 line;           /* where it is called first */
};

struct gotmpl {
    struct gtemplate *all; /* [n], the first is what is not in a define */
    u32 n, cap;
    bool reads_messages; /* else it is one turn: System, Prompt, Response */
};

/* Whether actions of the node mention a variable or field of that name, in any case. */
bool gnode_mentions(const struct gnode *n, const char *name);
/* Fails where the template does what can never be done. */
void gotmpl_check(struct gotmpl *t, struct jmem *m);

/* ---- Functions ------------------------------------------------------------------------------- */

struct grun {
    const struct gotmpl *t;
    struct jmem *m;
    i64 now;
    bool cutting; /* what is gone is left out */
    enum { GRUN_ON, GRUN_BREAK, GRUN_CONTINUE } leave;
};

/* Arguments are evaluated, but for those of and and or. */
struct gfun {
    const char *name;
    u32 min, max; /* arguments */
    struct gval (*call)(struct grun *x, const struct gval *arg, u32 n);
};

const struct gfun *gfun_find(struct str name);
/* and, or: which stop at the first argument that decides; else false. */
bool gfun_is_lazy(const struct gfun *f, bool *stops_at);
/* A method of a value's type, or NULL. */
const struct gfun *gfun_method(struct gval v, struct str name);

struct gval gprintf(struct grun *x, const struct gval *arg, u32 n);

#endif
