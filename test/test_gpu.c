/* gpu.h: buffers, pipelines, dispatches beyond a dimension's limit, reading back, late errors. */
#include "gpu/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gpu_rig.h"
#include "run/engine.h"

#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != GLIM_OK) fail_msg("%s", e.msg);                                              \
    } while (0)

static const char count_groups[] =
    "@group(0) @binding(0) var<uniform> n: u32;\n"
    "@group(0) @binding(2) var<storage, read_write> y: array<u32>;\n"
    "@compute @workgroup_size(1) fn main(@builtin(workgroup_id) wg: vec3<u32>,\n"
    "    @builtin(num_workgroups) nwg: vec3<u32>) {\n"
    "    let i = wg.x + wg.y * nwg.x + wg.z * nwg.x * nwg.y;\n"
    "    if (i < n) { y[i] = y[i] + i; }\n"
    "}\n";

static const enum gpu_access slots[GPU_SLOTS] = {[0] = GPU_PARAMS, [2] = GPU_READ_WRITE};

/* Every group runs once, however they are spread. */
static void count(struct gpu *g, u32 n) {
    enum { CAP = 30 };
    struct gpu_buffer y, p;
    struct gpu_pipeline pipe;
    u32 zero[CAP] = {0}, got[CAP], many[4] = {n};
    glim_err e = {0};
    assert_in_range(n, 1, CAP);
    OK(gpu_buffer_init(g, &y, sizeof got, GPU_STORAGE, "y", &e));
    OK(gpu_buffer_init(g, &p, sizeof many, GPU_UNIFORM, "p", &e));
    OK(gpu_write(g, &y, 0, zero, sizeof zero, &e));
    OK(gpu_write(g, &p, 0, many, sizeof many, &e));
    OK(gpu_pipeline_begin(g, &pipe, "count", count_groups, slots, &e));
    OK(gpu_wait(g, &e));
    void *group = gpu_bind(
        g, &pipe, (struct gpu_binding[]){{.slot = 0, .buffer = &p}, {.slot = 2, .buffer = &y}}, 2,
        &e);
    assert_non_null(group);
    gpu_dispatch(g, &pipe, group, n);
    gpu_dispatch(g, &pipe, group, n); /* sees what the first wrote */
    rig_read(g, &y, got, sizeof got);
    for (u32 i = 0; i < CAP; i++)
        assert_int_equal(got[i], i < n ? 2 * i : 0);
    gpu_bind_free(g, group);
    gpu_pipeline_free(g, &pipe);
    gpu_buffer_free(g, &y);
    gpu_buffer_free(g, &p);
}

static void dispatches_spread(void **state) {
    (void)state;
    struct gpu *g = rig_gpu(&(struct gpu_choice){.at_most = {.groups_per_dimension = 3}});
    for (u32 n = 1; n <= 27; n++)
        count(g, n);
    gpu_close(g);
    g = rig_gpu(&(struct gpu_choice){.floor = true});
    count(g, 30);
    gpu_close(g);
}

static void long_writes_are_staged(void **state) {
    (void)state;
    struct gpu *g = rig_gpu(&(struct gpu_choice){.at_most = {.staging = 64}});
    struct gpu_buffer b;
    static u32 sent[5000], got[5000];
    glim_err e = {0};
    for (u32 i = 0; i < COUNT(sent); i++)
        sent[i] = i * 2654435761u;
    OK(gpu_buffer_init(g, &b, sizeof sent, GPU_STORAGE, "b", &e));
    OK(gpu_write(g, &b, 0, sent, sizeof sent, &e));
    rig_read(g, &b, got, sizeof got);
    assert_memory_equal(sent, got, sizeof sent);
    gpu_buffer_free(g, &b);
    gpu_close(g);
}

static void errors_arrive(void **state) {
    (void)state;
    struct gpu *g = rig_gpu(NULL);
    struct gpu_pipeline pipe;
    struct gpu_buffer b;
    glim_err e = {0};
    int rc = gpu_pipeline_begin(g, &pipe, "broken", "fn main( {", slots, &e);
    if (rc == GLIM_OK) rc = gpu_wait(g, &e);
    assert_int_equal(rc, GLIM_DEVICE);
    assert_non_null(strstr(e.msg, "broken"));
    gpu_pipeline_free(g, &pipe);
    while (gpu_check(g, NULL) < 0) {
    }
    e = (glim_err){0};
    rc = gpu_buffer_init(g, &b, gpu_info(g)->limits.buffer + 4, GPU_STORAGE, "giant", &e);
    assert_int_equal(rc, GLIM_NOMEM);
    assert_non_null(strstr(e.msg, "giant"));
    count(g, 7); /* and the device goes on */
    gpu_close(g);
}

static void a_missing_library_is_said(void **state) {
    (void)state;
    struct gpu_info info;
    glim_err e = {0};
    assert_int_equal(gpu_list("./no-such-library.so", &info, 1, &e), GLIM_UNSUPPORTED);
    assert_non_null(strstr(e.msg, "./dev gpu"));
    e = (glim_err){0};
    assert_int_equal(gpu_list("libm.so.6", &info, 1, &e), GLIM_UNSUPPORTED);
    assert_non_null(strstr(e.msg, "wgpuCreateInstance"));
}

static void count_note(void *ud, const char *message) {
    char *note = ud;
    assert_string_equal(note, ""); /* one at most */
    snprintf(note, 400, "%s", message);
}

/* "auto" tells of a GPU that it cannot use for want of the library, and of nothing else. */
static void auto_says_what_is_missing(void **state) {
    static const struct {
        const char *library;
        bool has_node, tells;
    } cases[] = {{"./no-such-library.so", true, true},
                 {"libm.so.6", true, true},
                 {"./no-such-library.so", false, false},
                 {GPU_LIBRARY, false, false}};
    (void)state;
    for (u32 i = 0; i < COUNT(cases); i++) {
        char note[400] = "";
        const struct gpu_choice c = {.library = cases[i].library};
        glim_engine_params p = {.log = count_note, .log_ud = note, .n_threads = 1};
        struct engine *g;
        glim_err e = {0};
        OK(engine_open_auto(&g, &p, &c, cases[i].has_node, &e));
        assert_null(g->device);
        engine_close(g);
        assert_int_equal(note[0] != 0, cases[i].tells);
        if (!cases[i].tells) continue;
        print_message("# %s\n", note);
        assert_non_null(strstr(note, "not used"));
        assert_non_null(strstr(note, "--device cpu"));
        if (i == 0) assert_non_null(strstr(note, "./dev gpu"));
        p.log = NULL; /* nobody listens */
        OK(engine_open_auto(&g, &p, &c, true, &e));
        engine_close(g);
    }
    /* Where only software plays a GPU there is nothing to tell. */
    struct gpu_info info;
    if (gpu_list(GPU_LIBRARY, &info, 1, NULL) < 1 || !info.software) return;
    char note[400] = "";
    const struct gpu_choice c = {.library = GPU_LIBRARY};
    glim_engine_params p = {.log = count_note, .log_ud = note, .n_threads = 1};
    struct engine *g;
    glim_err e = {0};
    OK(engine_open_auto(&g, &p, &c, true, &e));
    assert_null(g->device);
    assert_string_equal(note, "");
    engine_close(g);
}

static void adapters_are_listed(void **state) {
    (void)state;
    struct gpu_info info[4];
    glim_err e = {0};
    gpu_close(rig_gpu(NULL));
    int n = gpu_list(GPU_LIBRARY, info, 4, &e);
    assert_in_range(n, 1, 4);
    for (int i = 0; i < n; i++) {
        const struct gpu_limits *l = &info[i].limits;
        assert_true(info[i].name[0] != 0);
        assert_true(info[i].memory > 1 << 20);
        assert_true(l->binding >= gpu_floor.binding && l->buffer >= gpu_floor.buffer);
        assert_true(l->storage_buffers >= 8 && l->invocations >= 256);
        assert_true(i == 0 || info[i].software >= info[i - 1].software);
        print_message("%d: %s (%s)%s, subgroups %u to %u, binding %llu MiB\n", i, info[i].name,
                      info[i].driver, info[i].software ? ", software" : "", info[i].subgroup_min,
                      info[i].subgroup_max, (unsigned long long)(l->binding >> 20));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_says_what_is_missing), cmocka_unit_test(adapters_are_listed),
        cmocka_unit_test(a_missing_library_is_said), cmocka_unit_test(dispatches_spread),
        cmocka_unit_test(long_writes_are_staged),    cmocka_unit_test(errors_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
