/* Types of arguments, from JSON schemas; see declared.h. */
#include "text/declared.h"

#include <string.h>

enum { DECLARED_DEPTH = 8, DECLARED_STEPS = 1000 }; /* schemas may refer to themselves */

static const struct jval *declared_member(const struct jval *v, const char *name) {
    return v && v->kind == JVAL_DICT ? jdict_find(v->d, name) : NULL;
}

static struct str declared_text(const struct jval *v) {
    return v && v->kind == JVAL_STR ? v->s->t : (struct str){"", 0};
}

/* The function of one entry: {"type": "function", "function": {..}}, or what is within. */
static const struct jval *declared_function(const struct jval *entry) {
    const struct jval *inner = declared_member(entry, "function");
    return inner && inner->kind == JVAL_DICT ? inner : entry;
}

static const struct jval *declared_find(const struct jval *tools, struct str name) {
    for (u64 i = 0; tools->kind == JVAL_LIST && i < tools->l->n; i++) {
        const struct jval *f = declared_function(&tools->l->v[i]);
        struct str own = declared_text(declared_member(f, "name"));
        if (own.n && own.n == name.n && memcmp(own.p, name.p, name.n) == 0) return f;
    }
    return NULL;
}

static bool declared_knows(const void *ud, struct str name) {
    return declared_find(ud, name) != NULL;
}

/* JSON schema's names, and those that programs in Python leave in its place. */
static u32 type_named(struct str name) {
    static const struct {
        const char *name;
        u32 type;
    } names[] = {
        {"string", TYPE_STRING}, {"str", TYPE_STRING},    {"integer", TYPE_NUMBER},
        {"int", TYPE_NUMBER},    {"number", TYPE_NUMBER}, {"float", TYPE_NUMBER},
        {"boolean", TYPE_BOOL},  {"bool", TYPE_BOOL},     {"null", TYPE_NULL},
        {"object", TYPE_OBJECT}, {"dict", TYPE_OBJECT},   {"array", TYPE_ARRAY},
        {"list", TYPE_ARRAY},
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        if (str_is(name, names[i].name)) return names[i].type;
    }
    return 0;
}

static u32 type_of_value(const struct jval *v) {
    switch (v->kind) {
    case JVAL_STR:
        return TYPE_STRING;
    case JVAL_INT:
    case JVAL_FLOAT:
        return TYPE_NUMBER;
    case JVAL_BOOL:
        return TYPE_BOOL;
    case JVAL_NONE:
        return TYPE_NULL;
    case JVAL_DICT:
        return TYPE_OBJECT;
    case JVAL_LIST:
        return TYPE_ARRAY;
    default:
        return 0;
    }
}

/* "#/$defs/Name": what stands there in the parameters' schema. */
static const struct jval *declared_ref(const struct jval *root, struct str ref) {
    char part[128];
    if (ref.n < 2 || memcmp(ref.p, "#/", 2) != 0) return NULL;
    for (size_t at = 2; root && at <= ref.n;) {
        const char *slash = memchr(ref.p + at, '/', ref.n - at);
        size_t n = slash ? (size_t)(slash - ref.p) - at : ref.n - at;
        if (n >= sizeof part) return NULL;
        memcpy(part, ref.p + at, n);
        part[n] = 0;
        root = declared_member(root, part);
        at += n + 1;
    }
    return root;
}

static u32 types_of(const struct jval *root, const struct jval *schema, u32 depth, u32 *steps) {
    static const char *const unions[] = {"anyOf", "oneOf", "allOf"};
    if (!schema || schema->kind != JVAL_DICT || depth == DECLARED_DEPTH || !*steps) return 0;
    --*steps;
    const struct jval *type = declared_member(schema, "type"),
                      *values = declared_member(schema, "enum");
    const struct jval *only = declared_member(schema, "const"),
                      *nullable = declared_member(schema, "nullable");
    u32 types = type_named(declared_text(type));
    for (u64 i = 0; type && type->kind == JVAL_LIST && i < type->l->n; i++)
        types |= type_named(declared_text(&type->l->v[i]));
    if (types) values = NULL;
    for (u64 i = 0; values && values->kind == JVAL_LIST && i < values->l->n; i++)
        types |= type_of_value(&values->l->v[i]);
    if (!types && only) types = type_of_value(only);
    if (!types)
        types = types_of(root, declared_ref(root, declared_text(declared_member(schema, "$ref"))),
                         depth + 1, steps);
    for (size_t u = 0; u < COUNT(unions); u++) {
        const struct jval *parts = declared_member(schema, unions[u]);
        for (u64 i = 0; parts && parts->kind == JVAL_LIST && i < parts->l->n; i++)
            types |= types_of(root, &parts->l->v[i], depth + 1, steps);
    }
    if (!types && declared_member(schema, "properties")) types = TYPE_OBJECT;
    if (!types && declared_member(schema, "items")) types = TYPE_ARRAY;
    if (types && nullable && jval_true(*nullable)) types |= TYPE_NULL;
    return types;
}

static u32 declared_types(const void *ud, struct str name, struct str argument) {
    u32 steps = DECLARED_STEPS;
    const struct jval *function = declared_find(ud, name);
    const struct jval *schema = declared_member(function, "parameters");
    if (!schema) schema = declared_member(function, "input_schema");
    const struct jval *properties = declared_member(schema, "properties");
    for (u64 i = 0; properties && properties->kind == JVAL_DICT && i < properties->d->n; i++) {
        struct str key = declared_text(&properties->d->key[i]);
        if (key.n && key.n == argument.n && memcmp(key.p, argument.p, key.n) == 0)
            return types_of(schema, &properties->d->val[i], 0, &steps);
    }
    return 0;
}

struct stream_tools declared_tools(const struct jval *tools) {
    return (struct stream_tools){tools, declared_knows, declared_types};
}
