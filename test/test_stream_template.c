/* What published chat templates write for an assistant's tool calls, read back: the families that
 * they are taken for, and the calls, arguments and types as they were. */
#include "unit.h"

#include "stream_rig.h"

#include "text/declared.h"
#include "text/jinja.h"
#include "text/json.h"

#include <jansson.h>

static const char tools_json[] =
    "[{\"type\": \"function\", \"function\": {\"name\": \"get_weather\", \"description\": \"d\","
    "  \"parameters\": {\"type\": \"object\", \"properties\": {"
    "    \"place\": {\"type\": \"string\", \"description\": \"d\"},"
    "    \"days\": {\"type\": \"integer\", \"description\": \"d\"},"
    "    \"ok\": {\"type\": \"boolean\", \"description\": \"d\"},"
    "    \"list\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}, \"description\": "
    "\"d\"},"
    "    \"o\": {\"type\": \"object\", \"properties\": {}, \"description\": \"d\"}},"
    "    \"required\": [\"place\"]}}},"
    " {\"type\": \"function\", \"function\": {\"name\": \"nothing\", \"description\": \"d\","
    "  \"parameters\": {\"type\": \"object\", \"properties\": {}}}}]";

static const char arguments_json[] =
    "{\"place\": \"it's \\\"M\xc3\xbc\\\"\\n </p> {x} <tool_call> ```\", \"days\": -3, \"ok\": "
    "true,"
    " \"list\": [\"a\", \"it's\", 1], \"o\": {\"k\": {\"x\": [null, 2.5]}}}";

enum shape {
    NO_CALLS, /* the template writes none */
    TWO,
    ONE, /* one call a turn */
};

static const struct {
    const char *name;
    enum stream_family family;
    enum shape shape;
    const char *begins; /* what the assistant's calls begin with */
} templates[] = {
    {"deepseek-r1-0528", STREAM_DEEPSEEK, TWO, "<｜tool▁calls▁begin｜>"},
    {"deepseek-r1-distill", STREAM_DEEPSEEK, NO_CALLS, ""}, /* where there is content only */
    {"deepseek-v3", STREAM_DEEPSEEK, TWO, "<｜tool▁calls▁begin｜>"},
    {"deepseek-v3.1", STREAM_DEEPSEEK, TWO, "<｜tool▁calls▁begin｜>"},
    {"deepseek-v3.2", STREAM_DEEPSEEK, TWO, "<｜tool▁calls▁begin｜>"},
    {"devstral", STREAM_MISTRAL, TWO, "[TOOL_CALLS]"},
    {"gemma-4", STREAM_GEMMA4, TWO, "<|tool_call>"},
    {"gemma-4-first", STREAM_GEMMA4, NO_CALLS, ""}, /* null is written as None */
    {"glm-4-0414", STREAM_PLAIN, NO_CALLS, ""},
    {"glm-4-moe", STREAM_GLM, TWO, "<tool_call>"},
    {"glm-4.6", STREAM_GLM, TWO, "<tool_call>"},
    {"glm-4.7-flash", STREAM_GLM, TWO, "<tool_call>"},
    {"gpt-oss", STREAM_HARMONY, ONE, "<|start|>assistant to="},
    {"granite-3.1", STREAM_GRANITE, NO_CALLS, ""},
    {"granite-3.3", STREAM_GRANITE, NO_CALLS, ""},
    {"granite-4.0", STREAM_HERMES, TWO, "<tool_call>"},
    {"granite-4.1", STREAM_HERMES, TWO, "<tool_call>"},
    {"idefics3", STREAM_PLAIN, NO_CALLS, ""},
    {"internlm3", STREAM_PLAIN, NO_CALLS, ""},
    {"minicpm-4", STREAM_PLAIN, NO_CALLS, ""},
    {"minicpm-5", STREAM_MINICPM, TWO, "<function name=\"get"},
    {"minimax-m2", STREAM_MINIMAX, TWO, "<minimax:tool_call>"},
    {"ministral-3", STREAM_MISTRAL, TWO, "[TOOL_CALLS]"},
    {"mistral-0.1", STREAM_PLAIN, NO_CALLS, ""},
    {"mistral-0.3", STREAM_MISTRAL, TWO, "[TOOL_CALLS]"},
    {"mistral-nemo", STREAM_MISTRAL, TWO, "[TOOL_CALLS]"},
    {"mistral-small-3.2", STREAM_MISTRAL, TWO, "[TOOL_CALLS]"},
    {"phi-3", STREAM_PLAIN, NO_CALLS, ""},
    {"phi-3.5", STREAM_PLAIN, NO_CALLS, ""},
    {"phi-4", STREAM_THINK, NO_CALLS, ""},
    {"phi-4-mini", STREAM_PHI, NO_CALLS, ""},
    {"qwen2", STREAM_HERMES, NO_CALLS, ""}, /* its calls lack quotes and a mark */
    {"qwen2-vl", STREAM_PLAIN, NO_CALLS, ""},
    {"qwen2.5-coder", STREAM_HERMES, TWO, "<tool_call>"},
    {"qwen2.5-instruct", STREAM_HERMES, TWO, "<tool_call>"},
    {"qwen2.5-vl", STREAM_PLAIN, NO_CALLS, ""},
    {"qwen3", STREAM_HERMES, TWO, "<tool_call>"},
    {"qwen3-2507", STREAM_HERMES, TWO, "<tool_call>"},
    {"qwen3-coder", STREAM_QWEN_XML, TWO, "<tool_call>"},
    {"qwen3-next-thinking", STREAM_HERMES, TWO, "<tool_call>"},
    {"qwen3-omni", STREAM_HERMES, TWO, "<tool_call>"},
    {"qwen3-vl", STREAM_HERMES, TWO, "<tool_call>"},
    {"qwen3.5", STREAM_QWEN_XML, TWO, "<tool_call>"},
    {"qwq", STREAM_HERMES, TWO, "<tool_call>"},
    {"seed-oss", STREAM_SEED, TWO, "<seed:tool_call>"},
    {"smollm2", STREAM_PLAIN, NO_CALLS, ""},
    {"smolvlm", STREAM_PLAIN, NO_CALLS, ""},
    {"yi-1.5", STREAM_PLAIN, NO_CALLS, ""},
};

static struct str str_of(const char *s) {
    return (struct str){s, strlen(s)};
}

static struct str read_template(struct arena *a, const char *name) {
    char path[200];
    snprintf(path, sizeof path, "test/data/templates/%s.jinja", name);
    FILE *f = fopen(path, "rb");
    if (!f) fail_test("%s: cannot open", path);
    char *text = arena_get(a, 1 << 17);
    assert_non_null(text);
    size_t n = fread(text, 1, 1 << 17, f);
    fclose(f);
    assert_true(n > 0 && n < 1 << 17);
    return (struct str){text, n};
}

static json_t *call_of(const char *id, const char *name, const char *arguments, bool as_text) {
    json_t *value = as_text ? json_string(arguments) : json_loads(arguments, 0, NULL);
    return json_pack("{s:s,s:s,s:{s:s,s:o}}", "id", id, "type", "function", "function", "name",
                     name, "arguments", value);
}

/* A conversation whose assistant calls; some templates want arguments as text. To be freed. */
static char *conversation(enum shape shape, bool as_text) {
    json_t *calls = json_array();
    json_array_append_new(calls, call_of("call00001", "get_weather", arguments_json, as_text));
    if (shape == TWO) json_array_append_new(calls, call_of("call00002", "nothing", "{}", as_text));
    json_t *all = json_pack("{s:[{s:s,s:s},{s:s,s:s,s:o}],s:o,s:s,s:s}", "messages", "role", "user",
                            "content", "QQQ", "role", "assistant", "content", "", "tool_calls",
                            calls, "tools", json_loads(tools_json, 0, NULL), "bos_token", "<s>",
                            "eos_token", "</s>");
    char *text = json_dumps(all, 0);
    json_decref(all);
    return text;
}

/* What the template makes of it, in the arena; empty where it refuses. */
static struct str render(const struct jinja *j, struct jmem *m, const char *conversation_json) {
    struct jinja_result r;
    struct jval v = json_parse(m, str_of(conversation_json));
    if (m->rc) fail_test("%s", m->e->msg);
    m->line = 0;
    if (jinja_render(j, m, v.d, (struct jinja_clock){0}, &r) < 0) return (struct str){"", 0};
    return r.text;
}

static void check_args(const char *template, const char *line, const char *want) {
    const char *end = strchr(line, '\n');
    json_error_t e;
    json_t *a = json_loadb(line, end ? (size_t)(end - line) : strlen(line), 0, &e);
    json_t *b = json_loads(want, 0, NULL);
    if (!a || !json_equal(a, b)) fail_test("%s: arguments %s\nare not %s", template, line, want);
    json_decref(a);
    json_decref(b);
}

static void check_events(const char *template, enum shape shape, const char *events) {
    const char *first = strstr(events, "call get_weather "),
               *second = strstr(events, "call nothing ");
    const char *args = first ? strstr(first, "\nargs ") : NULL;
    if (!args || strstr(events, "note a malformed") || strstr(events, "drop\n") ||
        (shape == TWO) != (second != NULL))
        fail_test("%s: its calls are read as\n%s", template, events);
    check_args(template, args + strlen("\nargs "), arguments_json);
    if (second) check_args(template, strstr(second, "\nargs ") + strlen("\nargs "), "{}");
}

static void check_calls(size_t i, struct str template) {
    struct arena a;
    struct jmem m;
    glim_err e = {0};
    struct jinja *j;
    struct str text = {"", 0};
    arena_init(&a, &mem_libc);
    if (jinja_open(&j, template, &a, &e) < 0) fail_test("%s: %s", templates[i].name, e.msg);
    for (u32 as_text = 0; as_text < 2 && !text.n; as_text++) {
        char *json = conversation(templates[i].shape, as_text != 0);
        jmem_init(&m, &a, 64u << 20, 1u << 22, &e);
        text = render(j, &m, json);
        free(json);
    }
    if (!text.n) fail_test("%s: %s", templates[i].name, e.msg);
    const char *said = memmem(text.p, text.n, "QQQ", 3);
    assert_non_null(said);
    size_t left = text.n - (size_t)(said - text.p);
    const char *begins = memmem(said, left, templates[i].begins, strlen(templates[i].begins));
    if (!begins) fail_test("%s: no call in %.*s", templates[i].name, (int)left, said);
    struct str answer = {begins, text.n - (size_t)(begins - text.p)};

    jmem_init(&m, &a, 64u << 20, 1u << 22, &e);
    struct jval tools = json_parse(&m, str_of(tools_json));
    struct stream_tools declared = declared_tools(&tools);
    struct stream s;
    stream_open(&s, templates[i].family, ~0u, &mem_libc);
    s.tools = &declared;
    struct stream_log l = stream_run(&s, STREAM_TOOLS, answer, stream_cut_bytes, NULL);
    assert_false(l.broken);
    check_events(templates[i].name, templates[i].shape, l.p);
    free(l.p);
    stream_close(&s);
    arena_free(&a);
}

static void test_published(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(templates); i++) {
        struct arena a;
        arena_init(&a, &mem_libc);
        struct str template = read_template(&a, templates[i].name);
        enum stream_family family = stream_family_of(template, str_of("llama"));
        if (family != templates[i].family)
            fail_test("%s is taken for %s, not %s", templates[i].name, stream_styles[family].name,
                      stream_styles[templates[i].family].name);
        if (templates[i].shape != NO_CALLS) check_calls(i, template);
        arena_free(&a);
    }
}

/* Prompts, as Jinja2 renders them, that end in an opened thought. */
static void test_opened_thoughts(void **state) {
    (void)state;
    static const char *const opening[] = {"deepseek-r1-distill",
                                          "deepseek-v3",
                                          "glm-4.7-flash",
                                          "minimax-m2",
                                          "qwen3-next-thinking",
                                          "qwen3.5",
                                          "qwq"};
    json_error_t error;
    json_t *all = json_load_file("test/data/templates.json", 0, &error), *entry;
    if (!all) fail_test("%s", error.text);
    size_t at, opened = 0, checked = 0;
    json_array_foreach(json_object_get(all, "templates"), at, entry) {
        const char *name = json_string_value(json_object_get(entry, "name"));
        json_t *first = json_array_get(json_object_get(entry, "cases"), 0);
        const char *prompt = json_string_value(json_object_get(first, "text"));
        for (size_t i = 0; prompt && i < COUNT(templates); i++) {
            if (strcmp(templates[i].name, name) != 0) continue;
            bool want = false;
            for (size_t k = 0; k < COUNT(opening); k++)
                want |= strcmp(opening[k], name) == 0;
            if (stream_opens_thought(templates[i].family, str_of(prompt)) != want)
                fail_test("%s: a thought should %sbe open", name, want ? "" : "not ");
            opened += want;
            checked++;
        }
    }
    assert_int_equal(opened, COUNT(opening));
    assert_true(checked > 35);
    json_decref(all);
}

/* Ollama's templates say less, but where they write calls it is in the family's marks. */
static void test_of_ollama(void **state) {
    (void)state;
    static const struct {
        const char *name;
        enum stream_family family;
    } known[] = {
        {"deepseek-r1-latest", STREAM_THINK},  {"deepseek-v3.1-latest", STREAM_DEEPSEEK},
        {"devstral-latest", STREAM_MISTRAL},   {"granite3.3-2b", STREAM_GRANITE},
        {"granite4-latest", STREAM_HERMES},    {"phi4-mini-3.8b", STREAM_PHI},
        {"qwen2.5-coder-1.5b", STREAM_HERMES}, {"qwq-32b", STREAM_HERMES},
        {"command-r", STREAM_PLAIN}, /* Action: [{"tool_name": ..}] in words alone */
    };
    json_error_t error;
    json_t *all = json_load_file("test/data/gotmpl.json", 0, &error), *entry;
    if (!all) fail_test("%s", error.text);
    size_t i, met = 0;
    json_array_foreach(json_object_get(all, "templates"), i, entry) {
        const char *name = json_string_value(json_object_get(entry, "name"));
        json_t *text = json_object_get(entry, "text");
        if (!text) continue; /* kept by hash */
        struct str template = {json_string_value(text), json_string_length(text)};
        enum stream_family family = stream_family_of(template, str_of("llama"));
        bool listed = false;
        for (size_t k = 0; k < COUNT(known); k++) {
            if (strcmp(known[k].name, name) != 0) continue;
            listed = true;
            met++;
            if (family != known[k].family)
                fail_test("%s is taken for %s", name, stream_styles[family].name);
        }
        if (!listed && memmem(template.p, template.n, ".ToolCalls", 10) && family == STREAM_PLAIN)
            fail_test("%s writes calls, but is taken for no family", name);
    }
    assert_int_equal(met, COUNT(known));
    json_decref(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_opened_thoughts),
        cmocka_unit_test(test_of_ollama),
    };
    return cmocka_run_group_tests_name("stream_template", tests, NULL, NULL);
}
