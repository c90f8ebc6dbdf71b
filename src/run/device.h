/* What an engine and a model keep on a GPU: pipelines, made once per text, and weights, as they are
 * in the file, in pieces that fit a binding. */
#ifndef RUN_DEVICE_H
#define RUN_DEVICE_H

#include "gpu/gpu.h"
#include "kern/wgsl.h"
#include "model/prog.h"

struct device {
    struct gpu *gpu;
    const glim_alloc *alloc; /* borrowed: the engine's */
    struct device_pipeline *pipelines;
    struct gpu_buffer grids;         /* tables of IQ formats; made when first wanted */
    struct wgsl_subgroups subgroups; /* as the GPU has them; tests set others */
    bool subgroups_everywhere;       /* for tests: native ones also where they do not pay */
};

int device_open(struct device **out, const struct gpu_choice *c, const glim_alloc *a, glim_err *e);
void device_close(struct device *d); /* NULL is fine */

/* The pipeline of a variant: an earlier one of the same text, or one that is being made (gpu_wait).
 * It stays until the device is closed. */
int device_pipeline(struct device *d, const struct wgsl_variant *v, const struct gpu_pipeline **out,
                    glim_err *e);

/* Rows first .. first + rows of a matrix. */
struct device_piece {
    struct gpu_buffer buffer;
    u32 first, rows;
};
struct device_weight {
    struct device_weight *next;
    const struct weight *weight; /* borrowed: the model's; the key */
    struct device_piece *pieces; /* owned */
    u32 n;
};

/* A model's weights on a device. */
struct device_model {
    struct device *device; /* borrowed */
    struct device_weight *list;
    u64 bytes;
};

/* The pieces of w, uploaded if they are not there yet. as_turns: w are frequences of rotary
 * embeddings in radians per position; the device gets fractions of a turn in 64-bit fixed point. */
int device_weight(struct device_model *m, const struct weight *w, bool as_turns,
                  const struct device_weight **out, glim_err *e);
bool device_has(const struct device_model *m, const struct weight *w);
void device_model_free(struct device_model *m);

#endif
