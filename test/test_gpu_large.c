/* More workgroups than a dimension of a dispatch has: a vocabulary's rows of weights, and batches
 * of elements and rows, just below the limit, at it and beyond. */
#include "gpu_ops_rig.h"
#include "top_rig.h"

enum { DIMENSION = 65535 }; /* workgroups: what every device has, and most have no more */

/* One row by Q4_0 weights; four outputs a workgroup. */
static void vocabularies(void **state) {
    enum { K = 32, BYTES = 18 };
    static const u32 rows[] = {4 * (DIMENSION - 1), 4 * DIMENSION, 4 * DIMENSION + 1, 262144};
    for (u32 i = 0; i < COUNT(rows); i++) {
        u32 n = rows[i];
        struct op_run o;
        run_begin(&o, (u32)(uintptr_t)*state, 1, 1);
        f32 *x = run_random(&o, K);
        u8 *w = arena_get(&o.arena, (u64)n * BYTES);
        assert_non_null(w);
        for (u32 j = 0; j < n; j++) {
            u16 scale = (u16)(0x2c00 + (rng() & 0x3ff));
            memcpy(w + (size_t)j * BYTES, &scale, sizeof scale);
            for (u32 k = 2; k < BYTES; k++)
                w[(size_t)j * BYTES + k] = (u8)rng();
        }
        struct ref in[] = {run_x(&o, x, K), run_mat(&o, QUANT_Q4_0, w, n, K), REF_ABSENT};
        struct ref y = prog_op(&o.prog, OP_MATMUL, in, 0, NULL);
        run_ready(&o);
        run_pass(&o, 1, 1);
        for (u32 j = 0; j < n; j++) {
            f32 values[K];
            f64 sum = 0, size = 0;
            quant_row(quant_find(QUANT_Q4_0), w + (size_t)j * BYTES, 0, K, values);
            for (u32 k = 0; k < K; k++) {
                sum += (f64)x[k] * (f64)values[k];
                size += fabs((f64)x[k] * (f64)values[k]);
            }
            near_one(o.where, "vocabulary", 0, j, run_at(&o, y, 0, j), sum, K * EPS * size);
        }
        run_end(&o);
    }
}

/* Workgroups per row, and per 64 elements of rows of 64. */
static void batches(void **state) {
    enum { D = 64, V = 97 };
    static const u32 rows[] = {DIMENSION - 1, DIMENSION, DIMENSION + 1, 2 * DIMENSION + 3};
    struct op_run o;
    run_begin(&o, (u32)(uintptr_t)*state, rows[3], 1);
    f32 *table = run_random(&o, V * D);
    struct embed_params one = {1};
    struct scale_params half = {0.5f};
    struct rms_norm_params p = {D, 0};
    struct ref w = run_mat(&o, QUANT_F32, table, V, D);
    struct ref x = prog_op(&o.prog, OP_EMBED, &w, 0, &one);
    struct ref s = prog_op(&o.prog, OP_SCALE, &x, 0, &half);
    struct ref n = prog_op(&o.prog, OP_RMS_NORM, (struct ref[]){x, REF_ABSENT}, 0, &p);
    for (u32 t = 0; t < rows[3]; t++)
        o.rows[t].id = (i32)(t * 31 % V);
    run_ready(&o);
    for (u32 i = 0; i < COUNT(rows); i++) {
        run_pass(&o, rows[i], 1);
        for (u32 t = 0; t < rows[i]; t++) {
            const f32 *row = table + (size_t)o.rows[t].id * D;
            f64 squares = 0;
            assert_memory_equal(run_row(&o, x, t), row, D * sizeof *row);
            for (u32 j = 0; j < D; j++)
                squares += (f64)row[j] * (f64)row[j];
            for (u32 j = 0; j < D; j++) {
                f64 want = (f64)row[j] / sqrt(squares / D);
                assert_true(run_at(&o, s, t, j) == (f64)row[j] / 2);
                near_one(o.where, "norm", t, j, run_at(&o, n, t, j), want, 32 * EPS * fabs(want));
            }
        }
    }
    run_end(&o);
}

static void tops(void **state) {
    static const struct {
        u32 d, n;
    } cases[] = {{1, 1},    {5, 1},     {5, 5},      {300, 1},          {300, TOP_MOST},
                 {1000, 2}, {1000, 17}, {262144, 1}, {262144, TOP_MOST}};
    for (u32 i = 0; i < COUNT(cases); i++) {
        u32 d = cases[i].d;
        struct op_run o;
        if (test_on(state) != ON_FLOOR && cases[i].n > 1) continue; /* these do not reduce */
        run_begin(&o, test_on(state), 1, TOP_ROWS);
        f32 *x = arena_array(&o.arena, (u64)TOP_ROWS * d, sizeof *x);
        assert_non_null(x);
        top_fill(x, d);
        struct top_params p = {cases[i].n};
        struct ref in = run_in(&o, x, ROWS_R, 1, d, DT_F32);
        struct ref y = prog_op(&o.prog, OP_TOP, &in, 2 * p.n + 1, &p);
        run_ready(&o);
        run_pass(&o, 1, TOP_ROWS);
        for (u32 k = 0; k < TOP_ROWS; k++)
            top_check(run_row(&o, y, k), x + (size_t)k * d, d, p.n);
        run_end(&o);
    }
}

#define ON(test, on)                                                                               \
    { #test " on " #on, test, NULL, NULL, (void *)on }

static int close_devices(void **state) {
    (void)state;
    rig_close_devices();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {ON(vocabularies, ON_DEVICE), ON(batches, ON_FLOOR),
                                       ON(tops, ON_FLOOR),          ON(tops, ON_DEVICE),
                                       ON_WIDTH(tops, 8),           ON_WIDTH(tops, 64)};
    if (!rig_has_gpu()) return 0;
    return cmocka_run_group_tests_name("gpu large", tests, NULL, close_devices);
}
