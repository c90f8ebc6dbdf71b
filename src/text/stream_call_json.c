/* Calls as objects, {"name": .., "arguments": ..}, alone or in a list. */
#include "text/stream_call.h"

/* A value that is not read by itself: of a name, a key, or not wanted. */
static enum call_step call_read_word(struct stream *s, char first, u8 state) {
    s->call.word.n = 0;
    s->call.state = state;
    value_begin(&s->call.value, VALUE_JSON, &s->call.word);
    return call_value_step(value_byte(&s->call.value, first));
}

enum call_step call_open_object(struct stream *s) {
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

enum call_step call_named(struct stream *s) {
    static const struct {
        const char *name;
        u8 target;
    } members[] = {
        {"name", FOR_NAME},         {"arguments", FOR_ARGS},  {"parameters", FOR_ARGS},
        {"function", FOR_FUNCTION}, {"id", FOR_ID},           {"type", FOR_NOTHING},
        {"tool_name", FOR_NAME},    {"tool_call_id", FOR_ID},
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
    /* An object without a mark is a call only if it looks like one from the beginning; where the
     * template asked for another form it may as well be a tool's definition, an example, data. */
    bool strict = str_is(name, "name") || str_is(name, "arguments");
    if (c->bare && !(c->aside ? strict : known)) return call_bad(s, "");
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

enum call_step call_member_done(struct stream *s) {
    struct stream_call *c = &s->call;
    struct str text = {"", 0};
    bool plain = c->target != FOR_ARGS && call_plain(&c->word, &text);
    c->state = AT_COMMA;
    switch (c->target) {
    case FOR_NAME:
        if (!plain || !text.n || text.n > MAX_NAME) return call_bad(s, "its name is no name");
        if (!call_may_be(s, text)) return call_bad(s, "");
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

enum call_step call_object_byte(struct stream *s, char b) {
    struct stream_call *c = &s->call;
    switch (c->state) {
    case AT_ITEM:
        if (call_blank(b) || b == ',') return CALL_MORE;
        if (b == '{') return call_open_object(s);
        if (b != ']') return call_bad(s, "no object in the list");
        c->state = AT_END;
        return CALL_MORE;
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
