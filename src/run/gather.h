/* Rows of tables that stay in the mapped file although a GPU computes: the host decodes those of a
 * pass's tokens and writes them where the program's ops would have put them (op.by_host). */
#ifndef RUN_GATHER_H
#define RUN_GATHER_H

#include "gpu/gpu.h"
#include "model/prog.h"

struct gather {
    const struct prog *prog; /* borrowed, planned */
    u32 n_ops;               /* that the host does; 0: there is nothing to gather */
    u32 n_rows;              /* that are written at a time */
    u8 *rows;                /* [n_rows] of the widest op, as in the activations; the arena's */
};

int gather_init(struct gather *g, const struct prog *p, struct arena *a, glim_err *e);
/* Writes the rows of a step's ids into the activations, behind what is submitted. */
int gather_write(const struct gather *g, struct gpu *gpu, const struct gpu_buffer *activations,
                 const struct step *s, glim_err *e);

#endif
