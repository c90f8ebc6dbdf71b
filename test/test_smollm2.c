/* SmolLM2-135M-Instruct Q4_1 against another engine's logits (test/data/smollm2.ref.gguf, made by
 * script/make_smollm2_ref.py): five texts of 64 tokens and one of 2,000, teacher-forced. The 94 MB
 * model is not in the repository (./dev test fetches it); without it the tests are skipped. */
#include "unit.h"

#include "file/gguf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "models/SmolLM2-135M-Instruct.Q4_1.gguf"
#define REF   "test/data/smollm2.ref.gguf"

enum { TOP = 8, BATCH = 512 };

/* Sanitizers slow arithmetic down ten times: they see the short texts only. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLOW 1
#endif
#endif
#ifndef SLOW
#define SLOW 0
#endif

struct text {
    struct str name;
    u32 n;
    const i32 *ids, *top;
    const f32 *ref, *exact, *lse; /* the other engine, double precision, log-sum-exp */
    const f32 *noise;             /* [3][3], see the script */
};

struct fixture {
    struct arena arena;
    struct gguf g;
    const struct gguf_kv *names;
    glim_engine *engine;
    glim_model *model;
};

static bool plain_size(u32 type, u32 *len, u32 *bytes) {
    (void)type; /* F32 and I32 */
    *len = 1;
    *bytes = 4;
    return true;
}

static const void *tensor(const struct fixture *f, struct str text, const char *key, u32 *n) {
    char name[64];
    snprintf(name, sizeof name, "%.*s.%s", STR(text), key);
    const struct gguf_tensor *t = gguf_tensor(&f->g, name);
    assert_non_null(t);
    if (n) *n = (u32)t->dims[0];
    return t->data;
}

static int setup(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    glim_err e = {0};
    *state = f;
    FILE *there = fopen(MODEL, "rb");
    if (!there) return 0;
    fclose(there);
    arena_init(&f->arena, &mem_libc);
    if (gguf_open(&f->g, REF, &f->arena, plain_size, &e) ||
        glim_engine_open(&f->engine, NULL, &e) ||
        glim_model_open(&f->model, f->engine, MODEL, &e)) {
        fail_test("%s", e.msg);
    }
    f->names = gguf_find(&f->g, "golden.texts");
    assert_non_null(f->names);
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    glim_model_close(f->model);
    glim_engine_close(f->engine);
    gguf_close(&f->g);
    if (f->arena.alloc) arena_free(&f->arena);
    free(f);
    return 0;
}

static struct text text_at(const struct fixture *f, u64 i) {
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
    f64 kl;       /* sum over positions, see kl_of */
    f64 worst_kl;
    u32 worst_kl_at;
    f64 margin; /* largest reference margin of a position where the likeliest token differs */
    u32 flips;  /* positions where it does */
};

/* KL(reference || row) in nats over nine classes: the reference's top 8 tokens and all the rest. By
 * the data-processing inequality it is at most the divergence over the whole vocabulary. */
static f64 kl_of(const struct text *t, u32 pos, const f32 *row, u32 v) {
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

static void judge(const struct text *t, u32 pos, const f32 *row, u32 v, struct outcome *o) {
    u32 best = 0;
    for (u32 i = 1; i < v; i++)
        best = row[i] > row[best] ? i : best;
    for (u32 k = 0; k < TOP; k++) {
        f64 d = fabs((f64)row[t->top[pos * TOP + k]] - (f64)t->exact[pos * TOP + k]);
        if (d <= o->worst) continue;
        o->worst = d;
        o->worst_at = pos;
    }
    f64 kl = kl_of(t, pos, row, v);
    o->kl += kl;
    if (kl > o->worst_kl) {
        o->worst_kl = kl;
        o->worst_kl_at = pos;
    }
    if ((i32)best != t->top[pos * TOP]) {
        o->flips++;
        o->margin = fmax(o->margin, (f64)t->ref[pos * TOP] - (f64)t->ref[pos * TOP + 1]);
    }
}

static struct outcome run_text(struct fixture *f, const struct text *t, bool exact) {
    struct outcome o = {0};
    glim_err e = {0};
    glim_session *s;
    glim_session_params p = {
        .exact = exact, .n_ctx = t->n, .n_batch = MIN(t->n, (u32)BATCH), .max_logits = BATCH};
    if (glim_session_open(&s, f->model, &p, &e)) fail_test("%s", e.msg);
    glim_model_info info;
    glim_model_get_info(f->model, &info);
    for (u32 at = 0; at < t->n; at += BATCH) {
        u32 n = MIN((u32)BATCH, t->n - at);
        if (glim_feed(s, t->ids + at, n, GLIM_LOGITS_ALL) || glim_wait(s)) {
            fail_test("%s", glim_session_error(s)->msg);
        }
        for (u32 i = 0; i < n; i++) {
            const f32 *row = glim_logits(s, i, NULL);
            assert_non_null(row);
            judge(t, at + i, row, info.n_vocab, &o);
        }
    }
    glim_session_close(s);
    return o;
}

/* Runs all texts. In the exact arithmetic logits are compared with the double-precision pass: both
 * engines round at every step alike, so ours may be as far from it as the other engine is, times
 * two for luck, plus 1e-4; an argmax may differ where the reference's margin is less than twice
 * the sum of both distances. In the fast arithmetic the difference of two logits has a standard
 * deviation of sqrt(2) times that of one, which the int8 pass tells: six of these bound the margin
 * (one in 5e8 comparisons of normal noise), and the mean divergence stays below twice its own. */
static void compare(struct fixture *f, bool exact) {
    if (!f->model) {
        print_message("skipped: %s is not there (./dev demo fetches it)\n", MODEL);
        skip();
    }
    for (u64 i = 0; i < f->names->n; i++) {
        struct text t = text_at(f, i);
        if (SLOW && t.n > 64) continue;
        const f64 ref_off = (f64)t.noise[0], sigma = (f64)t.noise[3 + 1], kl = (f64)t.noise[3 + 2];
        f64 allowed = exact ? 2 * ref_off + 1e-4 : 0;
        f64 margin = exact ? 2 * (allowed + ref_off) : 6 * sqrt(2) * sigma;
        struct outcome o = run_text(f, &t, exact);
        f64 mean_kl = o.kl / t.n;
        print_message("%s %.*s: %u tokens, mean KL %.2e, worst KL %.2e at %u, worst logit %.2e at "
                      "%u, %u other argmax (margin %.3f, bound %.4f)\n",
                      exact ? "exact" : "fast", STR(t.name), t.n, mean_kl, o.worst_kl,
                      o.worst_kl_at, o.worst, o.worst_at, o.flips, o.margin, margin);
        if (exact) assert_true(o.worst <= allowed);
        assert_true(o.margin <= margin);
        assert_true(mean_kl <= (exact ? 1e-6 : 2 * kl));
    }
}

static void test_exact(void **state) {
    compare(*state, true);
}

static void test_fast(void **state) {
    compare(*state, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_fast),
    };
    return cmocka_run_group_tests_name("smollm2", tests, setup, teardown);
}
