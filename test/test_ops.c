/* The CPU form of the ops that llama needs: against golden cases from PyTorch (float32) where there
 * are any, otherwise against float64 here. Attention and the cache are in test_attend.c. */
#include "ops_rig.h"

#include "base/f16.h"
#include "build_gguf.h"
#include "model/model.h"

static struct golden_file ops;

static int open_goldens(void **state) {
    (void)state;
    golden_file_open(&ops, "test/data/ops.golden.gguf");
    return 0;
}
static int close_goldens(void **state) {
    (void)state;
    golden_file_close(&ops);
    return 0;
}

/* ---- Norms and gates ------------------------------------------------------------------------- */

/* A norm's relative error: n / 2 lanes' worth of roundings in the sum at most, halved by the root,
 * and a handful after it. n <= 64 in these cases, summed in at least 4 lanes. */
static const f64 NORM_ERROR = 16 * EPS;

static void norms(struct rig *r) {
    static const struct {
        const char *name;
        f32 eps;
    } cases[] = {{"rms_norm", 1e-6f}, {"rms_norm_small", 1e-5f}, {"rms_norm_noweight", 1e-6f}};
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct golden x = golden_get(&ops, cases[i].name, "x");
        struct golden w = golden_find(&ops, cases[i].name, "w");
        struct rms_norm_params p = {x.cols, cases[i].eps};
        struct mat a[3] = {mat_new(r, x.rows, x.cols, DT_F32), mat_golden(r, x)};
        if (w.x) a[2] = mat_weight(w.x, 1, w.cols);
        rig_run(r, OP_RMS_NORM, &p, a, 3);
        near_all(cases[i].name, &a[0], golden_get(&ops, cases[i].name, "y"), NORM_ERROR);
    }
}
static void test_norms(void **state) {
    (void)state;
    rig_each(norms);
}

/* Groups of `width` columns are normed apart, each with the same weights. */
static void grouped_norm(struct rig *r) {
    static const u32 widths[] = {1, 8, 20, 60};
    for (u32 i = 0; i < COUNT(widths); i++) {
        u32 width = widths[i];
        struct rms_norm_params p = {width, 1e-5f};
        struct mat x = mat_random(r, 7, 120), w = mat_random(r, 1, width);
        struct mat a[3] = {mat_new(r, 7, 120, DT_F32), x, mat_weight(mat_row(&w, 0), 1, width)};
        rig_run(r, OP_RMS_NORM, &p, a, 3);
        for (u32 t = 0; t < 7; t++) {
            for (u32 j = 0; j < 120; j++) {
                const f32 *group = mat_row(&x, t) + j / width * width;
                f64 sum = 0;
                for (u32 k = 0; k < width; k++)
                    sum += (f64)group[k] * (f64)group[k];
                f64 want = (f64)group[j % width] / sqrt(sum / width + (f64)p.eps) *
                           (f64)mat_row(&w, 0)[j % width];
                near_one("grouped norm", t, j, (f64)mat_row(&a[0], t)[j], want,
                         NORM_ERROR * fabs(want));
            }
        }
    }
}
static void test_grouped_norm(void **state) {
    (void)state;
    rig_each(grouped_norm);
}

static void gates(struct rig *r) {
    struct golden gate = golden_get(&ops, "swiglu", "gate"), up = golden_get(&ops, "swiglu", "up");
    struct mat a[3] = {mat_new(r, gate.rows, gate.cols, DT_F32), mat_golden(r, gate),
                       mat_golden(r, up)};
    rig_run(r, OP_SWIGLU, NULL, a, 3);
    near_all("swiglu", &a[0], golden_get(&ops, "swiglu", "y"), 8 * EPS);

    /* silu is the gate with up = 1. */
    struct golden x = golden_get(&ops, "silu", "x"), y = golden_get(&ops, "silu", "y");
    struct mat ones = mat_new(r, 1, x.cols, DT_F32);
    for (u32 j = 0; j < x.cols; j++)
        mat_row(&ones, 0)[j] = 1;
    struct mat b[3] = {mat_new(r, 1, x.cols, DT_F32), mat_copy(r, x.x, 1, x.cols), ones};
    rig_run(r, OP_SWIGLU, NULL, b, 3);
    for (u32 j = 0; j < x.cols; j++) {
        near_one("silu", 0, j, (f64)mat_row(&b[0], 0)[j], (f64)y.x[j],
                 8 * EPS * fabs((f64)y.x[j]) + 1e-37);
    }
}
static void test_gates(void **state) {
    (void)state;
    rig_each(gates);
}

/* ---- Rope ------------------------------------------------------------------------------------ */

/* Value j of row t against float64 and against PyTorch's. PyTorch forms the angle in float32, so
 * that it is off by an ulp of the angle, in proportion to the pair's size. */
static void check_rotated(const struct mat *out, struct golden x, struct golden y,
                          struct golden inv, u32 t, u32 j, u32 head_dim, u32 neox, u32 pos,
                          f64 factor) {
    u32 n = inv.cols, i = j % head_dim;
    const f32 *head = x.x + t * x.cols + j - i;
    f64 got = (f64)mat_row(out, t)[j], golden = (f64)y.x[t * x.cols + j];
    if (i >= 2 * n) { /* not rotated */
        near_one("rope", t, j, got, (f64)head[i], 0);
        near_one("rope, golden", t, j, got, golden, 0);
        return;
    }
    u32 p = neox ? i % n : i / 2, second = neox ? i >= n : i & 1;
    f64 u = (f64)head[neox ? p : 2 * p], v = (f64)head[neox ? p + n : 2 * p + 1];
    f64 angle = (f64)pos * (f64)inv.x[p], c = cos(angle) * factor, s = sin(angle) * factor;
    f64 size = (fabs(u) + fabs(v)) * factor;
    near_one("rope", t, j, got, second ? u * s + v * c : u * c - v * s, 3 * EPS * size);
    near_one("rope, golden", t, j, got, golden, (2 * angle + 6) * EPS * size);
}

static void ropes(struct rig *r) {
    static const struct {
        const char *name;
        u32 head_dim, neox;
    } cases[] = {{"rope_normal", 32, 0},
                 {"rope_neox", 32, 1},
                 {"rope_partial", 32, 1},
                 {"rope_llama3", 64, 1},
                 {"rope_yarn", 64, 1}};
    for (u32 i = 0; i < COUNT(cases); i++) {
        const char *name = cases[i].name;
        struct golden x = golden_get(&ops, name, "x"), pos = golden_get(&ops, name, "pos");
        struct golden inv = golden_get(&ops, name, "inv_freq");
        struct golden factor = golden_find(&ops, name, "attn_factor");
        struct step_row rows[8];
        assert_int_equal(x.rows, COUNT(rows));
        for (u32 t = 0; t < x.rows; t++)
            rows[t] = (struct step_row){.pos = (u32)pos.i[t]};
        r->step = (struct step){.rows = rows, .t = x.rows};
        struct rope_angles_params ap = {factor.x ? factor.x[0] : 1.0f};
        struct mat angles[2] = {mat_new(r, x.rows, 2 * inv.cols, DT_F32),
                                mat_weight(inv.x, 1, inv.cols)};
        rig_run(r, OP_ROPE_ANGLES, &ap, angles, 2);
        struct rope_params p = {cases[i].head_dim, cases[i].neox};
        struct mat a[3] = {mat_new(r, x.rows, x.cols, DT_F32), mat_golden(r, x), angles[0]};
        rig_run(r, OP_ROPE, &p, a, 3);
        struct golden y = golden_get(&ops, name, "y");
        for (u32 t = 0; t < x.rows; t++) {
            for (u32 j = 0; j < x.cols; j++) {
                check_rotated(&a[0], x, y, inv, t, j, cases[i].head_dim, cases[i].neox,
                              (u32)pos.i[t], (f64)ap.factor);
            }
        }
    }
}
static void test_ropes(void **state) {
    (void)state;
    rig_each(ropes);
}

/* Metadata of a llama with these rope keys, as model_rope reads it. */
struct rope_model {
    struct model m;
    struct build b;
    struct arena arena;
};
static void rope_model_open(struct rope_model *r) {
    glim_err e = {0};
    struct source *s;
    arena_init(&r->m.arena, &mem_libc);
    r->m.name = "rope.gguf";
    r->m.arch = &llama_arch;
    r->m.hp.n_ctx = 4096;
    assert_int_equal(source_bytes(&s, r->b.p, r->b.n, "rope.gguf", &mem_libc, &e), 0);
    if (gguf_open_source(&r->m.gguf, s, &r->m.arena, quant_size, &e)) fail_test("%s", e.msg);
    r->m.used = arena_array(&r->m.arena, r->m.gguf.n_tensors, sizeof *r->m.used);
    assert_non_null(r->m.used);
}
static void rope_model_close(struct rope_model *r) {
    model_close(&r->m);
    build_free(&r->b);
}
static void kv_f32(struct build *b, const char *key, f32 v) {
    build_key(b, key, GGUF_F32);
    build_f32(b, v);
}

/* The frequencies that a model computes, against PyTorch's. */
static void check_freqs(struct rope_model *r, u32 n, const f32 *want, f32 want_factor) {
    glim_err e = {0};
    struct rope rope;
    rope_model_open(r);
    if (model_rope(&r->m, &rope, "", n, 10000, ROPE_SCALED | ROPE_FACTORS, &e)) {
        fail_test("%s", e.msg);
    }
    assert_int_equal(rope.inv_freq->cols, n / 2);
    near_one("attention factor", 0, 0, (f64)rope.factor, (f64)want_factor, 1e-6 * (f64)want_factor);
    for (u32 j = 0; j < n / 2; j++) {
        f32 f;
        memcpy(&f, rope.inv_freq->data + 4 * j, 4);
        near_one("inv_freq", 0, j, (f64)f, (f64)want[j], 1e-6 * (f64)want[j]);
    }
    rope_model_close(r);
}

static void test_plain_freqs(void **state) {
    (void)state;
    struct golden inv = golden_get(&ops, "rope_normal", "inv_freq");
    struct rope_model r = {0};
    build_head(&r.b, 3, 0, 1);
    kv_f32(&r.b, "llama.rope.freq_base", 5e5f);
    check_freqs(&r, 32, inv.x, 1);
    inv = golden_get(&ops, "rope_neox", "inv_freq"); /* the base is 10000 where no key says */
    build_head(&r.b, 3, 0, 0);
    check_freqs(&r, 32, inv.x, 1);
}

/* llama3 scaling as a file carries it: divisors in rope_freqs, made here from the published rule
 * for factor 8, low 1, high 4 and 8192 original positions. */
static void test_llama3_freqs(void **state) {
    (void)state;
    struct golden inv = golden_get(&ops, "rope_llama3", "inv_freq");
    struct rope_model r = {0};
    f32 by[32];
    for (u32 j = 0; j < 32; j++) {
        f64 turns = 8192 * pow(5e5, -2.0 * j / 64) / (2 * 3.14159265358979323846);
        f64 smooth = (turns - 1) / (4 - 1);
        f64 f = turns > 4 ? 1 : turns < 1 ? 8 : 1 / ((1 - smooth) / 8 + smooth);
        by[j] = (f32)f;
    }
    const u64 dims[1] = {32};
    build_head(&r.b, 3, 1, 1);
    kv_f32(&r.b, "llama.rope.freq_base", 5e5f);
    build_tensor(&r.b, "rope_freqs.weight", 1, dims, QUANT_F32, 0);
    build_pad(&r.b, 32);
    build_bytes(&r.b, by, sizeof by);
    check_freqs(&r, 64, inv.x, 1);
}

/* Gemma 4's global layers: of the pairs (j, j + 256) of a head of 512 the first 64 turn, by the
 * frequencies of the whole width; the file's divisors of 1e30 stop the others. Also far along. */
static void proportional(struct rig *g) {
    enum { E = 512, PAIRS = E / 2, TURNING = 64 };
    static const u32 positions[] = {0, 1, 1000, 100000};
    const u64 dims[1] = {PAIRS};
    struct rope_model r = {0};
    struct rope rope;
    glim_err e = {0};
    build_head(&r.b, 3, 1, 1);
    kv_f32(&r.b, "llama.rope.freq_base", 1e6f);
    build_tensor(&r.b, "rope_freqs.weight", 1, dims, QUANT_F32, 0);
    build_pad(&r.b, 32);
    for (u32 j = 0; j < PAIRS; j++)
        build_f32(&r.b, j < TURNING ? 1 : 1e30f);
    rope_model_open(&r);
    if (model_rope(&r.m, &rope, "", E, 1e4f, ROPE_FACTORS, &e)) fail_test("%s", e.msg);
    struct step_row rows[COUNT(positions)];
    for (u32 t = 0; t < COUNT(positions); t++)
        rows[t] = (struct step_row){.pos = positions[t]};
    g->step = (struct step){.rows = rows, .t = COUNT(positions)};
    struct rope_angles_params ap = {rope.factor};
    struct mat angles[2] = {mat_new(g, COUNT(positions), E, DT_F32),
                            mat_weight((const f32 *)(const void *)rope.inv_freq->data, 1, PAIRS)};
    rig_run(g, OP_ROPE_ANGLES, &ap, angles, 2);
    struct rope_params p = {E, 1};
    struct mat x = mat_random(g, COUNT(positions), 2 * E);
    struct mat a[3] = {mat_new(g, COUNT(positions), 2 * E, DT_F32), x, angles[0]};
    rig_run(g, OP_ROPE, &p, a, 3);
    for (u32 t = 0; t < COUNT(positions); t++) {
        for (u32 i = 0; i < 2 * E; i++) {
            u32 j = i % PAIRS;
            const f32 *head = mat_row(&x, t) + i / E * E;
            f64 angle = j < TURNING ? positions[t] * pow(1e6, -2.0 * j / E) : 0;
            f64 u = (f64)head[j], v = (f64)head[j + PAIRS];
            f64 want =
                i % E < PAIRS ? u * cos(angle) - v * sin(angle) : v * cos(angle) + u * sin(angle);
            /* Frequencies are kept in f32: an angle is off by half an ulp of itself. */
            f64 bound = (4 + angle) * EPS * (fabs(u) + fabs(v));
            near_one("proportional rope", t, i, (f64)mat_row(&a[0], t)[i], want, bound);
            if (j >= TURNING) assert_true(mat_row(&a[0], t)[i] == mat_row(&x, t)[i]);
        }
    }
    rope_model_close(&r);
}
static void test_proportional_rope(void **state) {
    (void)state;
    rig_each(proportional);
}

static void test_yarn_freqs(void **state) {
    (void)state;
    struct golden inv = golden_get(&ops, "rope_yarn", "inv_freq");
    struct golden factor = golden_get(&ops, "rope_yarn", "attn_factor");
    for (u32 spelled = 0; spelled < 2; spelled++) { /* betas spelled out, or their defaults */
        struct rope_model r = {0};
        build_head(&r.b, 3, 0, spelled ? 6 : 4);
        kv_f32(&r.b, "llama.rope.freq_base", 1e6f);
        build_kv_str(&r.b, "llama.rope.scaling.type", "yarn");
        kv_f32(&r.b, "llama.rope.scaling.factor", 4);
        build_kv_u32(&r.b, "llama.rope.scaling.original_context_length", 32768);
        if (spelled) {
            kv_f32(&r.b, "llama.rope.scaling.yarn_beta_fast", 32);
            kv_f32(&r.b, "llama.rope.scaling.yarn_beta_slow", 1);
        }
        check_freqs(&r, 64, inv.x, factor.x[0]);
    }
}

static void test_linear_freqs(void **state) {
    (void)state;
    f32 want[16];
    for (u32 j = 0; j < 16; j++)
        want[j] = (f32)(pow(10000, -2.0 * j / 32) / 2.5);
    struct rope_model r = {0};
    build_head(&r.b, 3, 0, 2);
    build_kv_str(&r.b, "llama.rope.scaling.type", "linear");
    kv_f32(&r.b, "llama.rope.scaling.factor", 2.5f);
    check_freqs(&r, 32, want, 1);
    build_head(&r.b, 3, 0, 1); /* as older files say it */
    kv_f32(&r.b, "llama.rope.scale_linear", 2.5f);
    check_freqs(&r, 32, want, 1);
}

/* ---- Matrix products ------------------------------------------------------------------------- */

static void golden_matmul(struct rig *r) {
    struct golden x = golden_get(&ops, "matmul", "x"), w = golden_get(&ops, "matmul", "w");
    struct golden y = golden_get(&ops, "matmul", "y");
    struct mat a[3] = {mat_new(r, x.rows, w.rows, DT_F32), mat_golden(r, x),
                       mat_weight(w.x, w.rows, w.cols)};
    rig_run(r, OP_MATMUL, NULL, a, 3);
    for (u32 t = 0; t < x.rows; t++) {
        for (u32 n = 0; n < w.rows; n++) {
            f64 size = 0; /* each side's error is at most K halves of an ulp of this */
            for (u32 k = 0; k < x.cols; k++)
                size += fabs((f64)x.x[t * x.cols + k] * (f64)w.x[n * w.cols + k]);
            near_one("matmul", t, n, (f64)mat_row(&a[0], t)[n], (f64)y.x[t * y.cols + n],
                     2 * x.cols * EPS * size);
        }
    }
}
static void test_golden_matmul(void **state) {
    (void)state;
    rig_each(golden_matmul);
}

/* Every format through the op, exact and int8: bit-equal for any number of threads, and row by row
 * what it is in a batch. (test_isa.c compares the values with float64.) */
static void quantised_matmul(struct rig *r) {
    enum { T = 9, N = 70, K = 512 };
    for (u32 i = 0; i < COUNT(isa_types); i++) {
        const struct quant *q = quant_find(isa_types[i].type);
        struct mat w = {
            .pitch = quant_row_bytes(q, K), .rows = N, .cols = K, .type = isa_types[i].type};
        w.p = arena_get(&r->arena, w.pitch * N);
        random_weights(&isa_types[i], w.p, (u64)N * K);
        struct mat x = mat_random(r, T, K);
        for (u32 a8 = 0; a8 <= (q->block_len > 1); a8++) {
            struct mat in = x;
            if (a8) {
                in = mat_new(r, T, K, DT_A8);
                rig_run(r, OP_QUANTIZE, NULL, (struct mat[]){in, x}, 2);
            }
            struct mat a[3] = {mat_new(r, T, N, DT_F32), in, w};
            rig_run(r, OP_MATMUL, NULL, a, 3);
            struct mat one[3] = {mat_new(r, 1, N, DT_F32), in, w};
            one[1].rows = 1;
            for (u32 t = 0; t < T; t++, one[1].p += in.pitch) {
                rig_run(r, OP_MATMUL, NULL, one, 3);
                /* Few rows may go another way, which adds the same products in another order. */
                struct golden same = {.x = mat_row(&a[0], t), .rows = 1, .cols = N};
                near_all("row alone", &one[0], same, a8 ? K * EPS : 0);
            }
        }
    }
}
static void test_quantised_matmul(void **state) {
    (void)state;
    rig_each(quantised_matmul);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void embed(struct rig *r) {
    enum { V = 50, D = 256 };
    static const i32 ids[] = {0, 49, 7, 7, 31};
    struct step_row rows[COUNT(ids)];
    for (u32 t = 0; t < COUNT(ids); t++)
        rows[t] = (struct step_row){.id = ids[t]};
    r->step = (struct step){.rows = rows, .t = COUNT(ids)};
    for (u32 i = 0; i < COUNT(isa_types); i++) {
        const struct quant *q = quant_find(isa_types[i].type);
        struct mat w = {
            .pitch = quant_row_bytes(q, D), .rows = V, .cols = D, .type = isa_types[i].type};
        w.p = arena_get(&r->arena, w.pitch * V);
        random_weights(&isa_types[i], w.p, (u64)V * D);
        for (u32 s = 0; s < 2; s++) {
            struct embed_params p = {s ? 6.5f : 1.0f};
            struct mat a[2] = {mat_new(r, COUNT(ids), D, DT_F32), w};
            rig_run(r, OP_EMBED, &p, a, 2);
            for (u32 t = 0; t < COUNT(ids); t++) {
                f32 want[D];
                quant_row(q, w.p + (u64)ids[t] * w.pitch, 0, D, want);
                for (u32 j = 0; j < D; j++)
                    assert_true(mat_row(&a[0], t)[j] == want[j] * p.scale);
            }
        }
    }
}
static void test_embed(void **state) {
    (void)state;
    rig_each(embed);
}

static void pick_and_add(struct rig *r) {
    static const u32 out_rows[] = {0, 3, 4, 10};
    r->step = (struct step){.t = 11, .out_rows = out_rows, .r = COUNT(out_rows)};
    struct mat x = mat_random(r, 11, 37), z = mat_random(r, 11, 37);
    struct mat a[2] = {mat_new(r, COUNT(out_rows), 37, DT_F32), x};
    rig_run(r, OP_PICK, NULL, a, 2);
    for (u32 i = 0; i < COUNT(out_rows); i++)
        assert_memory_equal(mat_row(&a[0], i), mat_row(&x, out_rows[i]), 37 * sizeof(f32));
    struct mat b[3] = {mat_new(r, 11, 37, DT_F32), x, z};
    struct add_params once = {1};
    rig_run(r, OP_ADD, &once, b, 3);
    for (u32 t = 0; t < 11; t++) {
        for (u32 j = 0; j < 37; j++)
            assert_true(mat_row(&b[0], t)[j] == mat_row(&x, t)[j] + mat_row(&z, t)[j]);
    }
}
static void test_pick_and_add(void **state) {
    (void)state;
    rig_each(pick_and_add);
}

/* int8 blocks: the scale is absmax / 127, no value is off by more than half a step, and s is the
 * sum of what the int8 values stand for. */
static void quantise(struct rig *r) {
    struct mat x = mat_random(r, 6, 96);
    memset(mat_row(&x, 2), 0, 32 * sizeof(f32)); /* a block of zeros */
    mat_row(&x, 3)[5] = 1e20f;                   /* one value that dwarfs the rest */
    struct mat a[2] = {mat_new(r, 6, 96, DT_A8), x};
    rig_run(r, OP_QUANTIZE, NULL, a, 2);
    for (u32 t = 0; t < 6; t++) {
        const i8 *q = (const i8 *)a[0].p + t * a[0].pitch;
        const f32 *d = (const f32 *)(const void *)(q + 96), *s = d + 3;
        for (u32 b = 0; b < 3; b++) {
            const f32 *in = mat_row(&x, t) + 32 * b;
            f32 top = 0;
            i32 sum = 0;
            for (u32 j = 0; j < 32; j++) {
                top = MAX(top, fabsf(in[j]));
                sum += q[32 * b + j];
            }
            near_one("scale", t, b, (f64)d[b], (f64)top / 127, 2 * EPS * (f64)top / 127);
            near_one("sum", t, b, (f64)s[b], (f64)d[b] * sum, 2 * EPS * fabs((f64)d[b] * sum));
            for (u32 j = 0; j < 32; j++) {
                near_one("int8", t, 32 * b + j, (f64)q[32 * b + j] * (f64)d[b], (f64)in[j],
                         (f64)d[b] * 0.50001);
            }
        }
    }
}
static void test_quantise(void **state) {
    (void)state;
    rig_each(quantise);
}

/* A fused op gives the bytes of its two parts. */
static void fused(struct rig *r) {
    enum { T = 5, D = 160 };
    struct mat x = mat_random(r, T, D), up = mat_random(r, T, D), w = mat_random(r, 1, D);
    struct rms_norm_params p = {D, 1e-5f};
    struct rms_norm_q_params pq = {D, 1e-5f};
    for (u32 i = 0; i < 3; i++) { /* norm with and without weight, gate */
        struct mat plain[3] = {mat_new(r, T, D, DT_F32), x},
                   whole[3] = {mat_new(r, T, D, DT_A8), x};
        if (i == 0) plain[2] = whole[2] = mat_weight(mat_row(&w, 0), 1, D);
        if (i == 2) plain[2] = whole[2] = up;
        rig_run(r, i < 2 ? OP_RMS_NORM : OP_SWIGLU, &p, plain, 3);
        rig_run(r, i < 2 ? OP_RMS_NORM_Q : OP_SWIGLU_Q, &pq, whole, 3);
        struct mat parts[2] = {mat_new(r, T, D, DT_A8), plain[0]};
        rig_run(r, OP_QUANTIZE, NULL, parts, 2);
        for (u32 t = 0; t < T; t++) {
            assert_memory_equal(parts[0].p + t * parts[0].pitch, whole[0].p + t * whole[0].pitch,
                                a8_row_bytes(D));
        }
    }
}
static void test_fused(void **state) {
    (void)state;
    rig_each(fused);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_grouped_norm),
        cmocka_unit_test(test_gates),
        cmocka_unit_test(test_ropes),
        cmocka_unit_test(test_plain_freqs),
        cmocka_unit_test(test_llama3_freqs),
        cmocka_unit_test(test_proportional_rope),
        cmocka_unit_test(test_yarn_freqs),
        cmocka_unit_test(test_linear_freqs),
        cmocka_unit_test(test_golden_matmul),
        cmocka_unit_test(test_quantised_matmul),
        cmocka_unit_test(test_embed),
        cmocka_unit_test(test_pick_and_add),
        cmocka_unit_test(test_quantise),
        cmocka_unit_test(test_fused),
    };
    return cmocka_run_group_tests_name("ops", tests, open_goldens, close_goldens);
}
