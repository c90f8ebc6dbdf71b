/* Sampling as a session has it: several answers, log-probabilities, state that follows rewinding,
 * settings that a model's file brings along, and settings that are refused. */
#include "edit_gguf.h"
#include "run_model.h"

#include <math.h>

#define LLAMA "test/data/llama.gguf"
#define GEMMA "test/data/gemma3.gguf" /* has sliding windows */

/* Everything at once, so that each sampler's state matters. */
static glim_generation everything(u64 seed) {
    static const glim_logit_bias bias[] = {{40, -INFINITY}, {41, 1}};
    glim_generation g = glim_generation_default();
    g.temp = 1.5f;
    g.top_k = 60;
    g.typical_p = 0.95f;
    g.top_n_sigma = 3;
    g.xtc_probability = 0.3f;
    g.repeat_penalty = 1.1f;
    g.presence_penalty = 0.1f;
    g.frequency_penalty = 0.1f;
    g.dry_multiplier = 0.8f;
    g.logit_bias = bias;
    g.n_logit_bias = COUNT(bias);
    g.n_logprobs = 3;
    g.min_keep = 2;
    g.seed = seed;
    g.max_tokens = 12;
    return g;
}

/* The rest of an answer, as the ids behind the first `from` tokens. */
static u32 finish(struct run *r, size_t from, i32 *ids) {
    const char *text;
    size_t len, n;
    int rc;
    do
        rc = glim_next(r->session, &text, &len);
    while (rc == GLIM_OK || rc == GLIM_AGAIN);
    if (rc < 0) run_ok(r, rc);
    const i32 *all = glim_tokens(r->session, &n);
    memcpy(ids, all + from, (n - from) * sizeof *ids);
    return (u32)(n - from);
}

static const char prompt[] = "The wind in the trees, the wind in the trees, and the wind";

static u32 first_answer(struct run *r, const glim_generation *g, i32 *ids, size_t *n_prompt) {
    run_ok(r, glim_set_generation(r->session, g));
    run_ok(r, glim_prompt(r->session, prompt, sizeof prompt - 1, 0));
    glim_tokens(r->session, n_prompt);
    return finish(r, *n_prompt, ids);
}

/* ---- Several answers ------------------------------------------------------------------------- */

/* Answer i is what a session of its own gives with seed + i, in either arithmetic, over a window
 * that has moved on, and with mirostat. */
static void test_answers_are_those_of_their_seeds(void **state) {
    (void)state;
    static const char *const models[] = {LLAMA, GEMMA};
    u32 different = 0;
    for (u32 k = 0; k < 8; k++) {
        glim_session_params sp = {.n_ctx = 400, .n_batch = 16, .exact = k & 1};
        struct run r;
        i32 ids[200], fresh[200];
        size_t n_prompt;
        glim_generation g = everything(100);
        if (k & 4) g.mirostat = 2;
        if (k & 2) g.max_tokens = 150; /* beyond what the ring of a window keeps */
        run_open(&r, models[k >> 1 & 1], 1, NULL, &sp);
        u32 n = first_answer(&r, &g, ids, &n_prompt);
        for (u32 i = 0; i < 4; i++) {
            if (i > 0) {
                run_ok(&r, glim_next_answer(r.session));
                n = finish(&r, n_prompt, ids);
            }
            struct run other;
            glim_generation own = g;
            own.seed = g.seed + i;
            run_open(&other, models[k >> 1 & 1], 1, NULL, &sp);
            u32 n_fresh = first_answer(&other, &own, fresh, &n_prompt);
            run_close(&other);
            if (n != n_fresh || memcmp(ids, fresh, n * sizeof *ids) != 0)
                fail_test("case %u, answer %u is not that of its seed", k, i);
            different += i > 0 && n > 3;
        }
        run_close(&r);
    }
    assert_true(different > 12);
}

static void test_another_answer_needs_a_prompt(void **state) {
    (void)state;
    struct run r;
    i32 ids[200], again[200], id = 5;
    size_t n_prompt, n_all;
    glim_generation g = everything(3);
    glim_session_params sp = {.n_ctx = 200};
    run_open(&r, LLAMA, 1, NULL, &sp);
    assert_int_equal(glim_next_answer(r.session), GLIM_ARG);
    assert_non_null(strstr(glim_session_error(r.session)->msg, "no prompt"));
    /* Before anything was drawn it only moves the seed on. */
    run_ok(&r, glim_set_generation(r.session, &g));
    run_ok(&r, glim_prompt(r.session, prompt, sizeof prompt - 1, 0));
    run_ok(&r, glim_next_answer(r.session));
    glim_tokens(r.session, &n_prompt);
    u32 n = finish(&r, n_prompt, ids);
    run_ok(&r, glim_rewind(r.session, 0));
    assert_int_equal(glim_next_answer(r.session), GLIM_ARG);
    g.seed++;
    assert_int_equal(first_answer(&r, &g, again, &n_prompt), n);
    assert_memory_equal(ids, again, n * sizeof *ids);
    /* A rewind into the answer leaves the prompt; one into the prompt does not. */
    run_ok(&r, glim_rewind(r.session, n_prompt));
    run_ok(&r, glim_next_answer(r.session));
    finish(&r, n_prompt, ids);
    run_ok(&r, glim_rewind(r.session, n_prompt - 1));
    run_ok(&r, glim_feed(r.session, &id, 1, GLIM_LOGITS_LAST));
    glim_tokens(r.session, &n_all);
    assert_int_equal(n_all, n_prompt);
    assert_int_equal(glim_next_answer(r.session), GLIM_ARG);
    run_close(&r);
}

/* ---- Log-probabilities ----------------------------------------------------------------------- */

/* Each drawn token has a row, in agreement with the logits that it was drawn from. */
static void test_logprobs_of_an_answer(void **state) {
    (void)state;
    struct run r;
    i32 ids[200];
    size_t n_prompt, n_all, n;
    glim_generation g = everything(11);
    glim_session_params sp = {.n_ctx = 200, .exact = true};
    run_open(&r, LLAMA, 1, NULL, &sp);
    u32 vocab = run_vocab(&r), n_answer = first_answer(&r, &g, ids, &n_prompt);
    assert_true(n_answer > 0);
    glim_tokens(r.session, &n_all);
    assert_null(glim_logprobs(r.session, n_prompt - 1, &n));
    assert_int_equal(n, 0);
    assert_null(glim_logprobs(r.session, n_all + 1, NULL));
    assert_null(glim_logprobs(r.session, SIZE_MAX, NULL));
    glim_logprob rows[200];
    for (u32 i = 0; i < n_answer; i++) {
        const glim_logprob *row = glim_logprobs(r.session, n_prompt + i, &n);
        assert_non_null(row);
        assert_int_equal(n, 4);
        assert_int_equal(row[0].id, ids[i]);
        assert_true(row[1].logprob >= row[2].logprob && row[2].logprob >= row[3].logprob);
        assert_true(row[0].logprob <= row[1].logprob);
        rows[i] = row[0];
    }
    /* Behind another prompt nothing was drawn; behind the same one again, the logits say what the
     * rows should have said. */
    i32 first = glim_tokens(r.session, &n)[0], other = first ? 0 : 1, kept[200];
    memcpy(kept, glim_tokens(r.session, &n), n_prompt * sizeof *kept);
    run_ok(&r, glim_rewind(r.session, 0));
    run_ok(&r, glim_feed(r.session, &other, 1, GLIM_LOGITS_NONE));
    run_ok(&r, glim_rewind(r.session, 0));
    run_ok(&r, glim_feed(r.session, kept, n_prompt, GLIM_LOGITS_NONE));
    for (u32 i = 0; i + 1 < n_answer; i++) {
        f64 total = 0;
        run_ok(&r, glim_feed(r.session, &ids[i], 1, GLIM_LOGITS_LAST));
        run_ok(&r, glim_wait(r.session));
        assert_null(glim_logprobs(r.session, n_prompt + i, NULL));
        const f32 *logits = glim_logits(r.session, 0, NULL);
        for (u32 k = 0; k < vocab; k++)
            total += exp((f64)logits[k]);
        f64 want = (f64)logits[ids[i + 1]] - log(total);
        assert_true(fabs(want - (f64)rows[i + 1].logprob) < 1e-3);
    }
    run_close(&r);
}

/* glim_sample's token has its row before it is queued and after. */
static void test_logprobs_of_a_sample(void **state) {
    (void)state;
    struct run r;
    i32 id = 9, drawn;
    size_t n;
    glim_generation g = everything(2);
    run_open(&r, LLAMA, 1, NULL, &(glim_session_params){.n_ctx = 50});
    run_ok(&r, glim_set_generation(r.session, &g));
    run_ok(&r, glim_feed(r.session, &id, 1, GLIM_LOGITS_LAST));
    run_ok(&r, glim_wait(r.session));
    assert_null(glim_logprobs(r.session, 1, NULL));
    run_ok(&r, glim_sample(r.session, &drawn));
    assert_int_equal(glim_logprobs(r.session, 1, &n)->id, drawn);
    run_ok(&r, glim_feed(r.session, &drawn, 1, GLIM_LOGITS_LAST));
    assert_int_equal(glim_logprobs(r.session, 1, &n)->id, drawn);
    assert_null(glim_logprobs(r.session, 2, &n));
    run_ok(&r, glim_rewind(r.session, 1));
    assert_null(glim_logprobs(r.session, 1, &n));
    run_close(&r);
}

/* ---- Repeating ------------------------------------------------------------------------------- */

/* From any place in an answer that is gone back to, it goes on as it did. */
static void test_rewinding_repeats(void **state) {
    (void)state;
    for (u32 k = 0; k < 2; k++) {
        struct run r;
        i32 ids[60];
        glim_generation g = everything(5);
        if (k) g.mirostat = 2;
        run_open(&r, LLAMA, 1, NULL, &(glim_session_params){.n_ctx = 100, .exact = true});
        run_ok(&r, glim_set_generation(r.session, &g));
        ids[0] = 12;
        for (u32 round = 0; round < 4; round++) {
            u32 from = round * 13;
            for (u32 i = from; i < 50; i++) {
                i32 id;
                run_ok(&r, glim_feed(r.session, &ids[i], 1, GLIM_LOGITS_LAST));
                run_ok(&r, glim_wait(r.session));
                run_ok(&r, glim_sample(r.session, &id));
                if (round && id != ids[i + 1]) fail_test("round %u, token %u", round, i);
                ids[i + 1] = id;
            }
            /* The last token kept is fed again: its logits are gone. */
            if (round < 3) run_ok(&r, glim_rewind(r.session, from + 13));
        }
        run_close(&r);
    }
}

/* ---- Settings in the file -------------------------------------------------------------------- */

static char noted[400];
static void note(void *ud, const char *message) {
    (void)ud;
    snprintf(noted, sizeof noted, "%s", message);
}

static glim_generation generation_of(const struct edit *edits, u32 n, char *samplers) {
    struct temp t = edit_gguf(LLAMA, edits, n);
    struct run r = {0};
    glim_err e = {0};
    glim_engine_params ep = {.n_threads = 1, .log = note};
    noted[0] = 0;
    if (glim_engine_open(&r.engine, &ep, &e) || glim_model_open(&r.model, r.engine, t.path, &e) ||
        glim_session_open(&r.session, r.model, NULL, &e))
        fail_test("%s", e.msg);
    glim_generation g = glim_model_generation(r.model);
    snprintf(samplers, 200, "%s", g.samplers ? g.samplers : "");
    g.samplers = NULL;
    run_close(&r);
    temp_remove(&t);
    return g;
}

/* Field by field: bytes between fields are anything. */
#define SAME(field) assert_true(a->field == b->field)
static void assert_same(const glim_generation *a, const glim_generation *b) {
    SAME(temp);
    SAME(top_k);
    SAME(top_p);
    SAME(min_p);
    SAME(repeat_penalty);
    SAME(repeat_last_n);
    SAME(presence_penalty);
    SAME(frequency_penalty);
    SAME(typical_p);
    SAME(top_n_sigma);
    SAME(xtc_probability);
    SAME(xtc_threshold);
    SAME(dry_multiplier);
    SAME(mirostat);
    SAME(mirostat_tau);
    SAME(mirostat_eta);
    SAME(seed);
    SAME(min_keep);
    SAME(n_logprobs);
}

static void test_settings_of_the_file(void **state) {
    (void)state;
    char samplers[200];
    static const struct edit edits[] = {
        {.key = "general.sampling.temp", .as = EDIT_F32, .f = 0.25f},
        {.key = "general.sampling.top_k", .as = EDIT_U32, .u = 7},
        {.key = "general.sampling.top_p", .as = EDIT_F32, .f = 0.5f},
        {.key = "general.sampling.min_p", .as = EDIT_F32, .f = 0.125f},
        {.key = "general.sampling.penalty_last_n", .as = EDIT_F32, .f = -1},
        {.key = "general.sampling.penalty_repeat", .as = EDIT_F32, .f = 1.5f},
        {.key = "general.sampling.xtc_probability", .as = EDIT_F32, .f = 0.75f},
        {.key = "general.sampling.xtc_threshold", .as = EDIT_F32, .f = 0.25f},
        {.key = "general.sampling.mirostat", .as = EDIT_U32, .u = 2},
        {.key = "general.sampling.mirostat_tau", .as = EDIT_U32, .u = 3},
        {.key = "general.sampling.mirostat_eta", .as = EDIT_F32, .f = 0.5f},
        {.key = "general.sampling.sequence", .as = EDIT_STR, .s = "temperature;top_k;penalties"},
    };
    glim_generation g = generation_of(edits, COUNT(edits), samplers),
                    want = glim_generation_default();
    want.temp = 0.25f;
    want.top_k = 7;
    want.top_p = 0.5f;
    want.min_p = 0.125f;
    want.repeat_last_n = UINT32_MAX;
    want.repeat_penalty = 1.5f;
    want.xtc_probability = 0.75f;
    want.xtc_threshold = 0.25f;
    want.mirostat = 2;
    want.mirostat_tau = 3;
    want.mirostat_eta = 0.5f;
    assert_same(&g, &want);
    assert_string_equal(samplers, "temperature;top_k;penalties");
    assert_string_equal(noted, "");
}

/* What makes no sense stays at its default, and a line says so. */
static void test_bad_settings_of_the_file(void **state) {
    (void)state;
    static const struct {
        struct edit edit;
        const char *note, *samplers;
    } cases[] = {
        {{.key = "general.sampling.temp", .as = EDIT_F32, .f = NAN}, "must be 0 to 1000", ""},
        {{.key = "general.sampling.top_p", .as = EDIT_F32, .f = 1.5f}, "must be 0 to 1", ""},
        {{.key = "general.sampling.top_k", .as = EDIT_F32, .f = 1.5f}, "not a whole number", ""},
        {{.key = "general.sampling.top_k", .as = EDIT_STR, .s = "40"}, "not a number", ""},
        {{.key = "general.sampling.mirostat", .as = EDIT_U32, .u = 1}, "must be 0 (off) or 2", ""},
        {{.key = "general.sampling.penalty_repeat", .as = EDIT_F32, .f = 0}, "0.01 to 100", ""},
        {{.key = "general.sampling.sequence", .as = EDIT_U32, .u = 1}, "not a short text", ""},
        {{.key = "general.sampling.sequence", .as = EDIT_STR, .s = "top_k;top_k"}, "twice", ""},
        {{.key = "general.sampling.sequence", .as = EDIT_STR, .s = "top_k;infill;temp"},
         "'infill', which is left out",
         "top_k;temperature"},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        char samplers[200];
        glim_generation g = generation_of(&cases[i].edit, 1, samplers),
                        want = glim_generation_default();
        assert_same(&g, &want);
        assert_string_equal(samplers, cases[i].samplers);
        if (!strstr(noted, cases[i].note) || !strstr(noted, cases[i].edit.key))
            fail_test("case %u: '%s'", i, noted);
    }
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void refused(struct run *r, const glim_generation *g, const char *a, const char *b) {
    assert_int_equal(glim_set_generation(r->session, g), GLIM_ARG);
    const char *msg = glim_session_error(r->session)->msg;
    if (!strstr(msg, a) || !strstr(msg, b)) fail_test("'%s' lacks '%s' or '%s'", msg, a, b);
}

#define REFUSED(field, value, a, b)                                                                \
    do {                                                                                           \
        glim_generation g_ = glim_generation_default();                                            \
        g_.field = value;                                                                          \
        refused(&r, &g_, a, b);                                                                    \
    } while (0)

static void test_refusals_name_value_and_range(void **state) {
    (void)state;
    struct run r;
    run_open(&r, LLAMA, 1, NULL, &(glim_session_params){.n_ctx = 50});
    REFUSED(typical_p, 1.5f, "typical_p is 1.5", "0 to 1");
    REFUSED(top_n_sigma, -1, "top_n_sigma is -1", "0 to 1000");
    REFUSED(xtc_probability, NAN, "xtc_probability is", "0 to 1");
    REFUSED(xtc_threshold, 2, "xtc_threshold is 2", "0 to 1");
    REFUSED(presence_penalty, 101, "presence_penalty is 101", "-100 to 100");
    REFUSED(frequency_penalty, -101, "frequency_penalty is -101", "-100 to 100");
    REFUSED(dry_multiplier, -1, "dry_multiplier is -1", "0 to 100");
    REFUSED(dry_base, 0.5f, "dry_base is 0.5", "1 to 100");
    REFUSED(dry_last_n, -2, "dry_last_n is -2", "-1 (all) or more");
    REFUSED(mirostat, 1, "mirostat is 1", "0 (off) or 2");
    REFUSED(mirostat_tau, INFINITY, "mirostat_tau is inf", "0 to 100");
    REFUSED(mirostat_eta, 2, "mirostat_eta is 2", "0 to 1");
    REFUSED(n_logprobs, 101, "n_logprobs is 101", "0 to 100");
    REFUSED(samplers, "top_k;nonsense", "samplers: 'nonsense'", "top_k, typ_p, top_p");
    REFUSED(samplers, "temp;temperature", "'temperature' is named twice", "once");
    REFUSED(n_logit_bias, 1, "logit_bias is NULL", "n_logit_bias 1");
    glim_generation g = everything(1);
    glim_logit_bias bias[] = {{-1, 0}, {1 << 20, 0}, {3, 1001}, {3, INFINITY}, {3, NAN}};
    for (u32 i = 0; i < COUNT(bias); i++) {
        g.logit_bias = &bias[i];
        g.n_logit_bias = 1;
        refused(&r, &g, i < 2 ? "token" : "token 3", i < 2 ? "ids 0 to" : "-1000 to 1000");
    }
    const char *breakers[] = {"ok", ""};
    g = everything(1);
    g.dry_breakers = breakers;
    g.n_dry_breakers = 2;
    refused(&r, &g, "dry_breakers: text 1 is empty", "a byte");
    breakers[1] = NULL;
    refused(&r, &g, "dry_breakers: text 1 is NULL", "a byte");
    run_close(&r);
}

/* All tokens forbidden: an error that says why, and the session goes on. */
static void test_everything_forbidden(void **state) {
    (void)state;
    struct run r;
    i32 id = 3;
    glim_logit_bias bias[1000];
    glim_generation g = glim_generation_default();
    run_open(&r, LLAMA, 1, NULL, &(glim_session_params){.n_ctx = 50});
    u32 vocab = run_vocab(&r);
    assert_in_range(vocab, 2, COUNT(bias));
    for (u32 i = 0; i < vocab; i++)
        bias[i] = (glim_logit_bias){(i32)i, -INFINITY};
    g.logit_bias = bias;
    for (u32 left = 0; left < 2; left++) {
        g.n_logit_bias = vocab - left;
        run_ok(&r, glim_set_generation(r.session, &g));
        run_ok(&r, glim_feed(r.session, &id, 1, GLIM_LOGITS_LAST));
        run_ok(&r, glim_wait(r.session));
        int rc = glim_sample(r.session, &id);
        if (left) {
            run_ok(&r, rc);
            assert_int_equal(id, vocab - 1);
        } else {
            assert_int_equal(rc, GLIM_NUMERIC);
            assert_non_null(strstr(glim_session_error(r.session)->msg, "logit_bias"));
        }
    }
    run_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_are_those_of_their_seeds),
        cmocka_unit_test(test_another_answer_needs_a_prompt),
        cmocka_unit_test(test_logprobs_of_an_answer),
        cmocka_unit_test(test_logprobs_of_a_sample),
        cmocka_unit_test(test_rewinding_repeats),
        cmocka_unit_test(test_settings_of_the_file),
        cmocka_unit_test(test_bad_settings_of_the_file),
        cmocka_unit_test(test_refusals_name_value_and_range),
        cmocka_unit_test(test_everything_forbidden),
    };
    return cmocka_run_group_tests_name("sampling", tests, NULL, NULL);
}
