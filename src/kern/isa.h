/* The hot loops, once per instruction set: simd.inc compiled under several names and flags. A table
 * is chosen at run time; every entry of every table computes the same function.
 *
 * Shapes: T rows (tokens), K inputs, N outputs, E head width, G query rows that share a KV head.
 * Results never depend on how rows are split over threads. */
#ifndef KERN_ISA_H
#define KERN_ISA_H

#include "kern/quant.h"

/* Activations as int8 ("A8"): per block of 32 values a scale d = absmax / 127, the int8 values
 * q = round(x / d), and s = d * sum(q). A row of K values (K a multiple of 32) is stored as
 * planes: i8 q[K], f32 d[K/32], f32 s[K/32]. */
static inline u64 a8_row_bytes(u32 k) {
    return (u64)k + (u64)k / 32 * 8;
}

/* y[t,n] = sum_k x[t,k] w[n,k].
 *
 * Exact: every output is computed in one order that depends on K alone, so it is the same in any
 * batch and any split. With a8, Q4_0 Q4_1 Q8_0 Q4_K Q6_K take exact integer sums per block of 32
 * (16 for Q6_K); few rows (up to 8) and many take different orders of float additions.
 * All other formats decode to f32 and multiply by d q. */
struct matmul {
    const u8 *w;   /* row 0 of the weights, in format `type` */
    u64 w_pitch;   /* bytes from row to row */
    u32 type;      /* ggml's number */
    u32 k;         /* K; a multiple of the format's block length */
    const void *x; /* T rows: f32[K], or A8 when a8 is set (then K is a multiple of 32) */
    u64 x_pitch;   /* bytes from row to row */
    f32 *y;        /* T rows of floats; never overlaps x or w */
    u64 y_pitch;   /* floats from row to row */
    u32 t;         /* T >= 1 */
    bool a8;       /* the fast arithmetic; otherwise exact f32 */
};

/* One-pass attention state of one query row: m = running maximum of the scores, l = sum of
 * exp(score - m), o[E] = sum of exp(score - m) v. Start: m = -INFINITY, l = 0, o = 0. */
struct attend_row {
    const f32 *q; /* [E] */
    f32 *o;       /* [E] */
    f32 m, l;
    u32 lo, hi; /* keys lo <= j < hi of the span are visible (may be empty) */
};
/* A span of keys and values of one KV head: rows of E values, f32 or f16. */
struct attend_span {
    const void *k, *v;
    u64 pitch; /* values from key to key */
    u32 e;     /* E */
    bool f16;
    f32 scale;   /* score = scale * q.k, then softcap if it is not 0 */
    f32 softcap; /* cap * tanh(score / cap) */
};

struct isa {
    const char *name; /* "scalar", "avx2", "avx512" */
    /* A8 form of x[0..k); k a multiple of 32, out aligned to 4. All-zero and tiny blocks (below
     * 2^-119) give d = 0 and q = 0, blocks with an infinity or NaN d = s = NaN. */
    void (*a8_row)(const f32 *x, u32 k, void *out);
    /* Rows n0 <= n < n1 of y. scratch: matmul_scratch bytes, private to the calling thread. */
    void (*matmul)(const struct matmul *m, u32 n0, u32 n1, void *scratch);
    /* Updates n_rows rows with one span. scratch as above. */
    void (*attend)(const struct attend_span *s, struct attend_row *rows, u32 n_rows, void *scratch);
    /* sum of x[i]^2, y[i] = x[i] * scale * w[i] (w may be NULL) */
    f32 (*sum_squares)(const f32 *x, u32 n);
    void (*scale_mul)(const f32 *x, const f32 *w, f32 scale, f32 *y, u32 n);
    /* y[i] = silu(gate[i]) * up[i] */
    void (*swiglu)(const f32 *gate, const f32 *up, f32 *y, u32 n);
    /* y[i] = gelu(gate[i]) * up[i], gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
    void (*geglu)(const f32 *gate, const f32 *up, f32 *y, u32 n);
    /* y[i] = cap tanh(x[i] / cap) */
    void (*softcap)(const f32 *x, f32 cap, f32 *y, u32 n);
    /* y[i] = a[i] + scale b[i]; y may be a */
    void (*add)(const f32 *a, const f32 *b, f32 scale, f32 *y, u32 n);
    /* f32 -> f16 with round to nearest even */
    void (*to_f16)(const f32 *x, u16 *y, u32 n);
};

enum { ISA_SCRATCH = 512 * 1024 }; /* bytes of scratch per thread, aligned to 64 */
/* How many weight rows a thread should take at a time: ranges start at multiples of this. */
enum { ISA_ROWS = 16 };

/* The best table for this processor; name limits the choice ("scalar", "avx2", "avx512"; NULL: no
 * limit). NULL when the named one is unknown or cannot run here. */
const struct isa *isa_pick(const char *name);

#endif
