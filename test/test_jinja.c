/* The template interpreter against Jinja2: whole chat templates of published models, and small ones
 * feature by feature (script/make_template_fixtures.py). */
#include "count_alloc.h"
#include "load_gguf.h"

#include "text/jinja.h"
#include "text/json.h"

#include <jansson.h>
#include <nettle/sha2.h>
#include <string.h>

enum { CLOCK = 1722002589 }; /* 2024-07-26 14:03:09 */

static struct str text_of(const char *s) {
    return (struct str){s, strlen(s)};
}

static json_t *load(const char *path) {
    json_error_t error;
    json_t *all = json_load_file(path, 0, &error);
    if (!all) fail_test("%s: %s", path, error.text);
    return all;
}

/* A JSON object as the variables of a rendering. */
static const struct jdict *variables_of(struct jmem *m, json_t *object) {
    char *text = json_dumps(object, JSON_COMPACT | JSON_ENCODE_ANY);
    struct jval v = json_parse(m, text_of(text));
    free(text);
    if (v.kind != JVAL_DICT) fail_test("%s", m->e->msg);
    m->line = 0;
    m->where = "chat template";
    return v.d;
}

/* A rendering's text, or NULL and a message in e; to be freed. */
static char *render(const struct jinja *j, json_t *with, size_t *n, glim_err *e) {
    struct arena a;
    struct jmem m;
    struct jinja_result r;
    char *copy = NULL;
    arena_init(&a, &mem_libc);
    jmem_init(&m, &a, 64u << 20, 10000000, e);
    if (jinja_render(j, &m, variables_of(&m, with), (struct jinja_clock){CLOCK}, &r) == 0) {
        copy = malloc(r.text.n + 1);
        assert_non_null(copy);
        memcpy(copy, r.text.p, r.text.n);
        copy[r.text.n] = 0;
        *n = r.text.n;
    }
    arena_free(&a);
    return copy;
}

/* Whether a rendering is what Jinja2 made, which may be a failure; says where it is not. */
static bool is_like(const char *name, const char *got, size_t n, const glim_err *e, json_t *want) {
    const char *text = json_string_value(want);
    if (!text && !got) return true;
    if (!text || !got) {
        const char *why = json_string_value(json_object_get(want, "error"));
        print_error("%s: %s, but Jinja2 %s\n", name, got ? "rendered" : e->msg,
                    text  ? "renders it"
                    : why ? why
                          : "does not load it");
        return false;
    }
    size_t want_n = json_string_length(want), i = 0;
    while (i < n && i < want_n && got[i] == text[i])
        i++;
    if (i == n && i == want_n) return true;
    size_t from = i > 60 ? i - 60 : 0;
    print_error("%s: differs at byte %zu:\n got: ...%.100s\nwant: ...%.100s\n", name, i, got + from,
                text + from);
    return false;
}

/* A committed template, or one that somebody put into models/; NULL: not there. */
static char *read_template(json_t *entry, size_t *n) {
    const char *name = json_string_value(json_object_get(entry, "name"));
    bool committed = json_is_true(json_object_get(entry, "file"));
    char path[200];
    snprintf(path, sizeof path, "%s/%s.jinja",
             committed ? "test/data/templates" : "models/templates", name);
    FILE *f = fopen(path, "rb");
    if (!f && committed) fail_test("%s: cannot open", path);
    if (!f) return NULL;
    char *text = malloc(1 << 17);
    assert_non_null(text);
    *n = fread(text, 1, (1 << 17) - 1, f);
    fclose(f);
    if (committed) return text;
    struct sha256_ctx c;
    u8 hash[32];
    char hex[65];
    sha256_init(&c);
    sha256_update(&c, *n, (const u8 *)text);
    sha256_digest(&c, sizeof hash, hash);
    for (u32 i = 0; i < sizeof hash; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    if (strcmp(hex, json_string_value(json_object_get(entry, "sha256"))) == 0) return text;
    print_message("%s is another template of that name\n", path);
    free(text);
    return NULL;
}

static struct jinja *open_template(struct arena *a, struct str text, glim_err *e) {
    struct jinja *j = NULL;
    arena_init(a, &mem_libc);
    int rc = jinja_open(&j, text, a, e);
    assert_true(rc == 0 ? j != NULL : j == NULL && e->code == rc);
    return j;
}

static void test_published(void **state) {
    (void)state;
    json_t *all = load("test/data/templates.json"), *entry, *c;
    json_t *talks = json_object_get(all, "talks");
    size_t i, k, files = 0, equal = 0, wrong = 0, absent = 0;
    json_array_foreach(json_object_get(all, "templates"), i, entry) {
        const char *name = json_string_value(json_object_get(entry, "name"));
        size_t size;
        char *text = read_template(entry, &size);
        if (!text) {
            absent++;
            continue;
        }
        struct arena a;
        glim_err e = {0};
        struct jinja *j = open_template(&a, (struct str){text, size}, &e);
        if (!j) {
            print_error("%s: %s\n", name, e.msg);
            wrong++;
        }
        json_array_foreach(json_object_get(entry, "cases"), k, c) {
            if (!j) break;
            char label[200];
            json_t *with = json_deep_copy(json_array_get(talks, k));
            json_object_set_new(with, "bos_token", json_string("<s>"));
            json_object_set_new(with, "eos_token", json_string("</s>"));
            size_t n = 0;
            e = (glim_err){0};
            char *got = render(j, with, &n, &e);
            snprintf(label, sizeof label, "%s, conversation %zu", name, k);
            bool like = is_like(label, got, n, &e, json_object_get(c, "text"));
            wrong += !like;
            equal += like && got;
            free(got);
            json_decref(with);
        }
        files++;
        arena_free(&a);
        free(text);
    }
    json_decref(all);
    print_message("%zu templates, %zu renderings equal; %zu templates are not here\n", files, equal,
                  absent);
    assert_int_equal(wrong, 0);
    assert_true(files >= 30 && equal >= 300);
}

static void test_snippets(void **state) {
    (void)state;
    json_t *all = load("test/data/snippets.json"), *c;
    size_t i, wrong = 0;
    json_array_foreach(json_object_get(all, "snippets"), i, c) {
        json_t *template = json_object_get(c, "template"), *want = json_object_get(c, "text");
        struct str text = {json_string_value(template), json_string_length(template)};
        struct arena a;
        glim_err e = {0};
        struct jinja *j = open_template(&a, text, &e);
        size_t n = 0;
        char *got = j ? render(j, json_object_get(c, "with"), &n, &e) : NULL;
        wrong += !is_like(text.p, got, n, &e, want);
        free(got);
        arena_free(&a);
    }
    print_message("%zu snippets\n", i);
    json_decref(all);
    assert_int_equal(wrong, 0);
    assert_true(i >= 300);
}

/* What the program cannot do is said when the template is read, with line and name. */
static void test_unknown_names(void **state) {
    (void)state;
    static const struct {
        const char *template, *says;
        int code;
    } cases[] = {
        {"a\n{{ x | nofilter }}", "line 2|no filter 'nofilter'", GLIM_UNSUPPORTED},
        {"{{ x is\nnotest }}", "line 2|no test 'notest'", GLIM_UNSUPPORTED},
        {"\n\n{{ nofunction(1) }}", "line 3|no function 'nofunction'", GLIM_UNSUPPORTED},
        {"{% if false %}\n{{ x.nomethod() }}{% endif %}", "line 2|no method 'nomethod'",
         GLIM_UNSUPPORTED},
        {"{% include 'x' %}", "line 1|tag 'include'", GLIM_UNSUPPORTED},
        {"{% for a in b recursive %}{% endfor %}", "recursive", GLIM_UNSUPPORTED},
        {"{{ 99999999999999999999 }}", "too large", GLIM_UNSUPPORTED},
        {"{% if a %}", "line 1|missing", GLIM_FORMAT},
        {"x\n{{ 'a", "line 2|a string has no end", GLIM_FORMAT},
        {"{{ a b }}", "}}|'b'", GLIM_FORMAT},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct arena a;
        glim_err e = {0};
        assert_null(open_template(&a, text_of(cases[i].template), &e));
        assert_int_equal(e.code, cases[i].code);
        assert_says(&e, cases[i].says);
        arena_free(&a);
    }
}

/* What a conversation cannot have is said when it is rendered, with the line. */
static void test_refusals(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"a\n{{ raise_exception('Only ' ~ 'users') }}", "line 2|refuses|Only users"},
        {"{{ nothing.x }}", "'nothing' is undefined"},
        {"{% set l = range(90000) %}{% for i in range(999) %}{{ 'x' if -1 in l }}{% endfor %}",
         "too many steps"},
        {"{% set x = 'x' * 65536 %}{{ (x ~ x) * 600 }}", "MiB|line 1"},
        {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nested too deeply"},
        {"{% set n = namespace(l=[]) %}{% for i in range(999) %}{% set n.l = [n.l] %}{% endfor %}",
         "nested too deeply"},
        {"{{ 'a' + 1 }}", "'str' and 'int'"},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct arena a;
        glim_err e = {0};
        size_t n;
        struct jinja *j = open_template(&a, text_of(cases[i][0]), &e);
        if (!j) fail_test("%s", e.msg);
        json_t *none = json_object();
        char *got = render(j, none, &n, &e);
        json_decref(none);
        if (got) fail_test("%s is rendered", cases[i][0]);
        assert_int_equal(e.code, GLIM_ARG);
        assert_says(&e, cases[i][1]);
        arena_free(&a);
    }
    /* Nesting in the template itself is bounded where it is read. */
    static char deep[40000];
    static const char *const units[] = {"(", "[", "not ", "-", "{% if a %}", "{#", "a if ", "a["};
    for (u32 i = 0; i < COUNT(units); i++) {
        struct arena a;
        glim_err e = {0};
        size_t n = strlen(units[i]), at = 0;
        if (units[i][0] != '{') at = (size_t)sprintf(deep, "{{ ");
        for (u32 k = 0; k < 3000; k++, at += n)
            memcpy(deep + at, units[i], n);
        deep[at] = 0;
        assert_null(open_template(&a, text_of(deep), &e));
        arena_free(&a);
    }
}

/* Who wrote what: t for the template's bytes, c for content. */
static void test_marks(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"ab{{ c }}d", "ttcct"},
        {"{{ '<' + c + '>' }}", "tcct"},
        {"{{ (c ~ 'zz')[1:3] }}", "ct"},
        {"{{ ('<' ~ c)|upper }}", "tcc"},
        {"{{ c|replace('x', '<>') }}", "ttc"},
        {"{{ '-'.join([c, c]) }}", "cctcc"},
        {"{{ [c, 'a']|join(c) }}", "cccct"},
        {"{{ c|tojson }}", "tcct"},
        {"{{ '%s!' % c }}", "cct"},
        {"{{ '{}!'.format(c) }}", "cct"},
        {"{{ (c ~ '-x').split('-')[0] }}{{ (c ~ '-x').split('-')[1] }}", "cct"},
        {"{% set a %}<{{ c }}{% endset %}{{ a|trim }}", "tcc"},
        {"{% macro f(a) %}{{ a }}!{% endmacro %}{{ f(c) }}", "cct"},
        {"{{ (' ' ~ c ~ ' ')|trim }}", "cc"},
        {"{{ c[::-1] }}{{ c|reverse }}{{ c|indent(1, true) }}", "cccctcc"},
        {"{{ [c] }}", "ttcctt"},
        {"{{ 7 }}{{ c|length }}", "tt"},
        {"{{ c if c else 'no' }}{{ d.k }}{{ d|dictsort }}", "cccccctttcttttccccttt"},
    };
    for (u32 i = 0; i < COUNT(cases); i++) {
        struct arena a, ra;
        glim_err e = {0};
        struct jmem m;
        struct jinja_result r;
        struct jinja *j = open_template(&a, text_of(cases[i][0]), &e);
        if (!j) fail_test("%s", e.msg);
        arena_init(&ra, &mem_libc);
        jmem_init(&m, &ra, 1u << 20, 10000, &e);
        struct jval v = json_parse(&m, text_of("{\"c\": \"xy\", \"d\": {\"k\": \"wxyz\"}}"));
        assert_int_equal(v.kind, JVAL_DICT);
        if (jinja_render(j, &m, v.d, (struct jinja_clock){0}, &r)) fail_test("%s", e.msg);
        char got[100];
        assert_true(r.text.n < sizeof got);
        for (size_t k = 0; k < r.text.n; k++)
            got[k] = (r.marks ? r.marks[k] : r.ours) ? 't' : 'c';
        got[r.text.n] = 0;
        if (strcmp(got, cases[i][1]) != 0)
            fail_test("%s gives %.*s, %s", cases[i][0], STR(r.text), got);
        arena_free(&ra);
        arena_free(&a);
    }
}

/* Every allocation made to fail, one after the other: an error, and nothing is lost. */
static void test_no_memory(void **state) {
    (void)state;
    static const char template[] =
        "{% macro f(a, b='x') %}{{ a|upper }}{{ b }}{% endmacro %}"
        "{% set ns = namespace(l=[]) %}{% for m in messages %}{% set ns.l = ns.l + [m.role] %}"
        "{{ f(m.content, b=loop.index) }}{{ m|tojson(indent=2) }}{% endfor %}{{ ns.l|join(', ') }}"
        "{{ dict(a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8, i=9).items()|list }}";
    struct count_alloc c;
    u64 calls = 0;
    for (u64 at = 0; at == 0 || at <= calls; at++) {
        struct arena a, ra;
        glim_err e = {0};
        struct jmem m;
        struct jinja_result r;
        struct jinja *j;
        count_alloc_init(&c);
        c.fail_at = at;
        arena_init(&a, &c.alloc);
        arena_init(&ra, &c.alloc);
        int rc = jinja_open(&j, text_of(template), &a, &e);
        jmem_init(&m, &ra, 1u << 24, 100000, &e);
        if (rc == 0) {
            struct jval v = json_parse(&m, text_of("{\"messages\": [{\"role\": \"u\", "
                                                   "\"content\": \"hi\"}]}"));
            rc = m.rc ? m.rc : jinja_render(j, &m, v.d, (struct jinja_clock){0}, &r);
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
        cmocka_unit_test(test_published),     cmocka_unit_test(test_snippets),
        cmocka_unit_test(test_unknown_names), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_marks),         cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
