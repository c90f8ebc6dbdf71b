/* glim inspect --json. Jansson's setters take over the reference they are given and fail, without
 * leaking, for NULL: so one check of their results covers what is made inside a call. */
#include "tool/inspect.h"

#include "tool/format.h"
#include "tool/options.h"

#include <string.h>

/* Sets a key of an object. Keys come from files too, and are cleaned as texts are; a zero byte ends
 * one. */
static bool set_at(json_t *object, struct str key, json_t *value) {
    json_t *name = format_string(key);
    if (!name) {
        json_decref(value);
        return false;
    }
    bool ok = json_object_set_new(object, json_string_value(name), value) == 0;
    json_decref(name);
    return ok;
}
static bool set(json_t *object, const char *key, json_t *value) {
    return json_object_set_new(object, key, value) == 0;
}

static json_t *scalar(const struct gguf_kv *kv) {
    switch (kv->type) {
    case GGUF_STR:
        return format_string(kv->s);
    case GGUF_BOOL:
        return json_boolean(kv->u != 0);
    case GGUF_F32:
    case GGUF_F64:
        return format_real(kv->f);
    case GGUF_I8:
    case GGUF_I16:
    case GGUF_I32:
    case GGUF_I64:
        return json_integer(kv->i);
    default:
        return format_u64(kv->u);
    }
}

static json_t *item(const struct gguf_kv *kv, u64 i) {
    switch (kv->type) {
    case GGUF_STR:
        return format_string(kv->strings[i]);
    case GGUF_BOOL:
        return json_boolean(gguf_item_int(kv, i) != 0);
    case GGUF_F32:
    case GGUF_F64:
        return format_real(gguf_item_real(kv, i));
    case GGUF_U64:
        return format_u64((u64)gguf_item_int(kv, i));
    default:
        return json_integer(gguf_item_int(kv, i));
    }
}

static json_t *array(const struct gguf_kv *kv) {
    json_t *j = json_array();
    bool ok = j;
    for (u64 i = 0; ok && i < kv->n; i++)
        ok = json_array_append_new(j, item(kv, i)) == 0;
    if (ok) return j;
    json_decref(j);
    return NULL;
}

static bool fill_metadata(json_t *j, const struct gguf *g) {
    bool ok = j;
    for (u64 i = 0; ok && i < g->n_kv; i++) {
        const struct gguf_kv *kv = &g->kv[i];
        json_t *entry = json_object();
        ok = entry && set(entry, "type", json_string(inspect_type_name(kv->type))) &&
             set(entry, "array", json_boolean(kv->is_array)) &&
             set(entry, "value", kv->is_array ? array(kv) : scalar(kv)) &&
             set_at(j, kv->key, json_incref(entry));
        json_decref(entry);
    }
    return ok;
}

static json_t *tensor(const struct gguf_tensor *t) {
    json_t *j = json_object(), *shape = json_array();
    bool ok = j && shape;
    for (u32 i = 0; ok && i < t->n_dims; i++)
        ok = json_array_append_new(shape, format_u64(t->dims[i])) == 0;
    ok = ok && set(j, "name", format_string(t->name)) &&
         set(j, "type", json_string(quant_find(t->type)->name)) &&
         set(j, "shape", json_incref(shape)) && set(j, "bytes", format_u64(t->bytes)) &&
         set(j, "part", json_integer(t->part)) && set(j, "offset", format_u64(t->offset));
    json_decref(shape);
    if (ok) return j;
    json_decref(j);
    return NULL;
}

static bool fill_tensors(json_t *j, const struct gguf *g) {
    bool ok = j;
    for (u64 i = 0; ok && i < g->n_tensors; i++)
        ok = json_array_append_new(j, tensor(&g->tensors[i])) == 0;
    return ok;
}

static bool fill_type(json_t *j, const struct inspect_type *t) {
    return j && set(j, "tensors", format_u64(t->n)) &&
           set(j, "parameters", format_u64(t->values)) && set(j, "bytes", format_u64(t->bytes));
}

static bool fill_types(json_t *j, const struct inspect *in) {
    bool ok = j;
    for (u32 i = 0; ok && i < QUANT_TYPES; i++) {
        if (!in->types[i].n) continue;
        json_t *type = json_object();
        ok = fill_type(type, &in->types[i]) && set(j, quant_find(i)->name, json_incref(type));
        json_decref(type);
    }
    return ok;
}

static json_t *plan(const struct inspect *in) {
    if (!in->has_plan) return json_null();
    const glim_plan *p = &in->plan;
    json_t *j = json_object();
    if (j && set(j, "device", json_string(in->device)) && set(j, "n_ctx", json_integer(p->n_ctx)) &&
        set(j, "weights", format_u64(p->weights)) && set(j, "tables", format_u64(p->tables)) &&
        set(j, "tables_in_file", json_boolean(p->tables_in_file)) &&
        set(j, "kv", format_u64(p->kv)) && set(j, "activations", format_u64(p->activations)) &&
        set(j, "total", format_u64(p->total)) &&
        set(j, "gpu_memory", p->gpu_memory ? format_u64(p->gpu_memory) : json_null()) &&
        set(j, "fits", p->gpu_memory ? json_boolean(p->total <= p->gpu_free) : json_null()))
        return j;
    json_decref(j);
    return NULL;
}

/* F32 is exact in 9 digits, and reads better so; an F64 needs 17. */
static u32 digits(const struct gguf *g) {
    for (u64 i = 0; i < g->n_kv; i++) {
        if (g->kv[i].type == GGUF_F64) return 17;
    }
    return 9;
}

int inspect_json(const struct inspect *in) {
    json_t *j = json_object(), *metadata = json_object(), *tensors = json_array(),
           *types = json_object();
    struct str why = {in->why.msg, strlen(in->why.msg)}, path = {in->path, strlen(in->path)};
    bool ok = j && fill_metadata(metadata, &in->g) && fill_tensors(tensors, &in->g) &&
              fill_types(types, in);
    ok = ok && set(j, "file", format_string(path)) &&
         set(j, "version", json_integer(in->g.version)) &&
         set(j, "parts", json_integer(in->g.n_parts)) &&
         set(j, "file_bytes", format_u64(in->file_bytes)) &&
         set(j, "alignment", format_u64(in->g.alignment)) &&
         set(j, "architecture", in->arch.n ? format_string(in->arch) : json_null()) &&
         set(j, "parameters", format_u64(in->total.values)) &&
         set(j, "tensor_bytes", format_u64(in->total.bytes)) && set(j, "plan", plan(in)) &&
         set(j, "plan_error", in->has_plan ? json_null() : format_string(why)) &&
         set(j, "types", json_incref(types)) && set(j, "metadata", json_incref(metadata)) &&
         set(j, "tensors", json_incref(tensors));
    json_decref(metadata);
    json_decref(tensors);
    json_decref(types);
    if (ok) return format_json(j, digits(&in->g));
    json_decref(j);
    return format_json(NULL, 0);
}
