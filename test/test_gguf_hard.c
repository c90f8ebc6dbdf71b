/* Files that made readers of this format crash, hang, ask for gigabytes or load the wrong thing.
 * Each must be refused in words or load rightly, in little memory; assert_refused checks all. */
#include "load_gguf.h"

#include <sys/stat.h>
#include <unistd.h>

/* ---- Counts and lengths ---------------------------------------------------------------------- */

static void huge_counts_are_refused_before_allocating(void **state) {
    (void)state;
    const u64 counts[] = {1, 500000000, (u64)1 << 32, (u64)1 << 58, UINT64_MAX / 64, UINT64_MAX};
    for (u32 i = 0; i < COUNT(counts); i++) {
        struct build b = {0};
        build_head(&b, 3, 0, counts[i]);
        assert_refused(&b, GLIM_FORMAT, "metadata entries|interrupted download");
        build_head(&b, 3, counts[i], 0);
        assert_refused(&b, GLIM_FORMAT, "tensors|interrupted download");
    }
}

static void huge_arrays_are_refused_before_allocating(void **state) {
    (void)state;
    const u64 counts[] = {100,
                          (u64)1 << 31,
                          (u64)1 << 58,
                          (u64)1 << 61,
                          UINT64_MAX / 8,
                          UINT64_MAX / 8 + 1,
                          UINT64_MAX / 2,
                          UINT64_MAX};
    for (u32 type = 0; type <= GGUF_F64; type++) {
        if (type == GGUF_ARRAY) continue;
        for (u32 i = 0; i < COUNT(counts); i++) {
            struct build b = {0};
            build_head(&b, 3, 0, 1);
            build_kv_array(&b, "some.list", type, counts[i]);
            build_zeros(&b, 64);
            assert_refused(&b, GLIM_FORMAT, "some.list");
        }
    }
}

static void string_lengths_do_not_wrap(void **state) {
    (void)state;
    for (u32 i = 0; i < 4; i++) {
        struct build b = {0};
        const u64 left = 40;
        const u64 lengths[] = {left + 1, UINT64_MAX, UINT64_MAX - 7, (u64)1 << 63};
        build_head(&b, 3, 0, 1); /* as a key */
        build_u64(&b, lengths[i]);
        build_zeros(&b, left);
        assert_refused(&b, GLIM_FORMAT, "metadata key|interrupted download");
        build_head(&b, 3, 0, 1); /* as a value */
        build_key(&b, "some.text", GGUF_STR);
        build_u64(&b, lengths[i]);
        build_zeros(&b, left);
        assert_refused(&b, GLIM_FORMAT, "some.text|interrupted download");
        build_head(&b, 3, 0, 1); /* as the last item of an array */
        build_kv_array(&b, "some.list", GGUF_STR, 2);
        build_str(&b, "x");
        build_u64(&b, lengths[i]);
        build_zeros(&b, left);
        assert_refused(&b, GLIM_FORMAT, "some.list|interrupted download");
        build_head(&b, 3, 1, 0); /* as a tensor's name */
        build_u64(&b, lengths[i]);
        build_zeros(&b, left);
        assert_refused(&b, GLIM_FORMAT, "tensor name|interrupted download");
    }
}

static void value_of_exactly_the_rest_loads(void **state) {
    (void)state;
    struct build b = {0};
    struct load l;
    build_head(&b, 3, 0, 1);
    build_key(&b, "some.text", GGUF_STR);
    build_u64(&b, 40);
    build_zeros(&b, 40);
    assert_loads(&l, &b);
    assert_int_equal(l.g.kv[0].s.n, 40);
    load_free(&l);
}

/* Sparse on disk: the lengths are honest, only nobody has such a header. */
static void header_beyond_a_gigabyte_is_refused(void **state) {
    (void)state;
    char path[] = P_tmpdir "/glim-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    struct build b = {0};
    build_head(&b, 3, 0, 1);
    build_key(&b, "some.text", GGUF_STR);
    build_u64(&b, (u64)3 << 29);
    assert_int_equal(write(fd, b.p, b.n), b.n);
    assert_int_equal(ftruncate(fd, (off_t)(b.n + ((u64)3 << 29))), 0);
    close(fd);
    struct load l;
    load_path(&l, path);
    assert_int_equal(l.rc, GLIM_UNSUPPORTED);
    assert_says(&l.e, "some.text|1 GiB");
    load_free(&l);
    build_free(&b);
    unlink(path);
}

static void names_have_limits(void **state) {
    (void)state;
    struct build b = {0};
    struct load l;
    const u64 dims[] = {1};
    char name[257];
    memset(name, 'n', sizeof name);
    name[256] = 0;
    build_head(&b, 3, 1, 0);
    build_tensor(&b, name, 1, dims, 0, 0);
    build_zeros(&b, 64);
    assert_refused(&b, GLIM_FORMAT, "tensor name|255");
    name[255] = 0;
    build_head(&b, 3, 1, 0);
    build_tensor(&b, name, 1, dims, 0, 0);
    build_zeros(&b, 64);
    assert_loads(&l, &b);
    assert_non_null(gguf_tensor(&l.g, name));
    load_free(&l);
    build_head(&b, 3, 1, 0);
    build_tensor(&b, "", 1, dims, 0, 0);
    build_zeros(&b, 64);
    assert_refused(&b, GLIM_FORMAT, "tensor name|empty");
    build_head(&b, 3, 0, 1);
    build_u64(&b, 65536);
    build_zeros(&b, 65536 + 64);
    assert_refused(&b, GLIM_FORMAT, "metadata key|65535");
    build_head(&b, 3, 0, 1);
    build_u64(&b, 3);
    build_bytes(&b, "a\0b", 3);
    build_zeros(&b, 64);
    assert_refused(&b, GLIM_FORMAT, "metadata key|zero byte");
}

/* ---- Metadata -------------------------------------------------------------------------------- */

static void bad_alignment_is_refused(void **state) {
    (void)state;
    const u32 bad[] = {0, 1, 3, 4, 24, 33, 131072, 1u << 30, 1u << 31, UINT32_MAX};
    for (u32 i = 0; i < COUNT(bad); i++) {
        for (u32 tensors = 0; tensors < 3; tensors += 2) {
            struct build b = {0};
            const u64 dims[] = {8};
            build_head(&b, 3, tensors, 1);
            build_kv_u32(&b, "general.alignment", bad[i]);
            if (tensors) {
                build_tensor(&b, "x", 1, dims, 0, 0);
                build_tensor(&b, "y", 1, dims, 0, bad[i]);
                build_zeros(&b, 200);
            }
            assert_refused(&b, GLIM_FORMAT, "general.alignment|power of two");
        }
    }
    struct build b = {0};
    build_head(&b, 3, 0, 1);
    build_key(&b, "general.alignment", GGUF_U64);
    build_u64(&b, 32);
    assert_refused(&b, GLIM_FORMAT, "general.alignment|u32");
}

static void nested_arrays_are_refused_at_any_depth(void **state) {
    (void)state;
    const u32 depths[] = {1, 2, 3, 1000, 200000};
    for (u32 i = 0; i < COUNT(depths); i++) {
        struct build b = {0};
        build_head(&b, 3, 0, 1);
        build_key(&b, "deep", GGUF_ARRAY);
        for (u32 d = 0; d < depths[i]; d++)
            build_u32(&b, GGUF_ARRAY), build_u64(&b, 1);
        build_u32(&b, GGUF_U8);
        build_u64(&b, 1);
        build_u8(&b, 1);
        assert_refused(&b, GLIM_UNSUPPORTED, "deep|arrays of arrays");
    }
}

static void unknown_value_types_are_refused(void **state) {
    (void)state;
    const u32 types[] = {13, 255, 256, 0x80000000u, UINT32_MAX};
    for (u32 i = 0; i < COUNT(types); i++) {
        struct build b = {0};
        char number[16];
        snprintf(number, sizeof number, "%u", types[i]);
        build_head(&b, 3, 0, 1);
        build_key(&b, "odd", types[i]);
        build_zeros(&b, 64);
        assert_refused(&b, GLIM_FORMAT, "odd|value type");
        build_head(&b, 3, 0, 1);
        build_kv_array(&b, "odd", types[i], 1);
        build_zeros(&b, 64);
        assert_refused(&b, GLIM_FORMAT, number);
    }
}

static void bools_are_0_or_1(void **state) {
    (void)state;
    struct build b = {0};
    build_head(&b, 3, 0, 1);
    build_key(&b, "flag", GGUF_BOOL);
    build_u8(&b, 2);
    assert_refused(&b, GLIM_FORMAT, "flag|bool");
    build_head(&b, 3, 0, 1);
    build_kv_array(&b, "flags", GGUF_BOOL, 3);
    build_bytes(&b, "\1\0\3", 3);
    assert_refused(&b, GLIM_FORMAT, "flags|bool");
}

/* Newer files give one value per layer where older ones give one for all; zero is a value too. */
static void per_layer_values_come_as_scalar_or_array(void **state) {
    (void)state;
    struct build b = {0};
    struct load l;
    build_head(&b, 3, 0, 4);
    build_kv_array(&b, "lfm2.attention.head_count_kv", GGUF_I32, 4);
    build_u32(&b, 0), build_u32(&b, 8), build_u32(&b, 0), build_u32(&b, 4);
    build_kv_u32(&b, "x.feed_forward_length", 64);
    build_kv_array(&b, "x.negative", GGUF_I32, 2);
    build_u32(&b, 1), build_u32(&b, (u32)-1);
    build_kv_array(&b, "x.wide", GGUF_U64, 1);
    build_u64(&b, (u64)1 << 32);
    assert_loads(&l, &b);
    u32 v[4];
    assert_int_equal(gguf_u32s(&l.g, "lfm2.attention.head_count_kv", v, 4, &l.e), 0);
    assert_true(v[0] == 0 && v[1] == 8 && v[2] == 0 && v[3] == 4);
    assert_int_equal(gguf_u32s(&l.g, "x.feed_forward_length", v, 4, &l.e), 0);
    assert_true(v[0] == 64 && v[1] == 64 && v[2] == 64 && v[3] == 64);
    const struct {
        const char *key;
        u64 n;
        const char *words;
    } bad[] = {
        {"lfm2.attention.head_count_kv", 3, "head_count_kv|array of 4|expected 3"},
        {"lfm2.attention.head_count_kv", 5, "head_count_kv|array of 4|expected 5"},
        {"x.negative", 2, "x.negative|-1"},
        {"x.wide", 1, "x.wide|4294967296"},
    };
    for (u32 i = 0; i < COUNT(bad); i++) {
        glim_err e = {0};
        u32 out[8];
        assert_int_equal(gguf_u32s(&l.g, bad[i].key, out, bad[i].n, &e), GLIM_FORMAT);
        assert_says(&e, bad[i].words);
    }
    load_free(&l);
}

/* ---- Tensor table ---------------------------------------------------------------------------- */

/* A file of one tensor, and enough zeros behind it for any small one. */
static void build_one(struct build *b, u32 n_dims, const u64 *dims, u32 type, u64 offset) {
    build_head(b, 3, 1, 0);
    build_tensor(b, "blk.0.x", n_dims, dims, type, offset);
    build_pad(b, 32);
    build_zeros(b, 256);
}

static void zero_dimensions_load_empty(void **state) {
    (void)state;
    for (u32 at = 0; at < 4; at++) {
        for (u32 type = 0; type < 3; type += 2) { /* F32, Q4_0 */
            u64 dims[] = {32, 2, 3, 4};
            struct build b = {0};
            struct load l;
            dims[at] = 0;
            build_one(&b, 4, dims, type, 0);
            assert_loads(&l, &b);
            assert_int_equal(l.g.tensors[0].bytes, 0);
            assert_int_equal(l.g.tensors[0].dims[at], 0);
            load_free(&l);
        }
    }
    struct build b = {0};
    const u64 dims[] = {2, 0};
    build_head(&b, 3, 1, 0); /* without anything behind the table */
    build_tensor(&b, "x", 2, dims, 0, 0);
    assert_refused(&b, GLIM_FORMAT, "'x'|interrupted download");
    /* A zero must not hide dimensions whose product wraps. */
    const u64 wide[] = {(u64)1 << 40, 0, (u64)1 << 40};
    build_one(&b, 3, wide, 0, 0);
    assert_refused(&b, GLIM_FORMAT, "blk.0.x|too many values");
}

static void sizes_that_wrap_are_refused(void **state) {
    (void)state;
    const struct {
        u64 dims[4];
        u32 type;
    } cases[] = {
        {{4096, ((u64)1 << 42) + 1, 1, 1}, 2},
        {{(u64)1 << 32, (u64)1 << 32, 1, 1}, 0},
        {{(u64)1 << 63, 1, 1, 1}, 24},
        {{UINT64_MAX, 1, 1, 1}, 24},
        {{1, UINT64_MAX, 1, 1}, 0},
        {{1, 1, (u64)1 << 62, 4}, 0},
        {{(u64)1 << 62, 1, 1, 1}, 0}, /* the values fit, their bytes wrap to zero */
        {{32, (u64)1 << 57, 1, 1}, 8},
        {{((u64)1 << 62) - 32, 1, 1, 1}, 0}, /* the size is within a padding of 2^64 */
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct build b = {0};
        build_one(&b, 4, cases[i].dims, cases[i].type, 0);
        assert_refused(&b, GLIM_FORMAT, "blk.0.x");
    }
}

/* Each tensor by itself is possible; where they say they lie is not. */
static void sums_of_sizes_that_wrap_are_refused(void **state) {
    (void)state;
    struct build b = {0};
    const u64 dims[] = {(u64)1 << 61};
    build_head(&b, 3, 3, 0);
    build_tensor(&b, "x", 1, dims, 24, 0);
    build_tensor(&b, "y", 1, dims, 24, (u64)7 << 61);
    build_tensor(&b, "z", 1, dims, 24, 0);
    build_zeros(&b, 256);
    assert_refused(&b, GLIM_FORMAT, "'y'|offset");
}

static void offsets_outside_are_refused(void **state) {
    (void)state;
    const u64 dims[] = {32};
    const u64 outside[] = {160, 192, 256, 1024, (u64)1 << 40, (u64)1 << 63, (u64)-32};
    for (u32 i = 0; i < COUNT(outside); i++) {
        struct build b = {0};
        build_one(&b, 1, dims, 0, outside[i]);
        assert_refused(&b, GLIM_FORMAT, "blk.0.x");
    }
    const u64 askew[] = {1, 16, 31, 127, (u64)-1};
    for (u32 i = 0; i < COUNT(askew); i++) {
        struct build b = {0};
        build_one(&b, 1, dims, 0, askew[i]);
        assert_refused(&b, GLIM_FORMAT, "blk.0.x|multiple of the alignment");
    }
    struct build b = {0};
    struct load l;
    build_one(&b, 1, dims, 0, 128); /* ends with the file */
    assert_loads(&l, &b);
    load_free(&l);
}

static void truncated_files_state_needed_and_actual_size(void **state) {
    (void)state;
    struct build b = {0};
    build_small(&b);
    struct load whole;
    load_bytes(&whole, b.p, b.n);
    size_t header = whole.g.tensors[0].offset;
    load_free(&whole);
    const size_t cuts[] = {b.n - 1, b.n / 2, header};
    for (u32 i = 0; i < COUNT(cuts); i++) {
        struct build cut = {0};
        char words[64];
        build_bytes(&cut, b.p, cuts[i]);
        if (cuts[i] >= header)
            snprintf(words, sizeof words, "needs %zu bytes|has %zu", b.n, cuts[i]);
        else
            snprintf(words, sizeof words, "the file ends at %zu", cuts[i]);
        assert_refused(&cut, GLIM_FORMAT, words);
    }
    build_free(&b);
}

static void padding_behind_the_last_tensor_is_free(void **state) {
    (void)state;
    for (u32 behind = 0; behind < 70; behind++) {
        struct build b = {0};
        struct load l;
        const u64 dims[] = {5};
        build_head(&b, 3, 1, 0);
        build_tensor(&b, "x", 1, dims, 24, 0);
        build_pad(&b, 32);
        build_bytes(&b, "12345", 5);
        build_zeros(&b, behind);
        assert_loads(&l, &b);
        assert_memory_equal(l.g.tensors[0].data, "12345", 5);
        load_free(&l);
    }
}

static void duplicate_names_are_refused(void **state) {
    (void)state;
    struct build b = {0};
    const u64 dims[] = {8};
    build_head(&b, 3, 3, 0);
    build_tensor(&b, "blk.0.attn_q.weight", 1, dims, 0, 0);
    build_tensor(&b, "blk.0.attn_k.weight", 1, dims, 0, 32);
    build_tensor(&b, "blk.0.attn_q.weight", 1, dims, 0, 64);
    build_zeros(&b, 256);
    assert_refused(&b, GLIM_FORMAT, "tensor 'blk.0.attn_q.weight' occurs twice|number 1|number 3");
    build_head(&b, 3, 0, 2);
    build_kv_u32(&b, "a.b", 1);
    build_kv_u32(&b, "a.b", 1);
    assert_refused(&b, GLIM_FORMAT, "metadata key 'a.b' occurs twice");
}

/* Names with one and the same 64-bit FNV-1a hash as far as the table looks. */
static void names_made_to_collide_are_refused(void **state) {
    (void)state;
    enum { N = 2000, MASK = 4095 };
    struct build b = {0};
    const u64 dims[] = {0};
    build_head(&b, 3, N, 0);
    for (u32 n = 0, i = 0; n < N; i++) {
        char name[12];
        u64 h = 0xcbf29ce484222325u;
        snprintf(name, sizeof name, "%08x", i);
        for (const char *c = name; *c; c++)
            h = (h ^ (u8)*c) * 0x100000001b3u;
        if ((h ^ h >> 32) & MASK) continue;
        build_tensor(&b, name, 1, dims, 0, 0);
        n++;
    }
    build_pad(&b, 32);
    assert_refused(&b, GLIM_FORMAT, "one hash");
}

static void unknown_tensor_types_are_refused_by_number(void **state) {
    (void)state;
    const u32 types[] = {4, 5, 31, 42, 105, UINT32_MAX};
    for (u32 i = 0; i < COUNT(types); i++) {
        struct build b = {0};
        const u64 dims[] = {32};
        char words[64];
        build_one(&b, 1, dims, types[i], 0);
        snprintf(words, sizeof words, "blk.0.x|tensor type|(%u)|newer than this glim", types[i]);
        assert_refused(&b, GLIM_UNSUPPORTED, words);
    }
    struct build b = {0};
    struct load l;
    const u64 dims[] = {64};
    build_one(&b, 1, dims, 39, 0);
    assert_loads(&l, &b);
    assert_int_equal(l.g.tensors[0].bytes, 34);
    load_free(&l);
}

static void rows_are_whole_blocks(void **state) {
    (void)state;
    struct build b = {0};
    const u64 dims[] = {48, 2}; /* 96 values are whole blocks of 32, each row is not */
    build_one(&b, 2, dims, 2, 0);
    assert_refused(&b, GLIM_FORMAT, "blk.0.x|48|blocks of 32");
}

static void more_than_four_dimensions_are_refused(void **state) {
    (void)state;
    const u32 n_dims[] = {5, 9, 255, 65536, 0x80000000u, UINT32_MAX};
    for (u32 i = 0; i < COUNT(n_dims); i++) {
        struct build b = {0};
        build_head(&b, 3, 1, 0);
        build_str(&b, "blk.0.x");
        build_u32(&b, n_dims[i]);
        for (u32 j = 0; j < 9; j++)
            build_u64(&b, 1);
        build_zeros(&b, 256);
        assert_refused(&b, GLIM_FORMAT, "blk.0.x|more than 4 dimensions");
    }
}

/* ---- Other files and versions ---------------------------------------------------------------- */

static void other_versions_are_refused_by_name(void **state) {
    (void)state;
    const struct {
        u32 version;
        const char *words;
    } cases[] = {{0, "version 0"},
                 {1, "version 1|convert"},
                 {4, "version 4|newer than this glim"},
                 {0x02000000, "big-endian"},
                 {0x03000000, "big-endian"},
                 {UINT32_MAX, "version 4294967295"}};
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct build b = {0};
        build_head(&b, cases[i].version, 0, 0);
        assert_refused(&b, GLIM_UNSUPPORTED, cases[i].words);
    }
}

static void other_files_are_named(void **state) {
    (void)state;
#define FILE_OF(bytes, words)                                                                      \
    { bytes, sizeof bytes - 1, words }
    static const struct {
        const char *p;
        size_t n;
        const char *words;
    } files[] = {
        {"", 0, "empty"},
        FILE_OF("PK\3\4\x14\0\0\0\0\0", "zip|PyTorch"),
        FILE_OF("\x80\2}q\1", "pickle"),
        FILE_OF("\x1f\x8b\x08\0", "gzip"),
        FILE_OF("\x28\xb5\x2f\xfd\0", "zstd"),
        FILE_OF("\x89HDF\r\n\x1a\n", "HDF5"),
        FILE_OF("\x10\0\0\0\0\0\0\0{\"a\":{\"dtype\":1}", "safetensors"),
        FILE_OF("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        FILE_OF("lmgg\1\0\0\0", "before GGUF"),
        FILE_OF("tjgg\1\0\0\0", "before GGUF"),
        FILE_OF("<!DOCTYPE html><html><head>", "web page|login"),
        FILE_OF("\n  <HTML><body>404", "web page"),
        FILE_OF("\xef\xbb\xbf<?xml version=\"1.0\"?>", "web page"),
        FILE_OF("{\"error\":\"Invalid username or password.\"}", "JSON"),
        FILE_OF("\0\0\0\0\0\0\0\0\0\0\0\0", "zeros"),
        FILE_OF("P", "does not begin with GGUF"),
        FILE_OF("Hello, world", "does not begin with GGUF"),
        FILE_OF("gguf\3\0\0\0", "does not begin with GGUF"),
        FILE_OF("G", "interrupted download"),
        FILE_OF("GGU", "interrupted download"),
        FILE_OF("GGUF", "interrupted download"),
    };
#undef FILE_OF
    for (u32 i = 0; i < COUNT(files); i++) {
        struct build b = {0};
        build_bytes(&b, files[i].p, files[i].n);
        assert_refused(&b, GLIM_FORMAT, files[i].words);
    }
}

static void paths_that_are_no_files_are_refused(void **state) {
    (void)state;
    char path[] = P_tmpdir "/glim-test-XXXXXX";
    struct load l;
    assert_non_null(mkdtemp(path));
    load_path(&l, path);
    assert_int_equal(l.rc, GLIM_ARG);
    assert_says(&l.e, path);
    assert_says(&l.e, "is a directory");
    load_free(&l);
    rmdir(path);
    load_path(&l, path);
    assert_int_equal(l.rc, GLIM_NOT_FOUND);
    assert_says(&l.e, path);
    assert_says(&l.e, "no such file");
    load_free(&l);
    load_path(&l, "test/unit.h/model.gguf");
    assert_int_equal(l.rc, GLIM_NOT_FOUND);
    load_free(&l);
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody ever writes to it: must not wait */
    load_path(&l, path);
    assert_int_equal(l.rc, GLIM_ARG);
    assert_says(&l.e, "not a regular file");
    load_free(&l);
    unlink(path);
}

/* Whoever has a file mapped sees what others write to it, here between the two walks over the
 * header: the reader must not trust what it has checked before. */
static u8 *changing;
static size_t change_at;
static u8 change_to;
static bool changing_size(u32 type, u32 *block_len, u32 *block_bytes) {
    changing[change_at] = change_to;
    return test_type_size(type, block_len, block_bytes);
}

static void file_that_changes_while_read_is_refused_or_loads(void **state) {
    (void)state;
    struct build b = {0};
    build_small(&b);
    struct load l;
    load_bytes(&l, b.p, b.n);
    u64 header = l.g.tensors[0].offset;
    load_free(&l);
    u32 noticed = 0;
    for (change_at = 0; change_at < header; change_at++) {
        for (u32 to = 0; to < 4; to++) {
            struct arena arena;
            struct gguf g = {0};
            glim_err e = {0};
            struct source *s;
            u8 *copy = malloc(b.n);
            assert_non_null(copy);
            memcpy(copy, b.p, b.n);
            changing = copy;
            change_to = (const u8[]){0, 1, 0x7f, 0xff}[to];
            arena_init(&arena, &mem_libc);
            assert_int_equal(source_bytes(&s, copy, b.n, "changing", &mem_libc, &e), 0);
            int rc = gguf_open_source(&g, s, &arena, changing_size, &e);
            assert_true(rc <= 0 && rc == e.code);
            noticed += rc == GLIM_IO;
            gguf_close(&g);
            arena_free(&arena);
            free(copy);
        }
    }
    assert_true(noticed > 0);
    build_free(&b);
}

/* Names come from the file: no control characters may reach a terminal. */
static void messages_carry_no_control_characters(void **state) {
    (void)state;
    struct build b = {0};
    struct load l;
    build_head(&b, 3, 0, 1);
    build_key(&b, "\033[31mred\n", 99);
    build_zeros(&b, 64);
    load_bytes(&l, b.p, b.n);
    assert_int_equal(l.rc, GLIM_FORMAT);
    for (const char *c = l.e.msg; *c; c++)
        assert_true((u8)*c >= 0x20 && *c != 0x7f);
    load_free(&l);
    build_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(huge_counts_are_refused_before_allocating),
        cmocka_unit_test(huge_arrays_are_refused_before_allocating),
        cmocka_unit_test(string_lengths_do_not_wrap),
        cmocka_unit_test(value_of_exactly_the_rest_loads),
        cmocka_unit_test(header_beyond_a_gigabyte_is_refused),
        cmocka_unit_test(names_have_limits),
        cmocka_unit_test(bad_alignment_is_refused),
        cmocka_unit_test(nested_arrays_are_refused_at_any_depth),
        cmocka_unit_test(unknown_value_types_are_refused),
        cmocka_unit_test(bools_are_0_or_1),
        cmocka_unit_test(per_layer_values_come_as_scalar_or_array),
        cmocka_unit_test(zero_dimensions_load_empty),
        cmocka_unit_test(sizes_that_wrap_are_refused),
        cmocka_unit_test(sums_of_sizes_that_wrap_are_refused),
        cmocka_unit_test(offsets_outside_are_refused),
        cmocka_unit_test(truncated_files_state_needed_and_actual_size),
        cmocka_unit_test(padding_behind_the_last_tensor_is_free),
        cmocka_unit_test(duplicate_names_are_refused),
        cmocka_unit_test(names_made_to_collide_are_refused),
        cmocka_unit_test(unknown_tensor_types_are_refused_by_number),
        cmocka_unit_test(rows_are_whole_blocks),
        cmocka_unit_test(more_than_four_dimensions_are_refused),
        cmocka_unit_test(other_versions_are_refused_by_name),
        cmocka_unit_test(other_files_are_named),
        cmocka_unit_test(paths_that_are_no_files_are_refused),
        cmocka_unit_test(file_that_changes_while_read_is_refused_or_loads),
        cmocka_unit_test(messages_carry_no_control_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
