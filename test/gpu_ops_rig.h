/* Runs ops on a GPU through exec_gpu: a small program whose inputs come from outside, on a device
 * as it is, on the floor of WebGPU, and with limits so small that what can be split is. After a
 * pass all activations are read back: what no op should have written must be as it was. */
#ifndef TEST_GPU_OPS_RIG_H
#define TEST_GPU_OPS_RIG_H

#include "unit.h"

#include "golden.h"
#include "gpu_rig.h"
#include "isa_util.h"
#include "run/exec_gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPS 0x1p-24 /* half a unit in the last place of 1.0f */

/* ---- Devices --------------------------------------------------------------------------------- */

enum { ON_DEVICE, ON_FLOOR, ON_TINY, ON_SPLIT, ON_COUNT };
/* ON_LANES + n: the floor, with emulated subgroups of n lanes. */
enum { ON_LANES = 1000, MOST_LANES = 128 };
static inline const char *rig_name(u32 on) {
    static const char *const names[] = {"device", "floor", "tiny", "split"};
    static char lanes[MOST_LANES + 1][12];
    if (on < ON_COUNT) return names[on];
    snprintf(lanes[on - ON_LANES], sizeof lanes[0], "lanes %u", on - ON_LANES);
    return lanes[on - ON_LANES];
}
/* Tiny bindings still hold the caches of the attention cases, and those of split the activations of
 * the products whose matrices are to be cut into pieces. */
static const struct gpu_choice rig_choices[] = {
    [ON_DEVICE] = {0},
    [ON_FLOOR] = {.floor = true},
    [ON_TINY] = {.floor = true,
                 .at_most = {.groups_per_dimension = 3, .staging = 64, .binding = 4 << 20}},
    [ON_SPLIT] = {.floor = true,
                  .at_most = {.groups_per_dimension = 3, .staging = 4096, .binding = 40 << 10}},
};
static struct device *rig_devices[ON_COUNT];

static inline struct device *rig_device(u32 on) {
    u32 at = on < ON_COUNT ? on : ON_FLOOR;
    glim_err e = {0};
    if (!rig_devices[at]) {
        struct gpu_choice c = rig_choices[at];
        c.library = GPU_LIBRARY;
        if (device_open(&rig_devices[at], &c, &mem_libc, &e)) fail_test("%s", e.msg);
        rig_devices[at]->subgroups_everywhere = true;
    }
    if (at == ON_FLOOR) { /* what is prepared from now on */
        rig_devices[at]->subgroups = (struct wgsl_subgroups){0};
        if (on != at)
            rig_devices[at]->subgroups = (struct wgsl_subgroups){SUBGROUPS_EMULATED, on - ON_LANES};
    }
    return rig_devices[at];
}
static inline void rig_close_devices(void) {
    for (u32 i = 0; i < ON_COUNT; i++) {
        device_close(rig_devices[i]);
        rig_devices[i] = NULL;
    }
}

/* ---- A program of a few ops ------------------------------------------------------------------ */

enum { RIG_INPUTS = 8, RIG_LAYERS = 3 };

struct op_run {
    const char *where; /* for messages */
    struct device_model model;
    struct arena arena;
    struct prog prog;
    struct kv_layer layers[RIG_LAYERS];
    struct kv_cache cache;
    struct kv_seq seq;
    struct exec_gpu x;
    struct step step;
    struct step_row *rows;   /* [max T]; the test fills it */
    u32 *out_rows;           /* [max R]; likewise */
    const struct draw *draw; /* NULL: none */
    struct {
        struct ref ref;
        const void *rows; /* side by side; a test may point to others before each pass */
    } in[RIG_INPUTS];
    u32 n_in;
    u8 *memory; /* all activations after a pass */
};

/* The program's output while a test looks at other values: numbers that nothing complains of. */
static const f32 rig_lamp[32] = {1, 2, 3};

/* A value that no op makes: times * T rows, or R. */
static inline struct ref run_in(struct op_run *o, const void *rows, enum val_rows kind, u32 times,
                                u32 cols, enum dtype dtype) {
    static const struct weight none = {.name = "input", .rows = 1, .cols = 1};
    struct ref r = prog_weight(&o->prog, &none);
    assert_true(r.val != REF_NONE && o->n_in < RIG_INPUTS);
    u64 bytes = dtype == DT_A8 ? a8_row_bytes(cols) : (u64)cols * sizeof(f32);
    o->prog.vals[r.val] = (struct val){.dtype = dtype,
                                       .rows = kind,
                                       .times = times,
                                       .cols = cols,
                                       .pitch = (bytes + 63) & ~(u64)63};
    r.cols = cols;
    o->in[o->n_in].ref = r;
    o->in[o->n_in++].rows = rows;
    return r;
}
static inline struct ref run_x(struct op_run *o, const f32 *x, u32 cols) {
    return run_in(o, x, ROWS_T, 1, cols, DT_F32);
}

/* At most t rows and r wanted ones. */
static inline void run_begin(struct op_run *o, u32 on, u32 t, u32 r) {
    *o = (struct op_run){.where = rig_name(on), .model = {.device = rig_device(on)}};
    arena_init(&o->arena, &mem_libc);
    prog_init(&o->prog, &o->arena, t, r);
    o->cache.layout.layers = o->layers;
    o->seq.cache = &o->cache;
    o->rows = arena_array(&o->arena, t, sizeof *o->rows);
    o->out_rows = arena_array(&o->arena, r, sizeof *o->out_rows);
    assert_true(o->rows && o->out_rows);
    for (u32 i = 0; i < t; i++)
        o->rows[i].pos = i;
    for (u32 i = 0; i < r; i++)
        o->out_rows[i] = i;
    o->prog.output = run_in(o, NULL, ROWS_R, 1, COUNT(rig_lamp), DT_F32);
}

static inline struct ref run_mat(struct op_run *o, u32 type, const void *data, u32 rows, u32 cols) {
    struct weight *w = arena_array(&o->arena, 1, sizeof *w);
    assert_non_null(w);
    *w = (struct weight){.name = "matrix",
                         .data = data,
                         .type = type,
                         .rows = rows,
                         .cols = cols,
                         .pitch = quant_row_bytes(quant_find(type), cols)};
    return prog_weight(&o->prog, w);
}
static inline struct ref run_vec(struct op_run *o, const f32 *x, u32 n) {
    return x ? run_mat(o, QUANT_F32, x, 1, n) : REF_ABSENT;
}
/* Layers of one kind with room for n positions. */
static inline void run_cache(struct op_run *o, enum kv_kind kind, u32 heads, u32 head_dim, bool f16,
                             u32 n) {
    o->cache.layout.n_layers = RIG_LAYERS;
    o->cache.layout.f16 = f16;
    for (u32 i = 0; i < RIG_LAYERS; i++)
        o->layers[i] = (struct kv_layer){.kind = kind, .n_heads = heads, .head_dim = head_dim};
    o->seq.kinds[kind].max = (n + KV_PAGE - 1) / KV_PAGE;
}

/* After the last op. No two values share memory, so that all can be looked at. */
static inline int run_try(struct op_run *o, glim_err *e) {
    for (u32 i = 0; i < o->prog.n_vals; i++)
        if (!o->prog.vals[i].weight) o->prog.vals[i].last = o->prog.n_ops;
    int rc = prog_plan(&o->prog, e);
    if (rc == GLIM_OK) o->memory = arena_get(&o->arena, o->prog.bytes);
    if (rc == GLIM_OK) rc = exec_gpu_init(&o->x, &o->prog, &o->model, &o->seq, &o->arena, e);
    return rc;
}
static inline void run_ready(struct op_run *o) {
    glim_err e = {0};
    if (run_try(o, &e)) fail_test("%s: %s", o->where, e.msg);
}

static inline const struct val *run_val(const struct op_run *o, struct ref r) {
    return &o->prog.vals[r.val];
}
static inline u32 run_rows(const struct op_run *o, struct ref r) {
    const struct val *v = run_val(o, r);
    return (v->rows == ROWS_R ? o->step.r : o->step.t) * v->times;
}
static inline u64 val_row_bytes(const struct val *v) {
    return v->dtype == DT_A8 ? a8_row_bytes(v->cols) : (u64)v->cols * sizeof(f32);
}
/* Row i of a value after a pass. */
static inline const void *run_row(const struct op_run *o, struct ref r, u32 i) {
    const struct val *v = run_val(o, r);
    return o->memory + v->offset + i * v->pitch;
}
static inline f64 run_at(const struct op_run *o, struct ref r, u32 i, u32 col) {
    return (f64)((const f32 *)run_row(o, r, i))[col];
}

/* The bytes of memory that ops write become those of the result: what is compared is the rest. */
static inline void accept_outputs(const struct op_run *o, u8 *before) {
    for (u32 i = 0; i < o->prog.n_ops; i++) {
        const struct op *op = &o->prog.ops[i];
        if (op_info(op->code)->operands[0].role != ROLE_OUT) continue;
        const struct val *v = run_val(o, op->args[0]);
        for (u32 k = 0; k < run_rows(o, op->args[0]); k++) {
            u64 at = v->offset + k * v->pitch;
            memcpy(before + at, o->memory + at, val_row_bytes(v));
        }
    }
}

/* A pass with o->rows[0..t), o->out_rows[0..r). Memory that is no input is NaN before. */
static inline void run_pass(struct op_run *o, u32 t, u32 r) {
    glim_err e = {0};
    u8 *before = malloc(o->prog.bytes);
    assert_non_null(before);
    memset(before, 0xff, o->prog.bytes);
    o->step =
        (struct step){.rows = o->rows, .t = t, .out_rows = o->out_rows, .r = r, .draw = o->draw};
    for (u32 i = 0; i < o->n_in; i++) {
        const struct val *v = run_val(o, o->in[i].ref);
        for (u32 k = 0; k < run_rows(o, o->in[i].ref); k++) {
            const u8 *row = (const u8 *)o->in[i].rows + k * val_row_bytes(v);
            memcpy(before + v->offset + k * v->pitch, i ? row : (const u8 *)rig_lamp,
                   val_row_bytes(v));
        }
    }
    int rc = gpu_write(o->x.device->gpu, &o->x.memory, 0, before, o->prog.bytes, &e);
    while (rc == GLIM_OK &&
           (rc = exec_gpu_run(&o->x, &o->step, NULL, UINT64_MAX / 4, &e)) == GLIM_AGAIN)
        rc = GLIM_OK;
    if (rc < 0) fail_test("%s: %s", o->where, e.msg);
    rig_read(o->x.device->gpu, &o->x.memory, o->memory, o->prog.bytes);
    accept_outputs(o, before);
    for (u64 i = 0; i < o->prog.bytes; i++) {
        if (before[i] == o->memory[i]) continue;
        fail_test("%s: byte %llu of the activations was written, which no op has as its output",
                  o->where, (unsigned long long)i);
    }
    free(before);
}

static inline void run_end(struct op_run *o) {
    exec_gpu_free(&o->x);
    device_model_free(&o->model);
    arena_free(&o->arena);
}

/* Fills the cache's layers with NaN, in both formats: reading what was not stored would show. */
static inline void run_poison(struct op_run *o) {
    for (u32 i = 0; i < o->x.n_caches; i++) {
        const struct gpu_buffer *b = &o->x.caches[i];
        u8 *bytes = malloc(b->bytes);
        glim_err e = {0};
        assert_non_null(bytes);
        memset(bytes, 0xff, b->bytes);
        if (gpu_write(o->x.device->gpu, b, 0, bytes, b->bytes, &e)) fail_test("%s", e.msg);
        free(bytes);
    }
}

/* The most workgroups that a dispatch of the last pass had. */
static inline u32 run_most_groups(const struct op_run *o) {
    u32 most = 0;
    for (u32 i = 0; i < o->x.n_launches; i++)
        most = MAX(most, o->x.params_words[o->x.launches[i].params_at]);
    return most;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* WGSL's accuracy, in units in the last place (2 EPS): 2.5 for a division, 3 + 2 |x| for exp(x). */
static const f64 DIVISION = 5 * EPS;
static inline f64 exp_error(f64 x) {
    return (6 + 4 * fabs(x)) * EPS;
}

/* n random numbers in [-1, 1) in the run's arena. */
static inline f32 *run_random(struct op_run *o, u64 n) {
    f32 *x = arena_array(&o->arena, n, sizeof *x);
    assert_non_null(x);
    for (u64 i = 0; i < n; i++)
        x[i] = rng_f32();
    return x;
}

/* |x - want| <= bound, and x is no NaN. */
static inline void near_one(const char *where, const char *what, u32 row, u32 col, f64 x, f64 want,
                            f64 bound) {
    if (fabs(x - want) <= bound) return;
    fail_test("%s, %s: [%u,%u] is %.9g, expected %.9g, off by %g, allowed %g", where, what, row,
              col, x, want, fabs(x - want), bound);
}
/* Every value within `relative` times the largest magnitude of its row; something is not zero. */
static inline void near_all(const struct op_run *o, const char *what, struct ref y,
                            struct golden want, f64 relative) {
    f64 any = 0;
    assert_int_equal(run_rows(o, y), want.rows);
    assert_int_equal(run_val(o, y)->cols, want.cols);
    for (u32 i = 0; i < want.rows; i++) {
        const f32 *w = want.x + (size_t)i * want.cols;
        f64 top = 0;
        for (u32 j = 0; j < want.cols; j++)
            top = MAX(top, fabs((f64)w[j]));
        for (u32 j = 0; j < want.cols; j++)
            near_one(o->where, what, i, j, run_at(o, y, i, j), (f64)w[j], relative * top);
        any = MAX(any, top);
    }
    assert_true(any > 0);
}

/* Lists a test on each device, which is its state. */
#define ON_EACH(test)                                                                              \
    {#test " on device", test, NULL, NULL, (void *)ON_DEVICE},                                     \
        {#test " on floor", test, NULL, NULL, (void *)ON_FLOOR}, {                                 \
#test " on tiny", test, NULL, NULL, (void *)ON_TINY                                        \
    }
/* And one that reduces at widths of subgroups that GPUs have. */
#define ON_WIDTH(test, n)                                                                          \
    { #test " on lanes " #n, test, NULL, NULL, (void *)(ON_LANES + n) }
#define ON_WIDTHS(test)                                                                            \
    ON_WIDTH(test, 4), ON_WIDTH(test, 8), ON_WIDTH(test, 16), ON_WIDTH(test, 32),                  \
        ON_WIDTH(test, 64), ON_WIDTH(test, 128)
static inline u32 test_on(void **state) {
    return (u32)(uintptr_t)*state;
}

#endif
