/* Calls that write a name in front of an object: Gemma's, Mistral's, DeepSeek's and Kimi's. */
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

/* DeepSeek's R1 and V3 write what kind of tool it is where others have the name, then the name, and
 * the arguments in a code fence. */
enum call_step call_fence_byte(struct stream *s, char b) {
    static const char opens[] = "```json";
    struct stream_call *c = &s->call;
    if (c->state == IN_FENCE_NAME && call_name_byte(b)) {
        if (c->word.n == MAX_NAME) return call_bad(s, "its name is no name");
        stream_text_put(&c->word, &b, 1);
        return CALL_MORE;
    }
    if (c->state == IN_FENCE_NAME) {
        call_set(&c->name, (struct str){c->word.p, c->word.n});
        c->word.n = 0;
        c->state = AT_FENCE;
    }
    if (call_blank(b)) return CALL_MORE;
    size_t n = c->word.n;
    if (b == '{' && (n == 0 || n == 3 || n == strlen(opens))) {
        c->fence = n ? 3 : 0;
        return call_read_args(s, VALUE_JSON, IN_ARGS);
    }
    if (b != opens[n]) return call_bad(s, "its arguments are no object");
    stream_text_put(&c->word, &b, 1);
    return CALL_MORE;
}

/* functions.NAME:NUMBER, which Kimi's models have for the call's id. */
static void call_kimi_name(struct stream_call *c) {
    static const char prefix[] = "functions.";
    size_t n = strlen(prefix);
    struct str name = {c->word.p, c->word.n};
    call_set(&c->id, name);
    if (name.n > n && memcmp(name.p, prefix, n) == 0) name = (struct str){name.p + n, name.n - n};
    size_t end = name.n;
    while (end && name.p[end - 1] >= '0' && name.p[end - 1] <= '9')
        end--;
    if (end > 1 && end < name.n && name.p[end - 1] == ':') name.n = end - 1;
    call_set(&c->name, name);
}

enum call_step call_mistral_byte(struct stream *s, char b) {
    struct stream_call *c = &s->call;
    bool id = c->state == IN_ID;
    if (b == '{' && !id && c->name.n == 0 && c->word.n)
        call_set(&c->name, (struct str){c->word.p, c->word.n});
    if (b == '{' && c->name.n && !id) return call_read_args(s, VALUE_JSON, IN_ARGS);
    if (call_blank(b)) return CALL_MORE;
    if (c->state == AT_ARGS && s->family == STREAM_DEEPSEEK && call_name_byte(b)) {
        c->state = IN_FENCE_NAME;
        return call_fence_byte(s, b);
    }
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
    if (s->family == STREAM_KIMI)
        call_kimi_name(c);
    else
        call_set(c->state == IN_ID ? &c->id : &c->name, (struct str){c->word.p, c->word.n});
    c->word.n = 0;
    c->state = kind == MARK_CALL_ID ? IN_ID : AT_ARGS;
    return CALL_MORE;
}

void call_enter_named(struct stream *s, struct str name) {
    call_enter(s, MARK_CALL);
    call_set(&s->call.name, name);
    s->call.state = AT_ARGS;
}
