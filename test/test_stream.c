/* Answers into events: samples of each family, whole, cut everywhere, cut short, and with memory
 * running out. Expected events are written by hand from the families' published formats. */
#include "unit.h"

#include "count_alloc.h"
#include "stream_rig.h"

#include <jansson.h>

#include "stream_samples.h"

static void check_log(const struct stream_log *l, const struct stream_sample *x, const char *want,
                      const char *how) {
    if (l->broken) fail_test("%s (%s): events out of order:\n%s", x->name, how, l->p);
    if (strcmp(l->p, want) != 0)
        fail_test("%s (%s):\n---- events\n%s\n---- expected\n%s", x->name, how, l->p, want);
}

static struct stream_log run_sample(struct stream *s, const struct stream_sample *x, u32 flags,
                                    size_t n, stream_cut *cut, void *ud) {
    s->n_calls = 0;
    s->tools = &stream_rig_tools;
    return stream_run(s, flags, (struct str){x->answer, n}, cut, ud);
}

static void test_samples(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(stream_samples); i++) {
        const struct stream_sample *x = &stream_samples[i];
        struct stream s;
        stream_open(&s, x->family, x->spelled, &mem_libc);
        struct stream_log l = run_sample(&s, x, x->flags, strlen(x->answer), NULL, NULL);
        assert_int_equal(l.rc, GLIM_DONE);
        check_log(&l, x, x->want, "one piece");
        free(l.p);
        stream_close(&s);
    }
}

/* Every way to cut an answer in two, single bytes, and random pieces; streaming or whole calls; the
 * answer complete, and ended anywhere. */
static void test_any_pieces(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(stream_samples); i++) {
        const struct stream_sample *x = &stream_samples[i];
        struct stream s;
        stream_open(&s, x->family, x->spelled, &mem_libc);
        size_t length = strlen(x->answer);
        for (u32 whole = 0; whole < 2; whole++) {
            u32 flags = x->flags | (whole ? STREAM_WHOLE : 0u);
            struct stream_log one = run_sample(&s, x, flags, length, NULL, NULL);
            if (whole) assert_int_equal(one.drops, 0);
            for (size_t at = 1; at < length; at++) {
                struct stream_log l = run_sample(&s, x, flags, length, stream_cut_once, &at);
                check_log(&l, x, one.p, "cut in two");
                free(l.p);
            }
            for (u64 seed = 1; seed <= 50; seed++) {
                u64 random = seed;
                struct stream_log l = run_sample(&s, x, flags, length, stream_cut_random, &random);
                check_log(&l, x, one.p, "random pieces");
                free(l.p);
            }
            free(one.p);
            for (size_t n = 0; n <= length; n++) {
                struct stream_log a = run_sample(&s, x, flags, n, NULL, NULL);
                struct stream_log b = run_sample(&s, x, flags, n, stream_cut_bytes, NULL);
                assert_int_equal(a.rc, GLIM_DONE);
                check_log(&b, x, a.p, "cut short");
                free(a.p);
                free(b.p);
            }
        }
        stream_close(&s);
    }
}

/* Arguments are JSON objects, by another program's reading. */
static void test_args_are_json(void **state) {
    (void)state;
    u32 n = 0;
    for (size_t i = 0; i < COUNT(stream_samples); i++) {
        const struct stream_sample *x = &stream_samples[i];
        for (const char *p = x->want, *end; p; p = end ? end + 1 : NULL) {
            end = strchr(p, '\n');
            if (strncmp(p, "args ", 5) != 0 || !end || strncmp(end, "\nend", 4) != 0) continue;
            json_error_t e;
            json_t *v = json_loadb(p + 5, (size_t)(end - p - 5),
                                   JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &e);
            if (!v) fail_test("%s: %s", x->name, e.text);
            assert_true(json_is_object(v));
            json_decref(v);
            n++;
        }
    }
    assert_true(n > 40);
}

/* Each allocation fails in turn: a status, nothing lost, and the parser works for the next answer.
 */
static void test_no_memory(void **state) {
    (void)state;
    u32 refused = 0;
    for (size_t i = 0; i < COUNT(stream_samples); i++) {
        const struct stream_sample *x = &stream_samples[i];
        for (u64 at = 1;; at++) {
            struct count_alloc c;
            struct stream s;
            count_alloc_init(&c);
            c.fail_at = at;
            c.once = true;
            stream_open(&s, x->family, x->spelled, &c.alloc);
            struct stream_log l =
                run_sample(&s, x, x->flags, strlen(x->answer), stream_cut_bytes, NULL);
            bool met = c.calls >= at;
            if (met) assert_int_equal(l.rc, GLIM_NOMEM);
            if (met) refused++;
            free(l.p);
            l = run_sample(&s, x, x->flags, strlen(x->answer), stream_cut_bytes, NULL);
            check_log(&l, x, x->want, "after running out of memory");
            free(l.p);
            stream_close(&s);
            assert_int_equal(c.live, 0);
            if (!met) break;
        }
    }
    assert_true(refused > 50);
}

/* Text and thoughts take no memory; a call that does not end takes a bounded amount. */
static void test_bounded(void **state) {
    (void)state;
    static char text[1 << 16];
    struct count_alloc c;
    struct stream s;
    count_alloc_init(&c);
    stream_open(&s, STREAM_HERMES, 0, &c.alloc);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "a <b\t  "[i % 7];
    struct str in = {text, sizeof text};
    struct stream_log l = stream_run(&s, 0, in, NULL, NULL);
    assert_int_equal(l.n, strlen("text ") + sizeof text + strlen("\nstop"));
    assert_memory_equal(l.p + 5, text, sizeof text);
    assert_int_equal(c.calls, 0);
    free(l.p);

    s.limit = 5000;
    memset(text, '\003', sizeof text); /* six bytes each in JSON */
    static const char head[] = "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"";
    memcpy(text, head, strlen(head));
    l = stream_run(&s, 0, in, NULL, NULL);
    assert_int_equal(l.drops, 1);
    assert_non_null(strstr(l.p, "too long"));
    const char *raw = strstr(l.p, "\ntext ");
    assert_non_null(raw);
    assert_memory_equal(raw + 6, text, sizeof text); /* all of it is there */
    assert_true(c.peak < 40 * s.limit);
    free(l.p);
    stream_close(&s);
    assert_int_equal(c.live, 0);

    /* Code goes on without end, and without memory. */
    stream_open(&s, STREAM_LLAMA, 0, &c.alloc);
    c.peak = 0;
    stream_reset(&s, 0);
    struct str mark = {"<|python_tag|>", 14};
    l = (struct stream_log){.last = -1};
    stream_log_drain(&l, &s, &mark, true);
    memset(text, 'x', sizeof text);
    for (u32 i = 0; i < 40; i++) {
        for (size_t at = 0; at < sizeof text; at += 512) {
            in = (struct str){text + at, 512};
            stream_log_drain(&l, &s, &in, false);
        }
    }
    assert_true(c.peak < 1 << 15);
    assert_true(l.n > 40 * sizeof text);
    free(l.p);
    stream_close(&s);
}

/* Ids are unique over a session's answers. */
static void test_ids(void **state) {
    (void)state;
    struct stream s;
    static const char answer[] = "<tool_call>{\"name\":\"f\"}</tool_call>";
    stream_open(&s, STREAM_HERMES, 0, &mem_libc);
    for (u32 i = 1; i < 4; i++) {
        char want[64];
        snprintf(want, sizeof want, "call f call%05u\nargs {}\nend\nstop", i);
        struct stream_log l = stream_run(&s, 0, (struct str){answer, strlen(answer)}, NULL, NULL);
        assert_string_equal(l.p, want);
        free(l.p);
    }
    stream_close(&s);
}

static struct str text_of(const char *s) {
    return (struct str){s, strlen(s)};
}

static void test_family(void **state) {
    (void)state;
    static const struct {
        const char *template, *architecture;
        enum stream_family family;
    } cases[] = {
        {"{{ '<|tool_call>call:' + name + '{' }}", "gemma4", STREAM_GEMMA4},
        {"", "gemma4", STREAM_GEMMA4},
        {"{{ '<start_of_turn>' }}", "gemma3", STREAM_PLAIN},
        {"List of tools: <|tool_list_start|>[", "lfm2", STREAM_LFM2},
        {"{{- '<|tool_call_start|>[' }} <think>", "lfm2moe", STREAM_LFM2},
        {"<tool_call>\n{\"name\": <function-name>}\n</tool_call>", "qwen2", STREAM_HERMES},
        {"<tool_call>\n{\"name\": <function-name>}\n</tool_call>", "granite", STREAM_HERMES},
        {"'assistant_tool_call' <|tool_call|>", "granite", STREAM_GRANITE},
        {"", "granite", STREAM_GRANITE},
        {"Environment: ipython", "llama", STREAM_LLAMA},
        {"<|start_header_id|>", "llama", STREAM_PLAIN},
        {"{{- '[TOOL_CALLS] [' }}", "llama", STREAM_MISTRAL},
        {"content.split('</think>')", "qwen2", STREAM_THINK},
        {"<|im_start|>", "llama", STREAM_PLAIN},
        {"", "", STREAM_PLAIN},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        enum stream_family family =
            stream_family_of(text_of(cases[i].template), text_of(cases[i].architecture));
        if (family != cases[i].family)
            fail_test("'%s' of %s is taken for %s", cases[i].template, cases[i].architecture,
                      stream_styles[family].name);
    }
    assert_true(stream_opens_thought(STREAM_HERMES, text_of("<|im_start|>assistant\n<think>\n")));
    assert_false(stream_opens_thought(STREAM_HERMES, text_of("<think>\n\n</think>\n\n")));
    assert_false(stream_opens_thought(STREAM_PLAIN, text_of("<think>\n")));
    assert_true(stream_opens_thought(STREAM_GEMMA4, text_of("<|turn>model\n<|channel>thought\n")));
    assert_false(stream_opens_thought(STREAM_GEMMA4, text_of("<|channel>thought\n<channel|>")));
    assert_false(stream_opens_thought(STREAM_GEMMA4, text_of("a thought")));
    assert_false(stream_opens_thought(STREAM_GEMMA4, text_of("")));
    assert_true(
        stream_opens_thought(STREAM_HARMONY, text_of("assistant<|channel|>analysis<|message|>")));
    assert_false(
        stream_opens_thought(STREAM_HARMONY, text_of("assistant<|channel|>final<|message|>")));
    assert_false(stream_opens_thought(STREAM_HARMONY, text_of("<|start|>assistant")));
    assert_false(stream_opens_thought(STREAM_HARMONY, text_of("<|message|>")));
}

static bool has_text(const void *ud, struct str mark) {
    return ud && str_is(mark, ud);
}

/* What closes a thought: a mark that the vocabulary has before one that is spelled out; and read
 * back, it does. */
static void test_close(void **state) {
    (void)state;
    static const struct {
        enum stream_family family;
        const char *has, *close;
    } cases[] = {
        {STREAM_PLAIN, NULL, ""},
        {STREAM_THINK, NULL, "\n</think>\n\n"},
        {STREAM_HERMES, "</think>", "\n</think>\n\n"},
        {STREAM_GEMMA4, "<channel|>", "<channel|>"},
        {STREAM_GEMMA4, NULL, ""},
        {STREAM_MISTRAL, "[/THINK]", "[/THINK]"},
        {STREAM_MISTRAL, NULL, "\n</think>\n\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[STREAM_CLOSE_BYTES];
        stream_thought_close(cases[i].family, has_text, cases[i].has, text);
        assert_string_equal(text, cases[i].close);
    }
    for (u32 family = 0; family < STREAM_FAMILIES; family++) {
        struct stream s;
        glim_event event;
        glim_err e = {0};
        char text[STREAM_CLOSE_BYTES];
        stream_thought_close(family, has_text, NULL, text);
        stream_open(&s, family, 0, &mem_libc);
        stream_reset(&s, STREAM_THOUGHT);
        struct str in = text_of(text), so = text_of("so");
        while (stream_next(&s, &so, false, &event, &e) != GLIM_AGAIN)
            ;
        assert_true(stream_in_thought(&s));
        while (stream_next(&s, &in, false, &event, &e) != GLIM_AGAIN)
            ;
        assert_int_equal(stream_in_thought(&s), !*text);
        stream_close(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),       cmocka_unit_test(test_any_pieces),
        cmocka_unit_test(test_args_are_json), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_bounded),       cmocka_unit_test(test_ids),
        cmocka_unit_test(test_family),        cmocka_unit_test(test_close),
    };
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
