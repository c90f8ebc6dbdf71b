/* CPU ops of the families beyond llama against golden values from PyTorch, and experts against a
 * plain double-precision loop. */
#include "ops_rig.h"

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

/* ---- Gates and caps -------------------------------------------------------------------------- */

static void gelu(struct rig *r) {
    struct golden gate = golden_get(&ops, "geglu", "gate"), up = golden_get(&ops, "geglu", "up");
    struct mat a[3] = {mat_new(r, gate.rows, gate.cols, DT_F32), mat_golden(r, gate),
                       mat_golden(r, up)};
    rig_run(r, OP_GEGLU, NULL, a, 3);
    near_all("geglu", &a[0], golden_get(&ops, "geglu", "y"), 8 * EPS);

    struct golden x = golden_get(&ops, "softcap", "x");
    struct softcap_params cap = {30};
    struct mat b[2] = {mat_new(r, x.rows, x.cols, DT_F32), mat_golden(r, x)};
    rig_run(r, OP_SOFTCAP, &cap, b, 2);
    near_all("softcap", &b[0], golden_get(&ops, "softcap", "y"), 8 * EPS);

    /* The fused form is the plain one, quantised. */
    struct mat wide[2] = {mat_random(r, 3, 96), mat_random(r, 3, 96)};
    struct mat plain[3] = {mat_new(r, 3, 96, DT_F32), wide[0], wide[1]};
    struct mat two[2] = {mat_new(r, 3, 96, DT_A8), plain[0]};
    struct mat one[3] = {mat_new(r, 3, 96, DT_A8), wide[0], wide[1]};
    rig_run(r, OP_GEGLU, NULL, plain, 3);
    rig_run(r, OP_QUANTIZE, NULL, two, 2);
    rig_run(r, OP_GEGLU_Q, NULL, one, 3);
    for (u32 t = 0; t < 3; t++) {
        assert_memory_equal(mat_row(&one[0], t), mat_row(&two[0], t), a8_row_bytes(96));
    }
    struct scale_params half = {0.5f};
    struct mat c[2] = {mat_new(r, 3, 96, DT_F32), wide[0]};
    rig_run(r, OP_SCALE, &half, c, 2);
    for (u32 j = 0; j < 96; j++)
        assert_true(mat_row(&c[0], 2)[j] == mat_row(&wide[0], 2)[j] / 2);
}
static void test_gelu(void **state) {
    (void)state;
    rig_each(gelu);
}

/* Gates far outside of the curved range, beyond half precision and where a cube overflows: gelu is
 * the gate itself, or nothing. */
static void gelu_far_out(struct rig *r) {
    static const f32 far[] = {9.5f, 20, 200, 65504, 7e4f, 1e10f, 1e13f, 1e20f, 1e30f, 3e38f};
    enum { D = 2 * COUNT(far) };
    struct mat a[3] = {mat_new(r, 1, D, DT_F32), mat_new(r, 1, D, DT_F32),
                       mat_new(r, 1, D, DT_F32)};
    for (u32 j = 0; j < D; j++) {
        mat_row(&a[1], 0)[j] = j % 2 ? -far[j / 2] : far[j / 2];
        mat_row(&a[2], 0)[j] = 0.5f;
    }
    rig_run(r, OP_GEGLU, NULL, a, 3);
    for (u32 j = 0; j < D; j++) {
        f64 want = j % 2 ? 0 : (f64)far[j / 2] / 2;
        near_one("geglu, far out", 0, j, (f64)mat_row(&a[0], 0)[j], want, 4 * EPS * want + 1e-30);
    }
    struct softcap_params cap = {30};
    struct mat b[2] = {mat_new(r, 1, D, DT_F32), a[1]};
    rig_run(r, OP_SOFTCAP, &cap, b, 2);
    for (u32 j = 0; j < D; j++) {
        f64 want = 30 * tanh((f64)mat_row(&a[1], 0)[j] / 30);
        near_one("softcap, far out", 0, j, (f64)mat_row(&b[0], 0)[j], want, 8 * EPS * fabs(want));
    }
    /* A residual of 7e4 through what reads it, and the quantised forms with it: block scales are
     * f32. */
    struct mat x = mat_new(r, 2, 64, DT_F32), w = mat_random(r, 1, 64);
    for (u32 j = 0; j < 64; j++) {
        mat_row(&x, 0)[j] = j % 3 ? 7e4f : -7.5e4f;
        mat_row(&x, 1)[j] = 1e9f * (f32)(j + 1);
    }
    struct rms_norm_params p = {64, 1e-6f};
    struct mat n[3] = {mat_new(r, 2, 64, DT_F32), x, mat_weight(mat_row(&w, 0), 1, 64)};
    rig_run(r, OP_RMS_NORM, &p, n, 3);
    for (u32 t = 0; t < 2; t++) {
        f64 sum = 0;
        for (u32 j = 0; j < 64; j++)
            sum += (f64)mat_row(&x, t)[j] * (f64)mat_row(&x, t)[j];
        for (u32 j = 0; j < 64; j++) {
            f64 want = (f64)mat_row(&x, t)[j] / sqrt(sum / 64) * (f64)mat_row(&w, 0)[j];
            near_one("norm of large values", t, j, (f64)mat_row(&n[0], t)[j], want,
                     16 * EPS * fabs(want));
        }
    }
    struct mat q[2] = {mat_new(r, 2, 64, DT_A8), x};
    rig_run(r, OP_QUANTIZE, NULL, q, 2);
    struct mat one = mat_new(r, 1, 64, DT_F32);
    u8 *codes = arena_get(&r->arena, 2 * sizeof(u16) + 64 + 64);
    assert_non_null(codes);
    memset(mat_row(&one, 0), 0, 64 * sizeof(f32));
    for (u32 b32 = 0; b32 < 2; b32++) { /* Q8_0: scale 1, then 32 ones */
        u16 scale = 0x3c00;
        memcpy(codes + b32 * 34, &scale, 2);
        memset(codes + b32 * 34 + 2, 1, 32);
    }
    struct mat weight = {.p = codes, .pitch = 68, .rows = 1, .cols = 64, .type = QUANT_Q8_0};
    struct mat y[4] = {mat_new(r, 2, 1, DT_F32), q[0], weight, {0}};
    rig_run(r, OP_MATMUL, NULL, y, 4);
    for (u32 t = 0; t < 2; t++) {
        f64 sum = 0, most = 0;
        for (u32 j = 0; j < 64; j++) {
            sum += (f64)mat_row(&x, t)[j];
            most = fmax(most, fabs((f64)mat_row(&x, t)[j]));
        }
        near_one("product with large values", t, 0, (f64)mat_row(&y[0], t)[0], sum,
                 64 * most / 254); /* half a step of each */
    }
}
static void test_far_out(void **state) {
    (void)state;
    rig_each(gelu_far_out);
}

/* ---- Short convolution ----------------------------------------------------------------------- */

/* The golden case as LFM2's block has it: gates of 1 before and after. before: rows that the state
 * holds already, read as earlier positions. */
static void conv_case(struct rig *r, const char *name) {
    struct golden x = golden_get(&ops, name, "x"), w = golden_get(&ops, name, "w");
    struct golden state = golden_find(&ops, name, "state");
    u32 before = state.x ? state.rows : 0, n = before + x.rows, taps = w.cols, d = x.cols;
    u32 n_pages = (n + KV_PAGE - 1) / KV_PAGE;
    struct kv_layer layer = {.kind = KV_CONV, .n_heads = 1, .head_dim = d};
    u64 page_bytes = (u64)KV_PAGE * d * sizeof(f32);
    struct kv_layout layout = {.layers = &layer, .n_layers = 1};
    u8 **pages = arena_array(&r->arena, n_pages, sizeof *pages);
    struct step_row *rows = arena_array(&r->arena, n, sizeof *rows);
    f32 *all = arena_array(&r->arena, (u64)n * d, sizeof *all);
    f32 *turned = arena_array(&r->arena, (u64)taps * d, sizeof *turned);
    for (u32 i = 0; i < n_pages; i++) {
        pages[i] = arena_get(&r->arena, page_bytes);
        memset(pages[i], 0xff, page_bytes);
    }
    for (u32 t = 0; t < n; t++) {
        rows[t] = (struct step_row){.pos = t};
        memcpy(all + (size_t)t * d, t < before ? state.x + t * d : x.x + (t - before) * d,
               d * sizeof *all);
    }
    for (u32 i = 0; i < d; i++) {
        for (u32 j = 0; j < taps; j++)
            turned[j * d + i] = w.x[i * taps + j];
    }
    struct step_seq seq = {.pages = {[KV_CONV] = pages}, .n_pages = {[KV_CONV] = n_pages}};
    r->step = (struct step){.rows = rows, .t = n, .seqs = &seq, .kv = &layout};
    struct mat z = mat_copy(r, all, n, d), ones = mat_new(r, n, d, DT_F32);
    for (u32 t = 0; t < n; t++) {
        for (u32 i = 0; i < d; i++)
            mat_row(&ones, t)[i] = 1;
    }
    struct conv_store_params store = {0};
    rig_call(r, OP_CONV_STORE, &store, (struct mat[]){z, ones}, 2, 2);
    struct conv_params conv = {0, taps};
    struct mat y[3] = {mat_new(r, n, d, DT_F32), ones, mat_weight(turned, taps, d)};
    rig_run(r, OP_CONV, &conv, y, 3);
    struct mat fresh = y[0];
    fresh.p += before * fresh.pitch;
    fresh.rows = x.rows;
    near_all(name, &fresh, golden_get(&ops, name, "y"), 8 * EPS);
}
static void conv(struct rig *r) {
    conv_case(r, "conv1d");
    conv_case(r, "conv1d_k5");
}
static void test_conv(void **state) {
    (void)state;
    rig_each(conv);
}

/* ---- Experts --------------------------------------------------------------------------------- */

static void route_case(struct rig *r, const char *name, enum route_gate gate, const char *vec) {
    struct golden x = golden_get(&ops, name, "logits"), y = golden_get(&ops, name, "y");
    struct golden index = golden_get(&ops, name, "index"), v = golden_get(&ops, name, vec);
    struct mat by = mat_weight(v.x, 1, x.cols), none = {0};
    struct route_params p = {y.cols, gate};
    struct mat a[4] = {mat_new(r, x.rows, 2 * y.cols, DT_F32), mat_golden(r, x),
                       gate == ROUTE_SIGMOID ? by : none, gate == ROUTE_SOFTMAX ? by : none};
    rig_run(r, OP_ROUTE, &p, a, 4);
    for (u32 t = 0; t < x.rows; t++) {
        for (u32 j = 0; j < y.cols; j++) {
            assert_int_equal((i32)mat_row(&a[0], t)[j], index.i[t * y.cols + j]);
            near_one(name, t, j, (f64)mat_row(&a[0], t)[y.cols + j], (f64)y.x[t * y.cols + j],
                     1e-6);
        }
    }
}
static void route(struct rig *r) {
    route_case(r, "route_softmax", ROUTE_SOFTMAX, "scale");
    route_case(r, "route_sigmoid", ROUTE_SIGMOID, "bias");
}
static void test_route(void **state) {
    (void)state;
    rig_each(route);
}

/* Slots of a part of each expert's rows, then their mixture, against a double-precision loop. More
 * tokens than are gathered at a time, so that an expert is flushed more than once. */
static void experts(struct rig *r) {
    enum { T = 150, D = 64, E = 5, USED = 2, STRIDE = 48, FIRST = 16, N = 32 };
    struct mat x = mat_random(r, T, D), route = mat_new(r, T, 2 * USED, DT_F32);
    f32 *w = arena_array(&r->arena, (u64)E * STRIDE * D, sizeof *w);
    for (u32 i = 0; i < E * STRIDE * D; i++)
        w[i] = rng_f32();
    for (u32 t = 0; t < T; t++) {
        u32 a = t % 7 ? 1 : 4, b = (a + 1 + t % 3) % E; /* expert 1 is crowded */
        f32 row[2 * USED] = {(f32)a, (f32)b, 0.75f, 0.25f + (f32)t / T};
        memcpy(mat_row(&route, t), row, sizeof row);
    }
    struct expert_params p = {USED, STRIDE, FIRST, N};
    struct mat a[4] = {mat_new(r, T * USED, N, DT_F32), x, route, mat_weight(w, E * STRIDE, D)};
    rig_run(r, OP_EXPERT, &p, a, 4);
    for (u32 s = 0; s < T * USED; s++) {
        u32 e = (u32)mat_row(&route, s / USED)[s % USED];
        for (u32 n = 0; n < N; n++) {
            const f32 *row = w + ((size_t)e * STRIDE + FIRST + n) * D;
            f64 sum = 0, size = 0;
            for (u32 i = 0; i < D; i++) {
                f64 product = (f64)mat_row(&x, s / USED)[i] * (f64)row[i];
                sum += product;
                size += fabs(product);
            }
            near_one("expert", s, n, (f64)mat_row(&a[0], s)[n], sum, D * EPS * size);
        }
    }
    struct mix_params mix = {USED};
    struct mat b[3] = {mat_new(r, T, N, DT_F32), a[0], route};
    rig_run(r, OP_MIX, &mix, b, 3);
    for (u32 t = 0; t < T; t++) {
        for (u32 n = 0; n < N; n++) {
            f64 u = (f64)mat_row(&a[0], 2 * t)[n] * (f64)mat_row(&route, t)[2];
            f64 v = (f64)mat_row(&a[0], 2 * t + 1)[n] * (f64)mat_row(&route, t)[3];
            near_one("mix", t, n, (f64)mat_row(&b[0], t)[n], u + v, 4 * EPS * (fabs(u) + fabs(v)));
        }
    }
    /* Slots as inputs: the same experts, a row each. */
    struct expert_params q = {USED, STRIDE, 0, STRIDE};
    struct mat slots = mat_random(r, T * USED, D);
    struct mat c[4] = {mat_new(r, T * USED, STRIDE, DT_F32), slots, route, a[3]};
    rig_run(r, OP_EXPERT, &q, c, 4);
    for (u32 s = 0; s < T * USED; s += 17) {
        const f32 *row = w + ((size_t)mat_row(&route, s / USED)[s % USED] * STRIDE + 40) * D;
        f64 sum = 0;
        for (u32 i = 0; i < D; i++)
            sum += (f64)mat_row(&slots, s)[i] * (f64)row[i];
        near_one("slot", s, 40, (f64)mat_row(&c[0], s)[40], sum, 1e-5);
    }
}
static void test_experts(void **state) {
    (void)state;
    rig_each(experts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gelu),  cmocka_unit_test(test_far_out), cmocka_unit_test(test_conv),
        cmocka_unit_test(test_route), cmocka_unit_test(test_experts),
    };
    return cmocka_run_group_tests_name("ops_families", tests, open_goldens, close_goldens);
}
