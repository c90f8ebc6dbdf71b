/* Values of Go templates: types, truth, fields. */
#include "text/gotmpl_value.h"

#include <string.h>

const struct gtype gtype_any = {.name = "interface {}", .kind = GKIND_ANY};
const struct gtype gtype_bool = {.name = "bool", .kind = GKIND_BOOL};
const struct gtype gtype_int = {.name = "int", .kind = GKIND_INT};
const struct gtype gtype_byte = {.name = "uint8", .kind = GKIND_INT};
const struct gtype gtype_float = {.name = "float64", .kind = GKIND_FLOAT};
const struct gtype gtype_str = {.name = "string", .kind = GKIND_STR};
const struct gtype gtype_list = {.name = "[]interface {}", .kind = GKIND_LIST, .elem = &gtype_any};
const struct gtype gtype_map = {
    .name = "map[string]interface {}", .kind = GKIND_MAP, .elem = &gtype_any};

/* Go reads every number of JSON as a float64. */
struct gval gval_of(const struct gtype *type, struct jval v) {
    if (type->kind != GKIND_ANY) return (struct gval){type, v};
    switch (v.kind) {
    case JVAL_BOOL:
        return (struct gval){&gtype_bool, v};
    case JVAL_INT:
    case JVAL_FLOAT:
        return (struct gval){&gtype_float, jval_float(jval_number(v))};
    case JVAL_STR:
        return (struct gval){&gtype_str, v};
    case JVAL_LIST:
        return (struct gval){&gtype_list, v};
    case JVAL_DICT:
        return (struct gval){&gtype_map, v};
    default:
        return (struct gval){&gtype_any, jval_none()};
    }
}

struct gval gval_plain(struct gval v) {
    return v.type && v.type->kind == GKIND_ANY ? gval_nil() : v;
}

bool gval_is_nil(struct gval v) {
    return !v.type || v.v.kind == JVAL_NONE;
}

const char *gval_type(struct gval v) {
    return v.type ? v.type->name : "nil";
}

f64 gval_float(struct gval v) {
    return jval_number(v.v);
}

/* Empty text, lists and maps are false, structs never. */
bool gval_true(struct gval v) {
    if (gval_is_nil(v)) return false;
    if (v.type->kind == GKIND_STRUCT || v.type->kind == GKIND_ROOT) return true;
    return jval_true(v.v);
}

static bool is_named(struct str a, const char *b) {
    return str_is(a, b);
}

/* A variable, which may be one of those that the caller added. */
static struct gval root_field(struct gval v, struct str name) {
    const struct jval *at = v.v.l->v;
    for (u32 i = 0; i < v.type->n_field; i++) {
        if (is_named(name, v.type->field[i].name) && at[i].kind != JVAL_ABSENT)
            return gval_of(v.type->field[i].type, at[i]);
    }
    struct jstr key = {name, NULL, true};
    const struct jval *more =
        at[GROOT_MORE].kind == JVAL_DICT ? jdict_get(at[GROOT_MORE].d, jval_of_str(&key)) : NULL;
    return gval_of(&gtype_any, more ? *more : jval_none());
}

/* The zero of a type that maps hold. */
static struct gval zero_of(struct jmem *m, const struct gtype *type) {
    if (type->kind != GKIND_STRUCT) return gval_of(type, jval_none());
    struct jval all = jval_list(m, JLIST_LIST);
    for (u32 i = 0; i < type->n_field && !m->rc; i++)
        jlist_push(m, all.l,
                   type->field[i].type->kind == GKIND_STR ? jval_text(m, "", true) : jval_none());
    return m->rc ? gval_nil() : (struct gval){type, all};
}

/* A map without the key gives its element's zero; so did no value at all. */
struct gval gval_field(struct jmem *m, struct gval v, struct str name) {
    int n = (int)MIN(name.n, 60u);
    if (m->rc || !v.type) return gval_nil();
    if (v.type->kind == GKIND_ANY) {
        jmem_fail(m, GLIM_ARG, "there is no '%.*s' in nil", n, name.p);
        return gval_nil();
    }
    if (v.type->kind == GKIND_ROOT) return root_field(v, name);
    if (v.type->kind == GKIND_STRUCT) {
        for (u32 i = 0; i < v.type->n_field; i++) {
            if (is_named(name, v.type->field[i].name))
                return gval_of(v.type->field[i].type, v.v.l->v[i]);
        }
    } else if (v.type->kind == GKIND_MAP) {
        struct jstr key = {name, NULL, true};
        const struct jval *at = v.v.kind == JVAL_DICT ? jdict_get(v.v.d, jval_of_str(&key)) : NULL;
        return at ? gval_of(v.type->elem, *at) : zero_of(m, v.type->elem);
    }
    jmem_fail(m, GLIM_ARG, "there is no '%.*s' in a value of type %s", n, name.p, v.type->name);
    return gval_nil();
}

/* Merging runs of doubling length: tools may have many parameters. */
u32 *gmap_order(struct jmem *m, const struct jdict *d) {
    u32 n = (u32)d->n;
    u32 *from = jmem_get(m, n, sizeof *from), *to = jmem_get(m, n, sizeof *to);
    if (m->rc) return NULL;
    for (u32 i = 0; i < n; i++)
        from[i] = i;
    for (u32 run = 1; run < n && !m->rc; run *= 2) {
        for (u32 at = 0; at < n; at += 2 * run) {
            u32 a = at, middle = MIN(at + run, n), b = middle, end = MIN(at + 2 * run, n);
            for (u32 k = at; k < end; k++) {
                bool left = a < middle &&
                            (b == end || jval_order(m, d->key[from[a]], d->key[from[b]]) <= 0);
                to[k] = left ? from[a++] : from[b++];
            }
        }
        u32 *swap = from;
        from = to;
        to = swap;
    }
    return from;
}
