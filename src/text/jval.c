/* Values: making, comparing, walking. */
#include "text/jval.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text/unicode.h"

/* ---- Memory ---------------------------------------------------------------------------------- */

#if defined(GLIM_OOM) || defined(GLIM_SHRINK)
enum { JMEM_BLOCK = 0 }; /* every request is the arena's own, with guarded edges */
#else
enum { JMEM_BLOCK = 16 * 1024 };
#endif

void jmem_init(struct jmem *m, struct arena *a, u64 limit, u64 steps, glim_err *e) {
    *m =
        (struct jmem){.arena = a, .limit = limit, .steps = steps, .e = e, .where = "chat template"};
}

/* Small requests share blocks; large ones are the arena's own, so that a long text wastes nothing.
 */
void *jmem_get(struct jmem *m, u64 n, u64 size) {
    u64 want, total;
    if (m->rc) return NULL;
    if (!mul_ok(n, size, &want) || !pad_ok(MAX(want, 1u), 16, &want) ||
        !add_ok(m->bytes, want, &total) || total > m->limit) {
        jmem_fail(m, GLIM_ARG, "the rendering takes more than %llu MiB",
                  (unsigned long long)(m->limit >> 20));
        return NULL;
    }
    m->bytes = total;
    if (want > m->left) {
        u64 block = want > JMEM_BLOCK / 4 ? want : JMEM_BLOCK;
        char *p = arena_get(m->arena, block);
        if (!p) {
            jmem_fail(m, GLIM_NOMEM, "out of memory");
            return NULL;
        }
        if (block == want) return p; /* large ones leave the current block as it is */
        m->at = p;
        m->left = (size_t)block;
    }
    void *p = m->at;
    m->at += want;
    m->left -= (size_t)want;
    return p;
}

/* The first failure wins: what follows from it would only hide it. */
bool jmem_fail(struct jmem *m, int code, const char *fmt, ...) {
    if (m->rc) return false;
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    m->rc = fail(m->e, code, "%s, line %u: %s", m->where, m->line, text);
    return false;
}

bool jmem_step(struct jmem *m, u64 n) {
    if (m->rc) return false;
    if (n > m->steps) return jmem_fail(m, GLIM_ARG, "the rendering takes too many steps");
    m->steps -= n;
    return true;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static const struct jstr jstr_empty = {{"", 0}, NULL, true};

struct jval jval_of_str(const struct jstr *s) {
    return (struct jval){.kind = JVAL_STR, .s = s ? s : &jstr_empty};
}

struct jval jval_str(struct jmem *m, struct str t, bool ours) {
    struct jstr *s = jmem_get(m, 1, sizeof *s);
    char *p = jmem_get(m, t.n, 1);
    if (!s || !p) return jval_of_str(NULL);
    if (t.n) memcpy(p, t.p, t.n);
    *s = (struct jstr){{p, t.n}, NULL, ours};
    return jval_of_str(s);
}

struct jval jval_text(struct jmem *m, const char *text, bool ours) {
    return jval_str(m, (struct str){text, strlen(text)}, ours);
}

struct jval jval_part(struct jmem *m, const struct jstr *s, size_t from, size_t n) {
    if (from == 0 && n == s->t.n) return jval_of_str(s);
    struct jstr *part = jmem_get(m, 1, sizeof *part);
    if (!part) return jval_of_str(NULL);
    *part = (struct jstr){{s->t.p + from, n}, s->marks ? s->marks + from : NULL, s->ours};
    return jval_of_str(part);
}

struct jval jval_missing(struct jmem *m, struct str name) {
    struct jval v = jval_str(m, name, true);
    v.kind = JVAL_UNDEFINED;
    return v;
}

/* Counts a value that goes into another, so that walking values needs no limit of its own. */
static bool deepen(struct jmem *m, u32 *deep, struct jval v) {
    u32 inner = v.kind == JVAL_LIST ? v.l->deep + 1 : v.kind == JVAL_DICT ? v.d->deep + 1 : 0;
    if (inner > JVAL_DEEP) return jmem_fail(m, GLIM_ARG, "a value is nested too deeply");
    *deep = MAX(*deep, inner);
    return true;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

struct jval jval_list(struct jmem *m, enum jflavour flavour) {
    struct jlist *l = jmem_get(m, 1, sizeof *l);
    if (!l) return jval_undefined();
    l->flavour = flavour;
    return (struct jval){.kind = JVAL_LIST, .l = l};
}

void jlist_push(struct jmem *m, struct jlist *l, struct jval v) {
    if (!l || m->rc || !deepen(m, &l->deep, v)) return;
    if (l->n == l->cap) {
        u64 cap = MAX(4u, 2 * l->cap);
        struct jval *grown = jmem_get(m, cap, sizeof *grown);
        if (!grown) return;
        if (l->n) memcpy(grown, l->v, l->n * sizeof *grown);
        l->v = grown;
        l->cap = cap;
    }
    l->v[l->n++] = v;
}

struct jval jval_pair(struct jmem *m, struct jval a, struct jval b) {
    struct jval pair = jval_list(m, JLIST_TUPLE);
    if (m->rc) return pair;
    jlist_push(m, pair.l, a);
    jlist_push(m, pair.l, b);
    return pair;
}

/* ---- Dictionaries ---------------------------------------------------------------------------- */

struct jval jval_dict(struct jmem *m) {
    struct jdict *d = jmem_get(m, 1, sizeof *d);
    return d ? (struct jval){.kind = JVAL_DICT, .d = d} : jval_undefined();
}

/* Equal keys have equal hashes: True, 1 and 1.0 are one key. */
static u64 jval_hash(struct jval v) {
    u64 h = 0xcbf29ce484222325u;
    if (v.kind == JVAL_STR) {
        for (size_t i = 0; i < v.s->t.n; i++)
            h = (h ^ (u8)v.s->t.p[i]) * 0x100000001b3u;
        return h;
    }
    if (jval_is_num(v)) {
        f64 f = jval_number(v) + 0.0; /* no negative zero */
        u64 bits;
        memcpy(&bits, &f, sizeof bits);
        h = (h ^ bits) * 0x9e3779b97f4a7c15u;
    }
    return h ^ h >> 29;
}

/* What Python can hash: no dictionaries, and no lists but tuples of what it can hash. */
static bool is_key(struct jval v) {
    if (v.kind == JVAL_DICT) return false;
    if (v.kind != JVAL_LIST) return true;
    if (v.l->flavour != JLIST_TUPLE) return false;
    for (u64 i = 0; i < v.l->n; i++) {
        if (!is_key(v.l->v[i])) return false;
    }
    return true;
}

/* The place of key, or n. */
static u64 dict_place(const struct jdict *d, struct jval key) {
    if (!d->index) {
        for (u64 i = 0; i < d->n; i++) {
            if (jval_equal(NULL, d->key[i], key)) return i;
        }
        return d->n;
    }
    for (u64 h = jval_hash(key);; h++) {
        u32 at = d->index[h & (d->n_index - 1)];
        if (!at) return d->n;
        if (jval_equal(NULL, d->key[at - 1], key)) return at - 1;
    }
}

/* Linear probing; the table is never more than half full, as it has two places per key. */
static void dict_index(struct jdict *d, u64 place) {
    u64 h = jval_hash(d->key[place]);
    while (d->index[h & (d->n_index - 1)])
        h++;
    d->index[h & (d->n_index - 1)] = (u32)place + 1;
}

/* Up to eight keys are searched one by one, which is quicker than hashing; messages have fewer. */
static bool dict_grow(struct jmem *m, struct jdict *d) {
    u64 cap = MAX(4u, 2 * d->cap);
    struct jval *keys = jmem_get(m, cap, sizeof *keys), *vals = jmem_get(m, cap, sizeof *vals);
    u32 *index = cap > 8 ? jmem_get(m, 2 * cap, sizeof *index) : NULL;
    if (m->rc) return false;
    if (d->n) {
        memcpy(keys, d->key, d->n * sizeof *keys);
        memcpy(vals, d->val, d->n * sizeof *vals);
    }
    *d = (struct jdict){keys, vals, d->n, cap, d->deep, index, index ? 2 * cap : 0};
    for (u64 i = 0; index && i < d->n; i++)
        dict_index(d, i);
    return true;
}

void jdict_set(struct jmem *m, struct jdict *d, struct jval key, struct jval v) {
    if (m->rc || !d || !deepen(m, &d->deep, key) || !deepen(m, &d->deep, v)) return;
    if (!is_key(key)) {
        jmem_fail(m, GLIM_ARG, "unhashable type: '%s'", jval_type(key));
        return;
    }
    u64 at = dict_place(d, key);
    if (at < d->n) {
        d->val[at] = v;
        return;
    }
    if (d->n == d->cap && !dict_grow(m, d)) return;
    d->key[d->n] = key;
    d->val[d->n] = v;
    d->n++;
    if (d->index) dict_index(d, d->n - 1);
}

const struct jval *jdict_get(const struct jdict *d, struct jval key) {
    if (!d->n || !is_key(key)) return NULL;
    u64 at = dict_place(d, key);
    return at < d->n ? &d->val[at] : NULL;
}

const struct jval *jdict_find(const struct jdict *d, const char *key) {
    struct jstr s = {{key, strlen(key)}, NULL, true};
    return jdict_get(d, jval_of_str(&s));
}

struct jval jdict_view(struct jmem *m, const struct jdict *d, enum jflavour flavour) {
    struct jval all = jval_list(m, flavour);
    for (u64 i = 0; i < d->n && !m->rc; i++) {
        jlist_push(m, all.l,
                   flavour == JLIST_VALUES  ? d->val[i]
                   : flavour == JLIST_ITEMS ? jval_pair(m, d->key[i], d->val[i])
                                            : d->key[i]);
    }
    return all;
}

/* ---- Questions ------------------------------------------------------------------------------- */

const char *jval_type(struct jval v) {
    static const char *const lists[] = {"list",      "tuple",       "generator", "range",
                                        "dict_keys", "dict_values", "dict_items"};
    switch (v.kind) {
    case JVAL_UNDEFINED:
    case JVAL_ABSENT:
        return "Undefined";
    case JVAL_NONE:
        return "NoneType";
    case JVAL_BOOL:
        return "bool";
    case JVAL_INT:
        return "int";
    case JVAL_FLOAT:
        return "float";
    case JVAL_STR:
        return "str";
    case JVAL_LIST:
        return lists[v.l->flavour];
    case JVAL_DICT:
        return "dict";
    case JVAL_NAMESPACE:
        return "Namespace";
    case JVAL_FUNCTION:
        return "function";
    case JVAL_LOOP:
        return "LoopContext";
    }
    return "";
}

/* Python's bool(). A lazy list is true even when nothing is in it, as a generator is. */
bool jval_true(struct jval v) {
    switch (v.kind) {
    case JVAL_UNDEFINED:
    case JVAL_ABSENT:
    case JVAL_NONE:
        return false;
    case JVAL_BOOL:
        return v.b;
    case JVAL_INT:
        return v.i != 0;
    case JVAL_FLOAT:
        return v.f != 0;
    case JVAL_STR:
        return v.s->t.n != 0;
    case JVAL_LIST:
        return v.l->n != 0 || v.l->flavour == JLIST_LAZY;
    case JVAL_DICT:
        return v.d->n != 0;
    default:
        return true;
    }
}

f64 jval_number(struct jval v) {
    return v.kind == JVAL_FLOAT ? v.f : v.kind == JVAL_BOOL ? (f64)v.b : (f64)v.i;
}

/* True counts as 1. */
static i64 whole_number(struct jval v) {
    return v.kind == JVAL_BOOL ? v.b : v.i;
}

/* A list never equals a tuple, and what is made on demand equals only itself. */
static bool lists_equal(struct jmem *m, const struct jlist *a, const struct jlist *b) {
    if (a == b) return true;
    if (a->flavour != b->flavour || a->n != b->n || a->flavour == JLIST_LAZY ||
        a->flavour == JLIST_VALUES)
        return false;
    for (u64 i = 0; i < a->n; i++) {
        if (!jval_equal(m, a->v[i], b->v[i])) return false;
    }
    return true;
}

static bool dicts_equal(struct jmem *m, const struct jdict *a, const struct jdict *b) {
    if (a == b) return true;
    if (a->n != b->n) return false;
    for (u64 i = 0; i < a->n; i++) {
        const struct jval *other = jdict_get(b, a->key[i]);
        if (!other || !jval_equal(m, a->val[i], *other)) return false;
    }
    return true;
}

/* m may be NULL: no steps are counted. Values are trees of bounded depth: content is read with a
 * limit, and templates build on each other's values by steps, which count. */
bool jval_equal(struct jmem *m, struct jval a, struct jval b) {
    if (m && !jmem_step(m, 1)) return false;
    if (jval_is_num(a) && jval_is_num(b)) {
        if (a.kind == JVAL_FLOAT || b.kind == JVAL_FLOAT) return jval_number(a) == jval_number(b);
        return whole_number(a) == whole_number(b);
    }
    if (a.kind != b.kind) return false;
    switch (a.kind) {
    case JVAL_STR:
        return a.s->t.n == b.s->t.n && (a.s->t.n == 0 || !memcmp(a.s->t.p, b.s->t.p, a.s->t.n));
    case JVAL_LIST:
        return lists_equal(m, a.l, b.l);
    case JVAL_DICT:
        return dicts_equal(m, a.d, b.d);
    case JVAL_NAMESPACE:
        return a.d == b.d;
    case JVAL_FUNCTION:
        return a.fun == b.fun;
    case JVAL_LOOP:
        return a.loop == b.loop;
    default:
        return true; /* none and undefined */
    }
}

int jval_order(struct jmem *m, struct jval a, struct jval b) {
    if (!jmem_step(m, 1)) return 0;
    if (jval_is_num(a) && jval_is_num(b)) {
        if (a.kind != JVAL_FLOAT && b.kind != JVAL_FLOAT) {
            i64 x = whole_number(a), y = whole_number(b);
            return (x > y) - (x < y);
        }
        f64 x = jval_number(a), y = jval_number(b);
        return (x > y) - (x < y);
    }
    if (a.kind == JVAL_STR && b.kind == JVAL_STR) {
        size_t n = MIN(a.s->t.n, b.s->t.n);
        int c = n ? memcmp(a.s->t.p, b.s->t.p, n) : 0; /* UTF-8 sorts as code points do */
        if (c == 0) c = (a.s->t.n > b.s->t.n) - (a.s->t.n < b.s->t.n);
        return (c > 0) - (c < 0);
    }
    if (a.kind == JVAL_LIST && b.kind == JVAL_LIST && a.l->flavour == b.l->flavour &&
        a.l->flavour <= JLIST_TUPLE) {
        for (u64 i = 0; i < MIN(a.l->n, b.l->n); i++) {
            if (!jval_equal(m, a.l->v[i], b.l->v[i])) return jval_order(m, a.l->v[i], b.l->v[i]);
        }
        return (a.l->n > b.l->n) - (a.l->n < b.l->n);
    }
    jmem_fail(m, GLIM_ARG, "'%s' and '%s' have no order", jval_type(a), jval_type(b));
    return 0;
}

/* Text contains texts, a dictionary its keys, anything else its items. */
bool jval_in(struct jmem *m, struct jval item, struct jval whole) {
    if (whole.kind == JVAL_STR) {
        if (item.kind != JVAL_STR)
            return jmem_fail(m, GLIM_ARG, "'in <string>' requires string as left operand, not %s",
                             jval_type(item));
        jmem_step(m, 1 + whole.s->t.n / 64);
        return item.s->t.n == 0 ||
               memmem(whole.s->t.p, whole.s->t.n, item.s->t.p, item.s->t.n) != NULL;
    }
    if (whole.kind == JVAL_DICT) {
        if (!is_key(item)) return jmem_fail(m, GLIM_ARG, "unhashable type: '%s'", jval_type(item));
        return jdict_get(whole.d, item) != NULL;
    }
    struct jlist *all = jval_walk(m, whole);
    for (u64 i = 0; all && i < all->n; i++) {
        if (jval_equal(m, item, all->v[i])) return true;
    }
    return false;
}

/* Of text in characters, which is why it is counted. */
i64 jval_len(struct jval v) {
    i64 n = 0;
    if (v.kind == JVAL_UNDEFINED) return 0;
    if (v.kind == JVAL_LIST) return v.l->flavour == JLIST_LAZY ? -1 : (i64)v.l->n;
    if (v.kind == JVAL_DICT) return (i64)v.d->n;
    if (v.kind != JVAL_STR) return -1;
    for (size_t i = 0; i < v.s->t.n; n++)
        i += unicode_read(v.s->t.p + i, v.s->t.n - i).len;
    return n;
}

struct jlist *jval_walk(struct jmem *m, struct jval v) {
    if (m->rc) return NULL;
    struct jval list = jval_list(m, JLIST_LIST);
    if (m->rc) return NULL;
    switch (v.kind) {
    case JVAL_UNDEFINED:
        return list.l;
    case JVAL_LIST:
        *list.l = *v.l;
        list.l->cap = list.l->n; /* nobody appends into another's memory */
        if (v.l->flavour == JLIST_LAZY) v.l->n = 0;
        return list.l;
    case JVAL_DICT:
        return jdict_view(m, v.d, JLIST_LIST).l;
    case JVAL_STR:
        for (size_t i = 0; i < v.s->t.n && !m->rc;) {
            u32 len = unicode_read(v.s->t.p + i, v.s->t.n - i).len;
            jlist_push(m, list.l, jval_part(m, v.s, i, len));
            i += len;
        }
        return list.l;
    default:
        jmem_fail(m, GLIM_ARG, "'%s' object is not iterable", jval_type(v));
        return NULL;
    }
}
