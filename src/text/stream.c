/* Answers into events: finds marks in the text and keeps text, thoughts and calls apart. A step
 * takes one byte or one mark and queues a few events; the queue is emptied before the next, so that
 * events may point into the buffers. The calls themselves are read by stream_call*.c. */
#include "text/stream.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { MODE_BASE, MODE_CHANNEL, MODE_HEAD, MODE_CALL };
enum { CLOSE_STRAY, CLOSE_ABSORB, CLOSE_TEXT };

void stream_open(struct stream *s, enum stream_family family, u32 spelled,
                 const glim_alloc *alloc) {
    *s = (struct stream){.family = family, .spelled = spelled, .limit = 1u << 20};
    const struct stream_mark *mark = stream_styles[family].mark;
    for (u32 i = 0; i < STREAM_MARKS && mark[i].text; i++)
        s->spelled |= (u32)mark[i].plain << i;
    s->raw.alloc = alloc;
    s->call.args.alloc = s->call.name.alloc = s->call.id.alloc = s->call.word.alloc = alloc;
    stream_reset(s, 0);
}

void stream_close(struct stream *s) {
    stream_text_free(&s->raw);
    call_free(s);
}

/* A long call's memory is not kept for the next. */
static void stream_trim(struct stream_text *t) {
    t->n = 0;
    t->failed = false;
    if (t->cap > 1u << 16) stream_text_free(t);
}

void stream_reset(struct stream *s, u32 flags) {
    struct stream_call *c = &s->call;
    struct stream_text *texts[] = {&s->raw, &c->args, &c->name, &c->id, &c->word};
    s->flags = flags;
    /* The prompt has begun a message, most of whose head is the answer's first text. */
    s->mode = s->family == STREAM_HARMONY && !(flags & STREAM_THOUGHT) ? MODE_HEAD : MODE_BASE;
    s->thinking = s->skip_space = s->thought_seen = (flags & STREAM_THOUGHT) != 0;
    s->lead = true;
    s->channel = s->ending = s->ended = s->stopped = s->raw_spent = s->list_failed = false;
    s->close_is = CLOSE_STRAY;
    s->n_hold = s->n_space = s->q_first = s->q_n = 0;
    s->out_from = s->out_n = s->note_n = 0;
    s->again = NULL;
    for (size_t i = 0; i < COUNT(texts); i++)
        stream_trim(texts[i]);
    c->sent = 0;
    c->begun = false;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void stream_push(struct stream *s, enum glim_event_kind kind, enum stream_buffer from,
                        size_t at, size_t n) {
    assert(s->q_n < COUNT(s->queue));
    u32 i = (s->q_first + s->q_n++) % COUNT(s->queue);
    s->queue[i] = (struct stream_queued){(u8)kind, (u8)from, at, n};
}

/* Queues the text that has been put. */
static void stream_flush(struct stream *s) {
    if (s->out_n == s->out_from) return;
    stream_push(s, s->out_thought ? GLIM_EVENT_THOUGHT : GLIM_EVENT_TEXT, FROM_OUT, s->out_from,
                s->out_n - s->out_from);
    s->out_from = s->out_n;
}

void stream_queue(struct stream *s, enum glim_event_kind kind, enum stream_buffer from, size_t at,
                  size_t n) {
    stream_flush(s);
    stream_push(s, kind, from, at, n);
}

void stream_note(struct stream *s, const char *what, const char *why) {
    size_t room = sizeof s->note - s->note_n;
    int n = snprintf(s->note + s->note_n, room, "%s%s%s", what, *why ? ": " : "", why);
    size_t kept = MIN((size_t)MAX(n, 0), room - 1);
    stream_queue(s, GLIM_EVENT_NOTE, FROM_NOTE, s->note_n, kept);
    s->note_n += kept;
}

static void stream_pop(struct stream *s, glim_event *event) {
    struct stream_queued q = s->queue[s->q_first];
    s->q_first = (s->q_first + 1) % COUNT(s->queue);
    s->q_n--;
    const char *from = q.from == FROM_OUT    ? s->out
                       : q.from == FROM_RAW  ? s->raw.p
                       : q.from == FROM_ARGS ? s->call.args.p
                       : q.from == FROM_NOTE ? s->note
                                             : NULL;
    *event = (glim_event){.kind = (enum glim_event_kind)q.kind, .text = "", .len = q.n};
    if (from) event->text = from + q.at;
    if (q.kind == GLIM_EVENT_CALL) {
        event->name = s->call.name.p;
        event->id = s->call.id.p;
    }
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void put_byte(struct stream *s, char c) {
    if (s->out_thought != s->thinking) stream_flush(s);
    s->out_thought = s->thinking;
    assert(s->out_n < sizeof s->out);
    s->out[s->out_n++] = c;
}

static void put_space(struct stream *s) {
    for (u32 i = 0; i < s->n_space; i++)
        put_byte(s, s->space[i]);
    s->n_space = 0;
}

static void base_note(struct stream *s, const char *what) {
    stream_note(s, what, "");
}

static void unit_byte(struct stream *s, char c);
static void head_begin(struct stream *s, struct str mark);
static void head_done(struct stream *s, struct str mark);

/* A byte of text or thought. */
static void base_byte(struct stream *s, char c) {
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        if (s->skip_space) return;
        if (s->n_space == sizeof s->space) put_space(s);
        s->space[s->n_space++] = c;
        return;
    }
    s->skip_space = false;
    if (s->lead && !s->thinking && (s->flags & STREAM_TOOLS) &&
        c == stream_styles[s->family].bare) {
        s->raw.n = 0;
        stream_text_put(&s->raw, s->space, s->n_space);
        s->n_space = 0;
        s->mode = MODE_CALL;
        call_enter_bare(s, stream_styles[s->family].aside);
        unit_byte(s, c);
        return;
    }
    s->lead = false;
    put_space(s);
    put_byte(s, c);
}

static void base_text(struct stream *s, struct str text) {
    for (size_t i = 0; i < text.n; i++)
        base_byte(s, text.p[i]);
}

static void thought_begin(struct stream *s) {
    s->thinking = s->thought_seen = s->skip_space = true;
    s->n_space = 0;
}

static void thought_close(struct stream *s) {
    s->thinking = false;
    s->lead = s->skip_space = true;
    s->n_space = 0;
}

/* A closing mark that closes nothing. Typed out, it may be what is talked about. */
static void base_stray(struct stream *s, struct str text, bool control) {
    if (!control) base_text(s, text);
    base_note(s, control ? "a closing mark without its beginning was left out"
                         : "a closing mark without its beginning was kept as text");
}

/* A mark begins a call. */
static void base_call(struct stream *s, struct str text) {
    s->raw.n = 0;
    stream_text_put(&s->raw, s->space, s->n_space);
    stream_text_put(&s->raw, text.p, text.n);
    s->n_space = 0;
    s->mode = MODE_CALL;
    s->close_is = CLOSE_STRAY;
}

/* A mark that is text where it begins no call, without a note. */
static void base_aside(struct stream *s, enum stream_mark_kind kind, struct str text) {
    bool begins = (s->flags & STREAM_TOOLS) != 0;
    if (kind == MARK_ASIDE) begins = begins && s->lead && !s->thinking;
    if (kind == MARK_ASIDE_END || !begins) {
        base_text(s, text);
        return;
    }
    base_call(s, kind == MARK_ASIDE ? text : (struct str){"", 0});
    call_enter_bare(s, kind == MARK_ASIDE);
    if (kind == MARK_ASIDE) s->call.fence = text.p[0] == '`' ? 3 : 0;
    for (size_t i = 0; kind == MARK_FUNCTION && i < text.n; i++)
        unit_byte(s, text.p[i]);
}

static void base_mark(struct stream *s, enum stream_mark_kind kind, struct str text, bool control) {
    switch (kind) {
    case MARK_CALL:
    case MARK_CODE:
    case MARK_LIST:
        base_call(s, text);
        if (kind == MARK_LIST) s->list_failed = false;
        call_enter(s, kind);
        return;
    case MARK_FUNCTION:
    case MARK_ASIDE:
    case MARK_ASIDE_END:
        base_aside(s, kind, text);
        return;
    case MARK_LIST_END:
        if (s->list_failed)
            base_text(s, text);
        else
            base_stray(s, text, control);
        s->list_failed = false;
        return;
    case MARK_CALL_END:
        if (s->close_is == CLOSE_TEXT) base_text(s, text);
        if (s->close_is == CLOSE_STRAY) base_stray(s, text, control);
        s->close_is = CLOSE_STRAY;
        return;
    case MARK_THINK: /* spelled within text it is talked about */
        if (!s->thinking && (control || s->lead))
            thought_begin(s);
        else if (!control && !(s->thinking && s->skip_space))
            base_text(s, text);
        return;
    case MARK_THINK_END:
        if (s->thinking) {
            thought_close(s);
        } else if (s->channel) {
            s->skip_space = true;
        } else {
            base_stray(s, text, control);
        }
        s->channel = false;
        return;
    case MARK_CHANNEL:
        s->mode = MODE_CHANNEL;
        s->call.word.n = 0;
        return;
    case MARK_HEAD:
    case MARK_BODY:
        head_begin(s, text);
        if (kind == MARK_BODY) head_done(s, text);
        return;
    case MARK_BODY_END:
        if (s->close_is == CLOSE_TEXT) base_text(s, text);
        s->close_is = CLOSE_STRAY;
        if (s->thinking) thought_close(s);
        s->skip_space = true;
        return;
    case MARK_WRAP:
        if (s->thought_seen && !s->thinking) {
            s->skip_space = true;
            s->n_space = 0;
            return;
        }
        break;
    default:
        break;
    }
    if (!control) base_text(s, text);
}

/* ---- Gemma's channels ------------------------------------------------------------------------ */

/* The channel's name is known, or will not be. A name other than "thought" is no reason to show
 * what may be a thought: only one of its own line makes its channel text. */
static void channel_enter(struct stream *s, bool line, bool closed) {
    static const char thought[] = "thought";
    struct str name = {s->call.word.p, s->call.word.n};
    s->mode = MODE_BASE;
    if (line && !str_is(name, thought)) {
        put_space(s);
        s->thinking = false;
        s->channel = s->skip_space = true;
        base_note(s, "a channel that is no thought was taken for text");
        return;
    }
    thought_begin(s);
    if (str_is(name, thought) || closed) return;
    base_note(s, "a thought began without its name");
    base_text(s, name);
}

static void channel_byte(struct stream *s, char c) {
    if (c == '\n' && s->call.word.n) {
        channel_enter(s, true, false);
    } else if (((c >= 'a' && c <= 'z') || c == '_') && s->call.word.n < 16) {
        stream_text_put(&s->call.word, &c, 1);
    } else {
        channel_enter(s, false, false);
        base_byte(s, c);
    }
}

/* ---- Messages with heads, in gpt-oss's notation ---------------------------------------------- */

static void head_begin(struct stream *s, struct str mark) {
    s->raw.n = s->call.word.n = 0;
    s->n_space = 0;
    s->mode = MODE_HEAD;
    stream_text_put(&s->raw, mark.p, mark.n);
    stream_text_put(&s->call.word, (char[]){HEAD_MARK}, 1);
}

/* It is none, or nothing follows it: text, as it came. */
static void head_failed(struct stream *s, const char *what) {
    s->mode = MODE_BASE;
    if (*what) base_note(s, what);
    base_text(s, (struct str){s->raw.p, s->raw.n});
    s->raw.n = 0;
}

/* <|message|>: what follows is a thought, text for the user, or a call's arguments. */
static void head_done(struct stream *s, struct str mark) {
    char name[HEAD_BYTES];
    struct str function;
    enum head_kind kind = head_read((struct str){s->call.word.p, s->call.word.n}, &function);
    s->mode = MODE_BASE;
    s->thinking = false;
    if (kind == HEAD_CALL) {
        memcpy(name, function.p, function.n);
        stream_text_put(&s->raw, mark.p, mark.n);
        s->mode = MODE_CALL;
        s->close_is = CLOSE_STRAY;
        call_enter_named(s, (struct str){name, function.n});
        return;
    }
    if (kind == HEAD_THOUGHT) {
        thought_begin(s);
        return;
    }
    s->lead = s->skip_space = true;
    if (kind == HEAD_ODD) base_note(s, "a message of no channel that is known was taken for text");
}

static void head_mark(struct stream *s, enum stream_mark_kind kind, struct str text, bool control) {
    if (kind == MARK_BODY) {
        head_done(s, text);
        return;
    }
    if (kind == MARK_HEAD && s->raw.n < HEAD_BYTES - STREAM_MARK_BYTES) {
        stream_text_put(&s->raw, text.p, text.n);
        stream_text_put(&s->call.word, (char[]){HEAD_MARK}, 1);
        return;
    }
    head_failed(s, "a message ended before it began");
    base_mark(s, kind, text, control);
}

static void head_byte(struct stream *s, char c) {
    static const char to[] = " to=";
    size_t n = s->raw.n;
    bool marked = s->call.word.n && memchr(s->call.word.p, HEAD_MARK, s->call.word.n);
    stream_text_put(&s->raw, &c, 1);
    stream_text_put(&s->call.word, &c, 1);
    bool begins = marked || n >= strlen(to) || c == to[n];
    if (!begins || c == '\n' || s->raw.n > HEAD_BYTES - STREAM_MARK_BYTES)
        head_failed(s, marked ? "a message's head did not end" : "");
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void call_left(struct stream *s) {
    s->mode = MODE_BASE;
    s->raw.n = 0;
    s->lead = s->skip_space = true;
}

/* What was read as a call is text after all. closed: its closing mark has been seen. */
static void call_failed(struct stream *s, bool closed) {
    if (s->call.begun) {
        call_flush(s); /* the same, however the text was cut */
        stream_queue(s, GLIM_EVENT_CALL_DROP, FROM_NOWHERE, 0, 0);
    }
    if (s->call.begun || !s->call.bare)
        stream_note(s, "a malformed tool call was kept as text", s->call.value.why);
    if (s->raw.n)
        stream_queue(s, s->thinking ? GLIM_EVENT_THOUGHT : GLIM_EVENT_TEXT, FROM_RAW, 0, s->raw.n);
    s->raw_spent = true;
    s->mode = MODE_BASE;
    s->skip_space = s->call.begun = false;
    s->lead = false;
    s->close_is = s->call.bare || closed ? CLOSE_STRAY : CLOSE_TEXT;
    s->list_failed = s->list_failed || s->call.marked;
}

static enum call_step call_within(struct stream *s, enum call_step step) {
    if (s->raw.n <= s->limit) return step;
    s->call.value.why = "it is too long";
    return CALL_BAD;
}

static void call_unit_byte(struct stream *s, char c) {
    stream_text_put(&s->raw, &c, 1);
    enum call_step step = call_within(s, call_byte(s, c));
    if (step == CALL_BAD) call_failed(s, false);
    if (step == CALL_LEAVE || step == CALL_OVER) call_left(s);
    if (step == CALL_OVER) s->close_is = CLOSE_STRAY;
    if (step != CALL_LEAVE) return;
    s->close_is = s->call.bare ? CLOSE_STRAY : CLOSE_ABSORB;
    base_byte(s, c);
}

static void call_unit_mark(struct stream *s, const struct stream_mark *mark, bool control) {
    struct str text = {mark->text, strlen(mark->text)};
    enum stream_mark_kind kind = (enum stream_mark_kind)mark->kind;
    if (kind == MARK_BODY_END) kind = MARK_CALL_END;
    bool own = kind == MARK_QUOTE || kind == MARK_ARGS || kind == MARK_CALL_ID ||
               kind == MARK_FUNCTION || (kind == MARK_CALL && call_in_list(s));
    bool inside = call_in_string(s) && (own || !control);
    /* A mark that begins something else is no part of a call that it breaks off: it comes again
     * when the call's text has been handed out. */
    bool begins = !own && !inside && kind != MARK_CALL_END;
    if (!begins) stream_text_put(&s->raw, text.p, text.n);
    enum call_step step = call_within(s, call_mark(s, kind, text, control));
    if (step == CALL_BAD) call_failed(s, kind == MARK_CALL_END);
    if (step == CALL_LEAVE || step == CALL_OVER) call_left(s);
    if (step == CALL_OVER) s->close_is = CLOSE_STRAY;
    if (step == CALL_LEAVE) s->close_is = s->call.bare ? CLOSE_STRAY : CLOSE_ABSORB;
    if (step == CALL_LEAVE || (step == CALL_BAD && begins)) {
        s->again = mark;
        s->again_control = control;
    }
}

/* ---- Units ----------------------------------------------------------------------------------- */

static void unit_byte(struct stream *s, char c) {
    if (s->mode == MODE_CALL)
        call_unit_byte(s, c);
    else if (s->mode == MODE_CHANNEL)
        channel_byte(s, c);
    else if (s->mode == MODE_HEAD)
        head_byte(s, c);
    else
        base_byte(s, c);
}

static void unit_mark(struct stream *s, const struct stream_mark *mark, bool control) {
    struct str text = {mark->text, strlen(mark->text)};
    enum stream_mark_kind kind = (enum stream_mark_kind)mark->kind;
    if (s->mode == MODE_CALL) {
        call_unit_mark(s, mark, control);
        return;
    }
    if (s->mode == MODE_HEAD) {
        head_mark(s, kind, text, control);
        return;
    }
    if (s->mode == MODE_CHANNEL) channel_enter(s, false, s->call.word.n == 0);
    base_mark(s, kind, text, control);
}

/* A control token that is no mark: nothing in text, but no part of a call. */
static void unit_control(struct stream *s, struct str text) {
    if (s->mode != MODE_CALL) return;
    stream_text_put(&s->raw, text.p, text.n);
    s->call.value.why = "a control token is in it";
    call_failed(s, false);
}

static void unit_end(struct stream *s) {
    if (s->mode == MODE_CALL) {
        if (call_end(s) == CALL_BAD)
            call_failed(s, true);
        else
            call_left(s);
    }
    if (s->mode == MODE_CHANNEL) channel_enter(s, false, s->call.word.n == 0);
    if (s->mode == MODE_HEAD)
        head_failed(s, s->raw.n ? "the answer ends within a message's head" : "");
    if (!s->thinking) put_space(s);
    if (s->thinking && !s->lead) base_note(s, "the thought did not end");
    stream_queue(s, GLIM_EVENT_STOP, FROM_NOWHERE, 0, 0);
    s->stopped = true;
}

/* The spelled mark that the held bytes are or, exact false, may become; else NULL. */
static const struct stream_mark *stream_held(const struct stream *s, bool exact) {
    const struct stream_mark *mark = stream_styles[s->family].mark;
    for (u32 i = 0; i < STREAM_MARKS && mark[i].text; i++) {
        size_t n = strlen(mark[i].text);
        if (!(s->spelled >> i & 1) || n < s->n_hold || (exact && n != s->n_hold)) continue;
        if (memcmp(mark[i].text, s->hold, s->n_hold) == 0) return &mark[i];
    }
    return NULL;
}

/* One byte or mark. False: there is nothing to take. */
static bool stream_step(struct stream *s, struct str *in, bool control) {
    const struct stream_mark *mark = s->again;
    if (mark) {
        s->again = NULL;
        unit_mark(s, mark, s->again_control);
        return true;
    }
    if (s->n_hold) mark = stream_held(s, true);
    if (mark) {
        s->n_hold = 0;
        unit_mark(s, mark, false);
        return true;
    }
    bool breaks = in->n ? control : s->ending;
    if (s->n_hold && (breaks || !stream_held(s, false))) {
        char c = s->hold[0];
        memmove(s->hold, s->hold + 1, --s->n_hold);
        unit_byte(s, c);
        return true;
    }
    if (in->n && control) {
        struct str text = *in;
        *in = (struct str){in->p + in->n, 0};
        mark = stream_styles[s->family].mark;
        for (u32 i = 0; i < STREAM_MARKS && mark[i].text; i++) {
            if (!str_is(text, mark[i].text)) continue;
            unit_mark(s, &mark[i], true);
            return true;
        }
        unit_control(s, text);
        return true;
    }
    if (in->n) {
        s->hold[s->n_hold++] = *in->p++;
        in->n--;
        return true;
    }
    if (!s->ending || s->stopped) return false;
    unit_end(s);
    return true;
}

/* All events are taken: the buffers they pointed into may change. */
static void stream_drained(struct stream *s) {
    if (s->raw_spent) s->raw.n = 0;
    s->raw_spent = false;
    s->note_n = 0;
    s->out_from = s->out_n = 0;
    call_drained(s);
}

int stream_next(struct stream *s, struct str *in, bool control, glim_event *event, glim_err *e) {
    *event = (glim_event){.text = ""};
    if (!s->q_n) {
        stream_drained(s);
        bool more = true;
        while (more && !s->q_n && s->out_n < sizeof s->out / 2)
            more = stream_step(s, in, control);
        stream_flush(s);
        if (!s->q_n && s->mode == MODE_CALL) call_flush(s);
        const struct stream_call *c = &s->call;
        if (s->raw.failed || c->args.failed || c->name.failed || c->id.failed || c->word.failed) {
            s->q_n = 0;
            return fail(e, GLIM_NOMEM, "out of memory (a tool call of %zu bytes)", s->raw.n);
        }
    }
    if (s->q_n) {
        stream_pop(s, event);
        s->ended = event->kind == GLIM_EVENT_STOP;
        return GLIM_OK;
    }
    return s->ended ? GLIM_DONE : GLIM_AGAIN;
}

void stream_end(struct stream *s) {
    s->ending = true;
}

bool stream_in_thought(const struct stream *s) {
    return s->thinking && s->mode == MODE_BASE && !s->n_hold && !s->again;
}
