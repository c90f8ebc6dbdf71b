/* Runs CPU op functions outside of a program: operands with padded rows, every instruction set that
 * runs here, one to three threads. */
#ifndef TEST_OPS_RIG_H
#define TEST_OPS_RIG_H

#include "unit.h"

#include "golden.h"
#include "isa_util.h"
#include "kern/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPS 0x1p-24 /* half a unit in the last place of 1.0f */

/* Memory that nothing was stored to holds NaN. */
enum { RIG_THREADS = 3, RIG_PAD = 64, RIG_FILL = 0xff };

struct rig {
    struct arena arena;
    const struct isa *isa;
    u8 *scratch;
    struct step step;
};

static const char *const rig_isas[] = {"scalar", "avx2", "avx512"};

/* Calls fn once for each instruction set that runs here. */
static inline void rig_each(void (*fn)(struct rig *)) {
    for (u32 i = 0; i < COUNT(rig_isas); i++) {
        struct rig r = {.isa = isa_pick(rig_isas[i])};
        if (!r.isa) {
            assert_int_not_equal(i, 0); /* scalar runs everywhere */
            continue;
        }
        arena_init(&r.arena, &mem_libc);
        r.scratch = arena_get(&r.arena, (u64)RIG_THREADS * (ISA_SCRATCH + CPU_SCRATCH));
        assert_non_null(r.scratch);
        fn(&r);
        arena_free(&r.arena);
    }
}

static inline f32 *mat_row(const struct mat *m, u32 i) {
    return (f32 *)(void *)(m->p + i * m->pitch);
}

/* An activation with bytes of padding behind each row that no op may touch. */
static inline struct mat mat_new(struct rig *r, u32 rows, u32 cols, enum dtype dtype) {
    u64 bytes = dtype == DT_A8 ? a8_row_bytes(cols) : (u64)cols * sizeof(f32);
    struct mat m = {
        .pitch = ((bytes + 63) & ~(u64)63) + RIG_PAD, .rows = rows, .cols = cols, .dtype = dtype};
    m.p = arena_get(&r->arena, m.pitch * rows);
    assert_non_null(m.p);
    memset(m.p, RIG_FILL, m.pitch * rows);
    return m;
}
static inline struct mat mat_copy(struct rig *r, const f32 *x, u32 rows, u32 cols) {
    struct mat m = mat_new(r, rows, cols, DT_F32);
    for (u32 i = 0; i < rows; i++)
        memcpy(mat_row(&m, i), x + (size_t)i * cols, cols * sizeof(f32));
    return m;
}
static inline struct mat mat_golden(struct rig *r, struct golden g) {
    return g.x ? mat_copy(r, g.x, g.rows, g.cols) : (struct mat){0};
}
static inline struct mat mat_random(struct rig *r, u32 rows, u32 cols) {
    struct mat m = mat_new(r, rows, cols, DT_F32);
    for (u32 i = 0; i < rows; i++) {
        for (u32 j = 0; j < cols; j++)
            mat_row(&m, i)[j] = rng_f32();
    }
    return m;
}
/* Unpadded constants. */
static inline struct mat mat_weight(const f32 *w, u32 rows, u32 cols) {
    return (struct mat){.p = (u8 *)(uintptr_t)w,
                        .pitch = (u64)cols * sizeof(f32),
                        .rows = rows,
                        .cols = cols,
                        .type = QUANT_F32};
}

/* One call with nth threads' shares, one after the other. */
static inline void rig_call(struct rig *r, enum op_code code, const void *params,
                            const struct mat *a, u32 n, u32 nth) {
    struct op op = {.code = code};
    u32 n_params = 0;
    while (n_params < OP_PARAMS && op_info(code)->params[n_params].name)
        n_params++;
    if (params && n_params) memcpy(op.params, params, 4 * n_params);
    struct cpu_call c = {.op = &op, .step = &r->step, .isa = r->isa, .nth = nth};
    memcpy(c.a, a, n * sizeof *a);
    for (u32 i = nth; i-- > 0;) { /* no order is promised */
        c.ith = i;
        c.scratch = r->scratch + (u64)i * (ISA_SCRATCH + CPU_SCRATCH);
        c.own = c.scratch + ISA_SCRATCH;
        cpu_op(code)->fn(&c);
    }
}

/* Runs the op with 1, 2 and 3 threads: a[0] must have the same bytes each time, and nothing may be
 * written between its rows. */
static inline void rig_run(struct rig *r, enum op_code code, const void *params,
                           const struct mat *a, u32 n) {
    const struct mat *y = &a[0];
    u64 size = y->pitch * y->rows;
    u64 used = y->dtype == DT_A8 ? a8_row_bytes(y->cols) : (u64)y->cols * sizeof(f32);
    u8 *first = malloc(size);
    assert_non_null(first);
    for (u32 nth = 1; nth <= RIG_THREADS; nth++) {
        memset(y->p, RIG_FILL, size);
        rig_call(r, code, params, a, n, nth);
        if (nth == 1) memcpy(first, y->p, size);
        assert_memory_equal(first, y->p, size);
    }
    for (u32 i = 0; i < y->rows; i++) {
        for (u64 b = used; b < y->pitch; b++)
            assert_int_equal(y->p[i * y->pitch + b], RIG_FILL);
    }
    free(first);
}

/* |x - want| <= bound, and x is no NaN. */
static inline void near_one(const char *what, u32 row, u32 col, f64 x, f64 want, f64 bound) {
    if (fabs(x - want) <= bound) return;
    fail_test("%s: [%u,%u] is %.9g, expected %.9g, off by %g, allowed %g", what, row, col, x, want,
              fabs(x - want), bound);
}
/* Every value within `relative` times the largest magnitude of its row. */
static inline void near_all(const char *what, const struct mat *y, struct golden want,
                            f64 relative) {
    assert_int_equal(y->rows, want.rows);
    assert_int_equal(y->cols, want.cols);
    for (u32 i = 0; i < y->rows; i++) {
        const f32 *w = want.x + (size_t)i * y->cols;
        f64 top = 0;
        for (u32 j = 0; j < y->cols; j++)
            top = MAX(top, fabs((f64)w[j]));
        for (u32 j = 0; j < y->cols; j++)
            near_one(what, i, j, (f64)mat_row(y, i)[j], (f64)w[j], relative * top);
    }
}

#endif
