/* Loads GGUF bytes in a test and checks what came of it. */
#ifndef TEST_LOAD_GGUF_H
#define TEST_LOAD_GGUF_H

#include "unit.h"

#include "build_gguf.h"
#include "count_alloc.h"
#include "kern/quant.h"

/* Some tensor types, written down apart from the code under test. */
static inline bool test_type_size(u32 type, u32 *block_len, u32 *block_bytes) {
    static const u8 known[][3] = {
        {0, 1, 4},    /* F32 */
        {1, 1, 2},    /* F16 */
        {2, 32, 18},  /* Q4_0 */
        {8, 32, 34},  /* Q8_0 */
        {24, 1, 1},   /* I8 */
        {26, 1, 4},   /* I32 */
        {39, 32, 17}, /* MXFP4 */
    };
    for (u32 i = 0; i < COUNT(known); i++) {
        if (known[i][0] != type) continue;
        *block_len = known[i][1];
        *block_bytes = known[i][2];
        return true;
    }
    return quant_size(type, block_len, block_bytes); /* fixtures have the rest */
}

struct load {
    struct gguf g;
    struct arena arena;
    struct count_alloc count;
    glim_err e;
    int rc;
    u8 *bytes; /* owned; ends where the file ends, so that a sanitizer sees reads past it */
};

static inline void load_bytes(struct load *l, const void *p, size_t n) {
    memset(l, 0, sizeof *l);
    count_alloc_init(&l->count);
    arena_init(&l->arena, &l->count.alloc);
    l->bytes = malloc(n ? n : 1);
    assert_non_null(l->bytes);
    if (n) memcpy(l->bytes, p, n);
    struct source *s;
    assert_int_equal(source_bytes(&s, l->bytes, n, "test.gguf", &l->count.alloc, &l->e), 0);
    l->rc = gguf_open_source(&l->g, s, &l->arena, test_type_size, &l->e);
    /* A failure says so, in words; a success says nothing. */
    assert_int_equal(l->rc, l->e.code);
    assert_int_equal(l->rc != 0, l->e.msg[0] != 0);
}

static inline void load_path(struct load *l, const char *path) {
    memset(l, 0, sizeof *l);
    count_alloc_init(&l->count);
    arena_init(&l->arena, &l->count.alloc);
    l->rc = gguf_open(&l->g, path, &l->arena, test_type_size, &l->e);
    assert_int_equal(l->rc, l->e.code);
}

static inline void load_free(struct load *l) {
    gguf_close(&l->g);
    arena_free(&l->arena);
    assert_int_equal(l->count.live, 0);
    free(l->bytes);
}

/* The message must name each of the words (separated by '|'). */
static inline void assert_says(const glim_err *e, const char *words) {
    char copy[256];
    snprintf(copy, sizeof copy, "%s", words);
    for (char *w = strtok(copy, "|"); w; w = strtok(NULL, "|")) {
        if (!strstr(e->msg, w)) fail_test("'%s' does not say '%s'", e->msg, w);
    }
}

/* The built file must load; frees the builder, the caller frees l. */
static inline void assert_loads(struct load *l, struct build *b) {
    load_bytes(l, b->p, b->n);
    if (l->rc) fail_test("refused: %s", l->e.msg);
    build_free(b);
}

/* The built file must be refused with code and words, in little memory; frees the builder. */
static inline void assert_refused(struct build *b, int code, const char *words) {
    struct load l;
    load_bytes(&l, b->p, b->n);
    if (l.rc != code) fail_test("status %d (%s), expected %d", l.rc, l.e.msg, code);
    assert_says(&l.e, words);
    assert_true(l.count.peak < (4u << 20));
    load_free(&l);
    build_free(b);
}

/* A small sound file: every value type, two tensors. */
static inline void build_small(struct build *b) {
    build_head(b, 3, 2, 16);
    build_kv_str(b, "general.architecture", "tiny");
    build_key(b, "t.u8", GGUF_U8), build_u8(b, 200);
    build_key(b, "t.i8", GGUF_I8), build_u8(b, 0xfe);
    build_key(b, "t.u16", GGUF_U16), build_bytes(b, "\x34\x12", 2);
    build_key(b, "t.i16", GGUF_I16), build_bytes(b, "\xfd\xff", 2);
    build_kv_u32(b, "t.u32", 4000000000u);
    build_key(b, "t.i32", GGUF_I32), build_u32(b, (u32)-5);
    build_key(b, "t.f32", GGUF_F32), build_f32(b, 1.5f);
    build_key(b, "t.bool", GGUF_BOOL), build_u8(b, 1);
    build_key(b, "t.u64", GGUF_U64), build_u64(b, 1ull << 40);
    build_key(b, "t.i64", GGUF_I64), build_u64(b, (u64)-7);
    f64 pi = 3.25;
    build_key(b, "t.f64", GGUF_F64), build_bytes(b, &pi, 8);
    build_kv_array(b, "t.strs", GGUF_STR, 3);
    build_str(b, "a"), build_str(b, ""), build_str(b, "ccc");
    build_kv_array(b, "t.i16s", GGUF_I16, 2);
    build_bytes(b, "\x01\x00\xff\xff", 4);
    build_kv_array(b, "t.empty", GGUF_F32, 0);
    build_kv_array(b, "t.bools", GGUF_BOOL, 2);
    build_bytes(b, "\x00\x01", 2);
    const u64 dims[] = {32, 2};
    build_tensor(b, "a.weight", 2, dims, 2, 0); /* Q4_0: 36 bytes */
    build_tensor(b, "b.weight", 1, dims, 0, 64);
    build_pad(b, 32);
    for (u32 i = 0; i < 36; i++)
        build_u8(b, (u8)i);
    build_pad(b, 32);
    for (u32 i = 0; i < 32; i++)
        build_f32(b, (f32)i);
}

#endif
