/* Real models against another engine's logits (test/data/NAME.ref.gguf, made by
 * script/make_logits_ref.py): five texts of 64 tokens and one of 2,000, teacher-forced. The models
 * are not in the repository (./dev test fetches SmolLM2, ./dev model gemma3-270m the other);
 * without them the tests are skipped. The including program says on what. */
#ifndef TEST_REFERENCE_RIG_H
#define TEST_REFERENCE_RIG_H

#include "unit.h"

#include "file/gguf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the models run on, and the longest text that it has time for. */
struct reference_on {
    int (*open)(glim_engine **out, glim_err *e);
    u32 longest;
    f64 slack; /* of logits, beyond twice what the other engine is off by */
    const char *name;
};
extern struct reference_on reference_on;

/* A model and what is known of it. */
struct reference {
    const char *name; /* of the reference file */
    const char *model, *fetch;
    u32 batch; /* tokens at a time: as many rows of logits are held */
    u32 every; /* KL is taken of every so many rows of the long text: it costs a vocabulary of exp
                */
};
static const struct reference references[] __attribute__((unused)) = {
    {"smollm2", "models/SmolLM2-135M-Instruct.Q4_1.gguf", "./dev demo", 512, 1},
    {"gemma3-270m", "models/gemma-3-270m-Q4_K_M.gguf", "./dev model gemma3-270m", 128, 8},
};

enum { TOP = 8 };

struct text {
    struct str name;
    u32 n;
    const i32 *ids, *top;
    const f32 *ref, *exact, *lse; /* the other engine, double precision, log-sum-exp */
    const f32 *noise;             /* [3][3], see the script */
};

struct fixture {
    const struct reference *r;
    struct arena arena;
    struct gguf g;
    const struct gguf_kv *names;
    glim_engine *engine;
    glim_model *model;
};

static inline bool plain_size(u32 type, u32 *len, u32 *bytes) {
    (void)type; /* F32 and I32 */
    *len = 1;
    *bytes = 4;
    return true;
}

static inline const void *tensor(const struct fixture *f, struct str text, const char *key,
                                 u32 *n) {
    char name[64];
    snprintf(name, sizeof name, "%.*s.%s", STR(text), key);
    const struct gguf_tensor *t = gguf_tensor(&f->g, name);
    assert_non_null(t);
    if (n) *n = (u32)t->dims[0];
    return t->data;
}

/* Opens the model of a test's state; skips the test where it is not there. */
static inline void fixture_open(struct fixture *f, void **state) {
    glim_err e = {0};
    char path[64];
    *f = (struct fixture){.r = *state};
    FILE *there = fopen(f->r->model, "rb");
    if (!there) {
        print_message("skipped: %s is not there (%s fetches it)\n", f->r->model, f->r->fetch);
        skip();
    }
    fclose(there);
    arena_init(&f->arena, &mem_libc);
    snprintf(path, sizeof path, "test/data/%s.ref.gguf", f->r->name);
    if (gguf_open(&f->g, path, &f->arena, plain_size, &e) || reference_on.open(&f->engine, &e) ||
        glim_model_open(&f->model, f->engine, f->r->model, &e)) {
        fail_test("%s", e.msg);
    }
    f->names = gguf_find(&f->g, "golden.texts");
    assert_non_null(f->names);
}

static inline void fixture_close(struct fixture *f) {
    glim_model_close(f->model);
    glim_engine_close(f->engine);
    gguf_close(&f->g);
    arena_free(&f->arena);
}

static inline struct text text_at(const struct fixture *f, u64 i) {
    struct text t = {.name = f->names->strings[i]};
    t.ids = tensor(f, t.name, "ids", &t.n);
    t.top = tensor(f, t.name, "top", NULL);
    t.ref = tensor(f, t.name, "f32", NULL);
    t.exact = tensor(f, t.name, "f64", NULL);
    t.lse = tensor(f, t.name, "lse", NULL);
    t.noise = tensor(f, t.name, "noise", NULL);
    return t;
}

/* What a run of a text showed. */
struct outcome {
    f64 worst;    /* largest distance to double precision among the reference's top logits */
    u32 worst_at; /* its position */
    f64 kl;       /* sum over n_kl positions, see kl_of */
    u32 n_kl;
    f64 worst_kl;
    u32 worst_kl_at;
    f64 margin; /* largest reference margin of a position where the likeliest token differs */
    u32 flips;  /* positions where it does */
};

/* KL(reference || row) in nats over nine classes: the reference's top 8 tokens and all the rest. By
 * the data-processing inequality it is at most the divergence over the whole vocabulary. */
static inline f64 kl_of(const struct text *t, u32 pos, const f32 *row, u32 v) {
    f64 most = (f64)row[0], sum = 0, kl = 0, p_rest = 1, q_rest = 1;
    for (u32 i = 1; i < v; i++)
        most = fmax(most, (f64)row[i]);
    for (u32 i = 0; i < v; i++)
        sum += exp((f64)row[i] - most);
    for (u32 k = 0; k < TOP; k++) {
        f64 p = exp((f64)t->ref[pos * TOP + k] - (f64)t->lse[pos]);
        f64 q = exp((f64)row[t->top[pos * TOP + k]] - most) / sum;
        kl += p * log(p / q);
        p_rest -= p;
        q_rest -= q;
    }
    if (p_rest > 1e-6 && q_rest > 1e-6) kl += p_rest * log(p_rest / q_rest);
    return kl;
}

static inline void judge(const struct text *t, u32 pos, u32 every, const f32 *row, u32 v,
                         struct outcome *o) {
    u32 best = 0;
    for (u32 i = 1; i < v; i++)
        best = row[i] > row[best] ? i : best;
    for (u32 k = 0; k < TOP; k++) {
        f64 d = fabs((f64)row[t->top[pos * TOP + k]] - (f64)t->exact[pos * TOP + k]);
        if (d <= o->worst) continue;
        o->worst = d;
        o->worst_at = pos;
    }
    if (pos % every == 0) {
        f64 kl = kl_of(t, pos, row, v);
        o->kl += kl;
        o->n_kl++;
        if (kl > o->worst_kl) {
            o->worst_kl = kl;
            o->worst_kl_at = pos;
        }
    }
    if ((i32)best != t->top[pos * TOP]) {
        o->flips++;
        o->margin = fmax(o->margin, (f64)t->ref[pos * TOP] - (f64)t->ref[pos * TOP + 1]);
    }
}

static inline struct outcome run_text(struct fixture *f, const struct text *t, bool exact) {
    struct outcome o = {0};
    glim_err e = {0};
    glim_session *s;
    glim_session_params p = {.exact = exact,
                             .n_ctx = t->n,
                             .n_batch = MIN(t->n, f->r->batch),
                             .max_logits = f->r->batch};
    if (glim_session_open(&s, f->model, &p, &e)) fail_test("%s", e.msg);
    glim_model_info info;
    glim_model_get_info(f->model, &info);
    for (u32 at = 0; at < t->n; at += f->r->batch) {
        u32 n = MIN(f->r->batch, t->n - at);
        if (glim_feed(s, t->ids + at, n, GLIM_LOGITS_ALL) || glim_wait(s)) {
            fail_test("%s", glim_session_error(s)->msg);
        }
        for (u32 i = 0; i < n; i++) {
            const f32 *row = glim_logits(s, i, NULL);
            assert_non_null(row);
            judge(t, at + i, t->n > 64 ? f->r->every : 1, row, info.n_vocab, &o);
        }
    }
    glim_session_close(s);
    return o;
}

/* Runs all texts. In the exact arithmetic logits are compared with the double-precision pass: both
 * engines round at every step alike, so ours may be as far from it as the other engine is, times
 * two for luck, plus a slack; an argmax may differ where the reference's margin is less than twice
 * the sum of both distances. In the fast arithmetic the difference of two logits has a standard
 * deviation of sqrt(2) times that of one, which the int8 pass tells: six of these bound the margin
 * (one in 5e8 comparisons of normal noise), and the mean divergence stays below twice its own. */
static inline void compare(void **state, bool exact) {
    struct fixture f;
    fixture_open(&f, state);
    for (u64 i = 0; i < f.names->n; i++) {
        struct text t = text_at(&f, i);
        if (t.n > reference_on.longest) continue;
        const f64 ref_off = (f64)t.noise[0], sigma = (f64)t.noise[3 + 1], kl = (f64)t.noise[3 + 2];
        f64 allowed = exact ? 2 * ref_off + reference_on.slack : 0;
        f64 margin = exact ? 2 * (allowed + ref_off) : 6 * sqrt(2) * sigma;
        struct outcome o = run_text(&f, &t, exact);
        f64 mean_kl = o.kl / o.n_kl;
        print_message(
            "%s %s %s, %.*s: %u tokens, mean KL %.2e, worst KL %.2e at %u, worst logit %.2e "
            "at %u, %u other argmax (margin %.3f, bound %.4f)\n",
            reference_on.name, f.r->name, exact ? "exact" : "fast", STR(t.name), t.n, mean_kl,
            o.worst_kl, o.worst_kl_at, o.worst, o.worst_at, o.flips, o.margin, margin);
        if (exact) assert_true(o.worst <= allowed);
        assert_true(o.margin <= margin);
        assert_true(mean_kl <= (exact ? 1e-6 : 2 * kl));
    }
    fixture_close(&f);
}

static inline void test_exact(void **state) {
    compare(state, true);
}

static inline void test_fast(void **state) {
    compare(state, false);
}

#define BOTH(reference)                                                                            \
    cmocka_unit_test_prestate(test_exact, (void *)(uintptr_t)(reference)),                         \
        cmocka_unit_test_prestate(test_fast, (void *)(uintptr_t)(reference))

#endif
