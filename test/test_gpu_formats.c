/* Every weight format on a GPU, against blocks whose values other programs computed: rows by EMBED
 * bit for bit, products in both forms with f32 and int8 inputs, tables and matrices whole and cut
 * into pieces. */
#include "gpu_ops_rig.h"

static struct golden_file golden;

static bool fixture_size(u32 type, u32 *block_len, u32 *block_bytes) {
    enum { GGML_I8 = 24 };
    if (type != GGML_I8) return quant_size(type, block_len, block_bytes);
    *block_len = *block_bytes = 1; /* the fixture's blocks are plain bytes */
    return true;
}
static int open_goldens(void **state) {
    glim_err e = {0};
    (void)state;
    arena_init(&golden.arena, &mem_libc);
    return gguf_open(&golden.g, "test/data/quants.golden.gguf", &golden.arena, fixture_size, &e);
}
static int close_goldens(void **state) {
    (void)state;
    golden_file_close(&golden);
    rig_close_devices();
    return 0;
}

static const struct gguf_tensor *part(const struct quant *q, const char *name) {
    char full[64];
    snprintf(full, sizeof full, "%s.%s", q->name, name);
    const struct gguf_tensor *t = gguf_tensor(&golden.g, full);
    if (!t) fail_test("the golden file has no %s", full);
    return t;
}

/* Rows of `cols` values, their bytes side by side, as a table; values: what they are. */
struct table {
    const u8 *bytes;
    const f32 *values;
    u32 rows, cols;
};

/* Rows that follow each other in the fixture, cols values each. */
static struct table table_of(const struct quant *q, const char *rows, const char *values,
                             u32 cols) {
    const struct gguf_tensor *r = part(q, rows), *v = part(q, values);
    u64 n = v->dims[0] * v->dims[1];
    assert_int_equal(quant_row_bytes(q, n), r->dims[0] * r->dims[1]);
    return (struct table){r->data, (const f32 *)(const void *)v->data, (u32)(n / cols), cols};
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Golden values that the device has flushed to zero, as it may f32-subnormal ones and the
 * multiples, up to 6, of a subnormal scale. */
static u32 flushed;

/* NaN stays NaN, with whatever payload. */
static void check_value(const struct op_run *o, const struct quant *q, u32 row, u32 col, f32 got,
                        f32 want) {
    bool scaled = strcmp(q->name, "MXFP4") == 0;
    bool tiny = want != 0 && fabsf(want) < (scaled ? 0x1p-124f : 0x1p-126f);
    if (f32_bits(got) == f32_bits(want) || (isnan(got) && isnan(want))) return;
    if (tiny && got == 0) {
        flushed++;
        return;
    }
    fail_test("%s: %s [%u,%u] is %a, expected %a", o->where, q->name, row, col, (f64)got,
              (f64)want);
}

/* All rows of a table through EMBED; `times` copies of it, so that it is long enough to be split.
 */
static void embed(u32 on, const struct quant *q, struct table k, u32 times, u32 min_pieces) {
    u64 bytes = quant_row_bytes(q, k.cols) * k.rows;
    u32 most = MIN(k.rows, 32u);
    struct embed_params p = {1};
    struct op_run o;
    run_begin(&o, on, most, 1);
    u8 *all = arena_get(&o.arena, bytes * times);
    assert_non_null(all);
    for (u32 i = 0; i < times; i++)
        memcpy(all + i * bytes, k.bytes, bytes);
    struct ref w = run_mat(&o, q->type, all, k.rows * times, k.cols);
    struct ref y = prog_op(&o.prog, OP_EMBED, &w, 0, &p);
    run_ready(&o);
    assert_true(o.x.n_launches >= min_pieces);
    for (u32 first = 0; first < k.rows; first += most) { /* from all over the table */
        u32 n = MIN(most, k.rows - first);
        for (u32 t = 0; t < n; t++)
            o.rows[t].id = (i32)((times - 1 - t % times) * k.rows + (first + n - 1 - t));
        run_pass(&o, n, 1);
        for (u32 t = 0; t < n; t++) {
            const f32 *row = run_row(&o, y, t);
            u32 of = first + n - 1 - t;
            for (u32 j = 0; j < k.cols; j++)
                check_value(&o, q, of, j, row[j], k.values[(size_t)of * k.cols + j]);
        }
    }
    run_end(&o);
}

static void rows(void **state) {
    u32 on = test_on(state), formats = 0;
    flushed = 0;
    for (u32 type = 0; type < QUANT_TYPES; type++) {
        const struct quant *q = quant_find(type);
        if (!q || type == QUANT_F32) continue;
        formats++;
        /* Plain floats in rows of an odd width: pitches that are no whole words. */
        struct table raw = table_of(q, "raw", "values", q->block_len == 1 ? 77 : q->block_len);
        u64 bytes = quant_row_bytes(q, raw.cols) * raw.rows;
        u64 binding = rig_choices[ON_SPLIT].at_most.binding;
        u32 times = on == ON_TINY ? (u32)(2 * binding / bytes) + 1 : 1;
        embed(on == ON_TINY ? ON_SPLIT : on, q, raw, times, on == ON_TINY ? 2 : 1);
        if (strcmp(q->name, "IQ1_M") != 0) /* nothing makes such blocks */
            embed(on, q, table_of(q, "quant", "quant_values", 512), 1, 1);
    }
    assert_int_equal(formats, 24);
    assert_true(flushed <= 33); /* 32 of MXFP4, one of BF16 */
}

/* The same by the host, of a table that stays in the file: all bits, subnormal ones too. */
static void host_rows(void **state) {
    u32 formats = 0;
    for (u32 type = 0; type < QUANT_TYPES; type++) {
        const struct quant *q = quant_find(type);
        if (!q || type == QUANT_F32) continue;
        formats++;
        struct table k = table_of(q, "raw", "values", q->block_len == 1 ? 64 : q->block_len);
        const f32 scales[] = {1, 6.5f};
        for (u32 i = 0; i < COUNT(scales); i++) {
            struct embed_params p = {scales[i]};
            struct op_run o;
            run_begin(&o, test_on(state), k.rows, 1);
            struct ref w = run_mat(&o, q->type, k.bytes, k.rows, k.cols);
            struct ref y = prog_op(&o.prog, OP_EMBED, &w, 0, &p);
            struct ref in = prog_op(&o.prog, OP_SCALE, &y, 0, &(struct scale_params){1});
            o.prog.ops[0].by_host = true;
            run_ready(&o);
            assert_int_equal(o.x.n_launches, 1);
            assert_null(o.model.list);
            assert_true(exec_gpu_needs_ids(&o.x));
            for (u32 n = k.rows; n > 0; n /= 3) {
                for (u32 t = 0; t < n; t++)
                    o.rows[t].id = (i32)(k.rows - 1 - t);
                run_pass(&o, n, 1);
                for (u32 t = 0; t < n * k.cols; t++) {
                    u32 row = t / k.cols, col = t % k.cols;
                    f32 want = k.values[(size_t)(k.rows - 1 - row) * k.cols + col] * scales[i];
                    f32 got = ((const f32 *)run_row(&o, y, row))[col];
                    if (f32_bits(got) != f32_bits(want) && !(isnan(got) && isnan(want)))
                        fail_test("%s [%u,%u] is %a, expected %a", q->name, row, col, (f64)got,
                                  (f64)want);
                    check_value(&o, q, row, col, ((const f32 *)run_row(&o, in, row))[col], want);
                }
            }
            run_end(&o);
        }
    }
    assert_int_equal(formats, 24);
}

/* f32 tables of any width, whose rows end anywhere; and a factor. */
static void float_rows(void **state) {
    static const u32 widths[] = {1, 31, 32, 33, 64, 2100};
    for (u32 i = 0; i < COUNT(widths); i++) {
        enum { V = 20, T = 4 };
        static const i32 ids[T] = {0, 19, 7, 7};
        u32 d = widths[i];
        struct embed_params p = {6.5f};
        struct op_run o;
        run_begin(&o, test_on(state), T, 1);
        f32 *x = run_random(&o, (u64)V * d);
        for (u32 t = 0; t < T; t++)
            o.rows[t].id = ids[t];
        struct ref w = run_mat(&o, QUANT_F32, x, V, d);
        struct ref y = prog_op(&o.prog, OP_EMBED, &w, 0, &p);
        run_ready(&o);
        run_pass(&o, T, 1);
        for (u32 t = 0; t < T; t++) {
            for (u32 j = 0; j < d; j++)
                assert_true((f32)run_at(&o, y, t, j) == x[(u32)ids[t] * d + j] * 6.5f);
        }
        run_end(&o);
    }
}

/* ---- Products -------------------------------------------------------------------------------- */

enum { N = 500, K = 512, T = 8 };

/* N rows of K values: the fixture's blocks of sane size, each row in an order of its own. */
static void matrix(struct op_run *o, const struct quant *q, u8 **bytes, f32 **values) {
    bool raw = strcmp(q->name, "IQ1_M") == 0; /* random bits: scales of any size */
    struct table k = q->type == QUANT_F32
                         ? (struct table){.rows = 1, .cols = 4 * K}
                         : table_of(q, raw ? "raw" : "quant", raw ? "values" : "quant_values", 256);
    u32 len = MAX(q->block_len, 32u), n_blocks = k.rows * k.cols / len;
    u64 size = quant_row_bytes(q, len);
    const f32 *from = q->type == QUANT_F32 ? run_random(o, 4 * K) : k.values;
    const u8 *blocks = q->type == QUANT_F32 ? (const u8 *)from : k.bytes;
    *bytes = arena_get(&o->arena, size * N * (K / len));
    *values = arena_array(&o->arena, (u64)N * K, sizeof **values);
    assert_true(*bytes && *values);
    u32 at = 0, sane[256], n_sane = 0;
    for (u32 b = 0; b < n_blocks && n_sane < COUNT(sane); b++) {
        bool is_sane = true;
        for (u32 i = 0; i < len; i++)
            is_sane &= fabsf(from[b * len + i]) < 1e4f;
        if (is_sane) sane[n_sane++] = b;
    }
    assert_true(n_sane > 2);
    for (u32 n = 0; n < N; n++) {
        for (u32 j = 0; j < K / len; j++, at++) {
            u32 b = sane[(at * 7 + n) % n_sane];
            memcpy(*bytes + at * size, blocks + b * size, size);
            memcpy(*values + (size_t)at * len, from + (size_t)b * len, len * sizeof *from);
        }
    }
}

/* Input c of a row as the kernel saw it. */
static f64 input_of(const struct op_run *o, struct ref x, u32 row, u32 c) {
    if (run_val(o, x)->dtype == DT_F32) return run_at(o, x, row, c);
    const i8 *q = run_row(o, x, row);
    return (f64)q[c] * (f64)((const f32 *)(const void *)(q + K))[c / 32];
}

static void product(u32 on, const struct quant *q, bool a8) {
    struct op_run o;
    u8 *bytes;
    f32 *values;
    run_begin(&o, on, T, 1);
    matrix(&o, q, &bytes, &values);
    f32 *x = run_random(&o, T * K), *bias = run_random(&o, N);
    struct ref in = run_x(&o, x, K), vec = a8 ? REF_ABSENT : run_vec(&o, bias, N);
    if (a8) in = prog_op(&o.prog, OP_QUANTIZE, &in, 0, NULL);
    struct ref w = run_mat(&o, q->type, bytes, N, K);
    struct ref y = prog_op(&o.prog, OP_MATMUL, (struct ref[]){in, w, vec}, 0, NULL);
    run_ready(&o);
    if (on == ON_SPLIT) assert_true(o.x.n_launches >= 4u + a8); /* two forms of pieces */
    for (u32 t = T; t > 0; t = t == T ? 2 : 0) { /* the form for many rows, that for few */
        run_pass(&o, t, 1);
        if (on == ON_SPLIT && t < T) assert_true(run_most_groups(&o) > 9); /* in 3-D */
        for (u32 i = 0; i < t; i++) {
            f64 row[K];
            for (u32 c = 0; c < K; c++)
                row[c] = input_of(&o, in, i, c);
            for (u32 n = 0; n < N; n++) {
                f64 sum = 0, size = 0;
                for (u32 c = 0; c < K; c++) {
                    f64 p = row[c] * (f64)values[(size_t)n * K + c];
                    sum += p;
                    size += fabs(p);
                }
                if (!a8) sum += (f64)bias[n];
                near_one(o.where, q->name, i, n, run_at(&o, y, i, n), sum,
                         (K + 4) * EPS * (size + 1) + 1e-30);
            }
        }
    }
    run_end(&o);
}

/* A program that plays a GPU takes seconds to compile a kernel: there, formats that differ most. */
static bool is_due(u32 on, const struct quant *q, bool a8) {
    static const char *const some[] = {"Q4_0", "IQ3_S", "Q6_K", "F32", "F16"};
    if (a8 && q->block_len == 1) return false;
    bool due = !gpu_info(rig_device(on)->gpu)->software;
    for (u32 i = 0; i < (a8 ? 2 : COUNT(some)); i++)
        due |= strcmp(q->name, some[i]) == 0;
    return due;
}

static void products_of(u32 on, bool a8) {
    u32 n = 0;
    if (on == ON_TINY) on = ON_SPLIT;
    for (u32 type = 0; type < QUANT_TYPES; type++) {
        const struct quant *q = quant_find(type);
        if (!q || !is_due(on, q, a8)) continue;
        product(on, q, a8);
        n++;
    }
    assert_true(n >= (a8 ? 2 : 5));
}
static void products(void **state) {
    products_of(test_on(state), false);
}
static void int8_products(void **state) {
    products_of(test_on(state), true);
}

/* f32 matrices of widths that are no multiple of a tile's or a lane's share, in both forms. */
static void odd_products(void **state) {
    static const u32 shapes[][3] = {{9, 1, 1}, {33, 65, 33}, {70, 45, 100}, {8, 130, 31}};
    for (u32 i = 0; i < COUNT(shapes); i++) {
        u32 rows = shapes[i][0], n_out = shapes[i][1], k = shapes[i][2];
        struct op_run o;
        run_begin(&o, test_on(state), rows, 1);
        f32 *x = run_random(&o, (u64)rows * k), *w = run_random(&o, (u64)n_out * k);
        x[0] = 7e4f; /* beyond half precision */
        struct ref y = prog_op(
            &o.prog, OP_MATMUL,
            (struct ref[]){run_x(&o, x, k), run_mat(&o, QUANT_F32, w, n_out, k), REF_ABSENT}, 0,
            NULL);
        run_ready(&o);
        for (u32 t = rows; t > 0; t = t > 3 ? 3 : 0) {
            run_pass(&o, t, 1);
            for (u32 r = 0; r < t; r++) {
                for (u32 n = 0; n < n_out; n++) {
                    f64 sum = 0, size = 0;
                    for (u32 c = 0; c < k; c++) {
                        f64 p = (f64)x[r * k + c] * (f64)w[n * k + c];
                        sum += p;
                        size += fabs(p);
                    }
                    near_one(o.where, "product", r, n, run_at(&o, y, r, n), sum,
                             (k + 2) * EPS * size);
                }
            }
        }
        run_end(&o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_EACH(rows),     ON_EACH(host_rows),     ON_EACH(float_rows),
        ON_EACH(products), ON_EACH(int8_products), ON_EACH(odd_products),
    };
    if (!rig_has_gpu()) return 0;
    return cmocka_run_group_tests_name("gpu formats", tests, open_goldens, close_goldens);
}
