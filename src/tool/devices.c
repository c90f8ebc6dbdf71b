/* glim devices: what can compute on this machine. */
#include "tool/devices.h"

#include "gpu/gpu.h"
#include "tool/format.h"
#include "tool/options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 8 };

const char *devices_library(void) {
    static char path[PATH_MAX + 64];
    const char *given = getenv("GLIM_WEBGPU");
    if (given && *given) return given;
    static const char *const places[] = {"../deps/libwebgpu_dawn.so",
                                         "../../deps/libwebgpu_dawn.so",
                                         "../lib/glim/libwebgpu_dawn.so"};
    for (size_t i = 0; i < COUNT(places); i++) {
        ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
        if (n <= 0) return NULL;
        path[n] = 0;
        char *slash = strrchr(path, '/');
        snprintf(slash + 1, 64, "%s", places[i]);
        if (access(path, R_OK) == 0) return path;
    }
    return NULL;
}

/* ---- For people ------------------------------------------------------------------------------ */

static void put_gpu(u32 i, const struct gpu_info *g) {
    printf("gpu:%u  %s%s\n", i, g->name, g->software ? " (software: slower than cpu)" : "");
    printf("       driver %s, %s", g->driver, g->backend);
    if (g->memory) printf(", %s of memory", format_size(g->memory).s);
    printf("\n");
    printf("       features:%s%s%s%s", g->shader_f16 ? " shader-f16" : "",
           g->subgroups ? " subgroups" : "", g->timestamps ? " timestamp-query" : "",
           g->shader_f16 || g->subgroups || g->timestamps ? "" : " none");
    if (g->subgroup_max) printf(" (subgroups of %u to %u)", g->subgroup_min, g->subgroup_max);
    const struct gpu_limits *l = &g->limits;
    printf("\n       limits: buffers of %s, bindings of %s, %u storage buffers, "
           "workgroups of %u with %s\n",
           format_size(l->buffer).s, format_size(l->binding).s, l->storage_buffers, l->invocations,
           format_size(l->workgroup_bytes).s);
}

static int put_all(const struct gpu_info *gpus, u32 n, const glim_err *why) {
    glim_engine *engine;
    glim_err e = {0};
    const glim_engine_params cpu = {.device = "cpu"};
    if (glim_engine_open(&engine, &cpu, &e) < 0) return options_failed(&e);
    printf("cpu    %s\n", glim_engine_device(engine));
    glim_engine_close(engine);
    for (u32 i = 0; i < n; i++)
        put_gpu(i, &gpus[i]);
    if (why->code)
        options_say("%s", why->msg);
    else if (n == 0)
        options_say("no GPU: no Vulkan driver offers one");
    return options_flush() ? TOOL_FINE : TOOL_FAILED;
}

/* ---- As JSON --------------------------------------------------------------------------------- */

static json_t *gpu_json(u32 i, const struct gpu_info *g) {
    char device[16];
    const struct gpu_limits *l = &g->limits;
    snprintf(device, sizeof device, "gpu:%u", i);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:I, s:b, s:b, s:b, s:b, s:i, s:i, s:{s:I, s:I, s:i, s:i, "
        "s:i, s:i}}",
        "device", device, "name", g->name, "vendor", g->vendor, "driver", g->driver, "backend",
        g->backend, "memory_bytes", (json_int_t)g->memory, "software", g->software, "shader_f16",
        g->shader_f16, "subgroups", g->subgroups, "timestamps", g->timestamps, "subgroup_min",
        (int)g->subgroup_min, "subgroup_max", (int)g->subgroup_max, "limits", "buffer_bytes",
        (json_int_t)l->buffer, "binding_bytes", (json_int_t)l->binding, "storage_buffers",
        (int)l->storage_buffers, "invocations", (int)l->invocations, "workgroup_bytes",
        (int)l->workgroup_bytes, "groups_per_dimension", (int)l->groups_per_dimension);
}

static int put_json(const struct gpu_info *gpus, u32 n, const glim_err *why) {
    json_t *list = json_array();
    for (u32 i = 0; list && i < n; i++) {
        if (json_array_append_new(list, gpu_json(i, &gpus[i])) == 0) continue;
        json_decref(list);
        list = NULL;
    }
    json_t *error = why->code ? json_string(why->msg) : json_null();
    return format_json(list ? json_pack("{s:o, s:o}", "gpus", list, "error", error) : NULL, 0);
}

static int devices_main(const struct command *c, int argc, char **argv) {
    bool json = false;
    const struct option_row rows[] = {
        {0, "json", NULL, OPTION_SWITCH, &json, 0, 0, "as JSON"},
        OPTION_END,
    };
    int exit_code;
    if (!options_parse(c, rows, &argc, &argv, &exit_code)) return exit_code;
    if (argc > 0) return options_misused(c, "'%.60s': this command takes flags only", argv[0]);
    struct gpu_info gpus[MOST];
    glim_err why = {0};
    int n = gpu_list(devices_library(), gpus, MOST, &why);
    u32 found = n > 0 ? (u32)n : 0;
    return json ? put_json(gpus, found, &why) : put_all(gpus, found, &why);
}

const struct command devices_command = {
    .name = "devices",
    .usage = "",
    .about = "List what can compute here: the CPU and GPUs",
    .detail = "The names are what --device takes. GPUs are found through the WebGPU library that\n"
              "./dev gpu fetches; $GLIM_WEBGPU names another one.",
    .examples = "examples:\n  glim devices\n  glim run --device gpu:0 model.gguf \"Why is the sky "
                "blue?\"\n",
    .main = devices_main,
};
