/* Values of chat templates: what Python has in them and JSON maps onto. Text knows, byte by byte,
 * whether the template wrote it or whether it is somebody's content: only the former can become a
 * control token. Everything lives in a jmem and is never changed once others can see it, but for
 * namespaces. */
#ifndef TEXT_JVAL_H
#define TEXT_JVAL_H

#include "base/mem.h"

/* ---- Memory, limits, failure ----------------------------------------------------------------- */

/* What one rendering may use. The first failure sticks: later calls do nothing and give undefined
 * values, so that it is enough to look at rc where something repeats. */
struct jmem {
    struct arena *arena; /* borrowed */
    char *at;
    size_t left;       /* bytes at at */
    u64 bytes, limit;  /* taken so far, and the most */
    u64 steps;         /* left */
    u32 depth;         /* of nested evaluations; the most is JMEM_DEPTH */
    const char *where; /* what is read, for messages: "chat template" unless changed */
    u32 line;          /* of it */
    int rc;
    glim_err *e; /* borrowed */
};

enum { JMEM_DEPTH = 600, JVAL_DEEP = 150 };

void jmem_init(struct jmem *m, struct arena *a, u64 limit, u64 steps, glim_err *e);
/* Zeroed and aligned to 16; NULL after a failure. */
void *jmem_get(struct jmem *m, u64 n, u64 size);
/* Fails with "WHERE, line N: ..." and returns false. */
bool jmem_fail(struct jmem *m, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Counts n steps of work; false once the limit is met or something has failed. */
bool jmem_step(struct jmem *m, u64 n);

/* ---- Values ---------------------------------------------------------------------------------- */

enum jkind {
    JVAL_UNDEFINED, /* name: what was not found, for messages */
    JVAL_NONE,
    JVAL_BOOL,
    JVAL_INT,
    JVAL_FLOAT,
    JVAL_STR,
    JVAL_LIST, /* all sequences but text; see enum jflavour */
    JVAL_DICT,
    JVAL_NAMESPACE,
    JVAL_FUNCTION,
    JVAL_LOOP,
    JVAL_ABSENT, /* an argument that was not given; never seen by templates */
};

struct jstr {
    struct str t;
    const u8 *marks; /* [t.n] 1 for bytes that the template wrote; NULL: all are alike */
    bool ours;       /* marks NULL: the template wrote it */
};

enum jflavour {
    JLIST_LIST,
    JLIST_TUPLE,
    JLIST_LAZY,
    JLIST_RANGE,
    JLIST_KEYS,
    JLIST_VALUES,
    JLIST_ITEMS
};

struct jval {
    enum jkind kind;
    union {
        bool b;
        i64 i;
        f64 f;
        const struct jstr *s; /* also of undefined values: a name, or NULL */
        struct jlist *l;
        struct jdict *d;
        struct jfun *fun;
        struct jloop *loop;
    };
};

struct jlist {
    struct jval *v;
    u64 n, cap;
    u32 deep;              /* levels of lists and dictionaries inside, at most JVAL_DEEP */
    enum jflavour flavour; /* LAZY: what Python would make on demand; gone once it was walked */
};

/* In order of insertion. */
struct jdict {
    struct jval *key, *val;
    u64 n, cap;
    u32 deep;
    u32 *index; /* [n_index] 1 + place by hash, or 0; NULL while it is small */
    u64 n_index;
};

static inline struct jval jval_undefined(void) {
    return (struct jval){.kind = JVAL_UNDEFINED};
}
static inline struct jval jval_none(void) {
    return (struct jval){.kind = JVAL_NONE};
}
static inline struct jval jval_bool(bool b) {
    return (struct jval){.kind = JVAL_BOOL, .b = b};
}
static inline struct jval jval_int(i64 i) {
    return (struct jval){.kind = JVAL_INT, .i = i};
}
static inline struct jval jval_float(f64 f) {
    return (struct jval){.kind = JVAL_FLOAT, .f = f};
}
static inline bool jval_is_num(struct jval v) {
    return v.kind == JVAL_INT || v.kind == JVAL_FLOAT || v.kind == JVAL_BOOL;
}

/* A copy of text; ours: the template's own. */
struct jval jval_str(struct jmem *m, struct str t, bool ours);
struct jval jval_text(struct jmem *m, const char *zero_terminated, bool ours);
struct jval jval_of_str(const struct jstr *s);
/* The bytes [from, from + n) of s, not copied. */
struct jval jval_part(struct jmem *m, const struct jstr *s, size_t from, size_t n);
struct jval jval_missing(struct jmem *m, struct str name); /* undefined, with its name */

struct jval jval_list(struct jmem *m, enum jflavour flavour);
void jlist_push(struct jmem *m, struct jlist *l, struct jval v);
struct jval jval_pair(struct jmem *m, struct jval a, struct jval b); /* a tuple */

struct jval jval_dict(struct jmem *m);
/* Fails where the key cannot be one (a list, a dict). */
void jdict_set(struct jmem *m, struct jdict *d, struct jval key, struct jval v);
const struct jval *jdict_get(const struct jdict *d, struct jval key); /* NULL: not there */
const struct jval *jdict_find(const struct jdict *d, const char *key);
/* keys, values or items as a list of that flavour (LIST for plain copies of the keys) */
struct jval jdict_view(struct jmem *m, const struct jdict *d, enum jflavour flavour);

bool jval_true(struct jval v);
bool jval_equal(struct jmem *m, struct jval a, struct jval b);
/* -1, 0, 1; fails where Python has no order. */
int jval_order(struct jmem *m, struct jval a, struct jval b);
f64 jval_number(struct jval v); /* of bool, int, float */
bool jval_in(struct jmem *m, struct jval item, struct jval whole);
/* What Python's type(v).__name__ says. */
const char *jval_type(struct jval v);
/* The items that a for loop walks: of text its characters, of a dict its keys; a lazy list is used
 * up. Fails for what cannot be walked. */
struct jlist *jval_walk(struct jmem *m, struct jval v);
/* len(): -1 and no failure where there is none. */
i64 jval_len(struct jval v);

#endif
