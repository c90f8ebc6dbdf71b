/* Programs: what recording refuses, what planning promises (on random programs), and the golden
 * dumps of every architecture's forward pass. After a change that is meant to alter them:
 *     build/release/test/test_prog --write     then review the difference of the dumps in
 * test/data/
 */
#include "edit_gguf.h"

#include "isa_util.h"
#include "model/model.h"
#include "run/exec_cpu.h"

/* ---- Refusals -------------------------------------------------------------------------------- */

static struct arena arena;
static struct prog prog;

static f32 numbers[64];
static struct weight weight(const char *name, u32 rows, u32 cols) {
    return (struct weight){.name = name,
                           .data = (const u8 *)numbers,
                           .type = QUANT_F32,
                           .rows = rows,
                           .cols = cols,
                           .pitch = 4ull * cols};
}
static struct ref record(enum op_code code, struct ref a, struct ref b, struct ref c) {
    static const u32 params[OP_PARAMS];
    struct ref in[OP_OPERANDS] = {a, b, c};
    return prog_op(&prog, code, in, 16, params);
}
#define NO REF_ABSENT

static const struct weight table = {"table", (const u8 *)numbers, QUANT_F32, 4, 16, 64, NULL};
static const struct weight narrow = {"narrow", (const u8 *)numbers, QUANT_F32, 4, 8, 32, NULL};
static struct ref x, s; /* [T,16] and [T,8] */

static void begin(void) {
    arena_init(&arena, &mem_libc);
    prog_init(&prog, &arena, 8, 4);
    x = record(OP_EMBED, prog_weight(&prog, &table), NO, NO);
    s = record(OP_EMBED, prog_weight(&prog, &narrow), NO, NO);
    assert_int_equal(prog.err.code, 0);
}

/* The last recording was refused in these words, sticks, and records nothing. */
static void refused(struct ref r, const char *message) {
    u32 n_ops = prog.n_ops, n_vals = prog.n_vals;
    assert_int_equal(r.val, REF_NONE);
    assert_int_equal(prog.err.code, GLIM_SHAPE);
    if (!strstr(prog.err.msg, message)) fail_test("'%s', expected '%s'", prog.err.msg, message);
    struct weight w = weight("late", 4, 16);
    struct ref late = prog_weight(&prog, &w);
    assert_int_equal(record(OP_EMBED, late, NO, NO).val, REF_NONE);
    assert_int_equal(prog.n_ops, n_ops);
    assert_true(prog.n_vals <= n_vals + 1);
    glim_err e = {0};
    assert_int_equal(prog_plan(&prog, &e), GLIM_SHAPE);
    assert_string_equal(e.msg, prog.err.msg);
    arena_free(&arena);
}

static void test_refusals(void **state) {
    (void)state;
    const struct weight norm = weight("norm", 1, 16), matrix = weight("matrix", 8, 16);
    struct weight half = weight("half", 1, 16);
    half.type = QUANT_F16;
    begin();
    refused(record(OP_ADD, x, NO, NO), "op 2 (add): operand 'b' is missing");
    begin();
    refused(record(OP_MATMUL, x, NO, NO), "op 2 (matmul): operand 'w' is missing");
    begin();
    refused(record(OP_KV_STORE, x, NO, NO), "(kv_store): operand 'v' is missing");
    begin();
    refused(record(OP_ADD, x, s, NO), "(add): operand 'b' has the wrong number of columns");
    begin();
    refused(record(OP_MATMUL, s, prog_weight(&prog, &matrix), NO),
            "(matmul): operand 'w' has the wrong number of columns");
    begin();
    refused(record(OP_MATMUL, x, x, NO), "(matmul): operand 'w' is no weight");
    begin();
    refused(record(OP_ADD, x, prog_weight(&prog, &norm), NO), "(add): operand 'b' is a weight");
    begin();
    refused(record(OP_ADD, x, record(OP_QUANTIZE, x, NO, NO), NO),
            "(add): operand 'b' has the wrong type");
    begin();
    refused(record(OP_RMS_NORM, record(OP_QUANTIZE, x, NO, NO), NO, NO),
            "(rms_norm): operand 'x' has the wrong type");
    begin();
    refused(record(OP_RMS_NORM, x, prog_weight(&prog, &half), NO),
            "(rms_norm): operand 'w' is not F32");
    begin();
    refused(record(OP_RMS_NORM, x, prog_weight(&prog, &matrix), NO),
            "(rms_norm): operand 'w' has the wrong number of rows");
    begin();
    refused(record(OP_ADD, record(OP_PICK, x, NO, NO), x, NO), "(add): operand 'b' has other rows");
    begin();
    refused(record(OP_SWIGLU, x, record(OP_PICK, x, NO, NO), NO),
            "(swiglu): operand 'up' has other rows");
    begin();
    refused(prog_slice(&prog, x, 10, 7), "slice 10+7 of a value of 16 columns");
    begin();
    refused(prog_slice(&prog, x, 17, 0), "slice 17+0");
    begin();
    refused(prog_slice(&prog, x, 1, UINT32_MAX), "slice 1+4294967295");
    begin();
    refused(prog_slice(&prog, record(OP_QUANTIZE, x, NO, NO), 0, 8), "slice");
}

static void test_what_is_right(void **state) {
    (void)state;
    const struct weight matrix = weight("matrix", 8, 16);
    begin();
    struct ref half = prog_slice(&prog, x, 8, 8), part = prog_slice(&prog, half, 2, 4);
    assert_int_equal(part.col, 10);
    assert_int_equal(record(OP_ADD, half, s, NO).cols, 8);
    assert_int_equal(record(OP_MATMUL, x, prog_weight(&prog, &matrix), NO).cols, 8);
    struct ref r = record(OP_PICK, x, NO, NO);
    assert_int_equal(prog.vals[record(OP_RMS_NORM, r, NO, NO).val].rows, ROWS_R);
    assert_int_equal(prog.err.code, 0);
    arena_free(&arena);
}

/* No memory for the records: said once, by the plan. */
static void *no_memory(void *ud, void *p, size_t old_size, size_t new_size) {
    (void)ud, (void)p, (void)old_size, (void)new_size;
    return NULL;
}
static void test_no_memory(void **state) {
    (void)state;
    const glim_alloc none = {no_memory, NULL};
    struct weight w = weight("w", 4, 16);
    glim_err e = {0};
    arena_init(&arena, &none);
    prog_init(&prog, &arena, 8, 4);
    assert_int_equal(record(OP_EMBED, prog_weight(&prog, &w), NO, NO).val, REF_NONE);
    assert_int_equal(prog_plan(&prog, &e), GLIM_NOMEM);
    assert_non_null(strstr(e.msg, "out of memory"));
    arena_free(&arena);
}

/* ---- Random programs ------------------------------------------------------------------------- */

enum { LAYERS = 3, MAX_T = 40, MAX_R = 7, CTX = 48 };
enum { N_WIDTHS = 3 };
static const u32 widths[N_WIDTHS] = {32, 96, 512};
static struct weight matrices[N_WIDTHS][N_WIDTHS], tables[N_WIDTHS], norms[N_WIDTHS];

static u32 width_index(u32 cols) {
    return cols == widths[0] ? 0 : cols == widths[1] ? 1 : 2;
}

static struct weight random_matrix(struct arena *a, u32 type, u32 rows, u32 cols) {
    const struct quant *q = quant_find(type);
    u64 n = (u64)rows * cols;
    f32 *values = arena_array(a, n, sizeof *values);
    u8 *p = arena_get(a, quant_row_bytes(q, n));
    for (u64 i = 0; i < n; i++)
        values[i] = rng_f32() / 8;
    if (type == QUANT_F32)
        memcpy(p, values, n * sizeof *values);
    else
        edit_quantise(type, values, n, p);
    return (struct weight){"w", p, type, rows, cols, quant_row_bytes(q, cols), NULL};
}

/* Values of the program so far that an operand may be. */
struct pool_of_refs {
    struct ref r[512];
    u32 n;
};
static struct ref choose(const struct pool_of_refs *p, const struct ref *like, enum dtype dtype) {
    struct ref found = REF_ABSENT;
    u32 seen = 0;
    for (u32 i = 0; i < p->n; i++) { /* each of those that fit with the same chance */
        const struct val *v = &prog.vals[p->r[i].val];
        if (v->dtype != dtype) continue;
        if (like && (p->r[i].cols != like->cols || v->rows != prog.vals[like->val].rows)) continue;
        if (rng() % ++seen == 0) found = p->r[i];
    }
    return found;
}

/* One random op on values made before. */
static void random_op(struct pool_of_refs *pool) {
    static const u32 layer_heads = 2, head_dim = 16; /* KV width 32 */
    struct ref any = choose(pool, NULL, DT_F32), out = REF_ABSENT;
    u32 wx = width_index(any.cols), wide = rng() % N_WIDTHS;
    struct ref in[OP_OPERANDS] = {any, choose(pool, &any, DT_F32)};
    bool of_t = prog.vals[any.val].rows == ROWS_T;
    switch (rng() % 11) {
    case 0: {
        struct embed_params p = {1};
        in[0] = prog_weight(&prog, &tables[wide]);
        out = prog_op(&prog, OP_EMBED, in, 0, &p);
        break;
    }
    case 1:
    case 2: {
        struct rms_norm_params p = {any.cols, 1e-5f};
        in[1] = prog_weight(&prog, &norms[wx]);
        out = prog_op(&prog, rng() % 2 ? OP_RMS_NORM : OP_RMS_NORM_Q, in, 0, &p);
        break;
    }
    case 3: {
        struct add_params p = {0.5f};
        out = prog_op(&prog, OP_ADD, in, 0, &p);
        break;
    }
    case 4: {
        static const enum op_code gates[] = {OP_SWIGLU, OP_SWIGLU_Q, OP_GEGLU, OP_GEGLU_Q};
        out = prog_op(&prog, gates[rng() % COUNT(gates)], in, 0, NULL);
        break;
    }
    case 5:
        out = prog_op(&prog, OP_QUANTIZE, in, 0, NULL);
        break;
    case 6:
    case 7: {
        struct ref q = choose(pool, NULL, DT_A8);
        if (rng() % 2 && q.val != REF_NONE) in[0] = q;
        in[1] = prog_weight(&prog, &matrices[wide][width_index(in[0].cols)]);
        in[2] = rng() % 2 ? prog_weight(&prog, &norms[wide]) : REF_ABSENT; /* a bias */
        out = prog_op(&prog, OP_MATMUL, in, 0, NULL);
        break;
    }
    case 8:
        if (of_t) out = prog_op(&prog, OP_PICK, in, 0, NULL);
        break;
    case 9: {
        struct kv_store_params p = {rng() % LAYERS};
        if (of_t && any.cols == layer_heads * head_dim) prog_op(&prog, OP_KV_STORE, in, 0, &p);
        break;
    }
    default: {
        struct attend_params p = {rng() % LAYERS, head_dim, 0.25f, 0, 0};
        if (of_t) out = prog_op(&prog, OP_ATTEND, in, 0, &p);
    }
    }
    if (out.val == REF_NONE) return;
    pool->r[pool->n++] = out;
    if (prog.vals[out.val].dtype == DT_F32 && out.cols == 512 && rng() % 2) /* a slice of it */
        pool->r[pool->n++] = prog_slice(&prog, out, 32 * (rng() % 13), 96);
}

static void random_program(void) {
    struct pool_of_refs pool = {.n = 0};
    struct embed_params p = {1};
    for (u32 i = 0; i < N_WIDTHS; i++) {
        struct ref in[OP_OPERANDS] = {prog_weight(&prog, &tables[i])};
        pool.r[pool.n++] = prog_op(&prog, OP_EMBED, in, 0, &p);
    }
    for (u32 i = 0; i < LAYERS; i++) { /* no layer is read before it was written */
        struct kv_store_params kp = {i};
        struct ref in[OP_OPERANDS] = {pool.r[0], pool.r[0]};
        prog_op(&prog, OP_KV_STORE, in, 0, &kp);
    }
    for (u32 i = 0, n = 20 + rng() % 100; i < n; i++)
        random_op(&pool);
    struct ref in[OP_OPERANDS] = {choose(&pool, NULL, DT_F32)};
    in[1] = prog_weight(&prog, &matrices[2][width_index(in[0].cols)]);
    in[2] = REF_ABSENT;
    prog.output = prog_op(&prog, OP_MATMUL, in, 0, NULL);
    while (rng() % 3) /* ops behind it must leave it alone */
        random_op(&pool);
    if (prog.err.code) fail_test("%s", prog.err.msg);
}

static u64 size_of(const struct val *v) {
    return v->pitch * (v->rows == ROWS_R ? prog.max_r : prog.max_t);
}
static bool overlap(u32 a, u32 b) {
    const struct val *v = &prog.vals[a], *w = &prog.vals[b];
    return v->offset < w->offset + size_of(w) && w->offset < v->offset + size_of(v);
}

/* First and last op that touches each value, found here from the ops alone. */
struct life {
    u32 first, last;
};
static struct life *lives(void) {
    struct life *l = calloc(prog.n_vals, sizeof *l);
    assert_non_null(l);
    for (u32 v = 0; v < prog.n_vals; v++)
        l[v].first = UINT32_MAX;
    for (u32 i = 0; i < prog.n_ops; i++) {
        for (u32 j = 0; j < OP_OPERANDS && op_info(prog.ops[i].code)->operands[j].role; j++) {
            u32 v = prog.ops[i].args[j].val;
            if (v == REF_NONE) continue;
            l[v].first = MIN(l[v].first, i);
            l[v].last = i;
        }
    }
    l[prog.output.val].last = prog.n_ops;
    return l;
}

static u32 check_memory(void) {
    struct life *l = lives();
    u64 sum = 0, most = 0;
    for (u32 a = 0; a < prog.n_vals; a++) {
        if (prog.vals[a].weight) continue;
        const struct val *v = &prog.vals[a];
        assert_int_equal(v->offset % 64, 0);
        assert_int_equal(v->pitch % 64, 0);
        assert_true(v->offset + size_of(v) <= prog.bytes);
        sum += size_of(v);
        most = MAX(most, v->offset + size_of(v));
        for (u32 b = 0; b < a; b++) {
            if (prog.vals[b].weight) continue;
            if (l[a].first <= l[b].last && l[b].first <= l[a].last && overlap(a, b))
                fail_test("values %u and %u live together in the same memory", a, b);
        }
    }
    free(l);
    assert_int_equal(most, prog.bytes);
    return (u32)(100 * prog.bytes / sum);
}

static bool cache_op(const struct op *o) {
    return o->code == OP_KV_STORE || o->code == OP_ATTEND;
}
/* Must all threads have finished op a before one begins op b? */
static bool hazard(const struct op *a, const struct op *b) {
    for (u32 i = 0; i < OP_OPERANDS && op_info(a->code)->operands[i].role; i++) {
        for (u32 j = 0; j < OP_OPERANDS && op_info(b->code)->operands[j].role; j++) {
            u32 v = a->args[i].val, w = b->args[j].val;
            if (v == REF_NONE || w == REF_NONE || prog.vals[v].weight || prog.vals[w].weight)
                continue;
            bool writes = op_info(a->code)->operands[i].role == ROLE_OUT ||
                          op_info(b->code)->operands[j].role == ROLE_OUT;
            if (writes && overlap(v, w)) return true;
        }
    }
    return cache_op(a) && cache_op(b) && a->params[0] == b->params[0] &&
           (a->code == OP_KV_STORE || b->code == OP_KV_STORE);
}
static void check_meetings(void) {
    for (u32 i = 0; i < prog.n_ops; i++) {
        bool met = false;
        for (u32 j = i + 1; j < prog.n_ops && !met; j++) {
            met = prog.ops[j].sync;
            if (!met && hazard(&prog.ops[i], &prog.ops[j]))
                fail_test("op %u depends on op %u and threads do not meet between", j, i);
        }
    }
}

/* ---- Running them ---------------------------------------------------------------------------- */

/* One sequence in pages, and a step of t rows. */
struct bench {
    struct kv_layer layers[LAYERS];
    struct kv_layout layout;
    u8 *pages[CTX / KV_PAGE + 1];
    struct step_seq seq;
    struct step_row rows[MAX_T];
    u32 out_rows[MAX_R];
    struct step step;
    u8 *memory;
    u64 bytes;
};
static void bench_make(struct bench *b, u32 t, u32 r) {
    u64 half = 2ull * 16 * KV_PAGE * 4, page = 2 * LAYERS * half;
    for (u32 i = 0; i < LAYERS; i++) {
        b->layers[i] = (struct kv_layer){
            .k_off = 2 * i * half, .v_off = (2 * i + 1) * half, .n_heads = 2, .head_dim = 16};
    }
    b->layout = (struct kv_layout){
        .layers = b->layers, .n_layers = LAYERS, .page_bytes = {[KV_FULL] = page}};
    b->bytes = page * COUNT(b->pages);
    b->memory = arena_get(&arena, b->bytes);
    for (u32 i = 0; i < COUNT(b->pages); i++)
        b->pages[i] = b->memory + i * page;
    b->seq = (struct step_seq){.pages = {[KV_FULL] = b->pages},
                               .n_pages = {[KV_FULL] = COUNT(b->pages)}};
    for (u32 i = 0; i < t; i++)
        b->rows[i] = (struct step_row){.id = (i32)(rng() % 64), .pos = i};
    for (u32 i = 0; i < r; i++)
        b->out_rows[i] = i * t / r;
    b->step = (struct step){.rows = b->rows,
                            .t = t,
                            .out_rows = b->out_rows,
                            .r = r,
                            .seqs = &b->seq,
                            .kv = &b->layout};
}

/* Runs the program as it stands; returns its output rows, to be freed. */
static f32 *run(struct bench *b, struct engine *g, u64 budget) {
    struct exec_cpu exec;
    struct arena a;
    glim_err e = {0};
    u32 at = 0, cols = prog.output.cols;
    u32 rows = prog.vals[prog.output.val].rows == ROWS_R ? b->step.r : b->step.t;
    arena_init(&a, &mem_libc);
    if (exec_cpu_init(&exec, &prog, &a, &e)) fail_test("%s", e.msg);
    memset(b->memory, 0, b->bytes);
    while (exec_cpu_run(&exec, g, &b->step, &at, budget) == GLIM_AGAIN)
        assert_true(at < prog.n_ops);
    f32 *out = malloc((size_t)rows * cols * sizeof *out);
    assert_non_null(out);
    for (u32 i = 0; i < rows; i++)
        memcpy(out + (size_t)i * cols, exec_cpu_logits(&exec, i), cols * sizeof *out);
    arena_free(&a);
    return out;
}

/* Every value in memory of its own, threads meeting before every op: what is surely right. */
static void spread_out(void) {
    u64 at = 0;
    for (u32 i = 0; i < prog.n_vals; i++) {
        if (prog.vals[i].weight) continue;
        prog.vals[i].offset = at;
        at += size_of(&prog.vals[i]);
    }
    prog.bytes = at;
    for (u32 i = 0; i < prog.n_ops; i++)
        prog.ops[i].sync = true;
}

static void test_random_programs(void **state) {
    (void)state;
    struct engine *engines[3];
    struct arena weights;
    glim_err e = {0};
    u64 percent = 0;
    arena_init(&weights, &mem_libc);
    for (u32 i = 0; i < N_WIDTHS; i++) {
        tables[i] = random_matrix(&weights, QUANT_F32, 64, widths[i]);
        norms[i] = random_matrix(&weights, QUANT_F32, 1, widths[i]);
        for (u32 j = 0; j < N_WIDTHS; j++) {
            matrices[i][j] =
                random_matrix(&weights, j ? QUANT_Q8_0 : QUANT_Q4_0, widths[i], widths[j]);
        }
    }
    for (u32 i = 0; i < 3; i++) {
        glim_engine_params p = {.n_threads = i + 1};
        if (engine_open(&engines[i], &p, &e)) fail_test("%s", e.msg);
    }
    enum { ROUNDS = 60 };
    for (u32 round = 0; round < ROUNDS; round++) {
        u32 max_t = 1 + rng() % MAX_T, max_r = 1 + rng() % MIN(max_t, (u32)MAX_R);
        arena_init(&arena, &mem_libc);
        prog_init(&prog, &arena, max_t, max_r);
        random_program();
        if (prog_plan(&prog, &e)) fail_test("%s", e.msg);
        percent += check_memory();
        check_meetings();
        struct bench b;
        u32 t = 1 + rng() % max_t, r = rng() % (MIN(max_r, t) + 1);
        bench_make(&b, t, MAX(r, 1u));
        f32 *got[6];
        for (u32 i = 0; i < 6; i++)
            got[i] = run(&b, engines[i % 3], i < 3 ? UINT32_MAX : 0);
        spread_out();
        f32 *want = run(&b, engines[0], UINT32_MAX);
        u32 rows = prog.vals[prog.output.val].rows == ROWS_R ? b.step.r : b.step.t;
        for (u32 i = 0; i < 6; i++) {
            assert_memory_equal(got[i], want, (size_t)rows * prog.output.cols * sizeof *want);
            free(got[i]);
        }
        free(want);
        arena_free(&arena);
    }
    assert_true(percent / ROUNDS < 90); /* memory is used again */
    for (u32 i = 0; i < 3; i++)
        engine_close(engines[i]);
    arena_free(&weights);
}

/* ---- Dumps ----------------------------------------------------------------------------------- */

static bool write_dumps;

static void check_dump(const char *model_path, bool exact, const char *path) {
    struct model m;
    glim_err e = {0};
    if (model_open(&m, model_path, &mem_libc, &e)) fail_test("%s", e.msg);
    arena_init(&arena, &mem_libc);
    prog_init(&prog, &arena, 512, 1);
    if (model_build(&m, &prog, exact, &e)) fail_test("%s", e.msg);
    size_t n = prog_dump(&prog, NULL, 0);
    char *text = malloc(n + 1), *want = calloc(1, n + 2), small[40];
    assert_true(text && want);
    assert_int_equal(prog_dump(&prog, text, n + 1), n);
    assert_int_equal(strlen(text), n);
    assert_int_equal(prog_dump(&prog, small, sizeof small), n); /* as much as fits */
    assert_int_equal(strlen(small), sizeof small - 1);
    assert_memory_equal(small, text, sizeof small - 1);
    bool same = true;
    FILE *f = fopen(path, write_dumps ? "wb" : "rb");
    if (!f) fail_test("cannot open %s", path);
    if (write_dumps) {
        assert_int_equal(fwrite(text, 1, n, f), n);
    } else {
        size_t got = fread(want, 1, n + 1, f);
        same = got == n && memcmp(text, want, n) == 0;
    }
    fclose(f);
    free(text), free(want);
    arena_free(&arena);
    model_close(&m);
    if (!same) fail_test("the program is no longer %s", path);
}

static void test_dumps(void **state) {
    (void)state;
    static const char *const names[] = {"llama",  "qwen2",      "qwen3",        "granite",
                                        "gemma3", "gemma4-e2b", "gemma4-large", "gemma4-moe",
                                        "lfm2",   "lfm2moe"};
    for (u32 i = 0; i < COUNT(names); i++) {
        char model[64], dump[64];
        snprintf(model, sizeof model, "test/data/%s.gguf", names[i]);
        snprintf(dump, sizeof dump, "test/data/%s.exact.dump", names[i]);
        check_dump(model, true, dump);
    }
    /* Quantised, or fast mode would find nothing to do. */
    struct temp t = edit_all_as("test/data/llama.gguf", QUANT_Q4_0);
    check_dump(t.path, false, "test/data/llama.fast.dump");
    temp_remove(&t);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),  cmocka_unit_test(test_what_is_right),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_random_programs),
        cmocka_unit_test(test_dumps),
    };
    write_dumps = argc == 2 && strcmp(argv[1], "--write") == 0;
    return cmocka_run_group_tests_name("prog", tests, NULL, NULL);
}
