/* Sessions whose tokens are drawn on a GPU, and passes that are begun before their token is known
 * here: always the tokens that one gets with all logits. */
#include "gpu_golden_rig.h"

#include "draw_rig.h"

enum { N_ANSWER = 40 };

static u64 passes(const struct run *r) {
    glim_stats stats;
    glim_get_stats(r->session, &stats);
    return stats.gpu_submits;
}

/* Draws N_ANSWER tokens behind the prompt; logits: how they are asked for. */
static void answer(struct run *r, const struct golden *g, int logits, i32 *out) {
    ok(r, glim_rewind(r->session, 0));
    ok(r, glim_feed(r->session, g->tokens, N_PROMPT, GLIM_LOGITS_LAST));
    for (u32 i = 0; i < N_ANSWER; i++) {
        ok(r, glim_wait(r->session));
        ok(r, glim_sample(r->session, &out[i]));
        ok(r, glim_feed(r->session, &out[i], 1, logits));
    }
}

static void session_draws(void **state) {
    const glim_session_params params = {.exact = true};
    struct golden g;
    struct run r;
    u32 n;
    const glim_generation *gen = draw_variants(&n);
    golden_open(&g, state);
    run_open(&r, &g, 1, NULL, &params);
    for (u32 i = 0; i < n; i++) {
        i32 want[N_ANSWER], got[N_ANSWER];
        ok(&r, glim_set_generation(r.session, &gen[i]));
        answer(&r, &g, GLIM_LOGITS_LAST, want);
        u64 before = passes(&r);
        answer(&r, &g, GLIM_LOGITS_DRAW, got);
        assert_memory_equal(want, got, sizeof want);
        assert_null(glim_logits(r.session, 0, NULL));
        /* One for the prompt, one per token but the last, and one or a few that were begun in vain:
         * at the end, which shows that they are begun, and for a draw on an edge. The others found
         * the pass that they wanted begun. */
        assert_in_range(passes(&r) - before, N_ANSWER + 1, N_ANSWER + 3);
    }
    /* Samplers that need all logits get them. */
    glim_generation all[3] = {gen[1], gen[1], gen[1]};
    all[0].repeat_penalty = 1.3f;
    all[1].top_k = 0;
    all[2].n_logprobs = 3;
    for (u32 i = 0; i < COUNT(all); i++) {
        i32 want[N_ANSWER], got[N_ANSWER];
        ok(&r, glim_set_generation(r.session, &all[i]));
        answer(&r, &g, GLIM_LOGITS_LAST, want);
        answer(&r, &g, GLIM_LOGITS_DRAW, got);
        assert_memory_equal(want, got, sizeof want);
    }
    run_close(&r);
    golden_close(&g);
}

/* What was begun ahead does not show, whatever is done instead of going on with it. */
static void other_ways(void **state) {
    glim_session_params params = {.exact = true, .n_ctx = N_PROMPT + N_GREEDY, .n_batch = 5};
    struct golden g;
    struct run r;
    glim_generation gen = glim_generation_default();
    i32 id, first;
    gen.temp = 0;
    golden_open(&g, state);
    run_open(&r, &g, 1, NULL, &params);
    ok(&r, glim_set_generation(r.session, &gen));
    ok(&r, glim_feed(r.session, g.tokens, N_PROMPT, GLIM_LOGITS_LAST));
    /* Another token than the drawn one, with its logits; then back to the right one. */
    for (u32 i = 0; i < N_GREEDY; i++) {
        ok(&r, glim_wait(r.session));
        ok(&r, glim_sample(r.session, &id));
        assert_int_equal(id, g.greedy[i]);
        if (i % 3 == 1) {
            i32 other = (id + 1) % (i32)g.n_vocab;
            size_t had;
            glim_tokens(r.session, &had);
            ok(&r, glim_feed(r.session, &other, 1, i % 2 ? GLIM_LOGITS_DRAW : GLIM_LOGITS_LAST));
            ok(&r, glim_wait(r.session));
            ok(&r, glim_sample(r.session, &first));
            ok(&r, glim_rewind(r.session, had));
        }
        ok(&r, glim_feed(r.session, &id, 1, GLIM_LOGITS_DRAW));
    }
    /* The context is full: nothing was begun beyond it. */
    ok(&r, glim_wait(r.session));
    ok(&r, glim_sample(r.session, &id));
    assert_int_equal(glim_feed(r.session, &id, 1, GLIM_LOGITS_DRAW), GLIM_FULL);
    /* Other samplers at once: the pass is done again, with its logits. */
    for (u32 i = 0; i < 2; i++) {
        size_t rows;
        gen.n_logprobs = i ? 2 : 0;
        gen.top_k = i ? 0 : 7;
        ok(&r, glim_set_generation(r.session, &gen));
        assert_int_equal(glim_sample(r.session, &first), GLIM_ARG);
        ok(&r, glim_wait(r.session));
        ok(&r, glim_sample(r.session, &first));
        assert_int_equal(first, id);
        glim_logits(r.session, 0, &rows);
        assert_int_equal(rows, i);
    }
    /* A rewind far back while a pass is in flight ahead. */
    gen.n_logprobs = 0;
    ok(&r, glim_set_generation(r.session, &gen));
    ok(&r, glim_rewind(r.session, N_PROMPT));
    ok(&r, glim_feed(r.session, g.greedy, 2, GLIM_LOGITS_NONE));
    ok(&r, glim_feed(r.session, g.greedy + 2, 1, GLIM_LOGITS_DRAW));
    ok(&r, glim_wait(r.session));
    ok(&r, glim_feed(r.session, g.greedy + 3, 1, GLIM_LOGITS_DRAW));
    ok(&r, glim_wait(r.session));
    ok(&r, glim_rewind(r.session, 20));
    ok(&r, glim_feed(r.session, g.tokens + 20, N_PROMPT - 20, GLIM_LOGITS_LAST));
    ok(&r, glim_wait(r.session));
    assert_near(glim_logits(r.session, 0, NULL), g.logits + (size_t)(N_PROMPT - 1) * g.n_vocab,
                g.n_vocab, tolerance(NULL));
    run_close(&r); /* with one in flight */
    golden_close(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(session_draws, use_device, "llama"), T(session_draws, use_device, "gemma4-e2b"),
        T(session_draws, use_floor, "lfm2"),   T(other_ways, use_device, "llama"),
        T(other_ways, use_floor, "gemma3"),    T(other_ways, use_device, "gemma4-moe"),
        T(other_ways, use_device, "lfm2moe"),
    };
    if (!rig_has_gpu()) return 0;
    return cmocka_run_group_tests_name("gpu ahead", tests, NULL, NULL);
}
