/* The op table, from op.def. */
#include "kern/op.h"

#define OUT(n, d, r, c)   {#n, ROLE_OUT, DT_##d, #r[0], #c[0]},
#define IN(n, d, r, c)    {#n, ROLE_IN, DT_##d, #r[0], #c[0]},
#define MAT(n, r, c)      {#n, ROLE_MAT, DT_ANY, #r[0], #c[0]},
#define VEC(n, c)         {#n, ROLE_VEC, DT_F32, '1', #c[0]},
#define OPT_VEC(n, c)     {#n, ROLE_OPT_VEC, DT_F32, '1', #c[0]},
#define PARAM(type, name) {#name, #type[0]},
#define NO_PARAMS
#define OP(NAME, name, grad, text, operands, params) {#name, text, grad, {operands}, {params}},

static const struct op_info op_table[OP_COUNT] = {
#include "kern/op.def"
};

const struct op_info *op_info(enum op_code code) {
    return &op_table[code];
}
