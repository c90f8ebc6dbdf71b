/* Answers as JSON: parts, counts, log-probabilities. */
#include "tool/answer_json.h"

#include "text/utf8.h"
#include "tool/interrupt.h"
#include "tool/jsontext.h"
#include "tool/parts.h"

#include <stdlib.h>
#include <string.h>

static const char *end_word(const struct reply *r) {
    static const char *const words[] = {[GLIM_END_NONE] = "interrupted",
                                        [GLIM_END_TOKEN] = "end",
                                        [GLIM_END_STOP] = "stop",
                                        [GLIM_END_LIMIT] = "limit",
                                        [GLIM_END_CONTEXT] = "context"};
    return words[glim_end_reason(r->session)];
}

/* ---- Log-probabilities ----------------------------------------------------------------------- */

/* A token's text with U+FFFD for what is no whole character. */
static json_t *whole_text(struct str bytes) {
    char *text = malloc(3 * bytes.n + 4);
    size_t n = 0;
    struct utf8_stream state = {0};
    if (!text) return NULL;
    for (struct str part; (part = utf8_next(&state, &bytes)).n; n += part.n)
        memcpy(text + n, part.p, part.n);
    struct str rest = utf8_end(&state);
    memcpy(text + n, rest.p ? rest.p : "", rest.n);
    json_t *j = json_stringn(text, n + rest.n);
    free(text);
    return j;
}

static json_t *token_json(const glim_model *model, i32 id, const glim_logprob *l) {
    struct str s = {NULL, 0};
    s.p = glim_token_text(model, id, &s.n);
    json_t *text = json_stringn(s.p ? s.p : "", s.n);
    bool whole = text != NULL;
    if (!whole) text = whole_text(s);
    json_t *j = json_pack("{s:o, s:i, s:o}", "text", text, "id", (int)id, "logprob",
                          l ? json_real((f64)l->logprob) : json_null());
    if (whole || !j) return j;
    json_t *bytes = json_array();
    for (size_t i = 0; i < s.n; i++)
        json_array_append_new(bytes, json_integer((u8)s.p[i]));
    json_object_set_new(j, "bytes", bytes);
    return j;
}

static json_t *logprobs_json(const struct reply *r, const glim_model *model) {
    size_t n_all, n;
    const i32 *ids = glim_tokens(r->session, &n_all);
    json_t *list = json_array();
    for (size_t pos = r->n_prompt; pos <= n_all; pos++) {
        const glim_logprob *row = glim_logprobs(r->session, pos, &n);
        if (!row && pos == n_all) break;
        json_t *token = token_json(model, row ? row->id : ids[pos], row), *top = json_array();
        for (size_t i = 1; row && i < n; i++)
            json_array_append_new(top, token_json(model, row[i].id, &row[i]));
        if (token) json_object_set_new(token, "top", top);
        if (json_array_append_new(list, token) == 0) continue;
        json_decref(list);
        return NULL;
    }
    return list;
}

/* ---- The answer ------------------------------------------------------------------------------ */

static bool put_answer(const struct reply *r, const glim_model *model, const struct parts *p) {
    size_t n_all;
    glim_tokens(r->session, &n_all);
    json_t *all = json_pack(
        "{s:s%, s:s%, s:O, s:O, s:s, s:I, s:I, s:I}", "text", p->text.n ? p->text.p : "", p->text.n,
        "thought", p->thought.n ? p->thought.p : "", p->thought.n, "tool_calls", p->calls, "notes",
        p->notes, "end", end_word(r), "prompt_tokens", (json_int_t)r->n_prompt, "cached_tokens",
        (json_int_t)r->n_cached, "answer_tokens", (json_int_t)(n_all - r->n_prompt));
    bool ok = all != NULL;
    if (ok && r->options->gen.n_logprobs)
        ok = json_object_set_new(all, "logprobs", logprobs_json(r, model)) == 0;
    if (!ok) {
        options_say("no memory for the answer as JSON");
    } else {
        ok = jsontext_write(all, stdout, 0);
        printf("\n");
        ok = options_flush() && ok;
    }
    json_decref(all);
    return ok;
}

enum reply_end answer_json(struct reply *r, const glim_model *model) {
    struct parts p;
    glim_event event;
    int rc = GLIM_OK;
    parts_open(&p);
    reply_queued(r);
    while (!interrupt_seen && (rc = glim_next_event(r->session, &event)) != GLIM_DONE) {
        if (rc < 0) break;
        if (rc == GLIM_OK) parts_take(&p, &event);
    }
    r->interrupted = interrupt_seen;
    enum reply_end end = rc < 0 ? REPLY_FAILED : REPLY_DONE;
    if (rc >= 0 && !parts_end(&p)) {
        options_say("no memory for the parts of the answer");
        end = REPLY_UNWRITABLE;
    } else if (rc >= 0 && !put_answer(r, model, &p)) {
        end = REPLY_UNWRITABLE;
    }
    parts_close(&p);
    return end;
}
