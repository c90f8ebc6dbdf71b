/* Filters over sequences. What Python makes on demand is a list of flavour JLIST_LAZY here, which
 * behaves like a generator: always true, without length, gone once it was walked. */
#include "text/jinja_seq.h"

#include <string.h>

#include "text/unicode.h"

/* ---- Attributes ------------------------------------------------------------------------------ */

/* "a.b.0": items one after the other; numbers are indices. */
static struct jval deep_item(struct jcall *c, struct jval v, struct jval path) {
    if (path.kind == JVAL_INT) return jinja_item(c->x, v, path);
    if (path.kind != JVAL_STR) {
        jmem_fail(c->m, GLIM_ARG, "an attribute's name must be text, not %s", jval_type(path));
        return v;
    }
    const struct jstr *s = path.s;
    for (size_t at = 0; at <= s->t.n && !c->m->rc;) {
        const char *dot = memchr(s->t.p + at, '.', s->t.n - at);
        size_t n = dot ? (size_t)(dot - s->t.p) - at : s->t.n - at;
        bool digits = n > 0 && n < 10;
        i64 i = 0;
        for (size_t k = 0; k < n && digits; k++) {
            digits = s->t.p[at + k] >= '0' && s->t.p[at + k] <= '9';
            i = i * 10 + (s->t.p[at + k] - '0');
        }
        v = jinja_item(c->x, v, digits ? jval_int(i) : jval_part(c->m, s, at, n));
        at += n + 1;
    }
    return v;
}

/* Text without its case, where case is not to matter. */
static struct jval folded(struct jcall *c, struct jval v, bool case_matters) {
    return v.kind == JVAL_STR && !case_matters ? jstr_case(c->m, v.s, 'l') : v;
}

static struct jval sort_key(struct jcall *c, struct jval v, struct jval attribute,
                            bool case_matters) {
    if (attribute.kind != JVAL_ABSENT && attribute.kind != JVAL_NONE)
        v = deep_item(c, v, attribute);
    return folded(c, v, case_matters);
}

/* ---- Sorting --------------------------------------------------------------------------------- */

struct keyed {
    struct jval key, v;
};

/* Merging, as Python's sort is stable; reverse keeps equal ones in order, too. */
static void merge_sort(struct jmem *m, struct keyed *k, struct keyed *tmp, u64 n, bool reverse) {
    if (n < 2 || m->rc) return;
    u64 half = n / 2;
    merge_sort(m, k, tmp, half, reverse);
    merge_sort(m, k + half, tmp, n - half, reverse);
    memcpy(tmp, k, half * sizeof *k);
    u64 a = 0, b = half, out = 0;
    while (a < half && b < n && !m->rc) {
        int order = jval_order(m, k[b].key, tmp[a].key);
        bool second = reverse ? order > 0 : order < 0;
        k[out++] = second ? k[b++] : tmp[a++];
    }
    while (a < half)
        k[out++] = tmp[a++];
}

/* Keys are made once each, as making them may cost more than comparing. */
static struct jval sorted(struct jcall *c, struct jlist *all, struct jval attribute,
                          bool case_matters, bool reverse) {
    struct jval out = jval_list(c->m, JLIST_LIST);
    if (!all) return out;
    struct keyed *k = jmem_get(c->m, all->n, sizeof *k), *tmp = jmem_get(c->m, all->n, sizeof *k);
    for (u64 i = 0; i < all->n && !c->m->rc; i++)
        k[i] = (struct keyed){sort_key(c, all->v[i], attribute, case_matters), all->v[i]};
    if (!c->m->rc) merge_sort(c->m, k, tmp, all->n, reverse);
    for (u64 i = 0; i < all->n && !c->m->rc; i++)
        jlist_push(c->m, out.l, k[i].v);
    return out;
}

static struct jval filter_sort(struct jcall *c) {
    return sorted(c, jval_walk(c->m, c->self), c->a[2], jcall_bool(c, 1, false),
                  jcall_bool(c, 0, false));
}

static struct jval filter_dictsort(struct jcall *c) {
    const struct jstr *by = jcall_str(c, 1);
    bool value = by && str_is(by->t, "value");
    if (by && !value && !str_is(by->t, "key"))
        jmem_fail(c->m, GLIM_ARG, "dictsort sorts by 'key' or 'value'");
    if (c->self.kind != JVAL_DICT)
        jmem_fail(c->m, GLIM_ARG, "dictsort needs a mapping, not %s", jval_type(c->self));
    if (c->m->rc) return jval_undefined();
    struct jval items = jdict_view(c->m, c->self.d, JLIST_ITEMS);
    return sorted(c, items.l, jval_int(value), jcall_bool(c, 0, false), jcall_bool(c, 2, false));
}

/* The first of those that are alike stays. Case does not matter unless told otherwise. */
static struct jval filter_unique(struct jcall *c) {
    struct jval out = jval_list(c->m, JLIST_LAZY), seen = jval_dict(c->m);
    struct jlist *all = jval_walk(c->m, c->self);
    for (u64 i = 0; all && i < all->n && !c->m->rc; i++) {
        struct jval key = sort_key(c, all->v[i], c->a[1], jcall_bool(c, 0, false));
        if (c->m->rc || jdict_get(seen.d, key)) continue;
        jdict_set(c->m, seen.d, key, jval_none());
        jlist_push(c->m, out.l, all->v[i]);
    }
    return out;
}

/* Of equals the first; nothing is undefined. */
static struct jval extreme(struct jcall *c, bool most) {
    struct jlist *all = jval_walk(c->m, c->self);
    struct jval best = jval_undefined(), best_key = best;
    for (u64 i = 0; all && i < all->n && !c->m->rc; i++) {
        struct jval key = sort_key(c, all->v[i], c->a[1], jcall_bool(c, 0, false));
        int order = i && !c->m->rc ? jval_order(c->m, key, best_key) : 0;
        if (i && (most ? order <= 0 : order >= 0)) continue;
        best = all->v[i];
        best_key = key;
    }
    return best;
}
static struct jval filter_max(struct jcall *c) {
    return extreme(c, true);
}
static struct jval filter_min(struct jcall *c) {
    return extreme(c, false);
}

/* (grouper, list) pairs. A list goes into its pair once it is whole. */
static struct jval filter_groupby(struct jcall *c) {
    struct jval attribute = c->a[0], out = jval_list(c->m, JLIST_LIST), before = jval_undefined();
    bool case_matters = jcall_bool(c, 2, false);
    struct jval all = sorted(c, jval_walk(c->m, c->self), attribute, case_matters, false);
    struct jval group = jval_undefined(), grouper = group;
    for (u64 i = 0; !c->m->rc && i < all.l->n; i++) {
        struct jval key = deep_item(c, all.l->v[i], attribute);
        if (key.kind == JVAL_UNDEFINED && c->a[1].kind != JVAL_ABSENT) key = c->a[1];
        struct jval same = folded(c, key, case_matters);
        if (i == 0 || !jval_equal(c->m, same, before)) {
            if (i) jlist_push(c->m, out.l, jval_pair(c->m, grouper, group));
            group = jval_list(c->m, JLIST_LIST);
            grouper = key;
            before = same;
        }
        if (!c->m->rc) jlist_push(c->m, group.l, all.l->v[i]);
    }
    if (!c->m->rc && all.l->n) jlist_push(c->m, out.l, jval_pair(c->m, grouper, group));
    return out;
}

/* ---- Choosing and mapping -------------------------------------------------------------------- */

/* select, reject, selectattr, rejectattr: args are [attribute] [test [its arguments]]. */
static struct jval filter_chosen(struct jcall *c, bool attribute, bool want) {
    struct jval out = jval_list(c->m, JLIST_LAZY);
    u32 at = attribute;
    const struct jspec *test = NULL;
    if (c->n_pos < at) jmem_fail(c->m, GLIM_ARG, "the attribute's name is missing");
    if (c->n_pos > at && c->pos[at].kind == JVAL_STR) {
        test = jspec_test(c->pos[at].s->t);
        if (!test)
            jmem_fail(c->m, GLIM_ARG, "no test '%.*s' is known", (int)MIN(c->pos[at].s->t.n, 60u),
                      c->pos[at].s->t.p);
        at++;
    }
    struct jlist *all = jval_walk(c->m, c->self);
    for (u64 i = 0; all && i < all->n && !c->m->rc; i++) {
        struct jval v = attribute ? deep_item(c, all->v[i], c->pos[0]) : all->v[i];
        if (test && !c->m->rc)
            v = jcall_run(c->x, test, v, c->pos + at, c->n_pos - at, c->key, c->n_key);
        if (!c->m->rc && jval_true(v) == want) jlist_push(c->m, out.l, all->v[i]);
    }
    return out;
}
static struct jval filter_select(struct jcall *c) {
    return filter_chosen(c, false, true);
}
static struct jval filter_reject(struct jcall *c) {
    return filter_chosen(c, false, false);
}
static struct jval filter_selectattr(struct jcall *c) {
    return filter_chosen(c, true, true);
}
static struct jval filter_rejectattr(struct jcall *c) {
    return filter_chosen(c, true, false);
}

/* map(filter, its arguments) or map(attribute=..., default=...). */
static struct jval filter_map(struct jcall *c) {
    struct jval out = jval_list(c->m, JLIST_LAZY), attribute = {.kind = JVAL_ABSENT};
    struct jval otherwise = {.kind = JVAL_ABSENT};
    const struct jspec *filter = NULL;
    for (u32 k = 0; k < c->n_key && c->n_pos == 0; k++) {
        if (str_is(c->key[k].name, "attribute")) attribute = c->key[k].v;
        if (str_is(c->key[k].name, "default")) otherwise = c->key[k].v;
    }
    if (c->n_pos && c->pos[0].kind == JVAL_STR) filter = jspec_filter(c->pos[0].s->t);
    if (!filter && attribute.kind == JVAL_ABSENT)
        jmem_fail(c->m, GLIM_ARG, "map needs the name of a filter or an attribute");
    struct jlist *all = jval_walk(c->m, c->self);
    for (u64 i = 0; all && i < all->n && !c->m->rc; i++) {
        struct jval v;
        if (filter)
            v = jcall_run(c->x, filter, all->v[i], c->pos + 1, c->n_pos - 1, c->key, c->n_key);
        else
            v = deep_item(c, all->v[i], attribute);
        if (v.kind == JVAL_UNDEFINED && otherwise.kind != JVAL_ABSENT) v = otherwise;
        jlist_push(c->m, out.l, v);
    }
    return out;
}

/* ---- The others ------------------------------------------------------------------------------ */

static struct jval filter_first(struct jcall *c) {
    struct jlist *all = jval_walk(c->m, c->self);
    return all && all->n ? all->v[0] : jval_undefined();
}

/* A generator cannot be walked from behind. */
static struct jval filter_last(struct jcall *c) {
    if (c->self.kind == JVAL_LIST && c->self.l->flavour == JLIST_LAZY)
        jmem_fail(c->m, GLIM_ARG, "'generator' object is not reversible");
    struct jlist *all = jval_walk(c->m, c->self);
    return all && all->n ? all->v[all->n - 1] : jval_undefined();
}

static struct jval filter_list(struct jcall *c) {
    struct jlist *all = jval_walk(c->m, c->self);
    if (!all) return jval_undefined();
    all->flavour = JLIST_LIST;
    return (struct jval){.kind = JVAL_LIST, .l = all};
}

/* Of something undefined there are none. */
static struct jval filter_items(struct jcall *c) {
    if (c->self.kind == JVAL_UNDEFINED) return jval_list(c->m, JLIST_LAZY);
    if (c->self.kind != JVAL_DICT) {
        jmem_fail(c->m, GLIM_ARG, "items needs a mapping, not %s", jval_type(c->self));
        return jval_undefined();
    }
    return jdict_view(c->m, c->self.d, JLIST_ITEMS);
}

static struct jval filter_join(struct jcall *c) {
    struct jbuf b = {0};
    struct jlist *all = jval_walk(c->m, c->self);
    struct jval separator =
        c->a[0].kind == JVAL_ABSENT ? jval_text(c->m, "", true) : jval_to_str(c->m, c->a[0]);
    for (u64 i = 0; all && i < all->n && !c->m->rc; i++) {
        if (i) jbuf_str(c->m, &b, separator.s);
        bool plain = c->a[1].kind == JVAL_ABSENT || c->a[1].kind == JVAL_NONE;
        jbuf_value(c->m, &b, plain ? all->v[i] : deep_item(c, all->v[i], c->a[1]));
    }
    return jbuf_done(c->m, &b);
}

/* Text stays text; anything else is made on demand. */
static struct jval filter_reverse(struct jcall *c) {
    struct jlist *all = jval_walk(c->m, c->self);
    struct jval out = jval_list(c->m, JLIST_LAZY);
    struct jbuf b = {0};
    for (u64 i = all ? all->n : 0; i > 0 && !c->m->rc; i--) {
        if (c->self.kind == JVAL_STR)
            jbuf_str(c->m, &b, all->v[i - 1].s);
        else
            jlist_push(c->m, out.l, all->v[i - 1]);
    }
    return c->self.kind == JVAL_STR ? jbuf_done(c->m, &b) : out;
}

/* From a number on: texts cannot be summed. */
static struct jval filter_sum(struct jcall *c) {
    struct jlist *all = jval_walk(c->m, c->self);
    struct jval sum = c->a[1].kind == JVAL_ABSENT ? jval_int(0) : c->a[1];
    for (u64 i = 0; all && i < all->n && !c->m->rc; i++) {
        bool plain = c->a[0].kind == JVAL_ABSENT || c->a[0].kind == JVAL_NONE;
        sum = jinja_math(c->m, JOP_ADD, sum, plain ? all->v[i] : deep_item(c, all->v[i], c->a[0]));
    }
    return sum;
}

/* Rows of n; the last may be filled up. */
static struct jval filter_batch(struct jcall *c) {
    struct jval out = jval_list(c->m, JLIST_LAZY), row = jval_undefined();
    struct jlist *all = jval_walk(c->m, c->self);
    i64 n = jcall_int(c, 0, 1);
    if (n < 1) jmem_fail(c->m, GLIM_ARG, "batch: a count of less than one");
    for (u64 i = 0; all && i < all->n && !c->m->rc; i++) {
        if (i % (u64)n == 0) {
            if (i) jlist_push(c->m, out.l, row);
            row = jval_list(c->m, JLIST_LIST);
        }
        if (!c->m->rc) jlist_push(c->m, row.l, all->v[i]);
    }
    bool fill = c->a[1].kind != JVAL_ABSENT && c->a[1].kind != JVAL_NONE;
    while (fill && !c->m->rc && row.kind == JVAL_LIST && row.l->n < (u64)n)
        jlist_push(c->m, row.l, c->a[1]);
    if (row.kind == JVAL_LIST) jlist_push(c->m, out.l, row);
    return out;
}

/* n rows of nearly one length, the longer ones first. */
static struct jval filter_slice(struct jcall *c) {
    struct jval out = jval_list(c->m, JLIST_LAZY);
    struct jlist *all = jval_walk(c->m, c->self);
    i64 n = jcall_int(c, 0, 1);
    if (n < 1) jmem_fail(c->m, GLIM_ARG, "slice: a count of less than one");
    u64 at = 0;
    for (i64 i = 0; all && i < n && jmem_step(c->m, 1); i++) {
        bool longer = (u64)i < all->n % (u64)n;
        struct jval row = jval_list(c->m, JLIST_LIST);
        for (u64 k = all->n / (u64)n + longer; k > 0 && !c->m->rc; k--)
            jlist_push(c->m, row.l, all->v[at++]);
        bool fill = c->a[1].kind != JVAL_ABSENT && c->a[1].kind != JVAL_NONE;
        if (fill && !longer && all->n % (u64)n && !c->m->rc) jlist_push(c->m, row.l, c->a[1]);
        jlist_push(c->m, out.l, row);
    }
    return out;
}

static const struct jspec seq_filters[] = {
    {"batch", filter_batch, "linecount fill_with?"},
    {"dictsort", filter_dictsort, "case_sensitive? by? reverse?"},
    {"first", filter_first, ""},
    {"groupby", filter_groupby, "attribute default? case_sensitive?"},
    {"items", filter_items, ""},
    {"join", filter_join, "d? attribute?"},
    {"last", filter_last, ""},
    {"list", filter_list, ""},
    {"map", filter_map, NULL},
    {"max", filter_max, "case_sensitive? attribute?"},
    {"min", filter_min, "case_sensitive? attribute?"},
    {"reject", filter_reject, NULL},
    {"rejectattr", filter_rejectattr, NULL},
    {"reverse", filter_reverse, ""},
    {"select", filter_select, NULL},
    {"selectattr", filter_selectattr, NULL},
    {"slice", filter_slice, "slices fill_with?"},
    {"sort", filter_sort, "reverse? case_sensitive? attribute?"},
    {"sum", filter_sum, "attribute? start?"},
    {"unique", filter_unique, "case_sensitive? attribute?"},
};

const struct jspec *jspec_seq_filter(struct str name) {
    for (size_t i = 0; i < COUNT(seq_filters); i++) {
        if (str_is(name, seq_filters[i].name)) return &seq_filters[i];
    }
    return NULL;
}
