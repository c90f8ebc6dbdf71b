/* Streaming an answer through glim_next: whole characters, limits, ends, stop strings. The model's
 * words are random; what is checked is how they arrive. */
#include "edit_gguf.h"

#include "run_model.h"

#define MODEL "test/data/llama.gguf"

enum { MAX_TEXT = 1 << 16 };

struct answer_text {
    char text[MAX_TEXT];
    size_t n;
    u32 pieces;
    enum glim_end end;
};

/* Length of the well-formed UTF-8 character at p, 0 if there is none in n bytes. */
static size_t character(const u8 *p, size_t n) {
    u32 more = p[0] < 0x80                   ? 0
               : p[0] >= 0xc2 && p[0] < 0xe0 ? 1
               : p[0] >= 0xe0 && p[0] < 0xf0 ? 2
                                             : 3;
    if (p[0] >= 0x80 && (p[0] < 0xc2 || p[0] > 0xf4)) return 0;
    if (n < 1 + more) return 0;
    for (u32 i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
    }
    return 1 + more;
}

/* Takes a whole answer; every piece must be whole characters. */
static void take(struct run *r, struct answer_text *a) {
    *a = (struct answer_text){0};
    for (;;) {
        const char *text;
        size_t len;
        int rc = glim_next(r->session, &text, &len);
        if (rc == GLIM_AGAIN) continue;
        if (rc == GLIM_DONE) break;
        run_ok(r, rc);
        assert_true(len > 0); /* or it would be GLIM_AGAIN */
        for (size_t at = 0; at < len;) {
            size_t c = character((const u8 *)text + at, len - at);
            if (c == 0) fail_test("piece %u breaks a character at %zu", a->pieces, at);
            at += c;
        }
        assert_true(a->n + len < MAX_TEXT);
        memcpy(a->text + a->n, text, len);
        a->n += len;
        a->pieces++;
    }
    a->end = glim_end_reason(r->session);
    const char *text;
    size_t len;
    assert_int_equal(glim_next(r->session, &text, &len), GLIM_DONE); /* and stays so */
    assert_int_equal(len, 0);
}

static void ask(struct run *r, const glim_generation *gen, struct answer_text *a) {
    run_ok(r, glim_rewind(r->session, 0));
    run_ok(r, glim_set_generation(r->session, gen));
    run_ok(r, glim_prompt(r->session, "What the wind said: ", 20, 0));
    assert_int_equal(glim_end_reason(r->session), GLIM_END_NONE);
    take(r, a);
}

static const glim_session_params params = {.n_ctx = 200, .n_batch = 32};

static glim_generation free_talk(u64 seed, u32 max_tokens) {
    glim_generation gen = glim_generation_default();
    gen.temp = 1.5f;
    gen.top_k = 0;
    gen.top_p = 1;
    gen.min_p = 0;
    gen.seed = seed;
    gen.max_tokens = max_tokens;
    return gen;
}

/* The pieces joined are the tokens' bytes joined, with what is no UTF-8 replaced. */
static void test_text_is_the_tokens(void **state) {
    (void)state;
    static struct answer_text a;
    struct run r;
    run_open(&r, MODEL, 2, NULL, &params);
    u32 broken = 0;
    for (u64 seed = 0; seed < 30; seed++) {
        glim_generation gen = free_talk(seed, 60);
        char joined[MAX_TEXT], replaced[MAX_TEXT];
        size_t n = 0, m = 0, n_tokens, prompt;
        run_ok(&r, glim_rewind(r.session, 0));
        run_ok(&r, glim_prompt(r.session, "What the wind said: ", 20, 0));
        glim_tokens(r.session, &prompt);
        ask(&r, &gen, &a);
        const i32 *ids = glim_tokens(r.session, &n_tokens);
        assert_true(n_tokens <= prompt + 60);
        for (size_t i = prompt; i < n_tokens; i++) {
            size_t len;
            const char *piece = glim_token_text(r.model, ids[i], &len);
            assert_non_null(piece);
            if (ids[i] < 5) continue; /* control tokens: no text */
            memcpy(joined + n, piece, len);
            n += len;
        }
        for (size_t i = 0; i < n;) { /* what is broken is counted, and compared up to there */
            size_t c = character((const u8 *)joined + i, n - i);
            if (c == 0) break;
            memcpy(replaced + m, joined + i, c);
            m += c, i += c;
        }
        broken += m < n;
        assert_true(a.n >= m);
        assert_memory_equal(a.text, replaced, m);
        if (m == n) assert_int_equal(a.n, n);
    }
    assert_true(broken > 0); /* random bytes often are no UTF-8 */
    run_close(&r);
}

static void test_limits(void **state) {
    (void)state;
    static struct answer_text a;
    static const u32 limits[] = {1, 2, 7, 50};
    struct run r;
    run_open(&r, MODEL, 1, NULL, &params);
    size_t prompt, n;
    u32 by_limit = 0, by_token = 0;
    run_ok(&r, glim_prompt(r.session, "What the wind said: ", 20, 0));
    glim_tokens(r.session, &prompt);
    for (u64 seed = 0; seed < 12; seed++) {
        u32 limit = limits[seed % COUNT(limits)];
        glim_generation gen = free_talk(seed, limit);
        ask(&r, &gen, &a);
        glim_tokens(r.session, &n);
        by_limit += a.end == GLIM_END_LIMIT;
        by_token += a.end == GLIM_END_TOKEN;
        if (a.end == GLIM_END_LIMIT)
            assert_int_equal(n - prompt, limit);
        else
            assert_true(n - prompt < limit);
    }
    assert_int_equal(by_limit + by_token, 12);
    assert_true(by_limit > 0);
    /* No limit but the context's. */
    u32 by_context = 0;
    for (u64 seed = 0; seed < 12; seed++) {
        glim_generation gen = free_talk(seed, 0);
        ask(&r, &gen, &a);
        glim_tokens(r.session, &n);
        by_context += a.end == GLIM_END_CONTEXT;
        if (a.end == GLIM_END_CONTEXT) assert_int_equal(n, params.n_ctx);
        assert_true(a.end == GLIM_END_CONTEXT || a.end == GLIM_END_TOKEN);
    }
    assert_true(by_context > 0);
    run_close(&r);
}

/* The end token stops the answer, gives no text and is not queued. */
static void test_end_token(void **state) {
    (void)state;
    static struct answer_text a, whole;
    struct run r;
    run_open(&r, MODEL, 1, NULL, &params);
    glim_generation gen = free_talk(3, 20);
    gen.temp = 0;
    size_t prompt, n;
    run_ok(&r, glim_prompt(r.session, "What the wind said: ", 20, 0));
    glim_tokens(r.session, &prompt);
    ask(&r, &gen, &whole);
    const i32 *ids = glim_tokens(r.session, &n);
    i32 last = ids[n - 1];
    u32 first = 0; /* where that token came up first */
    while (ids[prompt + first] != last)
        first++;
    run_close(&r);
    struct edit e = {.key = "tokenizer.ggml.eos_token_id", .as = EDIT_U32, .u = (u32)last};
    struct temp t = edit_gguf(MODEL, &e, 1);
    run_open(&r, t.path, 1, NULL, &params);
    assert_true(glim_token_is_end(r.model, last));
    ask(&r, &gen, &a);
    assert_int_equal(a.end, GLIM_END_TOKEN);
    glim_tokens(r.session, &n);
    assert_int_equal(n, prompt + first);
    assert_true(a.n <= whole.n);
    assert_memory_equal(a.text, whole.text, a.n);
    run_close(&r);
    temp_remove(&t);
}

/* Any piece of the answer as a stop string: the answer is cut right before its first occurrence. */
static void test_stop_strings(void **state) {
    (void)state;
    static struct answer_text a, whole;
    struct run r;
    run_open(&r, MODEL, 1, NULL, &params);
    u32 tried = 0;
    for (u64 seed = 0; seed < 4; seed++) {
        glim_generation gen = free_talk(seed, 40);
        gen.temp = 0.7f;
        ask(&r, &gen, &whole);
        whole.text[whole.n] = 0;
        if (strlen(whole.text) != whole.n) continue; /* a zero byte cannot be in a stop string */
        for (size_t at = 0; at < whole.n; at += 1 + at / 3) {
            for (size_t len = 1; len <= 12 && at + len <= whole.n; len += 4) {
                char stop[16], other[] = "a string that does not come up at all";
                const char *stops[2] = {other, stop};
                size_t from = at, to = at + len; /* whole characters */
                while (from > 0 && ((u8)whole.text[from] & 0xc0) == 0x80)
                    from--;
                while (to < whole.n && ((u8)whole.text[to] & 0xc0) == 0x80)
                    to++;
                if (to - from >= sizeof stop) continue;
                memcpy(stop, whole.text + from, to - from);
                stop[to - from] = 0;
                gen.stops = stops;
                gen.n_stops = 2;
                ask(&r, &gen, &a);
                assert_int_equal(a.end, GLIM_END_STOP);
                size_t want = (size_t)(strstr(whole.text, stop) - whole.text);
                assert_int_equal(a.n, want);
                assert_memory_equal(a.text, whole.text, want);
                tried++;
            }
        }
    }
    assert_true(tried > 20);
    run_close(&r);
}

/* Events joined are the text, whatever family the template tells: the model's random words have no
 * marks. Stop strings, limits and a second answer are as without events. */
static void test_events_are_the_text(void **state) {
    (void)state;
    static const char *const templates[] = {"", "</tool_call>", "[TOOL_CALLS]", "<|python_tag|>",
                                            "<|tool_call>"};
    static struct answer_text a, b;
    for (size_t i = 0; i < COUNT(templates); i++) {
        struct edit e = {.key = "tokenizer.chat_template", .as = EDIT_STR, .s = templates[i]};
        struct temp t = edit_gguf(MODEL, &e, 1);
        struct run r;
        run_open(&r, t.path, 1, NULL, &params);
        for (u64 seed = 0; seed < 12; seed++) {
            glim_generation gen = free_talk(seed, 50);
            const char *stops[] = {"e"};
            gen.stops = stops;
            gen.n_stops = seed % 3 == 0;
            ask(&r, &gen, &a);
            run_ok(&r, glim_rewind(r.session, 0));
            run_ok(&r, glim_prompt(r.session, "What the wind said: ", 20, 0));
            b = (struct answer_text){0};
            glim_event ev;
            bool stopped = false;
            int rc;
            while ((rc = glim_next_event(r.session, &ev)) != GLIM_DONE) {
                if (rc == GLIM_AGAIN) continue;
                run_ok(&r, rc);
                assert_false(stopped);
                stopped = ev.kind == GLIM_EVENT_STOP;
                assert_true(stopped || ev.kind == GLIM_EVENT_TEXT);
                memcpy(b.text + b.n, ev.text, ev.len);
                b.n += ev.len;
            }
            assert_true(stopped);
            assert_int_equal(glim_end_reason(r.session), a.end);
            assert_int_equal(b.n, a.n);
            assert_memory_equal(b.text, a.text, a.n);
            assert_int_equal(glim_next_event(r.session, &ev), GLIM_DONE);
        }
        assert_int_equal(glim_next_event(r.session, NULL), GLIM_ARG);
        run_close(&r);
        temp_remove(&t);
    }
}

static void refused(struct run *r, const glim_generation *gen, const char *word) {
    assert_int_equal(glim_set_generation(r->session, gen), GLIM_ARG);
    if (!strstr(glim_session_error(r->session)->msg, word))
        fail_test("'%s' does not say '%s'", glim_session_error(r->session)->msg, word);
}

/* What is refused changes nothing: the answer after it is the same. */
static void test_refused_settings(void **state) {
    (void)state;
    static struct answer_text a, b;
    struct run r;
    run_open(&r, MODEL, 1, NULL, &params);
    glim_generation gen = free_talk(11, 30), bad;
    ask(&r, &gen, &a);
    run_ok(&r, glim_rewind(r.session, 0));
    bad = gen, bad.temp = NAN, refused(&r, &bad, "temp");
    bad = gen, bad.temp = -1, refused(&r, &bad, "temp");
    bad = gen, bad.top_p = NAN, refused(&r, &bad, "top_p");
    bad = gen, bad.min_p = 2, refused(&r, &bad, "min_p");
    bad = gen, bad.top_k = -1, refused(&r, &bad, "top_k");
    bad = gen, bad.repeat_penalty = 0, refused(&r, &bad, "repeat_penalty");
    bad = gen, bad.max_thought = -2, refused(&r, &bad, "max_thought");
    bad = gen, bad.seed = 5, bad.n_stops = 1, refused(&r, &bad, "stop string 0");
    const char *empty[] = {"x", ""};
    bad.stops = empty, bad.n_stops = 2, bad.max_tokens = 1, refused(&r, &bad, "stop");
    assert_int_equal(glim_set_generation(r.session, NULL), GLIM_ARG);
    run_ok(&r, glim_prompt(r.session, "What the wind said: ", 20, 0));
    take(&r, &b);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.text, b.text, a.n);
    assert_int_equal(a.end, b.end);
    run_close(&r);
}

/* Prompts that do not fit or are empty; a model without a vocabulary. */
static void test_bad_prompts(void **state) {
    (void)state;
    static struct answer_text a;
    struct run r;
    static char text[4000];
    size_t n;
    run_open(&r, MODEL, 1, NULL, &params);
    memset(text, 'q', sizeof text);
    assert_int_equal(glim_prompt(r.session, text, sizeof text, 0), GLIM_FULL);
    assert_non_null(strstr(glim_session_error(r.session)->msg, "200"));
    glim_tokens(r.session, &n);
    assert_int_equal(n, 0);
    assert_int_equal(glim_prompt(r.session, NULL, 1, 0), GLIM_ARG);
    glim_generation gen = free_talk(1, 3);
    ask(&r, &gen, &a); /* still works */
    run_ok(&r, glim_rewind(r.session, 0));
    run_ok(&r, glim_prompt(r.session, "", 0, 0)); /* begins with the begin token alone */
    glim_tokens(r.session, &n);
    assert_int_equal(n, 1);
    take(&r, &a);
    const glim_message hello = {"user", "hello"};
    assert_int_equal(glim_chat(r.session, &hello, 1), GLIM_UNSUPPORTED); /* no template */
    assert_int_equal(glim_chat(r.session, NULL, 0), GLIM_ARG);
    run_close(&r);

    struct edit e = {.key = "tokenizer.ggml.model", .as = EDIT_STR, .s = "word-of-mouth"};
    struct temp t = edit_gguf(MODEL, &e, 1);
    run_open(&r, t.path, 1, NULL, &params);
    const char *piece;
    i32 id = 3;
    assert_int_equal(glim_prompt(r.session, "x", 1, 0), GLIM_UNSUPPORTED);
    assert_non_null(strstr(glim_session_error(r.session)->msg, "word-of-mouth"));
    assert_int_equal(glim_next(r.session, &piece, &n), GLIM_UNSUPPORTED);
    glim_err err = {0};
    assert_int_equal(glim_tokenize(r.model, "x", 1, 0, NULL, 0, &err), GLIM_UNSUPPORTED);
    assert_null(glim_token_text(r.model, 3, &n));
    run_ok(&r, glim_set_generation(r.session, &gen)); /* ids work all the same */
    run_ok(&r, glim_feed(r.session, &id, 1, GLIM_LOGITS_LAST));
    run_ok(&r, glim_wait(r.session));
    run_ok(&r, glim_sample(r.session, &id));
    run_close(&r);
    temp_remove(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_is_the_tokens),  cmocka_unit_test(test_limits),
        cmocka_unit_test(test_end_token),           cmocka_unit_test(test_stop_strings),
        cmocka_unit_test(test_events_are_the_text), cmocka_unit_test(test_refused_settings),
        cmocka_unit_test(test_bad_prompts),
    };
    return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
