/* The table of CPU functions. */
#include "kern/cpu.h"

static const struct cpu_op cpu_table[OP_COUNT] = {
#define OP(NAME, name, grad, text, operands, params)                                               \
    [OP_##NAME] = {cpu_##name,                                                                     \
                   OP_##NAME == OP_MATMUL || OP_##NAME == OP_ATTEND || OP_##NAME == OP_EXPERT},
#include "kern/op.def"
#undef OP
};

const struct cpu_op *cpu_op(enum op_code code) {
    return &cpu_table[code];
}
