/* gpu.h over Dawn's C interface, which is loaded at run time. */
#include "gpu/dawn.h"

#include "base/plat_cpu.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- Device ---------------------------------------------------------------------------------- */

struct gpu {
    struct dawn d;
    glim_alloc alloc;
    struct gpu_info info;
    void *instance, *adapter, *device, *queue;
    void *encoder, *pass; /* the open list and its pass, if any */
    u64 staged;           /* bytes written and perhaps not yet on the device */
    atomic_ullong held, written;
    u32 pending; /* pipelines being made */
    struct {
        void *queries;
        struct gpu_buffer resolved, back;
        u32 cap, n;  /* dispatches, and those of the open or last list */
        bool closed; /* the list is submitted: the next dispatch begins anew */
    } profile;
    bool lost;
    int error; /* the first one not yet returned */
    char message[400];
};

static void keep_error(struct gpu *g, int code, const char *what, struct wg_text message) {
    if (g->error || g->lost) return; /* of what follows a loss nothing tells more */
    g->error = code;
    char text[280];
    dawn_text_to(text, sizeof text, message);
    for (char *c = text; *c; c++)
        if ((u8)*c < ' ') *c = ' ';
    snprintf(g->message, sizeof g->message, "%s: %s", what, text);
}

static void on_lost(void *const *device, u32 reason, struct wg_text message, void *ud, void *ud2) {
    struct gpu *g = ud;
    (void)device;
    (void)ud2;
    if (reason == WG_LOST_DESTROYED) return;
    keep_error(g, GLIM_DEVICE, "the GPU was lost", message);
    g->lost = true;
}

static void on_error(void *const *device, u32 kind, struct wg_text message, void *ud, void *ud2) {
    (void)device;
    (void)ud2;
    if (kind == WG_ERROR_OUT_OF_MEMORY)
        keep_error(ud, GLIM_NOMEM, "the GPU has no memory left", message);
    else
        keep_error(ud, GLIM_DEVICE, "the GPU refused a command", message);
}

int gpu_check(struct gpu *g, glim_err *e) {
    g->d.InstanceProcessEvents(g->instance);
    if (!g->error) return g->lost ? fail(e, GLIM_DEVICE, "the GPU was lost") : GLIM_OK;
    int code = g->error;
    g->error = GLIM_OK;
    return fail(e, code, "%s", g->message);
}

void gpu_lose(struct gpu *g) {
    on_lost(NULL, 0, dawn_text("destroyed"), g, NULL);
    g->d.DeviceDestroy(g->device);
}

static void lower(u64 *limit, u64 to) {
    if (to && to < *limit) *limit = to;
}
static void lower32(u32 *limit, u32 to) {
    if (to && to < *limit) *limit = to;
}

/* The limits that kernels go by. */
static void settle_limits(struct gpu_limits *l, const struct gpu_choice *c) {
    const struct gpu_limits *most[] = {c->floor ? &gpu_floor : NULL, &c->at_most};
    for (u32 i = 0; i < COUNT(most); i++) {
        const struct gpu_limits *m = most[i];
        if (!m) continue;
        lower(&l->buffer, m->buffer);
        lower(&l->binding, m->binding);
        lower(&l->staging, m->staging);
        lower32(&l->groups_per_dimension, m->groups_per_dimension);
        lower32(&l->storage_buffers, m->storage_buffers);
        lower32(&l->invocations, m->invocations);
        lower32(&l->workgroup_bytes, m->workgroup_bytes);
    }
    l->buffer = MIN(l->buffer, (u64)UINT32_MAX & ~(u64)255); /* shaders count words in 32 bits */
    l->binding = MIN(l->binding, l->buffer) & ~(u64)255;
}

static int request_device(struct gpu *g, const struct gpu_choice *c, glim_err *e) {
    struct wg_limits limits = {0};
    u32 features[3], n = 0;
    g->d.AdapterGetLimits(g->adapter, &limits); /* with c->floor, the defaults are left alone */
    limits.chain = NULL;
    if (c->floor) g->info.timestamps = false;
    if (c->floor || c->plain) g->info.shader_f16 = g->info.subgroups = false;
    if (g->info.timestamps) features[n++] = WG_TIMESTAMP_QUERY;
    if (g->info.shader_f16) features[n++] = WG_SHADER_F16;
    if (g->info.subgroups) features[n++] = WG_SUBGROUPS;
    struct wg_device_descriptor d = {
        .n_features = n,
        .features = features,
        .limits = c->floor ? NULL : &limits,
        .lost = dawn_callback((void *)on_lost, g),
        .error = {.fn = (void *)on_error, .ud1 = g},
    };
    struct wg_answer got = {0};
    g->d.AdapterRequestDevice(g->adapter, &d, dawn_callback((void *)dawn_on_object, &got));
    dawn_await(&g->d, g->instance, &got);
    if (got.status != WG_SUCCESS || !got.handle) {
        return fail(e, GLIM_DEVICE, "the GPU '%.100s' gives no device: %.250s", g->info.name,
                    got.message);
    }
    g->device = got.handle;
    g->queue = g->d.DeviceGetQueue(g->device);
    settle_limits(&g->info.limits, c);
    return GLIM_OK;
}

int gpu_open(struct gpu **out, const struct gpu_choice *c, const glim_alloc *a, glim_err *e) {
    *out = NULL;
    struct gpu *g = mem_get(a, sizeof *g);
    if (!g) return fail(e, GLIM_NOMEM, "out of memory (GPU)");
    *g = (struct gpu){.alloc = *a};
    int rc = dawn_load(&g->d, c->library, e);
    if (rc < 0) {
        mem_put(a, g, sizeof *g);
        return rc;
    }
    struct adapters found;
    dawn_keep_driver(&g->d);
    g->instance = g->d.CreateInstance(NULL);
    dawn_find_adapters(&g->d, g->instance, &found);
    if (c->index < found.n) {
        g->info = found.infos[c->index];
        if (c->memory && (c->memory < g->info.memory || !g->info.memory))
            g->info.memory = c->memory;
        g->adapter = found.handles[c->index];
        found.handles[c->index] = found.handles[--found.n];
        rc = request_device(g, c, e);
    } else if (found.n == 0) {
        rc = fail(e, GLIM_UNSUPPORTED,
                  "no GPU: no Vulkan driver offers one (drivers: mesa-vulkan-drivers or NVIDIA's)");
    } else {
        rc = fail(e, GLIM_ARG,
                  "there is no gpu:%u; the last one is gpu:%u (`glim devices` lists them)",
                  c->index, found.n - 1);
    }
    dawn_drop_adapters(&g->d, &found);
    if (rc < 0) {
        gpu_close(g);
        return rc;
    }
    *out = g;
    return GLIM_OK;
}

static void close_list(struct gpu *g) {
    if (g->pass) {
        g->d.ComputePassEncoderEnd(g->pass);
        g->d.ComputePassEncoderRelease(g->pass);
        g->pass = NULL;
    }
    if (g->encoder) g->d.CommandEncoderRelease(g->encoder);
    g->encoder = NULL;
}

void gpu_close(struct gpu *g) {
    if (!g) return;
    close_list(g);
    if (g->profile.queries) g->d.QuerySetRelease(g->profile.queries);
    gpu_buffer_free(g, &g->profile.resolved);
    gpu_buffer_free(g, &g->profile.back);
    if (g->queue) g->d.QueueRelease(g->queue);
    if (g->device) {
        g->d.DeviceDestroy(g->device);
        g->d.InstanceProcessEvents(g->instance);
        g->d.DeviceRelease(g->device);
    }
    if (g->adapter) g->d.AdapterRelease(g->adapter);
    if (g->instance) g->d.InstanceRelease(g->instance);
    glim_alloc a = g->alloc; /* g itself came from it */
    mem_put(&a, g, sizeof *g);
}

const struct gpu_info *gpu_info(const struct gpu *g) {
    return &g->info;
}

u64 gpu_held(const struct gpu *g) {
    return atomic_load(&g->held);
}

u64 gpu_written(const struct gpu *g) {
    return atomic_load(&g->written);
}

/* ---- Buffers --------------------------------------------------------------------------------- */

int gpu_buffer_init(struct gpu *g, struct gpu_buffer *b, u64 bytes, enum gpu_use use,
                    const char *name, glim_err *e) {
    static const u64 uses[] = {
        [GPU_STORAGE] = WG_STORAGE | WG_COPY_SRC | WG_COPY_DST,
        [GPU_UNIFORM] = WG_UNIFORM | WG_COPY_DST,
        [GPU_QUERIES] = WG_QUERY_RESOLVE | WG_COPY_SRC,
        [GPU_READBACK] = WG_MAP_READ | WG_COPY_DST,
    };
    *b = (struct gpu_buffer){.bytes = (MAX(bytes, (u64)4) + 3) & ~(u64)3};
    if (b->bytes > g->info.limits.buffer) {
        return fail(e, GLIM_NOMEM, "%s needs %llu MiB in one piece; a buffer of this GPU has %llu",
                    name, (unsigned long long)(b->bytes >> 20),
                    (unsigned long long)(g->info.limits.buffer >> 20));
    }
    struct wg_buffer_descriptor d = {
        .label = dawn_text(name), .usage = uses[use], .size = b->bytes};
    b->handle = g->d.DeviceCreateBuffer(g->device, &d);
    int rc = gpu_check(g, e);
    if (rc == GLIM_OK && !b->handle) {
        rc = fail(e, GLIM_NOMEM, "the GPU has no memory for %llu MiB of %s",
                  (unsigned long long)(b->bytes >> 20), name);
    }
    if (b->handle) g->held += b->bytes;
    if (rc < 0) gpu_buffer_free(g, b);
    return rc;
}

void gpu_buffer_free(struct gpu *g, struct gpu_buffer *b) {
    if (b->handle) {
        g->held -= b->bytes;
        g->d.BufferRelease(b->handle);
    }
    *b = (struct gpu_buffer){0};
}

static int wait_queue(struct gpu *g, glim_err *e) {
    struct wg_answer a = {0};
    g->d.QueueOnSubmittedWorkDone(g->queue, dawn_callback((void *)dawn_on_status, &a));
    dawn_await(&g->d, g->instance, &a);
    g->staged = 0;
    return gpu_check(g, e);
}

int gpu_write(struct gpu *g, const struct gpu_buffer *b, u64 offset, const void *from, u64 n,
              glim_err *e) {
    const u8 *p = from;
    while (n > 0) {
        u64 part = MIN(n, g->info.limits.staging);
        if (g->staged + part > g->info.limits.staging) {
            g->d.QueueSubmit(g->queue, 0, NULL); /* writes wait for a submit */
            int rc = wait_queue(g, e);
            if (rc < 0) return rc;
        }
        g->d.QueueWriteBuffer(g->queue, b->handle, offset, p, (size_t)part);
        g->staged += part;
        g->written += part;
        offset += part;
        p += part;
        n -= part;
    }
    return GLIM_OK;
}

/* ---- Pipelines ------------------------------------------------------------------------------- */

static void on_pipeline(u32 status, void *handle, struct wg_text message, void *ud, void *ud2) {
    struct gpu *g = ud;
    struct gpu_pipeline *p = ud2;
    g->pending--;
    p->handle = handle;
    p->failed = status != WG_SUCCESS;
    if (p->failed) {
        char what[100];
        snprintf(what, sizeof what, "the GPU cannot run the kernel %.60s", p->name);
        keep_error(g, GLIM_DEVICE, what, message);
    }
}

static void *group_layout(struct gpu *g, const enum gpu_access slots[GPU_SLOTS]) {
    static const u32 kinds[] = {[GPU_PARAMS] = WG_BIND_UNIFORM,
                                [GPU_READ] = WG_BIND_READ,
                                [GPU_READ_WRITE] = WG_BIND_STORAGE};
    struct wg_layout_entry entries[GPU_SLOTS] = {0};
    struct wg_layout_descriptor d = {.entries = entries};
    for (u32 i = 0; i < GPU_SLOTS; i++) {
        if (slots[i] == GPU_UNUSED) continue;
        entries[d.n++] = (struct wg_layout_entry){
            .binding = i, .stage = WG_STAGE_COMPUTE, .buffer = {.kind = kinds[slots[i]]}};
    }
    return g->d.DeviceCreateBindGroupLayout(g->device, &d);
}

int gpu_pipeline_begin(struct gpu *g, struct gpu_pipeline *p, const char *name, const char *wgsl,
                       const enum gpu_access slots[GPU_SLOTS], glim_err *e) {
    struct wg_wgsl source = {.chain = {.type = WG_TYPE_WGSL}, .code = dawn_text(wgsl)};
    struct wg_named_descriptor d = {.chain = &source, .label = dawn_text(name)};
    *p = (struct gpu_pipeline){.name = name, .layout = group_layout(g, slots)};
    struct wg_layout_descriptor ld = {.n = 1, .entries = &p->layout};
    void *layout = g->d.DeviceCreatePipelineLayout(g->device, &ld);
    void *module = g->d.DeviceCreateShaderModule(g->device, &d);
    struct wg_pipeline_descriptor pd = {.label = dawn_text(name),
                                        .layout = layout,
                                        .stage = {.module = module, .entry = dawn_text("main")}};
    struct wg_callback done = dawn_callback((void *)on_pipeline, g);
    done.ud2 = p;
    g->pending++;
    g->d.DeviceCreateComputePipelineAsync(g->device, &pd, done);
    g->d.ShaderModuleRelease(module);
    g->d.PipelineLayoutRelease(layout);
    g->d.InstanceProcessEvents(g->instance);
    if (!g->error) return GLIM_OK;
    int code = g->error;
    g->error = GLIM_OK;
    return fail(e, code, "kernel %s: %s", name, g->message);
}

void gpu_pipeline_free(struct gpu *g, struct gpu_pipeline *p) {
    if (p->handle) g->d.ComputePipelineRelease(p->handle);
    if (p->layout) g->d.BindGroupLayoutRelease(p->layout);
    *p = (struct gpu_pipeline){0};
}

int gpu_wait(struct gpu *g, glim_err *e) {
    for (u32 turns = 0; g->pending; turns++) {
        g->d.InstanceProcessEvents(g->instance);
        if (turns > 100) plat_sleep_ns(100 * 1000);
    }
    g->d.QueueSubmit(g->queue, 0, NULL);
    return wait_queue(g, e);
}

void *gpu_bind(struct gpu *g, const struct gpu_pipeline *p, const struct gpu_binding *b, u32 n,
               glim_err *e) {
    struct wg_group_entry entries[GPU_SLOTS] = {0};
    for (u32 i = 0; i < n; i++) {
        u64 bytes = b[i].bytes ? b[i].bytes : b[i].buffer->bytes - b[i].offset;
        entries[i] = (struct wg_group_entry){.binding = b[i].slot,
                                             .buffer = b[i].buffer->handle,
                                             .offset = b[i].offset,
                                             .size = bytes};
    }
    struct wg_group_descriptor d = {
        .label = dawn_text(p->name), .layout = p->layout, .n = n, .entries = entries};
    void *group = g->d.DeviceCreateBindGroup(g->device, &d);
    if (gpu_check(g, e) < 0) {
        gpu_bind_free(g, group);
        return NULL;
    }
    return group;
}

void gpu_bind_free(struct gpu *g, void *group) {
    if (group) g->d.BindGroupRelease(group);
}

/* ---- Commands -------------------------------------------------------------------------------- */

static void *encoder(struct gpu *g) {
    static const struct wg_named_descriptor d;
    if (!g->encoder) g->encoder = g->d.DeviceCreateCommandEncoder(g->device, &d);
    return g->encoder;
}

static void dawn_end_pass(struct gpu *g) {
    if (!g->pass) return;
    g->d.ComputePassEncoderEnd(g->pass);
    g->d.ComputePassEncoderRelease(g->pass);
    g->pass = NULL;
}

void gpu_dispatch(struct gpu *g, const struct gpu_pipeline *p, void *group, u64 groups) {
    struct wg_timestamps stamps = {.queries = g->profile.queries};
    struct wg_pass_descriptor d = {0};
    if (groups == 0) return;
    if (g->profile.closed) g->profile.n = 0;
    g->profile.closed = false;
    if (g->profile.queries && g->profile.n < g->profile.cap) {
        dawn_end_pass(g);
        stamps.begin = 2 * g->profile.n++;
        stamps.end = stamps.begin + 1;
        d.timestamps = &stamps;
    }
    if (!g->pass) g->pass = g->d.CommandEncoderBeginComputePass(encoder(g), &d);
    g->d.ComputePassEncoderSetPipeline(g->pass, p->handle);
    g->d.ComputePassEncoderSetBindGroup(g->pass, 0, group, 0, NULL);
    u64 most = g->info.limits.groups_per_dimension;
    u64 x = MIN(groups, most), y = (groups + x - 1) / x, z = 1;
    if (y > most) {
        z = (y + most - 1) / most;
        y = most;
    }
    g->d.ComputePassEncoderDispatchWorkgroups(g->pass, (u32)x, (u32)y, (u32)z);
}

void gpu_copy(struct gpu *g, const struct gpu_buffer *from, u64 from_at,
              const struct gpu_buffer *to, u64 to_at, u64 n) {
    dawn_end_pass(g);
    g->d.CommandEncoderCopyBufferToBuffer(encoder(g), from->handle, from_at, to->handle, to_at, n);
}

int gpu_submit(struct gpu *g, glim_err *e) {
    static const struct wg_named_descriptor d;
    dawn_end_pass(g);
    if (g->profile.n && !g->profile.closed) {
        u64 bytes = (u64)g->profile.n * 16;
        g->d.CommandEncoderResolveQuerySet(encoder(g), g->profile.queries, 0, 2 * g->profile.n,
                                           g->profile.resolved.handle, 0);
        gpu_copy(g, &g->profile.resolved, 0, &g->profile.back, 0, bytes);
    }
    g->profile.closed = true;
    void *list = g->d.CommandEncoderFinish(encoder(g), &d);
    close_list(g);
    g->d.QueueSubmit(g->queue, 1, &list);
    g->d.CommandBufferRelease(list);
    return gpu_check(g, e);
}

/* ---- Profiles -------------------------------------------------------------------------------- */

int gpu_profile(struct gpu *g, u32 n, glim_err *e) {
    enum { MOST = 2048 }; /* of a query set: 4096 */
    if (!g->info.timestamps)
        return fail(e, GLIM_UNSUPPORTED, "the GPU '%.100s' has no timestamps", g->info.name);
    if (n > MOST) {
        return fail(e, GLIM_UNSUPPORTED, "a profile of %u dispatches: at most %d can be timed", n,
                    MOST);
    }
    if (n <= g->profile.cap) return GLIM_OK;
    if (g->profile.queries) g->d.QuerySetRelease(g->profile.queries);
    gpu_buffer_free(g, &g->profile.resolved);
    gpu_buffer_free(g, &g->profile.back);
    struct wg_query_descriptor q = {.type = WG_QUERY_TIMESTAMP, .n = 2 * n};
    g->profile.cap = n;
    g->profile.queries = g->d.DeviceCreateQuerySet(g->device, &q);
    int rc = gpu_buffer_init(g, &g->profile.resolved, (u64)n * 16, GPU_QUERIES, "timestamps", e);
    if (rc == GLIM_OK)
        rc = gpu_buffer_init(g, &g->profile.back, (u64)n * 16, GPU_READBACK, "timestamps", e);
    return rc;
}

int gpu_profile_read(struct gpu *g, u64 *ns, u32 cap, glim_err *e) {
    struct gpu_buffer *b = &g->profile.back;
    const void *bytes;
    u32 n = MIN(g->profile.n, cap);
    if (n == 0) return 0;
    int rc = gpu_read_begin(g, b, (u64)n * 16, e);
    if (rc < 0) return rc;
    while ((rc = gpu_read_poll(g, b, &bytes, e)) == GLIM_AGAIN)
        plat_sleep_ns(20 * 1000);
    if (rc < 0) {
        gpu_read_end(g, b);
        return rc;
    }
    for (u32 i = 0; i < n; i++) {
        u64 at[2];
        memcpy(at, (const u8 *)bytes + 16 * i, sizeof at);
        ns[i] = at[1] > at[0] ? at[1] - at[0] : 0;
    }
    gpu_read_end(g, b);
    return (int)n;
}

/* ---- Reading back ---------------------------------------------------------------------------- */

static void on_read(u32 status, struct wg_text message, void *ud, void *unused) {
    struct gpu_buffer *b = ud;
    (void)message;
    (void)unused;
    b->read_status = status;
    b->read_done = true;
}

int gpu_read_begin(struct gpu *g, struct gpu_buffer *b, u64 n, glim_err *e) {
    b->read_done = false;
    b->read_bytes = n;
    g->d.BufferMapAsync(b->handle, 1, 0, (size_t)n, dawn_callback((void *)on_read, b));
    int rc = gpu_check(g, e);
    if (rc < 0) gpu_read_end(g, b);
    return rc;
}

int gpu_read_poll(struct gpu *g, const struct gpu_buffer *b, const void **bytes, glim_err *e) {
    int rc = gpu_check(g, e);
    if (rc < 0) return rc;
    if (!b->read_done) return GLIM_AGAIN;
    if (b->read_status != WG_SUCCESS) return fail(e, GLIM_DEVICE, "the GPU gave no result");
    g->staged = 0;
    *bytes = g->d.BufferGetConstMappedRange(b->handle, 0, (size_t)b->read_bytes);
    return *bytes ? GLIM_OK : fail(e, GLIM_DEVICE, "the GPU's result cannot be read");
}

void gpu_read_end(struct gpu *g, const struct gpu_buffer *b) {
    g->d.BufferUnmap(b->handle);
    /* A read given up answers too, into *b, which may be gone afterwards. */
    while (!b->read_done)
        g->d.InstanceProcessEvents(g->instance);
}
