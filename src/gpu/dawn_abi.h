/* The part of the WebGPU C interface that gpu_dawn.c uses, with the numbers and layouts that Dawn's
 * library has (webgpu.h of the WebGPU standard, as of 2025 and 2026). Declared here, and not taken
 * from a header, because the library is loaded at run time and ships none: a build needs nothing of
 * it. Handles are pointers to things of the library; it counts references to each. */
#ifndef GPU_DAWN_ABI_H
#define GPU_DAWN_ABI_H

#include "base/base.h"

/* Text with a length; not terminated. */
struct wg_text {
    const char *data;
    size_t length;
};
#define WG_TERMINATED SIZE_MAX /* as a length: up to the zero */

struct wg_chain {
    const struct wg_chain *next;
    u32 type;
};
enum { WG_TYPE_WGSL = 2, WG_TYPE_HEAPS = 0x50013 };

struct wg_future {
    u64 id;
};

/* Every callback of an asynchronous call comes inside instance_process_events. */
enum { WG_MODE_PROCESS_EVENTS = 2 };
struct wg_callback {
    const void *chain;
    u32 mode;
    void *fn;
    void *ud1, *ud2;
};
struct wg_error_callback {
    const void *chain;
    void *fn; /* void (void *const *device, u32 kind, struct wg_text, void *, void *) */
    void *ud1, *ud2;
};

enum { WG_SUCCESS = 1 }; /* of all asynchronous calls */
enum { WG_ERROR_VALIDATION = 2, WG_ERROR_OUT_OF_MEMORY = 3 };
enum { WG_LOST_DESTROYED = 2 };
enum { WG_BACKEND_VULKAN = 6 };
enum { WG_ADAPTER_DISCRETE = 1, WG_ADAPTER_INTEGRATED, WG_ADAPTER_CPU };
enum { WG_POWER_LOW = 1, WG_POWER_HIGH = 2 };
enum { WG_LEVEL_CORE = 2 };

enum {
    WG_TIMESTAMP_QUERY = 3,
    WG_SHADER_F16 = 10,
    WG_SUBGROUPS = 17,
    WG_MEMORY_HEAPS = 0x50015 /* Dawn's own */
};

enum {
    WG_MAP_READ = 1,
    WG_COPY_SRC = 4,
    WG_COPY_DST = 8,
    WG_UNIFORM = 64,
    WG_STORAGE = 128,
    WG_QUERY_RESOLVE = 512
};

/* All u32 and u64 numbers in the order of the standard, and room for what later versions add. */
struct wg_limits {
    void *chain;
    u32 texture[4];
    u32 bind_groups, bind_groups_and_vertex_buffers, bindings_per_group;
    u32 dynamic_uniforms, dynamic_storages, sampled_textures, samplers;
    u32 storage_buffers, storage_textures, uniform_buffers;
    u64 uniform_binding, storage_binding;
    u32 uniform_alignment, storage_alignment, vertex_buffers;
    u64 buffer;
    u32 vertex_attributes, vertex_stride, inter_stage, color_attachments, color_bytes;
    u32 workgroup_bytes, invocations, size_x, size_y, size_z, groups_per_dimension;
    u32 later[16];
};

struct wg_adapter_options {
    const void *chain;
    u32 level, power, fallback, backend;
    void *surface;
};
struct wg_adapter_info {
    void *chain;
    struct wg_text vendor, architecture, device, description;
    u32 backend, kind, vendor_id, device_id, subgroup_min, subgroup_max;
};
enum { WG_HEAP_DEVICE_LOCAL = 1 };
struct wg_heaps { /* chained to wg_adapter_info */
    struct wg_chain chain;
    size_t n;
    const struct wg_heap { u64 properties, bytes; } * heaps;
};
struct wg_device_descriptor {
    const void *chain;
    struct wg_text label;
    size_t n_features;
    const u32 *features;
    const struct wg_limits *limits;
    struct {
        const void *chain;
        struct wg_text label;
    } queue;
    struct wg_callback lost;
    struct wg_error_callback error;
};
struct wg_buffer_descriptor {
    const void *chain;
    struct wg_text label;
    u64 usage, size;
    u32 mapped;
};
struct wg_wgsl {
    struct wg_chain chain;
    struct wg_text code;
};
struct wg_named_descriptor { /* shader modules, encoders, command buffers */
    const void *chain;
    struct wg_text label;
};
struct wg_pipeline_descriptor {
    const void *chain;
    struct wg_text label;
    void *layout;
    struct {
        const void *chain;
        void *module;
        struct wg_text entry;
        size_t n_constants;
        const void *constants;
    } stage;
};
enum { WG_STAGE_COMPUTE = 4 };
enum { WG_BIND_UNIFORM = 2, WG_BIND_STORAGE, WG_BIND_READ };
struct wg_layout_entry {
    const void *chain;
    u32 binding;
    u64 stage;
    u32 array;
    struct {
        const void *chain;
        u32 kind, dynamic;
        u64 least;
    } buffer;
    struct {
        const void *chain;
        u32 unused[2];
    } sampler;
    struct {
        const void *chain;
        u32 unused[4];
    } texture, storage_texture;
};
struct wg_layout_descriptor {
    const void *chain;
    struct wg_text label;
    size_t n;
    const void *entries; /* wg_layout_entry; of a pipeline: layouts of groups */
    u32 immediate_bytes; /* of a pipeline */
};
struct wg_group_entry {
    const void *chain;
    u32 binding;
    void *buffer;
    u64 offset, size;
    void *sampler, *texture;
};
struct wg_group_descriptor {
    const void *chain;
    struct wg_text label;
    void *layout;
    size_t n;
    const struct wg_group_entry *entries;
};
struct wg_timestamps {
    const void *chain;
    void *queries;
    u32 begin, end;
};
struct wg_pass_descriptor {
    const void *chain;
    struct wg_text label;
    const struct wg_timestamps *timestamps;
};
enum { WG_QUERY_TIMESTAMP = 2 };
struct wg_query_descriptor {
    const void *chain;
    struct wg_text label;
    u32 type;
    u32 n;
};

/* The library's functions: result, name after "wgpu", parameters. */
#define DAWN_FUNCTIONS(F)                                                                          \
    F(void *, CreateInstance, (const void *))                                                      \
    F(void, InstanceProcessEvents, (void *))                                                       \
    F(void, InstanceRelease, (void *))                                                             \
    F(struct wg_future, InstanceRequestAdapter,                                                    \
      (void *, const struct wg_adapter_options *, struct wg_callback))                             \
    F(u32, AdapterGetInfo, (void *, struct wg_adapter_info *))                                     \
    F(void, AdapterInfoFreeMembers, (struct wg_adapter_info))                                      \
    F(void, AdapterPropertiesMemoryHeapsFreeMembers, (struct wg_heaps))                            \
    F(u32, AdapterGetLimits, (void *, struct wg_limits *))                                         \
    F(u32, AdapterHasFeature, (void *, u32))                                                       \
    F(struct wg_future, AdapterRequestDevice,                                                      \
      (void *, const struct wg_device_descriptor *, struct wg_callback))                           \
    F(void, AdapterRelease, (void *))                                                              \
    F(u32, DeviceGetLimits, (void *, struct wg_limits *))                                          \
    F(void *, DeviceGetQueue, (void *))                                                            \
    F(void *, DeviceCreateBuffer, (void *, const struct wg_buffer_descriptor *))                   \
    F(void *, DeviceCreateShaderModule, (void *, const struct wg_named_descriptor *))              \
    F(struct wg_future, DeviceCreateComputePipelineAsync,                                          \
      (void *, const struct wg_pipeline_descriptor *, struct wg_callback))                         \
    F(void *, DeviceCreateBindGroup, (void *, const struct wg_group_descriptor *))                 \
    F(void *, DeviceCreateCommandEncoder, (void *, const struct wg_named_descriptor *))            \
    F(void *, DeviceCreateQuerySet, (void *, const struct wg_query_descriptor *))                  \
    F(void, DevicePushErrorScope, (void *, u32))                                                   \
    F(struct wg_future, DevicePopErrorScope, (void *, struct wg_callback))                         \
    F(void, DeviceDestroy, (void *))                                                               \
    F(void, DeviceRelease, (void *))                                                               \
    F(void *, DeviceCreateBindGroupLayout, (void *, const struct wg_layout_descriptor *))          \
    F(void *, DeviceCreatePipelineLayout, (void *, const struct wg_layout_descriptor *))           \
    F(void, PipelineLayoutRelease, (void *))                                                       \
    F(void, ComputePipelineRelease, (void *))                                                      \
    F(void, BindGroupLayoutRelease, (void *))                                                      \
    F(void, BindGroupRelease, (void *))                                                            \
    F(void, ShaderModuleRelease, (void *))                                                         \
    F(void, QuerySetRelease, (void *))                                                             \
    F(void, QueueWriteBuffer, (void *, void *, u64, const void *, size_t))                         \
    F(void, QueueSubmit, (void *, size_t, void *const *))                                          \
    F(struct wg_future, QueueOnSubmittedWorkDone, (void *, struct wg_callback))                    \
    F(void, QueueRelease, (void *))                                                                \
    F(void *, CommandEncoderBeginComputePass, (void *, const struct wg_pass_descriptor *))         \
    F(void, CommandEncoderCopyBufferToBuffer, (void *, void *, u64, void *, u64, u64))             \
    F(void, CommandEncoderClearBuffer, (void *, void *, u64, u64))                                 \
    F(void, CommandEncoderResolveQuerySet, (void *, void *, u32, u32, void *, u64))                \
    F(void *, CommandEncoderFinish, (void *, const struct wg_named_descriptor *))                  \
    F(void, CommandEncoderRelease, (void *))                                                       \
    F(void, CommandBufferRelease, (void *))                                                        \
    F(void, ComputePassEncoderSetPipeline, (void *, void *))                                       \
    F(void, ComputePassEncoderSetBindGroup, (void *, u32, void *, size_t, const u32 *))            \
    F(void, ComputePassEncoderDispatchWorkgroups, (void *, u32, u32, u32))                         \
    F(void, ComputePassEncoderEnd, (void *))                                                       \
    F(void, ComputePassEncoderRelease, (void *))                                                   \
    F(struct wg_future, BufferMapAsync, (void *, u64, size_t, size_t, struct wg_callback))         \
    F(const void *, BufferGetConstMappedRange, (void *, size_t, size_t))                           \
    F(void, BufferUnmap, (void *))                                                                 \
    F(void, BufferRelease, (void *))

#endif
