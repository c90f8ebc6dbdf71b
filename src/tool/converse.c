/* Conversations from files. */
#include "tool/converse.h"

#include "tool/input.h"
#include "tool/interrupt.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A JSON list from a file. */
static json_t *read_list(const char *path, const char *flag, glim_err *e) {
    char *text = NULL;
    size_t n;
    json_error_t why;
    if (input_read(path, &text, &n, e) < 0) return NULL;
    json_t *list = json_loadb(text, n, 0, &why);
    free(text);
    if (!list) {
        fail(e, GLIM_FORMAT, "%s %s, line %d: %s", flag, path, why.line, why.text);
    } else if (!json_is_array(list)) {
        fail(e, GLIM_FORMAT, "%s %s: a JSON list is needed", flag, path);
        json_decref(list);
        list = NULL;
    }
    return list;
}

static int no_room(glim_err *e) {
    return fail(e, GLIM_NOMEM, "no memory for the conversation");
}

static int add_turns(json_t *list, const glim_message *turns, size_t n, glim_err *e) {
    for (size_t i = 0; i < n; i++) {
        json_t *turn = json_pack("{s:s, s:s}", "role", turns[i].role, "content", turns[i].text);
        if (!turn) return fail(e, GLIM_ARG, "the prompt is not UTF-8");
        bool first = strcmp(turns[i].role, "system") == 0;
        if (first ? json_array_insert_new(list, 0, turn) : json_array_append_new(list, turn))
            return no_room(e);
    }
    return GLIM_OK;
}

int converse_read(struct converse *c, const struct converse_files *files, const glim_message *turns,
                  size_t n, glim_err *e) {
    *c = (struct converse){0};
    json_t *list = files->messages ? read_list(files->messages, "--messages", e) : json_array();
    json_t *tools = list && files->tools ? read_list(files->tools, "--tools", e) : NULL;
    int rc = list && (tools || !files->tools) ? GLIM_OK : e->code;
    if (rc == GLIM_OK) rc = add_turns(list, turns, n, e);
    if (rc == GLIM_OK) {
        c->messages = json_dumps(list, JSON_COMPACT);
        c->tools = tools ? json_dumps(tools, JSON_COMPACT) : NULL;
        if (files->think || files->no_think) {
            /* Families call it by either name. */
            json_t *more = json_pack("{s:b, s:b}", "enable_thinking", (int)files->think, "thinking",
                                     (int)files->think);
            c->variables = more ? json_dumps(more, JSON_COMPACT) : NULL;
            if (!c->variables) rc = no_room(e);
            json_decref(more);
        }
        if (!c->messages || (tools && !c->tools)) rc = no_room(e);
    }
    json_decref(list);
    json_decref(tools);
    c->c =
        (glim_conversation){.messages = c->messages, .tools = c->tools, .variables = c->variables};
    return rc;
}

void converse_free(struct converse *c) {
    free(c->messages);
    free(c->tools);
    free(c->variables);
    *c = (struct converse){0};
}

/* ---- Answers as JSON ------------------------------------------------------------------------- */

struct parts {
    json_t *text, *thought, *args; /* strings */
    json_t *calls, *notes;
};

/* Puts text behind a string. What the model says is whole characters; jansson wants no others. */
static void lengthen(json_t *string, const char *text, size_t n) {
    size_t have = json_string_length(string);
    char *all = malloc(have + n + 1);
    if (!all) return;
    memcpy(all, json_string_value(string), have);
    memcpy(all + have, text, n);
    json_string_setn(string, all, have + n);
    free(all);
}

static void take_event(struct parts *p, const glim_event *e) {
    size_t n = json_array_size(p->calls);
    switch (e->kind) {
    case GLIM_EVENT_TEXT:
        lengthen(p->text, e->text, e->len);
        break;
    case GLIM_EVENT_THOUGHT:
        lengthen(p->thought, e->text, e->len);
        break;
    case GLIM_EVENT_CALL:
        json_array_append_new(p->calls, json_pack("{s:s, s:s}", "id", e->id, "name", e->name));
        json_string_set(p->args, "");
        break;
    case GLIM_EVENT_ARGS:
        lengthen(p->args, e->text, e->len);
        break;
    case GLIM_EVENT_CALL_END: {
        json_t *args = json_loadb(json_string_value(p->args), json_string_length(p->args), 0, NULL);
        if (!args) args = json_string(json_string_value(p->args));
        json_object_set_new(json_array_get(p->calls, n - 1), "arguments", args);
        break;
    }
    case GLIM_EVENT_CALL_DROP:
        json_array_remove(p->calls, n - 1);
        break;
    case GLIM_EVENT_NOTE:
        json_array_append_new(p->notes, json_stringn(e->text, e->len));
        break;
    case GLIM_EVENT_STOP:
        break;
    }
}

static const char *end_word(const struct reply *r) {
    static const char *const words[] = {[GLIM_END_NONE] = "interrupted",
                                        [GLIM_END_TOKEN] = "end",
                                        [GLIM_END_STOP] = "stop",
                                        [GLIM_END_LIMIT] = "limit",
                                        [GLIM_END_CONTEXT] = "context"};
    return words[glim_end_reason(r->session)];
}

enum reply_end converse_put_json(struct reply *r) {
    struct parts p = {json_string(""), json_string(""), json_string(""), json_array(),
                      json_array()};
    glim_event event;
    size_t n_prompt, n_all;
    int rc = GLIM_OK;
    glim_tokens(r->session, &n_prompt);
    r->n_prompt = n_prompt - MIN(n_prompt, r->n_before);
    while (!interrupt_seen && (rc = glim_next_event(r->session, &event)) != GLIM_DONE) {
        if (rc < 0) break;
        if (rc == GLIM_OK) take_event(&p, &event);
    }
    r->interrupted = interrupt_seen;
    glim_tokens(r->session, &n_all);
    json_t *all =
        json_pack("{s:O, s:O, s:O, s:O, s:s, s:I, s:I}", "text", p.text, "thought", p.thought,
                  "tool_calls", p.calls, "notes", p.notes, "end", end_word(r), "prompt_tokens",
                  (json_int_t)n_prompt, "answer_tokens", (json_int_t)(n_all - n_prompt));
    bool written = rc < 0 || (all && json_dumpf(all, stdout, JSON_COMPACT) == 0);
    if (rc >= 0) printf("\n");
    json_decref(all);
    json_decref(p.text);
    json_decref(p.thought);
    json_decref(p.args);
    json_decref(p.calls);
    json_decref(p.notes);
    return rc < 0 ? REPLY_FAILED : written ? REPLY_DONE : REPLY_UNWRITABLE;
}
