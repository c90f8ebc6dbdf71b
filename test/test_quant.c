/* Weight formats against blocks whose values other programs computed (script/reduce_quants.py says
 * which). Floats are compared by their bits. */
#include "base/f16.h"
#include "base/mem.h"
#include "file/gguf.h"
#include "kern/quant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define FIXTURE "test/data/quants.golden.gguf"

static struct arena arena;
static struct gguf golden;

/* The fixture's blocks are plain bytes, a type that is no weight format. */
static bool fixture_size(u32 type, u32 *block_len, u32 *block_bytes) {
    enum { GGML_I8 = 24 };
    if (type == GGML_I8) {
        *block_len = *block_bytes = 1;
        return true;
    }
    return quant_size(type, block_len, block_bytes);
}

static int open_fixture(void **state) {
    (void)state;
    glim_err e = {0};
    arena_init(&arena, &mem_libc);
    if (gguf_open(&golden, FIXTURE, &arena, fixture_size, &e) == 0) return 0;
    fprintf(stderr, "%s\n", e.msg);
    return -1;
}

static int close_fixture(void **state) {
    (void)state;
    gguf_close(&golden);
    arena_free(&arena);
    return 0;
}

/* Tensor "T.part", or NULL. */
static const struct gguf_tensor *part(const struct quant *q, const char *name) {
    char full[64];
    snprintf(full, sizeof full, "%s.%s", q->name, name);
    return gguf_tensor(&golden, full);
}

static void assert_bits(const struct quant *q, const f32 *got, const u8 *want, u64 n, u64 at) {
    for (u64 i = 0; i < n; i++) {
        u32 bits;
        memcpy(&bits, want + 4 * i, 4);
        if (f32_bits(got[i]) == bits) continue;
        fail_msg("%s: value %llu is %a, expected %a", q->name, (unsigned long long)(at + i),
                 (double)got[i], (double)f32_from_bits(bits));
    }
}

/* Rows of `rows` [bytes, R] decode to `values` [K, R]. Each row is copied to memory of exactly its
 * size, so that a read past it is seen. */
static void check_rows(const struct quant *q, const char *rows, const char *values) {
    const struct gguf_tensor *r = part(q, rows), *v = part(q, values);
    assert_non_null(r);
    assert_non_null(v);
    assert_int_equal(r->dims[1], v->dims[1]);
    assert_int_equal(quant_row_bytes(q, v->dims[0]), r->dims[0]);
    u8 *src = malloc(r->dims[0]);
    f32 *dst = malloc(v->dims[0] * sizeof *dst);
    for (u64 i = 0; i < r->dims[1]; i++) {
        memcpy(src, r->data + i * r->dims[0], r->dims[0]);
        quant_row(q, src, 0, v->dims[0], dst);
        assert_bits(q, dst, v->data + i * v->dims[0] * 4, v->dims[0], i * v->dims[0]);
    }
    free(src);
    free(dst);
}

/* Every number ggml ever gave, and what it means here. */
static void test_table(void **state) {
    (void)state;
    u32 known = 0;
    for (u32 type = 0; type < 4096; type++) {
        const struct quant *q = quant_find(type);
        if (!q) continue;
        known++;
        assert_int_equal(q->type, type);
        assert_ptr_equal(quant_named(q->name), q);
        u32 len, bytes;
        assert_true(quant_size(type, &len, &bytes));
        assert_int_equal(len, q->block_len);
        assert_int_equal(bytes, q->block_bytes);
        char key[64];
        snprintf(key, sizeof key, "golden.type.%s", q->name);
        u32 number = 0; /* F32 has no blocks in the fixture */
        if (type != QUANT_F32) assert_int_equal(gguf_u32(&golden, key, &number, NULL), 0);
        assert_int_equal(number, type);
    }
    assert_int_equal(known, 25);
    static const u32 unknown[] = {4,  5,  9,  15, 24, 25, 26, 27, 28,  31,        32,
                                  33, 36, 37, 38, 40, 41, 42, 80, 105, UINT32_MAX};
    for (u32 i = 0; i < COUNT(unknown); i++) {
        u32 len = 7, bytes = 7;
        assert_null(quant_find(unknown[i]));
        assert_false(quant_size(unknown[i], &len, &bytes));
    }
    assert_ptr_equal(quant_named("q4_k"), quant_find(QUANT_Q4_K));
    assert_ptr_equal(quant_named("bf16"), quant_find(QUANT_BF16));
    assert_null(quant_named("Q4_2"));
    assert_null(quant_named("Q4_"));
    assert_null(quant_named(""));
    assert_int_equal(quant_row_bytes(quant_find(QUANT_Q6_K), 512), 420);
    assert_int_equal(quant_row_bytes(quant_find(QUANT_F16), 7), 14);
}

static void test_goldens(void **state) {
    (void)state;
    for (u32 type = 0; type < QUANT_TYPES; type++) {
        const struct quant *q = quant_find(type);
        if (!q || type == QUANT_F32) continue;
        check_rows(q, "raw", "values");
        if (strcmp(q->name, "IQ1_M") != 0) check_rows(q, "quant", "quant_values");
    }
}

/* Groups of fewer than 32 values leave the rest of the output alone; rows can start at any group.
 */
static void test_parts_of_rows(void **state) {
    (void)state;
    for (u32 type = 0; type < QUANT_TYPES; type++) {
        const struct quant *q = quant_find(type);
        if (!q || type == QUANT_F32) continue;
        const struct gguf_tensor *r = part(q, "raw"), *v = part(q, "values");
        /* The blocks lie side by side, so that four of them are a row as well. */
        u64 k = q->block_len == 1 ? 77 : 4 * (u64)q->block_len;
        for (u32 j = 0; 32 * j < MIN(k, q->block_len); j++) {
            for (u32 n = 0; n <= 32; n++) {
                f32 out[33];
                for (u32 i = 0; i < 33; i++)
                    out[i] = 12345.0f;
                q->decode(r->data, j, n, out);
                assert_bits(q, out, v->data + 128 * (u64)j, n, 32 * j);
                for (u32 i = n; i < 33; i++)
                    assert_true(out[i] == 12345.0f);
            }
        }
        for (u64 first = 0; first < k; first += 32) {
            for (u64 n = 0; n <= k - first; n += n < 70 ? 1 : 61) {
                f32 *out = malloc((n + 1) * sizeof *out);
                out[n] = 12345.0f;
                quant_row(q, r->data, first, n, out);
                assert_bits(q, out, v->data + 4 * first, n, first);
                assert_true(out[n] == 12345.0f);
                free(out);
            }
        }
    }
}

/* Plain floats of any count, with nothing read past the last one. */
static void test_plain_floats(void **state) {
    (void)state;
    static const u32 special[] = {
        0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x00800000, 0x3f800000, 0x7f7fffff,
        0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x33333333, 0xc2f6e979, 0x7f812345,
    };
    for (u64 n = 0; n < 100; n++) {
        u8 *f = malloc(4 * n + 1), *h = malloc(2 * n + 1), *b = malloc(2 * n + 1);
        f32 *out = malloc((n + 1) * sizeof *out);
        for (u64 i = 0; i < n; i++) {
            u32 bits = special[i % COUNT(special)] ^ (u32)(i / COUNT(special));
            u16 half = (u16)(bits >> 16 ^ bits);
            for (u32 k = 0; k < 4; k++)
                f[4 * i + k] = (u8)(bits >> 8 * k);
            for (u32 k = 0; k < 2; k++)
                h[2 * i + k] = (u8)(half >> 8 * k);
            for (u32 k = 0; k < 2; k++)
                b[2 * i + k] = (u8)(bits >> (16 + 8 * k));
        }
        quant_row(quant_find(QUANT_F32), f, 0, n, out);
        assert_memory_equal(out, f, 4 * n);
        quant_row(quant_find(QUANT_F16), h, 0, n, out);
        for (u64 i = 0; i < n; i++) {
            u16 half = (u16)(h[2 * i] | h[2 * i + 1] << 8);
            assert_int_equal(f32_bits(out[i]), f32_bits(f16_to_f32(half)));
        }
        quant_row(quant_find(QUANT_BF16), b, 0, n, out);
        for (u64 i = 0; i < n; i++) {
            u32 bits = (u32)b[2 * i] << 16 | (u32)b[2 * i + 1] << 24;
            assert_int_equal(f32_bits(out[i]), bits);
        }
        free(f), free(h), free(b), free(out);
    }
}

/* Groups along a row of plain floats: group j is what a row that starts there begins with. */
static void test_groups_of_plain_floats(void **state) {
    (void)state;
    static const u32 plain[] = {QUANT_F32, QUANT_F16, QUANT_BF16};
    u8 row[4 * 32 * 5];
    for (u32 i = 0; i < sizeof row; i++)
        row[i] = (u8)(i * 37 + i / 32);
    for (u32 t = 0; t < COUNT(plain); t++) {
        const struct quant *q = quant_find(plain[t]);
        for (u32 j = 0; j < 5; j++) {
            f32 a[32], b[32];
            q->decode(row, j, 32, a);
            q->decode(row + 32 * j * q->block_bytes, 0, 32, b);
            assert_memory_equal(a, b, sizeof a);
        }
    }
}

/* All 256 exponents of MXFP4 (E8M0 of the OCP microscaling formats) with code 7, which is 6.0. 255
 * stands for NaN there; other programs read it as 2^128, and files are made with them. */
static void test_mxfp4_exponents(void **state) {
    (void)state;
    const struct quant *q = quant_named("MXFP4");
    for (u32 e = 0; e < 256; e++) {
        u8 block[17] = {(u8)e};
        for (u32 i = 1; i < 17; i++)
            block[i] = 0x70;
        f32 out[32];
        q->decode(block, 0, 32, out);
        for (u32 i = 0; i < 16; i++) {
            assert_true(out[i] == 0.0f);
            assert_true(out[16 + i] == (f32)ldexp(6.0, (int)e - 127));
        }
    }
}

/* Any bytes decode without undefined behaviour; what they give is each format's affair. */
static void test_any_bytes(void **state) {
    (void)state;
    u64 seed = 1;
    for (u32 type = 0; type < QUANT_TYPES; type++) {
        const struct quant *q = quant_find(type);
        if (!q) continue;
        u64 k = q->block_len == 1 ? 33 : q->block_len;
        u64 bytes = quant_row_bytes(q, k);
        u8 *row = malloc(bytes);
        f32 *out = malloc(k * sizeof *out);
        for (u32 round = 0; round < 258; round++) {
            for (u64 i = 0; i < bytes; i++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                row[i] = round < 256 ? (u8)round : (u8)(seed >> 56);
            }
            quant_row(q, row, 0, k, out);
        }
        free(row);
        free(out);
    }
}

static void test_grids(void **state) {
    (void)state;
    u64 hash = 0xcbf29ce484222325u;
    for (u32 i = 0; i < 4 * QUANT_GRID_WORDS; i++) {
        hash = (hash ^ (quant_grids[i / 4] >> 8 * (i % 4) & 255)) * 0x100000001b3u;
    }
    assert_true(hash == quant_grids_fnv);
}

/* ---- WGSL text */

/* Whether the word at s is a name that a call in a decoder may use: a built-in function or type, or
 * what quant_wgsl asks its caller to supply. */
static bool name_is_given(const char *s, size_t n) {
    static const char *const given[] = {"if",     "for",         "u32",         "i32",  "f32",
                                        "select", "extractBits", "weight_word", "emit", "private"};
    for (u32 i = 0; i < COUNT(given); i++) {
        if (strlen(given[i]) == n && memcmp(given[i], s, n) == 0) return true;
    }
    return false;
}

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Every function called and every table named is defined in the text or given. */
static void check_names(const struct quant *q, const char *text) {
    for (const char *s = text; *s;) {
        if (!is_name(*s)) {
            s++;
            continue;
        }
        size_t n = 0;
        while (is_name(s[n]))
            n++;
        char need[64];
        if (strncmp(s, "GRID_", 5) == 0) {
            snprintf(need, sizeof need, "const %.*s = ", (int)n, s);
        } else {
            snprintf(need, sizeof need, "fn %.*s(", (int)n, s);
        }
        bool grid = n == strlen("grid_word") && memcmp(s, "grid_word", n) == 0;
        bool used = strncmp(s, "GRID_", 5) == 0 || s[n] == '(';
        if (used && !name_is_given(s, n) && !(grid && quant_uses_grids(q)) && !strstr(text, need)) {
            fail_msg("%s: %.*s is not defined in the WGSL text", q->name, (int)n, s);
        }
        s += n;
    }
}

static void test_wgsl(void **state) {
    (void)state;
    for (u32 type = 0; type < QUANT_TYPES; type++) {
        const struct quant *q = quant_find(type);
        if (!q) continue;
        size_t n = quant_wgsl(q, NULL, 0);
        char *text = malloc(n + 1);
        assert_int_equal(quant_wgsl(q, text, n + 1), n);
        assert_int_equal(strlen(text), n);
        assert_non_null(strstr(text, "fn decode(p: u32, j: u32, n: u32) {\n"));
        assert_null(strchr(text, '?')); /* C's conditional */
        check_names(q, text);
        i32 depth = 0, parens = 0;
        for (const char *s = text; *s; s++) {
            depth += (*s == '{') - (*s == '}');
            parens += (*s == '(') - (*s == ')');
            assert_true(depth >= 0 && parens >= 0);
        }
        assert_int_equal(depth, 0);
        assert_int_equal(parens, 0);
        /* A buffer that is too small holds the start of the text and a zero. */
        for (size_t cap = 1; cap < n; cap += 97) {
            char *small = malloc(cap);
            assert_int_equal(quant_wgsl(q, small, cap), n);
            assert_int_equal(strlen(small), cap - 1);
            assert_memory_equal(small, text, cap - 1);
            free(small);
        }
        free(text);
    }
    assert_true(quant_uses_grids(quant_named("IQ3_S")));
    assert_true(quant_uses_grids(quant_named("MXFP4")));
    assert_false(quant_uses_grids(quant_named("Q4_K")));
}

/* A whole shader around a decoder: values[] = all values of the row of blocks in weights[]. */
static int write_shader(const struct quant *q, const char *folder) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.wgsl", folder, q->name);
    FILE *f = fopen(path, "w");
    if (!f) {
        perror(path);
        return 1;
    }
    size_t n = quant_wgsl(q, NULL, 0);
    char *text = malloc(n + 1);
    quant_wgsl(q, text, n + 1);
    fprintf(f, "@group(0) @binding(0) var<storage, read_write> values: array<f32>;\n"
               "@group(0) @binding(1) var<storage, read> weights: array<u32>;\n"
               "fn weight_word(i: u32) -> u32 { return weights[i]; }\n");
    if (quant_uses_grids(q)) {
        fprintf(f, "@group(0) @binding(2) var<storage, read> grids: array<u32>;\n"
                   "fn grid_word(i: u32) -> u32 { return grids[i]; }\n");
    }
    fprintf(f,
            "var<private> first: u32;\n"
            "fn emit(i: u32, v: f32) { values[first + i] = v; }\n%s"
            "@compute @workgroup_size(32)\n"
            "fn main(@builtin(global_invocation_id) id: vec3u) {\n"
            "    first = 32u * id.x;\n"
            "    if (first >= arrayLength(&values)) { return; }\n"
            "    let block = first / %uu;\n"
            "    decode(block * %uu, (first - block * %uu) / 32u,\n"
            "           min(32u, arrayLength(&values) - first));\n"
            "}\n",
            text, q->block_len == 1 ? UINT32_MAX : q->block_len, q->block_bytes, q->block_len);
    free(text);
    return fclose(f) ? 1 : 0;
}

/* --wgsl FOLDER: writes the decoders as whole shaders, and the tables, for validators. */
static int write_shaders(const char *folder) {
    for (u32 type = 0; type < QUANT_TYPES; type++) {
        const struct quant *q = quant_find(type);
        if (q && write_shader(q, folder)) return 1;
    }
    char path[512];
    snprintf(path, sizeof path, "%s/grids.bin", folder);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(quant_grids, sizeof quant_grids, 1, f) != 1 || fclose(f)) {
        perror(path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--wgsl") == 0) return write_shaders(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_goldens),
        cmocka_unit_test(test_parts_of_rows),
        cmocka_unit_test(test_plain_floats),
        cmocka_unit_test(test_groups_of_plain_floats),
        cmocka_unit_test(test_mxfp4_exponents),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_grids),
        cmocka_unit_test(test_wgsl),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
