/* A GPU in a few functions: buffers, pipelines from WGSL text, one list of commands at a time, and
 * reading back without waiting. Everything that the browser will have to offer too, and no more.
 *
 * All calls on a device come from one thread at a time. Errors of a device come late: validation
 * and memory errors are kept, and the next gpu_check, gpu_submit or gpu_read_poll returns them.
 * A lost device fails every call from then on. */
#ifndef GPU_GPU_H
#define GPU_GPU_H

#include "base/mem.h"

struct gpu_limits {
    u64 buffer;               /* bytes of a buffer */
    u64 binding;              /* bytes of a storage binding */
    u64 staging;              /* bytes that are on their way to the device at a time */
    u32 groups_per_dimension; /* workgroups */
    u32 storage_buffers;      /* storage bindings of a shader */
    u32 invocations;          /* of a workgroup */
    u32 workgroup_bytes;
    u32 alignment; /* of a binding's offset */
};
/* What every WebGPU device has, so what kernels must do with. */
extern const struct gpu_limits gpu_floor;

struct gpu_info {
    char name[128], vendor[64], driver[128];
    const char *backend;                    /* "Vulkan" */
    bool software;                          /* a processor that plays a GPU */
    bool timestamps, shader_f16, subgroups; /* of an open GPU: whether it was opened with them */
    u32 subgroup_min, subgroup_max;
    u32 vendor_id, device_id;
    u64 memory; /* bytes of its largest own heap, in all, used or not; 0: not known */
    struct gpu_limits limits;
};

struct gpu_choice {
    const char *library; /* path or name of the WebGPU library; NULL: its usual name */
    u32 index;           /* of gpu_list */
    bool floor;          /* no optional feature, no limit above the floor */
    bool plain;          /* no optional feature that kernels use; limits as they are */
    u64 memory;          /* the most that it is said to have; 0: what it has. For tests */
    /* Smaller limits than the device's; 0: the device's. For tests of what is split. */
    struct gpu_limits at_most;
};

struct gpu;
struct gpu_buffer {
    void *handle;
    u64 bytes;
    bool read_done; /* of a read in flight, during which the struct stays where it is */
    u32 read_status;
    u64 read_bytes;
};
enum gpu_access { GPU_UNUSED, GPU_PARAMS, GPU_READ, GPU_READ_WRITE };
enum { GPU_SLOTS = 8 }; /* bindings 0 to 7 of group 0 */
struct gpu_pipeline {
    void *handle, *layout;
    bool failed;
    const char *name; /* borrowed; for errors and profiles */
};

/* Fills out with at most cap adapters, real GPUs first. Returns how many, or a status: where there
 * is no WebGPU library GLIM_UNSUPPORTED, and the message says how to get it. */
int gpu_list(const char *library, struct gpu_info *out, u32 cap, glim_err *e);

int gpu_open(struct gpu **out, const struct gpu_choice *c, const glim_alloc *a, glim_err *e);
void gpu_close(struct gpu *g); /* NULL is fine */
const struct gpu_info *gpu_info(const struct gpu *g);
/* Bytes of all buffers that there are, and of all that was ever written (gpu_write). Other threads
 * may ask, too. */
u64 gpu_held(const struct gpu *g);
u64 gpu_written(const struct gpu *g);

/* A zeroed buffer of a multiple of 4 bytes that shaders, copies and gpu_write can use. */
enum gpu_use { GPU_STORAGE, GPU_UNIFORM, GPU_READBACK, GPU_QUERIES };
int gpu_buffer_init(struct gpu *g, struct gpu_buffer *b, u64 bytes, enum gpu_use use,
                    const char *name, glim_err *e);
void gpu_buffer_free(struct gpu *g, struct gpu_buffer *b); /* an empty one is fine */

/* Copies bytes (offset and n multiples of 4) into a buffer, in order with what is submitted. Waits
 * when more than limits.staging bytes are on their way: loading writes that much, and a
 * pass of a thousand tokens whose tables stay in the file. */
int gpu_write(struct gpu *g, const struct gpu_buffer *b, u64 offset, const void *from, u64 n,
              glim_err *e);

/* Starts to make a pipeline; many are made in parallel. slots: how it uses each binding; name must
 * outlive it, and *p stay where it is. Usable, and its errors known, after gpu_wait. */
int gpu_pipeline_begin(struct gpu *g, struct gpu_pipeline *p, const char *name, const char *wgsl,
                       const enum gpu_access slots[GPU_SLOTS], glim_err *e);
void gpu_pipeline_free(struct gpu *g, struct gpu_pipeline *p);

/* Waits for all pipelines and submitted work. Not for steps. */
int gpu_wait(struct gpu *g, glim_err *e);

struct gpu_binding {
    u32 slot;
    const struct gpu_buffer *buffer;
    u64 offset, bytes; /* 0 bytes: the rest */
};
/* The arguments of a dispatch, made once. NULL on failure. */
void *gpu_bind(struct gpu *g, const struct gpu_pipeline *p, const struct gpu_binding *b, u32 n,
               glim_err *e);
void gpu_bind_free(struct gpu *g, void *group);

/* Commands, in order, into the open list. groups: workgroups, spread over the dimensions. */
void gpu_dispatch(struct gpu *g, const struct gpu_pipeline *p, void *group, u64 groups);
void gpu_copy(struct gpu *g, const struct gpu_buffer *from, u64 from_at,
              const struct gpu_buffer *to, u64 to_at, u64 n);
int gpu_submit(struct gpu *g, glim_err *e);

/* From now on each dispatch is a pass of its own with timestamps around it, n of them at most per
 * submit: slower, for finding out where time goes. GLIM_UNSUPPORTED without the feature. */
int gpu_profile(struct gpu *g, u32 n, glim_err *e);
/* Waits for what was submitted last; nanoseconds of each of its dispatches. Returns how many. */
int gpu_profile_read(struct gpu *g, u64 *ns, u32 cap, glim_err *e);

/* Asks for the content of a GPU_READBACK buffer as of what was submitted. Then poll: GLIM_AGAIN, or
 * GLIM_OK with the bytes, valid until gpu_read_end, which a failed poll needs as well and which
 * gives up a read in flight. One read of a buffer at a time. */
int gpu_read_begin(struct gpu *g, struct gpu_buffer *b, u64 n, glim_err *e);
int gpu_read_poll(struct gpu *g, const struct gpu_buffer *b, const void **bytes, glim_err *e);
void gpu_read_end(struct gpu *g, const struct gpu_buffer *b);

/* The first error since the last call that returned one. */
int gpu_check(struct gpu *g, glim_err *e);
/* The device is lost, as when its driver fails: for tests. */
void gpu_lose(struct gpu *g);

#endif
