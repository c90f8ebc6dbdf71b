/* Conversations as JSON. */
#include "tool/converse.h"

#include "tool/input.h"
#include "tool/jsontext.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int no_room(glim_err *e) {
    return fail(e, GLIM_NOMEM, "no memory for the conversation");
}

int converse_open(struct converse *c, glim_err *e) {
    *c = (struct converse){.messages = json_array()};
    return c->messages ? GLIM_OK : no_room(e);
}

static void drop_texts(struct converse *c) {
    for (size_t i = 0; i < COUNT(c->text); i++) {
        free(c->text[i]);
        c->text[i] = NULL;
    }
    c->c = (glim_conversation){0};
}

void converse_close(struct converse *c) {
    json_decref(c->messages);
    json_decref(c->tools);
    json_decref(c->settings);
    drop_texts(c);
    *c = (struct converse){0};
}

/* ---- Files ----------------------------------------------------------------------------------- */

static json_t *read_file(const char *path, const char *what, glim_err *e) {
    char *text = NULL;
    size_t n;
    json_error_t why;
    if (input_read(path, &text, &n, e) < 0) return NULL;
    json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    free(text);
    if (!j) fail(e, GLIM_FORMAT, "%s%.140s, line %d: %s", what, path, why.line, why.text);
    return j;
}

/* A member of a file that is an object, or the file itself where it is a list. NULL: not there. */
static json_t *list_in(json_t *file, const char *name) {
    return json_is_array(file) ? file : json_object_get(file, name);
}

static int need_list(const json_t *j, const char *path, const char *what, const char *name,
                     glim_err *e) {
    if (json_is_array(j)) return GLIM_OK;
    return fail(e, GLIM_FORMAT,
                "%s%.140s: a JSON list of %s is needed, or an object with such a list as \"%s\"",
                what, path, name, name);
}

static int check_messages(const json_t *list, const char *path, const char *what, glim_err *e) {
    size_t i;
    json_t *message;
    json_array_foreach(list, i, message) {
        if (json_is_string(json_object_get(message, "role"))) continue;
        return fail(e, GLIM_FORMAT,
                    "%s%.140s: message %zu is not an object with a role; messages must be a list "
                    "of objects",
                    what, path, i + 1);
    }
    return GLIM_OK;
}

/* A tool without a name could be offered, but never called. */
int converse_check_tools(const json_t *list, const char *path, const char *what, glim_err *e) {
    size_t i;
    json_t *tool;
    json_array_foreach(list, i, tool) {
        const json_t *wrapped = json_object_get(tool, "function");
        const json_t *name = json_object_get(json_is_object(wrapped) ? wrapped : tool, "name");
        const char *wrong = NULL;
        if (!json_is_object(tool))
            wrong = "is not an object";
        else if (wrapped && !json_is_object(wrapped))
            wrong = "has a \"function\" that is not an object";
        else if (!name)
            wrong = "has no name";
        else if (!json_is_string(name))
            wrong = "has a name that is not text";
        else if (!json_string_length(name))
            wrong = "has an empty name";
        if (!wrong) continue;
        return fail(e, GLIM_FORMAT,
                    "%s%.140s: tool %zu %s; a tool is {\"type\": \"function\", \"function\": "
                    "{\"name\": ...}}",
                    what, path, i + 1, wrong);
    }
    return GLIM_OK;
}

static void replace(json_t **place, json_t *by) {
    json_decref(*place);
    *place = json_incref(by);
}

int converse_read(struct converse *c, const char *path, const char *what, glim_err *e) {
    json_t *file = read_file(path, what, e);
    if (!file) return e->code;
    json_t *messages = list_in(file, "messages"), *tools = NULL, *settings = NULL;
    if (json_is_object(file)) {
        tools = json_object_get(file, "tools");
        settings = json_object_get(file, "settings");
    }
    int rc = need_list(messages, path, what, "messages", e);
    if (rc == GLIM_OK) rc = check_messages(messages, path, what, e);
    if (rc == GLIM_OK && tools && !json_is_null(tools))
        rc = need_list(tools, path, what, "tools", e);
    if (rc == GLIM_OK) rc = converse_check_tools(tools, path, what, e);
    if (rc == GLIM_OK && settings && !json_is_object(settings))
        rc = fail(e, GLIM_FORMAT, "%s%.140s: \"settings\" is no object", what, path);
    if (rc == GLIM_OK) {
        replace(&c->messages, messages);
        replace(&c->tools, json_is_array(tools) && json_array_size(tools) ? tools : NULL);
        replace(&c->settings, settings);
    }
    json_decref(file);
    return rc;
}

int converse_read_tools(struct converse *c, const char *path, const char *what, glim_err *e) {
    json_t *file = read_file(path, what, e);
    if (!file) return e->code;
    json_t *tools = list_in(file, "tools");
    int rc = need_list(tools, path, what, "tools", e);
    if (rc == GLIM_OK) rc = converse_check_tools(tools, path, what, e);
    if (rc == GLIM_OK) replace(&c->tools, json_array_size(tools) ? tools : NULL);
    json_decref(file);
    return rc;
}

/* A new file beside path, which takes its place when it is complete. */
static int write_file(const json_t *all, const char *path, glim_err *e) {
    char fresh[4096];
    if ((size_t)snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid()) >= sizeof fresh)
        return fail(e, GLIM_ARG, "%.60s...: the name is too long", path);
    FILE *f = fopen(fresh, "wxe");
    if (!f) return fail(e, GLIM_IO, "%.140s: cannot be written: %s", path, strerror(errno));
    bool ok = jsontext_write(all, f, 2) && fputc('\n', f) != EOF;
    ok = fclose(f) == 0 && ok;
    if (ok && rename(fresh, path) == 0) return GLIM_OK;
    int why = errno;
    unlink(fresh);
    return fail(e, GLIM_IO, "%.140s: cannot be written: %s", path, strerror(why));
}

int converse_write(const struct converse *c, const char *path, bool replace, bool *replaced,
                   glim_err *e) {
    struct stat st;
    *replaced = stat(path, &st) == 0;
    if (*replaced && S_ISDIR(st.st_mode))
        return fail(e, GLIM_ARG, "%.140s: is a folder; name a file", path);
    if (*replaced && !replace) return fail(e, GLIM_ARG, "%.140s: is there already", path);
    json_t *all = json_object();
    bool ok = all && json_object_set(all, "messages", c->messages) == 0;
    if (c->tools) ok = ok && json_object_set(all, "tools", c->tools) == 0;
    if (c->settings && json_object_size(c->settings))
        ok = ok && json_object_set(all, "settings", c->settings) == 0;
    int rc = ok ? write_file(all, path, e) : no_room(e);
    json_decref(all);
    return rc;
}

/* ---- Messages -------------------------------------------------------------------------------- */

int converse_add_new(struct converse *c, json_t *message, glim_err *e) {
    return message && json_array_append_new(c->messages, message) == 0 ? GLIM_OK : no_room(e);
}

static json_t *first_system(const struct converse *c) {
    return strcmp(converse_role(c, 0), "system") == 0 ? json_array_get(c->messages, 0) : NULL;
}

static int set_system(struct converse *c, const char *text, glim_err *e) {
    if (first_system(c)) json_array_remove(c->messages, 0);
    if (!*text) return GLIM_OK;
    json_t *turn = json_pack("{s:s, s:s}", "role", "system", "content", text);
    if (!turn) return fail(e, GLIM_ARG, "the system text is not UTF-8");
    return json_array_insert_new(c->messages, 0, turn) == 0 ? GLIM_OK : no_room(e);
}

int converse_add(struct converse *c, const char *role, const char *text, glim_err *e) {
    if (strcmp(role, "system") == 0) return set_system(c, text, e);
    json_t *turn = json_pack("{s:s, s:s}", "role", role, "content", text);
    if (!turn) return fail(e, GLIM_ARG, "what was typed is not UTF-8");
    return converse_add_new(c, turn, e);
}

int converse_add_result(struct converse *c, const json_t *call, const char *text, glim_err *e) {
    json_t *turn =
        json_pack("{s:s, s:O, s:O, s:s}", "role", "tool", "name", json_object_get(call, "name"),
                  "tool_call_id", json_object_get(call, "id"), "content", text);
    if (!turn) return fail(e, GLIM_ARG, "the tool's result is not UTF-8");
    return converse_add_new(c, turn, e);
}

const char *converse_role(const struct converse *c, size_t i) {
    const char *role = json_string_value(json_object_get(json_array_get(c->messages, i), "role"));
    return role ? role : "";
}

const char *converse_text(const struct converse *c, size_t i) {
    const char *text =
        json_string_value(json_object_get(json_array_get(c->messages, i), "content"));
    return text ? text : "";
}

const char *converse_last_role(const struct converse *c) {
    size_t n = json_array_size(c->messages);
    return n ? converse_role(c, n - 1) : "";
}

bool converse_can_go_on(const struct converse *c) {
    size_t n = json_array_size(c->messages);
    const json_t *last = n ? json_array_get(c->messages, n - 1) : NULL;
    const char *text = n ? converse_text(c, n - 1) : "";
    return strcmp(converse_last_role(c), "assistant") == 0 && text[strspn(text, " \t\r\n")] &&
           !json_array_size(json_object_get(last, "tool_calls"));
}

const char *converse_system(const struct converse *c) {
    return json_string_value(json_object_get(first_system(c), "content"));
}

void converse_cut(struct converse *c, size_t n) {
    for (size_t i = json_array_size(c->messages); i > n; i--)
        json_array_remove(c->messages, i - 1);
}

/* ---- For the library ------------------------------------------------------------------------- */

int converse_make(struct converse *c, enum think think, glim_err *e) {
    drop_texts(c);
    json_t *more = NULL;
    if (think != THINK_AS_IS) { /* families call it by either name */
        int on = think == THINK_ON;
        more = json_pack("{s:b, s:b}", "enable_thinking", on, "thinking", on);
        if (!more) return no_room(e);
    }
    json_t *parts[] = {c->messages, c->tools, more};
    bool ok = true;
    for (size_t i = 0; i < COUNT(parts); i++) {
        if (!parts[i]) continue;
        c->text[i] = jsontext_make(parts[i]);
        ok = ok && c->text[i];
    }
    json_decref(more);
    c->c =
        (glim_conversation){.messages = c->text[0], .tools = c->text[1], .variables = c->text[2]};
    return ok ? GLIM_OK : no_room(e);
}
