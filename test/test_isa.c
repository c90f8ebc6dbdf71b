/* Every loop of every instruction set that this processor has, against float64 references that are
 * written here as plain loops. Tolerances count the roundings of the float additions. */
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
static const struct isa *isas[COUNT(names)];
static size_t n_isas;
static void *scratch;

static int find_isas(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct isa *isa = isa_pick(names[i]);
        if (isa) isas[n_isas++] = isa;
    }
    return posix_memalign(&scratch, 64, ISA_SCRATCH);
}

static void test_pick(void **state) {
    (void)state;
    assert_string_equal(isa_pick("scalar")->name, "scalar");
    assert_null(isa_pick("sse9"));
    assert_null(isa_pick(""));
    for (size_t i = 0; i < n_isas; i++) {
        assert_ptr_equal(isa_pick(isas[i]->name), isas[i]);
    }
    assert_ptr_equal(isa_pick(NULL), isas[n_isas - 1]);
}

static void near(f64 got, f64 want, f64 tolerance, const char *what, const char *isa, u64 i) {
    if (fabs(got - want) <= tolerance) return;
    fail_msg("%s, %s: value %llu is %.9g, expected %.9g within %.3g", what, isa,
             (unsigned long long)i, got, want, tolerance);
}

/* ---- matmul */

struct shape {
    u32 k, n, t;
    u32 w_pad, x_pad, y_pad;
};

/* One product, exact or fast, on one table. y has a poisoned margin, which must survive. */
static void run_matmul(const struct isa *isa, const struct matmul *m, u32 n, u32 cut, f32 *y) {
    for (u64 i = 0; i < (u64)m->t * m->y_pitch; i++) {
        y[i] = -12345.0f;
    }
    struct matmul mm = *m;
    mm.y = y;
    isa->matmul(&mm, 0, cut, scratch);
    if (cut < n) isa->matmul(&mm, cut, n, scratch);
    for (u32 t = 0; t < m->t; t++) {
        for (u64 i = n; i < m->y_pitch; i++) {
            assert_true(y[t * m->y_pitch + i] == -12345.0f);
        }
    }
}

static void check_matmul(const struct isa_type *it, struct shape s, bool a8) {
    const struct quant *q = quant_find(it->type);
    u64 row = quant_row_bytes(q, s.k), w_pitch = row + s.w_pad;
    u64 x_row = a8 ? a8_row_bytes(s.k) : 4 * (u64)s.k, x_pitch = x_row + 4 * s.x_pad;
    struct guarded gw = guarded_get((s.n - 1) * w_pitch + row);
    struct guarded gx = guarded_get((s.t - 1) * x_pitch + x_row);
    f32 *x = malloc(4 * (u64)s.k), *w = malloc(4 * (u64)s.k);
    f64 *xd = malloc(8 * (u64)s.k * s.t);
    for (u32 n = 0; n < s.n; n++) {
        random_weights(it, (u8 *)gw.p + n * w_pitch, s.k);
    }
    for (u32 t = 0; t < s.t; t++) {
        u8 *to = (u8 *)gx.p + t * x_pitch;
        for (u32 k = 0; k < s.k; k++) {
            x[k] = rng_f32() * (k / 32 % 7 == 3 ? 0.0f : k % 97 == 0 ? 30.0f : 1.0f);
        }
        if (a8) {
            isas[0]->a8_row(x, s.k, to);
        } else {
            memcpy(to, x, x_row);
        }
        for (u32 k = 0; k < s.k; k++) {
            f32 d;
            if (a8) memcpy(&d, to + s.k + k / 32 * 4, 4);
            xd[t * (u64)s.k + k] = a8 ? (f64)d * (i8)to[k] : (f64)x[k];
        }
    }
    struct matmul m = {.w = gw.p,
                       .w_pitch = w_pitch,
                       .type = it->type,
                       .k = s.k,
                       .x = gx.p,
                       .x_pitch = x_pitch,
                       .y_pitch = s.n + s.y_pad,
                       .t = s.t,
                       .a8 = a8};
    u64 y_n = s.t * m.y_pitch;
    f32 *y[COUNT(names)], *part = malloc(4 * y_n);
    for (size_t i = 0; i < n_isas; i++) {
        y[i] = malloc(4 * y_n);
        run_matmul(isas[i], &m, s.n, s.n, y[i]);
        u32 cut = ISA_ROWS * (1 + rng() % 3);
        run_matmul(isas[i], &m, s.n, MIN(s.n, cut), part);
        assert_memory_equal(y[i], part, 4 * y_n); /* a split changes no bit */
    }
    for (u32 n = 0; n < s.n; n++) {
        quant_row(q, (const u8 *)gw.p + n * w_pitch, 0, s.k, w);
        for (u32 t = 0; t < s.t; t++) {
            f64 sum = 0, size = 0;
            for (u32 k = 0; k < s.k; k += 32) {
                f64 top = 0;
                u32 end = MIN(s.k, k + 32);
                for (u32 j = k; j < end; j++) {
                    sum += xd[t * (u64)s.k + j] * (f64)w[j];
                    top = fmax(top, fabs((f64)w[j]));
                }
                /* Formats with a minimum subtract parts that are up to three times the
                 * largest weight of their block. */
                for (u32 j = k; j < end; j++) {
                    size += fabs(xd[t * (u64)s.k + j]) * (a8 ? 3 * top : fabs((f64)w[j]));
                }
            }
            /* At worst one rounding per four values (four lanes) or block, and the last sums. */
            f64 tolerance = (a8 ? s.k / 32 * 3 + 16 : s.k / 4 + 16) * EPS * size + 1e-37;
            for (size_t i = 0; i < n_isas; i++) {
                near((f64)y[i][t * m.y_pitch + n], sum, tolerance, q->name, isas[i]->name,
                     t * (u64)s.n + n);
            }
        }
    }
    for (size_t i = 0; i < n_isas; i++) {
        free(y[i]);
    }
    free(part), free(x), free(w), free(xd);
    guarded_put(gw), guarded_put(gx);
}

static void check_shapes(bool a8) {
    static const struct shape shapes[] = {
        {32, 1, 1, 0, 0, 0},     {64, 17, 1, 1, 3, 2},   {96, 33, 2, 0, 1, 1},
        {256, 40, 3, 2, 0, 0},   {576, 50, 5, 0, 0, 7},  {1536, 20, 7, 3, 2, 1},
        {576, 19, 17, 0, 1, 0},  {256, 37, 64, 1, 0, 3}, {1536, 31, 1, 0, 0, 0},
        {2560, 18, 4, 0, 0, 0},  {576, 9, 35, 0, 0, 0},  {1792, 16, 33, 5, 1, 1},
        {512, 16, 130, 0, 0, 0}, {288, 5, 1, 0, 0, 0},   {544, 3, 1, 0, 0, 0},
    };
    for (size_t i = 0; i < COUNT(isa_types); i++) {
        u32 len = quant_find(isa_types[i].type)->block_len;
        for (size_t j = 0; j < COUNT(shapes); j++) {
            struct shape s = shapes[j];
            s.k = (s.k + len - 1) / len * len;
            check_matmul(&isa_types[i], s, a8);
        }
    }
}

static void test_matmul_exact(void **state) {
    (void)state;
    check_shapes(false);
    /* Plain floats may have any length. */
    for (u32 k = 1; k < 40; k += 3) {
        check_matmul(&isa_types[0], (struct shape){k, 7, 3, 4, 0, 0}, false);
        check_matmul(&isa_types[0], (struct shape){k, 7, 3, 2, 0, 0}, false);
        check_matmul(&isa_types[1], (struct shape){k, 9, 1, 0, 0, 0}, false);
        check_matmul(&isa_types[1], (struct shape){k, 9, 1, 1, 0, 0}, false);
        check_matmul(&isa_types[1], (struct shape){k, 9, 2, 0, 0, 0}, false);
    }
}

static void test_matmul_fast(void **state) {
    (void)state;
    check_shapes(true);
}

/* A row of x that is 1 at one place reads a weight: exactly what quant_row says. */
static void test_matmul_decodes(void **state) {
    (void)state;
    enum { K = 1024 + 256, N = 3 };
    for (size_t i = 0; i < COUNT(isa_types); i++) {
        const struct quant *q = quant_find(isa_types[i].type);
        u64 row = quant_row_bytes(q, K);
        u8 *w = malloc(row * N + 1);
        f32 *x = calloc(K * K, 4), *y = malloc(4 * K * N), *want = malloc(4 * K);
        for (u32 k = 0; k < K; k++) {
            x[k * K + k] = 1;
        }
        for (u32 shift = 0; shift < 2; shift++) {
            random_weights(&isa_types[i], w + shift, N * K);
            for (size_t a = 0; a < n_isas; a++) {
                struct matmul m = {.w = w + shift,
                                   .w_pitch = row,
                                   .type = q->type,
                                   .k = K,
                                   .x = x,
                                   .x_pitch = 4 * K,
                                   .y = y,
                                   .y_pitch = N,
                                   .t = K};
                isas[a]->matmul(&m, 0, N, scratch);
                for (u32 n = 0; n < N; n++) {
                    quant_row(q, w + shift + n * row, 0, K, want);
                    for (u32 k = 0; k < K; k++) {
                        if (y[k * N + n] == want[k]) continue;
                        fail_msg("%s %s: weight %u is %a, expected %a", q->name, isas[a]->name, k,
                                 (f64)y[k * N + n], (f64)want[k]);
                    }
                }
            }
        }
        free(w), free(x), free(y), free(want);
    }
}

/* More values than any scratch panel holds. */
static void test_matmul_long(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(isa_types); i++) {
        check_matmul(&isa_types[i], (struct shape){20480, 3, 1, 0, 0, 0}, true);
        check_matmul(&isa_types[i], (struct shape){12288 + 256, 5, 6, 0, 0, 0}, true);
        check_matmul(&isa_types[i], (struct shape){12288 + 256, 5, 2, 0, 0, 0}, false);
    }
}

/* The largest integers that a block can make: no sum may saturate or wrap. */
static void test_matmul_largest(void **state) {
    (void)state;
    enum { K = 512, N = 4, T = 6 };
    for (size_t i = 0; i < COUNT(isa_types); i++) {
        if (!isa_types[i].fast) continue;
        const struct quant *q = quant_find(isa_types[i].type);
        u64 row = quant_row_bytes(q, K);
        u8 *w = malloc(row * N), *x = malloc(a8_row_bytes(K) * T);
        for (u32 fill = 0; fill < 3; fill++) {
            memset(w, fill == 0 ? 0xff : fill == 1 ? 0x80 : 0x7f, row * N);
            for (u64 b = 0; b < row * N; b += q->block_bytes) {
                for (u32 j = 0; j < 2; j++) {
                    if (isa_types[i].f16_at[j] >= 0)
                        memcpy(w + b + isa_types[i].f16_at[j], "\0\x3c", 2);
                }
            }
            f32 in[K], wf[K], y[N * T];
            for (u32 k = 0; k < K; k++) {
                in[k] = fill == 2 ? -1.0f : 1.0f;
            }
            f64 sum = 0, size = 0;
            quant_row(q, w, 0, K, wf);
            for (u32 k = 0; k < K; k++) {
                sum += (f64)wf[k] * (f64)in[k];
                size += fabs((f64)wf[k]);
            }
            for (size_t a = 0; a < n_isas; a++) {
                for (u32 t = 1; t <= T; t += 5) {
                    for (u32 r = 0; r < t; r++) {
                        isas[a]->a8_row(in, K, x + r * a8_row_bytes(K));
                    }
                    struct matmul m = {.w = w,
                                       .w_pitch = row,
                                       .type = q->type,
                                       .k = K,
                                       .x = x,
                                       .x_pitch = a8_row_bytes(K),
                                       .y = y,
                                       .y_pitch = N,
                                       .t = t,
                                       .a8 = true};
                    isas[a]->matmul(&m, 0, N, scratch);
                    for (u32 r = 0; r < t * N; r++) {
                        near((f64)y[r], sum, 200 * EPS * size, q->name, isas[a]->name, r);
                    }
                }
            }
        }
        free(w), free(x);
    }
}

/* A NaN or infinity among the activations makes every output of its row NaN, and of no other. */
static void test_matmul_nan(void **state) {
    (void)state;
    enum { K = 256, N = 20, T = 6 };
    for (size_t i = 0; i < COUNT(isa_types); i++) {
        const struct quant *q = quant_find(isa_types[i].type);
        u64 row = quant_row_bytes(q, K);
        u8 *w = malloc(row * N), *x8 = malloc(a8_row_bytes(K) * T);
        random_weights(&isa_types[i], w, K * N);
        static f32 x[T][K], y[T * N];
        for (u32 t = 0; t < T; t++) {
            for (u32 k = 0; k < K; k++) {
                x[t][k] = rng_f32();
            }
        }
        x[1][77] = NAN;
        x[3][255] = INFINITY;
        x[4][0] = -NAN;
        for (size_t a = 0; a < n_isas; a++) {
            for (u32 t = 0; t < T; t++) {
                isas[a]->a8_row(x[t], K, x8 + t * a8_row_bytes(K));
            }
            for (u32 a8 = 0; a8 < 2; a8++) {
                struct matmul m = {.w = w,
                                   .w_pitch = row,
                                   .type = q->type,
                                   .k = K,
                                   .y_pitch = N,
                                   .x = a8 ? (void *)x8 : (void *)x,
                                   .t = T,
                                   .y = y,
                                   .a8 = a8,
                                   .x_pitch = a8 ? a8_row_bytes(K) : 4 * K};
                isas[a]->matmul(&m, 0, N, scratch);
                for (u32 j = 0; j < T * N; j++) {
                    bool bad = j / N == 1 || j / N == 3 || j / N == 4;
                    /* In exact f32 an infinity is a legal value. */
                    if (bad ? isfinite(y[j]) : !isfinite(y[j])) {
                        fail_msg("%s %s: row %u, value %g", q->name, isas[a]->name, j / N,
                                 (f64)y[j]);
                    }
                }
            }
        }
        free(w), free(x8);
    }
}

/* ---- int8 activations */

static void test_a8_row(void **state) {
    (void)state;
    enum { K = 32 * 40 };
    struct guarded in = guarded_get(4 * K), out = guarded_get(a8_row_bytes(K));
    f32 *x = in.p;
    for (u32 k = 0; k < K; k++) {
        x[k] = rng_f32() * ldexpf(1, (int)(k / 32 * 6) - 130);
    }
    for (u32 k = 0; k < 32; k++) {
        x[32 + k] = 0;                                                /* all zero */
        x[64 + k] = rng_f32() * 0x1p-140f;                            /* subnormal */
        x[96 + k] = (k % 2 ? 2.0f : -2.0f) * (f32)k + 0.5f * (k > 3); /* ties, with d = 1 */
        x[128 + k] = rng_f32() * 1e30f;
        x[160 + k] = k == 9 ? NAN : 1;
        x[192 + k] = k == 31 ? -INFINITY : 1;
        x[224 + k] = k % 2 ? 3.4e38f : -3.4e38f;
    }
    x[96] = 127;
    u8 *first = NULL;
    for (size_t a = 0; a < n_isas; a++) {
        memset(out.p, 0x55, a8_row_bytes(K));
        isas[a]->a8_row(x, K, out.p);
        if (!first) {
            first = malloc(a8_row_bytes(K));
            memcpy(first, out.p, a8_row_bytes(K));
        }
        assert_memory_equal(first, out.p, a8_row_bytes(K));
    }
    const i8 *q = (const i8 *)first;
    const f32 *d = (const f32 *)(const void *)(first + K), *s = d + K / 32;
    for (u32 b = 0; b < K / 32; b++) {
        f32 top = 0;
        i32 sum = 0;
        bool finite = true;
        for (u32 k = 32 * b; k < 32 * b + 32; k++) {
            top = fmaxf(top, fabsf(x[k]));
            finite = finite && isfinite(x[k]);
            sum += q[k];
        }
        if (!finite) {
            assert_true(isnan(d[b]) && isnan(s[b]) && sum == 0);
            continue;
        }
        if (top < 0x1p-119f) top = 0;
        near((f64)d[b], (f64)top / 127, EPS * (f64)top / 127, "d", "all", b);
        near((f64)s[b], (f64)d[b] * sum, EPS * fabs((f64)d[b] * sum), "s", "all", b);
        for (u32 k = 32 * b; k < 32 * b + 32; k++) {
            f64 want = top > 0 ? (f64)x[k] * 127 / (f64)top : 0;
            near((f64)q[k], want, 0.5 + 1e-4, "q", "all", k);
        }
    }
    for (u32 k = 97; k < 128; k++) {
        near((f64)q[k], nearbyint((f64)x[k]), 0, "tie", "all", k);
    }
    free(first);
    guarded_put(in), guarded_put(out);
}

/* ---- element-wise */

static void test_maps(void **state) {
    (void)state;
    static const u32 lengths[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 576, 1537};
    for (size_t l = 0; l < COUNT(lengths); l++) {
        u32 n = lengths[l];
        struct guarded ga = guarded_get(4 * n), gb = guarded_get(4 * n), gy = guarded_get(4 * n);
        f32 *a = ga.p, *b = gb.p, *y = gy.p;
        for (u32 i = 0; i < n; i++) {
            a[i] = rng_f32() * (i % 5 ? 10.0f : 200.0f);
            b[i] = rng_f32() * 3;
        }
        for (size_t k = 0; k < n_isas; k++) {
            const struct isa *isa = isas[k];
            f64 squares = 0;
            for (u32 i = 0; i < n; i++) {
                squares += (f64)a[i] * (f64)a[i];
            }
            near((f64)isa->sum_squares(a, n), squares, (n / 8 + 8) * EPS * squares, "sum_squares",
                 isa->name, 0);
            isa->add(a, b, 1, y, n);
            for (u32 i = 0; i < n; i++) {
                near((f64)y[i], (f64)(a[i] + b[i]), 0, "add", isa->name, i);
            }
            isa->add(a, b, 0.37f, y, n);
            for (u32 i = 0; i < n; i++) {
                f64 scaled = (f64)0.37f * (f64)b[i], want = (f64)a[i] + scaled;
                near((f64)y[i], want, EPS * (fabs(want) + fabs(scaled)), "add scaled", isa->name,
                     i);
            }
            isa->softcap(a, 30, y, n);
            for (u32 i = 0; i < n; i++) {
                f64 want = 30 * tanh((f64)a[i] / 30);
                near((f64)y[i], want, 6 * EPS * fabs(want), "softcap", isa->name, i);
            }
            isa->geglu(a, b, y, n);
            for (u32 i = 0; i < n; i++) {
                f64 x = (f64)a[i],
                    t = tanh(sqrt(2 / 3.14159265358979) * (x + 0.044715 * x * x * x));
                f64 want = x / 2 * (1 + t) * (f64)b[i];
                /* 1 + tanh cancels for negative x: the error is relative to x, not to gelu(x). */
                near((f64)y[i], want, 6 * EPS * fabs(x * (f64)b[i]), "geglu", isa->name, i);
            }
            for (u32 with = 0; with < 2; with++) {
                isa->scale_mul(a, with ? b : NULL, 0.37f, y, n);
                for (u32 i = 0; i < n; i++) {
                    f64 want = (f64)a[i] * (f64)0.37f * (with ? (f64)b[i] : 1);
                    near((f64)y[i], want, 2 * EPS * fabs(want), "scale_mul", isa->name, i);
                }
            }
            isa->swiglu(a, b, y, n);
            for (u32 i = 0; i < n; i++) {
                f64 want = (f64)a[i] / (1 + exp(-(f64)a[i])) * (f64)b[i];
                /* exp to 2 ulp, a sum, a quotient, a product: 6 roundings at most; below
                 * exp(-88) the true value is smaller than the tiniest float it is divided from. */
                near((f64)y[i], want, 6 * EPS * fabs(want) + 1e-35, "swiglu", isa->name, i);
            }
        }
        guarded_put(ga), guarded_put(gb), guarded_put(gy);
    }
}

static void test_swiglu_range(void **state) {
    (void)state;
    static const f32 in[] = {0.0f,   -0.0f, 1e-40f, -1e-40f, 1e30f,   -1e30f, 3e38f,
                             -3e38f, 88.0f, -88.0f, 100.0f,  -100.0f, 1e-20f, NAN};
    for (size_t k = 0; k < n_isas; k++) {
        f32 ones[COUNT(in)], y[COUNT(in)];
        for (size_t i = 0; i < COUNT(in); i++) {
            ones[i] = 1;
        }
        isas[k]->swiglu(in, ones, y, COUNT(in));
        for (size_t i = 0; i + 1 < COUNT(in); i++) {
            f64 want = in[i] < -700 ? 0 : (f64)in[i] / (1 + exp(-(f64)in[i]));
            assert_true(isfinite(y[i]));
            near((f64)y[i], want, 6 * EPS * fabs(want) + 1e-35, "silu", isas[k]->name, i);
        }
        assert_true(isnan(y[COUNT(in) - 1]));
    }
}

/* Every f32 that matters: all high halves of the bits, with low halves around the ties. */
static void test_to_f16(void **state) {
    (void)state;
    static const u32 low[] = {0,      1,      0xfff,  0x1000, 0x1001, 0x1fff, 0x2000,
                              0x3000, 0x7fff, 0x8000, 0xf000, 0xefff, 0xffff};
    for (size_t k = 0; k < n_isas; k++) {
        for (u32 high = 0; high < 0x10000; high++) {
            f32 x[COUNT(low)];
            u16 y[COUNT(low)];
            for (size_t i = 0; i < COUNT(low); i++) {
                x[i] = f32_from_bits(high << 16 | low[i]);
            }
            isas[k]->to_f16(x, y, COUNT(low));
            for (size_t i = 0; i < COUNT(low); i++) {
                if (isnan(x[i])) {
                    assert_true(isnan(f16_to_f32(y[i])));
                } else if (y[i] != f32_to_f16(x[i])) {
                    fail_msg("%s: f16 of %a is %04x", isas[k]->name, (f64)x[i], y[i]);
                }
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pick),           cmocka_unit_test(test_a8_row),
        cmocka_unit_test(test_maps),           cmocka_unit_test(test_swiglu_range),
        cmocka_unit_test(test_to_f16),         cmocka_unit_test(test_matmul_exact),
        cmocka_unit_test(test_matmul_fast),    cmocka_unit_test(test_matmul_long),
        cmocka_unit_test(test_matmul_decodes), cmocka_unit_test(test_matmul_largest),
        cmocka_unit_test(test_matmul_nan),
    };
    return cmocka_run_group_tests(tests, find_isas, NULL);
}
