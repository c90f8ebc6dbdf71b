/* Ops with a memory, and experts, on a GPU: attention over the paged cache (golden cases from
 * PyTorch, random ones against float64) in f32 and f16, short convolutions, routing, experts whose
 * weights are cut into pieces. Caches hold NaN where nothing was stored: reading it would show. */
#include "gpu_ops_rig.h"

#include "base/f16.h"

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

/* ---- Attention ------------------------------------------------------------------------------- */

/* n positions, `chunk` of them per pass; compared are the last t. */
struct attend_case {
    const char *name;
    u32 heads, kv_heads, e, t, n, window, chunk;
    f32 scale, softcap;
    u32 slots; /* of the ring of pages; 0: no ring */
};
enum { LAYER = 1 };

static f64 stored(f32 x, bool f16) {
    return (f64)(f16 ? f16_to_f32(f32_to_f16(x)) : x);
}

/* What attention should give at [pos][head][column], and the bound on its float32 error: scores are
 * off by (E + 8) eps times the sum of their terms' sizes, which moves every weight by that much;
 * sums over positions, an exp per weight and one per stretch of keys add their own. */
static void reference(const struct attend_case *k, const f32 *q, const f32 *keys, const f32 *values,
                      u32 pos, u32 h, bool f16, f64 *out, f64 *bound) {
    u32 width = k->kv_heads * k->e, kh = h / (k->heads / k->kv_heads);
    u32 lo = k->window && pos >= k->window ? pos - k->window + 1 : 0;
    f64 top = -(f64)INFINITY, off = 0, sum = 0, largest = 0;
    f64 *p = calloc(pos + 1, sizeof *p);
    assert_non_null(p);
    for (u32 j = lo; j <= pos; j++) {
        f64 score = 0, size = 0;
        for (u32 e = 0; e < k->e; e++) {
            f64 term = (f64)q[h * k->e + e] * stored(keys[j * width + kh * k->e + e], f16);
            score += term;
            size += fabs(term);
            largest = MAX(largest, fabs(stored(values[j * width + kh * k->e + e], f16)));
        }
        score *= (f64)k->scale;
        if (k->softcap != 0) score = (f64)k->softcap * tanh(score / (f64)k->softcap);
        off = MAX(off, (k->e + 8) * EPS * size * (f64)k->scale + 16 * EPS * (f64)k->softcap);
        top = MAX(top, score);
        p[j] = score;
    }
    for (u32 j = lo; j <= pos; j++)
        sum += p[j] = exp(p[j] - top);
    for (u32 e = 0; e < k->e; e++) {
        out[e] = 0;
        for (u32 j = lo; j <= pos; j++)
            out[e] += p[j] / sum * stored(values[j * width + kh * k->e + e], f16);
    }
    *bound = largest * (2 * off + (pos - lo + 24 + 16 * ((pos - lo) / 64 + 1)) * EPS);
    free(p);
}

/* Row i of the pass against what it should be. golden: q's rows of the case, or NULL. */
static void check_row(const struct op_run *o, const struct attend_case *k, struct ref y, u32 i,
                      const f32 *q, const f32 *keys, const f32 *values, bool f16,
                      const f32 *golden) {
    f64 want[512], bound;
    u32 pos = o->rows[i].pos;
    assert_true(k->e <= COUNT(want));
    for (u32 h = 0; h < k->heads; h++) {
        reference(k, q, keys, values, pos, h, f16, want, &bound);
        for (u32 e = 0; e < k->e; e++) {
            u32 col = h * k->e + e;
            near_one(o->where, k->name, pos, col, run_at(o, y, i, col), want[e], bound);
            if (golden)
                near_one(o->where, "golden", pos, col, run_at(o, y, i, col), (f64)golden[col],
                         2 * bound);
        }
    }
}

/* q: [t][heads E], keys and values [n][kv_heads E], golden likewise or NULL. */
static void attend_case(u32 on, const struct attend_case *k, const f32 *q, const f32 *keys,
                        const f32 *values, bool f16, const f32 *golden) {
    u32 width = k->kv_heads * k->e, cols = k->heads * k->e, chunk = MIN(k->chunk, k->n);
    struct attend_params p = {LAYER, k->e, k->scale, k->softcap, k->window};
    struct kv_store_params sp = {LAYER};
    struct op_run o;
    run_begin(&o, on, chunk, 1);
    run_cache(&o, k->slots ? KV_SLIDING : KV_FULL, k->kv_heads, k->e, f16,
              k->slots ? k->slots * KV_PAGE : k->n);
    f32 *all = run_random(&o, (u64)k->n * cols);
    memcpy(all + (size_t)(k->n - k->t) * cols, q, (size_t)k->t * cols * sizeof *q);
    struct ref in[] = {run_x(&o, all, cols), run_x(&o, keys, width), run_x(&o, values, width)};
    prog_op(&o.prog, OP_KV_STORE, in + 1, 0, &sp);
    struct ref y = prog_op(&o.prog, OP_ATTEND, in, 0, &p);
    run_ready(&o);
    run_poison(&o);
    for (u32 at = 0; at < k->n; at += chunk) {
        u32 n = MIN(chunk, k->n - at);
        o.in[1].rows = all + (size_t)at * cols; /* 0 is the lamp */
        o.in[2].rows = keys + (size_t)at * width;
        o.in[3].rows = values + (size_t)at * width;
        for (u32 i = 0; i < n; i++)
            o.rows[i].pos = at + i;
        run_pass(&o, n, 1);
        for (u32 i = 0; i < n; i++) {
            u32 pos = at + i;
            if (pos < k->n - k->t) continue;
            const f32 *want = golden ? golden + (size_t)(pos + k->t - k->n) * cols : NULL;
            check_row(&o, k, y, i, all + (size_t)pos * cols, keys, values, f16, want);
        }
    }
    run_end(&o);
}

static void attend_goldens(void **state) {
    static const struct attend_case cases[] = {
        {"attn_full", 4, 2, 16, 12, 12, 0, 5, 0.25f, 0, 0},
        {"attn_window", 4, 1, 16, 20, 20, 8, 7, 1, 0, 0},
        {"attn_past", 4, 2, 16, 3, 15, 8, 15, 0.25f, 0, 0},
        {"attn_softcap", 2, 2, 16, 12, 12, 0, 1, 1, 20, 0},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        const struct attend_case *k = &cases[i];
        struct golden q = golden_get(&ops, k->name, "q"), keys = golden_get(&ops, k->name, "k");
        struct golden v = golden_get(&ops, k->name, "v"), y = golden_get(&ops, k->name, "y");
        assert_int_equal(q.rows, k->t);
        assert_int_equal(keys.rows, k->n);
        attend_case(test_on(state), k, q.x, keys.x, v.x, false, y.x);
        if (test_on(state) < ON_LANES) attend_case(test_on(state), k, q.x, keys.x, v.x, true, NULL);
    }
}

/* Several pages, windows that begin inside a page, head widths from 2 to 512, groups of heads,
 * rings that go round; scores far beyond a cap, which are capped first and masked then. */
static void attend_shapes(void **state) {
    static const struct attend_case cases[] = {
        {"pages", 4, 2, 16, 7, 150, 0, 50, 0.25f, 0, 0},
        {"prompt", 6, 2, 32, 135, 135, 0, 135, 0.2f, 0, 0},
        {"window over pages", 4, 4, 24, 40, 200, 70, 40, 0.2f, 0, 0},
        {"window of one", 2, 1, 16, 5, 67, 1, 30, 0.25f, 0, 0},
        {"window longer than all", 2, 1, 16, 5, 67, 4000, 30, 0.25f, 0, 0},
        {"ring", 2, 1, 16, 200, 400, 70, 40, 0.25f, 0, 4},
        {"wide heads", 2, 1, 256, 2, 66, 0, 33, 0.06f, 30, 0},
        {"narrow heads", 3, 3, 2, 9, 30, 0, 9, 0.7f, 0, 0},
        {"one KV head", 12, 1, 20, 11, 70, 0, 70, 0.2f, 0, 0},
        {"first token", 4, 2, 16, 1, 1, 0, 1, 0.25f, 0, 0},
        {"sharp", 2, 2, 16, 3, 90, 0, 45, 60, 0, 0},
        {"sliding heads of 256", 8, 8, 256, 3, 90, 20, 45, 0.1f, 0, 0},
        {"global heads of 512", 8, 2, 512, 3, 90, 0, 45, 0.07f, 0, 0},
        {"far beyond the cap", 2, 1, 32, 5, 80, 0, 40, 400, 50, 0},
        {"beyond the cap, in a window", 2, 1, 32, 5, 80, 12, 40, 400, 50, 0},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        const struct attend_case *k = &cases[i];
        /* 64 bytes at a time, large passes would take minutes. */
        if (test_on(state) == ON_TINY && k->chunk * k->heads * k->e > 4000) continue;
        /* Widths of heads and formats of the cache are kernels, which take long to make. */
        bool some = test_on(state) >= ON_LANES;
        if (some && k->e != 16) continue;
        u64 nq = (u64)k->t * k->heads * k->e, n = (u64)k->n * k->kv_heads * k->e;
        f32 *x = malloc((nq + 2 * n) * sizeof *x);
        assert_non_null(x);
        for (u64 j = 0; j < nq + 2 * n; j++)
            x[j] = rng_f32();
        attend_case(test_on(state), k, x, x + nq, x + nq + n, false, NULL);
        if (!some) attend_case(test_on(state), k, x, x + nq, x + nq + n, true, NULL);
        free(x);
    }
}

/* A store writes the row's position in its layer and nothing else; f16 holds at most 65504. */
static void stores(void **state) {
    enum { HEADS = 2, E = 20, D = HEADS * E, T = 3, PAGES = 3 };
    for (u32 f16 = 0; f16 < 2; f16++) {
        struct kv_store_params p = {LAYER};
        struct op_run o;
        run_begin(&o, test_on(state), T, 1);
        run_cache(&o, KV_FULL, HEADS, E, f16, PAGES * KV_PAGE);
        f32 *x[] = {run_random(&o, T * D), run_random(&o, T * D)};
        x[0][3] = 7e4f;
        x[1][D] = -1e9f;
        static const u32 at[T] = {KV_PAGE - 1, KV_PAGE, PAGES * KV_PAGE - 1};
        for (u32 i = 0; i < T; i++)
            o.rows[i].pos = at[i];
        prog_op(&o.prog, OP_KV_STORE, (struct ref[]){run_x(&o, x[0], D), run_x(&o, x[1], D)}, 0,
                &p);
        run_ready(&o);
        run_poison(&o);
        run_pass(&o, T, 1);
        for (u32 layer = 0; layer < RIG_LAYERS; layer++) {
            u64 size = o.x.caches[layer].bytes, width = f16 ? 2 : 4;
            assert_int_equal(size, 2 * width * PAGES * KV_PAGE * D);
            u8 *got = malloc(size);
            rig_read(o.x.device->gpu, &o.x.caches[layer], got, size);
            for (u32 i = 0; i < 2 * T * D && layer == LAYER; i++) {
                u32 v = i / (T * D), row = i / D % T, col = i % D;
                u64 page = at[row] / KV_PAGE * 2 * KV_PAGE * D + v * KV_PAGE * D;
                u64 place = page + ((col / E) * KV_PAGE + at[row] % KV_PAGE) * E + col % E;
                f32 one = x[v][row * D + col];
                u16 h = f32_to_f16(fmaxf(fminf(one, 65504), -65504));
                assert_memory_equal(got + place * width, f16 ? (void *)&h : (void *)&one, width);
                memset(got + place * width, 0xff, width);
            }
            for (u64 i = 0; i < size; i++)
                assert_int_equal(got[i], 0xff);
            free(got);
        }
        run_end(&o);
    }
}

/* ---- Short convolution ----------------------------------------------------------------------- */

/* The golden case as LFM2's block has it: gates of 1 before and after. State rows are earlier
 * positions. In passes of 4 rows, over a ring of pages. */
static void conv_case(u32 on, const char *name) {
    enum { PASS = 4, MOST = 32, WIDTH = 16, TAPS = 8 };
    struct golden x = golden_get(&ops, name, "x"), w = golden_get(&ops, name, "w");
    struct golden state = golden_find(&ops, name, "state"), want = golden_get(&ops, name, "y");
    u32 before = state.x ? state.rows : 0, n = before + x.rows, taps = w.cols, d = x.cols;
    f32 all[MOST * WIDTH], ones[PASS * WIDTH], turned[TAPS * WIDTH];
    assert_true(n <= MOST && d == WIDTH && taps <= TAPS);
    if (before) memcpy(all, state.x, before * d * sizeof *all);
    memcpy(all + before * d, x.x, x.rows * d * sizeof *all);
    for (u32 i = 0; i < COUNT(ones); i++)
        ones[i] = 1;
    for (u32 i = 0; i < d; i++) {
        for (u32 j = 0; j < taps; j++)
            turned[j * d + i] = w.x[i * taps + j];
    }
    struct op_run o;
    struct conv_store_params sp = {LAYER};
    struct conv_params cp = {LAYER, taps};
    run_begin(&o, on, PASS, 1);
    run_cache(&o, KV_CONV, 1, d, true, KV_PAGE); /* f16 is not for convolutions */
    struct ref z = run_x(&o, all, d), one = run_x(&o, ones, d);
    prog_op(&o.prog, OP_CONV_STORE, (struct ref[]){z, one}, 0, &sp);
    struct ref y = prog_op(&o.prog, OP_CONV,
                           (struct ref[]){one, run_mat(&o, QUANT_F32, turned, taps, d)}, 0, &cp);
    run_ready(&o);
    run_poison(&o);
    for (u32 at = 0; at < n; at += PASS) {
        u32 t = MIN((u32)PASS, n - at);
        o.in[1].rows = all + at * d;
        for (u32 i = 0; i < t; i++)
            o.rows[i].pos = at + i;
        run_pass(&o, t, 1);
        for (u32 i = 0; i < t * d; i++) {
            u32 pos = at + i / d;
            if (pos < before) continue;
            f64 value = (f64)want.x[(pos - before) * d + i % d];
            near_one(o.where, name, pos, i % d, run_at(&o, y, i / d, i % d), value, 32 * EPS);
        }
    }
    run_end(&o);
}
static void convs(void **state) {
    conv_case(test_on(state), "conv1d");
    conv_case(test_on(state), "conv1d_k5");
}

/* ---- Experts --------------------------------------------------------------------------------- */

static void route_case(u32 on, const char *name, enum route_gate gate, const char *vec) {
    struct golden x = golden_get(&ops, name, "logits"), y = golden_get(&ops, name, "y");
    struct golden index = golden_get(&ops, name, "index"), v = golden_get(&ops, name, vec);
    struct route_params p = {y.cols, gate};
    struct op_run o;
    run_begin(&o, on, x.rows, 1);
    struct ref by = run_vec(&o, v.x, x.cols), in = run_x(&o, x.x, x.cols);
    struct ref out = prog_op(&o.prog, OP_ROUTE,
                             (struct ref[]){in, gate == ROUTE_SIGMOID ? by : REF_ABSENT,
                                            gate == ROUTE_SOFTMAX ? by : REF_ABSENT},
                             2 * y.cols, &p);
    run_ready(&o);
    run_pass(&o, x.rows, 1);
    for (u32 t = 0; t < x.rows; t++) {
        for (u32 j = 0; j < y.cols; j++) {
            assert_int_equal((i32)run_at(&o, out, t, j), index.i[t * y.cols + j]);
            near_one(o.where, name, t, j, run_at(&o, out, t, y.cols + j), (f64)y.x[t * y.cols + j],
                     1e-6);
        }
    }
    run_end(&o);
}
static void routes(void **state) {
    route_case(test_on(state), "route_softmax", ROUTE_SOFTMAX, "scale");
    route_case(test_on(state), "route_sigmoid", ROUTE_SIGMOID, "bias");
}

struct expert_case {
    u32 t, d, stride, first, n;
};
enum { EXPERTS = 5, USED = 2 };

/* Input c of slot s as the kernel saw it: f32, or what an int8 block stands for. */
static f64 input_of(const struct op_run *o, struct ref x, u32 row, u32 c) {
    const struct val *v = run_val(o, x);
    if (v->dtype == DT_F32) return run_at(o, x, row, c);
    const i8 *q = run_row(o, x, row);
    return (f64)q[c] * (f64)((const f32 *)(const void *)(q + v->cols))[c / 32];
}

static void check_experts(const struct op_run *o, const struct expert_case *k, struct ref y,
                          struct ref x, const f32 *route, const f32 *w, u32 per_token) {
    for (u32 s = 0; s < o->step.t * USED; s += s % 3 ? 1 : 2) {
        u32 e = (u32)route[s / USED * 2 * USED + s % USED];
        for (u32 n = 0; n < k->n; n += 1 + n % 5) {
            const f32 *row = w + ((size_t)e * k->stride + k->first + n) * k->d;
            f64 sum = 0, size = 0;
            for (u32 i = 0; i < k->d; i++) {
                f64 product = input_of(o, x, s / per_token, i) * (f64)row[i];
                sum += product;
                size += fabs(product);
            }
            near_one(o->where, "expert", s, n, run_at(o, y, s, n), sum, (k->d + 4) * EPS * size);
        }
    }
}

/* Slots of a part of each expert's rows, from f32 and int8 rows of tokens, then from slots; their
 * mixture. An expert is crowded, another one empty. */
static void expert_case(u32 on, const struct expert_case *k, u32 min_pieces) {
    struct expert_params p = {USED, k->stride, k->first, k->n};
    struct mix_params mp = {USED};
    struct op_run o;
    run_begin(&o, on, k->t, 1);
    f32 *x = run_random(&o, (u64)k->t * k->d), *slots = run_random(&o, (u64)k->t * USED * k->d);
    f32 *w = run_random(&o, (u64)EXPERTS * k->stride * k->d);
    f32 *route = run_random(&o, (u64)k->t * 2 * USED);
    for (u32 t = 0; t < k->t; t++) {
        u32 a = t % 7 ? 1 : 4, b = t % 2 ? 2 : 0;
        f32 row[2 * USED] = {(f32)a, (f32)b, 0.75f, 0.25f + (f32)t / (f32)k->t};
        memcpy(route + t * 2 * USED, row, sizeof row);
    }
    struct ref rx = run_x(&o, x, k->d), rr = run_x(&o, route, 2 * USED);
    struct ref rs = run_in(&o, slots, ROWS_T, USED, k->d, DT_F32);
    struct ref m = run_mat(&o, QUANT_F32, w, EXPERTS * k->stride, k->d);
    struct ref q = prog_op(&o.prog, OP_QUANTIZE, &rx, 0, NULL);
    struct ref in[] = {rx, q, rs}, y[3];
    for (u32 i = 0; i < 3; i++)
        y[i] = prog_op(&o.prog, OP_EXPERT, (struct ref[]){in[i], rr, m}, k->n, &p);
    struct ref mix = prog_op(&o.prog, OP_MIX, (struct ref[]){y[0], rr}, 0, &mp);
    run_ready(&o);
    assert_true(o.x.n_launches >= 6 * min_pieces + 2);
    for (u32 t = k->t; t > 0; t /= 4) {
        run_pass(&o, t, 1);
        if (on != ON_DEVICE && t == k->t) assert_true(run_most_groups(&o) > 9); /* in 3-D */
        for (u32 i = 0; i < 3; i++)
            check_experts(&o, k, y[i], in[i], route, w, i == 2 ? 1 : USED);
        for (u32 i = 0; i < t * k->n; i++) {
            u32 row = i / k->n, n = i % k->n;
            f64 u = run_at(&o, y[0], 2 * row, n) * (f64)route[4 * row + 2];
            f64 v = run_at(&o, y[0], 2 * row + 1, n) * (f64)route[4 * row + 3];
            near_one(o.where, "mix", row, n, run_at(&o, mix, row, n), u + v,
                     4 * EPS * (fabs(u) + fabs(v)));
        }
    }
    run_end(&o);
}
static void experts(void **state) {
    /* More slots than the tile form gathers at a time. */
    static const struct expert_case crowd = {270, 64, 48, 16, 32};
    /* Matrices in pieces that end inside of experts, and inside of what is used of them. */
    static const struct expert_case wide = {9, 96, 150, 21, 100};
    if (test_on(state) != ON_TINY) expert_case(test_on(state), &crowd, 1);
    bool split = test_on(state) == ON_TINY;
    expert_case(split ? ON_SPLIT : test_on(state), &wide, split ? 8 : 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_EACH(attend_goldens),   ON_EACH(attend_shapes),
        ON_EACH(stores),           ON_EACH(convs),
        ON_EACH(routes),           ON_EACH(experts),
        ON_WIDTHS(attend_goldens), ON_WIDTHS(attend_shapes),
        ON_WIDTHS(routes),         ON_WIDTHS(experts),
    };
    if (!rig_has_gpu()) return 0;
    return cmocka_run_group_tests_name("gpu cache", tests, open_goldens, close_goldens);
}
