/* Weight formats: one row per GGUF tensor type, made from quant.def. */
#ifndef KERN_QUANT_H
#define KERN_QUANT_H

#include "base/base.h"

struct quant {
    const char *name; /* as GGUF users write it: "Q4_K" */
    u32 type;         /* ggml's number */
    u32 block_len;    /* values per block */
    u32 block_bytes;  /* bytes per block */
    /* Reference decode: out[0..n) = values 32 j .. 32 j + n of the block(s) at p, n <= 32. For
     * formats with block_len 1, p is the row's start and j counts 32-value groups along it. */
    void (*decode)(const u8 *p, u32 j, u32 n, f32 *out);
    const char *wgsl; /* the same body as WGSL text */
};

/* NULL for a type that glim does not know (retired numbers included). */
const struct quant *quant_find(u32 type);
/* The same by name, ignoring case. */
const struct quant *quant_named(const char *name);
/* quant_find as a gguf_type_size. */
bool quant_size(u32 type, u32 *block_len, u32 *block_bytes);
/* Bytes of a row of n values; n is a multiple of block_len. */
u64 quant_row_bytes(const struct quant *q, u64 n);
/* dst[0..n) = values first .. first + n of a row that starts at src; first is a multiple of 32. */
void quant_row(const struct quant *q, const u8 *src, u64 first, u64 n, f32 *dst);

/* ggml's numbers of the types that code names. */
enum {
    QUANT_F32 = 0,
    QUANT_F16 = 1,
    QUANT_Q4_0 = 2,
    QUANT_Q4_1 = 3,
    QUANT_Q8_0 = 8,
    QUANT_Q4_K = 12,
    QUANT_Q6_K = 14,
    QUANT_BF16 = 30,
    QUANT_TYPES = 40, /* one past the largest number known */
};

#endif
