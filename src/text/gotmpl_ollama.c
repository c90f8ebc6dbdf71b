/* What Ollama hands to its templates: the fields that its types have, and conversations read into
 * them. What these types have no place for, no template of Ollama's can see. */
#include "text/gotmpl_value.h"

#include <stdio.h>
#include <string.h>

#include "text/jinja_call.h"
#include "text/json.h"

/* ---- Types ----------------------------------------------------------------------------------- */

#define FIELDS(list) .field = (list), .n_field = COUNT(list)

static const struct gtype string_list = {
    .name = "[]string", .kind = GKIND_LIST, .elem = &gtype_str};
static const struct gtype image = {.name = "api.ImageData", .kind = GKIND_OPAQUE};
static const struct gtype images = {.name = "[]api.ImageData", .kind = GKIND_LIST, .elem = &image};
static const struct gtype arguments = {
    .name = "template.templateArgs", .kind = GKIND_MAP, .elem = &gtype_any, .show = GSHOW_JSON};
const struct gtype gtype_types = {
    .name = "api.PropertyType", .kind = GKIND_LIST, .elem = &gtype_str, .show = GSHOW_TYPES};

static const struct gfield call_function_fields[] = {
    {"Index", NULL, false, &gtype_int},
    {"Name", NULL, false, &gtype_str},
    {"Arguments", NULL, false, &arguments},
};
static const struct gtype call_function = {.name = "template.templateToolCallFunction",
                                           .kind = GKIND_STRUCT,
                                           FIELDS(call_function_fields)};
static const struct gfield call_fields[] = {
    {"ID", NULL, false, &gtype_str},
    {"Function", NULL, false, &call_function},
};
static const struct gtype call_type = {
    .name = "template.templateToolCall", .kind = GKIND_STRUCT, FIELDS(call_fields)};
static const struct gtype calls = {
    .name = "[]template.templateToolCall", .kind = GKIND_LIST, .elem = &call_type};

/* In the order of enum gmessage. */
static const struct gfield message_fields[] = {
    {"Role", NULL, false, &gtype_str},      {"Content", NULL, false, &gtype_str},
    {"Thinking", NULL, false, &gtype_str},  {"Images", NULL, false, &images},
    {"ToolCalls", NULL, false, &calls},     {"ToolName", NULL, false, &gtype_str},
    {"ToolCallID", NULL, false, &gtype_str}};
_Static_assert(COUNT(message_fields) == GMESSAGE_COUNT, "one row per field");
static const struct gtype message_type = {.name = "*template.templateMessage",
                                          .kind = GKIND_STRUCT,
                                          .pointer = true,
                                          FIELDS(message_fields)};
const struct gtype gtype_messages = {
    .name = "[]*template.templateMessage", .kind = GKIND_LIST, .elem = &message_type};

/* A property's own properties are in order, which those of a function are not. */
static const struct gtype inner_properties = {.name = "*api.ToolPropertiesMap",
                                              .kind = GKIND_OPAQUE,
                                              .elem = &gtype_property,
                                              .ordered = true};
static const struct gtype properties_list = {
    .name = "[]api.ToolProperty", .kind = GKIND_LIST, .elem = &gtype_property};
static const struct gfield property_fields[] = {
    {"AnyOf", "anyOf", true, &properties_list},
    {"Type", "type", true, &gtype_types},
    {"Items", "items", true, &gtype_any},
    {"Description", "description", true, &gtype_str},
    {"Enum", "enum", true, &gtype_list},
    {"Properties", "properties", true, &inner_properties},
};
const struct gtype gtype_property = {
    .name = "api.ToolProperty", .kind = GKIND_STRUCT, FIELDS(property_fields)};
static const struct gtype properties = {.name = "template.templateProperties",
                                        .kind = GKIND_MAP,
                                        .elem = &gtype_property,
                                        .show = GSHOW_JSON};

static const struct gfield parameter_fields[] = {
    {"Type", "type", false, &gtype_str},
    {"Defs", "$defs", true, &gtype_any},
    {"Items", "items", true, &gtype_any},
    {"Required", "required", true, &string_list},
    {"Properties", "properties", false, &properties},
};
static const struct gtype parameters = {.name = "template.templateToolFunctionParameters",
                                        .kind = GKIND_STRUCT,
                                        FIELDS(parameter_fields)};
static const struct gfield function_fields[] = {
    {"Name", "name", false, &gtype_str},
    {"Description", "description", false, &gtype_str},
    {"Parameters", "parameters", false, &parameters},
};
static const struct gtype function = {
    .name = "template.templateToolFunction", .kind = GKIND_STRUCT, FIELDS(function_fields)};
static const struct gfield tool_fields[] = {
    {"Type", "type", false, &gtype_str},
    {"Items", "items", true, &gtype_any},
    {"Function", "function", false, &function},
};
static const struct gtype tool_type = {
    .name = "template.templateTool", .kind = GKIND_STRUCT, FIELDS(tool_fields)};
const struct gtype gtype_tools = {
    .name = "template.templateTools", .kind = GKIND_LIST, .elem = &tool_type, .show = GSHOW_JSON};

/* In the order of enum groot. */
static const struct gfield root_fields[] = {
    {"System", NULL, false, &gtype_str},      {"Messages", NULL, false, &gtype_messages},
    {"Tools", NULL, false, &gtype_tools},     {"Prompt", NULL, false, &gtype_str},
    {"Response", NULL, false, &gtype_str},    {"Suffix", NULL, false, &gtype_str},
    {"Think", NULL, false, &gtype_bool},      {"ThinkLevel", NULL, false, &gtype_str},
    {"IsThinkSet", NULL, false, &gtype_bool},
};
_Static_assert(COUNT(root_fields) == GROOT_MORE, "one row per field");
const struct gtype gtype_root = {
    .name = "map[string]interface {}", .kind = GKIND_ROOT, FIELDS(root_fields)};

/* ---- Reading --------------------------------------------------------------------------------- */

static struct jval ollama_refuse(struct jmem *m, const char *what, struct jval v, const char *due) {
    jmem_fail(m, GLIM_ARG, "%s is of type %s; %s is due", what, jval_type(v), due);
    return jval_none();
}

/* What an object has under a key; null is as nothing. */
static struct jval member(struct jval object, const char *key) {
    const struct jval *v = object.kind == JVAL_DICT ? jdict_find(object.d, key) : NULL;
    return v && v->kind != JVAL_UNDEFINED ? *v : jval_none();
}

static struct jval empty_text(struct jmem *m) {
    return jval_str(m, (struct str){"", 0}, false);
}

static struct jval text_member(struct jmem *m, struct jval object, const char *key) {
    struct jval v = member(object, key);
    if (v.kind == JVAL_STR) return v;
    return v.kind == JVAL_NONE ? empty_text(m) : ollama_refuse(m, key, v, "text");
}

static struct jval list_member(struct jmem *m, struct jval object, const char *key) {
    struct jval v = member(object, key);
    return v.kind == JVAL_LIST || v.kind == JVAL_NONE ? v : ollama_refuse(m, key, v, "a list");
}

static struct jval dict_member(struct jmem *m, struct jval object, const char *key) {
    struct jval v = member(object, key);
    return v.kind == JVAL_DICT || v.kind == JVAL_NONE ? v : ollama_refuse(m, key, v, "an object");
}

/* n fields as a struct. */
static struct jval struct_of(struct jmem *m, const struct jval *v, u32 n) {
    struct jval all = jval_list(m, JLIST_LIST);
    for (u32 i = 0; i < n && !m->rc; i++)
        jlist_push(m, all.l, v[i]);
    return all;
}

/* A list of texts. */
static struct jval texts_member(struct jmem *m, struct jval object, const char *key) {
    struct jval list = list_member(m, object, key);
    for (u64 i = 0; list.kind == JVAL_LIST && i < list.l->n; i++) {
        if (list.l->v[i].kind != JVAL_STR)
            return ollama_refuse(m, key, list.l->v[i], "a list of texts");
    }
    return list;
}

/* ---- Tools ----------------------------------------------------------------------------------- */

static struct jval read_properties(struct jmem *m, struct jval all);

/* One type may stand alone. */
static struct jval read_types(struct jmem *m, struct jval object) {
    struct jval v = member(object, "type");
    if (v.kind != JVAL_STR) return texts_member(m, object, "type");
    return struct_of(m, &v, 1);
}

static struct jval read_property(struct jmem *m, struct jval v) {
    if (!jmem_step(m, 1)) return jval_none();
    if (v.kind != JVAL_DICT) return ollama_refuse(m, "a tool's parameter", v, "an object");
    struct jval any = list_member(m, v, "anyOf"), either = jval_none();
    if (any.kind == JVAL_LIST) either = jval_list(m, JLIST_LIST);
    for (u64 i = 0; any.kind == JVAL_LIST && i < any.l->n && !m->rc; i++)
        jlist_push(m, either.l, read_property(m, any.l->v[i]));
    struct jval fields[] = {either,
                            read_types(m, v),
                            member(v, "items"),
                            text_member(m, v, "description"),
                            list_member(m, v, "enum"),
                            read_properties(m, dict_member(m, v, "properties"))};
    return struct_of(m, fields, COUNT(fields));
}

static struct jval read_properties(struct jmem *m, struct jval all) {
    if (all.kind != JVAL_DICT) return jval_none();
    struct jval out = jval_dict(m);
    for (u64 i = 0; i < all.d->n && !m->rc; i++)
        jdict_set(m, out.d, all.d->key[i], read_property(m, all.d->val[i]));
    return out;
}

static struct jval read_tool(struct jmem *m, struct jval v) {
    if (v.kind != JVAL_DICT) return ollama_refuse(m, "a tool", v, "an object");
    struct jval f = dict_member(m, v, "function"), p = dict_member(m, f, "parameters");
    struct jval parameter[] = {text_member(m, p, "type"), member(p, "$defs"), member(p, "items"),
                               texts_member(m, p, "required"),
                               read_properties(m, dict_member(m, p, "properties"))};
    struct jval about[] = {text_member(m, f, "name"), text_member(m, f, "description"),
                           struct_of(m, parameter, COUNT(parameter))};
    struct jval all[] = {text_member(m, v, "type"), member(v, "items"),
                         struct_of(m, about, COUNT(about))};
    return struct_of(m, all, COUNT(all));
}

struct jval gotmpl_tools(struct jmem *m, struct jval tools) {
    if (tools.kind != JVAL_LIST || tools.l->n == 0) return jval_none();
    struct jval all = jval_list(m, JLIST_LIST);
    for (u64 i = 0; i < tools.l->n && !m->rc; i++)
        jlist_push(m, all.l, read_tool(m, tools.l->v[i]));
    return all;
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* OpenAI has arguments as text, which must be JSON then. */
static struct jval read_arguments(struct jmem *m, struct jval f) {
    struct jval v = member(f, "arguments");
    if (v.kind == JVAL_STR && v.s->t.n) {
        const char *where = m->where;
        u32 line = m->line;
        m->where = "arguments of a tool call";
        v = json_parse(m, v.s->t);
        m->where = where;
        m->line = line;
    }
    if (v.kind == JVAL_DICT) return v;
    if (v.kind == JVAL_NONE || v.kind == JVAL_STR) return jval_dict(m);
    return m->rc ? v : ollama_refuse(m, "arguments", v, "an object");
}

static struct jval read_calls(struct jmem *m, struct jval list) {
    if (list.kind != JVAL_LIST || list.l->n == 0) return jval_none();
    struct jval all = jval_list(m, JLIST_LIST);
    for (u64 i = 0; i < list.l->n && !m->rc; i++) {
        struct jval v = list.l->v[i], f = dict_member(m, v, "function");
        struct jval index = member(f, "index");
        if (index.kind == JVAL_NONE) index = member(v, "index"); /* OpenAI's place */
        if (v.kind != JVAL_DICT) return ollama_refuse(m, "a tool call", v, "an object");
        if (f.kind == JVAL_NONE) f = v; /* templates take calls without "function", too */
        struct jval inner[] = {index.kind == JVAL_INT ? index : jval_int(0),
                               text_member(m, f, "name"), read_arguments(m, f)};
        struct jval outer[] = {text_member(m, v, "id"), struct_of(m, inner, COUNT(inner))};
        jlist_push(m, all.l, struct_of(m, outer, COUNT(outer)));
    }
    return all;
}

/* Where images stand in the text is for Ollama's runner to know, by their numbers: before it, or in
 * place of "[img]". */
static struct jval with_images(struct jmem *m, struct jval text, u64 n, u64 *count) {
    struct jbuf before = {0};
    for (u64 i = 0; i < n && !m->rc; i++) {
        char tag[32];
        snprintf(tag, sizeof tag, "[img-%llu]", (unsigned long long)(*count)++);
        const struct jstr *s = text.s;
        const char *place = memmem(s->t.p, s->t.n, "[img]", 5);
        if (!place) {
            jbuf_puts(m, &before, tag, true);
            continue;
        }
        struct jbuf b = {0};
        size_t at = (size_t)(place - s->t.p);
        jbuf_str(m, &b, jval_part(m, s, 0, at).s);
        jbuf_puts(m, &b, tag, true);
        jbuf_str(m, &b, jval_part(m, s, at + 5, s->t.n - at - 5).s);
        text = jbuf_done(m, &b);
    }
    if (before.n == 0 || m->rc) return text;
    jbuf_str(m, &before, text.s);
    return jbuf_done(m, &before);
}

/* Text, or a list of parts: {"type": "text", "text": ...} and pictures. */
static struct jval read_content(struct jmem *m, struct jval v, struct jval pictures) {
    struct jval content = member(v, "content");
    if (content.kind != JVAL_LIST) return text_member(m, v, "content");
    struct jbuf b = {0};
    for (u64 i = 0; i < content.l->n && !m->rc; i++) {
        struct jval part = content.l->v[i], type = text_member(m, part, "type");
        if (part.kind != JVAL_DICT) return ollama_refuse(m, "a part of content", part, "an object");
        if (str_is(type.s->t, "text")) {
            jbuf_value(m, &b, text_member(m, part, "text"));
        } else if (str_is(type.s->t, "image_url") || str_is(type.s->t, "image")) {
            jlist_push(m, pictures.l, empty_text(m));
        } else {
            jmem_fail(m, GLIM_UNSUPPORTED,
                      "content has a part of type '%.*s', which Ollama's "
                      "templates have no place for",
                      (int)MIN(type.s->t.n, 40u), type.s->t.p);
        }
    }
    struct jval text = jbuf_done(m, &b);
    return b.n ? text : empty_text(m);
}

/* Roles are known in small letters. */
static struct jval read_role(struct jmem *m, struct jval v) {
    struct jval role = text_member(m, v, "role");
    struct jbuf b = {0};
    for (size_t i = 0; !m->rc && i < role.s->t.n; i++) {
        char c = role.s->t.p[i];
        if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
        jbuf_like(m, &b, &c, 1, role.s, i);
    }
    return m->rc ? empty_text(m) : jbuf_done(m, &b);
}

/* The name of the tool that was called under an id, for results that say no more than the id. */
static struct jval name_of_call(struct jmem *m, struct jval messages, u64 before, struct jval id) {
    for (u64 i = 0; i < before && jmem_step(m, 1); i++) {
        struct jval list = member(messages.l->v[i], "tool_calls");
        for (u64 k = 0; list.kind == JVAL_LIST && k < list.l->n; k++) {
            struct jval at = member(list.l->v[k], "id");
            if (at.kind == JVAL_STR && jval_equal(m, at, id))
                return text_member(m, member(list.l->v[k], "function"), "name");
        }
    }
    return empty_text(m);
}

/* Takes the thought that an answer begins with from its text; the prompt may have opened it. */
static struct jval take_thought(struct jmem *m, struct jval *content) {
    static const char open[] = "<think>", close[] = "</think>";
    size_t n_open = sizeof open - 1, n_close = sizeof close - 1;
    if (m->rc) return *content;
    const struct jstr *s = jstr_strip(m, content->s, NULL, true, false).s;
    bool opened = s->t.n >= n_open && memcmp(s->t.p, open, n_open) == 0;
    if (opened) s = jval_part(m, s, n_open, s->t.n - n_open).s;
    const char *end = memmem(s->t.p, s->t.n, close, n_close);
    const char *other = memmem(s->t.p, s->t.n, open, n_open);
    if (!opened && (!end || (other && other < end))) return empty_text(m);
    if (opened) s = jstr_strip(m, s, NULL, true, false).s;
    size_t n = end ? (size_t)(end - s->t.p) : s->t.n, behind = end ? n + n_close : n;
    *content = jstr_strip(m, jval_part(m, s, behind, s->t.n - behind).s, NULL, true, false);
    return jval_part(m, s, 0, n);
}

static struct jval first_text(struct jmem *m, struct jval v, const char *const names[], u32 n) {
    struct jval text = empty_text(m);
    for (u32 i = 0; i < n && !m->rc && text.s->t.n == 0; i++)
        text = text_member(m, v, names[i]);
    return text;
}

static struct jval read_message(struct jmem *m, struct jval all, u64 i, bool thoughts,
                                u64 *n_images) {
    static const char *const thinking[] = {"thinking", "reasoning_content", "reasoning"};
    static const char *const names[] = {"tool_name", "name"};
    struct jval v = all.l->v[i], pictures = jval_list(m, JLIST_LIST);
    struct jval list = list_member(m, v, "images");
    if (m->rc) return v;
    for (u64 k = 0; list.kind == JVAL_LIST && k < list.l->n; k++)
        jlist_push(m, pictures.l, list.l->v[k]);
    struct jval content = read_content(m, v, pictures), role = read_role(m, v);
    if (m->rc) return v;
    bool tool = str_is(role.s->t, "tool");
    struct jval id = text_member(m, v, "tool_call_id");
    struct jval name = first_text(m, v, names, tool ? 2 : 1);
    if (m->rc) return v;
    if (tool && name.s->t.n == 0 && id.s->t.n) name = name_of_call(m, all, i, id);
    struct jval thought = first_text(m, v, thinking, COUNT(thinking));
    if (m->rc) return v;
    if (thoughts && str_is(role.s->t, "assistant") && thought.s->t.n == 0)
        thought = take_thought(m, &content);
    struct jval fields[] = {role,
                            with_images(m, content, pictures.l->n, n_images),
                            thought,
                            pictures.l->n ? pictures : jval_none(),
                            read_calls(m, list_member(m, v, "tool_calls")),
                            name,
                            id};
    return struct_of(m, fields, COUNT(fields));
}

struct jval gotmpl_messages(struct jmem *m, struct jval messages, bool thoughts) {
    struct jval all = jval_list(m, JLIST_LIST);
    u64 n_images = 0;
    for (u64 i = 0; i < messages.l->n && !m->rc; i++)
        jlist_push(m, all.l, read_message(m, messages, i, thoughts, &n_images));
    return all;
}
