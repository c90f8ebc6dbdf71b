/* Loading Dawn, finding its adapters, waiting for its answers. */
#include "gpu/dawn.h"

#include "base/plat_cpu.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

const struct gpu_limits gpu_floor = {
    .buffer = 256 << 20,
    .binding = 128 << 20,
    .staging = 64 << 20,
    .groups_per_dimension = 65535,
    .storage_buffers = 8,
    .invocations = 256,
    .workgroup_bytes = 16 << 10,
    .alignment = 256,
};

/* ---- The library ----------------------------------------------------------------------------- */

int dawn_load(struct dawn *d, const char *library, glim_err *e) {
    const char *name = library ? library : "libwebgpu_dawn.so";
    *d = (struct dawn){.library = dlopen(name, RTLD_NOW | RTLD_LOCAL)};
    if (!d->library) {
        return fail(e, GLIM_UNSUPPORTED,
                    "the WebGPU library cannot be loaded (%.110s); ./dev gpu fetches it, "
                    "$GLIM_WEBGPU or gpu_library names another",
                    dlerror());
    }
    const char *missing = NULL;
#define F(result, fn, params)                                                                      \
    *(void **)&d->fn = dlsym(d->library, "wgpu" #fn);                                              \
    if (!missing && !d->fn) missing = "wgpu" #fn;
    DAWN_FUNCTIONS(F)
#undef F
    if (!missing) return GLIM_OK;
    dlclose(d->library);
    d->library = NULL;
    return fail(e, GLIM_UNSUPPORTED,
                "%.200s is not the WebGPU library that is needed: it has no %s", name, missing);
}

struct wg_text dawn_text(const char *s) {
    return (struct wg_text){s, s ? strlen(s) : 0};
}

void dawn_text_to(char *out, size_t cap, struct wg_text t) {
    size_t n = t.length == WG_TERMINATED ? (t.data ? strlen(t.data) : 0) : t.length;
    snprintf(out, cap, "%.*s", (int)MIN(n, cap), t.data ? t.data : "");
}

/* ---- Waiting --------------------------------------------------------------------------------- */

void dawn_on_object(u32 status, void *handle, struct wg_text message, void *ud, void *unused) {
    struct wg_answer *a = ud;
    (void)unused;
    a->status = status;
    a->handle = handle;
    dawn_text_to(a->message, sizeof a->message, message);
    a->done = true;
}

void dawn_on_status(u32 status, struct wg_text message, void *ud, void *unused) {
    dawn_on_object(status, NULL, message, ud, unused);
}

struct wg_callback dawn_callback(void *fn, void *ud) {
    return (struct wg_callback){.mode = WG_MODE_PROCESS_EVENTS, .fn = fn, .ud1 = ud};
}

void dawn_await(const struct dawn *d, void *instance, const struct wg_answer *a) {
    for (u32 turns = 0; !a->done; turns++) {
        d->InstanceProcessEvents(instance);
        if (turns > 100) plat_sleep_ns(50 * 1000); /* done within 100 turns when quick */
    }
}

/* ---- Adapters -------------------------------------------------------------------------------- */

static u64 at_least(u64 n, u64 floor) {
    return n > floor ? n : floor;
}

static void read_limits(struct gpu_limits *to, const struct wg_limits *from) {
    *to = (struct gpu_limits){
        .buffer = from->buffer,
        .binding = from->storage_binding,
        .staging = gpu_floor.staging,
        .groups_per_dimension = from->groups_per_dimension,
        .storage_buffers = from->storage_buffers,
        .invocations = from->invocations,
        .workgroup_bytes = from->workgroup_bytes,
        .alignment = (u32)at_least(from->storage_alignment, from->uniform_alignment),
    };
}

static void describe(const struct dawn *d, void *adapter, struct gpu_info *out) {
    struct wg_adapter_info info = {0};
    struct wg_limits limits = {0};
    *out = (struct gpu_info){.backend = "Vulkan"};
    struct wg_heaps heaps = {.chain = {.type = WG_TYPE_HEAPS}};
    bool has_heaps = d->AdapterHasFeature(adapter, WG_MEMORY_HEAPS);
    if (has_heaps) info.chain = &heaps;
    d->AdapterGetInfo(adapter, &info);
    for (size_t i = 0; i < heaps.n; i++) {
        if (heaps.heaps[i].properties & WG_HEAP_DEVICE_LOCAL)
            out->memory = at_least(out->memory, heaps.heaps[i].bytes);
    }
    if (has_heaps) d->AdapterPropertiesMemoryHeapsFreeMembers(heaps);
    dawn_text_to(out->name, sizeof out->name, info.device);
    dawn_text_to(out->vendor, sizeof out->vendor, info.vendor);
    dawn_text_to(out->driver, sizeof out->driver, info.description);
    out->software = info.kind == WG_ADAPTER_CPU;
    out->subgroup_min = info.subgroup_min;
    out->subgroup_max = info.subgroup_max;
    out->vendor_id = info.vendor_id;
    out->device_id = info.device_id;
    d->AdapterInfoFreeMembers(info);
    d->AdapterGetLimits(adapter, &limits);
    read_limits(&out->limits, &limits);
    out->timestamps = d->AdapterHasFeature(adapter, WG_TIMESTAMP_QUERY);
    out->shader_f16 = d->AdapterHasFeature(adapter, WG_SHADER_F16);
    out->subgroups = d->AdapterHasFeature(adapter, WG_SUBGROUPS);
}

void dawn_drop_adapters(const struct dawn *d, struct adapters *a) {
    for (u32 i = 0; i < a->n; i++)
        d->AdapterRelease(a->handles[i]);
    a->n = 0;
}

/* WebGPU answers requests and lists nothing: each kind of request, and what is new of it. Hardware
 * comes first, since the last request alone asks for software. */
void dawn_find_adapters(const struct dawn *d, void *instance, struct adapters *a) {
    static const struct wg_adapter_options asks[] = {
        {.level = WG_LEVEL_CORE, .power = WG_POWER_HIGH, .backend = WG_BACKEND_VULKAN},
        {.level = WG_LEVEL_CORE, .power = WG_POWER_LOW, .backend = WG_BACKEND_VULKAN},
        {.level = WG_LEVEL_CORE, .fallback = 1, .backend = WG_BACKEND_VULKAN},
    };
    a->n = 0;
    for (u32 i = 0; i < COUNT(asks); i++) {
        struct wg_answer got = {0};
        d->InstanceRequestAdapter(instance, &asks[i], dawn_callback((void *)dawn_on_object, &got));
        dawn_await(d, instance, &got);
        if (got.status != WG_SUCCESS || !got.handle) continue;
        struct gpu_info *info = &a->infos[a->n];
        describe(d, got.handle, info);
        bool known = false;
        for (u32 k = 0; k < a->n; k++) {
            const struct gpu_info *o = &a->infos[k];
            known |= o->vendor_id == info->vendor_id && o->device_id == info->device_id &&
                     strcmp(o->name, info->name) == 0;
        }
        if (known)
            d->AdapterRelease(got.handle);
        else
            a->handles[a->n++] = got.handle;
    }
    for (u32 i = 1; i < a->n; i++) { /* a stable sort: hardware before software */
        for (u32 k = i; k > 0 && a->infos[k - 1].software && !a->infos[k].software; k--) {
            struct gpu_info info = a->infos[k];
            void *handle = a->handles[k];
            a->infos[k] = a->infos[k - 1];
            a->handles[k] = a->handles[k - 1];
            a->infos[k - 1] = info;
            a->handles[k - 1] = handle;
        }
    }
}

void dawn_keep_driver(const struct dawn *d) {
    static atomic_flag kept = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&kept)) return;
    struct adapters a;
    void *instance = d->CreateInstance(NULL);
    dawn_find_adapters(d, instance, &a); /* which is when Vulkan's is made */
    dawn_drop_adapters(d, &a);
}

int gpu_list(const char *library, struct gpu_info *out, u32 cap, glim_err *e) {
    struct dawn d;
    struct adapters a;
    int rc = dawn_load(&d, library, e);
    if (rc < 0) return rc;
    void *instance = d.CreateInstance(NULL);
    dawn_find_adapters(&d, instance, &a);
    u32 n = MIN(a.n, cap);
    memcpy(out, a.infos, n * sizeof *out);
    dawn_drop_adapters(&d, &a);
    d.InstanceRelease(instance); /* the library stays: its threads may still end */
    return (int)n;
}
