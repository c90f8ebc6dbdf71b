/* f16.h against rules that do not look at bits: a half is a number m * 2^e, and rounding takes the
 * nearest number of a sorted list, the even one of two. */
#include "base/f16.h"

#include <math.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { FINITE = 0x7c00 }; /* halves 0 .. 0x7bff are the non-negative finite numbers, ascending */

static f64 half_value(u32 h) {
    u32 e = h >> 10 & 31, m = h & 1023;
    f64 v = e == 0 ? ldexp(m, -24) : ldexp(1024 + m, (int)e - 25);
    return h & 0x8000 ? -v : v;
}

static void test_all_halves(void **state) {
    (void)state;
    for (u32 h = 0; h < 65536; h++) {
        f32 x = f16_to_f32((u16)h);
        if ((h & 0x7fff) < FINITE) {
            assert_true((f64)x == half_value(h));
            assert_true(!signbit(x) == !(h & 0x8000));
            assert_int_equal(f32_to_f16(x), h);
        } else if ((h & 0x7fff) == FINITE) {
            assert_true(isinf(x) && !signbit(x) == !(h & 0x8000));
            assert_int_equal(f32_to_f16(x), h);
        } else {
            assert_true(isnan(x));
            u16 back = f32_to_f16(x);
            assert_true((back & 0x7e00) == 0x7e00 && (back & 0x8000) == (h & 0x8000));
        }
    }
}

/* The half nearest to x >= 0 by search. Infinity stands at 2^16, one step past the largest number.
 */
static u32 nearest_half(f64 x) {
    u32 lo = 0, hi = FINITE;
    while (hi - lo > 1) {
        u32 mid = (lo + hi) / 2;
        if (half_value(mid) <= x) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    f64 below = x - half_value(lo), above = half_value(hi) - x;
    if (below == above) return lo & 1 ? hi : lo;
    return below < above ? lo : hi;
}

static void check_rounding(f32 x) {
    u32 want = nearest_half(fabs((f64)x)) | (signbit(x) ? 0x8000 : 0);
    if (f32_to_f16(x) != want) {
        fail_msg("%a becomes half %04x, expected %04x", (f64)x, f32_to_f16(x), want);
    }
}

static void test_rounding(void **state) {
    (void)state;
    /* Each half, the middle to the next one, and the floats on both sides of these. */
    for (u32 h = 0; h < FINITE; h++) {
        f64 middle = (half_value(h) + half_value(h + 1)) / 2;
        f32 at[2] = {(f32)half_value(h), (f32)middle};
        assert_true((f64)at[1] == middle);
        for (u32 i = 0; i < 2; i++) {
            check_rounding(at[i]);
            check_rounding(-at[i]);
            check_rounding(nextafterf(at[i], INFINITY));
            check_rounding(nextafterf(at[i], -INFINITY));
        }
    }
    u64 seed = 7;
    for (u32 i = 0; i < 300000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        f32 x = f32_from_bits((u32)(seed >> 32));
        if (isfinite(x)) check_rounding(x);
    }
    assert_int_equal(f32_to_f16(65519.996f), 0x7bff);
    assert_int_equal(f32_to_f16(65520.0f), 0x7c00);
    assert_int_equal(f32_to_f16(INFINITY), 0x7c00);
    assert_int_equal(f32_to_f16(-INFINITY), 0xfc00);
    assert_int_equal(f32_to_f16(f32_from_bits(0x7f800001)) & 0x7e00, 0x7e00);
}

static void test_bf16(void **state) {
    (void)state;
    for (u32 b = 0; b < 65536; b++) {
        f32 x = bf16_to_f32((u16)b);
        if (isnan(x)) {
            assert_true(isnan(bf16_to_f32(f32_to_bf16(x))));
            continue;
        }
        assert_int_equal(f32_to_bf16(x), b);
        if (isinf(x) || (b & 0x7fff) == 0x7f7f) continue;
        /* Between neighbours: the nearer one wins, in the middle the even one. */
        f64 y = (f64)bf16_to_f32((u16)(b + 1)), middle = ((f64)x + y) / 2;
        f32 m = (f32)middle;
        if ((f64)m != middle) continue; /* the smallest subnormal has no middle */
        assert_int_equal(f32_to_bf16(m), b & 1 ? b + 1 : b);
        assert_int_equal(f32_to_bf16(nextafterf(m, x)), b);
        assert_int_equal(f32_to_bf16(nextafterf(m, (f32)y)), b + 1);
    }
    assert_int_equal(f32_to_bf16(f32_from_bits(0x7f7f8000)), 0x7f80); /* past the largest */
    assert_int_equal(f32_to_bf16(f32_from_bits(0x7f7f7fff)), 0x7f7f);
    assert_true(isnan(bf16_to_f32(f32_to_bf16(f32_from_bits(0x7f800001)))));
    assert_true(isnan(bf16_to_f32(f32_to_bf16(f32_from_bits(0xffffffff)))));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_halves),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
