/* The ops on a GPU against golden cases from PyTorch (float32) where there are any, otherwise
 * against float64 here: as the device is, on the floor of WebGPU, and with tiny limits. Attention,
 * caches and experts are in test_gpu_cache.c, weight formats in test_gpu_formats.c. */
#include "gpu_ops_rig.h"

static struct golden_file ops;

static int open_goldens(void **state) {
    (void)state;
    golden_file_open(&ops, "test/data/ops.golden.gguf");
    return 0;
}
static int close_goldens(void **state) {
    (void)state;
    golden_file_close(&ops);
    rig_close_devices();
    return 0;
}

/* ---- Norms and gates ------------------------------------------------------------------------- */

/* A sum in 64 threads, then of 18 numbers at most (subgroups of 4 lanes, 16 of them), halved by the
 * root; the root, two divisions, three products. */
static f64 norm_error(u32 width) {
    return ((width + 63) / 64 + 18) * EPS / 2 + 4 * DIVISION;
}

static void norms(void **state) {
    static const struct {
        const char *name;
        f32 eps;
    } cases[] = {{"rms_norm", 1e-6f}, {"rms_norm_small", 1e-5f}, {"rms_norm_noweight", 1e-6f}};
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct golden x = golden_get(&ops, cases[i].name, "x");
        struct golden w = golden_find(&ops, cases[i].name, "w");
        struct rms_norm_params p = {x.cols, cases[i].eps};
        struct op_run o;
        run_begin(&o, test_on(state), x.rows, 1);
        struct ref in[] = {run_x(&o, x.x, x.cols), run_vec(&o, w.x, x.cols)};
        struct ref y = prog_op(&o.prog, OP_RMS_NORM, in, 0, &p);
        run_ready(&o);
        run_pass(&o, x.rows, 1);
        near_all(&o, cases[i].name, y, golden_get(&ops, cases[i].name, "y"), norm_error(x.cols));
        run_end(&o);
    }
}

/* Groups of `width` columns are normed apart, each with the same weights. 7e4 and 1e9 are beyond
 * half precision, and their squares far beyond. */
static void grouped_norms(void **state) {
    enum { T = 7, D = 120 };
    static const u32 widths[] = {1, 8, 20, 60, 120};
    for (u32 i = 0; i < COUNT(widths); i++) {
        u32 width = widths[i];
        struct rms_norm_params p = {width, 1e-5f};
        struct op_run o;
        run_begin(&o, test_on(state), T, 1);
        f32 *x = run_random(&o, T * D), *w = run_random(&o, width);
        for (u32 j = 0; j < D; j++) {
            x[D + j] = j % 3 ? 7e4f : -7.5e4f;
            x[2 * D + j] = 1e9f * (f32)(j + 1);
        }
        struct ref in[] = {run_x(&o, x, D), run_vec(&o, w, width)};
        struct ref y = prog_op(&o.prog, OP_RMS_NORM, in, 0, &p);
        run_ready(&o);
        run_pass(&o, T, 1);
        for (u32 t = 0; t < T; t++) {
            for (u32 j = 0; j < D; j++) {
                const f32 *group = x + t * D + j / width * width;
                f64 sum = 0;
                for (u32 k = 0; k < width; k++)
                    sum += (f64)group[k] * (f64)group[k];
                f64 want =
                    (f64)group[j % width] / sqrt(sum / width + (f64)p.eps) * (f64)w[j % width];
                near_one(o.where, "grouped norm", t, j, run_at(&o, y, t, j), want,
                         norm_error(width) * fabs(want));
            }
        }
        run_end(&o);
    }
}

static f64 silu64(f64 x) {
    return x / (1 + exp(-x));
}
static f64 gelu64(f64 x) { /* 1 + tanh(u) is 2 / (1 + exp(-2 u)), which keeps the tail */
    return x / (1 + exp(-2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}
/* Errors of the kernels' forms: relative in both tails of the gates, where an error of the exponent
 * counts in full, and near zero for tanh, which elsewhere is 1 - 2 / (exp(2 x) + 1). */
static f64 silu_error(f64 x) {
    return (exp_error(x) + DIVISION + 4 * EPS) * fabs(silu64(x)) + 1e-37;
}
static f64 tanh_error(f64 x) {
    f64 t = 1 - fabs(tanh(x)), z = MIN(fabs(x), 10.0); /* d tanh = t (exp's error) / 2 */
    if (z < 0.24) return 8 * EPS * z;
    return t * (exp_error(2 * z) + DIVISION) + 2 * EPS + 1e-8 * (z == 10);
}
static f64 gelu_error(f64 x) {
    f64 u = fabs(2 * 0.7978845608 * (x + 0.044715 * x * x * x));
    return (exp_error(u) + DIVISION + 6 * EPS * u + 4 * EPS) * fabs(gelu64(x)) + 1e-37;
}

/* Golden gates; then what the kernels give far out, where cubes overflow and beyond half precision:
 * the gate itself, or nothing. */
static void gates(void **state) {
    static const f32 far[] = {0,     1e-3f, 0.5f,  3,     9.5f,  20,    90,    200,
                              65504, 7e4f,  1e10f, 1e13f, 1e20f, 1e30f, 3e38f, 1};
    static const char *const names[] = {"swiglu", "geglu"};
    static const enum op_code codes[] = {OP_SWIGLU, OP_GEGLU};
    enum { D = 2 * COUNT(far) };
    f32 x[D], half[D];
    for (u32 j = 0; j < D; j++) {
        x[j] = j % 2 ? -far[j / 2] : far[j / 2];
        half[j] = 0.5f;
    }
    for (u32 i = 0; i < 2; i++) {
        struct golden gate = golden_get(&ops, names[i], "gate"),
                      up = golden_get(&ops, names[i], "up");
        struct golden y = golden_get(&ops, names[i], "y");
        struct op_run o;
        run_begin(&o, test_on(state), gate.rows, 1);
        struct ref in[] = {run_x(&o, gate.x, gate.cols), run_x(&o, up.x, up.cols)};
        struct ref out = prog_op(&o.prog, codes[i], in, 0, NULL);
        run_ready(&o);
        run_pass(&o, gate.rows, 1);
        near_all(&o, names[i], out, y, 64 * EPS);
        for (u32 k = 0; k < gate.rows * gate.cols; k++) {
            f64 g = (f64)gate.x[k], u = (f64)up.x[k];
            f64 bound = fabs(u) * (i ? gelu_error(g) : silu_error(g));
            near_one(o.where, names[i], k / gate.cols, k % gate.cols,
                     run_at(&o, out, k / gate.cols, k % gate.cols), u * (i ? gelu64(g) : silu64(g)),
                     bound);
        }
        run_end(&o);
        run_begin(&o, test_on(state), 1, 1);
        struct ref wide[] = {run_x(&o, x, D), run_x(&o, half, D)};
        out = prog_op(&o.prog, codes[i], wide, 0, NULL);
        run_ready(&o);
        run_pass(&o, 1, 1);
        for (u32 j = 0; j < D; j++) {
            f64 g = (f64)x[j], want = (i ? gelu64(g) : silu64(g)) / 2;
            f64 bound = fabs(g) > 60 ? 8 * EPS * fabs(want) + 1e-30
                                     : (i ? gelu_error(g) : silu_error(g)) / 2;
            near_one(o.where, "gate, far out", i, j, run_at(&o, out, 0, j), want, bound);
        }
        run_end(&o);
    }
}

/* What is no number stays so, through every op that limits its input: a fault must reach the
 * logits, where it is seen. */
static void nan_stays(void **state) {
    enum { D = 64 };
    f32 x[D] = {0}, one[D];
    for (u32 j = 0; j < D; j++) {
        x[j] = j % 2 ? 1.5f : f32_from_bits(j % 4 ? 0x7fc00000 : 0xffc00001);
        one[j] = 1;
    }
    struct softcap_params cap = {30};
    struct scale_params scale = {2};
    struct op_run o;
    run_begin(&o, test_on(state), 1, 1);
    struct ref in[] = {run_x(&o, x, D), run_x(&o, one, D)};
    struct ref y[] = {
        prog_op(&o.prog, OP_SOFTCAP, in, 0, &cap), prog_op(&o.prog, OP_SWIGLU, in, 0, NULL),
        prog_op(&o.prog, OP_GEGLU, in, 0, NULL), prog_op(&o.prog, OP_SCALE, in, 0, &scale)};
    run_ready(&o);
    run_pass(&o, 1, 1);
    for (u32 i = 0; i < COUNT(y); i++) {
        for (u32 j = 0; j < D; j++)
            assert_int_equal(isnan(run_at(&o, y[i], 0, j)) != 0, j % 2 == 0);
    }
    run_end(&o);
}

static void caps(void **state) {
    static const f32 far[] = {0.5f,  7,     -1e-3f, 1e-6f,  9.5f,  -200,
                              65504, -7e4f, 1e13f,  -1e30f, 3e38f, -3e38f};
    struct golden x = golden_get(&ops, "softcap", "x");
    struct softcap_params cap = {30};
    struct scale_params half = {0.5f};
    struct op_run o;
    run_begin(&o, test_on(state), x.rows, 1);
    struct ref in = run_x(&o, x.x, x.cols), wide = run_in(&o, far, ROWS_R, 1, COUNT(far), DT_F32);
    struct ref y = prog_op(&o.prog, OP_SOFTCAP, &in, 0, &cap);
    struct ref z = prog_op(&o.prog, OP_SOFTCAP, &wide, 0, &cap);
    struct ref s = prog_op(&o.prog, OP_SCALE, &in, 0, &half);
    run_ready(&o);
    run_pass(&o, x.rows, 1);
    near_all(&o, "softcap", y, golden_get(&ops, "softcap", "y"), 16 * EPS);
    for (u32 j = 0; j < COUNT(far); j++) {
        f64 want = 30 * tanh((f64)far[j] / 30);
        near_one(o.where, "softcap, far out", 0, j, run_at(&o, z, 0, j), want,
                 30 * tanh_error((f64)far[j] / 30) + 8 * EPS * fabs(want));
    }
    for (u32 k = 0; k < x.rows * x.cols; k++)
        assert_true(run_at(&o, s, k / x.cols, k % x.cols) == (f64)x.x[k] / 2);
    run_end(&o);
}

/* Rows picked, sums, and operands that are columns of a wider value; the same value twice. */
static void rows_and_slices(void **state) {
    enum { T = 11, D = 37, FROM = 5, N = 20 };
    static const u32 wanted[] = {0, 3, 4, 10};
    struct op_run o;
    run_begin(&o, test_on(state), T, COUNT(wanted));
    f32 *a = run_random(&o, T * D), *b = run_random(&o, T * D);
    memcpy(o.out_rows, wanted, sizeof wanted);
    a[0] = 7e4f; /* beyond half precision */
    b[0] = 7e4f;
    struct add_params two = {2};
    struct ref ra = run_x(&o, a, D), rb = run_x(&o, b, D);
    struct ref pick = prog_op(&o.prog, OP_PICK, &ra, 0, NULL);
    struct ref sum = prog_op(&o.prog, OP_ADD, (struct ref[]){ra, rb}, 0, &two);
    struct ref self = prog_op(&o.prog, OP_ADD, (struct ref[]){ra, ra}, 0, &two);
    struct ref part = prog_op(
        &o.prog, OP_ADD,
        (struct ref[]){prog_slice(&o.prog, ra, FROM, N), prog_slice(&o.prog, ra, FROM + 3, N)}, 0,
        &two);
    run_ready(&o);
    run_pass(&o, T, COUNT(wanted));
    for (u32 i = 0; i < COUNT(wanted); i++)
        assert_memory_equal(run_row(&o, pick, i), a + wanted[i] * D, D * sizeof *a);
    for (u32 t = 0; t < T; t++) {
        for (u32 j = 0; j < D; j++) {
            f64 x = (f64)a[t * D + j], y = (f64)b[t * D + j];
            near_one(o.where, "sum", t, j, run_at(&o, sum, t, j), x + 2 * y,
                     2 * EPS * (fabs(x) + 2 * fabs(y)));
            near_one(o.where, "self", t, j, run_at(&o, self, t, j), 3 * x, 3 * EPS * fabs(x));
            if (j >= N) continue;
            x = (f64)a[t * D + FROM + j], y = (f64)a[t * D + FROM + 3 + j];
            near_one(o.where, "slices", t, j, run_at(&o, part, t, j), x + 2 * y, 3 * EPS * 3);
        }
    }
    /* No row is wanted: ops on them are left out. */
    u64 before = o.x.n_dispatches;
    run_pass(&o, T, COUNT(wanted));
    u64 all = o.x.n_dispatches - before;
    run_pass(&o, T, 0);
    assert_int_equal(o.x.n_dispatches - before - all, all - 1);
    run_end(&o);
}

/* ---- Rope ------------------------------------------------------------------------------------ */

/* Value j of row t against float64, and against PyTorch's, which forms the angle in float32. */
static void check_rotated(const struct op_run *o, struct ref out, struct golden x, const f32 *y,
                          const f32 *inv, u32 n, u32 t, u32 j, struct rope_params p, f64 factor) {
    u32 i = j % p.head_dim, pos = o->rows[t].pos;
    const f32 *head = x.x + t * x.cols + j - i;
    f64 got = run_at(o, out, t, j);
    if (i >= 2 * n) { /* not rotated */
        assert_true(got == (f64)head[i]);
        return;
    }
    u32 k = p.neox ? i % n : i / 2, second = p.neox ? i >= n : i & 1;
    f64 u = (f64)head[p.neox ? k : 2 * k], v = (f64)head[p.neox ? k + n : 2 * k + 1];
    f64 angle = (f64)pos * (f64)inv[k], c = cos(angle) * factor, s = sin(angle) * factor;
    f64 size = (fabs(u) + fabs(v)) * factor;
    /* Angles are good to 2^-32 of a turn; the polynomials to a few ulps. */
    near_one(o->where, "rope", t, j, got, second ? u * s + v * c : u * c - v * s, 6 * EPS * size);
    if (!y) return;
    near_one(o->where, "rope, golden", t, j, got, (f64)y[t * x.cols + j],
             (2 * angle + 9) * EPS * size);
}

static void rope_case(u32 on, struct golden x, const f32 *y, const f32 *inv, u32 n, const i32 *pos,
                      struct rope_params p, f32 factor) {
    struct rope_angles_params ap = {factor};
    struct op_run o;
    run_begin(&o, on, x.rows, 1);
    for (u32 t = 0; t < x.rows; t++)
        o.rows[t].pos = (u32)pos[t];
    struct ref freqs = run_vec(&o, inv, n);
    struct ref angles = prog_op(&o.prog, OP_ROPE_ANGLES, &freqs, 2 * n, &ap);
    struct ref out =
        prog_op(&o.prog, OP_ROPE, (struct ref[]){run_x(&o, x.x, x.cols), angles}, 0, &p);
    run_ready(&o);
    run_pass(&o, x.rows, 1);
    for (u32 t = 0; t < x.rows; t++) {
        for (u32 j = 0; j < x.cols; j++)
            check_rotated(&o, out, x, y, inv, n, t, j, p, (f64)factor);
    }
    run_end(&o);
}

static void ropes(void **state) {
    static const struct {
        const char *name;
        struct rope_params p;
    } cases[] = {{"rope_normal", {32, 0}},  {"rope_neox", {32, 1}},
                 {"rope_partial", {32, 1}}, {"rope_proportional", {32, 1}},
                 {"rope_llama3", {64, 1}},  {"rope_yarn", {64, 1}}};
    for (u32 i = 0; i < COUNT(cases); i++) {
        const char *name = cases[i].name;
        struct golden inv = golden_get(&ops, name, "inv_freq");
        struct golden factor = golden_find(&ops, name, "attn_factor");
        rope_case(test_on(state), golden_get(&ops, name, "x"), golden_get(&ops, name, "y").x, inv.x,
                  inv.cols, golden_get(&ops, name, "pos").i, cases[i].p,
                  factor.x ? factor.x[0] : 1.0f);
    }
}

/* Gemma 4's global layers: pairs (j, j + 256) of a head of 512, most of which stand still. Also at
 * positions that a float cannot hold. */
static void far_ropes(void **state) {
    enum { E = 512, PAIRS = E / 2, TURNING = 64 };
    static const i32 positions[] = {0, 1, 1000, 100000, 16777217, INT32_MAX};
    f32 inv[PAIRS], x[COUNT(positions) * E];
    for (u32 j = 0; j < PAIRS; j++)
        inv[j] = (f32)(pow(1e6, -2.0 * j / E) / (j < TURNING ? 1 : 1e30));
    for (u32 i = 0; i < COUNT(x); i++)
        x[i] = rng_f32();
    struct golden in = {.x = x, .rows = COUNT(positions), .cols = E};
    rope_case(test_on(state), in, NULL, inv, PAIRS, positions, (struct rope_params){E, 1}, 1);
}

/* ---- Matrix products and int8 ---------------------------------------------------------------- */

static void matmul(void **state) {
    struct golden x = golden_get(&ops, "matmul", "x"), w = golden_get(&ops, "matmul", "w");
    struct golden y = golden_get(&ops, "matmul", "y");
    f32 bias[512];
    assert_true(w.rows <= COUNT(bias));
    for (u32 n = 0; n < w.rows; n++)
        bias[n] = rng_f32();
    struct op_run o;
    run_begin(&o, test_on(state), x.rows, 1);
    struct ref in[] = {run_x(&o, x.x, x.cols), run_mat(&o, QUANT_F32, w.x, w.rows, w.cols),
                       REF_ABSENT};
    struct ref plain = prog_op(&o.prog, OP_MATMUL, in, 0, NULL);
    in[2] = run_vec(&o, bias, w.rows);
    struct ref biased = prog_op(&o.prog, OP_MATMUL, in, 0, NULL);
    run_ready(&o);
    for (u32 rows = x.rows; rows > 0; rows /= 2) { /* in both forms */
        run_pass(&o, rows, 1);
        for (u32 t = 0; t < rows; t++) {
            for (u32 n = 0; n < w.rows; n++) {
                f64 size = 0;
                for (u32 k = 0; k < x.cols; k++)
                    size += fabs((f64)x.x[t * x.cols + k] * (f64)w.x[n * w.cols + k]);
                f64 want = (f64)y.x[t * y.cols + n], bound = 2 * x.cols * EPS * size;
                near_one(o.where, "matmul", t, n, run_at(&o, plain, t, n), want, bound);
                near_one(o.where, "bias", t, n, run_at(&o, biased, t, n), want + (f64)bias[n],
                         bound + 2 * EPS);
            }
        }
    }
    run_end(&o);
}

/* A row of int8 blocks against the values that it stands for; off: how much those may be off. */
static void check_a8(const struct op_run *o, struct ref y, u32 t, const f64 *x, f64 off) {
    u32 cols = run_val(o, y)->cols;
    const i8 *q = run_row(o, y, t);
    const f32 *d = (const f32 *)(const void *)(q + cols), *s = d + cols / 32;
    for (u32 b = 0; b < cols / 32; b++) {
        f64 top = 0, scale = (f64)d[b];
        i32 sum = 0;
        for (u32 j = 32 * b; j < 32 * b + 32; j++) {
            top = MAX(top, fabs(x[j]));
            sum += q[j];
        }
        if (top < 0x1p-119) {
            assert_true(d[b] == 0 && s[b] == 0 && sum == 0);
            continue;
        }
        near_one(o->where, "scale", t, b, scale, top / 127, (DIVISION + off) * top / 127);
        near_one(o->where, "sum", t, b, (f64)s[b], scale * sum, 2 * EPS * fabs(scale * sum));
        for (u32 j = 32 * b; j < 32 * b + 32; j++)
            near_one(o->where, "int8", t, j, q[j] * scale, x[j], scale * 0.5001 + off * top);
    }
}

/* Blocks of zeros, of tiny numbers, of one that dwarfs the rest, beyond half precision; infinities
 * and NaN are kept by the scale, so that they reach the result. */
static void int8_blocks(void **state) {
    enum { T = 9, D = 96, B = D / 32 };
    struct op_run o;
    run_begin(&o, test_on(state), T, 1);
    f32 *x = run_random(&o, T * D);
    f64 wide[D];
    memset(x + 2 * D, 0, 32 * sizeof *x);
    x[3 * D + 5] = 1e20f;
    for (u32 j = 0; j < D; j++) {
        x[4 * D + j] *= 0x1p-125f;               /* below what an inverse allows */
        x[5 * D + j] *= 7e4f;                    /* beyond half precision */
        x[6 * D + j] = 3e38f * (j % 2 ? -1 : 1); /* the largest */
        x[7 * D + j] *= 0x1p-110f;               /* tiny, and kept */
    }
    x[8 * D + 1] = INFINITY;
    x[8 * D + 32] = -INFINITY;
    x[8 * D + 95] = f32_from_bits(0x7fc00000);
    struct ref in = run_x(&o, x, D), y = prog_op(&o.prog, OP_QUANTIZE, &in, 0, NULL);
    run_ready(&o);
    run_pass(&o, T, 1);
    for (u32 t = 0; t < 8; t++) {
        for (u32 j = 0; j < D; j++)
            wide[j] = (f64)x[t * D + j];
        check_a8(&o, y, t, wide, 0);
    }
    const i8 *q = run_row(&o, y, 8);
    const f32 *d = (const f32 *)(const void *)(q + D);
    for (u32 b = 0; b < B; b++)
        assert_true(isnan(d[b]) && isnan(d[B + b]));
    run_end(&o);
}

/* The fused forms give the int8 blocks of the plain ones. */
static void fused_int8(void **state) {
    enum { T = 5, D = 160 };
    static const enum op_code fused[] = {OP_RMS_NORM_Q, OP_RMS_NORM_Q, OP_SWIGLU_Q, OP_GEGLU_Q};
    static const enum op_code plain[] = {OP_RMS_NORM, OP_RMS_NORM, OP_SWIGLU, OP_GEGLU};
    struct rms_norm_params p = {D, 1e-5f};
    struct op_run o;
    struct ref one[4], two[4];
    run_begin(&o, test_on(state), T, 1);
    f32 *x = run_random(&o, T * D), *up = run_random(&o, T * D), *w = run_random(&o, D);
    for (u32 j = 0; j < D; j++) {
        x[2 * D + j] *= 7e4f;
        x[3 * D + j] = 0;
    }
    struct ref rx = run_x(&o, x, D), second[] = {run_vec(&o, w, D), REF_ABSENT, run_x(&o, up, D)};
    for (u32 i = 0; i < 4; i++) {
        struct ref in[] = {rx, second[MIN(i, 2u)]};
        one[i] = prog_op(&o.prog, fused[i], in, 0, &p);
        two[i] = prog_op(&o.prog, plain[i], in, 0, &p);
    }
    run_ready(&o);
    run_pass(&o, T, 1);
    for (u32 i = 0; i < 4; i++) {
        for (u32 t = 0; t < T; t++) {
            f64 want[D];
            for (u32 j = 0; j < D; j++)
                want[j] = run_at(&o, two[i], t, j);
            check_a8(&o, one[i], t, want, 4 * EPS);
        }
    }
    run_end(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_EACH(norms),           ON_EACH(grouped_norms),
        ON_EACH(gates),           ON_EACH(caps),
        ON_EACH(nan_stays),       ON_EACH(rows_and_slices),
        ON_EACH(ropes),           ON_EACH(far_ropes),
        ON_EACH(matmul),          ON_EACH(int8_blocks),
        ON_EACH(fused_int8),      ON_WIDTHS(norms),
        ON_WIDTHS(grouped_norms), ON_WIDTHS(matmul),
        ON_WIDTH(fused_int8, 8),  ON_WIDTH(fused_int8, 64),
    };
    if (!rig_has_gpu()) return 0;
    return cmocka_run_group_tests_name("gpu ops", tests, open_goldens, close_goldens);
}
