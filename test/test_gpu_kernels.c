/* Every kernel in every variant: the text that is composed compiles, and keeps to the least that a
 * WebGPU device has, but for subgroups, for which there are texts of their own. With --wgsl DIR,
 * writes the texts to files instead (make wgsl). */
#include "unit.h"

#include "gpu_rig.h"
#include "kern/quant.h"
#include "kern/wgsl.h"

#include <stdlib.h>
#include <string.h>

typedef void variant_fn(void *ud, const struct wgsl_variant *v, const char *name, const char *text);

static bool has_role(enum op_code op, enum op_role role, enum dtype dtype) {
    const struct op_info *info = op_info(op);
    for (u32 i = 0; i < OP_OPERANDS && info->operands[i].role; i++) {
        if (info->operands[i].role == role && (dtype == DT_ANY || info->operands[i].dtype == dtype))
            return true;
    }
    return false;
}

static bool has_any(enum op_code op) {
    const struct op_info *info = op_info(op);
    for (u32 i = 0; i < OP_OPERANDS && info->operands[i].role; i++) {
        if (info->operands[i].dtype == DT_ANY && info->operands[i].role == ROLE_IN) return true;
    }
    return false;
}

static void compose(variant_fn *fn, void *ud, const struct wgsl_variant *v) {
    const struct quant *q = quant_find(v->type);
    char name[100];
    size_t size = wgsl_compose(v, NULL, 0) + 1;
    char *text = malloc(size);
    assert_non_null(text);
    assert_int_equal(wgsl_compose(v, text, size), size - 1);
    assert_int_equal(strlen(text), size - 1);
    snprintf(name, sizeof name, "%s%s%s%s%s%s%s%s%s", op_info(v->op)->name,
             has_role(v->op, ROLE_MAT, DT_ANY) ? "." : "",
             has_role(v->op, ROLE_MAT, DT_ANY) ? q->name : "", v->tile ? ".tile" : "",
             v->x_a8 ? ".a8" : "", v->kv_f16 ? ".f16" : "", v->has_v1 ? ".v1" : "",
             v->has_v2 ? ".v2" : "", v->subgroups.are ? ".subgroups" : "");
    /* Kernels that do not reduce are the same. */
    if (!v->subgroups.are || strncmp(text, "enable", 6) == 0) fn(ud, v, name, text);
    free(text);
}

/* All that can be told apart: formats of matrices, f32 or int8 inputs, both forms, number formats
 * of caches, vectors there or not. With subgroups: those that use them. */
static void each_variant(variant_fn *fn, void *ud, bool subgroups) {
    for (u32 op = 0; op < OP_COUNT; op++) {
        bool mat = has_role(op, ROLE_MAT, DT_ANY), conv = op == OP_CONV || op == OP_CONV_STORE;
        bool forms = op == OP_MATMUL || op == OP_EXPERT,
             cache = op == OP_ATTEND || op == OP_KV_STORE;
        bool vec = has_role(op, ROLE_OPT_VEC, DT_ANY);
        for (u32 type = 0; type < (mat ? QUANT_TYPES : 1u); type++) {
            if (!quant_find(type) || (op == OP_CONV && type != QUANT_F32)) continue;
            for (u32 bits = 0; bits < 16; bits++) {
                struct wgsl_variant v = {.op = op,
                                         .type = type,
                                         .x_a8 = bits & 1,
                                         .tile = bits >> 1 & 1,
                                         .kv_f16 = bits >> 2 & 1,
                                         .has_v1 = bits >> 3 & 1,
                                         .head_dim = cache || conv ? 64 : 0};
                if (subgroups) v.subgroups.are = SUBGROUPS_NATIVE;
                if (op == OP_ROPE_ANGLES) v.has_v1 = true;
                if (op == OP_ROUTE) v.has_v2 = v.has_v1;
                bool possible = (!v.x_a8 || has_any(op)) && (!v.tile || forms) &&
                                (!v.kv_f16 || cache) && (!(bits >> 3 & 1) || vec);
                if (possible) compose(fn, ud, &v);
            }
        }
    }
}

struct made {
    struct gpu *gpu;
    struct gpu_pipeline *pipelines;
    char (*names)[100];
    u32 n;
};

static void make(void *ud, const struct wgsl_variant *v, const char *name, const char *text) {
    struct made *m = ud;
    enum gpu_access slots[GPU_SLOTS] = {GPU_PARAMS};
    glim_err e = {0};
    u32 storage = 0, mask = wgsl_bindings(v);
    assert_true(mask & 1);
    for (u32 i = 1; i < GPU_SLOTS; i++) {
        if (!(mask >> i & 1)) continue;
        slots[i] = i == WGSL_ACT || i == WGSL_KV ? GPU_READ_WRITE : GPU_READ;
        storage++;
    }
    assert_true(storage <= gpu_floor.storage_buffers);
    assert_true(m->n < 1000);
    snprintf(m->names[m->n], sizeof m->names[0], "%s", name);
    if (gpu_pipeline_begin(m->gpu, &m->pipelines[m->n], m->names[m->n], text, slots, &e))
        fail_test("%s: %s", name, e.msg);
    m->n++;
}

/* All that g can have; closes it. */
static void compile(struct gpu *g, bool subgroups, u32 at_least) {
    glim_err e = {0};
    struct made m = {.gpu = g};
    m.pipelines = calloc(1000, sizeof *m.pipelines);
    m.names = calloc(1000, sizeof *m.names);
    each_variant(make, &m, subgroups);
    if (gpu_wait(m.gpu, &e)) fail_test("%s", e.msg);
    print_message("%u kernels\n", m.n);
    assert_true(m.n > at_least);
    for (u32 i = 0; i < m.n; i++)
        gpu_pipeline_free(m.gpu, &m.pipelines[i]);
    gpu_close(m.gpu);
    free(m.pipelines);
    free(m.names);
}

/* Compilers (Dawn's, and Firefox's for long) do not clear a variable that a loop declares without a
 * value each time round, as they should. So each variable of a function is given one. */
static void has_values(void *ud, const struct wgsl_variant *v, const char *name, const char *text) {
    (void)v;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t in = strspn(line, " "), n = strcspn(line, ";\n");
        if (in == 0 || strncmp(line + in, "var ", 4) != 0) continue;
        if (!memchr(line, '=', n)) fail_test("%s: no value: %.*s", name, (int)n, line);
        ++*(u32 *)ud;
    }
}
static void test_variables_have_values(void **state) {
    (void)state;
    u32 variables = 0;
    each_variant(has_values, &variables, false);
    each_variant(has_values, &variables, true);
    assert_true(variables > 1000);
}

static void test_all_compile(void **state) {
    (void)state;
    compile(rig_gpu(&(struct gpu_choice){.floor = true}), false, 200);
}

static void test_all_with_subgroups_compile(void **state) {
    (void)state;
    struct gpu *g = rig_gpu(NULL);
    if (gpu_info(g)->subgroups) {
        compile(g, true, 50);
        return;
    }
    print_message("the GPU has no subgroups\n");
    gpu_close(g);
    skip();
}

static void write_file(void *ud, const struct wgsl_variant *v, const char *name, const char *text) {
    char path[300];
    (void)v;
    snprintf(path, sizeof path, "%s/%s.wgsl", (const char *)ud, name);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--wgsl") == 0) {
        each_variant(write_file, argv[2], false);
        each_variant(write_file, argv[2], true);
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_variables_have_values),
                                       cmocka_unit_test(test_all_compile),
                                       cmocka_unit_test(test_all_with_subgroups_compile)};
    return cmocka_run_group_tests_name("gpu kernels", tests, NULL, NULL);
}
