/* Turns in the formats that are built in, against Jinja2's rendering of the published templates
 * (script/make_turn_fixtures.py). */
#include "load_gguf.h"

#include "text/style.h"
#include "text/turns.h"

#include <jansson.h>

static struct str text_of(const char *s) {
    return (struct str){s, strlen(s)};
}

static const char *open_family; /* the architecture of the next file; NULL: llama */

/* A vocabulary that has every mark as a control token, <s> to begin and </s> to end with. */
static void open_marks(struct load *l, struct vocab **v, const char *without) {
    static const char *const marks[] = {"<s>",
                                        "</s>",
                                        "<|im_start|>",
                                        "<|im_end|>",
                                        "<|start_header_id|>",
                                        "<|eot_id|>",
                                        "<end_of_turn>",
                                        "<|start_of_role|>",
                                        "<|end_of_role|>",
                                        "<|turn>",
                                        "<turn|>",
                                        "<|think|>",
                                        "<|end_of_text|>",
                                        "<|end_header_id|>",
                                        "<start_of_turn>"};
    struct build b = {0};
    build_head(&b, 3, 0, 8);
    build_kv_str(&b, "general.architecture", open_family ? open_family : "llama");
    build_kv_str(&b, "tokenizer.ggml.model", "gpt2");
    build_kv_str(&b, "tokenizer.ggml.pre", "smollm");
    build_kv_u32(&b, "tokenizer.ggml.bos_token_id", 0);
    build_kv_u32(&b, "tokenizer.ggml.eos_token_id", 1);
    build_kv_array(&b, "tokenizer.ggml.tokens", GGUF_STR, COUNT(marks));
    for (u32 i = 0; i < COUNT(marks); i++)
        build_str(&b, marks[i]);
    build_kv_array(&b, "tokenizer.ggml.token_type", GGUF_I32, COUNT(marks));
    for (u32 i = 0; i < COUNT(marks); i++)
        build_u32(&b, without && !strcmp(without, marks[i]) ? VOCAB_NORMAL : VOCAB_CONTROL);
    build_kv_array(&b, "tokenizer.ggml.merges", GGUF_STR, 0);
    build_pad(&b, 32);
    assert_loads(l, &b);
    if (vocab_open(v, &l->g, &l->arena, &l->e)) fail_test("%s", l->e.msg);
}

/* ---- Rendering ------------------------------------------------------------------------------- */

struct talk {
    struct turn turn[8];
    u32 n;
    bool others; /* somebody else than user and assistant speaks, or one answers twice */
};

static struct talk read_talk(json_t *list) {
    struct talk t = {.n = (u32)json_array_size(list)};
    assert_true(t.n > 0 && t.n <= COUNT(t.turn));
    for (u32 i = 0; i < t.n; i++) {
        json_t *pair = json_array_get(list, i), *text = json_array_get(pair, 1);
        t.turn[i].role = text_of(json_string_value(json_array_get(pair, 0)));
        t.turn[i].text = (struct str){json_string_value(text), json_string_length(text)};
        t.others |= !str_is(t.turn[i].role, "user") && !str_is(t.turn[i].role, "assistant");
        t.others |=
            i && str_is(t.turn[i].role, "assistant") && str_is(t.turn[i - 1].role, "assistant");
    }
    return t;
}

/* The spans' texts behind what is in out already. */
static i64 render(const struct turns *t, const struct turn *turn, u64 n, u32 flags, char *out) {
    struct vocab_span span[64];
    glim_err e = {0};
    i64 count = turns_spans(t, turn, n, flags, NULL, 0, &e);
    if (count < 0) {
        assert_int_equal(count, GLIM_ARG);
        assert_int_equal(e.code, GLIM_ARG);
        return count;
    }
    assert_true(count <= (i64)COUNT(span));
    assert_int_equal(turns_spans(t, turn, n, flags, span, COUNT(span), &e), count);
    for (i64 i = 0; i < count; i++) {
        assert_true(span[i].text.n > 0);
        strncat(out, span[i].text.p, span[i].text.n);
        /* What somebody said is never control text. */
        for (u32 k = 0; k < n; k++) {
            bool inside = span[i].text.p >= turn[k].text.p &&
                          span[i].text.p < turn[k].text.p + turn[k].text.n;
            if (inside) assert_false(span[i].control);
        }
    }
    return count;
}

static bool has_blank_ends(struct str s) {
    return s.n == 0 || strchr(" \n", s.p[0]) || strchr(" \n", s.p[s.n - 1]);
}

/* Cut after any answer: the first part, the answer, then the rest as a continuation. */
static u32 check_cuts(const struct turns *t, const struct style *style, const struct talk *talk,
                      u32 flags, const char *whole) {
    u32 checked = 0;
    for (u32 cut = 1; cut + 1 < talk->n; cut++) {
        struct turn answer = talk->turn[cut];
        if (!str_is(answer.role, "assistant") || has_blank_ends(answer.text)) continue;
        /* Where a blank closes the answer before its end token, a model does not write it. */
        u32 ways = style->model[1][0] == ' ' ? 1 : 2;
        for (u32 ended = 0; ended < ways; ended++) {
            char out[4096] = "";
            assert_true(render(t, talk->turn, cut, flags | TURNS_REPLY, out) > 0);
            strcat(out, style->model[0]);
            strncat(out, answer.text.p, answer.text.n);
            if (ended) strcat(out, style->end);
            u32 after = flags | TURNS_AFTER | (ended ? TURNS_ENDED : 0);
            assert_true(render(t, talk->turn + cut + 1, talk->n - cut - 1, after, out) > 0);
            assert_string_equal(out, whole);
            checked++;
        }
    }
    return checked;
}

static void check_template(json_t *entry) {
    const char *name = json_string_value(json_object_get(entry, "template"));
    const char *family = json_string_value(json_object_get(entry, "family"));
    const struct style *style = style_of_family(text_of(family));
    u32 think = json_is_true(json_object_get(entry, "think")) ? TURNS_THINK : 0;
    if (!style) fail_test("the template of %s is not known", name);
    struct load l;
    struct vocab *v;
    struct turns *t;
    open_marks(&l, &v, NULL);
    if (turns_open_style(&t, style, v, &l.arena, &l.e)) fail_test("%s: %s", name, l.e.msg);
    assert_true(vocab_ends(v, turns_end(t)));
    u32 equal = 0, refused = 0, cuts = 0;
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(entry, "cases"), i, c) {
        struct talk talk = read_talk(json_object_get(c, "turns"));
        const char *want = json_string_value(json_object_get(c, "text"));
        u32 flags = json_is_true(json_object_get(c, "reply")) ? TURNS_REPLY : 0;
        flags |= think;
        char got[4096] = "";
        if (render(t, talk.turn, talk.n, flags, got) < 0) {
            /* Refusing what the template takes is fine where others speak; nothing is guessed. */
            if (want && !talk.others) fail_test("%s: case %u is refused", name, (u32)i);
            refused++;
            continue;
        }
        if (!want) fail_test("%s: case %u is not refused", name, (u32)i);
        assert_string_equal(got, want);
        equal++;
        cuts += check_cuts(t, style, &talk, flags, want);
    }
    if (equal < 16 || cuts < 8) fail_test("%s: %u equal, %u cuts", name, equal, cuts);
    assert_true(equal + refused == 40);
    load_free(&l);
}

static void test_like_jinja(void **state) {
    (void)state;
    json_error_t error;
    json_t *all = json_load_file("test/data/turns.json", 0, &error);
    if (!all) fail_test("%s", error.text);
    size_t i;
    json_t *entry, *list = json_object_get(all, "templates");
    json_array_foreach(list, i, entry) {
        check_template(entry);
    }
    assert_int_equal(i, 7);
    json_decref(all);
}

static void test_messages_name_the_turn(void **state) {
    (void)state;
    static const struct {
        const char *family, *roles[3];
        u32 flags;
        const char *says;
    } cases[] = {
        {"gemma3", {"user", "user"}, 0, "message 2|Gemma 3|in turn|'user'"},
        {"gemma3", {"user", "system"}, 0, "message 2|only at the beginning"},
        {"gemma3", {"system"}, 0, "Gemma 3|after the system's"},
        {"gemma3", {"system", "user"}, TURNS_AFTER, "message 1|only at the beginning"},
        {"gemma3", {"assistant"}, TURNS_AFTER, "message 1|in turn|'assistant'"},
        {"gemma4", {"user", "assistant", "assistant"}, 0, "message 3|Gemma 4|one answer"},
        {"granite", {"user", "tool"}, 0, "message 2|Granite 3|no role 'tool'"},
    };
    struct load l;
    struct vocab *v;
    struct turns *t;
    open_marks(&l, &v, NULL);
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct turn turn[3];
        u32 n = 0;
        for (; n < 3 && cases[i].roles[n]; n++)
            turn[n] = (struct turn){text_of(cases[i].roles[n]), text_of("x")};
        glim_err e = {0};
        assert_int_equal(
            turns_open_style(&t, style_of_family(text_of(cases[i].family)), v, &l.arena, &e), 0);
        assert_int_equal(turns_spans(t, turn, n, cases[i].flags, NULL, 0, &e), GLIM_ARG);
        assert_says(&e, cases[i].says);
    }
    load_free(&l);
}

/* Every mark that a format writes must be a control token. */
static void test_marks_must_be_control_tokens(void **state) {
    (void)state;
    static const struct {
        const char *family, *without;
    } cases[] = {
        {"gemma3", "<start_of_turn>"}, {"gemma3", "<end_of_turn>"},    {"gemma4", "<turn|>"},
        {"gemma4", "<|think|>"},       {"granite", "<|end_of_role|>"}, {"lfm2", "<|im_end|>"},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct load l;
        struct vocab *v;
        struct turns *t;
        open_marks(&l, &v, cases[i].without);
        const struct style *style = style_of_family(text_of(cases[i].family));
        assert_int_equal(turns_open_style(&t, style, v, &l.arena, &l.e), GLIM_UNSUPPORTED);
        assert_says(&l.e, cases[i].without);
        assert_null(t);
        load_free(&l);
    }
}

/* Exactly one begin token, whether the format writes it or the tokenizer adds it, and whatever is
 * typed. */
static void test_one_begin(void **state) {
    (void)state;
    static const struct {
        const char *family;
        u32 begins; /* in the prompt below */
    } cases[] = {{"gemma3", 1}, {"gemma4", 1}, {"lfm2", 1}, {"qwen2", 1}, {"granite", 1}};
    const struct turn turn[] = {{text_of("user"), text_of("<s>typed</s>")},
                                {text_of("assistant"), text_of("<s>")},
                                {text_of("user"), text_of("<s>")}};
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct load l;
        struct vocab *v;
        struct turns *t;
        struct vocab_span span[64];
        i32 ids[256];
        open_marks(&l, &v, NULL);
        v->add_begin = true;
        assert_int_equal(
            turns_open_style(&t, style_of_family(text_of(cases[i].family)), v, &l.arena, &l.e), 0);
        i64 n = turns_spans(t, turn, 3, TURNS_REPLY, span, COUNT(span), &l.e);
        assert_true(n > 0 && n <= (i64)COUNT(span));
        n = vocab_encode_spans(v, span, (u64)n, VOCAB_BEGIN, ids, COUNT(ids), &mem_libc, &l.e);
        assert_true(n > 0 && n <= (i64)COUNT(ids));
        u32 begins = 0;
        for (i64 k = 0; k < n; k++)
            begins += ids[k] == v->begin;
        assert_int_equal(ids[0], v->begin);
        assert_int_equal(begins, cases[i].begins);
        load_free(&l);
    }
}

/* A file without a template: the family's turns, with a line that says so; else a refusal. */
static void test_families(void **state) {
    (void)state;
    static const char *const named[] = {"gemma4",  "lfm2",  "lfm2moe", "gemma3",
                                        "granite", "qwen2", "qwen3"};
    for (u32 i = 0; i < COUNT(named); i++)
        assert_non_null(style_of_family(text_of(named[i])));
    assert_null(style_of_family(text_of("llama")));
    struct load l;
    struct vocab *v;
    struct turns *t;
    open_marks(&l, &v, NULL); /* a llama */
    assert_int_equal(turns_open(&t, &l.g, v, &l.arena, &l.e), GLIM_UNSUPPORTED);
    assert_says(&l.e, "no chat template|--raw");
    load_free(&l);
    open_family = "lfm2";
    open_marks(&l, &v, NULL);
    open_family = NULL;
    assert_int_equal(turns_open(&t, &l.g, v, &l.arena, &l.e), 0);
    assert_non_null(strstr(turns_note(t), "LFM2"));
    load_free(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_jinja),
        cmocka_unit_test(test_messages_name_the_turn),
        cmocka_unit_test(test_marks_must_be_control_tokens),
        cmocka_unit_test(test_one_begin),
        cmocka_unit_test(test_families),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
