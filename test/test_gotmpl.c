/* Ollama's templates against Ollama's own package: whole templates of its library, and the language
 * feature by feature (script/make_gotmpl_fixtures.py). */
#include "count_alloc.h"
#include "load_gguf.h"

#include "text/gotmpl.h"
#include "text/json.h"

#include <jansson.h>
#include <nettle/sha2.h>
#include <string.h>

enum { CLOCK = 1722002589 }; /* 2024-07-26 14:03:09 */

static struct str text_of(const char *s) {
    return (struct str){s, strlen(s)};
}

static json_t *load_cases(void) {
    json_error_t error;
    json_t *all = json_load_file("test/data/gotmpl.json", 0, &error);
    if (!all) fail_test("test/data/gotmpl.json: %s", error.text);
    return all;
}

static struct jval value_of(struct jmem *m, json_t *object) {
    char *text = json_dumps(object, JSON_COMPACT | JSON_ENCODE_ANY);
    struct jval v = json_parse(m, text_of(text));
    free(text);
    if (m->rc) fail_test("%s", m->e->msg);
    return v;
}

static struct gotmpl *open_template(struct arena *a, struct str text, glim_err *e) {
    struct gotmpl *t = NULL;
    arena_init(a, &mem_libc);
    int rc = gotmpl_open(&t, text, a, e);
    assert_true(rc == 0 ? t != NULL : t == NULL && e->code == rc);
    return t;
}

/* A rendering's text, or NULL and a message in e; to be freed. talk: messages, tools, think; NULL:
 * one message, "hi". */
static char *render(const struct gotmpl *t, json_t *talk, json_t *data, size_t *n, glim_err *e) {
    struct arena a;
    struct jmem m;
    struct jinja_result r;
    char *copy = NULL;
    arena_init(&a, &mem_libc);
    jmem_init(&m, &a, 64u << 20, 10000000, e);
    json_t *messages = talk ? json_incref(json_object_get(talk, "messages"))
                            : json_pack("[{s:s, s:s}]", "role", "user", "content", "hi");
    json_t *tools = json_object_get(talk, "tools");
    struct gotmpl_request q = {.messages = value_of(&m, messages), .now = CLOCK};
    if (tools) q.tools = value_of(&m, tools);
    q.more = value_of(&m, talk ? talk : data).d; /* of a talk: think */
    m.where = GOTMPL_NAME;
    if (gotmpl_render(t, &m, &q, &r) == 0) {
        copy = malloc(r.text.n + 1);
        assert_non_null(copy);
        memcpy(copy, r.text.p, r.text.n);
        copy[r.text.n] = 0;
        *n = r.text.n;
    } else {
        assert_int_equal(r.text.n, 0);
    }
    json_decref(messages);
    arena_free(&a);
    return copy;
}

static bool has_hash(const char *text, size_t n, const char *want) {
    struct sha256_ctx c;
    u8 hash[32];
    char hex[65];
    sha256_init(&c);
    sha256_update(&c, n, (const u8 *)text);
    sha256_digest(&c, sizeof hash, hash);
    for (u32 i = 0; i < sizeof hash; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    return strcmp(hex, want) == 0;
}

/* Whether a rendering is what Ollama made, which may be a failure; says where it is not. */
static bool is_like(const char *name, const char *got, size_t n, const glim_err *e, json_t *want) {
    const char *text = json_string_value(json_object_get(want, "text"));
    const char *hash = json_string_value(json_object_get(want, "sha256"));
    if (hash && got && has_hash(got, n, hash)) return true;
    if (!hash && !text && !got) return true;
    if (text && got && n == json_string_length(json_object_get(want, "text")) &&
        memcmp(got, text, n) == 0)
        return true;
    char *all = json_dumps(want, JSON_COMPACT);
    print_error("%.300s\n got: %.600s\nwant: %.600s\n", name, got ? got : e->msg, all);
    free(all);
    return false;
}

/* Where a template of one turn meets a tool's result Ollama leaves that out; here it is refused. */
static bool drops_messages(const struct gotmpl *t, json_t *talk) {
    json_t *message;
    size_t i;
    if (gotmpl_reads(t, "messages")) return false;
    json_array_foreach(json_object_get(talk, "messages"), i, message) {
        if (strcmp(json_string_value(json_object_get(message, "role")), "tool") == 0) return true;
    }
    return false;
}

/* A committed template, or one that somebody put into models/; NULL: not there. To be freed. */
static char *read_template(json_t *entry) {
    const char *name = json_string_value(json_object_get(entry, "name"));
    const char *text = json_string_value(json_object_get(entry, "text"));
    if (text) return strdup(text);
    char path[200];
    snprintf(path, sizeof path, "models/templates/%s.gotmpl", name);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *read = calloc(1, 1 << 16);
    assert_non_null(read);
    size_t n = fread(read, 1, (1 << 16) - 1, f);
    fclose(f);
    if (has_hash(read, n, json_string_value(json_object_get(entry, "sha256")))) return read;
    print_message("%s is another template of that name\n", path);
    free(read);
    return NULL;
}

static void test_library(void **state) {
    (void)state;
    json_t *all = load_cases(), *entry, *c;
    json_t *talks = json_object_get(all, "talks");
    size_t i, k, files = 0, equal = 0, refused = 0, wrong = 0;
    json_array_foreach(json_object_get(all, "templates"), i, entry) {
        const char *name = json_string_value(json_object_get(entry, "name"));
        struct arena a;
        glim_err e = {0};
        char *text = read_template(entry);
        if (!text) continue;
        files++;
        struct gotmpl *t = open_template(&a, text_of(text), &e);
        if (!t) fail_test("%s: %s", name, e.msg);
        json_array_foreach(json_object_get(entry, "cases"), k, c) {
            char label[200];
            size_t n = 0;
            json_t *talk = json_array_get(talks, k);
            e = (glim_err){0};
            char *got = render(t, talk, NULL, &n, &e);
            snprintf(label, sizeof label, "%s, conversation %zu", name, k);
            if (drops_messages(t, talk)) {
                if (got) fail_test("%s is rendered", label);
                assert_int_equal(e.code, GLIM_ARG);
                assert_says(&e, "role 'tool'");
                refused++;
            } else {
                bool like = is_like(label, got, n, &e, c);
                wrong += !like;
                equal += like;
            }
            free(got);
        }
        arena_free(&a);
        free(text);
    }
    print_message("%zu templates, %zu renderings equal, %zu refused; %zu templates are not here\n",
                  files, equal, refused, i - files);
    json_decref(all);
    assert_int_equal(wrong, 0);
    assert_true(files >= 60 && equal >= 800);
}

static void test_snippets(void **state) {
    (void)state;
    json_t *all = load_cases(), *c;
    size_t i, wrong = 0;
    json_array_foreach(json_object_get(all, "snippets"), i, c) {
        json_t *template = json_object_get(c, "template"), *number = json_object_get(c, "talk");
        json_t *talk = number ? json_array_get(json_object_get(all, "talks"),
                                               (size_t)json_integer_value(number))
                              : NULL;
        struct str text = {json_string_value(template), json_string_length(template)};
        struct arena a;
        glim_err e = {0};
        struct gotmpl *t = open_template(&a, text, &e);
        size_t n = 0;
        char *got = t ? render(t, talk, json_object_get(all, "data"), &n, &e) : NULL;
        wrong += !is_like(text.p, got, n, &e, c);
        free(got);
        arena_free(&a);
    }
    print_message("%zu snippets\n", i);
    json_decref(all);
    assert_int_equal(wrong, 0);
    assert_true(i >= 300);
}

/* What the program cannot do is said when the template is read, with line and name. */
static void test_load_errors(void **state) {
    (void)state;
    static const struct {
        const char *template, *says;
        int code;
    } cases[] = {
        {"a\n{{ nofunction 1 }}", "Ollama's template, line 2|no function 'nofunction'",
         GLIM_UNSUPPORTED},
        {"{{ .System | html }}", "line 1|no function 'html'", GLIM_UNSUPPORTED},
        {"a\n{{ range .Messages }}\n{{ .Contents }}{{ end }}",
         "line 3|no 'Contents' in a value of type *template.templateMessage", GLIM_UNSUPPORTED},
        {"{{ range $i, $m := .Messages }}{{ len $m.Contents }}{{ end }}", "no 'Contents'",
         GLIM_UNSUPPORTED},
        {"{{ (index .Messages 0).Rolle }}", "no 'Rolle'", GLIM_UNSUPPORTED},
        {"{{ with .System }}\n{{ end }}\n{{ .System.x }}",
         "line 3|no 'x' in a value of type string", GLIM_UNSUPPORTED},
        {"{{ if eq .System }}{{ end }}", "eq has 1 argument here", GLIM_FORMAT},
        {"{{ not 1 2 }}", "not has 2 arguments here", GLIM_FORMAT},
        {"{{ if .System }}", "line 1|{{end}} is missing before 'the end of the template'",
         GLIM_FORMAT},
        {"\n{{ end }}", "line 2|'end' closes nothing", GLIM_FORMAT},
        {"x\n{{ \"a", "line 2|a string has no end", GLIM_FORMAT},
        {"{{ .System", "an action has no end", GLIM_FORMAT},
        {"{{ (.System }}", "a ( has no )", GLIM_FORMAT},
        {"{{ .System) }}", "a ) closes nothing", GLIM_FORMAT},
        {"\n{{/* x", "line 2|a comment has no end", GLIM_FORMAT},
        {"{{ $x }}", "no variable $x", GLIM_FORMAT},
        {"{{ template \"x\" . }}", "no template 'x' is defined", GLIM_FORMAT},
        {"{{ break }}", "'break' outside of a loop", GLIM_FORMAT},
        {"{{ .System .Prompt | }}{{ if }}", "a value is missing for if", GLIM_FORMAT},
        {"{{ 1 | 2 }}", "behind a | must be a function", GLIM_FORMAT},
        {"{{ print \"a\"\"b\" }}", "}}, | or white space is missing before '\"b\"'", GLIM_FORMAT},
        {"{{ 99999999999999999999 }}", "'99999999999999999999' is no number here", GLIM_FORMAT},
        {"{{ \"\\q\" }}", "an escape that is none", GLIM_FORMAT},
        {"{{ .a-b }}", "cannot be part of a name", GLIM_FORMAT},
        {"{{ @ }}", "no meaning in an action", GLIM_FORMAT},
        {"{{ else if 1 }}", "'else' closes nothing", GLIM_FORMAT},
        {"{{ define \"a\" }}1{{ end }}{{ define \"a\" }}2{{ end }}", "'a' is defined twice",
         GLIM_FORMAT},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct arena a;
        glim_err e = {0};
        if (open_template(&a, text_of(cases[i].template), &e))
            fail_test("%s is read", cases[i].template);
        assert_int_equal(e.code, cases[i].code);
        assert_says(&e, cases[i].says);
        arena_free(&a);
    }
    /* Nesting is bounded where it is read. */
    static char deep[60000];
    static const char *const units[] = {"(", "{{ if 1 }}", "{{ range 1 }}{{ else }}",
                                        "{{ if 1 }}{{ else if 1 }}", "{{ block \"a\" 1 }}"};
    for (u32 i = 0; i < COUNT(units); i++) {
        struct arena a;
        glim_err e = {0};
        size_t n = strlen(units[i]), at = 0;
        if (units[i][0] != '{') at = (size_t)sprintf(deep, "{{ ");
        for (u32 k = 0; k < 2000; k++, at += n)
            memcpy(deep + at, units[i], n);
        deep[at] = 0;
        assert_null(open_template(&a, text_of(deep), &e));
        assert_int_equal(e.code, GLIM_FORMAT);
        assert_says(&e, "nested too deeply");
        arena_free(&a);
    }
}

/* What a conversation cannot have is said when it is rendered. */
static void test_refusals(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"{{ .Prompt }}\n{{ eq .D.b \"1\" }}", NULL,
         "line 2|incompatible types for comparison: float64 and string"},
        {"{{ .D.x.y }}", NULL, "there is no 'y' in nil"},
        {"{{ .D.a.y }}", NULL, "there is no 'y' in a value of type string"},
        {"{{ index .D.l 9 }}", NULL, "index 9 is out of range"},
        {"{{ .D.a .D.b }}", NULL, "something that is no function is given an argument"},
        {"{{ len .D.b }}", NULL, "len of a value of type float64"},
        {"{{ range .D.b }}{{ end }}", NULL, "range over a value of type float64"},
        {"{{ printf \"%d\" .D.a }}", NULL, "printf: %d does not fit a value of type string"},
        {"{{ printf \"%d\" }}", NULL, "printf: there is no value for %d"},
        {"{{ printf \"\" 1 }}", NULL, "printf: more values"},
        {"{{ . }}", NULL, "has no text"},
        {"{{ range 999999 }}{{ range 999999 }}{{ end }}{{ end }}", NULL, "too many steps"},
        {"{{ $x := \"xxxxxxxx\" }}{{ range 40 }}{{ $x = print $x $x }}{{ end }}", NULL,
         "MiB|line 1"},
        {"{{ define \"a\" }}{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}", NULL,
         "nested too deeply"},
        {"{{ printf \"%9999999d\" 1 }}", NULL, "printf: more than 1000000 characters"},
        {"{{ .Messages }}", "{\"messages\": [{\"role\": \"user\"}]}",
         "a list of messages has no text"},
        {"{{ len .Messages }}", "{\"messages\": [{\"role\": \"user\", \"content\": 7}]}",
         "content is of type int; text is due"},
        {"{{ len .Messages }}",
         "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"video\"}]}]}",
         "a part of type 'video'"},
        {"{{ len .Messages }}",
         "{\"messages\": [{\"role\": \"assistant\", \"tool_calls\": [{\"function\": {\"name\": "
         "\"f\", "
         "\"arguments\": \"{x\"}}]}]}",
         "arguments of a tool call, line 1: JSON"},
        {"{{ len .Messages }}", "{\"messages\": [{\"role\": \"assistant\", \"tool_calls\": [7]}]}",
         "a tool call is of type int; an object is due"},
        {"{{ len .Messages }}",
         "{\"messages\": [{\"role\": \"user\"}], \"tools\": [{\"function\": {\"parameters\": "
         "{\"properties\": {\"a\": 1}}}}]}",
         "a tool's parameter is of type int; an object is due"},
        {"{{ .Prompt }}", "{\"messages\": [{\"role\": \"user\"}, {\"role\": \"critic\"}]}",
         "message 2: a template of single turns has no place for the role 'critic'"},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct arena a;
        glim_err e = {0};
        size_t n;
        struct gotmpl *t = open_template(&a, text_of(cases[i][0]), &e);
        if (!t) fail_test("%s: %s", cases[i][0], e.msg);
        json_t *data = json_loads("{\"D\": {\"b\": 1, \"a\": \"x\", \"l\": []}}", 0, NULL);
        json_t *talk = cases[i][1] ? json_loads(cases[i][1], 0, NULL) : NULL;
        char *got = render(t, talk, data, &n, &e);
        if (got) fail_test("%s is rendered", cases[i][0]);
        assert_true(e.code == GLIM_ARG || e.code == GLIM_UNSUPPORTED || e.code == GLIM_FORMAT);
        assert_says(&e, cases[i][2]);
        json_decref(data);
        json_decref(talk);
        arena_free(&a);
    }
}

/* What OpenAI's clients send becomes what Ollama has: parts of content, arguments as text, names of
 * tools by the ids of calls, reasoning. */
static void test_other_shapes(void **state) {
    (void)state;
    static const char talk[] =
        "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"a\"}, "
        "{\"type\": \"image_url\", \"image_url\": {\"url\": \"data:\"}}, {\"type\": \"text\", "
        "\"text\": \"b\"}]}, {\"role\": \"assistant\", \"content\": null, \"reasoning_content\": "
        "\"hm\", \"tool_calls\": [{\"id\": \"c1\", \"index\": 4, \"type\": \"function\", "
        "\"function\": {\"name\": \"f\", \"arguments\": \"{\\\"x\\\": [1]}\"}}]}, {\"role\": "
        "\"tool\", \"tool_call_id\": \"c1\", \"content\": \"r\"}, {\"role\": \"tool\", \"name\": "
        "\"g\", \"content\": \"s\"}], \"reasoning_effort\": \"low\"}";
    static const char template[] =
        "{{ range .Messages }}{{ .Role }}:{{ .Content }}|{{ .Thinking }}|{{ .ToolName }}|"
        "{{ range .ToolCalls }}{{ .ID }} {{ .Function.Index }} {{ .Function.Name }} "
        "{{ .Function.Arguments }}{{ end }};{{ end }}{{ .Think }} {{ .ThinkLevel }} {{ currentDate "
        "}} "
        "{{ yesterdayDate }}";
    struct arena a;
    glim_err e = {0};
    size_t n;
    struct gotmpl *t = open_template(&a, text_of(template), &e);
    if (!t) fail_test("%s", e.msg);
    json_t *with = json_loads(talk, 0, NULL);
    char *got = render(t, with, NULL, &n, &e);
    if (!got) fail_test("%s", e.msg);
    assert_string_equal(got, "user:[img-0]ab|||;assistant:|hm||c1 4 f {\"x\":[1]};tool:r||f|;"
                             "tool:s||g|;true low 2024-07-26 2024-07-25");
    free(got);
    json_decref(with);
    arena_free(&a);
}

/* A thought that the prompt has opened ends in the answer; what only mentions the marks is text. */
static void test_thoughts(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"Hm.</think>\n1", "Hm.|1"},
        {"1 is <think> and </think>", "|1 is <think> and </think>"},
        {"<think>not ended", "not ended|"},
        {"<think></think>", "|"},
        {" 1 ", "| 1 "},
    };
    struct arena a;
    glim_err e = {0};
    struct gotmpl *t = open_template(
        &a, text_of("{{ range .Messages }}{{ .Thinking }}|{{ .Content }}{{ end }}"), &e);
    if (!t) fail_test("%s", e.msg);
    for (u32 i = 0; i < COUNT(cases); i++) {
        size_t n;
        json_t *talk =
            json_pack("{s:[{s:s, s:s}]}", "messages", "role", "assistant", "content", cases[i][0]);
        char *got = render(t, talk, NULL, &n, &e);
        if (!got) fail_test("%s", e.msg);
        assert_string_equal(got, cases[i][1]);
        free(got);
        json_decref(talk);
    }
    arena_free(&a);
}

/* Who wrote what: t for the template's bytes, c for content. */
static void test_marks(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"ab{{ .Prompt }}d{{ .Response }}", "ttcct"},
        {"{{ print \"<\" .Prompt \">\" }}{{ .Response }}", "tcct"},
        {"{{ printf \"<%s|%q>\" .Prompt .Prompt }}{{ .Response }}", "tccttcctt"},
        {"{{ json .Prompt }}{{ .Response }}", "tcct"},
        {"{{ slice .Prompt 1 }}{{ $x := .Prompt }}{{ $x }}{{ .Response }}", "ccc"},
        {"{{ printf \"%4s\" .Prompt }}{{ .Response }}", "ttcc"},
        {"{{ len .Prompt }}{{ or .System .Prompt }}{{ .Response }}", "tcc"},
        {"{{ .D }}{{ .Response }}", "ttttctcctcttctt"},
        {"{{ json .D }}{{ .Response }}", "ttctttccccccctttcttttcttt"},
        {"{{ range $k, $v := .D }}{{ $k }}{{ end }}{{ .Response }}", "cc"},
        {"{{ range .Messages }}<{{ .Role }}>{{ .Content }}{{ end }}", "ttttttcc"},
        {"{{ range .Messages }}{{ json . }}{{ end }}", NULL},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct arena a, ra;
        glim_err e = {0};
        struct jmem m;
        struct jinja_result r;
        struct gotmpl *t = open_template(&a, text_of(cases[i][0]), &e);
        if (!t) fail_test("%s", e.msg);
        arena_init(&ra, &mem_libc);
        jmem_init(&m, &ra, 1u << 20, 10000, &e);
        struct gotmpl_request q = {
            .messages = json_parse(&m, text_of("[{\"role\": \"user\", \"content\": \"xy\"}]")),
            .more = json_parse(&m, text_of("{\"D\": {\"k\": \"<z\", \"l\": [\"q\"]}}")).d};
        assert_int_equal(m.rc, 0);
        jdict_set(&m, q.messages.l->v[0].d, jval_text(&m, "role", true),
                  jval_text(&m, "user", true));
        if (gotmpl_render(t, &m, &q, &r)) fail_test("%s: %s", cases[i][0], e.msg);
        char got[200];
        assert_true(r.text.n < sizeof got);
        for (size_t k = 0; k < r.text.n; k++)
            got[k] = (r.marks ? r.marks[k] : r.ours) ? 't' : 'c';
        got[r.text.n] = 0;
        if (cases[i][1] && strcmp(got, cases[i][1]) != 0)
            fail_test("%s gives %.*s, %s", cases[i][0], STR(r.text), got);
        arena_free(&ra);
        arena_free(&a);
    }
}

/* Every allocation made to fail, one after the other: an error, and nothing is lost. */
static void test_no_memory(void **state) {
    (void)state;
    static const char template[] =
        "{{ define \"a\" }}{{ printf \"%s-%5d\" . 3 }}{{ end }}{{ $n := 0 }}{{ .System }}"
        "{{ range $i, $m := .Messages }}{{ $n = $i }}{{ .Role }}{{ template \"a\" .Content }}"
        "{{ range .ToolCalls }}{{ .Function.Arguments }}{{ . }}{{ end }}{{ json . }}"
        "{{ len (slice $.Messages $i) }}{{ end }}{{ .Tools }}{{ range .Tools }}"
        "{{ range $k, $v := .Function.Parameters.Properties }}{{ toTypeScriptType $v }}{{ end }}"
        "{{ end }}{{ currentDate }}";
    static const char talk[] =
        "{\"m\": [{\"role\": \"system\", \"content\": \"s\"}, {\"role\": \"user\", \"content\": "
        "\"hi [img]\", \"images\": [\"AA\"]}, {\"role\": \"user\", \"content\": \"more\"}, "
        "{\"role\": "
        "\"assistant\", \"tool_calls\": [{\"function\": {\"name\": \"f\", \"arguments\": "
        "\"{}\"}}]}], \"t\": [{\"type\": \"function\", \"function\": {\"name\": \"f\", "
        "\"parameters\": {\"properties\": {\"b\": {\"type\": [\"null\", \"string\"]}, \"a\": "
        "{\"anyOf\": [{}], \"properties\": {}}}}}}]}";
    struct count_alloc c;
    u64 calls = 0;
    for (u64 at = 0; at == 0 || at <= calls; at++) {
        struct arena a, ra;
        glim_err e = {0};
        struct jmem m;
        struct jinja_result r;
        struct gotmpl *t;
        count_alloc_init(&c);
        c.fail_at = at;
        arena_init(&a, &c.alloc);
        arena_init(&ra, &c.alloc);
        int rc = gotmpl_open(&t, text_of(template), &a, &e);
        jmem_init(&m, &ra, 1u << 24, 100000, &e);
        if (rc == 0) {
            struct jval v = json_parse(&m, text_of(talk));
            struct gotmpl_request q = {.now = CLOCK};
            if (!m.rc) q.messages = *jdict_find(v.d, "m");
            if (!m.rc) q.tools = *jdict_find(v.d, "t");
            rc = m.rc ? m.rc : gotmpl_render(t, &m, &q, &r);
        }
        if (at == 0) {
            if (rc) fail_test("%s", e.msg);
            calls = c.calls;
        } else {
            assert_int_equal(rc, GLIM_NOMEM);
        }
        arena_free(&ra);
        arena_free(&a);
        assert_int_equal(c.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library),      cmocka_unit_test(test_snippets),
        cmocka_unit_test(test_load_errors),  cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_other_shapes), cmocka_unit_test(test_thoughts),
        cmocka_unit_test(test_marks),        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
