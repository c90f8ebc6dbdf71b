/* The types of tools' arguments, as their declarations have them. */
#include "unit.h"

#include "text/declared.h"
#include "text/json.h"

#include <string.h>

static struct str str_of(const char *s) {
    return (struct str){s, strlen(s)};
}

static const char tools_json[] =
    "[{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"type\": "
    "\"object\","
    "  \"$defs\": {\"Size\": {\"type\": \"object\"}, \"Loop\": {\"$ref\": \"#/$defs/Loop\"},"
    "              \"Colour\": {\"enum\": [\"red\", \"green\"]}},"
    "  \"properties\": {"
    "    \"text\": {\"type\": \"string\"}, \"count\": {\"type\": \"integer\"},"
    "    \"ratio\": {\"type\": \"number\", \"nullable\": true}, \"flag\": {\"type\": \"boolean\"},"
    "    \"either\": {\"type\": [\"string\", \"null\"]},"
    "    \"union\": {\"anyOf\": [{\"type\": \"array\"}, {\"$ref\": \"#/$defs/Size\"}, {\"type\": "
    "\"null\"}]},"
    "    \"size\": {\"$ref\": \"#/$defs/Size\"}, \"colour\": {\"allOf\": [{\"$ref\": "
    "\"#/$defs/Colour\"}]},"
    "    \"loop\": {\"$ref\": \"#/$defs/Loop\"}, \"lost\": {\"$ref\": \"#/$defs/Nobody\"},"
    "    \"away\": {\"$ref\": \"https://x\"}, \"one\": {\"enum\": [1, null]}, \"only\": "
    "{\"const\": true},"
    "    \"open\": {\"properties\": {}}, \"many\": {\"items\": {}}, \"any\": {}, \"odd\": 7,"
    "    \"strange\": {\"type\": \"date\"}, \"python\": {\"type\": \"dict\"}}}}},"
    " {\"name\": \"g\", \"input_schema\": {\"properties\": {\"a\": {\"type\": \"array\"}}}},"
    " {\"name\": \"bad\", \"parameters\": []}, 5, {}]";

static const struct {
    const char *tool, *argument;
    u32 types;
} cases[] = {
    {"f", "text", TYPE_STRING},
    {"f", "count", TYPE_NUMBER},
    {"f", "ratio", TYPE_NUMBER | TYPE_NULL},
    {"f", "flag", TYPE_BOOL},
    {"f", "either", TYPE_STRING | TYPE_NULL},
    {"f", "union", TYPE_ARRAY | TYPE_OBJECT | TYPE_NULL},
    {"f", "size", TYPE_OBJECT},
    {"f", "colour", TYPE_STRING},
    {"f", "loop", 0},
    {"f", "lost", 0},
    {"f", "away", 0},
    {"f", "one", TYPE_NUMBER | TYPE_NULL},
    {"f", "only", TYPE_BOOL},
    {"f", "open", TYPE_OBJECT},
    {"f", "many", TYPE_ARRAY},
    {"f", "any", 0},
    {"f", "odd", 0},
    {"f", "strange", 0},
    {"f", "python", TYPE_OBJECT},
    {"f", "nothing", 0},
    {"f", "tex", 0},
    {"g", "a", TYPE_ARRAY},
    {"bad", "a", 0},
    {"h", "text", 0},
};

static void test_types(void **state) {
    (void)state;
    struct arena a;
    struct jmem m;
    glim_err e = {0};
    arena_init(&a, &mem_libc);
    jmem_init(&m, &a, 1 << 20, 1 << 20, &e);
    struct jval tools = json_parse(&m, str_of(tools_json));
    if (m.rc) fail_test("%s", e.msg);
    struct stream_tools t = declared_tools(&tools);
    for (size_t i = 0; i < COUNT(cases); i++) {
        u32 types = t.types(t.ud, str_of(cases[i].tool), str_of(cases[i].argument));
        if (types != cases[i].types)
            fail_test("%s.%s: types %u, not %u", cases[i].tool, cases[i].argument, types,
                      cases[i].types);
    }
    assert_true(t.knows(t.ud, str_of("f")));
    assert_true(t.knows(t.ud, str_of("bad")));
    assert_false(t.knows(t.ud, str_of("h")));
    assert_false(t.knows(t.ud, str_of("")));
    arena_free(&a);
}

/* A schema that refers to itself a hundred times over does not take for ever. */
static void test_itself(void **state) {
    (void)state;
    static char json[8192];
    struct arena a;
    struct jmem m;
    glim_err e = {0};
    size_t n = (size_t)snprintf(json, sizeof json,
                                "[{\"name\": \"f\", \"parameters\": {\"properties\": {\"a\": "
                                "{\"anyOf\": [{\"type\": \"null\"}");
    for (u32 i = 0; i < 100; i++)
        n += (size_t)snprintf(json + n, sizeof json - n, ", {\"$ref\": \"#/properties/a\"}");
    snprintf(json + n, sizeof json - n, "]}}}}]");
    arena_init(&a, &mem_libc);
    jmem_init(&m, &a, 1 << 20, 1 << 20, &e);
    struct jval tools = json_parse(&m, str_of(json));
    if (m.rc) fail_test("%s", e.msg);
    struct stream_tools t = declared_tools(&tools);
    assert_int_equal(t.types(t.ud, str_of("f"), str_of("a")), TYPE_NULL);
    arena_free(&a);
}

/* No list: nothing is known. */
static void test_nothing(void **state) {
    (void)state;
    struct jval none[] = {jval_undefined(), jval_none(), jval_int(3)};
    for (size_t i = 0; i < COUNT(none); i++) {
        struct stream_tools t = declared_tools(&none[i]);
        assert_false(t.knows(t.ud, str_of("f")));
        assert_int_equal(t.types(t.ud, str_of("f"), str_of("a")), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_itself),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests_name("declared", tests, NULL, NULL);
}
