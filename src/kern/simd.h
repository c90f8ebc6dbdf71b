/* What every instruction set's file needs before it includes simd.inc: the tables' declarations,
 * and the renaming that lets all of them live in one translation unit. */
#ifndef KERN_SIMD_H
#define KERN_SIMD_H

#include "base/f16.h"
#include "kern/isa.h"

#include <assert.h>

extern const struct isa isa_scalar;
#if defined(__x86_64__) || defined(__i386__)
#define SIMD_X86 1
#include <immintrin.h>
extern const struct isa isa_avx2, isa_avx512;
#else
#define SIMD_X86 0
#endif

/* Lane primitives must be inlined: their arguments include constants that shape the code, and their
 * vectors stay in registers. Not so under sanitizers, whose checks in every copy of a lane would
 * take compilers minutes. */
#ifdef GLIM_SANITIZED
#define LANE static inline
#define UNROLL
#else
#define LANE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#endif

/* Sizes of blocks, in values. */
enum {
    ATTEND_KEYS = 64, /* keys of a chunk */
    ATTEND_ROWS = 4,
    ATTEND_TRANSPOSE = 96,         /* widest head for which transposing pays */
    ATTEND_MANY = 12,              /* rows from which preparing a chunk pays */
    F32_PANEL = 512,               /* a strip of 16 rows fits the first-level cache */
    F32_STRIP = 16,                /* weight rows decoded at a time */
    F32_ROW = F32_PANEL + 16,      /* floats from decoded row to row: not a power of two */
    F32_X_ROWS = 16,               /* rows of A8 activations decoded at a time */
    F32_X_BYTES = 768 * 1024,      /* of x between two decodings of the weights */
    I8_PANEL = 1024,               /* values of K in an int8 panel */
    I8_ROW = I8_PANEL + 64,        /* bytes from unpacked row to row; a power of two would */
    I8_SCALES = I8_PANEL / 16 + 8, /* crowd into few sets of the cache. Floats likewise */
    TILE_STRIP = 16 * I8_ROW + 2 * 16 * I8_SCALES * 4 + 16 * 32 * 4,
};

/* Few activation rows: how far ahead weights are fetched, and the bytes of
 * simd_rows_avx512.inc's pieces. */
enum {
    ROWS_AHEAD = 4096,
    ROWS_BYTES_Q4 = 256,
    ROWS_BYTES_Q8_0 = 192,
    ROWS_BYTES_Q4_K = 320,
    ROWS_BYTES_Q6_K = 576,
};

/* The unpacking of bytes is written in vectors that every target has. */
typedef u8 byte16 __attribute__((vector_size(16)));

/* How simd_i8.inc sees a weight format. */
struct i8_format {
    u32 type;
    u32 unit, unit_bytes; /* values and bytes of a block in the file */
    u32 group;            /* values per scale */
    i32 zero;
    bool min; /* has mw; then group is 32 */
};

/* names: one line for each function of the .inc files */
#define simd_a8_decode        SIMD(simd_a8_decode)
#define simd_a8_row           SIMD(simd_a8_row)
#define simd_absmax_bits32    SIMD(simd_absmax_bits32)
#define simd_add              SIMD(simd_add)
#define simd_attend           SIMD(simd_attend)
#define simd_attend_chunk     SIMD(simd_attend_chunk)
#define simd_attend_rows      SIMD(simd_attend_rows)
#define simd_bytes            SIMD(simd_bytes)
#define simd_decode           SIMD(simd_decode)
#define simd_dot_i8           SIMD(simd_dot_i8)
#define simd_f16_strip        SIMD(simd_f16_strip)
#define simd_f32_rows         SIMD(simd_f32_rows)
#define simd_f32_strip        SIMD(simd_f32_strip)
#define simd_f32_tile         SIMD(simd_f32_tile)
#define simd_geglu            SIMD(simd_geglu)
#define simd_h_load           SIMD(simd_h_load)
#define simd_i8_find          SIMD(simd_i8_find)
#define simd_kv_load          SIMD(simd_kv_load)
#define simd_kv_load_n        SIMD(simd_kv_load_n)
#define simd_matmul           SIMD(simd_matmul)
#define simd_matmul_f32       SIMD(simd_matmul_f32)
#define simd_matmul_i8        SIMD(simd_matmul_i8)
#define simd_plain            SIMD(simd_plain)
#define simd_round32          SIMD(simd_round32)
#define simd_rows             SIMD(simd_rows)
#define simd_rows_at          SIMD(simd_rows_at)
#define simd_rows_bytes       SIMD(simd_rows_bytes)
#define simd_rows_prepare     SIMD(simd_rows_prepare)
#define simd_rows_strip       SIMD(simd_rows_strip)
#define simd_rows_tile        SIMD(simd_rows_tile)
#define simd_rows_type        SIMD(simd_rows_type)
#define simd_scale_mul        SIMD(simd_scale_mul)
#define simd_score_many       SIMD(simd_score_many)
#define simd_score_rows       SIMD(simd_score_rows)
#define simd_score_tile       SIMD(simd_score_tile)
#define simd_scores           SIMD(simd_scores)
#define simd_six_bits         SIMD(simd_six_bits)
#define simd_softcap          SIMD(simd_softcap)
#define simd_soften           SIMD(simd_soften)
#define simd_sum_squares      SIMD(simd_sum_squares)
#define simd_swiglu           SIMD(simd_swiglu)
#define simd_tile             SIMD(simd_tile)
#define simd_tile_group_bytes SIMD(simd_tile_group_bytes)
#define simd_tile_prepare     SIMD(simd_tile_prepare)
#define simd_tile_rows        SIMD(simd_tile_rows)
#define simd_tile_square      SIMD(simd_tile_square)
#define simd_tile_store       SIMD(simd_tile_store)
#define simd_tile_strip       SIMD(simd_tile_strip)
#define simd_tiles            SIMD(simd_tiles)
#define simd_to_f16           SIMD(simd_to_f16)
#define simd_transpose_keys   SIMD(simd_transpose_keys)
#define simd_unpack           SIMD(simd_unpack)
#define simd_unpack_nibbles   SIMD(simd_unpack_nibbles)
#define simd_unpack_q4k       SIMD(simd_unpack_q4k)
#define simd_unpack_q6k       SIMD(simd_unpack_q6k)
#define simd_value_rows       SIMD(simd_value_rows)
#define simd_value_tile       SIMD(simd_value_tile)
#define simd_values           SIMD(simd_values)
#define simd_widen            SIMD(simd_widen)
#define v_add_dot             SIMD(v_add_dot)
#define v_bytes_n             SIMD(v_bytes_n)
#define v_dot1                SIMD(v_dot1)
#define v_dot2                SIMD(v_dot2)
#define v_dot_group           SIMD(v_dot_group)
#define v_dot_small           SIMD(v_dot_small)
#define v_dot_wide            SIMD(v_dot_wide)
#define v_exp                 SIMD(v_exp)
#define v_fma                 SIMD(v_fma)
#define v_from_bytes          SIMD(v_from_bytes)
#define v_from_int            SIMD(v_from_int)
#define v_gelu                SIMD(v_gelu)
#define v_halves              SIMD(v_halves)
#define v_int_load            SIMD(v_int_load)
#define v_int_scale           SIMD(v_int_scale)
#define v_int_store           SIMD(v_int_store)
#define v_int_zero            SIMD(v_int_zero)
#define v_lanes               SIMD(v_lanes)
#define v_load                SIMD(v_load)
#define v_load16              SIMD(v_load16)
#define v_load16_n            SIMD(v_load16_n)
#define v_load_n              SIMD(v_load_n)
#define v_max_lane            SIMD(v_max_lane)
#define v_nibbles             SIMD(v_nibbles)
#define v_round               SIMD(v_round)
#define v_row_q4              SIMD(v_row_q4)
#define v_row_q4k             SIMD(v_row_q4k)
#define v_row_q6k             SIMD(v_row_q6k)
#define v_row_q8_0            SIMD(v_row_q8_0)
#define v_scale2              SIMD(v_scale2)
#define v_select_lt           SIMD(v_select_lt)
#define v_set                 SIMD(v_set)
#define v_silu                SIMD(v_silu)
#define v_six_bits            SIMD(v_six_bits)
#define v_spread              SIMD(v_spread)
#define v_store               SIMD(v_store)
#define v_store16             SIMD(v_store16)
#define v_store16_n           SIMD(v_store16_n)
#define v_store_n             SIMD(v_store_n)
#define v_sum                 SIMD(v_sum)
#define v_sum4                SIMD(v_sum4)
#define v_tanh                SIMD(v_tanh)
#define v_transpose           SIMD(v_transpose)
#define v_x                   SIMD(v_x)
#define v_xf                  SIMD(v_xf)
#define v_zero_share          SIMD(v_zero_share)

#endif
