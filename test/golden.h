/* Reads golden files: GGUF files of named F32 and I32 tensors that other programs computed. */
#ifndef TEST_GOLDEN_H
#define TEST_GOLDEN_H

#include "unit.h"

#include "file/gguf.h"

struct golden_file {
    struct arena arena;
    struct gguf g;
};

static inline bool golden_file_size(u32 type, u32 *len, u32 *bytes) {
    *len = 1;
    *bytes = type == 24 ? 1 : 4; /* I8, F32, I32 */
    return true;
}

static inline void golden_file_open(struct golden_file *f, const char *path) {
    glim_err e = {0};
    *f = (struct golden_file){0};
    arena_init(&f->arena, &mem_libc);
    if (gguf_open(&f->g, path, &f->arena, golden_file_size, &e)) fail_test("%s", e.msg);
}
static inline void golden_file_close(struct golden_file *f) {
    gguf_close(&f->g);
    arena_free(&f->arena);
}

/* A tensor as rows of dims[0] values (of width dims[0] * dims[1] for three dimensions: heads of one
 * row lie side by side). NULL where the case has no such part. */
struct golden {
    const f32 *x;
    const i32 *i; /* the same memory */
    u32 rows, cols;
};
static inline struct golden golden_find(const struct golden_file *f, const char *name,
                                        const char *part) {
    char full[64];
    snprintf(full, sizeof full, "%s.%s", name, part);
    const struct gguf_tensor *t = gguf_tensor(&f->g, full);
    if (!t) return (struct golden){0};
    u64 heads = t->n_dims == 3 ? t->dims[1] : 1, rows = t->n_dims == 3 ? t->dims[2] : t->dims[1];
    return (struct golden){.x = (const f32 *)(const void *)t->data,
                           .i = (const i32 *)(const void *)t->data,
                           .rows = (u32)rows,
                           .cols = (u32)(t->dims[0] * heads)};
}
static inline struct golden golden_get(const struct golden_file *f, const char *name,
                                       const char *part) {
    struct golden g = golden_find(f, name, part);
    if (!g.x) fail_test("the golden file has no %s.%s", name, part);
    return g;
}

#endif
