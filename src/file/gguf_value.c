/* Typed access to metadata. */
#include "file/gguf.h"
#include "file/gguf_parse.h"

#include <string.h>

static bool is_integer(enum gguf_type t) {
    return t <= GGUF_I32 || t == GGUF_U64 || t == GGUF_I64;
}
static bool is_signed(enum gguf_type t) {
    return t == GGUF_I8 || t == GGUF_I16 || t == GGUF_I32 || t == GGUF_I64;
}

i64 gguf_item_int(const struct gguf_kv *kv, u64 i) {
    u32 n = gguf_item_bytes(kv->type);
    const u8 *p = kv->items + i * n;
    u64 v = 0;
    for (u32 b = 0; b < n; b++)
        v |= (u64)p[b] << 8 * b;
    if (is_signed(kv->type) && n < 8 && v >> (8 * n - 1)) v |= ~(u64)0 << 8 * n;
    return (i64)v;
}

f64 gguf_item_real(const struct gguf_kv *kv, u64 i) {
    if (kv->type == GGUF_F32) {
        f32 v;
        memcpy(&v, kv->items + i * 4, 4);
        return (f64)v;
    }
    if (kv->type == GGUF_F64) {
        f64 v;
        memcpy(&v, kv->items + i * 8, 8);
        return v;
    }
    i64 v = gguf_item_int(kv, i);
    return kv->type == GGUF_U64 ? (f64)(u64)v : (f64)v;
}

static int wrong(const struct gguf_kv *kv, const char *wanted, glim_err *e) {
    return fail(e, GLIM_FORMAT, "metadata key '%.*s' is %s%s, expected %s", GGUF_NAME(kv->key),
                kv->is_array ? "an array of " : "of type ", gguf_type_name(kv->type), wanted);
}

/* Range check of an integer as the file's own type has it. */
static int fit_u32(const struct gguf_kv *kv, i64 v, u32 *out, glim_err *e) {
    if (v >= 0 && v <= UINT32_MAX) {
        *out = (u32)v;
        return 0;
    }
    if (kv->type == GGUF_U64)
        return fail(e, GLIM_FORMAT, "metadata key '%.*s' is %llu, expected at most 4294967295",
                    GGUF_NAME(kv->key), (unsigned long long)v);
    return fail(e, GLIM_FORMAT, "metadata key '%.*s' is %lld, expected 0 to 4294967295",
                GGUF_NAME(kv->key), (long long)v);
}

int gguf_u32(const struct gguf *g, const char *key, u32 *out, glim_err *e) {
    const struct gguf_kv *kv = gguf_find(g, key);
    if (!kv) return GLIM_NOT_FOUND;
    if (kv->is_array || !is_integer(kv->type)) return wrong(kv, "an integer", e);
    return fit_u32(kv, kv->i, out, e);
}

int gguf_f32(const struct gguf *g, const char *key, f32 *out, glim_err *e) {
    const struct gguf_kv *kv = gguf_find(g, key);
    if (!kv) return GLIM_NOT_FOUND;
    f64 v;
    if (kv->is_array) return wrong(kv, "a number", e);
    if (kv->type == GGUF_F32 || kv->type == GGUF_F64)
        v = kv->f;
    else if (kv->type == GGUF_U64)
        v = (f64)kv->u;
    else if (is_integer(kv->type))
        v = (f64)kv->i;
    else
        return wrong(kv, "a number", e);
    /* Converting a finite double past the range of float is undefined. */
    if (v - v == 0 && (v > 0x1.fffffep127 || v < -0x1.fffffep127))
        return fail(e, GLIM_FORMAT, "metadata key '%.*s' is %g, which no f32 can hold",
                    GGUF_NAME(kv->key), v);
    *out = (f32)v;
    return 0;
}

int gguf_bool(const struct gguf *g, const char *key, bool *out, glim_err *e) {
    const struct gguf_kv *kv = gguf_find(g, key);
    if (!kv) return GLIM_NOT_FOUND;
    if (kv->is_array || kv->type != GGUF_BOOL) return wrong(kv, "a bool", e);
    *out = kv->u != 0;
    return 0;
}

int gguf_str(const struct gguf *g, const char *key, struct str *out, glim_err *e) {
    const struct gguf_kv *kv = gguf_find(g, key);
    if (!kv) return GLIM_NOT_FOUND;
    if (kv->is_array || kv->type != GGUF_STR) return wrong(kv, "a string", e);
    *out = kv->s;
    return 0;
}

int gguf_u32s(const struct gguf *g, const char *key, u32 *out, u64 n, glim_err *e) {
    const struct gguf_kv *kv = gguf_find(g, key);
    if (!kv) return GLIM_NOT_FOUND;
    if (!is_integer(kv->type)) return wrong(kv, "an integer or an array of integers", e);
    if (kv->is_array && kv->n != n)
        return fail(e, GLIM_FORMAT, "metadata key '%.*s' is an array of %llu, expected %llu items",
                    GGUF_NAME(kv->key), (unsigned long long)kv->n, (unsigned long long)n);
    for (u64 i = 0; i < n; i++) {
        int rc = fit_u32(kv, kv->is_array ? gguf_item_int(kv, i) : kv->i, &out[i], e);
        if (rc) return rc;
    }
    return 0;
}
