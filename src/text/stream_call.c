/* Tool calls: what all notations share, and which of them a byte belongs to. What stands around
 * names and arguments is read by stream_call_*.c, the arguments themselves by stream_value.c. */
#include "text/stream_call.h"

#include <stdio.h>

void call_set(struct stream_text *t, struct str text) {
    t->n = 0;
    stream_text_put(t, text.p, text.n);
    stream_text_put(t, "", 1);
}

void call_free(struct stream *s) {
    stream_text_free(&s->call.args);
    stream_text_free(&s->call.name);
    stream_text_free(&s->call.id);
    stream_text_free(&s->call.word);
}

void call_clear(struct stream *s) {
    struct stream_call *c = &s->call;
    c->has_args = c->begun = c->nested = false;
    c->args.n = c->name.n = c->id.n = c->word.n = c->sent = 0;
    c->n_hold = 0;
    c->value.why = "";
    value_begin(&c->value, VALUE_JSON, &c->word);
}

void call_enter(struct stream *s, enum stream_mark_kind kind) {
    struct stream_call *c = &s->call;
    call_clear(s);
    c->state = kind == MARK_LIST ? AT_LIST : AT_START;
    c->bare = c->aside = c->list = c->some = false;
    c->fence = 0;
    c->tag = kind == MARK_CODE;
    c->marked = kind == MARK_LIST;
    c->whole = (s->flags & STREAM_WHOLE) != 0;
    c->lead = s->raw.n;
}

void call_enter_bare(struct stream *s, bool aside) {
    call_enter(s, MARK_CALL);
    s->call.bare = true;
    s->call.aside = aside;
}

bool call_may_be(const struct stream *s, struct str name) {
    bool usual = !s->call.bare || s->family == STREAM_LLAMA; /* whose calls have no mark */
    return usual || !s->tools || s->tools->knows(s->tools->ud, name);
}

/* ---- What is handed out ---------------------------------------------------------------------- */

/* Nine letters and digits, which Mistral's template insists on. */
static void call_make_id(struct stream *s) {
    char id[16];
    s->n_calls++;
    if (s->call.id.n) return;
    snprintf(id, sizeof id, "call%05u", s->n_calls);
    call_set(&s->call.id, (struct str){id, strlen(id)});
}

static void call_begin(struct stream *s) {
    if (s->call.begun) return;
    call_make_id(s);
    s->call.begun = true;
    stream_queue(s, GLIM_EVENT_CALL, FROM_NOWHERE, 0, 0);
}

void call_flush(struct stream *s) {
    struct stream_call *c = &s->call;
    if (!c->begun) return;
    bool reading = c->state == IN_ARG || c->state == IN_ARGS ||
                   (c->state == IN_MEMBER && c->target == FOR_ARGS);
    size_t settled = reading ? value_settled(&c->value) : c->args.n;
    if (settled == c->sent) return;
    stream_queue(s, GLIM_EVENT_ARGS, FROM_ARGS, c->sent, settled - c->sent);
    c->sent = settled;
}

void call_drained(struct stream *s) {
    struct stream_call *c = &s->call;
    if (c->state == IN_CODE && c->sent == c->args.n) c->args.n = c->sent = 0;
}

void call_complete(struct stream *s) {
    struct stream_call *c = &s->call;
    call_begin(s);
    if (c->sent < c->args.n)
        stream_queue(s, GLIM_EVENT_ARGS, FROM_ARGS, c->sent, c->args.n - c->sent);
    stream_queue(s, GLIM_EVENT_CALL_END, FROM_NOWHERE, 0, 0);
    c->begun = c->has_args = c->bare = c->tag = false;
    c->some = true;
    s->raw.n = 0; /* what comes next is text of its own if it is no call */
}

enum call_step call_read_args(struct stream *s, enum value_dialect dialect, u8 state) {
    struct stream_call *c = &s->call;
    c->state = state;
    c->has_args = true;
    value_begin(&c->value, dialect, &c->args);
    return call_value_step(value_byte(&c->value, '{'));
}

/* ---- Code ------------------------------------------------------------------------------------ */

/* What stands behind <|python_tag|> and is no call is code for an interpreter, to the end. Its call
 * has the name that Llama's documentation gives the tool. */
static enum call_step call_code(struct stream *s) {
    static const char name[] = "code_interpreter";
    struct stream_call *c = &s->call;
    call_clear(s);
    call_set(&c->name, (struct str){name, strlen(name)});
    call_put(&c->args, "{\"code\":\"");
    for (size_t i = c->lead; i < s->raw.n; i++)
        value_put_content(&c->args, s->raw.p[i]);
    c->has_args = true;
    c->tag = false;
    c->whole = (s->flags & STREAM_WHOLE) != 0;
    c->state = IN_CODE;
    return CALL_MORE;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static bool call_has_tags(const struct stream *s) {
    return s->family == STREAM_QWEN_XML || s->family == STREAM_SEED || s->family == STREAM_GLM ||
           s->family == STREAM_MINIMAX || s->family == STREAM_MINICPM;
}

static enum call_step call_start_byte(struct stream *s, char b) {
    struct stream_call *c = &s->call;
    if (call_blank(b)) return CALL_MORE;
    if (s->family == STREAM_GEMMA4) {
        c->state = IN_GEMMA;
        return call_gemma_byte(s, b);
    }
    if (b == '[' && !c->list && !c->tag) {
        c->list = true;
        return CALL_MORE;
    }
    if (b == '{') return call_open_object(s);
    if (b == ']' && c->list) {
        c->state = AT_END;
        return c->bare ? call_bad(s, "") : CALL_MORE;
    }
    if (s->family == STREAM_LFM2 || c->tag) {
        c->state = AT_CALLEE;
        return call_python_byte(s, b);
    }
    if (call_has_tags(s) && !c->list) {
        c->state = TAG_OPEN;
        return call_tag_byte(s, b);
    }
    bool named =
        s->family == STREAM_MISTRAL || s->family == STREAM_DEEPSEEK || s->family == STREAM_KIMI;
    if (named && !c->list) {
        c->state = IN_MISTRAL;
        return call_mistral_byte(s, b);
    }
    return call_bad(s, c->list ? "no object in the list" : "no object");
}

/* Hermes' and Llama's models sometimes write several objects in a row. */
static enum call_step call_end_byte(struct stream *s, char b) {
    struct stream_call *c = &s->call;
    bool several =
        (s->family == STREAM_HERMES || s->family == STREAM_LLAMA || s->family == STREAM_NEMOTRON) &&
        !c->list;
    if (b == '`' && c->fence)
        return --c->fence || s->family == STREAM_DEEPSEEK ? CALL_MORE : CALL_OVER;
    if (c->fence && c->fence < 3) {
        c->bare = true; /* nothing is wrong: it is text behind the call */
        return call_bad(s, "");
    }
    if (call_blank(b) || (several && s->family == STREAM_LLAMA && (b == ';' || b == ',')))
        return CALL_MORE;
    return several && b == '{' ? call_open_object(s) : CALL_LEAVE;
}

/* Between the calls of a list that has marks. */
static enum call_step call_list_byte(struct stream *s, char b) {
    if (call_blank(b)) return CALL_MORE;
    return s->call.some ? CALL_LEAVE : call_bad(s, "no call in the list");
}

/* A value is being read. */
static enum call_step call_within_byte(struct stream *s, char b) {
    struct stream_call *c = &s->call;
    enum value_step step = value_byte(&c->value, b);
    if (step == VALUE_BAD) return CALL_BAD;
    if (c->state == IN_NAME && c->word.n > 1 && !value_in_string(&c->value)) {
        /* A quote of Python's is known to have closed only when the colon has been read. */
        bool colon = c->word.p[c->word.n - 1] == ':';
        c->word.n -= colon;
        enum call_step named = call_named(s);
        if (colon) c->state = AT_MEMBER;
        return named;
    }
    if (step == VALUE_MORE) return CALL_MORE;
    enum call_step done = CALL_MORE;
    if (c->state == IN_MEMBER) done = call_member_done(s);
    if (c->state == IN_ARG) c->state = AT_ARG_END;
    if (c->state == IN_ARGS) {
        call_complete(s);
        c->state = AT_END;
    }
    return done == CALL_MORE && step == VALUE_BEFORE ? call_byte(s, b) : done;
}

static enum call_step call_state_byte(struct stream *s, char b) {
    switch (s->call.state) {
    case AT_START:
        return call_start_byte(s, b);
    case AT_ITEM:
    case AT_NAME:
    case AT_IS:
    case AT_MEMBER:
    case AT_COMMA:
        return call_object_byte(s, b);
    case AT_CALLEE:
    case IN_CALLEE:
    case AT_ARG:
    case IN_KEYWORD:
    case AT_ARG_END:
    case AT_CALL_END:
        return call_python_byte(s, b);
    case IN_GEMMA:
        return call_gemma_byte(s, b);
    case IN_MISTRAL:
    case IN_ID:
    case AT_ARGS:
        return call_mistral_byte(s, b);
    case IN_FENCE_NAME:
    case AT_FENCE:
        return call_fence_byte(s, b);
    case AT_LIST:
        return call_list_byte(s, b);
    case TAG_OPEN:
    case TAG_NAME:
    case TAG_NAME_END:
    case TAG_NEXT:
    case TAG_KEY:
    case TAG_KEY_END:
    case TAG_LINE:
    case TAG_CDATA:
    case TAG_VALUE:
    case TAG_MORE:
        return call_tag_byte(s, b);
    case IN_CODE:
        value_put_content(&s->call.args, b);
        if (!s->call.whole) s->raw.n = 0; /* it stays code: nothing to go back to */
        return CALL_MORE;
    case AT_END:
        return call_end_byte(s, b);
    default: /* IN_NAME, IN_MEMBER, IN_ARG, IN_ARGS */
        return call_within_byte(s, b);
    }
}

/* A call begins as soon as it has a name and arguments, however the text is cut. */
static enum call_step call_progress(struct stream *s, enum call_step step) {
    const struct stream_call *c = &s->call;
    if (step == CALL_MORE && !c->whole && c->has_args && c->name.n) call_begin(s);
    return step;
}

enum call_step call_byte(struct stream *s, char c) {
    enum call_step step = call_state_byte(s, c);
    if (step == CALL_BAD && s->call.tag && !s->call.begun) step = call_code(s);
    return call_progress(s, step);
}

bool call_in_string(const struct stream *s) {
    const struct stream_call *c = &s->call;
    bool reading =
        c->state == IN_NAME || c->state == IN_MEMBER || c->state == IN_ARG || c->state == IN_ARGS;
    return c->tag || c->state == IN_CODE || c->state == TAG_LINE || c->state == TAG_CDATA ||
           c->state == TAG_VALUE || (reading && value_in_string(&c->value));
}

bool call_in_list(const struct stream *s) {
    return s->call.state == AT_LIST;
}

static enum call_step call_bytes(struct stream *s, struct str text) {
    enum call_step step = CALL_MORE;
    for (size_t i = 0; i < text.n && step == CALL_MORE; i++)
        step = call_byte(s, text.p[i]);
    return step;
}

/* A mark between the calls of a list, or behind one of them. */
static enum call_step call_list_mark(struct stream *s, enum stream_mark_kind kind) {
    struct stream_call *c = &s->call;
    if (kind == MARK_LIST_END) return CALL_OVER;
    if (kind == MARK_CALL_END && c->state == AT_END) {
        c->state = AT_LIST;
        return CALL_MORE;
    }
    if (kind != MARK_CALL || c->state != AT_LIST)
        return c->some ? CALL_LEAVE : call_bad(s, "no call in the list");
    call_clear(s);
    c->fence = 0;
    c->state = AT_START;
    return CALL_MORE;
}

/* Behind a call. */
static enum call_step call_end_mark(struct stream *s, enum stream_mark_kind kind, struct str text) {
    const struct stream_call *c = &s->call;
    if (c->marked) return call_list_mark(s, kind);
    bool fence = kind == MARK_ASIDE && c->fence && str_is(text, "```\n");
    return kind == MARK_CALL_END || kind == MARK_ASIDE_END || fence ? CALL_OVER : CALL_LEAVE;
}

enum call_step call_mark(struct stream *s, enum stream_mark_kind kind, struct str text,
                         bool control) {
    struct stream_call *c = &s->call;
    if (kind == MARK_QUOTE && c->state == IN_ARGS) {
        enum value_step step = value_mark(&c->value);
        return call_progress(s, call_value_step(step));
    }
    if (kind == MARK_CALL_END && call_tag_closed(s)) return CALL_OVER;
    if ((call_in_string(s) && !control) || kind == MARK_FUNCTION) return call_bytes(s, text);
    if (c->state == AT_LIST) return call_list_mark(s, kind);
    if (kind == MARK_ARGS || kind == MARK_CALL_ID || kind == MARK_QUOTE)
        return call_mistral_mark(s, kind);
    if (c->state == AT_END || (c->state == TAG_MORE && !c->n_hold))
        return call_end_mark(s, kind, text);
    if (c->state == AT_ITEM || c->state == AT_CALL_END) {
        stream_note(s, "a list of tool calls was not closed", "");
        return kind == MARK_CALL_END ? CALL_OVER : CALL_LEAVE;
    }
    if (kind != MARK_CALL_END) return call_bad(s, "something else begins within it");
    return call_bad(s, "its closing mark comes too early");
}

enum call_step call_end(struct stream *s) {
    struct stream_call *c = &s->call;
    if (c->state == AT_END || c->state == TAG_MORE || (c->state == AT_LIST && c->some))
        return CALL_LEAVE;
    if (c->tag && c->lead == s->raw.n) return call_bad(s, "nothing follows its mark");
    if (c->tag && !c->begun && c->state != IN_CODE) call_code(s);
    if (c->state == IN_CODE) {
        call_put(&c->args, "\"}");
        call_complete(s);
        return CALL_LEAVE;
    }
    if (c->state == AT_ITEM || c->state == AT_CALL_END) {
        stream_note(s, "a list of tool calls was not closed", "");
        return CALL_LEAVE;
    }
    return call_bad(s, "the answer ends within it");
}
