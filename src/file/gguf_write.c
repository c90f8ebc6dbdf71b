/* GGUF v3 writer. The header is collected in memory and leaves with the first data (or at the end),
 * when both counts are known; the data passes straight through. */
#include "file/gguf_write.h"
#include "file/gguf_parse.h"

#include <errno.h>
#include <string.h>

/* A growing run of bytes. */
struct bytes {
    u8 *p;
    size_t n, room;
};

struct gguf_writer {
    FILE *to;
    glim_alloc alloc;
    glim_err err;             /* the first error; sticks */
    struct bytes kv, tensors; /* encoded entries */
    struct bytes sizes;       /* u64 bytes of data of each tensor */
    u64 n_kv, n_tensors;
    u64 alignment;
    u64 end;         /* of the declared data, from the start of the data section, padded */
    bool header_out; /* no more declarations */
    u64 i_tensor;    /* which takes data next, and how much it still wants */
    u64 left;
};

/* Numbers are written as in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "GGUF is little endian");

static bool ok(const struct gguf_writer *w) {
    return w->err.code == 0;
}

/* ---- Collecting ------------------------------------------------------------------------------ */

static void put(struct gguf_writer *w, struct bytes *b, const void *p, u64 n) {
    if (!ok(w) || n == 0) return;
    u64 want;
    if (!add_ok(b->n, n, &want) || want > SIZE_MAX / 4) {
        fail(&w->err, GLIM_NOMEM, "a GGUF header of %llu more bytes", (unsigned long long)n);
        return;
    }
    if (want > b->room) {
        size_t room = MAX(MAX((size_t)want, 2 * b->room), 1024u);
        u8 *grown = w->alloc.fn(w->alloc.ud, b->p, b->room, room);
        if (!grown) {
            fail(&w->err, GLIM_NOMEM, "out of memory for a GGUF header of %llu bytes",
                 (unsigned long long)want);
            return;
        }
        b->p = grown;
        b->room = room;
    }
    memcpy(b->p + b->n, p, (size_t)n);
    b->n = (size_t)want;
}

static void put_u32(struct gguf_writer *w, struct bytes *b, u32 v) {
    put(w, b, &v, 4);
}
static void put_u64(struct gguf_writer *w, struct bytes *b, u64 v) {
    put(w, b, &v, 8);
}
static void put_str(struct gguf_writer *w, struct bytes *b, struct str s) {
    put_u64(w, b, s.n);
    put(w, b, s.p, s.n);
}

/* ---- Metadata -------------------------------------------------------------------------------- */

static void begin_kv(struct gguf_writer *w, struct str key, u32 type) {
    if (!ok(w)) return;
    if (w->n_tensors || w->header_out) {
        fail(&w->err, GLIM_ARG, "metadata key '%.*s' comes after the first tensor", GGUF_NAME(key));
        return;
    }
    if (key.n == 0 || key.n > GGUF_MAX_KEY || memchr(key.p, 0, key.n)) {
        fail(&w->err, GLIM_ARG, "a metadata key must have 1 to %d bytes and no zero: '%.*s'",
             GGUF_MAX_KEY, GGUF_NAME(key));
        return;
    }
    put_str(w, &w->kv, key);
    put_u32(w, &w->kv, type);
    w->n_kv++;
}

static void scalar(struct gguf_writer *w, struct str key, u32 type, const void *value) {
    begin_kv(w, key, type);
    put(w, &w->kv, value, gguf_item_bytes(type));
    if (!ok(w) || !str_is(key, "general.alignment")) return;
    u32 v = 0;
    if (type == GGUF_U32) memcpy(&v, value, 4);
    if (gguf_alignment_ok(v))
        w->alignment = v;
    else
        fail(&w->err, GLIM_ARG, "general.alignment must be a u32, a power of two from 8 to 65536");
}

static void strings(struct gguf_writer *w, struct str key, const struct str *v, u64 n) {
    begin_kv(w, key, GGUF_ARRAY);
    put_u32(w, &w->kv, GGUF_STR);
    put_u64(w, &w->kv, n);
    for (u64 i = 0; i < n && ok(w); i++)
        put_str(w, &w->kv, v[i]);
}

static void array(struct gguf_writer *w, struct str key, u32 type, const void *items, u64 n) {
    u64 bytes;
    if (!gguf_item_bytes(type) || !mul_ok(n, gguf_item_bytes(type), &bytes)) {
        fail(&w->err, GLIM_ARG, "metadata key '%.*s': no array of %llu items of type %s",
             GGUF_NAME(key), (unsigned long long)n, gguf_type_name(type));
        return;
    }
    begin_kv(w, key, GGUF_ARRAY);
    put_u32(w, &w->kv, type);
    put_u64(w, &w->kv, n);
    put(w, &w->kv, items, bytes);
}

static struct str text(const char *s) {
    return (struct str){s, strlen(s)};
}

void gguf_write_u32(struct gguf_writer *w, const char *key, u32 v) {
    scalar(w, text(key), GGUF_U32, &v);
}

void gguf_write_f32(struct gguf_writer *w, const char *key, f32 v) {
    scalar(w, text(key), GGUF_F32, &v);
}

void gguf_write_bool(struct gguf_writer *w, const char *key, bool v) {
    u8 byte = v;
    scalar(w, text(key), GGUF_BOOL, &byte);
}

void gguf_write_str(struct gguf_writer *w, const char *key, struct str v) {
    begin_kv(w, text(key), GGUF_STR);
    put_str(w, &w->kv, v);
}

void gguf_write_strs(struct gguf_writer *w, const char *key, const struct str *v, u64 n) {
    strings(w, text(key), v, n);
}

void gguf_write_array(struct gguf_writer *w, const char *key, enum gguf_type type,
                      const void *items, u64 n) {
    array(w, text(key), type, items, n);
}

void gguf_write_kv(struct gguf_writer *w, const struct gguf_kv *kv) {
    if (kv->is_array && kv->type == GGUF_STR) {
        strings(w, kv->key, kv->strings, kv->n);
    } else if (kv->is_array) {
        array(w, kv->key, kv->type, kv->items, kv->n);
    } else if (kv->type == GGUF_STR) {
        begin_kv(w, kv->key, GGUF_STR);
        put_str(w, &w->kv, kv->s);
    } else if (kv->type == GGUF_F32) {
        f32 real = (f32)kv->f; /* came from an f32 */
        scalar(w, kv->key, GGUF_F32, &real);
    } else {
        scalar(w, kv->key, kv->type, &kv->u); /* its low bytes, whatever its width */
    }
}

/* ---- Tensors --------------------------------------------------------------------------------- */

void gguf_write_tensor(struct gguf_writer *w, const char *name, u32 type, u32 n_dims,
                       const u64 *dims, u64 bytes) {
    struct str s = text(name);
    if (!ok(w)) return;
    u64 end;
    if (w->header_out || s.n == 0 || s.n > GGUF_MAX_TENSOR_NAME || n_dims < 1 || n_dims > 4 ||
        !add_ok(w->end, bytes, &end) || !pad_ok(end, w->alignment, &end)) {
        fail(&w->err, GLIM_ARG,
             "tensor '%.*s' comes after data, or its name, %u dimensions or %llu bytes are not "
             "possible",
             GGUF_NAME(s), n_dims, (unsigned long long)bytes);
        return;
    }
    put_str(w, &w->tensors, s);
    put_u32(w, &w->tensors, n_dims);
    put(w, &w->tensors, dims, 8 * (u64)n_dims);
    put_u32(w, &w->tensors, type);
    put_u64(w, &w->tensors, w->end);
    put_u64(w, &w->sizes, bytes);
    w->end = end;
    w->n_tensors++;
}

/* ---- Output ---------------------------------------------------------------------------------- */

static void emit(struct gguf_writer *w, const void *p, u64 n) {
    if (!ok(w) || n == 0) return;
    errno = 0;
    if (fwrite(p, 1, (size_t)n, w->to) != n)
        fail(&w->err, GLIM_IO, "cannot write the GGUF file: %s",
             errno ? strerror(errno) : "unknown reason");
}

/* Zeros up to the alignment, after n bytes. */
static void emit_padding(struct gguf_writer *w, u64 n) {
    static const u8 zeros[512];
    u64 rest = -n & (w->alignment - 1);
    for (; ok(w) && rest; rest -= MIN(rest, sizeof zeros))
        emit(w, zeros, MIN(rest, sizeof zeros));
}

static u64 tensor_bytes(const struct gguf_writer *w, u64 i) {
    u64 bytes;
    memcpy(&bytes, w->sizes.p + 8 * i, 8);
    return bytes;
}

static void emit_header(struct gguf_writer *w) {
    if (!ok(w) || w->header_out) return;
    u8 head[24] = "GGUF\3";
    memcpy(head + 8, &w->n_tensors, 8);
    memcpy(head + 16, &w->n_kv, 8);
    emit(w, head, sizeof head);
    emit(w, w->kv.p, w->kv.n);
    emit(w, w->tensors.p, w->tensors.n);
    emit_padding(w, sizeof head + w->kv.n + w->tensors.n);
    w->header_out = true;
    if (ok(w) && w->n_tensors) w->left = tensor_bytes(w, 0);
}

/* Pads behind the tensors that have all their data, and steps to the next. */
static void finish_tensors(struct gguf_writer *w) {
    while (ok(w) && w->i_tensor < w->n_tensors && w->left == 0) {
        emit_padding(w, tensor_bytes(w, w->i_tensor));
        if (++w->i_tensor < w->n_tensors) w->left = tensor_bytes(w, w->i_tensor);
    }
}

void gguf_write_data(struct gguf_writer *w, const void *p, u64 n) {
    const u8 *from = p;
    emit_header(w);
    finish_tensors(w); /* empty ones in front */
    while (ok(w) && n) {
        if (w->i_tensor == w->n_tensors) {
            fail(&w->err, GLIM_ARG, "%llu bytes of data more than the tensors declared",
                 (unsigned long long)n);
            return;
        }
        u64 step = MIN(n, w->left);
        emit(w, from, step);
        from += step;
        n -= step;
        w->left -= step;
        finish_tensors(w);
    }
}

/* ---- Life ------------------------------------------------------------------------------------ */

int gguf_write_open(struct gguf_writer **out, FILE *to, const glim_alloc *a, glim_err *e) {
    *out = mem_get(a, sizeof **out);
    if (!*out) return fail(e, GLIM_NOMEM, "out of memory for a GGUF writer");
    **out = (struct gguf_writer){.to = to, .alloc = *a, .alignment = GGUF_ALIGNMENT};
    return 0;
}

int gguf_write_close(struct gguf_writer *w, glim_err *e) {
    if (!w) return 0;
    emit_header(w);
    finish_tensors(w);
    if (ok(w) && w->i_tensor < w->n_tensors)
        fail(&w->err, GLIM_ARG, "tensor number %llu of %llu lacks %llu bytes of data",
             (unsigned long long)w->i_tensor + 1, (unsigned long long)w->n_tensors,
             (unsigned long long)w->left);
    errno = 0;
    if (ok(w) && fflush(w->to) != 0)
        fail(&w->err, GLIM_IO, "cannot write the GGUF file: %s", strerror(errno));
    int rc = w->err.code ? fail(e, w->err.code, "%s", w->err.msg) : 0;
    glim_alloc a = w->alloc;
    mem_put(&a, w->kv.p, w->kv.room);
    mem_put(&a, w->tensors.p, w->tensors.room);
    mem_put(&a, w->sizes.p, w->sizes.room);
    mem_put(&a, w, sizeof *w);
    return rc;
}
