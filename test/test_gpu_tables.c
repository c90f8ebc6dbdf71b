/* Tables of which only tokens' rows are read, in the file while a GPU computes: the oracle's values
 * for every way of cutting a text; the same bits as with the tables on the GPU, in both arithmetics
 * and several formats; what the plan says, where tables go by themselves, and what is refused. */
#include "gpu_golden_rig.h"

#include "edit_gguf.h"
#include "run/session.h"

#define E2B   "test/data/gemma4-e2b.gguf"
#define TABLE "per_layer_token_embd.weight"

static int in_file(void **state) {
    (void)state;
    rig_tables = GLIM_TABLES_FILE;
    choice = &as_it_is;
    return 0;
}
static int in_file_tiny(void **state) {
    in_file(state);
    choice = &tiny;
    return 0;
}

/* ---- Sessions -------------------------------------------------------------------------------- */

struct setup {
    struct engine *engine;
    struct loaded loaded;
    char note[400]; /* the last one */
};

static void take_note(void *ud, const char *message) {
    struct setup *u = ud;
    snprintf(u->note, sizeof u->note, "%s", message);
}

/* A model on a GPU that is said to have so much memory (0: what it has). */
static void setup_open(struct setup *u, const char *path, u64 memory) {
    const struct gpu_choice c = {.library = GPU_LIBRARY, .memory = memory};
    const glim_engine_params p = {.log = take_note, .log_ud = u};
    glim_err e = {0};
    *u = (struct setup){0};
    if (engine_open_gpu(&u->engine, &p, &c, &e) || loaded_open(&u->loaded, u->engine, path, &e))
        fail_test("%s", e.msg);
}
static void setup_close(struct setup *u) {
    loaded_close(&u->loaded);
    assert_int_equal(gpu_held(u->engine->device->gpu), u->engine->device->grids.bytes);
    engine_close(u->engine);
}
static u64 held(const struct setup *u) {
    return gpu_held(u->engine->device->gpu);
}

static void session_up(struct session *s, struct setup *u, const glim_session_params *p) {
    glim_err e = {0};
    if (session_open(s, &u->loaded, p, &e)) fail_test("%s", e.msg);
}
static void run_on(struct session *s, u32 first, u32 n) {
    i32 ids[64];
    int rc = GLIM_AGAIN;
    for (u32 i = 0; i < n; i++)
        ids[i] = (i32)((first + i) * 7 % s->vocab);
    assert_int_equal(session_feed(s, ids, n, GLIM_LOGITS_ALL), GLIM_OK);
    while (rc == GLIM_AGAIN)
        rc = session_step(s);
    if (rc) fail_test("%s", s->err.msg);
}

/* ---- The same bits --------------------------------------------------------------------------- */

static void same_bits(const char *path, bool exact, int kv) {
    enum { T = 40 };
    glim_session_params p = {.exact = exact, .kv = kv, .n_ctx = 128, .n_batch = T, .max_logits = T};
    struct setup u;
    struct session there, here;
    setup_open(&u, path, 0);
    p.tables = GLIM_TABLES_FILE;
    session_up(&here, &u, &p);
    assert_true(exec_gpu_needs_ids(&here.gpu));
    u64 in_file = held(&u), table = u.loaded.model.table_bytes;
    p.tables = GLIM_TABLES_DEVICE;
    session_up(&there, &u, &p);
    assert_false(exec_gpu_needs_ids(&there.gpu));
    assert_true(held(&u) - in_file >= table && u.loaded.model.n_tables);
    static const u32 cuts[] = {T, 1, 1, 13, 2, 20};
    for (u32 k = 0, at = 0; k < COUNT(cuts); at += cuts[k++]) {
        run_on(&here, at, cuts[k]);
        run_on(&there, at, cuts[k]);
        for (u32 i = 0; i < cuts[k]; i++) {
            assert_memory_equal(session_logits(&here, i), session_logits(&there, i),
                                here.vocab * sizeof(f32));
        }
    }
    session_close(&here);
    session_close(&there);
    setup_close(&u);
}

static void formats(void **state) {
    static const u32 types[] = {QUANT_F32, QUANT_F16, QUANT_BF16, QUANT_Q4_0, QUANT_Q8_0};
    (void)state;
    for (u32 i = 0; i < COUNT(types); i++) {
        const struct edit as = {.tensor = TABLE, .as = EDIT_TYPE, .u = types[i]};
        struct temp t = edit_gguf(E2B, &as, types[i] != QUANT_F32);
        same_bits(t.path, true, GLIM_KV_AUTO);
        same_bits(t.path, false, GLIM_KV_AUTO);
        temp_remove(&t);
    }
    /* int8 activations in front of all weights */
    struct temp all = edit_all_as("test/data/qwen2.gguf", QUANT_Q8_0);
    same_bits(all.path, false, GLIM_KV_AUTO);
    temp_remove(&all);
}

/* ---- Tokens drawn ---------------------------------------------------------------------------- */

/* A token that is asked for by DRAW is the one that all logits give, and no pass is begun before
 * its token is known. */
static void draws(void **state) {
    enum { N = 30 };
    struct golden g;
    struct run r;
    i32 got[2][N];
    golden_open(&g, state);
    run_open(&r, &g, 1, NULL, &EXACT);
    for (u32 k = 0; k < 2; k++) {
        glim_stats before, after;
        ok(&r, glim_rewind(r.session, 0));
        ok(&r, glim_feed(r.session, g.tokens, N_PROMPT, GLIM_LOGITS_LAST));
        ok(&r, glim_wait(r.session));
        glim_get_stats(r.session, &before);
        for (u32 i = 0; i < N; i++) {
            ok(&r, glim_sample(r.session, &got[k][i]));
            ok(&r, glim_feed(r.session, &got[k][i], 1, k ? GLIM_LOGITS_DRAW : GLIM_LOGITS_LAST));
            ok(&r, glim_wait(r.session));
        }
        glim_get_stats(r.session, &after);
        assert_int_equal(after.gpu_submits - before.gpu_submits, N);
    }
    assert_memory_equal(got[0], got[1], sizeof got[0]);
    run_close(&r);
    golden_close(&g);
}

/* ---- Plans ----------------------------------------------------------------------------------- */

static const glim_session_params small = {.exact = true, .n_ctx = 128, .n_batch = 32};

static glim_plan plan_of(struct setup *u, int tables) {
    glim_session_params p = small;
    glim_plan plan;
    glim_err e = {0};
    p.tables = tables;
    if (session_plan(&u->loaded, &p, &plan, &e)) fail_test("%s", e.msg);
    return plan;
}

/* What a session takes is what the plan says, but for records, constants and grids. */
static void plans_are_kept(void **state) {
    enum { SLACK = 160 << 10 };
    static const int places[] = {GLIM_TABLES_DEVICE, GLIM_TABLES_FILE, GLIM_TABLES_AUTO};
    (void)state;
    for (u32 i = 0; i < COUNT(places); i++) {
        glim_session_params p = small;
        struct setup u;
        struct session s;
        setup_open(&u, E2B, 0);
        glim_plan plan = plan_of(&u, places[i]);
        p.tables = places[i];
        session_up(&s, &u, &p);
        print_message("# planned %llu bytes, holds %llu\n", (unsigned long long)plan.total,
                      (unsigned long long)held(&u));
        assert_true(plan.on_gpu && plan.tables == u.loaded.model.table_bytes);
        assert_int_equal(plan.tables_in_file, places[i] == GLIM_TABLES_FILE);
        assert_int_equal(plan.total, plan.weights + plan.kv + plan.activations +
                                         (plan.tables_in_file ? 0 : plan.tables));
        assert_int_equal(plan.gpu_memory, gpu_info(u.engine->device->gpu)->memory);
        assert_int_equal(plan.gpu_free, plan.gpu_memory);
        assert_in_range(held(&u), plan.total - SLACK / 8, plan.total + SLACK);
        session_close(&s);
        setup_close(&u);
    }
}

/* Opens a session with so much memory; what comes of it. */
static int with_memory(u64 memory, int tables, bool *in_file, char *note, glim_err *e) {
    glim_session_params p = small;
    struct setup u;
    struct session s;
    p.tables = tables;
    setup_open(&u, E2B, memory);
    int rc = session_open(&s, &u.loaded, &p, e);
    if (rc == GLIM_OK) {
        *in_file = exec_gpu_needs_ids(&s.gpu);
        run_on(&s, 0, 1);
        session_close(&s);
    }
    strcpy(note, u.note);
    setup_close(&u);
    return rc;
}

static void tables_go_where_there_is_room(void **state) {
    struct setup u;
    bool in_file;
    char note[400];
    glim_err e = {0};
    (void)state;
    setup_open(&u, E2B, 0);
    u64 there = plan_of(&u, GLIM_TABLES_DEVICE).total, here = plan_of(&u, GLIM_TABLES_FILE).total;
    setup_close(&u);
    assert_true(here + 90000 < there);
    /* Room for all. */
    assert_int_equal(with_memory(there, GLIM_TABLES_AUTO, &in_file, note, &e), GLIM_OK);
    assert_false(in_file);
    assert_string_equal(note, "");
    /* For all but the tables: said, once. */
    assert_int_equal(with_memory(there - 1, GLIM_TABLES_AUTO, &in_file, note, &e), GLIM_OK);
    assert_true(in_file);
    assert_non_null(strstr(note, "stay in the file"));
    assert_int_equal(with_memory(here, GLIM_TABLES_AUTO, &in_file, note, &e), GLIM_OK);
    assert_true(in_file);
    assert_int_equal(with_memory(here, GLIM_TABLES_FILE, &in_file, note, &e), GLIM_OK);
    assert_true(in_file);
    assert_string_equal(note, "");
    /* For less. */
    assert_int_equal(with_memory(here - 1, GLIM_TABLES_AUTO, &in_file, note, &e), GLIM_NOMEM);
    print_message("# %s\n", e.msg);
    assert_non_null(strstr(e.msg, "even with its tables in the file"));
    assert_non_null(strstr(e.msg, "--device cpu"));
    e = (glim_err){0};
    assert_int_equal(with_memory(there - 1, GLIM_TABLES_DEVICE, &in_file, note, &e), GLIM_NOMEM);
    print_message("# %s\n", e.msg);
    assert_non_null(strstr(e.msg, "--tables file"));
}

/* What other sessions of the engine have is not free; weights that are there count once. */
static void sessions_share(void **state) {
    struct setup u;
    struct session first, second;
    glim_err e = {0};
    (void)state;
    setup_open(&u, E2B, 0);
    glim_plan plan = plan_of(&u, GLIM_TABLES_AUTO);
    setup_close(&u);
    u64 own = plan.kv + plan.activations;
    for (u32 room = 0; room < 2; room++) { /* too little for a second session, enough */
        setup_open(&u, E2B, plan.total + own * (1 + room) - own / 2);
        session_up(&first, &u, &small);
        assert_false(exec_gpu_needs_ids(&first.gpu));
        glim_plan next = plan_of(&u, GLIM_TABLES_AUTO);
        assert_int_equal(next.total, plan.total);
        assert_true(next.gpu_free < next.gpu_memory);
        int rc = session_open(&second, &u.loaded, &small, &e);
        assert_int_equal(rc, room ? GLIM_OK : GLIM_NOMEM);
        if (room) {
            assert_false(exec_gpu_needs_ids(&second.gpu)); /* the tables are there already */
            session_close(&second);
        } else {
            print_message("# %s\n", e.msg);
            assert_non_null(strstr(e.msg, "free of"));
        }
        session_close(&first);
        assert_int_equal(session_open(&second, &u.loaded, &small, &e), GLIM_OK);
        session_close(&second);
        setup_close(&u);
    }
}

static void wrong_places_are_refused(void **state) {
    glim_session_params p = small;
    struct setup u;
    glim_plan plan;
    glim_err e = {0};
    (void)state;
    setup_open(&u, E2B, 0);
    p.tables = 3;
    assert_int_equal(session_plan(&u.loaded, &p, &plan, &e), GLIM_ARG);
    assert_non_null(strstr(e.msg, "GLIM_TABLES_AUTO"));
    setup_close(&u);
}

#define ALL_TESTS(name)                                                                            \
    T(test_exact_in_any_chunks, in_file, name), T(test_greedy, in_file, name),                     \
        T(test_rewind, in_file, name), T(test_last_row_only, in_file, name),                       \
        T(test_any_rows, in_file, name), T(test_long_text, in_file, name),                         \
        T(test_f16_cache, in_file, name), T(test_two_sessions, in_file, name),                     \
        T(test_rewind, in_file_tiny, name), T(draws, in_file, name)

int main(void) {
    const struct CMUnitTest tests[] = {
        ALL_TESTS("gemma4-e2b"),
        ALL_TESTS("qwen2"),
        cmocka_unit_test(formats),
        cmocka_unit_test(plans_are_kept),
        cmocka_unit_test(tables_go_where_there_is_room),
        cmocka_unit_test(sessions_share),
        cmocka_unit_test(wrong_places_are_refused),
    };
    if (!rig_has_gpu()) return 0;
    return cmocka_run_group_tests_name("gpu tables", tests, NULL, NULL);
}
