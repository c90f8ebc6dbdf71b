/* What GPUs and programs for them have got wrong elsewhere.
 *
 * Here: silent zeros and NaN; reads given up, closed over and interleaved; lost devices; memory
 * that runs out anywhere; limits that a model does not fit; kernels that fail; submits that grow
 * with the prompt; no adapter. In other programs: dispatches beyond a dimension (test_gpu.c,
 * test_gpu_large.c), the floor's limits for every kernel (test_gpu_kernels.c), matrices in pieces,
 * operands that are one value or overlapping slices, passes without wanted rows, numbers beyond
 * half precision (test_gpu_ops.c, test_gpu_cache.c, test_gpu_formats.c), lane sizes from 4 to 128
 * (test_gpu_reduce.c, test_gpu_ops.c), subgroup uniformity (all kernels compile with and without
 * subgroups, test_gpu_kernels.c), passes that are begun before their token is known
 * (test_gpu_ahead.c), loading a file larger than what it may take (test_gpu_memory.c). Without a
 * test, since it cannot happen: f16 and f32 mixed in a kernel (none uses f16), a buffer bound twice
 * (all activations are one binding, weights are only read), matrices of no rows (refused when a
 * model is loaded). A browser's own differences belong to the browser's tests. */
#include "gpu_ops_rig.h"

#include "count_alloc.h"
#include "run/engine.h"
#include "run/session.h"

#define MODEL "test/data/llama.gguf"
enum { PROMPT = 24 };

struct chat {
    struct engine *engine;
    struct loaded loaded;
    struct session session;
};

static void engine_up(struct engine **g, const struct gpu_choice *c, const glim_alloc *a) {
    struct gpu_choice choice = c ? *c : (struct gpu_choice){0};
    glim_engine_params p = {0};
    glim_err e = {0};
    choice.library = GPU_LIBRARY;
    if (a) p.alloc = *a;
    if (engine_open_gpu(g, &p, &choice, &e)) fail_test("%s", e.msg);
}
static const glim_session_params params = {.exact = true, .n_ctx = 128, .n_batch = 64};

static void chat_open(struct chat *c, const struct gpu_choice *choice, const glim_alloc *a) {
    glim_err e = {0};
    engine_up(&c->engine, choice, a);
    if (loaded_open(&c->loaded, c->engine, MODEL, &e) ||
        session_open(&c->session, &c->loaded, &params, &e))
        fail_test("%s", e.msg);
}
static void chat_close(struct chat *c) {
    session_close(&c->session);
    loaded_close(&c->loaded);
    engine_close(c->engine);
}

static int feed(struct session *s, u32 n) {
    i32 ids[PROMPT];
    for (u32 i = 0; i < n; i++)
        ids[i] = (i32)((i * 7 + 3) % s->vocab);
    return session_feed(s, ids, n, GLIM_LOGITS_LAST);
}
static int finish(struct session *s) {
    int rc;
    while ((rc = session_step(s)) == GLIM_AGAIN) {
    }
    return rc;
}
/* The logits after the prompt; freed by the caller. */
static f32 *answer(struct session *s) {
    f32 *copy = malloc(s->vocab * sizeof *copy);
    assert_non_null(copy);
    assert_int_equal(session_rewind(s, 0), GLIM_OK);
    assert_int_equal(feed(s, PROMPT), GLIM_OK);
    if (finish(s)) fail_test("%s", s->err.msg);
    memcpy(copy, session_logits(s, 0), s->vocab * sizeof *copy);
    return copy;
}

/* ---- Numbers that are none ------------------------------------------------------------------- */

static void bad_logits_are_an_error(void **state) {
    enum { V = 96 };
    static const u32 bad[] = {0x7fc00000, 0x7f800000, 0xff800000};
    f32 x[2 * V] = {0};
    struct op_run o;
    glim_err e = {0};
    (void)state;
    run_begin(&o, ON_DEVICE, 2, 2);
    struct ref in = run_x(&o, x, V);
    o.prog.output = prog_op(&o.prog, OP_PICK, &in, 0, NULL);
    run_ready(&o);
    o.step = (struct step){.rows = o.rows, .t = 2, .out_rows = o.out_rows, .r = 2};
    for (u32 k = 0; k < 7; k++) {
        for (u32 i = 0; i < 2 * V; i++)
            x[i] = k == 0 ? 0 : rng_f32();
        if (k == 1) memset(x + V, 0, V * sizeof *x); /* only the second row is all zero */
        if (k >= 2 && k < 5) x[V + 17 * k] = f32_from_bits(bad[k - 2]);
        if (k == 5) { /* one value that is not zero is no sign of a fault */
            memset(x, 0, sizeof x);
            x[V - 1] = x[V] = 1;
        }
        const struct val *v = run_val(&o, in);
        for (u32 i = 0; i < 2; i++) {
            if (gpu_write(o.x.device->gpu, &o.x.memory, v->offset + i * v->pitch, x + i * V,
                          V * sizeof *x, &e))
                fail_test("%s", e.msg);
        }
        int rc = exec_gpu_run(&o.x, &o.step, NULL, UINT64_MAX / 4, &e);
        assert_int_equal(rc, k < 5 ? GLIM_NUMERIC : GLIM_OK);
        if (rc == GLIM_OK) assert_memory_equal(exec_gpu_logits(&o.x, 0), x, sizeof x);
    }
    run_end(&o);
}

/* A model whose last norm is lost on the device: no text comes of it. */
static void silent_zeros_are_never_text(void **state) {
    struct chat c;
    glim_err e = {0};
    i32 id;
    (void)state;
    chat_open(&c, NULL, NULL);
    free(answer(&c.session));
    struct device_weight *w = c.loaded.on_device.list;
    while (w && strcmp(w->weight->name, "output_norm.weight") != 0)
        w = w->next;
    assert_non_null(w);
    u8 *zeros = calloc(1, w->pieces[0].buffer.bytes);
    if (gpu_write(c.engine->device->gpu, &w->pieces[0].buffer, 0, zeros, w->pieces[0].buffer.bytes,
                  &e))
        fail_test("%s", e.msg);
    free(zeros);
    assert_int_equal(feed(&c.session, 1), GLIM_OK);
    assert_int_equal(finish(&c.session), GLIM_NUMERIC);
    assert_null(session_logits(&c.session, 0));
    assert_int_not_equal(session_sample(&c.session, &id), GLIM_OK);
    chat_close(&c);
}

/* ---- Reads in flight ------------------------------------------------------------------------- */

static void passes_are_given_up(void **state) {
    struct chat c;
    (void)state;
    chat_open(&c, NULL, NULL);
    f32 *want = answer(&c.session);
    for (u32 i = 0; i < 5; i++) {
        c.session.budget_ns = 0;
        assert_int_equal(session_rewind(&c.session, i), GLIM_OK);
        assert_int_equal(feed(&c.session, PROMPT), GLIM_OK);
        session_step(&c.session); /* begins */
        f32 *got = answer(&c.session);
        assert_memory_equal(got, want, c.session.vocab * sizeof *got);
        free(got);
    }
    assert_int_equal(feed(&c.session, 1), GLIM_OK);
    session_step(&c.session);
    chat_close(&c); /* with a pass in flight */
    free(want);
}

static void two_sessions_take_turns(void **state) {
    struct chat c;
    struct session other;
    glim_err e = {0};
    (void)state;
    chat_open(&c, NULL, NULL);
    if (session_open(&other, &c.loaded, &params, &e)) fail_test("%s", e.msg);
    u64 bytes = c.loaded.on_device.bytes;
    f32 *want = answer(&c.session);
    assert_int_equal(session_rewind(&c.session, 0), GLIM_OK);
    assert_int_equal(feed(&c.session, PROMPT), GLIM_OK);
    assert_int_equal(feed(&other, PROMPT), GLIM_OK);
    c.session.budget_ns = other.budget_ns = 0;
    int a, b;
    do {
        a = session_step(&c.session);
        b = session_step(&other);
    } while (a == GLIM_AGAIN || b == GLIM_AGAIN);
    assert_true(a == GLIM_OK && b == GLIM_OK);
    assert_memory_equal(session_logits(&c.session, 0), want, other.vocab * sizeof *want);
    assert_memory_equal(session_logits(&other, 0), want, other.vocab * sizeof *want);
    assert_int_equal(c.loaded.on_device.bytes, bytes); /* weights are shared */
    assert_int_equal(feed(&c.session, 1), GLIM_OK);
    session_step(&c.session);
    session_close(&c.session); /* in flight, and the other one goes on */
    f32 *again = answer(&other);
    assert_memory_equal(again, want, other.vocab * sizeof *want);
    free(again);
    free(want);
    session_close(&other);
    loaded_close(&c.loaded);
    engine_close(c.engine);
}

/* ---- Lost devices ---------------------------------------------------------------------------- */

/* Lost in the middle of a pass and again: each call says so, nothing hangs, all can be closed; the
 * tokens are still there, and a new engine goes on with them. */
static void lost_devices(void **state) {
    struct chat c, fresh;
    struct session late;
    glim_err e = {0};
    (void)state;
    chat_open(&c, NULL, NULL);
    f32 *want = answer(&c.session);
    assert_int_equal(session_rewind(&c.session, 0), GLIM_OK);
    assert_int_equal(feed(&c.session, PROMPT), GLIM_OK);
    c.session.budget_ns = 0;
    session_step(&c.session);
    for (u32 i = 0; i < 2; i++) {
        gpu_lose(c.engine->device->gpu);
        assert_int_equal(finish(&c.session), GLIM_DEVICE);
        assert_non_null(strstr(c.session.err.msg, "lost"));
    }
    assert_int_equal(c.session.n_ids, PROMPT);
    assert_int_equal(session_open(&late, &c.loaded, &params, &e), GLIM_DEVICE); /* not NOMEM */
    chat_open(&fresh, NULL, NULL);
    assert_int_equal(session_feed(&fresh.session, c.session.ids, c.session.n_ids, GLIM_LOGITS_LAST),
                     GLIM_OK);
    assert_int_equal(finish(&fresh.session), GLIM_OK);
    assert_memory_equal(session_logits(&fresh.session, 0), want,
                        fresh.session.vocab * sizeof *want);
    chat_close(&fresh);
    chat_close(&c);
    free(want);
}

/* Lost with a pass begun ahead, and a session closed in that state. */
static void lost_ahead(void **state) {
    (void)state;
    for (u32 lose = 0; lose < 2; lose++) {
        struct chat c;
        chat_open(&c, NULL, NULL);
        free(answer(&c.session));
        for (u32 i = 0; i < 2; i++) {
            i32 id;
            assert_int_equal(session_sample(&c.session, &id), GLIM_OK);
            assert_int_equal(session_feed(&c.session, &id, 1, GLIM_LOGITS_DRAW), GLIM_OK);
            if (i == 0) assert_int_equal(finish(&c.session), GLIM_OK);
        }
        assert_non_null(c.session.gpu.ahead.back);
        if (lose) gpu_lose(c.engine->device->gpu);
        if (lose) assert_int_equal(finish(&c.session), GLIM_DEVICE);
        chat_close(&c);
    }
}

/* Lost before anything is loaded. */
static void lost_while_loading(void **state) {
    struct chat c;
    glim_err e = {0};
    (void)state;
    engine_up(&c.engine, NULL, NULL);
    assert_int_equal(loaded_open(&c.loaded, c.engine, MODEL, &e), GLIM_OK);
    gpu_lose(c.engine->device->gpu);
    assert_int_equal(session_open(&c.session, &c.loaded, &params, &e), GLIM_DEVICE);
    loaded_close(&c.loaded);
    engine_close(c.engine);
}

/* ---- Memory and limits ----------------------------------------------------------------------- */

static void engines_come_and_go(void **state) {
    struct count_alloc a;
    struct chat c;
    (void)state;
    count_alloc_init(&a);
    for (u32 i = 0; i < 20; i++) {
        if (i % 5 == 0) {
            chat_open(&c, NULL, &a.alloc);
            free(answer(&c.session));
            chat_close(&c);
        } else {
            engine_up(&c.engine, NULL, &a.alloc);
            engine_close(c.engine);
        }
        assert_int_equal(a.live, 0);
    }
}

/* Each allocation fails in turn, while an engine, a model and a session are opened. */
static void failing_allocations(void **state) {
    struct count_alloc a;
    struct chat c;
    glim_err e = {0};
    (void)state;
    count_alloc_init(&a);
    struct gpu_choice choice = {.library = GPU_LIBRARY};
    glim_engine_params p = {.alloc = a.alloc};
    int rc = GLIM_NOMEM;
    for (a.fail_at = 1; rc != GLIM_OK; a.fail_at++) {
        a.calls = 0;
        rc = engine_open_gpu(&c.engine, &p, &choice, &e);
        if (rc == GLIM_OK) break;
        assert_int_equal(rc, GLIM_NOMEM);
        assert_int_equal(a.live, 0);
    }
    u64 failures = 0;
    rc = GLIM_NOMEM;
    for (u64 n = 1; rc != GLIM_OK; n++) {
        a.calls = 0;
        a.fail_at = n;
        rc = loaded_open(&c.loaded, c.engine, MODEL, &e);
        if (rc == GLIM_OK) rc = session_open(&c.session, &c.loaded, &params, &e);
        if (rc == GLIM_OK) break;
        loaded_close(&c.loaded);
        if (rc != GLIM_NOMEM) fail_test("allocation %u: %d: %s", (u32)n, rc, e.msg);
        failures++;
    }
    a.fail_at = 0;
    assert_true(failures > 20);
    free(answer(&c.session));
    chat_close(&c);
    assert_int_equal(a.live, 0);
}

/* What does not fit is refused with its name and its numbers. */
static void limits_are_told(void **state) {
    enum { D = 64 };
    struct op_run o;
    glim_err e = {0};
    struct attend_params p = {1, D, 1, 0, 0};
    struct kv_store_params sp = {1};
    (void)state;
    run_begin(&o, ON_SPLIT, 200, 1); /* activations beyond a binding */
    struct ref in = run_in(&o, NULL, ROWS_T, 1, D, DT_F32);
    prog_op(&o.prog, OP_SCALE, &in, 0, &(struct scale_params){1});
    assert_int_equal(run_try(&o, &e), GLIM_NOMEM);
    assert_non_null(strstr(e.msg, "200 tokens"));
    run_end(&o);
    e = (glim_err){0};
    run_begin(&o, ON_SPLIT, 4, 1); /* a cache beyond a binding */
    run_cache(&o, KV_FULL, 1, D, false, 1000);
    in = run_in(&o, NULL, ROWS_T, 1, D, DT_F32);
    prog_op(&o.prog, OP_KV_STORE, (struct ref[]){in, in}, 0, &sp);
    prog_op(&o.prog, OP_ATTEND, &in, 0, &p);
    assert_int_equal(run_try(&o, &e), GLIM_NOMEM);
    assert_non_null(strstr(e.msg, "-c"));
    run_end(&o);
    e = (glim_err){0};
    run_begin(&o, ON_SPLIT, 1, 1); /* a row beyond a binding */
    f32 *x = run_random(&o, 2 * 11000);
    in = run_mat(&o, QUANT_F32, x, 2, 11000);
    prog_op(&o.prog, OP_EMBED, &in, 0, &(struct embed_params){1});
    assert_int_equal(run_try(&o, &e), GLIM_UNSUPPORTED);
    assert_non_null(strstr(e.msg, "matrix"));
    run_end(&o);
}

/* A kernel that wants more workgroup memory than there is: said each time, never handed out. */
static void failed_kernels_stay_failed(void **state) {
    struct wgsl_variant v = {.op = OP_ATTEND, .head_dim = 1 << 15};
    const struct gpu_pipeline *p;
    struct device *d = rig_device(ON_FLOOR);
    (void)state;
    for (u32 i = 0; i < 3; i++) {
        glim_err e = {0};
        int rc = device_pipeline(d, &v, &p, &e);
        if (rc == GLIM_OK) rc = gpu_wait(d->gpu, &e);
        assert_int_equal(rc, GLIM_DEVICE);
        assert_non_null(strstr(e.msg, "attend"));
        gpu_wait(d->gpu, NULL);
        while (gpu_check(d->gpu, NULL) < 0) {
        }
    }
}

/* A prompt in one pass is one submit, with as many dispatches as a token takes. */
static void submits_do_not_grow(void **state) {
    struct chat c;
    (void)state;
    chat_open(&c, NULL, NULL);
    const struct exec_gpu *x = &c.session.gpu;
    free(answer(&c.session));
    u64 of_prompt = x->n_dispatches;
    assert_int_equal(x->n_passes, 1);
    assert_int_equal(feed(&c.session, 1), GLIM_OK);
    assert_int_equal(finish(&c.session), GLIM_OK);
    assert_int_equal(x->n_passes, 2);
    assert_int_equal(x->n_dispatches, 2 * of_prompt);
    assert_true(of_prompt <= c.session.prog.n_ops);
    chat_close(&c);
}

/* No driver: a GPU is refused with the way out, and "auto" is the CPU. The last test, since the
 * environment stays changed. */
static void no_adapter(void **state) {
    struct engine *g;
    struct gpu_choice choice = {.library = GPU_LIBRARY};
    glim_engine_params p = {.gpu_library = GPU_LIBRARY};
    glim_err e = {0};
    (void)state;
    rig_close_devices();
    setenv("VK_ICD_FILENAMES", "no-such-driver.json", 1);
    setenv("VK_DRIVER_FILES", "no-such-driver.json", 1);
    assert_int_equal(engine_open_gpu(&g, &p, &choice, &e), GLIM_UNSUPPORTED);
    assert_non_null(strstr(e.msg, "drivers"));
    assert_null(g);
    if (engine_open(&g, &p, &e)) fail_test("%s", e.msg);
    assert_null(g->device);
    engine_close(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_logits_are_an_error),
        cmocka_unit_test(silent_zeros_are_never_text),
        cmocka_unit_test(passes_are_given_up),
        cmocka_unit_test(two_sessions_take_turns),
        cmocka_unit_test(lost_devices),
        cmocka_unit_test(lost_ahead),
        cmocka_unit_test(lost_while_loading),
        cmocka_unit_test(engines_come_and_go),
        cmocka_unit_test(failing_allocations),
        cmocka_unit_test(limits_are_told),
        cmocka_unit_test(failed_kernels_stay_failed),
        cmocka_unit_test(submits_do_not_grow),
        cmocka_unit_test(no_adapter),
    };
    if (!rig_has_gpu()) return 0;
    return cmocka_run_group_tests_name("gpu hard", tests, NULL, NULL);
}
