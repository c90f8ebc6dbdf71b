/* The attention loop of every instruction set against float64 and against golden cases. */
#include "base/mem.h"
#include "file/gguf.h"
#include "guarded.h"
#include "isa_util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define EPS 0x1p-24

static const char *const names[] = {"scalar", "avx2", "avx512"};
static void *scratch;

static int get_scratch(void **state) {
    (void)state;
    return posix_memalign(&scratch, 64, ISA_SCRATCH);
}

/* ---- against float64 */

enum { MAX_ROWS = 13, MAX_KEYS = 200, MAX_E = 600 };

struct attend_case {
    u32 e, rows, keys, page; /* the keys come in spans of `page` */
    bool f16;
    f32 scale, softcap, amplitude;
};

static f32 q[MAX_ROWS][MAX_E], o[MAX_ROWS][MAX_E], o_alone[MAX_ROWS][MAX_E];

static f32 item(const void *p, u64 i, bool f16) {
    return f16 ? f16_to_f32(((const u16 *)p)[i]) : ((const f32 *)p)[i];
}

/* Feeds all keys to rows, page by page. */
static void run(const struct isa *isa, const struct attend_case *c, const void *k, const void *v,
                u64 pitch, struct attend_row *rows, const u32 *lo, const u32 *hi, u32 n) {
    u64 bytes = pitch * (c->f16 ? 2 : 4);
    for (u32 j = 0; j < c->keys; j += c->page) {
        struct attend_span s = {.k = (const u8 *)k + j * bytes,
                                .v = (const u8 *)v + j * bytes,
                                .pitch = pitch,
                                .e = c->e,
                                .f16 = c->f16,
                                .scale = c->scale,
                                .softcap = c->softcap};
        u32 size = MIN(c->page, c->keys - j);
        for (u32 r = 0; r < n; r++) {
            rows[r].lo = MIN(size, MAX(lo[r], j) - j);
            rows[r].hi = MIN(size, MAX(hi[r], j) - j);
        }
        isa->attend(&s, rows, n, scratch);
    }
}

static void check(const struct isa *isa, const struct attend_case *c) {
    u64 size = c->f16 ? 2 : 4, pitch = c->e + rng() % 3 * 8;
    u64 n = (c->keys - 1) * pitch + c->e;
    struct guarded gk = guarded_get(n * size), gv = guarded_get(n * size);
    for (u64 i = 0; i < n; i++) {
        f32 kx = rng_f32() * c->amplitude, vx = rng_f32();
        if (c->f16) {
            ((u16 *)gk.p)[i] = f32_to_f16(kx), ((u16 *)gv.p)[i] = f32_to_f16(vx);
        } else {
            ((f32 *)gk.p)[i] = kx, ((f32 *)gv.p)[i] = vx;
        }
    }
    struct attend_row rows[MAX_ROWS], alone[MAX_ROWS];
    u32 lo[MAX_ROWS], hi[MAX_ROWS];
    for (u32 r = 0; r < c->rows; r++) {
        for (u32 e = 0; e < c->e; e++) {
            q[r][e] = rng_f32();
            o[r][e] = o_alone[r][e] = 0;
        }
        lo[r] = rng() % 3 ? 0 : rng() % c->keys;
        hi[r] = rng() % 4 ? c->keys - r % c->keys : rng() % (c->keys + 1);
        rows[r] = (struct attend_row){.q = q[r], .o = o[r], .m = -INFINITY};
        alone[r] = (struct attend_row){.q = q[r], .o = o_alone[r], .m = -INFINITY};
    }
    run(isa, c, gk.p, gv.p, pitch, rows, lo, hi, c->rows);
    for (u32 r = 0; r < c->rows; r++) {
        run(isa, c, gk.p, gv.p, pitch, alone + r, lo + r, hi + r, 1);
        /* Company changes no bit. */
        assert_memory_equal(o[r], o_alone[r], 4 * c->e);
        assert_memory_equal(&rows[r].m, &alone[r].m, 4);
        assert_memory_equal(&rows[r].l, &alone[r].l, 4);

        f64 score[MAX_KEYS], top = (f64)-INFINITY, slack = 0, l = 0;
        for (u32 j = lo[r]; j < hi[r]; j++) {
            f64 dot = 0, mag = 0;
            for (u32 e = 0; e < c->e; e++) {
                f64 p = (f64)q[r][e] * (f64)item(gk.p, j * pitch + e, c->f16);
                dot += p;
                mag += fabs(p);
            }
            score[j] = dot * (f64)c->scale;
            if (c->softcap != 0) {
                score[j] = (f64)c->softcap * tanh(score[j] / (f64)c->softcap);
            }
            top = fmax(top, score[j]);
            /* Roundings of a score: its sum (four lanes at worst), scale, tanh; the absolute error
             * of a score is the relative error of its weight. */
            slack = fmax(slack, (c->e / 4 + 8) * EPS * mag * fabs((f64)c->scale));
            slack = fmax(slack, 4 * EPS * fabs(score[j]));
        }
        if (lo[r] >= hi[r]) {
            assert_true(rows[r].m == -INFINITY && rows[r].l == 0 && o[r][0] == 0);
            continue;
        }
        for (u32 j = lo[r]; j < hi[r]; j++) {
            l += exp(score[j] - top);
        }
        for (u32 e = 0; e < c->e; e++) {
            f64 want = 0, mag = 0;
            for (u32 j = lo[r]; j < hi[r]; j++) {
                f64 p = exp(score[j] - top) / l * (f64)item(gv.p, j * pitch + e, c->f16);
                want += p;
                mag += fabs(p);
            }
            f64 got = (f64)o[r][e] / (f64)rows[r].l;
            f64 tolerance = 2 * slack + (c->keys + 24) * EPS * mag + 1e-30;
            if (!(fabs(got - want) <= tolerance)) {
                fail_msg("%s e %u f16 %d: row %u value %u is %.9g, expected %.9g within %.3g",
                         isa->name, c->e, c->f16, r, e, got, want, tolerance);
            }
        }
    }
    guarded_put(gk), guarded_put(gv);
}

static void test_attend(void **state) {
    (void)state;
    static const struct attend_case cases[] = {
        {16, 1, 1, 64, false, 0.25f, 0, 1},
        {64, 3, 64, 64, true, 0.125f, 0, 1},
        {64, 4, 63, 64, false, 0.125f, 0, 1},
        {64, 13, 130, 64, true, 0.125f, 0, 1},
        {128, 8, 200, 200, true, 0.09f, 0, 1},
        {128, 5, 77, 16, false, 0.09f, 0, 1},
        {256, 6, 65, 64, true, 0.0625f, 50, 20},
        {512, 7, 40, 64, false, 1, 30, 1},
        {72, 6, 33, 64, true, 1, 0, 1},
        {24, 9, 50, 7, false, 1, 0, 1},
        {40, 2, 3, 1, true, 1, 0, 1},
        {8, 12, 64, 64, false, 1, 20, 5},
        {13, 3, 20, 64, false, 1, 0, 1},
        {21, 5, 20, 64, true, 1, 0, 1},
        {128, 13, 90, 64, true, 0.09f, 0, 1},
        {13, 13, 100, 100, false, 1, 0, 1},
        {72, 12, 33, 64, true, 1, 0, 1},
        {512, 12, 70, 64, true, 0.04f, 50, 1},
        {256, 13, 65, 64, false, 1, 0, 1},
        {600, 12, 20, 20, true, 0.1f, 0, 1},
        {64, 6, 100, 64, false, 1, 0, 1000},
        {80, 6, 100, 32, false, 1000, 0, 1},
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct isa *isa = isa_pick(names[i]);
        for (size_t j = 0; isa && j < COUNT(cases); j++) {
            check(isa, &cases[j]);
        }
    }
}

/* Keys that a row does not see may hold anything, even where its neighbours see them. */
static void test_attend_unseen(void **state) {
    (void)state;
    enum { E = 32, KEYS = 70, ROWS = 5 };
    static f32 k[KEYS][E], v[KEYS][E];
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct isa *isa = isa_pick(names[i]);
        struct attend_row rows[ROWS];
        for (u32 j = 0; j < KEYS; j++) {
            for (u32 e = 0; e < E; e++) {
                k[j][e] = j == 3 || j == 66 ? NAN : rng_f32();
                v[j][e] = j == 3 || j == 66 ? INFINITY : rng_f32();
            }
        }
        for (u32 r = 0; isa && r < ROWS; r++) {
            for (u32 e = 0; e < E; e++) {
                q[r][e] = rng_f32();
                o[r][e] = 0;
            }
            rows[r] = (struct attend_row){.q = q[r], .o = o[r], .m = -INFINITY, .lo = 4, .hi = 66};
        }
        if (!isa) continue;
        rows[1].hi = 68; /* sees the second */
        rows[2].lo = 0;  /* the first */
        rows[4].hi = 4;  /* nothing */
        struct attend_span s = {.k = k, .v = v, .pitch = E, .e = E, .scale = 1};
        isa->attend(&s, rows, ROWS, scratch);
        for (u32 r = 0; r < ROWS; r++) {
            for (u32 e = 0; e < E; e++) {
                assert_true((r == 1 || r == 2) == !isfinite(o[r][e]));
            }
        }
        assert_true(rows[4].l == 0 && rows[4].m == -INFINITY);
    }
}

/* ---- golden cases */

struct golden_case {
    const char *name;
    f32 scale, softcap;
    u32 window; /* 0: none */
    bool causal;
};

/* Other cases of the file hold 32-bit integers, which are no weight format. */
static bool fixture_size(u32 type, u32 *block_len, u32 *block_bytes) {
    enum { GGML_I32 = 26 };
    if (type != GGML_I32) return quant_size(type, block_len, block_bytes);
    *block_len = 1;
    *block_bytes = 4;
    return true;
}

static const f32 *tensor(const struct gguf *g, const char *name, const char *part, u64 dims[3]) {
    char full[64];
    snprintf(full, sizeof full, "%s.%s", name, part);
    const struct gguf_tensor *t = gguf_tensor(g, full);
    if (!t) fail_msg("no tensor %s", full);
    memcpy(dims, t->dims, 3 * sizeof *dims);
    return (const f32 *)(const void *)t->data;
}

static void test_attend_golden(void **state) {
    (void)state;
    static const struct golden_case cases[] = {
        {"attn_full", 0.25f, 0, 0, true}, {"attn_window", 1, 0, 8, true},
        {"attn_past", 0.25f, 0, 8, true}, {"attn_softcap", 1, 20, 0, true},
        {"attn_bidir", 1, 0, 0, false},
    };
    struct arena arena;
    struct gguf g;
    glim_err err = {0};
    arena_init(&arena, &mem_libc);
    if (gguf_open(&g, "test/data/ops.golden.gguf", &arena, fixture_size, &err))
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct isa *isa = isa_pick(names[i]);
        for (size_t c = 0; isa && c < COUNT(cases); c++) {
            u64 dq[3], dk[3]; /* E, heads, positions */
            const f32 *gq = tensor(&g, cases[c].name, "q", dq),
                      *y = tensor(&g, cases[c].name, "y", dq);
            const f32 *k = tensor(&g, cases[c].name, "k", dk),
                      *v = tensor(&g, cases[c].name, "v", dk);
            u32 e = (u32)dq[0], group = (u32)(dq[1] / dk[1]), keys = (u32)dk[2];
            for (u32 h = 0; h < dq[1]; h++) {
                struct attend_span s = {.k = k + h / group * e,
                                        .v = v + h / group * e,
                                        .pitch = e * dk[1],
                                        .e = e,
                                        .scale = cases[c].scale,
                                        .softcap = cases[c].softcap};
                struct attend_row rows[MAX_KEYS];
                static f32 out[MAX_KEYS][MAX_E];
                for (u32 t = 0; t < dq[2]; t++) {
                    u32 pos = keys - (u32)dq[2] + t, window = cases[c].window;
                    memset(out[t], 0, sizeof out[t]);
                    rows[t] = (struct attend_row){.q = gq + (t * dq[1] + h) * e,
                                                  .o = out[t],
                                                  .m = -INFINITY,
                                                  .hi = cases[c].causal ? pos + 1 : keys};
                    if (window && pos + 1 > window) rows[t].lo = pos + 1 - window;
                }
                isa->attend(&s, rows, (u32)dq[2], scratch);
                for (u32 t = 0; t < dq[2]; t++) {
                    for (u32 n = 0; n < e; n++) {
                        f64 want = (f64)y[(t * dq[1] + h) * e + n];
                        f64 got = (f64)out[t][n] / (f64)rows[t].l;
                        if (!(fabs(got - want) < 2e-6 * (1 + fabs(want)))) {
                            fail_msg("%s %s: head %u token %u value %u is %.9g, expected %.9g",
                                     isa->name, cases[c].name, h, t, n, got, want);
                        }
                    }
                }
            }
        }
    }
    gguf_close(&g);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attend),
        cmocka_unit_test(test_attend_unseen),
        cmocka_unit_test(test_attend_golden),
    };
    return cmocka_run_group_tests(tests, get_scratch, NULL);
}
