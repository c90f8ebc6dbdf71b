/* Calls in templates: functions, filters, tests and methods by their tables. */
#ifndef TEXT_JINJA_CALL_H
#define TEXT_JINJA_CALL_H

#include "text/jbuf.h"
#include "text/jinja.h"
#include "text/jinja_node.h"

struct jframe;

/* A rendering under way. */
struct jrun {
    const struct jinja *j;
    struct jmem *m;
    const struct jdict *variables;
    struct jinja_clock now;
    enum { JRUN_ON, JRUN_BREAK, JRUN_CONTINUE } leave;
    u64 captured; /* macros made: a scope that one may have kept is not used again */
};

struct jkeyword {
    struct str name;
    struct jval v;
};

enum { JCALL_ARGS = 8 };

struct jcall {
    struct jrun *x;
    struct jmem *m;
    struct jval self;          /* what is filtered, tested, or has the method */
    struct jval a[JCALL_ARGS]; /* by the spec's parameters; kind JVAL_ABSENT where not given */
    const struct jval *pos;    /* all as they were given */
    u32 n_pos;
    const struct jkeyword *key;
    u32 n_key;
};

/* One row of a table. params: names apart by blanks, "?" behind those that may be left out; NULL:
 * the function looks at pos and key itself. */
struct jspec {
    const char *name;
    struct jval (*run)(struct jcall *c);
    const char *params;
};

const struct jspec *jspec_filter(struct str name); /* NULL: there is none */
const struct jspec *jspec_test(struct str name);
const struct jspec *jspec_function(struct str name);
/* Methods by what kind of value has them. */
const struct jspec *jspec_method(struct jval self, struct str name);
bool jspec_is_method(struct str name); /* of any kind of value */

/* Carries a call out: binds arguments to parameters, checks them, runs it. */
struct jval jcall_run(struct jrun *x, const struct jspec *spec, struct jval self,
                      const struct jval *pos, u32 n_pos, const struct jkeyword *key, u32 n_key);

/* Something that can be called. */
struct jfun {
    const struct jspec *spec; /* of a function or method, with self; or NULL: a macro */
    struct jval self;
    const struct jnode *macro;
    struct jframe *scope; /* where the macro was defined */
    struct jdict *state;  /* of joiner and cycler: "used", "at", "items" */
};

struct jloop {
    struct jlist *all;
    u64 at;
    u32 depth;
    struct jval changed; /* what loop.changed was last called with */
};

/* a.b and a[b] as Jinja's sandbox has them. */
struct jval jinja_attr(struct jrun *x, struct jval v, struct str name);
struct jval jinja_item(struct jrun *x, struct jval v, struct jval key);
struct jval jinja_slice(struct jrun *x, struct jval v, struct jval from, struct jval to,
                        struct jval step);
struct jval jinja_math(struct jmem *m, enum jop op, struct jval a, struct jval b);
struct jval jinja_format(struct jmem *m, const struct jstr *s, struct jval args); /* s % args */
struct jval jinja_call(struct jrun *x, struct jval callee, const struct jval *pos, u32 n_pos,
                       const struct jkeyword *key, u32 n_key);
bool jinja_has_order(struct jmem *m, enum jop op, struct jval a, struct jval b); /* a op b */

/* Arguments of small functions. */
i64 jcall_int(struct jcall *c, u32 i, i64 otherwise);
bool jcall_bool(struct jcall *c, u32 i, bool otherwise);
/* Text, or NULL where it is absent or none; fails for anything else. */
const struct jstr *jcall_str(struct jcall *c, u32 i);

struct jval jinja_strftime(struct jmem *m, struct str format, i64 seconds);
/* Text changed letter by letter: 'u'pper, 'l'ower, 't'itle, 'c'apitalized, 's'wapped; 'w': as a
 * word of Jinja's title, which begins in upper case where capitalized text has title case. */
struct jval jstr_case(struct jmem *m, const struct jstr *s, char how);
struct jval jstr_strip(struct jmem *m, const struct jstr *s, const struct jstr *chars, bool front,
                       bool back);
struct jval filter_wordwrap(struct jcall *c);
struct jval jstr_replace(struct jmem *m, const struct jstr *s, const struct jstr *old,
                         const struct jstr *new, i64 count);
/* json.dumps(v, ensure_ascii, indent, separators, sort_keys); indent NULL: on one line. */
struct jval json_dump(struct jmem *m, struct jval v, const struct jstr *indent, bool ascii,
                      bool sorted, const struct jstr *between, const struct jstr *colon);

#endif
