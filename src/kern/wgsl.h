/* Kernels as WGSL text, composed from op.def (params, operands), quant.def (the decoder of a weight
 * format) and the body in the .wgsl file of the op. */
#ifndef KERN_WGSL_H
#define KERN_WGSL_H

#include "kern/op.h"

/* How threads of a workgroup bring values together: by workgroup memory, which every device has, or
 * by subgroups; for tests also by subgroups of so many lanes that workgroup memory plays. */
struct wgsl_subgroups {
    enum { SUBGROUPS_NONE, SUBGROUPS_NATIVE, SUBGROUPS_EMULATED } are;
    u32 lanes; /* emulated ones: 1 to 128 */
};

/* What a kernel's text depends on. */
struct wgsl_variant {
    enum op_code op;
    u32 type;            /* of the matrix: ggml's number of the format */
    bool x_a8;           /* the ANY operand is A8 */
    bool kv_f16;         /* the cache's numbers, two a word */
    bool has_v1, has_v2; /* the op's first and second vector are there */
    bool tile;           /* the form for many rows */
    u32 head_dim;        /* of the layer's cache */
    struct wgsl_subgroups subgroups;
};

/* Bindings of group 0. The step record is described in wgsl.c. */
enum {
    WGSL_PARAMS, /* uniform: struct Params, 4-byte scalars */
    WGSL_STEP,   /* u32: what changes from step to step */
    WGSL_ACT,    /* u32, written: all activations, f32 by their bits */
    WGSL_W,      /* u32: rows of the matrix, as in the file */
    WGSL_V1,     /* f32: the op's vectors; of rope_angles u32 pairs, fractions of a turn */
    WGSL_V2,
    WGSL_KV,    /* u32, written: the layer's cache */
    WGSL_GRIDS, /* u32: quant_grids */
};

/* Writes at most cap bytes with a terminating zero and returns the length it would like. */
size_t wgsl_compose(const struct wgsl_variant *v, char *out, size_t cap);
/* The bindings that the text declares, a bit each. */
u32 wgsl_bindings(const struct wgsl_variant *v);
/* Workgroups for a step in which operand 0 of op has so many rows. w_rows: of the whole matrix;
 * piece_rows: of the piece of it that the dispatch has. */
u64 wgsl_groups(const struct wgsl_variant *v, const struct op *op, u32 rows, u32 w_rows,
                u32 piece_rows);

/* The text of reduce.wgsl's functions for a workgroup of so many threads, which wgsl_compose has at
 * its front where a kernel reduces. */
size_t wgsl_reductions(u32 threads, struct wgsl_subgroups s, char *out, size_t cap);

/* The body of a kernel, made from src/kern/NAME.wgsl by the Makefile; NULL: there is none. */
const char *wgsl_body(const char *name);

#endif
