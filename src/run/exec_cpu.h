/* The CPU executor: a loop over a program's ops that all threads run side by side. */
#ifndef RUN_EXEC_CPU_H
#define RUN_EXEC_CPU_H

#include "model/prog.h"
#include "run/engine.h"

struct exec_cpu {
    const struct prog *prog; /* borrowed, planned */
    struct mat *mats;        /* per value: where it is; rows are set per step */
    u8 *memory;              /* the activations; owned by the arena given at init */
};

int exec_cpu_init(struct exec_cpu *x, const struct prog *p, struct arena *a, glim_err *e);

/* Runs ops from *at on, until the end (GLIM_OK, *at is the number of ops) or, at a meeting point of
 * the threads, until budget_ns has passed (GLIM_AGAIN; call again with the same step). Neither
 * allocates nor fails. */
int exec_cpu_run(struct exec_cpu *x, struct engine *g, const struct step *s, u32 *at,
                 u64 budget_ns);

/* Row r of the logits of the last finished step, V floats. */
const f32 *exec_cpu_logits(const struct exec_cpu *x, u32 r);

#endif
