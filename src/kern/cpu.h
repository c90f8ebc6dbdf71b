/* The CPU's form of the ops: one function per row of op.def, called by every thread of the pool
 * with its own ith. What a call computes does not depend on nth. */
#ifndef KERN_CPU_H
#define KERN_CPU_H

#include "kern/isa.h"
#include "kern/op.h"

/* An operand in memory. */
struct mat {
    u8 *p;     /* row 0, column 0 of the operand's slice */
    u64 pitch; /* bytes from row to row */
    u32 rows, cols;
    u32 type; /* weights: ggml's number of the format */
    enum dtype dtype;
};

/* Kinds of layers that keep different stretches of a sequence, and so have pages of their own. */
enum kv_kind {
    KV_FULL,    /* every position */
    KV_SLIDING, /* the last ones: as many as the window needs, in a ring of pages */
    KV_CONV,    /* history of a short convolution: f32, one row per position, in a ring too */
    KV_KINDS
};
/* Where a layer's keys and values are inside a page: K is [heads][KV_PAGE][head_dim] from k_off, V
 * the same from v_off, in f16 or f32. A page holds KV_PAGE positions of all layers of a kind. */
struct kv_layer {
    enum kv_kind kind;
    u64 k_off, v_off; /* bytes from the page's start */
    u32 n_heads, head_dim;
};
#ifdef GLIM_SHRINK
enum { KV_PAGE = 2 };
#else
enum { KV_PAGE = 64 };
#endif
struct kv_layout {
    const struct kv_layer *layers; /* borrowed: pool */
    u32 n_layers;
    u64 page_bytes[KV_KINDS]; /* 0: no layer of that kind */
    bool f16;
};

/* A row of the batch. */
struct step_row {
    i32 id;  /* token */
    u32 pos; /* position in its sequence, from 0 */
    u32 seq; /* index into step.seqs */
};
/* The pages of a sequence per kind: position p is in pages[k][p / KV_PAGE % n_pages[k]]. */
struct step_seq {
    u8 *const *pages[KV_KINDS];
    u32 n_pages[KV_KINDS]; /* slots: for full layers as many as the context has pages */
};
/* What changes from step to step; every op can read it. */
struct step {
    const struct step_row *rows; /* [T], positions of a sequence ascending and adjacent */
    u32 t;
    const u32 *out_rows; /* [R], ascending indices into rows */
    u32 r;
    const struct step_seq *seqs;
    const struct kv_layout *kv;
    const struct draw *draw; /* NULL: nothing is drawn, and TOP finds all it can */
};

struct cpu_call {
    const struct op *op;
    struct mat a[OP_OPERANDS]; /* in op.def's order; p is NULL for an absent operand */
    const struct step *step;
    const u32 *pick; /* operand 0 has only these rows of the step; NULL: all */
    const struct isa *isa;
    u8 *scratch; /* ISA_SCRATCH bytes of this thread for isa's functions */
    u8 *own;     /* CPU_SCRATCH bytes of this thread for the op itself */
    u32 ith, nth;
};
enum { CPU_SCRATCH = 512 * 1024 };

/* The step's row that row t of operand 0 belongs to. */
static inline const struct step_row *cpu_row(const struct cpu_call *c, u32 t) {
    return &c->step->rows[c->pick ? c->pick[t] : t];
}
/* The page that holds a position of a layer. */
static inline u8 *kv_page_at(const struct step *s, u32 seq, const struct kv_layer *l, u32 pos) {
    const struct step_seq *q = &s->seqs[seq];
    return q->pages[l->kind][pos / KV_PAGE % q->n_pages[l->kind]];
}

typedef void cpu_fn(const struct cpu_call *c);

struct cpu_op {
    cpu_fn *fn;
    bool always_parallel; /* worth all threads even with one row */
};
const struct cpu_op *cpu_op(enum op_code code);

/* This thread's share [*from, *to) of n items, in multiples of `unit`. */
static inline void cpu_share(const struct cpu_call *c, u32 n, u32 unit, u32 *from, u32 *to) {
    u64 units = ((u64)n + unit - 1) / unit;
    u64 a = units * c->ith / c->nth * unit, b = units * (c->ith + 1) / c->nth * unit;
    *from = (u32)MIN(a, (u64)n);
    *to = (u32)MIN(b, (u64)n);
}

/* The functions, in the file that names their family. */
#define OP(NAME, name, grad, text, operands, params) void cpu_##name(const struct cpu_call *c);
#include "kern/op.def"
#undef OP

#endif
