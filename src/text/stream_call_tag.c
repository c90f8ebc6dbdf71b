/* Calls whose arguments stand between tags, each value as it is: Qwen3-Coder's, Seed's, GLM's,
 * MiniMax's, and MiniCPM's, which puts some values within <![CDATA[ ]]>. Nothing in the notation
 * tells "3" from 3. The tool's declaration does (s->tools): what may only be a string is handed out
 * as it comes; what may be something else is read as JSON when it is complete, and stays a string
 * if it is none; what nobody declared is a string.
 *
 * Values are not escaped, so that one may hold tags itself. It ends only where the next argument or
 * the call's end follows its closing tag. */
#include "text/stream_call.h"

static const struct tag_form {
    const char *call, *name_end; /* around the function's name; "": nothing */
    const char *key, *key_end;   /* around an argument's, up to its value */
    const char *value_end;
    const char *call_end; /* "": the call's mark alone */
    bool lines;           /* a value stands on lines of its own */
} tag_xml = {"<function=", ">", "<parameter=", ">", "</parameter>", "</function>", true},
  tag_glm = {"", "", "<arg_key>", "</arg_key><arg_value>", "</arg_value>", "", false},
  tag_invoke = {"<invoke name=\"", "\">", "<parameter name=\"", "\">", "</parameter>",
                "</invoke>",       false},
  tag_param = {"<function name=\"", "\">", "<param name=\"", "\">", "</param>",
               "</function>",       false},
  tag_cdata = {"<function name=\"", "\">", "<param name=\"", "\">", "]]></param>",
               "</function>",       false};

static const struct tag_form *tag_of(const struct stream *s) {
    switch (s->family) {
    case STREAM_GLM:
        return &tag_glm;
    case STREAM_MINIMAX:
        return &tag_invoke;
    case STREAM_MINICPM:
        return s->call.cdata ? &tag_cdata : &tag_param;
    default:
        return &tag_xml;
    }
}

/* ---- Tags ------------------------------------------------------------------------------------ */

enum tag_found { TAG_NO, TAG_PART, TAG_IS_KEY, TAG_IS_END };

/* What p is the beginning of: blanks, and then an argument or the end. */
static enum tag_found tag_follows(const struct tag_form *f, const char *p, size_t n) {
    size_t key = strlen(f->key), end = strlen(f->call_end), blanks = 0;
    while (blanks < n && blanks < 64 && call_blank(p[blanks]))
        blanks++;
    p += blanks;
    n -= blanks;
    if (n == 0) return TAG_PART;
    if (n == key && memcmp(p, f->key, key) == 0) return TAG_IS_KEY;
    if (n == end && memcmp(p, f->call_end, end) == 0) return TAG_IS_END;
    bool part =
        (n < key && memcmp(p, f->key, n) == 0) || (n < end && memcmp(p, f->call_end, n) == 0);
    return part ? TAG_PART : TAG_NO;
}

/* The same for a value's end. closed: it has come. */
static enum tag_found tag_closes(const struct tag_form *f, const char *p, size_t n, bool *closed) {
    size_t end = strlen(f->value_end), line = f->lines && n && p[0] == '\n';
    *closed = false;
    if (n - line < end) return memcmp(p + line, f->value_end, n - line) == 0 ? TAG_PART : TAG_NO;
    if (memcmp(p + line, f->value_end, end) != 0) return TAG_NO;
    *closed = true;
    return tag_follows(f, p + line + end, n - line - end);
}

/* One byte of a tag that must come; blanks may stand before each of its angle brackets. */
static bool tag_expect(struct stream_call *c, const char *tag, char b, bool *complete) {
    char want = tag[c->n_hold];
    *complete = false;
    if (call_blank(b) && want == '<') return true;
    if (b != want) return false;
    *complete = tag[++c->n_hold] == 0;
    if (*complete) c->n_hold = 0;
    return true;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static bool tag_streams(const struct stream_call *c) {
    return c->types == 0 || c->types == TYPE_STRING;
}

/* A byte that is known to be content. */
static void tag_content(struct stream_call *c, char b) {
    if (tag_streams(c))
        value_put_content(&c->args, b);
    else
        stream_text_put(&c->word, &b, 1);
}

static u32 tag_type(char first) {
    return first == '"'                   ? TYPE_STRING
           : first == '{'                 ? TYPE_OBJECT
           : first == '['                 ? TYPE_ARRAY
           : first == 't' || first == 'f' ? TYPE_BOOL
           : first == 'n'                 ? TYPE_NULL
                                          : TYPE_NUMBER;
}

/* Puts the value that word is in a dialect, if its type will do. */
static bool tag_literal(struct stream_call *c, enum value_dialect dialect) {
    const struct stream_text *w = &c->word;
    size_t i = 0, n = w->n, from = c->args.n;
    enum value_step step = VALUE_MORE;
    while (n && call_blank(w->p[n - 1]))
        n--;
    value_begin(&c->value, dialect, &c->args);
    for (; i < n && step == VALUE_MORE; i++)
        step = value_byte(&c->value, w->p[i]);
    bool whole = i == n && step == VALUE_DONE; /* or what ends only where something follows it: */
    if (step == VALUE_MORE) whole = value_byte(&c->value, ',') == VALUE_BEFORE;
    whole = whole && c->args.n > from;
    u32 type = whole ? tag_type(c->args.p[from]) : 0;
    bool fits =
        whole && ((c->types & TYPE_STRING) == 0 || (type != TYPE_STRING && c->types & type));
    if (!fits) c->args.n = from;
    return fits;
}

static void tag_value_done(struct stream_call *c) {
    c->n_hold = 0;
    if (!tag_streams(c)) {
        if (tag_literal(c, VALUE_JSON) || tag_literal(c, VALUE_PYTHON)) return;
        call_put(&c->args, "\"");
        for (size_t i = 0; i < c->word.n; i++)
            value_put_content(&c->args, c->word.p[i]);
    }
    call_put(&c->args, "\"");
}

/* ---- The call -------------------------------------------------------------------------------- */

static enum call_step tag_named(struct stream *s) {
    struct stream_call *c = &s->call;
    if (c->word.n == 0) return call_bad(s, "it has no name");
    struct str name = {c->word.p, c->word.n};
    if (!call_may_be(s, name)) return call_bad(s, "");
    call_set(&c->name, name);
    call_put(&c->args, "{");
    c->has_args = true;
    c->n_hold = 0;
    c->state = TAG_NEXT;
    return CALL_MORE;
}

/* The name of an argument has been read. */
static void tag_value_begin(struct stream *s) {
    struct stream_call *c = &s->call;
    struct str name = {c->name.p, c->name.n ? c->name.n - 1 : 0}, key = {c->word.p, c->word.n};
    while (key.n && call_blank(key.p[key.n - 1]))
        key.n--;
    c->types = s->tools ? s->tools->types(s->tools->ud, name, key) : 0;
    call_put(&c->args, c->args.n > 1 ? ",\"" : "\"");
    for (size_t i = 0; i < key.n; i++)
        value_put_content(&c->args, key.p[i]);
    call_put(&c->args, tag_streams(c) ? "\":\"" : "\":");
    c->word.n = 0;
    c->cdata = false;
    c->state = tag_of(s)->lines ? TAG_LINE : s->family == STREAM_MINICPM ? TAG_CDATA : TAG_VALUE;
}

static enum call_step tag_call_done(struct stream *s) {
    call_put(&s->call.args, "}");
    call_complete(s);
    s->call.state = TAG_MORE;
    s->call.n_hold = 0;
    return CALL_MORE;
}

static enum call_step tag_key_next(struct stream *s, enum tag_found found) {
    struct stream_call *c = &s->call;
    if (found == TAG_IS_END) return tag_call_done(s);
    c->word.n = c->n_hold = 0;
    c->state = TAG_KEY;
    return CALL_MORE;
}

static enum call_step tag_value_byte(struct stream *s, char b) {
    struct stream_call *c = &s->call;
    bool closed;
    c->hold[c->n_hold++] = b;
    while (c->n_hold) {
        enum tag_found found = tag_closes(tag_of(s), c->hold, c->n_hold, &closed);
        if (found == TAG_PART) return CALL_MORE;
        if (found != TAG_NO) {
            tag_value_done(c);
            return tag_key_next(s, found);
        }
        tag_content(c, c->hold[0]);
        memmove(c->hold, c->hold + 1, --c->n_hold);
    }
    return CALL_MORE;
}

/* A value's first bytes, where they may open <![CDATA[. */
static enum call_step tag_cdata_byte(struct stream *s, char b) {
    static const char opens[] = "<![CDATA[";
    struct stream_call *c = &s->call;
    char held[sizeof opens];
    u32 n = c->n_hold;
    if (b == opens[n]) {
        c->hold[c->n_hold++] = b;
        c->cdata = opens[c->n_hold] == 0;
        if (!c->cdata) return CALL_MORE;
        c->n_hold = 0;
        c->state = TAG_VALUE;
        return CALL_MORE;
    }
    memcpy(held, c->hold, n);
    c->n_hold = 0;
    c->state = TAG_VALUE;
    enum call_step step = CALL_MORE;
    for (u32 i = 0; i < n && step == CALL_MORE; i++)
        step = call_tag_byte(s, held[i]);
    return step == CALL_MORE ? call_tag_byte(s, b) : step;
}

/* A name up to its tag, in which there are no blanks, quotes or brackets. */
static enum call_step tag_name_byte(struct stream *s, char b) {
    struct stream_call *c = &s->call;
    const struct tag_form *f = tag_of(s);
    if (call_blank(b) || strchr("<>\"{}", b)) {
        if (f->name_end[0] == 0 && b != '\n' && b != '<')
            return call_bad(s, "its name is no name"); /* a sentence about the mark, perhaps */
        if (f->name_end[0] == 0) {
            enum call_step step = tag_named(s);
            return step == CALL_MORE ? call_tag_byte(s, b) : step;
        }
        c->n_hold = 0;
        c->state = TAG_NAME_END;
        return call_tag_byte(s, b);
    }
    if (c->word.n == MAX_NAME) return call_bad(s, "its name is no name");
    stream_text_put(&c->word, &b, 1);
    return CALL_MORE;
}

static enum call_step tag_key_byte(struct stream *s, char b) {
    struct stream_call *c = &s->call;
    if (b == tag_of(s)->key_end[0]) {
        if (c->word.n == 0) return call_bad(s, "an argument has no name");
        c->n_hold = 0;
        c->state = TAG_KEY_END;
        return call_tag_byte(s, b);
    }
    if (call_blank(b) && c->word.n == 0) return CALL_MORE;
    if (strchr("<>\"\n", b) || c->word.n == MAX_NAME) return call_bad(s, "an argument has no name");
    stream_text_put(&c->word, &b, 1);
    return CALL_MORE;
}

/* A call begins, or perhaps another within the same marks. */
static enum call_step tag_open_byte(struct stream *s, char b) {
    struct stream_call *c = &s->call;
    const struct tag_form *f = tag_of(s);
    bool more = c->state == TAG_MORE, complete;
    if (call_blank(b) && c->n_hold == 0) return CALL_MORE;
    if (more && c->n_hold == 0 && (b != '<' || f->call[0] == 0)) return CALL_LEAVE;
    if (f->call[0] && !tag_expect(c, f->call, b, &complete)) {
        c->bare = c->bare || more; /* nothing is wrong: it is text behind the call */
        return call_bad(s, "no function is called");
    }
    if (f->call[0] && !complete) return CALL_MORE;
    call_clear(s);
    c->state = TAG_NAME;
    return f->call[0] ? CALL_MORE : tag_name_byte(s, b);
}

enum call_step call_tag_byte(struct stream *s, char b) {
    struct stream_call *c = &s->call;
    const struct tag_form *f = tag_of(s);
    bool complete;
    switch (c->state) {
    case TAG_NAME:
        return tag_name_byte(s, b);
    case TAG_NAME_END:
        if (!tag_expect(c, f->name_end, b, &complete)) return call_bad(s, "its name is no name");
        return complete ? tag_named(s) : CALL_MORE;
    case TAG_NEXT: {
        if (call_blank(b) && c->n_hold == 0) return CALL_MORE;
        c->hold[c->n_hold++] = b;
        enum tag_found found = tag_follows(f, c->hold, c->n_hold);
        if (found == TAG_NO) return call_bad(s, "neither an argument nor its end");
        return found == TAG_PART ? CALL_MORE : tag_key_next(s, found);
    }
    case TAG_KEY:
        return tag_key_byte(s, b);
    case TAG_KEY_END:
        if (!tag_expect(c, f->key_end, b, &complete)) return call_bad(s, "an argument has no name");
        if (complete) tag_value_begin(s);
        return CALL_MORE;
    case TAG_LINE:
        c->state = TAG_VALUE;
        return b == '\n' ? CALL_MORE : tag_value_byte(s, b);
    case TAG_CDATA:
        return tag_cdata_byte(s, b);
    case TAG_VALUE:
        return tag_value_byte(s, b);
    default: /* TAG_OPEN, TAG_MORE */
        return tag_open_byte(s, b);
    }
}

/* The mark that closes the call has come, where it may stand for the tag that does. */
bool call_tag_closed(struct stream *s) {
    struct stream_call *c = &s->call;
    bool closed = c->state == TAG_NEXT && c->n_hold == 0;
    if (c->state == TAG_NAME && tag_of(s)->name_end[0] == 0 && c->word.n)
        closed = tag_named(s) == CALL_MORE;
    if (c->state == TAG_VALUE && c->n_hold) {
        enum tag_found found = tag_closes(tag_of(s), c->hold, c->n_hold, &closed);
        size_t n = c->n_hold; /* behind the closing tag there is no other half-way */
        closed =
            closed && found == TAG_PART && (c->hold[n - 1] == '>' || call_blank(c->hold[n - 1]));
        if (closed) tag_value_done(c);
    }
    if (closed) tag_call_done(s);
    return closed;
}
