/* The GGUF reader on sound files, on every way to cut or alter a small one, and short of memory. */
#include "load_gguf.h"

#include <time.h>

static f64 seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (f64)t.tv_sec + 1e-9 * (f64)t.tv_nsec;
}

/* ---- What a sound file holds ----------------------------------------------------------------- */

/* Everything in build_small's file, wherever its bytes came from. */
static void check_small(const struct gguf *g, bool mapped) {
    u32 u = 0;
    f32 f = 0;
    bool yes = false;
    struct str s;
    glim_err e = {0};
    assert_int_equal(g->version, 3);
    assert_int_equal(g->alignment, 32);
    assert_int_equal(g->n_kv, 16);
    assert_int_equal(g->n_tensors, 2);
    assert_int_equal(g->n_parts, 1);
    assert_int_equal(gguf_str(g, "general.architecture", &s, &e), 0);
    assert_true(str_is(s, "tiny"));
    assert_int_equal(gguf_u32(g, "t.u8", &u, &e), 0);
    assert_int_equal(u, 200);
    assert_int_equal(gguf_u32(g, "t.u16", &u, &e), 0);
    assert_int_equal(u, 0x1234);
    assert_int_equal(gguf_u32(g, "t.u32", &u, &e), 0);
    assert_int_equal(u, 4000000000u);
    assert_int_equal(gguf_f32(g, "t.f32", &f, &e), 0);
    assert_true(f == 1.5f);
    assert_int_equal(gguf_f32(g, "t.f64", &f, &e), 0);
    assert_true(f == 3.25f);
    assert_int_equal(gguf_f32(g, "t.i64", &f, &e), 0);
    assert_true(f == -7.0f);
    assert_int_equal(gguf_f32(g, "t.u64", &f, &e), 0);
    assert_true(f == 0x1p40f);
    assert_int_equal(gguf_bool(g, "t.bool", &yes, &e), 0);
    assert_true(yes);
    assert_int_equal(gguf_find(g, "t.i8")->i, -2);
    assert_int_equal(gguf_find(g, "t.i16")->i, -3);
    assert_int_equal(gguf_find(g, "t.i32")->i, -5);
    assert_int_equal(gguf_find(g, "t.i64")->i, -7);
    const struct gguf_kv *kv = gguf_find(g, "t.strs");
    assert_true(kv->is_array && kv->type == GGUF_STR && kv->n == 3);
    assert_true(str_is(kv->strings[0], "a") && kv->strings[1].n == 0 &&
                str_is(kv->strings[2], "ccc"));
    kv = gguf_find(g, "t.i16s");
    assert_int_equal(kv->n, 2);
    assert_int_equal(gguf_item_int(kv, 1), -1);
    assert_true(gguf_item_real(kv, 0) == 1.0);
    assert_int_equal(gguf_find(g, "t.empty")->n, 0);
    assert_int_equal(gguf_item_int(gguf_find(g, "t.bools"), 1), 1);
    assert_null(gguf_find(g, "t"));
    assert_null(gguf_find(g, ""));
    assert_int_equal(e.code, 0);

    const struct gguf_tensor *t = gguf_tensor(g, "a.weight");
    assert_non_null(t);
    assert_true(t == &g->tensors[0]);
    assert_int_equal(t->type, 2);
    assert_int_equal(t->n_dims, 2);
    assert_true(t->dims[0] == 32 && t->dims[1] == 2 && t->dims[2] == 1 && t->dims[3] == 1);
    assert_int_equal(t->bytes, 36);
    const struct gguf_tensor *b = gguf_tensor(g, "b.weight");
    assert_int_equal(b->bytes, 128);
    assert_int_equal(b->offset, t->offset + 64);
    assert_null(gguf_tensor(g, "c.weight"));
    assert_int_equal(t->data != NULL, mapped);
    if (mapped) {
        assert_int_equal(t->data[35], 35);
        f32 last;
        memcpy(&last, b->data + 124, 4);
        assert_true(last == 31.0f);
    }
}

static void reads_every_value_type(void **state) {
    (void)state;
    struct build b = {0};
    struct load l;
    build_small(&b);
    assert_loads(&l, &b);
    check_small(&l.g, true);
    load_free(&l);
}

static void reads_version_2_alike(void **state) {
    (void)state;
    struct build b = {0};
    struct load l;
    build_small(&b);
    b.p[4] = 2;
    assert_loads(&l, &b);
    assert_int_equal(l.g.version, 2);
    assert_non_null(gguf_tensor(&l.g, "b.weight"));
    load_free(&l);
}

static void honours_alignment(void **state) {
    (void)state;
    struct build b = {0};
    struct load l;
    const u64 dims[] = {4};
    build_head(&b, 3, 1, 1);
    build_kv_u32(&b, "general.alignment", 256);
    build_tensor(&b, "x", 1, dims, 0, 256);
    build_pad(&b, 256);
    build_zeros(&b, 256 + 16);
    assert_loads(&l, &b);
    assert_int_equal(l.g.alignment, 256);
    assert_int_equal(l.g.tensors[0].offset, 512);
    load_free(&l);
}

/* A lone value has no dimensions in the file, as in ggml. */
static void reads_tensor_without_dimensions(void **state) {
    (void)state;
    struct build b = {0};
    struct load l;
    build_head(&b, 3, 1, 0);
    build_tensor(&b, "x", 0, NULL, 0, 0);
    build_pad(&b, 32);
    build_f32(&b, 2.0f);
    assert_loads(&l, &b);
    assert_int_equal(l.g.tensors[0].n_dims, 1);
    assert_int_equal(l.g.tensors[0].dims[0], 1);
    assert_int_equal(l.g.tensors[0].bytes, 4);
    load_free(&l);
}

static void typed_access_names_key_and_types(void **state) {
    (void)state;
    struct build b = {0};
    struct load l;
    u32 u = 77;
    f32 f = 77;
    bool yes;
    struct str s;
    build_small(&b);
    assert_loads(&l, &b);
    glim_err none = {0};
    assert_int_equal(gguf_u32(&l.g, "absent", &u, &none), GLIM_NOT_FOUND);
    assert_int_equal(gguf_f32(&l.g, "absent", &f, &none), GLIM_NOT_FOUND);
    assert_int_equal(gguf_bool(&l.g, "absent", &yes, &none), GLIM_NOT_FOUND);
    assert_int_equal(gguf_str(&l.g, "absent", &s, &none), GLIM_NOT_FOUND);
    assert_int_equal(gguf_u32s(&l.g, "absent", &u, 1, &none), GLIM_NOT_FOUND);
    assert_int_equal(none.code, 0);
    assert_int_equal(none.msg[0], 0);
#define REFUSES(call, words)                                                                       \
    do {                                                                                           \
        glim_err e = {0};                                                                          \
        assert_int_equal(call, GLIM_FORMAT);                                                       \
        assert_says(&e, words);                                                                    \
    } while (0)
    REFUSES(gguf_u32(&l.g, "general.architecture", &u, &e), "general.architecture|str|integer");
    REFUSES(gguf_u32(&l.g, "t.i32", &u, &e), "t.i32|-5|4294967295");
    REFUSES(gguf_u32(&l.g, "t.u64", &u, &e), "t.u64|1099511627776|4294967295");
    REFUSES(gguf_u32(&l.g, "t.f32", &u, &e), "t.f32|f32|integer");
    REFUSES(gguf_u32(&l.g, "t.i16s", &u, &e), "t.i16s|array of i16|integer");
    REFUSES(gguf_u32(&l.g, "t.bool", &u, &e), "t.bool|bool|integer");
    REFUSES(gguf_f32(&l.g, "t.strs", &f, &e), "t.strs|array of str|number");
    REFUSES(gguf_f32(&l.g, "t.bool", &f, &e), "t.bool|number");
    REFUSES(gguf_bool(&l.g, "t.u8", &yes, &e), "t.u8|bool");
    REFUSES(gguf_str(&l.g, "t.u8", &s, &e), "t.u8|string");
    REFUSES(gguf_str(&l.g, "t.strs", &s, &e), "t.strs|array of str");
    REFUSES(gguf_u32s(&l.g, "t.f32", &u, 1, &e), "t.f32|array of integers");
#undef REFUSES
    assert_int_equal(u, 77);
    assert_true(f == 77);
    load_free(&l);
}

static void f32_refuses_what_it_cannot_hold(void **state) {
    (void)state;
    struct build b = {0};
    struct load l;
    const f64 big = 1e300, inf = 1.0 / 0.0;
    f32 f = 0;
    build_head(&b, 3, 0, 2);
    build_key(&b, "big", GGUF_F64), build_bytes(&b, &big, 8);
    build_key(&b, "inf", GGUF_F64), build_bytes(&b, &inf, 8);
    assert_loads(&l, &b);
    assert_int_equal(gguf_f32(&l.g, "inf", &f, &l.e), 0);
    assert_true(f > 1e38f);
    assert_int_equal(gguf_f32(&l.g, "big", &f, &l.e), GLIM_FORMAT);
    assert_says(&l.e, "big|1e+300");
    load_free(&l);
}

static void array_items_convert(void **state) {
    (void)state;
    struct build b = {0};
    struct load l;
    const f64 reals[] = {-0.5, 1e300};
    build_head(&b, 3, 0, 7);
    build_kv_array(&b, "f32", GGUF_F32, 2), build_f32(&b, 0.25f), build_f32(&b, -3e38f);
    build_kv_array(&b, "f64", GGUF_F64, 2), build_bytes(&b, reals, 16);
    build_kv_array(&b, "u8", GGUF_U8, 1), build_u8(&b, 0xff);
    build_kv_array(&b, "i8", GGUF_I8, 1), build_u8(&b, 0xff);
    build_kv_array(&b, "u32", GGUF_U32, 1), build_u32(&b, UINT32_MAX);
    build_kv_array(&b, "u64", GGUF_U64, 1), build_u64(&b, (u64)1 << 63);
    build_kv_array(&b, "i64", GGUF_I64, 1), build_u64(&b, (u64)1 << 63);
    assert_loads(&l, &b);
    assert_true(gguf_item_real(gguf_find(&l.g, "f32"), 0) == 0.25);
    assert_true(gguf_item_real(gguf_find(&l.g, "f32"), 1) == (f64)-3e38f);
    assert_true(gguf_item_real(gguf_find(&l.g, "f64"), 0) == -0.5);
    assert_true(gguf_item_real(gguf_find(&l.g, "f64"), 1) == 1e300);
    assert_int_equal(gguf_item_int(gguf_find(&l.g, "u8"), 0), 255);
    assert_int_equal(gguf_item_int(gguf_find(&l.g, "i8"), 0), -1);
    assert_true(gguf_item_int(gguf_find(&l.g, "u32"), 0) == UINT32_MAX);
    assert_true(gguf_item_real(gguf_find(&l.g, "u64"), 0) == 0x1p63);
    assert_true(gguf_item_real(gguf_find(&l.g, "i64"), 0) == -0x1p63);
    load_free(&l);
}

/* ---- Speed ----------------------------------------------------------------------------------- */

static void large_vocabulary_loads_fast(void **state) {
    (void)state;
    enum { N = 262144 };
    struct build b = {0};
    struct load l;
    build_head(&b, 3, 0, 1);
    build_kv_array(&b, "tokenizer.ggml.tokens", GGUF_STR, N);
    char token[24];
    for (u32 i = 0; i < N; i++) {
        snprintf(token, sizeof token, "token%u", i);
        build_str(&b, token);
    }
    f64 from = seconds();
    assert_loads(&l, &b);
    assert_true(seconds() - from < 0.5);
    assert_true(str_is(l.g.kv[0].strings[N - 1], "token262143"));
    load_free(&l);
}

static void many_tensors_load_fast(void **state) {
    (void)state;
    enum { N = 20000 };
    struct build b = {0};
    struct load l;
    const u64 dims[] = {8};
    char name[40];
    build_head(&b, 3, N, 0);
    for (u32 i = 0; i < N; i++) {
        snprintf(name, sizeof name, "blk.%u.ffn_gate.%u.weight", i / 100, i % 100);
        build_tensor(&b, name, 1, dims, 0, 0);
    }
    build_pad(&b, 32);
    build_zeros(&b, 32);
    f64 from = seconds();
    assert_loads(&l, &b);
    assert_true(seconds() - from < 0.5);
    assert_true(gguf_tensor(&l.g, "blk.150.ffn_gate.7.weight") == &l.g.tensors[15007]);
    load_free(&l);
}

/* ---- Ranges that arrive late ----------------------------------------------------------------- */

/* Hands out copies of ranges, of which only the newest is valid; each range wants asking three
 * times. Like a network, but one that never forgets how far it was asked to read. */
struct slow {
    struct source source;
    const u8 *bytes;
    u64 n_bytes;      /* behind them the source has zeros */
    u8 *copy;         /* owned: the view handed out last */
    u64 asked, waits; /* the pending range, how often it still says AGAIN */
    u64 most;         /* end of the largest range asked for */
    u32 n_again;
    int fail_with; /* instead of waiting */
};

static int slow_view(struct source *s, u64 off, u64 n, const u8 **p, glim_err *e) {
    struct slow *w = (struct slow *)s;
    assert_true(n > 0 && off + n <= s->size);
    if (w->fail_with) return fail(e, w->fail_with, "%s: connection lost", s->name);
    free(w->copy); /* views end here */
    w->copy = NULL;
    w->most = MAX(w->most, off + n);
    if (w->asked != off + n) {
        w->asked = off + n;
        w->waits = 2;
    } else if (w->waits) {
        w->waits--;
    }
    if (w->waits) {
        w->n_again++;
        return GLIM_AGAIN;
    }
    assert_int_equal(off, 0); /* the reader asks for headers only */
    w->copy = calloc(1, n);
    assert_non_null(w->copy);
    memcpy(w->copy, w->bytes, MIN(n, w->n_bytes));
    *p = w->copy;
    return 0;
}

static void slow_close(struct source *s) {
    struct slow *w = (struct slow *)s;
    free(w->copy);
    free(w);
}

/* A source of size bytes, which begin with those of b. */
static struct slow *slow_new(const struct build *b, u64 size) {
    struct slow *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->source =
        (struct source){.size = size, .name = "slow", .view = slow_view, .close = slow_close};
    w->bytes = b->p;
    w->n_bytes = b->n;
    return w;
}

/* Whatever is dropped is there again: a mapped file's pages come back, and a caller's own bytes,
 * which would not, stay. */
static void hints_change_nothing(void **state) {
    (void)state;
    enum { N = 1 << 16 };
    u8 *own = aligned_alloc(4096, N);
    assert_non_null(own);
    for (u32 i = 0; i < N; i++)
        own[i] = (u8)(i * 7 + 1);
    struct source *sources[2];
    glim_err e = {0};
    assert_int_equal(source_bytes(&sources[0], own, N, "own", &mem_libc, &e), 0);
    assert_int_equal(source_file(&sources[1], "test/data/llama.gguf", &mem_libc, &e), 0);
    for (u32 i = 0; i < 2; i++) {
        struct source *s = sources[i];
        u8 *before = malloc(s->size);
        assert_non_null(before);
        memcpy(before, s->map, s->size);
        source_hint(s, s->map, s->size, SOURCE_SCATTERED);
        source_hint(s, s->map + 5000, s->size - 5000, SOURCE_DROP);
        source_hint(s, s->map, 0, SOURCE_DROP);
        assert_memory_equal(s->map, before, s->size);
        free(before);
        source_close(s);
    }
    free(own);
}

static void slow_source_restarts(void **state) {
    (void)state;
    struct build b = {0};
    build_small(&b);
    struct slow *w = slow_new(&b, b.n);
    struct arena arena;
    struct gguf g = {0};
    glim_err e = {0};
    arena_init(&arena, &mem_libc);
    u32 again = 0;
    int rc;
    while ((rc = gguf_open_source(&g, &w->source, &arena, test_type_size, &e)) == GLIM_AGAIN)
        again++;
    assert_int_equal(rc, 0);
    assert_true(again >= 2);
    check_small(&g, false);
    gguf_close(&g);
    arena_free(&arena);
    build_free(&b);
}

/* A header of several windows in a file with far more data: the data is never asked for. */
static void slow_source_reads_the_header_only(void **state) {
    (void)state;
    enum { TOKENS = 100000, DATA = 64 << 20 };
    struct build b = {0};
    const u64 dims[] = {DATA / 4};
    build_head(&b, 3, 1, 1);
    build_kv_array(&b, "tokens", GGUF_STR, TOKENS);
    for (u32 i = 0; i < TOKENS; i++)
        build_str(&b, "abc");
    build_tensor(&b, "x", 1, dims, 0, 0);
    build_pad(&b, 32);
    u64 header = b.n;
    struct slow *w = slow_new(&b, header + DATA);
    struct arena arena;
    struct gguf g = {0};
    glim_err e = {0};
    arena_init(&arena, &mem_libc);
    int rc;
    do
        rc = gguf_open_source(&g, &w->source, &arena, test_type_size, &e);
    while (rc == GLIM_AGAIN);
    assert_int_equal(rc, 0);
    assert_true(w->n_again >= 3); /* more than one window */
    assert_true(w->most < 3 * header);
    assert_true(str_is(g.kv[0].strings[TOKENS - 1], "abc"));
    assert_int_equal(g.tensors[0].offset, header);
    assert_null(g.tensors[0].data);
    gguf_close(&g);
    arena_free(&arena);
    build_free(&b);
}

static void slow_source_may_fail_or_be_given_up(void **state) {
    (void)state;
    struct build b = {0};
    build_small(&b);
    for (u32 lost = 0; lost < 2; lost++) {
        struct slow *w = slow_new(&b, b.n);
        struct arena arena;
        struct gguf g = {0};
        glim_err e = {0};
        arena_init(&arena, &mem_libc);
        assert_int_equal(gguf_open_source(&g, &w->source, &arena, test_type_size, &e), GLIM_AGAIN);
        if (lost) {
            w->fail_with = GLIM_IO;
            assert_int_equal(gguf_open_source(&g, &w->source, &arena, test_type_size, &e), GLIM_IO);
            assert_says(&e, "slow|connection lost");
        }
        gguf_close(&g); /* a leak checker sees whether the source was closed */
        arena_free(&arena);
    }
    build_free(&b);
}

/* ---- Every cut, every changed byte ----------------------------------------------------------- */

static void every_prefix_is_refused_or_loads(void **state) {
    (void)state;
    struct build b = {0};
    build_small(&b);
    for (size_t n = 0; n < b.n; n++) {
        struct build cut = {0};
        build_bytes(&cut, b.p, n);
        /* The last tensor ends where the file does: no shorter file is whole. */
        assert_refused(&cut, GLIM_FORMAT, n ? "interrupted download" : "empty");
    }
    build_free(&b);
}

/* Looks at everything a loaded file offers, so that a sanitizer sees any wrong length. */
static u64 touch(const struct gguf *g) {
    u64 sum = 0;
    for (u64 i = 0; i < g->n_kv; i++) {
        const struct gguf_kv *kv = &g->kv[i];
        sum += (u8)kv->key.p[kv->key.n - 1];
        if (kv->type == GGUF_STR) {
            for (u64 j = 0; j < kv->n; j++) {
                struct str s = kv->is_array ? kv->strings[j] : kv->s;
                if (s.n) sum += (u8)s.p[s.n - 1];
            }
        } else if (kv->is_array) {
            for (u64 j = 0; j < kv->n; j++)
                sum += gguf_item_real(kv, j) > 0;
        }
    }
    for (u64 i = 0; i < g->n_tensors; i++) {
        const struct gguf_tensor *t = &g->tensors[i];
        if (t->bytes) sum += t->data[t->bytes - 1];
    }
    return sum;
}

static void every_changed_byte_is_refused_or_loads(void **state) {
    (void)state;
    struct build b = {0};
    build_small(&b);
    u32 loaded = 0, refused = 0;
    u64 sum = 0;
    for (size_t at = 0; at < b.n; at++) {
        u8 was = b.p[at];
        u8 values[12] = {0, 0xff, (u8)(was + 1), (u8)(was - 1)};
        for (u32 bit = 0; bit < 8; bit++)
            values[4 + bit] = was ^ (u8)(1u << bit);
        for (u32 i = 0; i < COUNT(values); i++) {
            struct load l;
            b.p[at] = values[i];
            load_bytes(&l, b.p, b.n);
            assert_true(l.count.peak < (4u << 20));
            if (l.rc)
                refused++;
            else
                loaded++, sum += touch(&l.g);
            assert_true(l.rc == 0 || l.rc == GLIM_FORMAT || l.rc == GLIM_UNSUPPORTED);
            load_free(&l);
        }
        b.p[at] = was;
    }
    assert_true(loaded > 1000 && refused > 1000 && sum > 0);
    build_free(&b);
}

/* ---- Short of memory ------------------------------------------------------------------------- */

static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    struct build b = {0};
    build_head(&b, 3, 0, 1);
    build_kv_array(&b, "tokens", GGUF_STR, 9000); /* does not fit into the arena's first block */
    for (u32 i = 0; i < 9000; i++)
        build_str(&b, "x");
    for (u32 mapped = 0; mapped < 2; mapped++) {
        u32 failures = 0;
        for (u64 n = 1;; n++) {
            struct count_alloc count;
            struct arena arena;
            struct gguf g = {0};
            glim_err e = {0};
            struct source *s;
            count_alloc_init(&count);
            count.fail_at = n;
            arena_init(&arena, &count.alloc);
            int rc;
            if (mapped) {
                rc = source_bytes(&s, b.p, b.n, "bytes", &count.alloc, &e);
                if (!rc) rc = gguf_open_source(&g, s, &arena, test_type_size, &e);
            } else {
                s = &slow_new(&b, b.n)->source;
                do
                    rc = gguf_open_source(&g, s, &arena, test_type_size, &e);
                while (rc == GLIM_AGAIN);
            }
            if (rc) {
                failures++;
                assert_int_equal(rc, GLIM_NOMEM);
                assert_int_equal(e.code, GLIM_NOMEM);
                assert_says(&e, "out of memory");
            }
            gguf_close(&g);
            arena_free(&arena);
            assert_int_equal(count.live, 0);
            if (rc == 0) break;
        }
        assert_true(failures >= 2);
    }
    build_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_value_type),
        cmocka_unit_test(reads_version_2_alike),
        cmocka_unit_test(honours_alignment),
        cmocka_unit_test(reads_tensor_without_dimensions),
        cmocka_unit_test(typed_access_names_key_and_types),
        cmocka_unit_test(f32_refuses_what_it_cannot_hold),
        cmocka_unit_test(array_items_convert),
        cmocka_unit_test(large_vocabulary_loads_fast),
        cmocka_unit_test(many_tensors_load_fast),
        cmocka_unit_test(hints_change_nothing),
        cmocka_unit_test(slow_source_restarts),
        cmocka_unit_test(slow_source_reads_the_header_only),
        cmocka_unit_test(slow_source_may_fail_or_be_given_up),
        cmocka_unit_test(every_prefix_is_refused_or_loads),
        cmocka_unit_test(every_changed_byte_is_refused_or_loads),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
