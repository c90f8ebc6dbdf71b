/* Tests of the fixture of every architecture against expected values from PyTorch (float32) and its
 * 24 greedy tokens, in every way of cutting the prompt. The including program says on what. */
#ifndef TEST_GOLDEN_RIG_H
#define TEST_GOLDEN_RIG_H

#include "unit.h"

#include "file/gguf.h"
#include "kern/quant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the tests run on. */
struct golden_on {
    /* Largest absolute difference to the reference that counts as equal; name: of the fixture. */
    f64 (*tolerance)(const void *name);
    int (*open)(glim_engine **out, u32 threads, const char *isa, glim_err *e);
    u32 threads; /* 1 up to so many are tried */
};
extern const struct golden_on golden_on;

enum { N_PROMPT = 48, N_GREEDY = 24 };

struct golden {
    char model[64]; /* path of the model */
    struct arena arena;
    struct gguf g;
    const i32 *tokens, *greedy;
    const f32 *logits, *greedy_logits; /* [rows][n_vocab] */
    u32 n_vocab;
};

static inline bool golden_size(u32 type, u32 *len, u32 *bytes) {
    *len = 1;
    *bytes = type == 24 ? 1 : 4; /* I8, F32, I32 */
    return true;
}

static inline const void *golden_data(const struct golden *g, const char *name) {
    const struct gguf_tensor *t = gguf_tensor(&g->g, name);
    assert_non_null(t);
    return t->data;
}

/* name: of the architecture, a test's state. */
static inline void golden_open(struct golden *g, void **name) {
    glim_err e = {0};
    char path[64];
    snprintf(g->model, sizeof g->model, "test/data/%s.gguf", (const char *)*name);
    snprintf(path, sizeof path, "test/data/%s.golden.gguf", (const char *)*name);
    arena_init(&g->arena, &mem_libc);
    if (gguf_open(&g->g, path, &g->arena, golden_size, &e)) fail_test("%s", e.msg);
    g->tokens = golden_data(g, "tokens");
    g->greedy = golden_data(g, "greedy");
    g->logits = golden_data(g, "logits");
    g->greedy_logits = golden_data(g, "greedy.logits");
    g->n_vocab = (u32)gguf_tensor(&g->g, "logits")->dims[0];
    assert_int_equal(gguf_tensor(&g->g, "tokens")->dims[0], N_PROMPT);
    assert_int_equal(gguf_tensor(&g->g, "greedy")->dims[0], N_GREEDY);
}

static inline void golden_close(struct golden *g) {
    gguf_close(&g->g);
    arena_free(&g->arena);
}

struct run {
    glim_engine *engine;
    glim_model *model;
    glim_session *session;
};

/* Of the sessions that are opened; a program's set-up may change it. */
static int rig_tables = GLIM_TABLES_AUTO;

static inline void run_open(struct run *r, const struct golden *g, u32 threads, const char *isa,
                            const glim_session_params *p) {
    glim_err e = {0};
    glim_session_params how = *p;
    how.tables = rig_tables;
    if (golden_on.open(&r->engine, threads, isa, &e) ||
        glim_model_open(&r->model, r->engine, g->model, &e) ||
        glim_session_open(&r->session, r->model, &how, &e)) {
        fail_test("%s", e.msg);
    }
}

static inline void run_close(struct run *r) {
    glim_session_close(r->session);
    glim_model_close(r->model);
    glim_engine_close(r->engine);
}

static inline void ok(const struct run *r, int rc) {
    if (rc != GLIM_OK) fail_test("status %d: %s", rc, glim_session_error(r->session)->msg);
}

/* Feeds tokens [from, to) in chunks and stores their logits at out[to - from][n_vocab]. */
static inline void logits_of(struct run *r, const i32 *tokens, u32 from, u32 to, u32 chunk,
                             u32 n_vocab, f32 *out) {
    ok(r, glim_wait(r->session)); /* a rewind may have left tokens to process again */
    for (u32 at = from; at < to; at += chunk) {
        u32 n = MIN(chunk, to - at);
        ok(r, glim_feed(r->session, tokens + at, n, GLIM_LOGITS_ALL));
        ok(r, glim_wait(r->session));
        for (u32 i = 0; i < n; i++) {
            size_t rows;
            const f32 *row = glim_logits(r->session, i, &rows);
            assert_non_null(row);
            assert_int_equal(rows, n);
            memcpy(out + (size_t)(at - from + i) * n_vocab, row, n_vocab * sizeof *row);
        }
    }
}

static inline void assert_near(const f32 *x, const f32 *want, size_t n, f64 tolerance) {
    f64 worst = 0;
    for (size_t i = 0; i < n; i++) {
        f64 d = fabs((f64)x[i] - (f64)want[i]);
        if (!(d <= worst)) worst = d; /* NaN too */
    }
    if (!(worst <= tolerance)) fail_test("off by %g, allowed %g", worst, tolerance);
}

static const glim_session_params EXACT = {.exact = true, .max_logits = 64, .n_batch = 64};

static inline void test_exact_in_any_chunks(void **state) {
    static const u32 chunks[] = {48, 7, 1};
    struct golden g;
    golden_open(&g, state);
    size_t n = (size_t)N_PROMPT * g.n_vocab;
    f32 *first = calloc(n, sizeof *first), *out = calloc(n, sizeof *out);
    for (u32 c = 0; c < COUNT(chunks); c++) {
        for (u32 threads = 1; threads <= golden_on.threads; threads++) {
            struct run r;
            glim_session_params p = EXACT; /* a small batch makes sliding windows go round soon */
            p.n_batch = p.max_logits = chunks[c];
            run_open(&r, &g, threads, NULL, &p);
            logits_of(&r, g.tokens, 0, N_PROMPT, chunks[c], g.n_vocab, out);
            assert_near(out, g.logits, n, golden_on.tolerance(*state));
            /* The number of threads changes nothing, not even the last bit. */
            if (threads == 1) memcpy(first, out, n * sizeof *out);
            assert_memory_equal(first, out, n * sizeof *out);
            run_close(&r);
        }
    }
    free(first);
    free(out);
    golden_close(&g);
}

static inline void test_greedy(void **state) {
    struct golden g;
    golden_open(&g, state);
    struct run r;
    run_open(&r, &g, 2, NULL, &EXACT);
    glim_generation gen = glim_generation_default();
    gen.temp = 0;
    ok(&r, glim_set_generation(r.session, &gen));
    ok(&r, glim_feed(r.session, g.tokens, N_PROMPT, GLIM_LOGITS_LAST));
    for (u32 i = 0; i < N_GREEDY; i++) {
        i32 id;
        ok(&r, glim_wait(r.session));
        ok(&r, glim_sample(r.session, &id));
        assert_int_equal(id, g.greedy[i]);
        assert_near(glim_logits(r.session, 0, NULL), g.greedy_logits + (size_t)i * g.n_vocab,
                    g.n_vocab, golden_on.tolerance(*state));
        ok(&r, glim_feed(r.session, &id, 1, GLIM_LOGITS_LAST));
    }
    run_close(&r);
    golden_close(&g);
}

static inline void rewind_in(void **state, const glim_session_params *p) {
    static const u32 backs[] = {1, 2, 3, 40, 48};
    struct golden g;
    golden_open(&g, state);
    size_t n = (size_t)N_PROMPT * g.n_vocab;
    f32 *out = calloc(n, sizeof *out);
    struct run r;
    run_open(&r, &g, 2, NULL, p);
    logits_of(&r, g.tokens, 0, N_PROMPT, p->n_batch, g.n_vocab, out);
    for (u32 i = 0; i < COUNT(backs); i++) {
        u32 keep = N_PROMPT - backs[i];
        /* Other tokens first, so that what is forgotten was really there. */
        ok(&r, glim_rewind(r.session, keep));
        ok(&r, glim_feed(r.session, g.greedy, MIN(backs[i], 20u), GLIM_LOGITS_NONE));
        ok(&r, glim_wait(r.session));
        ok(&r, glim_rewind(r.session, keep));
        logits_of(&r, g.tokens, keep, N_PROMPT, p->n_batch, g.n_vocab, out);
        assert_near(out, g.logits + (size_t)keep * g.n_vocab, (size_t)backs[i] * g.n_vocab,
                    golden_on.tolerance(*state));
    }
    assert_int_equal(glim_rewind(r.session, N_PROMPT + 1), GLIM_ARG);
    run_close(&r);
    free(out);
    golden_close(&g);
}

static inline void test_rewind(void **state) {
    rewind_in(state, &EXACT);
    /* With small batches a sliding window's ring is short: tokens are processed again. */
    glim_session_params p = EXACT;
    p.n_batch = p.max_logits = 4;
    rewind_in(state, &p);
}

/* Only the last row is wanted: the rows that the last layers leave out change nothing. */
static inline void test_last_row_only(void **state) {
    struct golden g;
    golden_open(&g, state);
    struct run r;
    glim_session_params p = {.exact = true, .n_batch = 20};
    run_open(&r, &g, 2, NULL, &p);
    ok(&r, glim_feed(r.session, g.tokens, N_PROMPT, GLIM_LOGITS_LAST));
    ok(&r, glim_wait(r.session));
    size_t rows;
    const f32 *row = glim_logits(r.session, 0, &rows);
    assert_int_equal(rows, 1);
    assert_near(row, g.logits + (size_t)(N_PROMPT - 1) * g.n_vocab, g.n_vocab,
                golden_on.tolerance(*state));
    assert_null(glim_logits(r.session, 1, NULL));
    run_close(&r);
    golden_close(&g);
}

/* Rows that nobody asks for stop before the last layers: whichever rows are wanted, each is what it
 * is when all are. In one pass, so that wanted and unwanted rows go together. */
static inline void test_any_rows(void **state) {
    static const u8 wanted[][N_PROMPT] = {{[0] = 1},
                                          {[47] = 1},
                                          {[0] = 1, [47] = 1},
                                          {[5] = 1, [6] = 1, [7] = 1, [30] = 1},
                                          {[11] = 1, [23] = 1, [40] = 1, [41] = 1, [46] = 1}};
    struct golden g;
    golden_open(&g, state);
    f32 *all = calloc((size_t)N_PROMPT * g.n_vocab, sizeof *all);
    struct run r;
    run_open(&r, &g, 2, NULL, &EXACT);
    logits_of(&r, g.tokens, 0, N_PROMPT, N_PROMPT, g.n_vocab, all);
    for (u32 c = 0; c < COUNT(wanted); c++) {
        ok(&r, glim_rewind(r.session, 0));
        u32 rows[N_PROMPT], n = 0;
        for (u32 i = 0; i < N_PROMPT; i++) {
            ok(&r, glim_feed(r.session, g.tokens + i, 1,
                             wanted[c][i] ? GLIM_LOGITS_LAST : GLIM_LOGITS_NONE));
            if (wanted[c][i]) rows[n++] = i;
        }
        ok(&r, glim_wait(r.session)); /* one pass of 48 rows */
        for (u32 i = 0; i < n; i++) {
            size_t count, at = (size_t)rows[i] * g.n_vocab;
            const f32 *row = glim_logits(r.session, i, &count);
            assert_int_equal(count, n);
            assert_near(row, all + at, g.n_vocab, 1e-4);
            assert_near(row, g.logits + at, g.n_vocab, golden_on.tolerance(*state));
        }
        /* What was left out is in the cache all the same: the next token sees it. */
        ok(&r, glim_feed(r.session, g.greedy, 1, GLIM_LOGITS_LAST));
        ok(&r, glim_wait(r.session));
        assert_near(glim_logits(r.session, 0, NULL), g.greedy_logits + g.n_vocab, g.n_vocab,
                    golden_on.tolerance(*state));
    }
    run_close(&r);
    free(all);
    golden_close(&g);
}

/* A text far longer than windows and their rings, in small passes and with rewinds, against one
 * pass over all of it, whose rings hold everything. */
static inline void test_long_text(void **state) {
    enum { LONG = 300, BATCH = 9 };
    static const u32 backs[] = {1, 2, 3, 40, 150};
    struct golden g;
    golden_open(&g, state);
    i32 ids[LONG];
    for (u32 i = 0; i < LONG; i++)
        ids[i] = i < N_PROMPT ? g.tokens[i] : g.tokens[(i * 7 + i / 48) % N_PROMPT];
    size_t size = (size_t)LONG * g.n_vocab;
    f32 *want = calloc(size, sizeof *want), *out = calloc(size, sizeof *out);
    struct run whole, r;
    glim_session_params all = {.exact = true, .n_ctx = LONG, .n_batch = LONG, .max_logits = LONG};
    glim_session_params p = {.exact = true, .n_ctx = LONG, .n_batch = BATCH, .max_logits = BATCH};
    run_open(&whole, &g, 2, NULL, &all);
    logits_of(&whole, ids, 0, LONG, LONG, g.n_vocab, want);
    assert_near(want, g.logits, (size_t)N_PROMPT * g.n_vocab, golden_on.tolerance(*state));
    run_close(&whole);
    run_open(&r, &g, 2, NULL, &p);
    logits_of(&r, ids, 0, LONG, BATCH, g.n_vocab, out);
    assert_near(out, want, size, golden_on.tolerance(*state));
    for (u32 i = 0; i < COUNT(backs); i++) {
        u32 keep = LONG - backs[i];
        ok(&r, glim_rewind(r.session, keep));
        ok(&r, glim_feed(r.session, g.greedy, MIN(backs[i], 20u), GLIM_LOGITS_NONE));
        ok(&r, glim_wait(r.session));
        ok(&r, glim_rewind(r.session, keep));
        logits_of(&r, ids, keep, LONG, BATCH, g.n_vocab, out);
        assert_near(out, want + (size_t)keep * g.n_vocab, (size_t)backs[i] * g.n_vocab,
                    golden_on.tolerance(*state));
    }
    run_close(&r);
    free(want);
    free(out);
    golden_close(&g);
}

/* f16 keys and values are off by 2^-12 on average; how far that moves a logit depends on how sharp
 * the scores are, so the mean is bounded, not the worst. */
static inline void test_f16_cache(void **state) {
    struct golden g;
    golden_open(&g, state);
    size_t n = (size_t)N_PROMPT * g.n_vocab;
    f32 *out = calloc(n, sizeof *out);
    struct run r;
    glim_session_params p = EXACT;
    p.kv = GLIM_KV_F16;
    run_open(&r, &g, 2, NULL, &p);
    logits_of(&r, g.tokens, 0, N_PROMPT, 7, g.n_vocab, out);
    f64 sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fabs((f64)out[i] - (f64)g.logits[i]);
    if (!(sum / (f64)n < 1e-2)) fail_test("off by %g on average", sum / (f64)n);
    print_message("f16 cache, %s: off by %.1e on average\n", (const char *)*state, sum / (f64)n);
    run_close(&r);
    free(out);
    golden_close(&g);
}

/* Two sessions of one model do not disturb each other. */
static inline void test_two_sessions(void **state) {
    struct golden g;
    golden_open(&g, state);
    size_t n = (size_t)N_PROMPT * g.n_vocab;
    f32 *out = calloc(n, sizeof *out), *other = calloc(n, sizeof *other);
    struct run a, b;
    run_open(&a, &g, 2, NULL, &EXACT);
    b = a;
    glim_err e = {0};
    glim_session_params how = EXACT;
    how.tables = rig_tables;
    assert_int_equal(glim_session_open(&b.session, a.model, &how, &e), GLIM_OK);
    for (u32 at = 0; at < N_PROMPT; at += 12) {
        size_t skip = (size_t)at * g.n_vocab;
        logits_of(&a, g.tokens, at, at + 12, 12, g.n_vocab, out + skip);
        logits_of(&b, g.tokens, at, at + 12, 5, g.n_vocab, other + skip);
    }
    assert_near(out, g.logits, n, golden_on.tolerance(*state));
    assert_near(other, g.logits, n, golden_on.tolerance(*state));
    glim_session_close(b.session);
    run_close(&a);
    free(out);
    free(other);
    golden_close(&g);
}

#endif
