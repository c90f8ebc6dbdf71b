/* Calls that write a name in front of an object: Gemma's and Mistral's. */
#include "text/stream_call.h"

enum call_step call_gemma_byte(struct stream *s, char b) {
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

enum call_step call_mistral_byte(struct stream *s, char b) {
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

enum call_step call_mistral_mark(struct stream *s, enum stream_mark_kind kind) {
    struct stream_call *c = &s->call;
    if ((c->state != IN_MISTRAL && c->state != IN_ID) || !c->word.n ||
        (c->state == IN_ID && kind == MARK_CALL_ID))
        return call_bad(s, "a mark where there should be none");
    call_set(c->state == IN_ID ? &c->id : &c->name, (struct str){c->word.p, c->word.n});
    c->word.n = 0;
    c->state = kind == MARK_CALL_ID ? IN_ID : AT_ARGS;
    return CALL_MORE;
}
