/* What an op is: descriptions made from op.def, and the records that a program is a list of.
 *
 * Shape letters, used in all comments: T tokens (rows) of a batch, R rows whose logits are wanted,
 * D model width, H query heads, K key/value heads, E head width, F feed-forward width, V
 * vocabulary, C context. Matrices are row-major; an activation operand has one row pitch and one
 * column offset and no other strides. An output never shares memory with an input. */
#ifndef KERN_OP_H
#define KERN_OP_H

#include "base/base.h"
#include <string.h>

enum op_code {
#define OP(NAME, name, grad, text, operands, params) OP_##NAME,
#include "kern/op.def"
#undef OP
    OP_COUNT
};

enum { OP_OPERANDS = 6, OP_PARAMS = 8 };

enum dtype { DT_F32, DT_A8, DT_ANY };

enum op_role { ROLE_NONE, ROLE_OUT, ROLE_IN, ROLE_MAT, ROLE_VEC, ROLE_OPT_VEC };

struct op_operand {
    const char *name;
    enum op_role role;
    enum dtype dtype;
    char rows, cols; /* shape letters; 1 = one row */
};

/* How scores choose experts and weigh them. */
enum route_gate {
    ROUTE_SOFTMAX, /* p = softmax(x); the best by p, weights p / sum, times scale[e] */
    ROUTE_SIGMOID, /* p = sigmoid(x); the best by p + bias, weights p / (sum + 1e-6) */
};

enum { TOP_MOST = 256 }; /* of TOP's n */

/* How DRAW chooses: of TOP's n best, steps in order leave the first few; of these the one at u, in
 * [0, 1), of the way through their probabilities, which go as exp(beta * value). */
enum draw_step {
    DRAW_BETA,  /* beta = value */
    DRAW_TOP_K, /* at most `value` candidates */
    DRAW_TOP_P, /* the fewest with `value` of the probability */
    DRAW_MIN_P, /* those at least exp(value) times as likely as the best */
};
enum { DRAW_STEPS = 4 };
struct draw {
    u32 n, least; /* candidates to find, 1 to TOP's n; how many each step leaves, at least */
    f32 u;
    u32 n_steps;
    struct {
        u32 kind; /* enum draw_step */
        f32 value;
    } steps[DRAW_STEPS];
};

struct op_param {
    const char *name;
    char kind; /* 'u' u32, 'f' f32 */
};

struct op_info {
    const char *name;
    const char *text;
    bool grad;
    struct op_operand operands[OP_OPERANDS]; /* the first ROLE_NONE ends the list */
    struct op_param params[OP_PARAMS];       /* the first NULL name ends the list */
};

const struct op_info *op_info(enum op_code code);

/* An operand of a recorded op: value number and a slice of its columns. */
struct ref {
    u32 val; /* REF_NONE for an absent optional operand */
    u32 col, cols;
};
#define REF_NONE UINT32_MAX

struct op {
    enum op_code code;
    struct ref args[OP_OPERANDS]; /* in op.def's order */
    u32 params[OP_PARAMS];        /* bit patterns */
    /* An earlier op, not yet known to be finished by all threads, writes what this one reads or
     * reads what it writes: threads meet before it. */
    bool sync;
    bool by_host; /* of a GPU: not a kernel but the host gives the output, before the pass */
};

/* struct NAME_params and its reader, one per row. */
#define PARAM(type, name) type name;
#define NO_PARAMS         u32 none;
#define OP(NAME, name, grad, text, operands, fields)                                               \
    struct name##_params {                                                                         \
        fields                                                                                     \
    };                                                                                             \
    _Static_assert(sizeof(struct name##_params) <= 4 * OP_PARAMS, "too many params");              \
    static inline struct name##_params name##_params(const struct op *op) {                        \
        struct name##_params p;                                                                    \
        memcpy(&p, op->params, sizeof p);                                                          \
        return p;                                                                                  \
    }
#include "kern/op.def"
#undef OP
#undef PARAM
#undef NO_PARAMS

#endif
