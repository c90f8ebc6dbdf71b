/* Sessions: queueing, batches, interrupted steps, rewinding, pages, the memory plan. The inner form
 * of the API is used where a test wants to see inside. */
#include "edit_gguf.h"

#include "count_alloc.h"
#include "golden.h"
#include "run_model.h"
#include "run/session.h"

#define MODEL "test/data/llama.gguf"

enum { N = 48, V = 320 };

static struct golden_file gold;
static const i32 *tokens;   /* [N] */
static const f32 *expected; /* [N][V] */

static int open_goldens(void **state) {
    (void)state;
    golden_file_open(&gold, "test/data/llama.golden.gguf");
    tokens = (const i32 *)(const void *)gguf_tensor(&gold.g, "tokens")->data;
    expected = (const f32 *)(const void *)gguf_tensor(&gold.g, "logits")->data;
    return 0;
}
static int close_goldens(void **state) {
    (void)state;
    golden_file_close(&gold);
    return 0;
}

static void near(const f32 *row, u32 pos) {
    assert_non_null(row);
    for (u32 i = 0; i < V; i++) {
        f64 d = fabs((f64)row[i] - (f64)expected[(size_t)pos * V + i]);
        if (!(d <= 1e-4)) fail_test("position %u, logit %u is off by %g", pos, i, d);
    }
}

/* ---- Through the public header --------------------------------------------------------------- */

static void expect(struct run *r, int rc, int code, const char *words) {
    char copy[256];
    const glim_err *e = glim_session_error(r->session);
    if (rc != code) fail_test("status %d (%s), expected %d", rc, e->msg, code);
    assert_int_equal(e->code, code);
    snprintf(copy, sizeof copy, "%s", words);
    for (char *w = strtok(copy, "|"); w; w = strtok(NULL, "|")) {
        if (!strstr(e->msg, w)) fail_test("'%s' does not say '%s'", e->msg, w);
    }
}

static void test_full(void **state) {
    (void)state;
    struct run r;
    glim_session_params p = {.exact = true, .n_ctx = 20, .n_batch = 8};
    run_open(&r, MODEL, 2, NULL, &p);
    size_t n;
    expect(&r, glim_feed(r.session, tokens, 21, GLIM_LOGITS_LAST), GLIM_FULL,
           "21 tokens do not fit|context of 20|-c|1024");
    glim_tokens(r.session, &n);
    assert_int_equal(n, 0);
    run_ok(&r, glim_feed(r.session, tokens, 15, GLIM_LOGITS_LAST));
    run_ok(&r, glim_wait(r.session));
    expect(&r, glim_feed(r.session, tokens + 15, 6, GLIM_LOGITS_LAST), GLIM_FULL,
           "6 tokens|context of 20|15");
    glim_tokens(r.session, &n);
    assert_int_equal(n, 15);
    near(glim_logits(r.session, 0, NULL), 14); /* the refusal left them alone */
    run_ok(&r, glim_feed(r.session, tokens + 15, 5, GLIM_LOGITS_LAST));
    run_ok(&r, glim_wait(r.session));
    near(glim_logits(r.session, 0, NULL), 19);
    expect(&r, glim_feed(r.session, tokens, 1, GLIM_LOGITS_NONE), GLIM_FULL, "1 tokens|20");
    expect(&r, glim_feed(r.session, tokens, SIZE_MAX, GLIM_LOGITS_NONE), GLIM_FULL, "20");
    assert_int_equal(memcmp(glim_tokens(r.session, &n), tokens, 20 * sizeof *tokens), 0);
    run_ok(&r, glim_rewind(r.session, 19));
    run_ok(&r, glim_feed(r.session, tokens + 19, 1, GLIM_LOGITS_LAST));
    run_ok(&r, glim_wait(r.session));
    near(glim_logits(r.session, 0, NULL), 19);
    run_close(&r);
}

static void test_bad_feeds(void **state) {
    (void)state;
    static const i32 wrong[] = {-1, V, INT32_MIN, INT32_MAX};
    struct run r;
    glim_session_params p = {.exact = true, .n_ctx = 30, .n_batch = 8, .max_logits = 5};
    run_open(&r, MODEL, 1, NULL, &p);
    size_t n;
    for (u32 i = 0; i < COUNT(wrong); i++) {
        i32 ids[3] = {5, 6, wrong[i]};
        char words[64];
        snprintf(words, sizeof words, "token id %d at 2|0 to 319", wrong[i]);
        expect(&r, glim_feed(r.session, ids, 3, GLIM_LOGITS_LAST), GLIM_ARG, words);
    }
    expect(&r, glim_feed(r.session, NULL, 1, GLIM_LOGITS_LAST), GLIM_ARG, "ids is NULL");
    expect(&r, glim_feed(r.session, tokens, 2, 4), GLIM_ARG, "logits is 4");
    expect(&r, glim_feed(r.session, tokens, 2, -1), GLIM_ARG, "logits is -1");
    expect(&r, glim_feed(r.session, tokens, 6, GLIM_LOGITS_ALL), GLIM_ARG, "6|at most 5");
    glim_tokens(r.session, &n);
    assert_int_equal(n, 0);
    i32 id = 77;
    expect(&r, glim_sample(r.session, &id), GLIM_ARG, "no logits");
    expect(&r, glim_sample(r.session, NULL), GLIM_ARG, "id is NULL");
    assert_int_equal(id, 77);
    /* With something queued, rows of all would not be in one pass. */
    run_ok(&r, glim_feed(r.session, tokens, 2, GLIM_LOGITS_NONE));
    expect(&r, glim_feed(r.session, tokens + 2, 3, GLIM_LOGITS_ALL), GLIM_ARG, "nothing else");
    run_ok(&r, glim_wait(r.session));
    assert_null(glim_logits(r.session, 0, &n));
    assert_int_equal(n, 0);
    run_ok(&r, glim_feed(r.session, tokens + 2, 5, GLIM_LOGITS_ALL));
    run_ok(&r, glim_wait(r.session));
    for (u32 i = 0; i < 5; i++)
        near(glim_logits(r.session, i, &n), 2 + i);
    assert_int_equal(n, 5);
    assert_null(glim_logits(r.session, 5, NULL));
    assert_null(glim_logits(r.session, SIZE_MAX, NULL));
    run_ok(&r, glim_feed(r.session, NULL, 0, GLIM_LOGITS_LAST)); /* nothing is fine */
    run_ok(&r, glim_step(r.session));
    run_close(&r);
}

/* Rows that several feeds want, more of them than a pass may give. */
static void test_many_wanted_rows(void **state) {
    (void)state;
    static const u32 parts[] = {5, 1, 1, 7, 2, 20, 12};
    for (u32 max = 1; max <= 4; max++) {
        struct run r;
        glim_session_params p = {.exact = true, .n_batch = 16, .max_logits = max};
        run_open(&r, MODEL, 2, NULL, &p);
        u32 at = 0, seen = 0;
        for (u32 i = 0; i < COUNT(parts); at += parts[i++])
            run_ok(&r, glim_feed(r.session, tokens + at, parts[i], GLIM_LOGITS_LAST));
        assert_int_equal(at, N);
        u32 ends[COUNT(parts)];
        for (u32 i = 0; i < COUNT(parts); i++)
            ends[i] = parts[i] + (i ? ends[i - 1] : 0);
        for (int rc = GLIM_AGAIN; rc == GLIM_AGAIN;) {
            rc = glim_step(r.session);
            assert_true(rc >= 0);
            size_t n;
            glim_logits(r.session, 0, &n);
            assert_true(n <= max);
            for (u32 i = 0; i < n; i++)
                near(glim_logits(r.session, i, NULL), ends[seen++] - 1);
        }
        assert_int_equal(seen, COUNT(parts));
        glim_stats stats;
        glim_get_stats(r.session, &stats);
        assert_int_equal(stats.n_prompt + stats.n_decode, N);
        run_close(&r);
    }
}

static void test_batches(void **state) {
    (void)state;
    static const u32 batches[] = {1, 2, 7, 16, 47, 48, 1000};
    for (u32 i = 0; i < COUNT(batches); i++) {
        struct run r;
        glim_session_params p = {.exact = true, .n_batch = batches[i]};
        run_open(&r, MODEL, 2, NULL, &p);
        run_ok(&r, glim_feed(r.session, tokens, N, GLIM_LOGITS_LAST));
        run_ok(&r, glim_wait(r.session));
        near(glim_logits(r.session, 0, NULL), N - 1);
        run_close(&r);
    }
}

static void test_session_params(void **state) {
    (void)state;
    struct run r;
    run_open(&r, MODEL, 1, NULL, NULL);
    static const struct {
        glim_session_params p;
        const char *words;
    } wrong[] = {{{.n_ctx = 1025}, "1025"},
                 {{.n_ctx = UINT32_MAX}, "1024"},
                 {{.kv = 3}, "kv is 3"},
                 {{.kv = -1}, "kv is -1"}};
    for (u32 i = 0; i < COUNT(wrong); i++) {
        glim_err e = {0}, e2 = {0};
        glim_session *s;
        glim_plan plan;
        assert_int_equal(glim_session_open(&s, r.model, &wrong[i].p, &e), GLIM_ARG);
        assert_null(s);
        assert_non_null(strstr(e.msg, wrong[i].words));
        assert_int_equal(glim_session_plan(r.model, &wrong[i].p, &plan, &e2), GLIM_ARG);
    }
    glim_err e = {0};
    glim_session *s;
    glim_session_params huge = {.n_batch = UINT32_MAX, .max_logits = UINT32_MAX}; /* cut down */
    assert_int_equal(glim_session_open(&s, r.model, &huge, &e), 0);
    glim_session_close(s);
    run_close(&r);
}

/* ---- Inside ---------------------------------------------------------------------------------- */

struct inner {
    struct engine *engine;
    struct loaded loaded;
    struct count_alloc count;
};
static void inner_open(struct inner *k, const char *path, u32 threads) {
    glim_err e = {0};
    count_alloc_init(&k->count);
    glim_engine_params p = {.n_threads = threads, .alloc = k->count.alloc};
    if (engine_open(&k->engine, &p, &e) || loaded_open(&k->loaded, k->engine, path, &e))
        fail_test("%s", e.msg);
}
static void inner_close(struct inner *k) {
    loaded_close(&k->loaded);
    engine_close(k->engine);
    assert_int_equal(k->count.live, 0);
}
static void inner_session(struct inner *k, struct session *s, const glim_session_params *p) {
    glim_err e = {0};
    if (session_open(s, &k->loaded, p, &e)) fail_test("%s", e.msg);
}
static void feed(struct session *s, const i32 *ids, u32 n) {
    if (session_feed(s, ids, n, GLIM_LOGITS_LAST)) fail_test("%s", s->err.msg);
}
static u32 steps_to_end(struct session *s) {
    u32 n = 1;
    while (session_step(s) == GLIM_AGAIN)
        n++;
    return n;
}

/* A step that is cut off at every point where it may be gives the same bits in the end. */
static void test_interrupted_steps(void **state) {
    (void)state;
    for (u32 exact = 0; exact < 2; exact++) {
        f32 want[V];
        for (u32 threads = 1; threads <= 3; threads++) {
            struct inner k;
            struct session s;
            glim_session_params p = {.exact = exact, .n_batch = 20, .n_ctx = 64};
            inner_open(&k, MODEL, threads);
            inner_session(&k, &s, &p);
            s.budget_ns = UINT32_MAX;
            feed(&s, tokens, N);
            assert_int_equal(steps_to_end(&s), 3); /* passes of 20, 20, 8 */
            if (threads == 1) memcpy(want, session_logits(&s, 0), sizeof want);
            assert_memory_equal(want, session_logits(&s, 0), sizeof want);
            assert_int_equal(session_rewind(&s, 0), 0);
            s.budget_ns = 0;
            feed(&s, tokens, N);
            u32 n = steps_to_end(&s);
            assert_true(n > 3 * 4 * 4); /* several meeting points in each of 4 layers */
            assert_memory_equal(want, session_logits(&s, 0), sizeof want);
            session_close(&s);
            inner_close(&k);
        }
    }
}

/* A pass is given up in the middle, after any number of steps: what follows is as if it had never
 * been. */
static void test_rewind_inside_a_step(void **state) {
    (void)state;
    static const u32 keeps[] = {0, 1, 9, 20, 30};
    struct inner k;
    struct session s;
    glim_session_params p = {.exact = true, .n_batch = 16, .n_ctx = 64};
    inner_open(&k, MODEL, 2);
    inner_session(&k, &s, &p);
    f32 want[V];
    feed(&s, tokens, N);
    steps_to_end(&s);
    memcpy(want, session_logits(&s, 0), sizeof want);
    u32 cut = 0;
    for (u32 stop = 1; stop < 200; stop += 7) {
        u32 keep = keeps[stop % COUNT(keeps)];
        assert_int_equal(session_rewind(&s, 0), 0);
        feed(&s, tokens, keep);
        feed(&s, tokens, N - keep); /* others, but for keep = 0 */
        s.budget_ns = 0;
        for (u32 i = 0; i < stop; i++) {
            if (session_step(&s) != GLIM_AGAIN) break;
        }
        cut += s.running;
        assert_int_equal(session_rewind(&s, keep), 0);
        assert_false(s.running);
        assert_true(s.n_done <= keep);
        assert_null(session_logits(&s, 0));
        s.budget_ns = UINT32_MAX;
        feed(&s, tokens + keep, N - keep);
        steps_to_end(&s);
        for (u32 i = 0; i < V; i++) /* other batches: not the same bits */
            assert_true(fabs((f64)want[i] - (f64)session_logits(&s, 0)[i]) < 1e-4);
    }
    assert_true(cut > 5);
    session_close(&s);
    inner_close(&k);
}

/* Two sessions of one model, and one of another kind of cache, step by step in turn. */
static void test_interleaved_sessions(void **state) {
    (void)state;
    struct inner k;
    struct session s[3], alone;
    const glim_session_params p[3] = {{.exact = true, .n_batch = 9, .n_ctx = 50},
                                      {.exact = true, .n_batch = 9, .n_ctx = 50},
                                      {.n_batch = 9, .n_ctx = 50}};
    inner_open(&k, MODEL, 2);
    for (u32 i = 0; i < 3; i++) {
        inner_session(&k, &s[i], &p[i]);
        s[i].budget_ns = 0;
        feed(&s[i], tokens + i, N - i);
    }
    for (bool more = true; more;) {
        more = false;
        for (u32 i = 0; i < 3; i++)
            more |= session_step(&s[i]) == GLIM_AGAIN;
    }
    for (u32 i = 0; i < 3; i++) {
        inner_session(&k, &alone, &p[i]);
        feed(&alone, tokens + i, N - i);
        steps_to_end(&alone);
        assert_memory_equal(session_logits(&alone, 0), session_logits(&s[i], 0), V * sizeof(f32));
        session_close(&alone);
    }
    for (u32 i = 0; i < 3; i++)
        session_close(&s[i]);
    inner_close(&k);
}

/* Pages go back to the pool, and the next session takes them from there. */
static void test_pages_return(void **state) {
    (void)state;
    struct inner k;
    struct session s, other;
    glim_session_params p = {.n_ctx = 200, .n_batch = 32};
    inner_open(&k, MODEL, 1);
    struct kv_pool *pool = &k.loaded.caches[1].pools[KV_FULL];
    u32 all = (200 + KV_PAGE - 1) / KV_PAGE;
    inner_session(&k, &s, &p);
    assert_int_equal(pool->n_pages, all);
    assert_int_equal(pool->n_free, all);
    feed(&s, tokens, N);
    steps_to_end(&s);
    assert_int_equal(pool->n_free, all - (N + KV_PAGE - 1) / KV_PAGE);
    assert_int_equal(session_rewind(&s, 1), 0);
    assert_int_equal(pool->n_free, all - 1);
    inner_session(&k, &other, &p);
    assert_int_equal(pool->n_pages, 2 * all);
    session_close(&s);
    assert_int_equal(pool->n_free, 2 * all);
    u64 live = k.count.live;
    inner_session(&k, &s, &p);
    assert_int_equal(pool->n_pages, 2 * all); /* no more than before */
    session_close(&s);
    assert_int_equal(k.count.live, live);
    session_close(&other);
    assert_int_equal(pool->promised, 0);
    assert_int_equal(pool->n_free, pool->n_pages);
    inner_close(&k);
}

/* Sliding windows keep a ring of pages: long texts, and rewinds of any length, near ones within the
 * ring and far ones past it, also with a pass in flight that has already overwritten some. */
static void test_ring(void **state) {
    (void)state;
    enum { LONG = 420, BATCH = 5 };
    static i32 ids[LONG];
    static f32 want[LONG][V];
    struct edit e = {.key = "llama.attention.sliding_window", .as = EDIT_U32, .u = 6};
    struct temp t = edit_gguf(MODEL, &e, 1);
    struct inner k;
    struct session s, whole;
    glim_session_params p = {.exact = true, .n_batch = BATCH};
    glim_session_params all = {.exact = true, .n_batch = LONG, .max_logits = LONG};
    u32 random = 1, again = 0;
    inner_open(&k, t.path, 2);
    inner_session(&k, &whole, &all);
    inner_session(&k, &s, &p);
    for (u32 i = 0; i < LONG; i++)
        ids[i] = tokens[i * 7 % N];
    assert_int_equal(session_feed(&whole, ids, LONG, GLIM_LOGITS_ALL), 0);
    steps_to_end(&whole);
    for (u32 i = 0; i < LONG; i++)
        memcpy(want[i], session_logits(&whole, i), sizeof want[i]);
    session_close(&whole);
    u32 ring = s.kv.kinds[KV_SLIDING].max * KV_PAGE;
    assert_true(ring < LONG / 2); /* it goes round */
    for (u32 round = 0; round < 60; round++) {
        random = random * 1664525 + 1013904223;
        u32 n = s.n_ids, back = random >> 8, keep;
        keep = n - MIN(n, round % 3 ? back % 20 : back % (n + 1));
        assert_int_equal(session_rewind(&s, keep), 0);
        assert_int_equal(s.n_ids, keep);
        again += s.n_done < keep;
        u32 more = MIN(1 + (back >> 4) % 60, (u32)LONG - keep);
        if (more == 0) continue;
        feed(&s, ids + keep, more);
        s.budget_ns = 0;
        for (u32 i = 0; round % 4 == 3 && i < 30; i++)
            session_step(&s); /* perhaps given up by the next rewind */
        if (round % 4 == 3) continue;
        steps_to_end(&s);
        for (u32 i = 0; i < V; i++) {
            f64 d = fabs((f64)want[keep + more - 1][i] - (f64)session_logits(&s, 0)[i]);
            if (!(d < 1e-4)) fail_test("round %u, position %u: off by %g", round, keep + more, d);
        }
    }
    assert_true(again > 3); /* some went back too far for the ring */
    session_close(&s);
    inner_close(&k);
    temp_remove(&t);
}

/* Sliding windows and short convolutions keep enough to go back KV_REWIND tokens at any time
 * without processing anything again; farther back they start anew. */
static void test_near_rewinds(void **state) {
    (void)state;
    static const char *const paths[] = {"test/data/gemma3.gguf", "test/data/gemma4-e2b.gguf",
                                        "test/data/gemma4-large.gguf", "test/data/lfm2.gguf",
                                        "test/data/lfm2moe.gguf"};
    for (u32 i = 0; i < COUNT(paths); i++) {
        struct inner k;
        struct session s;
        glim_session_params p = {.exact = true, .n_ctx = 600, .n_batch = 7};
        inner_open(&k, paths[i], 1);
        inner_session(&k, &s, &p);
        for (u32 n = 0; n < 10; n++) /* beyond any ring */
            feed(&s, tokens, N);
        steps_to_end(&s);
        for (u32 back = 1; back <= KV_REWIND; back++) {
            u32 keep = s.n_ids - back;
            assert_int_equal(session_rewind(&s, keep), 0);
            assert_int_equal(s.n_done, keep);
            for (u32 n = 0; n < back; n++)
                feed(&s, tokens + n % N, 1);
            steps_to_end(&s);
        }
        assert_int_equal(session_rewind(&s, s.n_ids / 4), 0);
        assert_int_equal(s.n_done, 0);
        session_close(&s);
        inner_close(&k);
    }
}

/* The plan is what a session then takes, but for a few percent of records and page tables. */
static void test_plan(void **state) {
    (void)state;
    static const glim_session_params params[] = {
        {.n_ctx = 1024, .n_batch = 512},
        {.exact = true, .max_logits = 64},
        {.n_ctx = 512, .n_batch = 64, .max_logits = 64, .kv = GLIM_KV_F32},
        {.n_ctx = 1, .n_batch = 1},
    };
    for (u32 i = 0; i < COUNT(params); i++) {
        struct inner k;
        struct session s;
        glim_err e = {0};
        glim_plan plan;
        inner_open(&k, MODEL, 1);
        u64 before = k.count.live;
        assert_int_equal(session_plan(&k.loaded, &params[i], &plan, &e), 0);
        assert_int_equal(k.count.live, before);
        inner_session(&k, &s, &params[i]);
        u64 took = k.count.live - before, planned = plan.kv + plan.activations;
        assert_int_equal(plan.n_ctx, s.n_ctx);
        assert_int_equal(plan.total, plan.weights + planned);
        assert_true(took >= planned);
        assert_true(took <= planned + planned / 20 + 256 * 1024);
        u64 per_token =
            2ull * 2 * 16 * 4 * (s.kv.cache->layout.f16 ? 2 : 4); /* k, v; heads; E; layers */
        assert_true(plan.kv >= per_token * s.n_ctx);
        assert_true(plan.kv <=
                    per_token * (s.n_ctx + KV_PAGE - 1) + 64 * 8 * (u64)s.kv.kinds[KV_FULL].max);
        session_close(&s);
        inner_close(&k);
    }
}

/* Weights that are not numbers: an error at the position, not a token. */
static void test_not_finite(void **state) {
    (void)state;
    static const f32 bad[] = {NAN, INFINITY};
    for (u32 i = 0; i < COUNT(bad); i++) {
        struct edit e = {.tensor = "output_norm.weight", .as = EDIT_FILL, .f = bad[i]};
        struct temp t = edit_gguf(MODEL, &e, 1);
        for (u32 exact = 0; exact < 2; exact++) {
            struct run r;
            glim_session_params p = {.exact = exact};
            i32 id = 77;
            run_open(&r, t.path, 1, NULL, &p);
            run_ok(&r, glim_feed(r.session, tokens, 7, GLIM_LOGITS_LAST));
            run_ok(&r, glim_wait(r.session));
            expect(&r, glim_sample(r.session, &id), GLIM_NUMERIC, "position 7");
            assert_int_equal(id, 77);
            run_close(&r);
        }
        temp_remove(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_bad_feeds),
        cmocka_unit_test(test_many_wanted_rows),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_session_params),
        cmocka_unit_test(test_interrupted_steps),
        cmocka_unit_test(test_rewind_inside_a_step),
        cmocka_unit_test(test_interleaved_sessions),
        cmocka_unit_test(test_pages_return),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_near_rewinds),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests_name("session", tests, open_goldens, close_goldens);
}
