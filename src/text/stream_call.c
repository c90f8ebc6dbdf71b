/* Tool calls: what stands around names and arguments in each family's notation. The arguments
 * themselves are values (stream_value.c). */
#include "text/stream.h"

#include <stdio.h>
#include <string.h>

enum {
    AT_START,    /* behind the mark */
    AT_ITEM,     /* of a list of objects: an object, a comma, the end */
    AT_NAME,     /* of an object's member, or its end */
    IN_NAME,     /* reading it */
    AT_IS,       /* the colon behind it */
    AT_MEMBER,   /* its value */
    IN_MEMBER,   /* reading it */
    AT_COMMA,    /* behind it */
    AT_CALLEE,   /* Python: a function's name, or the list's end */
    IN_CALLEE,   /* reading it */
    AT_ARG,      /* a keyword, or the closing parenthesis */
    IN_KEYWORD,  /* reading it */
    IN_ARG,      /* reading the argument's value */
    AT_ARG_END,  /* a comma or the closing parenthesis */
    AT_CALL_END, /* a comma or the list's end */
    IN_GEMMA,    /* call:name */
    IN_MISTRAL,  /* name, before [CALL_ID], [ARGS] or { */
    IN_ID,       /* behind [CALL_ID] */
    AT_ARGS,     /* behind [ARGS] */
    IN_ARGS,     /* the arguments, with nothing around them */
    IN_CODE,     /* all that follows */
    AT_END,      /* behind the calls, where the closing mark may be */
};

/* What the value of an object's member is for. */
enum { FOR_NAME, FOR_ARGS, FOR_ARGS_TEXT, FOR_ID, FOR_FUNCTION, FOR_NOTHING };

enum { MAX_NAME = 256 };

static enum call_step call_bad(struct stream *s, const char *why) {
    s->call.value.why = why;
    return CALL_BAD;
}

static bool call_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool call_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (u8)c >= 0x80 || c == '_' || c == '.' || c == '-' || c == ':' || c == '/';
}

static void call_put(struct stream_text *t, const char *text) {
    stream_text_put(t, text, strlen(text));
}

/* Sets a name that is kept with a zero behind it. */
static void call_set(struct stream_text *t, struct str text) {
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

/* Nothing is known of the next call. */
static void call_clear(struct stream *s) {
    struct stream_call *c = &s->call;
    c->has_args = c->begun = c->nested = false;
    c->args.n = c->name.n = c->id.n = c->word.n = c->sent = 0;
    c->value.why = "";
    value_begin(&c->value, VALUE_JSON, &c->word);
}

void call_enter(struct stream *s, bool bare, bool code) {
    struct stream_call *c = &s->call;
    call_clear(s);
    c->state = AT_START;
    c->bare = bare;
    c->tag = code;
    c->list = false;
    c->whole = (s->flags & STREAM_WHOLE) != 0;
    c->lead = s->raw.n;
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

static void call_complete(struct stream *s) {
    struct stream_call *c = &s->call;
    call_begin(s);
    if (c->sent < c->args.n)
        stream_queue(s, GLIM_EVENT_ARGS, FROM_ARGS, c->sent, c->args.n - c->sent);
    stream_queue(s, GLIM_EVENT_CALL_END, FROM_NOWHERE, 0, 0);
    c->begun = c->has_args = c->bare = c->tag = false;
    s->raw.n = 0; /* what comes next is text of its own if it is no call */
}

/* ---- Objects: {"name": .., "arguments": ..} -------------------------------------------------- */

static enum call_step call_value_step(enum value_step step) {
    return step == VALUE_BAD ? CALL_BAD : CALL_MORE;
}

/* A value that is not read by itself: of a name, a key, or not wanted. */
static enum call_step call_read_word(struct stream *s, char first, u8 state) {
    s->call.word.n = 0;
    s->call.state = state;
    value_begin(&s->call.value, VALUE_JSON, &s->call.word);
    return call_value_step(value_byte(&s->call.value, first));
}

static enum call_step call_read_args(struct stream *s, enum value_dialect dialect, u8 state) {
    struct stream_call *c = &s->call;
    c->state = state;
    c->has_args = true;
    value_begin(&c->value, dialect, &c->args);
    return call_value_step(value_byte(&c->value, '{'));
}

static enum call_step call_open_object(struct stream *s) {
    call_clear(s);
    s->call.state = AT_NAME;
    /* Mistral writes a call's id behind its arguments, and an event that begins a call has it. */
    if (s->family == STREAM_MISTRAL) s->call.whole = true;
    return CALL_MORE;
}

/* The text of a JSON string without escapes; false if it is another value. */
static bool call_plain(const struct stream_text *word, struct str *text) {
    if (word->n < 2 || word->p[0] != '"' || memchr(word->p, '\\', word->n)) return false;
    *text = (struct str){word->p + 1, word->n - 2};
    return true;
}

/* Arguments as a JSON object within a string: decodes the string in place, and reads it. */
static enum call_step call_args_text(struct stream *s) {
    struct stream_call *c = &s->call;
    char *p = c->word.p;
    size_t n = 0, end = c->word.n;
    for (size_t i = 1; i + 1 < end; i++) {
        static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
        if (p[i] != '\\') {
            p[n++] = p[i];
            continue;
        }
        const char *at = strchr(from, p[++i]);
        if (p[i] == 'u') { /* a control character, which no JSON has outside of escapes */
            p[n++] = ' ';
            i += 4;
        } else {
            p[n++] = at ? to[at - from] : p[i];
        }
    }
    value_begin(&c->value, VALUE_JSON, &c->args);
    enum value_step step = VALUE_MORE;
    size_t i = 0;
    while (i < n && call_blank(p[i]))
        i++;
    if (i == n) {
        call_put(&c->args, "{}");
        return CALL_MORE;
    }
    if (p[i] != '{') return call_bad(s, "its arguments are no object");
    for (; i < n && step == VALUE_MORE; i++)
        step = value_byte(&c->value, p[i]);
    while (i < n && call_blank(p[i]))
        i++;
    return step == VALUE_DONE && i == n ? CALL_MORE : call_bad(s, "its arguments are no object");
}

/* A member's name has been read. */
static enum call_step call_named(struct stream *s) {
    static const struct {
        const char *name;
        u8 target;
    } members[] = {
        {"name", FOR_NAME},         {"arguments", FOR_ARGS}, {"parameters", FOR_ARGS},
        {"function", FOR_FUNCTION}, {"id", FOR_ID},          {"type", FOR_NOTHING},
    };
    struct stream_call *c = &s->call;
    struct str name = {"", 0};
    bool known = false;
    call_plain(&c->word, &name);
    c->target = FOR_NOTHING;
    for (size_t i = 0; i < COUNT(members) && !known; i++) {
        known = str_is(name, members[i].name);
        if (known) c->target = members[i].target;
    }
    /* An object without a mark is a call only if it looks like one from the beginning. */
    if (!known && c->bare) return call_bad(s, "");
    if (c->target == FOR_ARGS && c->has_args) return call_bad(s, "it has arguments twice");
    c->state = AT_IS;
    return CALL_MORE;
}

static enum call_step call_member_byte(struct stream *s, char b) {
    struct stream_call *c = &s->call;
    if (call_blank(b)) return CALL_MORE;
    if (c->target == FOR_FUNCTION && b == '{') {
        if (c->nested) return call_bad(s, "a function within a function");
        c->nested = true;
        c->state = AT_NAME;
        return CALL_MORE;
    }
    if (c->target == FOR_FUNCTION) c->target = FOR_NAME;
    if (c->target != FOR_ARGS) return call_read_word(s, b, IN_MEMBER);
    if (b == '{') return call_read_args(s, VALUE_JSON, IN_MEMBER);
    if (b != '"' && b != 'n' && b != 'N') return call_bad(s, "its arguments are no object");
    c->target = FOR_ARGS_TEXT;
    return call_read_word(s, b, IN_MEMBER);
}

/* A member's value is complete. */
static enum call_step call_member_done(struct stream *s) {
    struct stream_call *c = &s->call;
    struct str text = {"", 0};
    bool plain = c->target != FOR_ARGS && call_plain(&c->word, &text);
    c->state = AT_COMMA;
    switch (c->target) {
    case FOR_NAME:
        if (!plain || !text.n || text.n > MAX_NAME) return call_bad(s, "its name is no name");
        call_set(&c->name, text);
        return CALL_MORE;
    case FOR_ID:
        if (plain && text.n && text.n <= MAX_NAME && !c->begun) call_set(&c->id, text);
        return CALL_MORE;
    case FOR_ARGS_TEXT:
        c->has_args = true;
        if (c->word.n && c->word.p[0] == '"') return call_args_text(s);
        if (c->word.n != 4 || memcmp(c->word.p, "null", 4) != 0)
            return call_bad(s, "its arguments are no object");
        call_put(&c->args, "{}");
        return CALL_MORE;
    default:
        return CALL_MORE;
    }
}

static enum call_step call_object_done(struct stream *s) {
    struct stream_call *c = &s->call;
    if (c->nested) {
        c->nested = false;
        c->state = AT_COMMA;
        return CALL_MORE;
    }
    if (!c->name.n) return call_bad(s, "it has no name");
    if (!c->has_args && c->bare) return call_bad(s, "it has no arguments");
    if (!c->has_args) call_put(&c->args, "{}");
    call_complete(s);
    c->state = c->list ? AT_ITEM : AT_END;
    return CALL_MORE;
}

static enum call_step call_object_byte(struct stream *s, char b) {
    struct stream_call *c = &s->call;
    switch (c->state) {
    case AT_NAME:
        if (call_blank(b)) return CALL_MORE;
        if (b == '}') return call_object_done(s);
        if (b != '"' && b != '\'') return call_bad(s, "a member's name is missing");
        /* Read as the only key of an object, for its quotes are a key's. */
        call_read_word(s, '{', IN_NAME);
        c->word.n = 0;
        return call_value_step(value_byte(&c->value, b));
    case AT_IS:
        if (call_blank(b)) return CALL_MORE;
        if (b != ':') return call_bad(s, "a name without a value");
        c->state = AT_MEMBER;
        return CALL_MORE;
    case AT_MEMBER:
        return call_member_byte(s, b);
    default: /* AT_COMMA */
        if (call_blank(b)) return CALL_MORE;
        if (b == '}') return call_object_done(s);
        if (b != ',') return call_bad(s, "two members without a comma between");
        c->state = AT_NAME;
        return CALL_MORE;
    }
}

/* ---- Python: f(a=1), or a list of such ------------------------------------------------------- */

static enum call_step call_callee_done(struct stream *s) {
    struct stream_call *c = &s->call;
    struct str name = {c->word.p, c->word.n};
    if (c->tag) { /* tool.call(..); anything else is code */
        static const char suffix[] = ".call";
        size_t n = strlen(suffix);
        if (name.n <= n || memcmp(name.p + name.n - n, suffix, n) != 0) return call_bad(s, "");
        name.n -= n;
        c->whole = true; /* it is code still if it is not a call to its end */
    }
    call_set(&c->name, name);
    call_put(&c->args, "{");
    c->state = AT_ARG;
    return CALL_MORE;
}

static enum call_step call_keyword_done(struct stream *s) {
    struct stream_call *c = &s->call;
    if (c->args.n > 1) call_put(&c->args, ",");
    call_put(&c->args, "\"");
    for (size_t i = 0; i < c->word.n; i++)
        value_put_content(&c->args, c->word.p[i]);
    call_put(&c->args, "\":");
    c->has_args = true;
    c->state = IN_ARG;
    value_begin(&c->value, VALUE_PYTHON, &c->args);
    return CALL_MORE;
}

static enum call_step call_args_done(struct stream *s) {
    call_put(&s->call.args, "}");
    call_complete(s);
    s->call.state = s->call.list ? AT_CALL_END : AT_END;
    return CALL_MORE;
}

/* A name is read until something else comes; blanks may stand before what ends it. */
static enum call_step call_python_name(struct stream *s, char b, char end) {
    struct stream_call *c = &s->call;
    bool blank = c->word.n && call_blank(c->word.p[c->word.n - 1]);
    if (b == end) {
        while (c->word.n && call_blank(c->word.p[c->word.n - 1]))
            c->word.n--;
        return end == '(' ? call_callee_done(s) : call_keyword_done(s);
    }
    bool fits = call_blank(b) || (call_name_byte(b) && !blank);
    if (!fits || c->word.n == MAX_NAME)
        return call_bad(s, end == '(' ? "no function is called" : "an argument has no name");
    stream_text_put(&c->word, &b, 1);
    return CALL_MORE;
}

static enum call_step call_python_byte(struct stream *s, char b) {
    struct stream_call *c = &s->call;
    if (c->state == IN_CALLEE) return call_python_name(s, b, '(');
    if (c->state == IN_KEYWORD) return call_python_name(s, b, '=');
    if (call_blank(b)) return CALL_MORE;
    switch (c->state) {
    case AT_CALLEE:
        if (b == ']' && c->list) {
            c->state = AT_END;
            return CALL_MORE;
        }
        if (!call_name_byte(b)) return call_bad(s, "no function is called");
        call_clear(s);
        stream_text_put(&c->word, &b, 1);
        c->state = IN_CALLEE;
        return CALL_MORE;
    case AT_ARG:
        if (b == ')') return call_args_done(s);
        if (!call_name_byte(b)) return call_bad(s, "an argument has no name");
        c->word.n = 0;
        stream_text_put(&c->word, &b, 1);
        c->state = IN_KEYWORD;
        return CALL_MORE;
    case AT_ARG_END:
        if (b == ')') return call_args_done(s);
        if (b != ',') return call_bad(s, "two arguments without a comma between");
        c->state = AT_ARG;
        return CALL_MORE;
    default: /* AT_CALL_END */
        if (b == ']') {
            c->state = AT_END;
            return CALL_MORE;
        }
        if (b != ',') return call_bad(s, "two calls without a comma between");
        c->state = AT_CALLEE;
        return CALL_MORE;
    }
}

/* ---- Names before { : Gemma's and Mistral's -------------------------------------------------- */

static enum call_step call_gemma_byte(struct stream *s, char b) {
    static const char prefix[] = "call:";
    struct stream_call *c = &s->call;
    size_t n = strlen(prefix);
    if (call_blank(b) && c->word.n == 0) return CALL_MORE;
    if (b != '{') {
        if (!call_name_byte(b) || c->word.n == MAX_NAME + n)
            return call_bad(s, "it does not begin with call:NAME{");
        stream_text_put(&c->word, &b, 1);
        return CALL_MORE;
    }
    if (c->word.n <= n || memcmp(c->word.p, prefix, n) != 0)
        return call_bad(s, "it does not begin with call:NAME{");
    call_set(&c->name, (struct str){c->word.p + n, c->word.n - n});
    return call_read_args(s, VALUE_GEMMA, IN_ARGS);
}

static enum call_step call_mistral_byte(struct stream *s, char b) {
    struct stream_call *c = &s->call;
    bool id = c->state == IN_ID;
    if (b == '{' && !id && c->name.n == 0 && c->word.n)
        call_set(&c->name, (struct str){c->word.p, c->word.n});
    if (b == '{' && c->name.n && !id) return call_read_args(s, VALUE_JSON, IN_ARGS);
    if (call_blank(b)) return CALL_MORE;
    if (c->state == AT_ARGS) return call_bad(s, "its arguments are no object");
    if (!call_name_byte(b) || c->word.n == MAX_NAME) return call_bad(s, "its name is no name");
    stream_text_put(&c->word, &b, 1);
    return CALL_MORE;
}

/* [CALL_ID] or [ARGS] has come, or a quote where there is no value. */
static enum call_step call_mistral_mark(struct stream *s, enum stream_mark_kind kind) {
    struct stream_call *c = &s->call;
    if ((c->state != IN_MISTRAL && c->state != IN_ID) || !c->word.n ||
        (c->state == IN_ID && kind == MARK_CALL_ID))
        return call_bad(s, "a mark where there should be none");
    call_set(c->state == IN_ID ? &c->id : &c->name, (struct str){c->word.p, c->word.n});
    c->word.n = 0;
    c->state = kind == MARK_CALL_ID ? IN_ID : AT_ARGS;
    return CALL_MORE;
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
    if (s->family == STREAM_MISTRAL && !c->list) {
        c->state = IN_MISTRAL;
        return call_mistral_byte(s, b);
    }
    return call_bad(s, c->list ? "no object in the list" : "no object");
}

static enum call_step call_item_byte(struct stream *s, char b) {
    if (call_blank(b) || b == ',') return CALL_MORE;
    if (b == '{') return call_open_object(s);
    if (b != ']') return call_bad(s, "no object in the list");
    s->call.state = AT_END;
    return CALL_MORE;
}

/* Hermes' and Llama's models sometimes write several objects in a row. */
static enum call_step call_end_byte(struct stream *s, char b) {
    bool several = (s->family == STREAM_HERMES || s->family == STREAM_LLAMA) && !s->call.list;
    if (call_blank(b) || (several && s->family == STREAM_LLAMA && (b == ';' || b == ',')))
        return CALL_MORE;
    return several && b == '{' ? call_open_object(s) : CALL_LEAVE;
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
        return call_item_byte(s, b);
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
    return c->tag || c->state == IN_CODE || (reading && value_in_string(&c->value));
}

enum call_step call_mark(struct stream *s, enum stream_mark_kind kind, struct str text,
                         bool control) {
    struct stream_call *c = &s->call;
    if (kind == MARK_QUOTE && c->state == IN_ARGS) {
        enum value_step step = value_mark(&c->value);
        return call_progress(s, call_value_step(step));
    }
    if (call_in_string(s) && !control) {
        enum call_step step = CALL_MORE;
        for (size_t i = 0; i < text.n && step == CALL_MORE; i++)
            step = call_byte(s, text.p[i]);
        return step;
    }
    if (kind == MARK_ARGS || kind == MARK_CALL_ID || kind == MARK_QUOTE)
        return call_mistral_mark(s, kind);
    if (c->state == AT_END) return kind == MARK_CALL_END ? CALL_OVER : CALL_LEAVE;
    if (c->state == AT_ITEM || c->state == AT_CALL_END) {
        stream_note(s, "a list of tool calls was not closed", "");
        return kind == MARK_CALL_END ? CALL_OVER : CALL_LEAVE;
    }
    if (kind != MARK_CALL_END) return call_bad(s, "something else begins within it");
    return call_bad(s, "its closing mark comes too early");
}

enum call_step call_end(struct stream *s) {
    struct stream_call *c = &s->call;
    if (c->state == AT_END) return CALL_LEAVE;
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
