/* Weight formats: one row per GGUF tensor type, made from quant.def. */
#ifndef KERN_QUANT_H
#define KERN_QUANT_H

#include "base/base.h"

struct quant {
    const char *name; /* as GGUF users write it: "Q4_K" */
    u32 type;         /* ggml's number */
    u32 block_len;    /* values per block: 1, or a multiple of 32 */
    u32 block_bytes;  /* bytes per block */
    /* Reference decode: out[0..n) = values 32 j .. 32 j + n of the block at p, n <= 32 and
     * 32 j < block_len. For formats with block_len 1, p is the row's start and j counts 32-value
     * groups along it; nothing past the n-th value is read. Any bytes decode to some value. */
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

/* The lookup tables of the formats that have some, all in one: a read-only buffer in WGSL. */
enum { QUANT_GRID_WORDS = 2320 };
extern const u32 quant_grids[QUANT_GRID_WORDS];
extern const u64 quant_grids_fnv; /* FNV-1a of the words as little-endian bytes */
/* Whether decoding q reads quant_grids. */
bool quant_uses_grids(const struct quant *q);

/* Composes the decoder of q as WGSL: fn decode(p: u32, j: u32, n: u32), with p the byte at which
 * the block starts and j, n as in struct quant. The shader around it supplies fn weight_word(i:
 * u32) -> u32   bytes 4 i .. 4 i + 3 of the weights, little endian fn grid_word(i: u32) -> u32
 * quant_grids[i], if quant_uses_grids fn emit(i: u32, v: f32)         takes value 32 j + i; called
 * for i < n, in no promised order Writes at most cap bytes to out, zero-terminated when cap > 0;
 * returns the length of the whole text without the zero, as snprintf does. WGSL lets a device fuse
 * a product and a sum, flush subnormals and ignore NaN, so that its values may differ from decode's
 * in the last bit. */
size_t quant_wgsl(const struct quant *q, char *out, size_t cap);

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
