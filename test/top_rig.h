/* Rows whose largest values TOP is to find, and what it should find, by a sort. Include after
 * cmocka.h. */
#ifndef TEST_TOP_RIG_H
#define TEST_TOP_RIG_H

#include "isa_util.h"

#ifdef CMOCKA_H_ /* headers are compiled alone too */
#include <math.h>
#include <stdlib.h>

enum { TOP_ROWS = 7 };

/* TOP_ROWS rows of d: random; all equal; rising, falling; few values, so that the last ones chosen
 * are some of many equal ones; values that differ in their last bits; no ordinary numbers. */
static inline void top_fill(f32 *x, u32 d) {
    static const f32 odd[] = {0, -0.0f, 1e-42f, -1e-42f, INFINITY, -INFINITY, NAN, 3e38f, -3e38f};
    for (u32 i = 0; i < d; i++) {
        x[i] = 30 * rng_f32();
        x[d + i] = -2.5f;
        x[2 * d + i] = (f32)i * 0.001f - 3;
        x[3 * d + i] = -(f32)i * 0.001f;
        x[4 * d + i] = (f32)(rng() % 3);
        x[5 * d + i] = f32_from_bits(0xc1000000 + rng() % 300);
        x[6 * d + i] = rng() % 4 ? rng_f32() : odd[rng() % COUNT(odd)];
    }
}

static const f32 *top_row; /* of the sort */
static inline int top_order(const void *a, const void *b) {
    u32 i = *(const u32 *)a, j = *(const u32 *)b;
    f32 x = top_row[i], y = top_row[j];
    if (isnan(x) || isnan(y)) {
        if (isnan(x) && isnan(y)) return i < j ? -1 : 1;
        return isnan(x) ? -1 : 1;
    }
    if (x != y) return x > y ? -1 : 1;
    return i < j ? -1 : 1;
}

/* y is TOP's output for x. */
static inline void top_check(const f32 *y, const f32 *x, u32 d, u32 n) {
    u32 *order = malloc(d * sizeof *order);
    assert_non_null(order);
    for (u32 i = 0; i < d; i++)
        order[i] = i;
    top_row = x;
    qsort(order, d, sizeof *order, top_order);
    f32 smallest = NAN;
    for (u32 i = d; i-- > 0 && isnan(smallest);)
        smallest = x[order[i]];
    assert_true(y[2 * n] == smallest || (isnan(y[2 * n]) && isnan(smallest)));
    for (u32 i = 0; i < n; i++) {
        assert_int_equal((u32)y[i], order[i]);
        assert_int_equal(f32_bits(y[n + i]), f32_bits(x[order[i]]));
    }
    free(order);
}
#endif

#endif
