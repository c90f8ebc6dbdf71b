/* A chat template as a tree: what the parser makes and the evaluator walks. Nodes live in the
 * program's arena and never change. */
#ifndef TEXT_JINJA_NODE_H
#define TEXT_JINJA_NODE_H

#include "text/jval.h"

enum jnode_kind {
    /* Expressions */
    JNODE_CONST,   /* value */
    JNODE_NAME,    /* name */
    JNODE_LIST,    /* list */
    JNODE_TUPLE,   /* list; as a target, names and tuples */
    JNODE_DICT,    /* list: key, value, key, value */
    JNODE_NOT,     /* a */
    JNODE_NEGATE,  /* a */
    JNODE_PLUS,    /* a */
    JNODE_AND,     /* a b */
    JNODE_OR,      /* a b */
    JNODE_MATH,    /* op a b */
    JNODE_CONCAT,  /* list */
    JNODE_COMPARE, /* a, list of JNODE_OPERAND */
    JNODE_OPERAND, /* op a */
    JNODE_IF_ELSE, /* a if b else c; c may be NULL */
    JNODE_ATTR,    /* a . name */
    JNODE_ITEM,    /* a [ b ] */
    JNODE_SLICE,   /* a : b : c, each may be NULL */
    JNODE_CALL,    /* a ( list ) */
    JNODE_FILTER,  /* a | spec ( list ); a NULL in a filter block */
    JNODE_TEST,    /* a is spec ( list ); op 1: not */
    JNODE_ARG,     /* a; name: by keyword; op '*' or 'd': unpacked list or dictionary */
    /* Statements */
    JNODE_TEXT,         /* value */
    JNODE_PRINT,        /* a */
    JNODE_BODY,         /* list */
    JNODE_IF,           /* a then b else c */
    JNODE_FOR,          /* a target, b what, c condition, list: body, else (NULL: none) */
    JNODE_SET,          /* a target, b value */
    JNODE_SET_BLOCK,    /* a target, b body, c filters or NULL */
    JNODE_NS_ATTR,      /* a target: name . text of value */
    JNODE_MACRO,        /* name, list of JNODE_PARAM, b body */
    JNODE_PARAM,        /* name, a default or NULL */
    JNODE_CALL_BLOCK,   /* a call, list of JNODE_PARAM, b body */
    JNODE_FILTER_BLOCK, /* c filters, b body */
    JNODE_WITH,         /* list of JNODE_SET, b body */
    JNODE_BREAK,
    JNODE_CONTINUE,
};

enum jop {
    JOP_NONE,
    JOP_ADD = '+',
    JOP_SUB = '-',
    JOP_MUL = '*',
    JOP_DIV = '/',
    JOP_MOD = '%',
    JOP_FLOOR = 'f',
    JOP_POW = 'p',
    JOP_EQ = '=',
    JOP_NE = '!',
    JOP_LT = '<',
    JOP_LE = 'l',
    JOP_GT = '>',
    JOP_GE = 'g',
    JOP_IN = 'i',
    JOP_NOT_IN = 'n',
    JOP_UNPACK = 'd',
};

struct jnode {
    enum jnode_kind kind;
    enum jop op;
    u32 line;
    u32 name; /* number of a name, see struct jinja */
    struct jnode *a, *b, *c;
    struct jnode **list;
    u32 n;
    bool takes_rest, takes_kwargs, takes_caller; /* macros: varargs, kwargs, caller are read */
    struct jval value;
    const struct jspec *spec; /* filters and tests */
};

/* ---- Tokens ---------------------------------------------------------------------------------- */

enum jtoken_kind {
    JTOKEN_END,
    JTOKEN_TEXT,      /* text outside of tags */
    JTOKEN_PRINT,     /* {{ */
    JTOKEN_PRINT_END, /* }} */
    JTOKEN_BLOCK,     /* {% */
    JTOKEN_BLOCK_END, /* %} */
    JTOKEN_NAME,
    JTOKEN_STRING, /* with its quotes */
    JTOKEN_INT,
    JTOKEN_FLOAT,
    JTOKEN_OP, /* text */
};

struct jtoken {
    enum jtoken_kind kind;
    u32 line;
    struct str text; /* of the source */
};

/* Where the lexer is. The source has plain newlines. */
struct jlex {
    struct jmem *m;
    const char *p; /* [n] */
    size_t n, at;
    u32 line;
    char inside; /* 0, or the closing character of the tag: '}' or '%' */
    u32 open;    /* brackets that are open in the tag */
    char brackets[64];
    bool line_start;     /* what comes next begins a line */
    bool strip_next;     /* the text that follows loses white space at its beginning */
    struct jtoken ahead; /* a begun tag behind the text that was given out; kind END: none */
};

/* Source as templates are read: one kind of newline, none at the end. */
struct str jlex_source(struct jmem *m, struct str template);
void jlex_begin(struct jlex *l, struct jmem *m, struct str source);
/* The next token; END also after a failure. */
struct jtoken jlex_next(struct jlex *l);

/* ---- Programs -------------------------------------------------------------------------------- */

struct jinja {
    struct jnode *body;
    struct str *names; /* [n_names] by number */
    u32 n_names, cap_names;
    u32 name_loop, name_caller, name_varargs, name_kwargs; /* numbers */
};

/* The number of a name, given one if it has none. */
u32 jinja_name(struct jmem *m, struct jinja *j, struct str name);

#endif
