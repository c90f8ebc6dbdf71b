/* The evaluator's own seams: scopes, expressions, statements. */
#ifndef TEXT_JINJA_RUN_H
#define TEXT_JINJA_RUN_H

#include "text/jinja_call.h"

/* A scope: the template, one turn of a loop, a macro's body. Those that a macro was defined in stay
 * reachable from it. */
struct jframe {
    struct jframe *up;
    u32 *name;
    struct jval *v;
    u32 n, cap;
};

struct jframe *jframe_open(struct jrun *x, struct jframe *up);
void jframe_set(struct jrun *x, struct jframe *f, u32 name, struct jval v);

struct jval jinja_eval(struct jrun *x, struct jframe *f, const struct jnode *n);
/* The filters of a chain that has nothing in front, on v. */
struct jval jinja_filters(struct jrun *x, struct jframe *f, const struct jnode *n, struct jval v);
/* A call's parts, the callee apart; extra is added by name where it is not absent. */
struct jval jinja_eval_call(struct jrun *x, struct jframe *f, const struct jnode *n,
                            struct jval caller);
struct jval jinja_call_macro(struct jrun *x, const struct jfun *fun, const struct jval *pos,
                             u32 n_pos, const struct jkeyword *key, u32 n_key);
void jinja_exec(struct jrun *x, struct jframe *f, const struct jnode *n, struct jbuf *out);

#endif
