/* Memory running out, at every allocation from opening an engine to the end of an answer: a status,
 * nothing leaked, and the process lives. And what takes no memory at all: decoding.
 *
 * Arenas hand out most memory; config=oom and config=shrink make every request of an arena an
 * allocation of its own. */
#include "run_model.h"

#include "count_alloc.h"

#define MODEL "test/data/llama.gguf"

/* The C library's own allocator is counted too, where no sanitizer has replaced it. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
static u64 malloc_calls;
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
#pragma GCC visibility push(default) /* or shared libraries would not see them */
void *malloc(size_t n) {
    __atomic_fetch_add(&malloc_calls, 1, __ATOMIC_RELAXED);
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t size) {
    __atomic_fetch_add(&malloc_calls, 1, __ATOMIC_RELAXED);
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n) {
    __atomic_fetch_add(&malloc_calls, 1, __ATOMIC_RELAXED);
    return __libc_realloc(p, n);
}
#pragma GCC visibility pop
static u64 mallocs(void) {
    return __atomic_load_n(&malloc_calls, __ATOMIC_RELAXED);
}
#else
static u64 mallocs(void) {
    return 0;
}
#endif

/* ---- Every allocation fails ------------------------------------------------------------------ */

static const char *const stops[] = {"\n\n", "never said", "the"};

/* All that sampling may take memory for, or work without. */
static void use_everything(glim_generation *gen, bool mirostat) {
    static const glim_logit_bias bias[] = {{40, -1}, {41, 1}};
    static const char *const breakers[] = {"\n", "never said"};
    gen->logit_bias = bias;
    gen->n_logit_bias = 2;
    gen->n_logprobs = 5;
    gen->presence_penalty = gen->frequency_penalty = 0.1f;
    gen->dry_multiplier = 0.8f;
    gen->dry_breakers = breakers;
    gen->n_dry_breakers = 2;
    gen->samplers = "dry;penalties;temperature;top_n_sigma;typ_p;top_p;min_p;xtc;top_k";
    gen->typical_p = 0.95f;
    gen->top_n_sigma = 3;
    gen->xtc_probability = 0.5f;
    gen->mirostat = mirostat ? 2 : 0;
}

/* A prompt and eight tokens of an answer. Returns the first error, or 0. */
static int answer(glim_session *s) {
    static const char prompt[] = "The wind in the trees, and a word that is longer than the "
                                 "hundred-and-twenty-eight-bytes-that-are-kept-without-asking-"
                                 "for-memory-while-words-are-cut-into-tokens-aaaaaaaaaaaaaaaaaaaa";
    glim_generation gen = glim_generation_default();
    use_everything(&gen, false);
    gen.seed = 5;
    gen.max_tokens = 8;
    gen.stops = stops;
    gen.n_stops = 2;
    int rc = glim_set_generation(s, &gen);
    if (rc == 0) rc = glim_prompt(s, prompt, sizeof prompt - 1, 0);
    const char *text;
    size_t len;
    while (rc == 0 || rc == GLIM_AGAIN)
        rc = glim_next(s, &text, &len);
    if (rc < 0) assert_int_equal(glim_session_error(s)->code, rc);
    return rc < 0 ? rc : 0;
}

/* The whole story; returns the first error. */
static int story(struct count_alloc *c, u32 threads, glim_err *e) {
    glim_engine *engine = NULL;
    glim_model *model = NULL;
    glim_session *session = NULL;
    glim_plan plan;
    glim_engine_params ep = {.n_threads = threads, .alloc = c->alloc};
    glim_session_params sp = {.n_ctx = 200, .n_batch = 16};
    int rc = glim_engine_open(&engine, &ep, e);
    if (rc == 0) rc = glim_model_open(&model, engine, MODEL, e);
    if (rc == 0) rc = glim_session_plan(model, &sp, &plan, e);
    if (rc == 0) rc = glim_session_open(&session, model, &sp, e);
    if (rc < 0) {
        assert_int_equal(e->code, rc);
        assert_true(e->msg[0] != 0);
    }
    if (rc == 0) {
        rc = answer(session);
        /* What failed for lack of memory works when there is some again. */
        u64 at = c->fail_at;
        c->fail_at = 0;
        if (rc < 0 && glim_rewind(session, 0) == 0) assert_int_equal(answer(session), 0);
        c->fail_at = at;
    }
    glim_session_close(session);
    glim_model_close(model);
    glim_engine_close(engine);
    return rc;
}

static void fails_everywhere(bool once) {
    struct count_alloc c;
    glim_err e = {0};
    count_alloc_init(&c);
    int rc = story(&c, 3, &e);
    if (rc) fail_test("without failures: %d %s", rc, e.msg);
    assert_int_equal(c.live, 0);
    u64 calls = c.calls;
    assert_true(calls > 20);
    for (u64 n = 1; n <= calls; n++) {
        count_alloc_init(&c);
        c.fail_at = n;
        c.once = once;
        e = (glim_err){0};
        rc = story(&c, n < 8 ? 3 : 1, &e);
        if (rc != GLIM_NOMEM) {
            fail_test("allocation %llu of %llu fails: status %d (%s)", (unsigned long long)n,
                      (unsigned long long)calls, rc, e.msg);
        }
        if (c.live) {
            fail_test("allocation %llu of %llu fails: %llu bytes leak", (unsigned long long)n,
                      (unsigned long long)calls, (unsigned long long)c.live);
        }
    }
}
static void test_memory_runs_out(void **state) {
    (void)state;
    fails_everywhere(false);
}
static void test_one_allocation_fails(void **state) {
    (void)state;
    fails_everywhere(true);
}

/* ---- Decoding takes none --------------------------------------------------------------------- */

struct counted {
    struct count_alloc c;
    struct run r;
};
static void counted_open(struct counted *k, u32 threads, const glim_session_params *sp) {
    glim_err e = {0};
    count_alloc_init(&k->c);
    glim_engine_params ep = {.n_threads = threads, .alloc = k->c.alloc};
    if (glim_engine_open(&k->r.engine, &ep, &e) ||
        glim_model_open(&k->r.model, k->r.engine, MODEL, &e) ||
        glim_session_open(&k->r.session, k->r.model, sp, &e)) {
        fail_test("%s", e.msg);
    }
}
static void counted_close(struct counted *k) {
    run_close(&k->r);
    assert_int_equal(k->c.live, 0);
}

/* 140 steps, over page borders, by hand: neither the engine's allocator nor malloc is called. */
static void test_steps_take_no_memory(void **state) {
    (void)state;
    static const glim_session_params params[] = {{.n_ctx = 160},
                                                 {.n_ctx = 160, .exact = true, .n_batch = 1}};
    for (u32 i = 0; i < COUNT(params); i++) {
        struct counted k;
        counted_open(&k, 2, &params[i]);
        glim_generation gen = glim_generation_default();
        use_everything(&gen, i);
        run_ok(&k.r, glim_set_generation(k.r.session, &gen));
        u64 calls = k.c.calls, m = mallocs();
        i32 id = 7;
        for (u32 step = 0; step < 140; step++) {
            run_ok(&k.r, glim_feed(k.r.session, &id, 1, GLIM_LOGITS_LAST));
            run_ok(&k.r, glim_wait(k.r.session));
            run_ok(&k.r, glim_sample(k.r.session, &id));
            assert_non_null(glim_logprobs(k.r.session, step + 1, NULL));
        }
        run_ok(&k.r, glim_rewind(k.r.session, 3));
        assert_int_equal(k.c.calls, calls);
        assert_int_equal(mallocs(), m);
        counted_close(&k);
    }
}

/* The same through glim_next, with stop strings, a penalty and text held back. */
static void test_answers_take_no_memory(void **state) {
    (void)state;
    struct counted k;
    static const glim_session_params params = {.n_ctx = 900, .n_batch = 64};
    counted_open(&k, 2, &params);
    glim_generation gen = glim_generation_default();
    gen.stops = stops;
    gen.n_stops = 3;
    gen.repeat_penalty = 1.1f;
    gen.temp = 2;
    u32 steps = 0;
    for (u32 round = 0; steps < 150; round++) {
        assert_true(round < 100);
        gen.seed = round;
        use_everything(&gen, round & 1);
        run_ok(&k.r, glim_set_generation(k.r.session, &gen));
        run_ok(&k.r, glim_prompt(k.r.session, "A ", 2, 0));
        u64 calls = k.c.calls, m = mallocs();
        int rc;
        bool again = false;
        do {
            const char *text;
            size_t len;
            rc = glim_next(k.r.session, &text, &len);
            steps += rc == 0;
            if (rc == GLIM_DONE && !again) {
                rc = glim_next_answer(k.r.session);
                again = true;
            }
        } while ((rc == 0 || rc == GLIM_AGAIN) && steps < 150);
        assert_true(rc >= 0);
        assert_int_equal(k.c.calls, calls);
        assert_int_equal(mallocs(), m);
    }
    counted_close(&k);
}

/* The counter counts, where there is one. */
static void test_mallocs_are_seen(void **state) {
    (void)state;
#ifdef SANITIZED
    skip();
#else
    void *(*volatile get)(size_t) = malloc; /* or the compiler leaves the calls out */
    char *(*volatile copy)(const char *) = strdup;
    u64 m = mallocs();
    free(get(100));
    free(copy("inside the C library"));
    assert_int_equal(mallocs(), m + 2);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_runs_out),        cmocka_unit_test(test_one_allocation_fails),
        cmocka_unit_test(test_mallocs_are_seen),       cmocka_unit_test(test_steps_take_no_memory),
        cmocka_unit_test(test_answers_take_no_memory),
    };
    return cmocka_run_group_tests_name("oom", tests, NULL, NULL);
}
