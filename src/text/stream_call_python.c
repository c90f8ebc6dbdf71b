/* Calls in Python's notation: f(a=1), or a list of such. */
#include "text/stream_call.h"

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
    if (!call_may_be(s, name)) return call_bad(s, "");
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

enum call_step call_python_byte(struct stream *s, char b) {
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
