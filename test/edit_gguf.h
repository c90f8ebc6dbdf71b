/* Writes changed copies of a sound GGUF file, to a temporary path: other metadata, other tensors,
 * other formats of weights. */
#ifndef TEST_EDIT_GGUF_H
#define TEST_EDIT_GGUF_H

#include "unit.h"

#include "base/f16.h"
#include "file/gguf_write.h"
#include "kern/quant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct temp {
    char path[sizeof P_tmpdir + 24];
};
static inline struct temp temp_new(void) {
    struct temp t = {P_tmpdir "/glim-test-XXXXXX"};
    int fd = mkstemp(t.path);
    assert_true(fd >= 0);
    close(fd);
    return t;
}
static inline void temp_remove(struct temp *t) {
    unlink(t->path);
}

/* One change. With a key: metadata, replaced, added or dropped. With a tensor: that tensor. */
struct edit {
    const char *key, *tensor;
    enum {
        EDIT_DROP,
        EDIT_U32,    /* key = u */
        EDIT_F32,    /* key = f */
        EDIT_STR,    /* key = s */
        EDIT_I32S,   /* key = items[0 .. n_items) */
        EDIT_RENAME, /* the tensor is called s */
        EDIT_DIMS,   /* the tensor has these dims; its values are cut or padded with zeros */
        EDIT_TYPE,   /* the tensor's F32 values are stored as `u` (ggml's number) */
        EDIT_FILL,   /* all values are f (F32) */
        EDIT_SCALE,  /* F32 values times f; only rows dims[0] .. dims[1] of each matrix, if not 0 */
        EDIT_ADD,    /* a new tensor of these dims; value i is f sin(i + 1) */
        EDIT_COPY,   /* a new tensor s of the rows dims[0] .. dims[1] of each of its matrices */
    } as;
    u32 u;
    f32 f;
    const char *s;
    const i32 *items;
    u32 n_items;
    u64 dims[2];
};

/* ---- Simple quantisers ----------------------------------------------------------------------- */

static inline void edit_put_f16(u8 *p, f32 x) {
    u16 h = f32_to_f16(x);
    memcpy(p, &h, 2);
}
static inline u8 edit_nibbles(const i32 *q, u32 j) {
    return (u8)(q[j] | q[j + 16] << 4);
}
/* 32 values as one block; the scale is chosen from the extremes. */
static inline void edit_block(u32 type, const f32 *x, u8 *p) {
    f32 lo = x[0], hi = x[0], far = x[0];
    i32 q[32];
    for (u32 j = 1; j < 32; j++) {
        lo = MIN(lo, x[j]), hi = MAX(hi, x[j]);
        if (fabsf(x[j]) > fabsf(far)) far = x[j];
    }
    f32 d = type == QUANT_Q4_1 ? (hi - lo) / 15 : type == QUANT_Q4_0 ? far / -8 : fabsf(far) / 127;
    for (u32 j = 0; j < 32; j++) {
        f32 at = d == 0 ? 0 : type == QUANT_Q4_1 ? (x[j] - lo) / d : x[j] / d;
        q[j] = (i32)lrintf(at);
        if (type == QUANT_Q4_0) q[j] = MAX(0, MIN(15, q[j] + 8));
    }
    edit_put_f16(p, d);
    if (type == QUANT_Q4_1) edit_put_f16(p + 2, lo);
    u32 head = type == QUANT_Q4_1 ? 4 : 2;
    for (u32 j = 0; j < (type == QUANT_Q8_0 ? 32u : 16u); j++)
        p[head + j] = type == QUANT_Q8_0 ? (u8)(i8)q[j] : edit_nibbles(q, j);
}
/* n values; F16, BF16, Q4_0, Q4_1 or Q8_0. */
static inline void edit_quantise(u32 type, const f32 *x, u64 n, u8 *p) {
    const struct quant *q = quant_find(type);
    for (u64 i = 0; i < n; i += q->block_len, p += q->block_bytes) {
        u16 half = type == QUANT_F16 ? f32_to_f16(x[i]) : f32_to_bf16(x[i]);
        if (q->block_len == 1)
            memcpy(p, &half, 2);
        else
            edit_block(type, x + i, p);
    }
}

/* ---- Writing --------------------------------------------------------------------------------- */

struct edit_tensor {
    char name[72];
    u32 type, n_dims;
    u64 dims[4], bytes;
    u8 *data; /* owned */
};

static inline void edit_values(struct edit_tensor *t, const struct edit *e, u64 n) {
    t->type = QUANT_F32;
    t->n_dims = 2;
    t->dims[0] = e->dims[0];
    t->dims[1] = MAX(e->dims[1], 1u);
    t->bytes = 4 * t->dims[0] * t->dims[1];
    u8 *data = calloc(1, t->bytes + 1);
    assert_non_null(data);
    if (t->data) memcpy(data, t->data, MIN(n, t->bytes));
    for (u64 i = 0; e->as == EDIT_ADD && i < t->bytes / 4; i++) {
        f32 x = e->f * (f32)sin((f64)i + 1);
        memcpy(data + 4 * i, &x, 4);
    }
    free(t->data);
    t->data = data;
}

/* Applies an edit to a copy of a tensor; false: leave it out. */
static inline bool edit_one(struct edit_tensor *t, const struct edit *e) {
    u64 n = t->bytes / 4;
    if (e->as == EDIT_DROP) return false;
    if (e->as == EDIT_RENAME) snprintf(t->name, sizeof t->name, "%s", e->s);
    if (e->as == EDIT_DIMS) edit_values(t, e, t->bytes);
    for (u64 i = 0; e->as == EDIT_SCALE && i < n; i++) {
        u64 row = i / t->dims[0] % t->dims[1];
        f32 *x = (f32 *)(void *)t->data + i;
        if (!e->dims[1] || (row >= e->dims[0] && row < e->dims[1])) *x *= e->f;
    }
    for (u64 i = 0; e->as == EDIT_FILL && i < n; i++)
        memcpy(t->data + 4 * i, &e->f, 4);
    if (e->as == EDIT_TYPE) {
        const struct quant *q = quant_find(e->u);
        assert_true(t->type == QUANT_F32 && q && t->dims[0] % q->block_len == 0);
        u64 bytes = quant_row_bytes(q, t->dims[0]) * t->dims[1];
        u8 *data = malloc(bytes);
        assert_non_null(data);
        edit_quantise(e->u, (const f32 *)(const void *)t->data, n, data);
        free(t->data);
        t->data = data;
        t->bytes = bytes;
        t->type = e->u;
    }
    return true;
}

/* The tensor that EDIT_COPY makes. */
static inline void edit_copy(struct edit_tensor *t, const struct gguf_tensor *from,
                             const struct edit *e) {
    u64 rows = e->dims[1] - e->dims[0], pitch = from->bytes / (from->dims[1] * from->dims[2]);
    *t = (struct edit_tensor){.type = from->type, .n_dims = from->n_dims};
    snprintf(t->name, sizeof t->name, "%s", e->s);
    memcpy(t->dims, from->dims, sizeof t->dims);
    t->dims[1] = rows;
    t->bytes = rows * pitch * from->dims[2];
    t->data = malloc(t->bytes + 1);
    assert_non_null(t->data);
    for (u64 i = 0; i < from->dims[2]; i++) {
        memcpy(t->data + i * rows * pitch, from->data + (i * from->dims[1] + e->dims[0]) * pitch,
               rows * pitch);
    }
}

static inline void edit_write_kv(struct gguf_writer *w, const struct edit *e) {
    if (e->as == EDIT_U32) gguf_write_u32(w, e->key, e->u);
    if (e->as == EDIT_F32) gguf_write_f32(w, e->key, e->f);
    if (e->as == EDIT_STR) gguf_write_str(w, e->key, (struct str){e->s, strlen(e->s)});
    if (e->as == EDIT_I32S) gguf_write_array(w, e->key, GGUF_I32, e->items, e->n_items);
}

static inline void edit_metadata(struct gguf_writer *w, const struct gguf *g, const struct edit *e,
                                 u32 n) {
    for (u64 i = 0; i < g->n_kv; i++) {
        const struct edit *found = NULL;
        for (u32 j = 0; j < n; j++) {
            if (e[j].key && str_is(g->kv[i].key, e[j].key)) found = &e[j];
        }
        if (!found) gguf_write_kv(w, &g->kv[i]);
    }
    for (u32 j = 0; j < n; j++) {
        if (e[j].key) edit_write_kv(w, &e[j]);
    }
}

/* A copy of the GGUF file `from` with n changes. */
static inline struct temp edit_gguf(const char *from, const struct edit *e, u32 n) {
    struct arena arena;
    struct gguf g;
    glim_err err = {0};
    struct gguf_writer *w;
    struct temp to = temp_new();
    arena_init(&arena, &mem_libc);
    if (gguf_open(&g, from, &arena, quant_size, &err)) fail_test("%s", err.msg);
    FILE *f = fopen(to.path, "wb");
    assert_non_null(f);
    assert_int_equal(gguf_write_open(&w, f, &mem_libc, &err), 0);
    edit_metadata(w, &g, e, n);
    struct edit_tensor *t = calloc(g.n_tensors + n, sizeof *t);
    assert_non_null(t);
    u64 n_t = 0;
    for (u64 i = 0; i < g.n_tensors; i++) {
        struct edit_tensor *to_t = &t[n_t];
        const struct gguf_tensor *from_t = &g.tensors[i];
        *to_t = (struct edit_tensor){
            .type = from_t->type, .n_dims = from_t->n_dims, .bytes = from_t->bytes};
        snprintf(to_t->name, sizeof to_t->name, "%.*s", STR(from_t->name));
        memcpy(to_t->dims, from_t->dims, sizeof to_t->dims);
        to_t->data = malloc(from_t->bytes + 1);
        assert_non_null(to_t->data);
        memcpy(to_t->data, from_t->data, from_t->bytes);
        bool keep = true;
        for (u32 j = 0; j < n; j++) {
            bool made = e[j].as == EDIT_ADD || e[j].as == EDIT_COPY;
            if (e[j].tensor && !made && str_is(from_t->name, e[j].tensor))
                keep = edit_one(to_t, &e[j]) && keep;
        }
        if (keep)
            n_t++;
        else
            free(to_t->data);
    }
    for (u32 j = 0; j < n; j++) {
        if (!e[j].tensor) continue;
        if (e[j].as == EDIT_COPY) edit_copy(&t[n_t++], gguf_tensor(&g, e[j].tensor), &e[j]);
        if (e[j].as != EDIT_ADD) continue;
        t[n_t] = (struct edit_tensor){0};
        snprintf(t[n_t].name, sizeof t[n_t].name, "%s", e[j].tensor);
        edit_values(&t[n_t++], &e[j], 0);
    }
    for (u64 i = 0; i < n_t; i++)
        gguf_write_tensor(w, t[i].name, t[i].type, t[i].n_dims, t[i].dims, t[i].bytes);
    for (u64 i = 0; i < n_t; i++) {
        gguf_write_data(w, t[i].data, t[i].bytes);
        free(t[i].data);
    }
    free(t);
    if (gguf_write_close(w, &err)) fail_test("%s", err.msg);
    fclose(f);
    gguf_close(&g);
    arena_free(&arena);
    return to;
}

/* A copy with all matrices in another format. */
static inline struct temp edit_all_as(const char *from, u32 type) {
    struct arena arena;
    struct gguf g;
    glim_err err = {0};
    arena_init(&arena, &mem_libc);
    if (gguf_open(&g, from, &arena, quant_size, &err)) fail_test("%s", err.msg);
    struct edit *e = arena_array(&arena, g.n_tensors, sizeof *e);
    assert_non_null(e);
    u32 n = 0;
    for (u64 i = 0; i < g.n_tensors; i++) {
        if (g.tensors[i].n_dims < 2) continue;
        e[n++] = (struct edit){
            .tensor = arena_text(&arena, g.tensors[i].name), .as = EDIT_TYPE, .u = type};
    }
    struct temp t = edit_gguf(from, e, n);
    gguf_close(&g);
    arena_free(&arena);
    return t;
}

#endif
