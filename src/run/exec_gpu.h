/* The GPU executor: a program's ops as dispatches that are prepared once. A step writes the step
 * record, submits all dispatches and asks for the logits; it never waits.
 *
 * Where the step says how to draw a token, only the best candidates and the token come back, and
 * the pass after it can be begun before they are there: it takes the token from the GPU's memory.
 * Whoever then goes on with that token finds the pass begun; with another one it was for nothing.
 */
#ifndef RUN_EXEC_GPU_H
#define RUN_EXEC_GPU_H

#include "run/device.h"
#include "run/gather.h"
#include "run/kv.h"

/* One dispatch: an op, or the part of it that one piece of its weights gives. */
struct gpu_launch {
    const struct op *op;
    struct wgsl_variant variant;
    const struct gpu_pipeline *pipeline; /* borrowed: device */
    void *group;                         /* owned */
    u32 piece_rows, params_at;           /* rows of weights; words into params */
    u8 form;                             /* enum launch_form */
};

/* A pass that was submitted and whose results are not here yet. */
struct gpu_pass {
    struct gpu_buffer *back; /* NULL: there is no such pass */
    u32 pos;                 /* of its first row */
    struct draw draw;        /* n 0: its logits come back */
};

struct exec_gpu {
    const struct prog *prog; /* borrowed, planned */
    struct device *device;   /* borrowed */
    struct gpu_buffer memory, step, params;
    struct gpu_buffer back, picks[2]; /* logits; what was drawn, by turns */
    u32 turn;
    struct gpu_buffer *caches; /* per layer of the cache */
    const struct kv_seq *seq;  /* borrowed */
    struct gpu_launch *launches;
    u32 n_launches, n_caches;
    u32 *step_words, *params_words; /* what the buffers are written from */
    u32 step_size, params_size;     /* words */
    u32 t, r;                       /* of the pass that params are set for; t 0: of none */
    bool drawing;
    struct gather gather; /* rows of tables that stay in the file */
    struct gpu_pass now, ahead;
    f32 *logits; /* [max_r, V] of the last pass */
    f32 *best;   /* of the last pass, if it drew: TOP's row */
    i32 drawn;   /* what it drew; -1: nothing */
    u64 n_dispatches, n_passes;
    u64 *times;          /* [n_launches] nanoseconds per dispatch of a pass; NULL: not profiled */
    u64 op_ns[OP_COUNT]; /* in all since exec_gpu_profile */
};

/* Everything comes from the arena but what is on the device. seq: the sequence that it will run. */
int exec_gpu_init(struct exec_gpu *x, const struct prog *p, struct device_model *m,
                  const struct kv_seq *seq, struct arena *a, glim_err *e);
void exec_gpu_free(struct exec_gpu *x);

/* Whether the ids of a pass must be known before it is begun, since the host looks up rows for it:
 * then nothing can go on with a token that the GPU alone knows (then of exec_gpu_run). */
bool exec_gpu_needs_ids(const struct exec_gpu *x);

/* Begins the pass of a step, or goes on with it: GLIM_AGAIN while the GPU works (for about
 * budget_ns at most), GLIM_OK when the logits are there, or with s->draw what was drawn. then, if
 * not NULL, is a step of one row that draws, behind this one, whose id will be what this one draws.
 */
int exec_gpu_run(struct exec_gpu *x, const struct step *s, const struct step *then, u64 budget_ns,
                 glim_err *e);
/* Gives up what is in flight. */
void exec_gpu_drop(struct exec_gpu *x);

/* Times each dispatch of the passes to come, which slows them down. */
int exec_gpu_profile(struct exec_gpu *x, struct arena *a, glim_err *e);

/* Row r of the logits of the last finished pass, V floats. */
const f32 *exec_gpu_logits(const struct exec_gpu *x, u32 r);
/* The candidates of the last pass, which drew, the best first; as many as its draw asked for. */
void exec_gpu_best(const struct exec_gpu *x, const f32 **ids, const f32 **values);

#endif
