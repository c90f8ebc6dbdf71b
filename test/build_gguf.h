/* Builds GGUF files byte by byte in memory, malformed ones too: nothing here checks anything. Used
 * by tests; the writer of src/file is for sound files. */
#ifndef TEST_BUILD_GGUF_H
#define TEST_BUILD_GGUF_H

#include "file/gguf.h"

#include <stdlib.h>
#include <string.h>

struct build {
    u8 *p; /* owned; free with build_free */
    size_t n, room;
};

static inline void build_bytes(struct build *b, const void *p, size_t n) {
    if (b->n + n > b->room) {
        b->room = 2 * (b->n + n) + 256;
        b->p = realloc(b->p, b->room);
        if (!b->p) abort();
    }
    if (n) memcpy(b->p + b->n, p, n);
    b->n += n;
}
static inline void build_free(struct build *b) {
    free(b->p);
    *b = (struct build){0};
}
static inline void build_u8(struct build *b, u8 v) {
    build_bytes(b, &v, 1);
}
static inline void build_u32(struct build *b, u32 v) {
    build_bytes(b, &v, 4);
}
static inline void build_u64(struct build *b, u64 v) {
    build_bytes(b, &v, 8);
}
static inline void build_f32(struct build *b, f32 v) {
    build_bytes(b, &v, 4);
}
static inline void build_zeros(struct build *b, size_t n) {
    while (n--)
        build_u8(b, 0);
}
static inline void build_pad(struct build *b, size_t align) {
    while (b->n % align)
        build_u8(b, 0);
}
static inline void build_str(struct build *b, const char *s) {
    build_u64(b, strlen(s));
    build_bytes(b, s, strlen(s));
}

/* Magic, version and counts: everything before the first entry (24 bytes). */
static inline void build_head(struct build *b, u32 version, u64 n_tensors, u64 n_kv) {
    build_bytes(b, "GGUF", 4);
    build_u32(b, version);
    build_u64(b, n_tensors);
    build_u64(b, n_kv);
}

/* Key and value type; the value follows. */
static inline void build_key(struct build *b, const char *key, u32 type) {
    build_str(b, key);
    build_u32(b, type);
}
static inline void build_kv_u32(struct build *b, const char *key, u32 v) {
    build_key(b, key, GGUF_U32);
    build_u32(b, v);
}
static inline void build_kv_str(struct build *b, const char *key, const char *v) {
    build_key(b, key, GGUF_STR);
    build_str(b, v);
}
/* Key, item type and count of an array; the items follow. */
static inline void build_kv_array(struct build *b, const char *key, u32 type, u64 n) {
    build_key(b, key, GGUF_ARRAY);
    build_u32(b, type);
    build_u64(b, n);
}

/* An entry of the tensor table; dims has n_dims values. */
static inline void build_tensor(struct build *b, const char *name, u32 n_dims, const u64 *dims,
                                u32 type, u64 offset) {
    build_str(b, name);
    build_u32(b, n_dims);
    for (u32 i = 0; i < n_dims; i++)
        build_u64(b, dims[i]);
    build_u32(b, type);
    build_u64(b, offset);
}

#endif
