/* Shared by test_isa.c and bench_isa.c: random numbers, and random weights of sane magnitude. */
#ifndef TEST_ISA_UTIL_H
#define TEST_ISA_UTIL_H

#include "base/f16.h"
#include "kern/isa.h"

static u64 rng_state = 88172645463325252u;
static inline u32 rng(void) {
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return (u32)(rng_state >> 32);
}
/* Uniform in [-1, 1). */
static inline f32 rng_f32(void) {
    return (f32)(i32)rng() * 0x1p-31f;
}

/* Formats under test, and where a block keeps its f16 factors (-1: none). Any other bytes may be
 * random. */
struct isa_type {
    u32 type;
    int f16_at[2];
    bool fast; /* has an int8 kernel */
};
static const struct isa_type isa_types[] = {
    {QUANT_F32, {-1, -1}, false},      {QUANT_F16, {-1, -1}, false},
    {QUANT_BF16, {-1, -1}, false},     {QUANT_Q4_0, {0, -1}, true},
    {QUANT_Q4_1, {0, 2}, true},        {QUANT_Q8_0, {0, -1}, true},
    {QUANT_Q4_K, {0, 2}, true},        {QUANT_Q6_K, {208, -1}, true},
    {6 /* Q5_0 */, {0, -1}, false},    {7 /* Q5_1 */, {0, 2}, false},
    {10 /* Q2_K */, {80, 82}, false},  {13 /* Q5_K */, {0, 2}, false},
    {20 /* IQ4_NL */, {0, -1}, false},
};

/* n values (a multiple of the block length) of random weights at p. */
static inline void random_weights(const struct isa_type *it, u8 *p, u64 n) {
    const struct quant *q = quant_find(it->type);
    for (u64 i = 0; i < n && q->block_len == 1; i++, p += q->block_bytes) {
        f32 x = rng_f32();
        u16 half = it->type == QUANT_BF16 ? f32_to_bf16(x) : f32_to_f16(x);
        memcpy(p, q->block_bytes == 4 ? (const void *)&x : (const void *)&half, q->block_bytes);
    }
    for (u64 i = 0; i < n && q->block_len > 1; i += q->block_len, p += q->block_bytes) {
        for (u32 j = 0; j < q->block_bytes; j++) {
            p[j] = (u8)rng();
        }
        for (u32 j = 0; j < 2; j++) {
            u16 half = f32_to_f16(rng_f32() * 0.01f);
            if (it->f16_at[j] >= 0) memcpy(p + it->f16_at[j], &half, 2);
        }
    }
}

#endif
