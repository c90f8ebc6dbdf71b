/* Opens a model file and runs tokens through it, in tests that are not about doing so. */
#ifndef TEST_RUN_MODEL_H
#define TEST_RUN_MODEL_H

#include "unit.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

struct run {
    glim_engine *engine;
    glim_model *model;
    glim_session *session;
};

static inline void run_open(struct run *r, const char *path, u32 threads, const char *isa,
                            const glim_session_params *p) {
    glim_err e = {0};
    glim_engine_params ep = {.n_threads = threads, .isa = isa};
    *r = (struct run){0};
    if (glim_engine_open(&r->engine, &ep, &e) || glim_model_open(&r->model, r->engine, path, &e) ||
        glim_session_open(&r->session, r->model, p, &e)) {
        fail_test("%s", e.msg);
    }
}
static inline void run_close(struct run *r) {
    glim_session_close(r->session);
    glim_model_close(r->model);
    glim_engine_close(r->engine);
}
static inline void run_ok(const struct run *r, int rc) {
    if (rc != GLIM_OK) fail_test("status %d: %s", rc, glim_session_error(r->session)->msg);
}
static inline u32 run_vocab(const struct run *r) {
    glim_model_info info;
    glim_model_get_info(r->model, &info);
    return info.n_vocab;
}

/* Feeds n tokens in chunks; their logits go to out[n][vocab]. The session's max_logits must hold a
 * chunk. */
static inline void run_feed(struct run *r, const i32 *ids, u32 n, u32 chunk, f32 *out) {
    u32 vocab = run_vocab(r);
    for (u32 at = 0; at < n; at += chunk) {
        u32 part = MIN(chunk, n - at);
        run_ok(r, glim_feed(r->session, ids + at, part, GLIM_LOGITS_ALL));
        run_ok(r, glim_wait(r->session));
        for (u32 i = 0; i < part; i++) {
            const f32 *row = glim_logits(r->session, i, NULL);
            assert_non_null(row);
            memcpy(out + (size_t)(at + i) * vocab, row, vocab * sizeof *row);
        }
    }
}

/* Logits of n tokens of a model file: a new array [n][vocab], the caller frees it. */
static inline f32 *run_path(const char *path, u32 threads, const char *isa, bool exact, int kv,
                            const i32 *ids, u32 n, u32 chunk) {
    struct run r;
    glim_session_params p = {.exact = exact, .kv = kv, .max_logits = n, .n_batch = n, .n_ctx = n};
    run_open(&r, path, threads, isa, &p);
    f32 *out = calloc((size_t)n * run_vocab(&r), sizeof *out);
    assert_non_null(out);
    run_feed(&r, ids, n, chunk, out);
    run_close(&r);
    return out;
}

#endif
