/* Reductions over a workgroup, in all the ways that they are done: by workgroup memory, by
 * subgroups as the GPU has them, by emulated ones of every width. Each thread must get exactly what
 * the values of all say, however often reductions follow each other without a barrier between. */
#include "unit.h"

#include "gpu_rig.h"
#include "run/device.h"

#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SUM, MAXIMUM, QUARTER, FIRST };
/* What is reduced how, turn by turn: each follows each, and itself. */
static const u8 order[] = {SUM,     SUM,     MAXIMUM, SUM,   QUARTER, SUM,     FIRST, MAXIMUM,
                           MAXIMUM, QUARTER, MAXIMUM, FIRST, QUARTER, QUARTER, FIRST, FIRST};
enum { TURNS = 2 * COUNT(order) + 1, MOST_THREADS = 256, ODD = 5 };

/* Nothing else makes threads wait for each other. Thread ODD has no number in the last turn. */
static const char body[] =
    "@group(0) @binding(0) var<uniform> kinds: array<vec4<u32>, 33>;\n"
    "@group(0) @binding(2) var<storage, read_write> y: array<vec2<u32>>;\n"
    "@compute @workgroup_size(THREADS) fn main(@builtin(local_invocation_index) lid: u32) {\n"
    "    for (var turn = 0u; turn < 33u; turn++) {\n"
    "        let v = ((lid + 1u) * 2654435761u * (turn + 1u)) >> 20u;\n"
    "        var x = f32(v) - 2048.0;\n"
    "        if (turn == 32u && lid == 5u) { x = bitcast<f32>(0x7fc00000u + v); }\n"
    "        var z = vec2<u32>();\n"
    "        switch (kinds[turn].x) {\n"
    "            case 0u: { z.x = bitcast<u32>(group_sum(lid, x)); }\n"
    "            case 1u: { z.x = bitcast<u32>(group_max(lid, x)); }\n"
    "            case 2u: { z.x = bitcast<u32>(quarter_sum(lid, x)); }\n"
    "            default: { z = group_first(lid, vec2(v >> 6u, lid ^ turn)); }\n"
    "        }\n"
    "        y[turn * THREADS + lid] = z;\n"
    "    }\n"
    "}\n";
_Static_assert(TURNS == 33 && ODD == 5, "the kernel has these numbers");

static u32 kind_of(u32 turn) {
    return order[turn % COUNT(order)];
}

/* What thread lid should get. Sums of few whole numbers are exact in any order. */
static void expected(u32 threads, u32 turn, u32 lid, u32 out[2]) {
    f32 sum = 0, most = -INFINITY, quarter = 0;
    u32 key = 0, id = UINT32_MAX, kind = kind_of(turn);
    for (u32 i = 0; i < threads; i++) {
        u32 v = (u32)((i + 1) * 2654435761u * (turn + 1)) >> 20;
        f32 x = turn == TURNS - 1 && i == ODD ? NAN : (f32)v - 2048;
        sum += x;
        most = MAX(most, x);
        quarter += i / (threads / 4) == lid / (threads / 4) ? x : 0;
        if (v >> 6 > key || (v >> 6 == key && (i ^ turn) < id)) {
            key = v >> 6;
            id = i ^ turn;
        }
    }
    f32 x = kind == SUM ? sum : kind == MAXIMUM ? most : quarter;
    memcpy(out, &x, sizeof x);
    out[1] = 0;
    if (kind != FIRST) return;
    out[0] = key;
    out[1] = id;
}

static const enum gpu_access slots[GPU_SLOTS] = {[0] = GPU_PARAMS, [2] = GPU_READ_WRITE};

/* The text of a kernel that reduces; owned by the caller. */
static char *kernel(u32 threads, struct wgsl_subgroups s, const char *main) {
    size_t n = wgsl_reductions(threads, s, NULL, 0), cap = n + strlen(main) + 1;
    char *text = malloc(cap);
    assert_non_null(text);
    assert_int_equal(wgsl_reductions(threads, s, text, cap), n);
    memcpy(text + n, main, cap - n);
    return text;
}

static void check(u32 threads, struct wgsl_subgroups s, const u32 *got) {
    for (u32 turn = 0; turn < TURNS; turn++) {
        for (u32 lid = 0; lid < threads; lid++) {
            const u32 *y = got + (turn * threads + lid) * 2;
            u32 want[2];
            f32 x;
            expected(threads, turn, lid, want);
            memcpy(&x, y, sizeof x);
            if (turn == TURNS - 1 ? isnan(x) : y[0] == want[0] && y[1] == want[1]) continue;
            fail_test("%u threads, subgroups %d of %u: turn %u (%u), thread %u got %08x %08x, "
                      "expected %08x %08x",
                      threads, (int)s.are, s.lanes, turn, kind_of(turn), lid, y[0], y[1], want[0],
                      want[1]);
        }
    }
}

static void reduce(struct gpu *g, u32 threads, struct wgsl_subgroups s) {
    static u32 got[TURNS * MOST_THREADS * 2];
    struct gpu_pipeline pipe;
    struct gpu_buffer y, p;
    u32 kinds[TURNS][4] = {0};
    glim_err e = {0};
    u64 bytes = TURNS * threads * 8;
    char *text = kernel(threads, s, body);
    for (u32 i = 0; i < TURNS; i++)
        kinds[i][0] = kind_of(i);
    int rc = gpu_pipeline_begin(g, &pipe, "reduce", text, slots, &e);
    if (rc == GLIM_OK) rc = gpu_buffer_init(g, &y, bytes, GPU_STORAGE, "y", &e);
    if (rc == GLIM_OK) rc = gpu_buffer_init(g, &p, sizeof kinds, GPU_UNIFORM, "p", &e);
    if (rc == GLIM_OK) rc = gpu_write(g, &p, 0, kinds, sizeof kinds, &e);
    if (rc == GLIM_OK) rc = gpu_wait(g, &e);
    if (rc < 0) fail_test("%s\n%s", e.msg, text);
    void *group = gpu_bind(
        g, &pipe, (struct gpu_binding[]){{.slot = 0, .buffer = &p}, {.slot = 2, .buffer = &y}}, 2,
        &e);
    assert_non_null(group);
    gpu_dispatch(g, &pipe, group, 1);
    rig_read(g, &y, got, bytes);
    check(threads, s, got);
    gpu_bind_free(g, group);
    gpu_pipeline_free(g, &pipe);
    gpu_buffer_free(g, &y);
    gpu_buffer_free(g, &p);
    free(text);
}

static void by_workgroup_memory(void **state) {
    struct gpu *g = rig_gpu(&(struct gpu_choice){.floor = true});
    (void)state;
    reduce(g, 64, (struct wgsl_subgroups){SUBGROUPS_NONE, 0});
    reduce(g, 256, (struct wgsl_subgroups){SUBGROUPS_NONE, 0});
    gpu_close(g);
}

static void by_emulated_subgroups(void **state) {
    struct gpu *g = rig_gpu(&(struct gpu_choice){.floor = true});
    (void)state;
    for (u32 lanes = 1; lanes <= 128; lanes *= 2) {
        reduce(g, 64, (struct wgsl_subgroups){SUBGROUPS_EMULATED, lanes});
        reduce(g, 256, (struct wgsl_subgroups){SUBGROUPS_EMULATED, lanes});
    }
    gpu_close(g);
}

/* A GPU that has subgroups, or skip(). */
static struct gpu *with_subgroups(void) {
    struct gpu *g = rig_gpu(NULL);
    if (!gpu_info(g)->subgroups) {
        print_message("the GPU has no subgroups\n");
        gpu_close(g);
        skip();
    }
    return g;
}

static void by_subgroups(void **state) {
    struct gpu *g = with_subgroups();
    (void)state;
    fprintf(stderr, "subgroups of %u to %u\n", gpu_info(g)->subgroup_min,
            gpu_info(g)->subgroup_max);
    reduce(g, 64, (struct wgsl_subgroups){SUBGROUPS_NATIVE, 0});
    reduce(g, 256, (struct wgsl_subgroups){SUBGROUPS_NATIVE, 0});
    gpu_close(g);
}

/* Mesa's software GPU has subgroups as wide as it is told to, but once per process: this program
 * runs itself. Other GPUs do not listen; they are only tested again. */
static void by_subgroups_of_other_widths(void **state) {
    static const struct {
        const char *bits;
        u32 lanes;
    } widths[] = {{"128", 4}, {"512", 16}};
    struct gpu *g = with_subgroups();
    bool listens = strstr(gpu_info(g)->name, "llvmpipe") != NULL;
    (void)state;
    gpu_close(g);
    for (u32 i = 0; i < COUNT(widths); i++) {
        char lanes[12];
        int status;
        snprintf(lanes, sizeof lanes, "%u", listens ? widths[i].lanes : 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            setenv("LP_NATIVE_VECTOR_WIDTH", widths[i].bits, 1);
            execl("/proc/self/exe", "test_gpu_reduce", "--lanes", lanes, (char *)NULL);
            _exit(127);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

/* What the child does. lanes: of the GPU; 0: any. */
static u32 wanted_lanes;
static void by_these_subgroups(void **state) {
    struct gpu *g = with_subgroups();
    u32 lanes = gpu_info(g)->subgroup_min;
    (void)state;
    if (wanted_lanes) assert_int_equal(lanes, wanted_lanes);
    gpu_close(g);
    by_subgroups(NULL);
}

/* A reduction that some threads may not come to is refused, natively as well as emulated: nothing
 * switches these diagnostics off. */
static void only_all_together(void **state) {
    static const char main[] =
        "@group(0) @binding(2) var<storage, read_write> y: array<u32>;\n"
        "@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) lid: u32) {\n"
        "    if (y[0] == 1u) { y[lid] = u32(subgroupAdd(1.0)); }\n"
        "    y[1] = u32(group_sum(lid, 1.0));\n"
        "}\n";
    static const struct wgsl_subgroups kinds[] = {{SUBGROUPS_NATIVE, 0}, {SUBGROUPS_EMULATED, 8}};
    static const enum gpu_access only[GPU_SLOTS] = {[2] = GPU_READ_WRITE};
    struct gpu *g = with_subgroups();
    (void)state;
    for (u32 i = 0; i < COUNT(kinds); i++) {
        char *text = kernel(64, kinds[i], main);
        struct gpu_pipeline pipe;
        glim_err e = {0};
        int rc = gpu_pipeline_begin(g, &pipe, "apart", text, only, &e);
        if (rc == GLIM_OK) rc = gpu_wait(g, &e);
        assert_int_equal(rc, GLIM_DEVICE);
        if (!strstr(e.msg, "uniform control flow")) fail_test("%s", e.msg);
        gpu_pipeline_free(g, &pipe);
        while (gpu_check(g, NULL) < 0) {
        }
        free(text);
    }
    gpu_close(g);
}

/* Kernels use what the device was opened with, and a device is opened with what was asked for. */
static void devices_choose(void **state) {
    static const struct gpu_choice all, plain = {.plain = true}, floor = {.floor = true};
    const struct gpu_choice *const choices[] = {&all, &plain, &floor};
    struct gpu_info has;
    glim_err e = {0};
    (void)state;
    if (gpu_list(GPU_LIBRARY, &has, 1, &e) < 1) skip();
    for (u32 i = 0; i < COUNT(choices); i++) {
        struct gpu_choice c = *choices[i];
        struct device *d;
        c.library = GPU_LIBRARY;
        if (device_open(&d, &c, &mem_libc, &e)) fail_test("%s", e.msg);
        bool uses = has.subgroups && i == 0;
        assert_int_equal(gpu_info(d->gpu)->subgroups, uses);
        assert_int_equal(gpu_info(d->gpu)->timestamps, has.timestamps && i < 2);
        assert_int_equal(d->subgroups.are, uses ? SUBGROUPS_NATIVE : SUBGROUPS_NONE);
        assert_true(i == 2 || gpu_info(d->gpu)->limits.binding >= has.limits.binding / 256 * 256);
        device_close(d);
    }
}

/* Said before anything is opened. */
static void unknown_features_are_refused(void **state) {
    glim_engine *engine;
    glim_err e = {0};
    (void)state;
    glim_engine_params p = {.device = "cpu", .gpu_features = "some"};
    assert_int_equal(glim_engine_open(&engine, &p, &e), GLIM_ARG);
    assert_null(engine);
    assert_non_null(strstr(e.msg, "'some'"));
    assert_non_null(strstr(e.msg, "all, none"));
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--lanes") == 0) {
        const struct CMUnitTest these[] = {cmocka_unit_test(by_these_subgroups)};
        wanted_lanes = (u32)atoi(argv[2]);
        /* Its TAP would mix with the parent's. */
        if (!freopen("/dev/null", "w", stdout)) return 1;
        return cmocka_run_group_tests(these, NULL, NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_workgroup_memory),
        cmocka_unit_test(by_emulated_subgroups),
        cmocka_unit_test(by_subgroups),
        cmocka_unit_test(by_subgroups_of_other_widths),
        cmocka_unit_test(only_all_together),
        cmocka_unit_test(devices_choose),
        cmocka_unit_test(unknown_features_are_refused),
    };
    return cmocka_run_group_tests_name("gpu reduce", tests, NULL, NULL);
}
