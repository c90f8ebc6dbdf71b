/* What programs that chat have got wrong elsewhere: templates, tool calls, stop strings, streaming.
 * Each number of the log of such faults, and the test that holds it:
 *
 *  33 typed control strings    test_token: test_control_text, test_gemma4_marks, test_gemma4_chat
 *                              (tools' results, too); test_chat_session: test_typed_marks
 *  35 one begin token          test_turns: test_one_begin; test_spm: test_begin; test_chat_session:
 *                              test_typed_marks; here: test_begin_token_matters
 *  40 Qwen 3's expressions     test_jinja: test_snippets, test_published (qwen3*, second turns),
 *                              test_unknown_names
 *  41 tojson as json.dumps     test_jinja: test_snippets, test_published (conversations 4, 5, 9)
 *  44 Llama 3's expressions    test_jinja: test_snippets, test_published (reduced-llama-3.1)
 *  45 Granite 3.1 to 4.1       test_jinja: test_published (granite-*: no system message, tools,
 *                              documents, calls; the clock stands still)
 *  46 nested tool schemas      test_jinja: test_published (gemma-4*)
 *  48 Gemma 4's calls          test_stream: "gemma nested", "gemma two calls", test_any_pieces;
 *                              test_stream_template
 *  50 LFM2's calls             test_stream: "lfm2 literals", "lfm2 two calls", "lfm2 line ends",
 *                              "lfm2 bare", test_any_pieces
 *  52 Gemma 4's thoughts       test_stream: "gemma thought not closed, call", "gemma thought only",
 *                              "gemma call within a thought", "gemma empty thought", test_family;
 *                              there are no grammars yet that thoughts could get past
 *  54 templates of Ollama      test_gotmpl: test_library, test_load_errors, test_refusals;
 *                              test_chat_session: test_go_templates; a file's own Jinja template
 *                              goes first and is never replaced: test_store_template.py
 *  55 Gemma 4's template       test_jinja: test_published (gemma-4*), test_snippets (dictsort)
 *  56 LFM2.5's template        test_jinja: test_published (reduced-lfm2.5; the others by hash),
 *                              test_snippets (generation, get, items, tojson, strftime_now)
 * 100 stops over tokens        here: test_stops_over_tokens; test_text: test_stop_all_short_texts;
 *                              test_answer: test_stop_strings
 * 102 stops while thinking     here: test_stop_in_a_thought, test_stop_in_a_call
 * 103 answers nobody reads     not calling again is stopping: test_session:
 *                              test_interrupted_steps; there is no server yet that could forget to
 * 113 logarithms of extremes   test_sample_ref: test_logprobs_of_extremes
 *
 * Without a test, as there is no such thing yet: grammars (106, 107, 109, 111) and answers side by
 * side in one context (112; sessions side by side: test_session: test_interleaved_sessions). */
#include "edit_gguf.h"

#include "run_model.h"
#include "stream_rig.h"
#include "text/stop.h"

#include <math.h>

#define MODEL "test/data/llama.gguf"
#define GEMMA "models/gemma-3-270m-Q4_K_M.gguf"

enum { MAX_TEXT = 1 << 14, MAX_BIAS = 512 };

struct said {
    char text[MAX_TEXT], thought[MAX_TEXT];
    size_t n, n_thought;
    u32 notes;
    enum glim_end end;
};

static const glim_session_params params = {.n_ctx = 200, .n_batch = 32};

/* Only these tokens: letters, blanks, longer ones that share letters with them, and the two halves
 * of an e with an accent. */
static size_t few_words(glim_logit_bias *bias, u32 vocab) {
    /* a, b, c, blank, at, " th", " the", C3, A9 */
    static const i32 ids[] = {102, 103, 104, 37, 273, 262, 263, 200, 174};
    size_t n = 0;
    for (u32 id = 0; id < vocab; id++) {
        bool kept = false;
        for (size_t i = 0; i < COUNT(ids); i++)
            kept |= ids[i] == (i32)id;
        if (!kept) bias[n++] = (glim_logit_bias){(i32)id, -INFINITY};
    }
    return n;
}

/* Each of them about as likely. */
static glim_generation few_words_said(const glim_logit_bias *bias, size_t n, u64 seed) {
    glim_generation gen = glim_generation_default();
    gen.temp = 50;
    gen.top_k = 0;
    gen.top_p = 1;
    gen.min_p = 0;
    gen.seed = seed;
    gen.max_tokens = 60;
    gen.logit_bias = bias;
    gen.n_logit_bias = n;
    return gen;
}

static void answer(struct run *r, const glim_generation *gen, const char *prompt, bool events,
                   struct said *s) {
    *s = (struct said){0};
    run_ok(r, glim_rewind(r->session, 0));
    run_ok(r, glim_set_generation(r->session, gen));
    run_ok(r, glim_prompt(r->session, prompt, strlen(prompt), 0));
    for (int rc = GLIM_AGAIN; rc != GLIM_DONE;) {
        glim_event ev = {.kind = GLIM_EVENT_TEXT};
        rc = events ? glim_next_event(r->session, &ev) : glim_next(r->session, &ev.text, &ev.len);
        if (rc == GLIM_AGAIN || rc == GLIM_DONE) continue;
        run_ok(r, rc);
        bool thought = ev.kind == GLIM_EVENT_THOUGHT;
        s->notes += ev.kind == GLIM_EVENT_NOTE;
        if (!thought && ev.kind != GLIM_EVENT_TEXT) continue;
        memcpy(thought ? s->thought + s->n_thought : s->text + s->n, ev.text, ev.len);
        *(thought ? &s->n_thought : &s->n) += ev.len;
    }
    s->end = glim_end_reason(r->session);
}

/* Where the text ends before the stop string that is complete first, the longest of those. */
static size_t cut_at(const struct said *whole, const char *const *stops, size_t n_stops) {
    size_t end = whole->n, at = whole->n;
    for (size_t i = 0; i < n_stops; i++) {
        const char *found = memmem(whole->text, whole->n, stops[i], strlen(stops[i]));
        size_t from = found ? (size_t)(found - whole->text) : whole->n;
        size_t to = found ? from + strlen(stops[i]) : SIZE_MAX;
        if (to < end || (to == end && from < at)) end = to, at = from;
    }
    return at;
}

/* Stop strings over several tokens, within one, sharing beginnings, over halves of a character: the
 * text is cut right before, read as text or as events. */
static void test_stops_over_tokens(void **state) {
    (void)state;
    static const char *const sets[][3] = {{"ab", "abc"},      {"a a", "at th"}, {"\u00e9"},
                                          {"ta", "\u00e9a"},  {"the a", " th"}, {"bb", "b\u00e9"},
                                          {"c c", "cc", "ca"}};
    static struct said whole, text, events;
    static glim_logit_bias bias[MAX_BIAS];
    struct edit e = {.key = "tokenizer.chat_template", .as = EDIT_STR, .s = "</tool_call>"};
    struct temp t = edit_gguf(MODEL, &e, 1);
    struct run r;
    run_open(&r, t.path, 1, NULL, &params);
    assert_true(run_vocab(&r) <= MAX_BIAS);
    size_t n_bias = few_words(bias, run_vocab(&r));
    u32 met[COUNT(sets)] = {0};
    for (u64 seed = 0; seed < 12; seed++) {
        glim_generation gen = few_words_said(bias, n_bias, seed);
        answer(&r, &gen, "the ", false, &whole);
        assert_int_equal(whole.end, GLIM_END_LIMIT);
        for (size_t i = 0; i < COUNT(sets); i++) {
            gen.stops = sets[i];
            gen.n_stops = 1u + (sets[i][1] != NULL) + (sets[i][2] != NULL);
            size_t want = cut_at(&whole, sets[i], gen.n_stops);
            answer(&r, &gen, "the ", false, &text);
            answer(&r, &gen, "the ", true, &events);
            assert_int_equal(text.n, want);
            assert_memory_equal(text.text, whole.text, want);
            assert_int_equal(events.n, want);
            assert_memory_equal(events.text, whole.text, want);
            assert_int_equal(text.end, want < whole.n ? GLIM_END_STOP : GLIM_END_LIMIT);
            assert_int_equal(events.end, text.end);
            met[i] += want < whole.n;
        }
    }
    for (size_t i = 0; i < COUNT(sets); i++)
        if (met[i] < 3) fail_test("stop strings %zu were met %u times only", i, met[i]);
    run_close(&r);
    temp_remove(&t);
}

/* A stop string ends an answer that still thinks; white space before it belonged to the thought's
 * mark. */
static void test_stop_in_a_thought(void **state) {
    (void)state;
    static struct said whole, cut;
    static glim_logit_bias bias[MAX_BIAS];
    struct edit e = {.key = "tokenizer.chat_template", .as = EDIT_STR, .s = "<think></think>"};
    struct temp t = edit_gguf(MODEL, &e, 1);
    struct run r;
    run_open(&r, t.path, 1, NULL, &params);
    size_t n_bias = few_words(bias, run_vocab(&r));
    u32 tried = 0;
    for (u64 seed = 0; seed < 8; seed++) {
        glim_generation gen = few_words_said(bias, n_bias, seed);
        answer(&r, &gen, "Hm. <think>\n", true, &whole);
        assert_true(whole.n == 0 && whole.n_thought > 20 && whole.notes == 1);
        for (size_t at = 1; at + 4 < whole.n_thought; at += 3) {
            char stop[8] = "";
            const char *stops[] = {stop};
            size_t from = at, to = at + 3;
            while (((u8)whole.thought[from] & 0xc0) == 0x80)
                from--;
            while (((u8)whole.thought[to] & 0xc0) == 0x80)
                to++;
            if (whole.thought[from] == ' ' || to - from >= sizeof stop) continue;
            memcpy(stop, whole.thought + from, to - from);
            gen.stops = stops;
            gen.n_stops = 1;
            answer(&r, &gen, "Hm. <think>\n", true, &cut);
            const char *first = memmem(whole.thought, whole.n_thought, stop, to - from);
            size_t want = (size_t)(first - whole.thought);
            while (want && whole.thought[want - 1] == ' ')
                want--;
            assert_int_equal(cut.end, GLIM_END_STOP);
            assert_int_equal(cut.n, 0);
            assert_int_equal(cut.n_thought, want);
            assert_memory_equal(cut.thought, whole.thought, want);
            tried++;
        }
    }
    assert_true(tried > 40);
    run_close(&r);
    temp_remove(&t);
}

/* One within a call's arguments, however the text comes: the call is none, and all of it is text.
 */
static void test_stop_in_a_call(void **state) {
    (void)state;
    static const char said[] =
        "Ok <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"one O P Q two\"}}</tool_call>";
    static const char want[] =
        "text Ok\ncall f call00001\nargs {\"a\":\"one \ndrop\n"
        "note a malformed tool call was kept as text: the answer ends within it\n"
        "text  <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"one \nstop";
    const struct str stops[] = {{"O P Q", 5}};
    struct arena a;
    struct stop *stop;
    struct stream s;
    glim_err e = {0};
    arena_init(&a, &mem_libc);
    assert_int_equal(stop_open(&stop, stops, 1, &a, &e), 0);
    stream_open(&s, STREAM_HERMES, 0, &mem_libc);
    for (size_t piece = 1; piece < 9; piece++) {
        char kept[sizeof said];
        size_t n = 0;
        stop_reset(stop);
        for (size_t at = 0; at + 1 < sizeof said; at += piece) {
            struct str out[2];
            bool hit =
                stop_feed(stop, (struct str){said + at, MIN(piece, sizeof said - 1 - at)}, out);
            for (u32 i = 0; i < 2; i++) {
                if (out[i].n) memcpy(kept + n, out[i].p, out[i].n);
                n += out[i].n;
            }
            if (hit) break;
        }
        s.n_calls = 0;
        struct stream_log l = stream_run(&s, 0, (struct str){kept, n}, NULL, NULL);
        assert_string_equal(l.p, want);
        free(l.p);
    }
    stream_close(&s);
    arena_free(&a);
}

/* Negative log-likelihood per token of ids[n - count ..]. */
static f64 surprise(struct run *r, const i32 *ids, u32 n, u32 count) {
    u32 vocab = run_vocab(r);
    f64 sum = 0;
    run_ok(r, glim_rewind(r->session, 0));
    run_ok(r, glim_feed(r->session, ids, n, GLIM_LOGITS_ALL));
    run_ok(r, glim_wait(r->session));
    for (u32 i = n - count; i < n; i++) {
        const f32 *row = glim_logits(r->session, i - 1, NULL);
        f64 max = (f64)row[0], total = 0;
        for (u32 k = 0; k < vocab; k++)
            max = fmax(max, (f64)row[k]);
        for (u32 k = 0; k < vocab; k++)
            total += exp((f64)row[k] - max);
        sum -= (f64)row[ids[i]] - max - log(total);
    }
    return sum / count;
}

/* Gemma without its begin token reads badly, and glim_prompt puts it there. */
static void test_begin_token_matters(void **state) {
    (void)state;
    static const char text[] =
        "The lighthouse stood at the end of the long pier, and every evening the keeper climbed "
        "the "
        "stairs to light the lamp. From the top he could see the whole harbour.";
#ifndef NDEBUG
    print_message("a real model is too slow in this build\n");
    skip();
#endif
    FILE *f = fopen(GEMMA, "rb");
    if (!f) {
        print_message("no " GEMMA ": ./dev model gemma3-270m\n");
        skip();
    }
    fclose(f);
    struct run r;
    const glim_session_params p = {.n_ctx = 128, .n_batch = 128, .max_logits = 128};
    run_open(&r, GEMMA, 0, NULL, &p);
    run_ok(&r, glim_prompt(r.session, text, strlen(text), 0));
    size_t n;
    i32 ids[128];
    const i32 *queued = glim_tokens(r.session, &n);
    assert_true(n > 20 && n < COUNT(ids));
    memcpy(ids, queued, n * sizeof *ids);
    assert_int_equal(ids[0], 2);
    assert_int_not_equal(ids[1], 2);
    f64 with = surprise(&r, ids, (u32)n, (u32)n - 2),
        without = surprise(&r, ids + 1, (u32)n - 1, (u32)n - 2);
    print_message("%.3f nats per token with the begin token, %.3f without\n", with, without);
    assert_true(with + 0.5 < without);
    run_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stops_over_tokens),
        cmocka_unit_test(test_stop_in_a_thought),
        cmocka_unit_test(test_stop_in_a_call),
        cmocka_unit_test(test_begin_token_matters),
    };
    return cmocka_run_group_tests_name("chat_hard", tests, NULL, NULL);
}
