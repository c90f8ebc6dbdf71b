/* Dawn's library, its adapters and its way of answering later: what gpu_dawn.c is built on. */
#ifndef GPU_DAWN_H
#define GPU_DAWN_H

#include "gpu/dawn_abi.h"
#include "gpu/gpu.h"

struct dawn {
    void *library;
#define F(result, name, params) result(*name) params;
    DAWN_FUNCTIONS(F)
#undef F
};

/* GLIM_UNSUPPORTED where it cannot be loaded; library NULL: its usual name. */
int dawn_load(struct dawn *d, const char *library, glim_err *e);

struct wg_text dawn_text(const char *s);
void dawn_text_to(char *out, size_t cap, struct wg_text t);

/* Where an asynchronous call leaves its result. */
struct wg_answer {
    bool done;
    u32 status;
    void *handle;
    char message[400];
};
void dawn_on_object(u32 status, void *handle, struct wg_text message, void *ud, void *unused);
void dawn_on_status(u32 status, struct wg_text message, void *ud, void *unused);
/* fn(..., ud) is called from dawn_await and the like, not from another thread. */
struct wg_callback dawn_callback(void *fn, void *ud);
void dawn_await(const struct dawn *d, void *instance, const struct wg_answer *a);

enum { MAX_ADAPTERS = 8 };

struct adapters {
    void *handles[MAX_ADAPTERS];
    struct gpu_info infos[MAX_ADAPTERS];
    u32 n;
};
/* Hardware first; every handle is the caller's until dawn_drop_adapters. */
void dawn_find_adapters(const struct dawn *d, void *instance, struct adapters *a);
void dawn_drop_adapters(const struct dawn *d, struct adapters *a);
/* Some drivers (NVIDIA's) cannot be loaded and unloaded more than some thirty times by a process,
 * and are unloaded with the last Vulkan instance. So the first instance of a process stays, idle.
 */
void dawn_keep_driver(const struct dawn *d);

#endif
