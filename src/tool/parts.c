/* The parts of an answer: text, thought, tool calls, notes. */
#include "tool/parts.h"

#include <stdlib.h>

static void text_open(struct parts_text *t) {
    t->f = open_memstream(&t->p, &t->n);
}

static void text_close(struct parts_text *t) {
    if (t->f) fclose(t->f);
    free(t->p);
    *t = (struct parts_text){0};
}

static bool text_put(struct parts_text *t, const char *s, size_t n) {
    return t->f && fwrite(s, 1, n, t->f) == n && fflush(t->f) == 0;
}

void parts_open(struct parts *p) {
    *p = (struct parts){.calls = json_array(), .notes = json_array()};
    text_open(&p->text);
    text_open(&p->thought);
    p->failed = !p->calls || !p->notes || !p->text.f || !p->thought.f;
}

void parts_close(struct parts *p) {
    text_close(&p->text);
    text_close(&p->thought);
    text_close(&p->args);
    json_decref(p->calls);
    json_decref(p->notes);
    *p = (struct parts){0};
}

/* Arguments as JSON; what jansson cannot hold, a number of 80 digits, as their text. */
static json_t *arguments(const struct parts *p) {
    json_t *args = p->args.p ? json_loadb(p->args.p, p->args.n, JSON_ALLOW_NUL, NULL) : NULL;
    return args || !p->args.p ? args : json_stringn(p->args.p, p->args.n);
}

static void drop_call(struct parts *p) {
    json_array_remove(p->calls, json_array_size(p->calls) - 1);
    p->calling = false;
}

void parts_take(struct parts *p, const glim_event *e) {
    bool ok = true;
    switch (e->kind) {
    case GLIM_EVENT_TEXT:
        ok = text_put(&p->text, e->text, e->len);
        break;
    case GLIM_EVENT_THOUGHT:
        ok = text_put(&p->thought, e->text, e->len);
        break;
    case GLIM_EVENT_CALL:
        text_close(&p->args);
        text_open(&p->args);
        p->calling = true;
        ok = json_array_append_new(p->calls,
                                   json_pack("{s:s, s:s}", "id", e->id, "name", e->name)) == 0;
        break;
    case GLIM_EVENT_ARGS:
        ok = text_put(&p->args, e->text, e->len);
        break;
    case GLIM_EVENT_CALL_END:
        ok = json_object_set_new(json_array_get(p->calls, json_array_size(p->calls) - 1),
                                 "arguments", arguments(p)) == 0;
        p->calling = false;
        break;
    case GLIM_EVENT_CALL_DROP:
        drop_call(p);
        break;
    case GLIM_EVENT_NOTE:
        ok = json_array_append_new(p->notes, json_stringn(e->text, e->len)) == 0;
        break;
    case GLIM_EVENT_STOP:
        break;
    }
    p->failed |= !ok;
}

bool parts_end(struct parts *p) {
    if (p->calling) drop_call(p); /* it was interrupted */
    return !p->failed;
}

json_t *parts_message(const struct parts *p) {
    json_t *message = json_object(), *calls = NULL;
    bool ok = message && json_object_set_new(message, "role", json_string("assistant")) == 0;
    if (ok && p->thought.n)
        ok = json_object_set_new(message, "reasoning_content",
                                 json_stringn(p->thought.p, p->thought.n)) == 0;
    ok = ok && json_object_set_new(message, "content",
                                   json_stringn(p->text.n ? p->text.p : "", p->text.n)) == 0;
    size_t n = json_array_size(p->calls);
    if (ok && n) {
        calls = json_array();
        ok = json_object_set_new(message, "tool_calls", calls) == 0;
    }
    for (size_t i = 0; ok && i < n; i++) {
        json_t *call = json_array_get(p->calls, i);
        json_t *outer =
            json_pack("{s:O, s:s, s:{s:O, s:O}}", "id", json_object_get(call, "id"), "type",
                      "function", "function", "name", json_object_get(call, "name"), "arguments",
                      json_object_get(call, "arguments"));
        ok = json_array_append_new(calls, outer) == 0;
    }
    if (ok) return message;
    json_decref(message);
    return NULL;
}
