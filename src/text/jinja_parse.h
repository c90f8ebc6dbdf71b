/* Between the parser's files: expressions (jinja_parse.c, jinja_literal.c) and statements
 * (jinja_body.c). After
 * a failure every function returns something and does nothing. */
#ifndef TEXT_JINJA_PARSE_H
#define TEXT_JINJA_PARSE_H

#include "text/jinja_call.h"

/* A name that is called: known by the end of the template, or an error there. */
enum { JPARSE_DEPTH = 150 }; /* of nested expressions and tags, and links of a chain of operators */

struct jcalled {
    u32 name, line;
    struct jcalled *next;
};

struct jparse {
    struct jinja *j;
    struct jmem *m;
    struct jlex lex;
    struct jtoken t; /* the current one */
    bool *set;       /* [n_set] by name: something in the template gives it a value */
    u32 n_set;
    struct jcalled *called;
    u32 loops;                                   /* open around here */
    struct jnode nothing;                        /* what is made after a failure; never looked at */
    bool reads_rest, reads_kwargs, reads_caller; /* since the macro's beginning */
};

void jparse_next(struct jparse *p);
bool jparse_at_op(const struct jparse *p, const char *op);
bool jparse_at_name(const struct jparse *p, const char *name);
bool jparse_eat_op(struct jparse *p, const char *op);
bool jparse_eat_name(struct jparse *p, const char *name);
void jparse_want_op(struct jparse *p, const char *op);
void jparse_want_end(struct jparse *p);
u32 jparse_want_name(struct jparse *p);
void jparse_unexpected(struct jparse *p, const char *wanted);
struct jnode *jparse_node(struct jparse *p, enum jnode_kind kind);
void jparse_add(struct jparse *p, struct jnode *n, struct jnode *item);
/* A name that the template gives a value somewhere, and may call therefore. */
void jparse_gets_value(struct jparse *p, u32 name);

struct jnode *jparse_expression(struct jparse *p);
struct jnode *jparse_or(struct jparse *p);
struct jnode *jparse_unary(struct jparse *p, bool filtered);
struct jnode *jparse_tuple(struct jparse *p, bool whole, const char *stop, bool empty_ok);
/* The literal that is current; strings in a row are one. */
struct jnode *jparse_number(struct jparse *p);
struct jnode *jparse_string(struct jparse *p);
/* The filter whose name is current, over n. */
struct jnode *jparse_filter(struct jparse *p, struct jnode *n);

#endif
