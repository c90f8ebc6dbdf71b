/* Runs an answer through its parser and writes down the events, one a line, those of one kind in a
 * row joined, line ends within them as \v: for tests and the fuzz target. In an answer,
 * \001NAME\002 is a control token. */
#ifndef TEST_STREAM_RIG_H
#define TEST_STREAM_RIG_H

#include "text/stream.h"

#include <stdlib.h>
#include <string.h>

#define CTRL(name) "\001" name "\002"

/* The tools that were offered: arguments have the types that their names say. */
static inline bool stream_rig_knows(const void *ud, struct str name) {
    (void)ud;
    return !str_is(name, "nobody");
}
static inline u32 stream_rig_types(const void *ud, struct str name, struct str argument) {
    static const struct {
        const char *argument;
        u32 types;
    } types[] = {
        {"text", TYPE_STRING},
        {"number", TYPE_NUMBER},
        {"flag", TYPE_BOOL},
        {"list", TYPE_ARRAY},
        {"object", TYPE_OBJECT},
        {"maybe", TYPE_STRING | TYPE_NULL},
        {"any", TYPE_STRING | TYPE_NUMBER | TYPE_OBJECT},
    };
    (void)ud, (void)name;
    for (size_t i = 0; i < COUNT(types); i++) {
        if (str_is(argument, types[i].argument)) return types[i].types;
    }
    return 0;
}
static const struct stream_tools stream_rig_tools = {NULL, stream_rig_knows, stream_rig_types};

struct stream_log {
    char *p; /* owned: free(log.p) */
    size_t n, cap;
    int last; /* kind of the line being written, -1 before */
    int rc;   /* what ended it: GLIM_DONE or an error */
    u32 calls, drops, notes, thoughts;
    bool broken; /* the events came in an order that cannot be */
    bool open;   /* a call has begun */
};

static inline void stream_log_put(struct stream_log *l, const char *s, size_t n) {
    if (l->n + n + 1 > l->cap) {
        l->cap = 2 * (l->n + n + 1);
        l->p = realloc(l->p, l->cap);
        if (!l->p) abort();
    }
    memcpy(l->p + l->n, s, n);
    l->n += n;
    l->p[l->n] = 0;
}

static inline void stream_log_event(struct stream_log *l, const glim_event *ev) {
    static const char *const names[] = {"text ", "thought ", "call ", "args ",
                                        "end",   "drop",     "note ", "stop"};
    bool joins = ev->kind <= GLIM_EVENT_ARGS && ev->kind != GLIM_EVENT_CALL;
    if (!(joins && l->last == (int)ev->kind)) {
        if (l->last >= 0) stream_log_put(l, "\n", 1);
        stream_log_put(l, names[ev->kind], strlen(names[ev->kind]));
    }
    l->last = (int)ev->kind;
    stream_log_put(l, ev->text, ev->len);
    for (size_t i = l->n - ev->len; i < l->n; i++) { /* a line is an event */
        if (l->p[i] == '\n') l->p[i] = '\v';
    }
    bool of_call = ev->kind == GLIM_EVENT_ARGS || ev->kind == GLIM_EVENT_CALL_END ||
                   ev->kind == GLIM_EVENT_CALL_DROP;
    if (of_call != l->open) l->broken = true;
    if (ev->kind == GLIM_EVENT_CALL) {
        stream_log_put(l, ev->name, strlen(ev->name));
        stream_log_put(l, " ", 1);
        stream_log_put(l, ev->id, strlen(ev->id));
        l->open = true;
        l->calls++;
    }
    if (ev->kind == GLIM_EVENT_CALL_END || ev->kind == GLIM_EVENT_CALL_DROP) l->open = false;
    l->drops += ev->kind == GLIM_EVENT_CALL_DROP;
    l->notes += ev->kind == GLIM_EVENT_NOTE;
    l->thoughts += ev->kind == GLIM_EVENT_THOUGHT;
    if (joins && ev->len == 0) l->broken = true;
}

/* Takes events until *in is used up. */
static inline int stream_log_drain(struct stream_log *l, struct stream *s, struct str *in,
                                   bool control) {
    glim_event ev;
    glim_err e = {0};
    int rc;
    while ((rc = stream_next(s, in, control, &ev, &e)) == GLIM_OK)
        stream_log_event(l, &ev);
    return rc;
}

/* How long the next piece of ordinary text is, at most n (n > 0). */
typedef size_t stream_cut(void *ud, size_t at, size_t n);

static inline struct stream_log stream_run(struct stream *s, u32 flags, struct str answer,
                                           stream_cut *cut, void *ud) {
    struct stream_log l = {.last = -1};
    stream_log_put(&l, "", 0);
    stream_reset(s, flags);
    l.rc = GLIM_AGAIN;
    for (size_t at = 0; at < answer.n && l.rc == GLIM_AGAIN;) {
        const char *p = answer.p + at;
        size_t left = answer.n - at;
        bool control = *p == '\001';
        const char *end = memchr(p, control ? '\002' : '\001', left);
        size_t n = end ? (size_t)(end - p) : left;
        if (control) p++, n--;
        size_t piece = control || !cut ? n : cut(ud, at, n);
        struct str in = {p, piece};
        l.rc = stream_log_drain(&l, s, &in, control);
        if (l.rc == GLIM_AGAIN && in.n) l.broken = true;
        at = (size_t)(p - answer.p) + piece + (control && end);
    }
    if (l.rc != GLIM_AGAIN) return l;
    stream_end(s);
    struct str none = {"", 0};
    l.rc = stream_log_drain(&l, s, &none, false);
    if (l.rc == GLIM_DONE && (l.last != GLIM_EVENT_STOP || l.open)) l.broken = true;
    return l;
}

static inline size_t stream_cut_bytes(void *ud, size_t at, size_t n) {
    (void)ud, (void)at, (void)n;
    return 1;
}
/* Two pieces: cut at the position *ud of the answer. */
static inline size_t stream_cut_once(void *ud, size_t at, size_t n) {
    size_t where = *(size_t *)ud;
    return where > at && where < at + n ? where - at : n;
}
/* Random pieces; *ud is the state. */
static inline size_t stream_cut_random(void *ud, size_t at, size_t n) {
    u64 *state = ud;
    (void)at;
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    size_t piece = 1 + (size_t)(*state >> 33) % (*state >> 60 ? 9 : 60);
    return MIN(piece, n);
}

#endif
