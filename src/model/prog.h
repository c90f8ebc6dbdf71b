/* A program: the list of ops that a model's forward pass is, written once by a model file, planned
 * once (memory offsets, meeting points of threads), and stepped many times. Errors inside builders
 * stick; prog_plan returns the first one. */
#ifndef MODEL_PROG_H
#define MODEL_PROG_H

#include "base/mem.h"
#include "kern/cpu.h"

struct source; /* file/source.h */

/* A constant matrix: a tensor of the file or something made at load. */
struct weight {
    const char *name;
    const u8 *data; /* borrowed: the mapping, or the model's arena */
    u32 type;       /* ggml's number */
    u32 rows, cols;
    u64 pitch;             /* bytes from row to row */
    struct source *source; /* borrowed: the file that data is of; NULL: of none */
};

enum val_rows { ROWS_T, ROWS_R };

struct val {
    const struct weight *weight; /* NULL for activations */
    enum dtype dtype;
    enum val_rows rows;
    u32 times; /* slots per row: 1, or the experts that a token uses */
    u32 cols;
    u64 pitch;       /* bytes from row to row, a multiple of 64 for activations */
    u64 offset;      /* into the activations' memory, after planning */
    u32 first, last; /* ops that write it first and touch it last */
};

struct prog {
    struct arena *arena; /* borrowed; records live there */
    struct op *ops;
    struct val *vals;
    u32 n_ops, n_vals, cap_ops, cap_vals;
    u32 max_t, max_r;  /* rows of the largest batch */
    u64 bytes;         /* of all activations, after planning */
    struct ref output; /* [R,V] logits; kept after the last op */
    bool draws;        /* tokens are chosen by the program, too: for devices that are far away */
    bool host_tables;  /* rows of tables read by id are given by the host: they stay in the file */
    struct ref best;   /* TOP's, kept after the last op; absent where nothing is drawn */
    struct ref drawn;  /* DRAW's: memory of its own, so that the next pass can read it */
    glim_err err;      /* the first error */
};

void prog_init(struct prog *p, struct arena *a, u32 max_t, u32 max_r);

/* A constant as an operand; NULL gives an absent one. */
struct ref prog_weight(struct prog *p, const struct weight *w);
/* Columns col .. col + cols of an activation. */
struct ref prog_slice(struct prog *p, struct ref x, u32 col, u32 cols);
#define REF_ABSENT ((struct ref){REF_NONE, 0, 0})

/* Appends an op: in are its operands after the output, params its 4-byte parameters. Checks shapes
 * and types against op.def. out_cols is used where the operands do not tell the output's columns.
 * Returns the output (REF_ABSENT for ops without one). */
struct ref prog_op(struct prog *p, enum op_code code, const struct ref *in, u32 out_cols,
                   const void *params);

/* Sets offsets and meeting points. The result is in p->err too. */
int prog_plan(struct prog *p, glim_err *e);

/* The program as text, one op a line: a golden file per architecture. Writes at most cap bytes with
 * a terminating zero and returns the length it would like, as snprintf does. */
size_t prog_dump(const struct prog *p, char *buf, size_t cap);

#endif
