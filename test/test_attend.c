/* Attention over the paged cache through the CPU ops: golden cases from PyTorch, and random ones
 * against float64 here, in f32 and f16. Pages lie in any order, and memory that no position has
 * been stored to holds NaN: reading it would show. */
#include "ops_rig.h"

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
    return 0;
}

/* One case: n positions in the cache, queries of the last t; several sequences side by side. */
struct attend_case {
    const char *name;
    u32 heads, kv_heads, e, t, n, window, n_seqs;
    f32 scale, softcap;
};

enum { MAX_SEQS = 3, LAYERS = 3, LAYER = 1 };

/* The cache of a case: pages of three layers, of which the middle one is used. */
struct cache {
    struct kv_layer layers[LAYERS];
    struct kv_layout layout;
    u8 *memory;
    u8 **pages[MAX_SEQS];
    struct step_seq seqs[MAX_SEQS];
    u32 n_pages; /* of a sequence */
};

static void cache_make(struct rig *r, struct cache *c, const struct attend_case *k, bool f16) {
    u64 at = 0, half = ((u64)k->kv_heads * k->e * KV_PAGE * (f16 ? 2 : 4) + 63) & ~(u64)63;
    for (u32 i = 0; i < LAYERS; i++, at += 2 * half) {
        c->layers[i] = (struct kv_layer){
            .k_off = at, .v_off = at + half, .n_heads = k->kv_heads, .head_dim = k->e};
    }
    c->layout = (struct kv_layout){
        .layers = c->layers, .n_layers = LAYERS, .page_bytes = {[KV_FULL] = at}, .f16 = f16};
    c->n_pages = (k->n + KV_PAGE - 1) / KV_PAGE;
    u32 all = c->n_pages * k->n_seqs;
    c->memory = arena_get(&r->arena, at * all);
    assert_non_null(c->memory);
    memset(c->memory, 0xff, at * all); /* NaN in both types */
    for (u32 s = 0; s < k->n_seqs; s++) {
        c->pages[s] = arena_array(&r->arena, c->n_pages, sizeof(u8 *));
        for (u32 i = 0; i < c->n_pages; i++) /* interleaved and backwards */
            c->pages[s][i] = c->memory + at * (all - 1 - (i * k->n_seqs + s));
        c->seqs[s] = (struct step_seq){.pages = {[KV_FULL] = c->pages[s]},
                                       .n_pages = {[KV_FULL] = c->n_pages}};
    }
}

static f64 stored(f32 x, bool f16) {
    return (f64)(f16 ? f16_to_f32(f32_to_f16(x)) : x);
}

/* The value that attention should have at [row of sequence][head][column], and the bound on its
 * float32 error: scores are off by (E + 8) eps times the sum of their terms' sizes, which
 * moves every weight by that much, relatively; sums over n positions and exp add their own. */
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
        off = MAX(off, (k->e + 8) * EPS * size * (f64)k->scale);
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
    *bound = largest * (2 * off + (pos - lo + 16) * EPS);
    free(p);
}

struct inputs { /* per sequence: q [t][heads E], k and v [n][kv_heads E] */
    const f32 *q[MAX_SEQS], *k[MAX_SEQS], *v[MAX_SEQS];
};

/* Stores positions in batches (the way a prompt is fed), attends with the last t of each sequence
 * in one batch, and compares; golden may be NULL. */
static void run_case(struct rig *r, const struct attend_case *k, const struct inputs *in, bool f16,
                     const f32 *golden) {
    struct cache c;
    cache_make(r, &c, k, f16);
    u32 width = k->kv_heads * k->e, cols = k->heads * k->e;
    struct step_row *rows = arena_array(&r->arena, (u64)k->n_seqs * k->n, sizeof *rows);
    struct kv_store_params sp = {LAYER};
    struct mat q = mat_new(r, k->n_seqs * k->t, cols, DT_F32);
    for (u32 s = 0; s < k->n_seqs; s++) {
        for (u32 at = 0; at < k->n; at += 5) {
            u32 n = MIN(5u, k->n - at);
            for (u32 i = 0; i < n; i++)
                rows[i] = (struct step_row){.pos = at + i, .seq = s};
            r->step = (struct step){.rows = rows, .t = n, .seqs = c.seqs, .kv = &c.layout};
            struct mat a[2] = {mat_copy(r, in->k[s] + at * width, n, width),
                               mat_copy(r, in->v[s] + at * width, n, width)};
            rig_call(r, OP_KV_STORE, &sp, a, 2, 1 + at % 3);
        }
        for (u32 t = 0; t < k->t; t++)
            memcpy(mat_row(&q, s * k->t + t), in->q[s] + t * cols, cols * sizeof(f32));
    }
    for (u32 i = 0; i < k->n_seqs * k->t; i++)
        rows[i] = (struct step_row){.pos = k->n - k->t + i % k->t, .seq = i / k->t};
    r->step = (struct step){.rows = rows, .t = q.rows, .seqs = c.seqs, .kv = &c.layout};
    struct attend_params p = {LAYER, k->e, k->scale, k->softcap, k->window};
    struct mat a[2] = {mat_new(r, q.rows, cols, DT_F32), q};
    rig_run(r, OP_ATTEND, &p, a, 2);
    f64 *want = calloc(k->e, sizeof *want);
    for (u32 i = 0; i < q.rows; i++) {
        u32 s = i / k->t;
        for (u32 h = 0; h < k->heads; h++) {
            f64 bound;
            reference(k, mat_row(&q, i), in->k[s], in->v[s], rows[i].pos, h, f16, want, &bound);
            for (u32 e = 0; e < k->e; e++) {
                u32 col = h * k->e + e;
                near_one(k->name, i, col, (f64)mat_row(&a[0], i)[col], want[e], bound);
                if (!golden) continue;
                near_one("golden", i, col, (f64)mat_row(&a[0], i)[col], (f64)golden[i * cols + col],
                         2 * bound);
            }
        }
    }
    free(want);
}

static void goldens(struct rig *r) {
    static const struct attend_case cases[] = {
        {"attn_full", 4, 2, 16, 12, 12, 0, 1, 0.25f, 0},
        {"attn_window", 4, 1, 16, 20, 20, 8, 1, 1, 0},
        {"attn_past", 4, 2, 16, 3, 15, 8, 1, 0.25f, 0},
        {"attn_softcap", 2, 2, 16, 12, 12, 0, 1, 1, 20},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        const struct attend_case *k = &cases[i];
        struct golden q = golden_get(&ops, k->name, "q"), keys = golden_get(&ops, k->name, "k");
        struct golden v = golden_get(&ops, k->name, "v"), y = golden_get(&ops, k->name, "y");
        assert_int_equal(q.rows, k->t);
        assert_int_equal(keys.rows, k->n);
        assert_int_equal(q.cols, k->heads * k->e);
        assert_int_equal(keys.cols, k->kv_heads * k->e);
        struct inputs in = {.q = {q.x}, .k = {keys.x}, .v = {v.x}};
        run_case(r, k, &in, false, y.x);
        run_case(r, k, &in, true, NULL);
    }
}
static void test_goldens(void **state) {
    (void)state;
    rig_each(goldens);
}

/* Several pages, windows that begin inside a page, odd head widths, any number of query heads per
 * KV head (more than a block of rows holds, too), several sequences in a batch. */
static void shapes(struct rig *r) {
    static const struct attend_case cases[] = {
        {"pages", 4, 2, 16, 7, 150, 0, 1, 0.25f, 0},
        {"prompt", 6, 2, 32, 135, 135, 0, 1, 0.2f, 0},
        {"window over pages", 4, 4, 24, 40, 200, 70, 1, 0.2f, 0},
        {"window of one", 2, 1, 16, 5, 67, 1, 1, 0.25f, 0},
        {"window longer than all", 2, 1, 16, 5, 67, 4000, 1, 0.25f, 0},
        {"wide heads", 2, 1, 256, 2, 66, 0, 1, 0.06f, 30},
        {"narrow heads", 3, 3, 2, 9, 30, 0, 1, 0.7f, 0},
        {"one KV head", 12, 1, 20, 11, 70, 0, 1, 0.2f, 0},
        {"more heads than a block", 80, 1, 8, 3, 66, 0, 1, 0.35f, 0},
        {"exactly a block", 64, 1, 4, 3, 5, 0, 1, 0.5f, 0},
        {"sequences", 4, 2, 16, 5, 70, 0, 3, 0.25f, 0},
        {"sequences of one", 4, 2, 16, 1, 65, 16, 3, 0.25f, 0},
        {"first token", 4, 2, 16, 1, 1, 0, 2, 0.25f, 0},
        {"sharp", 2, 2, 16, 3, 90, 0, 1, 60, 0}, /* one key takes all */
        /* Gemma 4's two kinds of layers: heads of 256 in a window, of 512 over all. */
        {"sliding heads of 256", 8, 8, 256, 3, 90, 20, 1, 0.1f, 0},
        {"global heads of 512", 8, 2, 512, 3, 90, 0, 1, 0.07f, 0},
        {"one head of 512 for all", 8, 1, 512, 5, 70, 0, 1, 0.07f, 0},
        /* Scores of a thousand are capped first, and masked then. */
        {"far beyond the cap", 2, 1, 32, 5, 80, 0, 1, 400, 50},
        {"beyond the cap, in a window", 2, 1, 32, 5, 80, 12, 1, 400, 50},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        const struct attend_case *k = &cases[i];
        struct inputs in;
        for (u32 s = 0; s < k->n_seqs; s++) {
            f32 *q = arena_array(&r->arena, (u64)k->t * k->heads * k->e, sizeof *q);
            u64 n = (u64)k->n * k->kv_heads * k->e;
            f32 *keys = arena_array(&r->arena, n, sizeof *keys);
            f32 *v = arena_array(&r->arena, n, sizeof *v);
            for (u64 j = 0; j < (u64)k->t * k->heads * k->e; j++)
                q[j] = rng_f32();
            for (u64 j = 0; j < n; j++) {
                keys[j] = rng_f32();
                v[j] = rng_f32();
            }
            in.q[s] = q, in.k[s] = keys, in.v[s] = v;
        }
        run_case(r, k, &in, false, NULL);
        run_case(r, k, &in, true, NULL);
    }
}
static void test_shapes(void **state) {
    (void)state;
    rig_each(shapes);
}

/* A store writes the row's position and nothing else, with any number of threads. In f16, finite
 * numbers stay finite. */
static void store(struct rig *r) {
    static const struct attend_case k = {"store", 2, 2, 20, 0, 3 * KV_PAGE, 0, 2, 1, 0};
    for (u32 f16 = 0; f16 < 2; f16++) {
        struct cache c;
        cache_make(r, &c, &k, f16);
        u64 size = c.layout.page_bytes[KV_FULL] * c.n_pages * k.n_seqs;
        u8 *first = malloc(size);
        struct step_row rows[] = {{.pos = KV_PAGE - 1, .seq = 1},
                                  {.pos = KV_PAGE, .seq = 1},
                                  {.pos = 3 * KV_PAGE - 1, .seq = 0}};
        r->step = (struct step){.rows = rows, .t = 3, .seqs = c.seqs, .kv = &c.layout};
        struct mat a[2] = {mat_random(r, 3, 40), mat_random(r, 3, 40)};
        struct kv_store_params p = {LAYER};
        mat_row(&a[0], 0)[3] = 7e4f;
        mat_row(&a[1], 2)[39] = -1e9f;
        mat_row(&a[1], 1)[20] = INFINITY;
        for (u32 nth = 1; nth <= RIG_THREADS; nth++) {
            memset(c.memory, 0xff, size);
            rig_call(r, OP_KV_STORE, &p, a, 2, nth);
            if (nth == 1) memcpy(first, c.memory, size);
            assert_memory_equal(first, c.memory, size);
        }
        for (u32 i = 0; i < 3 * 2; i++) {
            u8 *page = c.pages[rows[i / 2].seq][rows[i / 2].pos / KV_PAGE];
            page += i % 2 ? c.layers[LAYER].v_off : c.layers[LAYER].k_off;
            for (u32 j = 0; j < 40; j++) {
                u64 at = ((u64)(j / 20) * KV_PAGE + rows[i / 2].pos % KV_PAGE) * 20 + j % 20;
                f32 x = mat_row(&a[i % 2], i / 2)[j];
                u16 h = f32_to_f16(isinf(x) ? x : fmaxf(fminf(x, 65504), -65504));
                void *got = page + at * (f16 ? 2 : 4);
                assert_memory_equal(got, f16 ? (void *)&h : (void *)&x, f16 ? 2 : 4);
                memset(got, 0xff, f16 ? 2 : 4);
            }
        }
        for (u64 i = 0; i < size; i++)
            assert_int_equal(c.memory[i], 0xff);
        free(first);
    }
}
static void test_store(void **state) {
    (void)state;
    rig_each(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_store),
    };
    return cmocka_run_group_tests_name("attend", tests, open_goldens, close_goldens);
}
