/* Half-precision and bfloat16 conversion in plain C, bit-exact: no hardware type is needed. */
#ifndef BASE_F16_H
#define BASE_F16_H

#include "base/base.h"
#include <string.h>

static inline u32 f32_bits(f32 x) {
    u32 u;
    memcpy(&u, &x, 4);
    return u;
}
static inline f32 f32_from_bits(u32 u) {
    f32 x;
    memcpy(&x, &u, 4);
    return x;
}

/* IEEE binary16 to binary32, exact for every input (subnormals, infinities, NaN payloads). */
static inline f32 f16_to_f32(u16 h) {
    u32 sign = (u32)(h & 0x8000u) << 16;
    u32 rest = h & 0x7fffu;
    if (rest >= 0x7c00u) return f32_from_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest >= 0x0400u) return f32_from_bits(sign | (rest + 0x1c000u) << 13);
    f32 magnitude = (f32)rest * 0x1p-24f; /* subnormal or zero: exact */
    return f32_from_bits(sign | f32_bits(magnitude));
}

/* Round to nearest, ties to even; overflow gives infinity, NaN stays a quiet NaN. */
static inline u16 f32_to_f16(f32 x) {
    u32 u = f32_bits(x);
    u32 sign = u >> 16 & 0x8000u;
    u32 rest = u & 0x7fffffffu;
    if (rest > 0x7f800000u) return (u16)(sign | 0x7e00u);
    if (rest >= 0x477ff000u) return (u16)(sign | 0x7c00u); /* 65520 and above round to infinity */
    if (rest < 0x38800000u) {                              /* subnormal: let the adder round */
        f32 magnitude = f32_from_bits(rest) + 0.5f;
        return (u16)(sign | (f32_bits(magnitude) - 0x3f000000u));
    }
    u32 odd = rest >> 13 & 1u;
    return (u16)(sign | (rest + 0x0fffu + odd - 0x38000000u) >> 13);
}

static inline f32 bf16_to_f32(u16 b) {
    return f32_from_bits((u32)b << 16);
}
static inline u16 f32_to_bf16(f32 x) {
    u32 u = f32_bits(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (u16)(u >> 16 | 0x40u);
    return (u16)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

#endif
