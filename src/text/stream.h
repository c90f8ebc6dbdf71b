/* Answers into events: a push parser that turns the text of an answer, as it comes, into text,
 * thoughts and tool calls, in the notation that the model was trained on.
 *
 * - How the text is cut into pieces makes no difference: events of one kind in a row join to the
 *   same.
 * - Arguments come out as compact JSON, complete with GLIM_EVENT_CALL_END.
 * - What is no call after all stays text, byte for byte and marks included, behind a note; a call
 *   that had begun is taken back by GLIM_EVENT_CALL_DROP. Model text is never an error.
 * - White space beside thoughts and calls belongs to the marks and is left out. An answer without
 *   them comes out as it is.
 * - Text and thoughts take no memory. A call takes memory in proportion to its length, at most
 *   `limit` bytes of which are read; a longer one stays text. */
#ifndef TEXT_STREAM_H
#define TEXT_STREAM_H

#include "text/stream_family.h"
#include "text/stream_value.h"

enum stream_flag {
    STREAM_TOOLS = 1,   /* tools were offered: calls without a mark are calls, too */
    STREAM_THOUGHT = 2, /* the answer begins within a thought (stream_opens_thought) */
    STREAM_WHOLE = 4,   /* calls are handed out when complete: none is ever dropped */
};

/* JSON's types, as bits. */
enum stream_type {
    TYPE_STRING = 1,
    TYPE_NUMBER = 2,
    TYPE_BOOL = 4,
    TYPE_NULL = 8,
    TYPE_OBJECT = 16,
    TYPE_ARRAY = 32,
};

/* What is known of the tools that were offered. */
struct stream_tools {
    const void *ud; /* borrowed */
    bool (*knows)(const void *ud, struct str name);
    /* Which types a tool's argument may have: bits of enum stream_type; 0: not known. */
    u32 (*types)(const void *ud, struct str name, struct str argument);
};

struct stream_queued {
    u8 kind; /* enum glim_event_kind */
    u8 from; /* which buffer */
    size_t at, n;
};

/* A call being read; private to stream_call*.c. */
struct stream_call {
    u8 state;
    bool bare;     /* begun without a mark: if it is none, nothing is wrong */
    bool aside;    /* bare, where the template would have another mark: only a declared tool's */
    u8 fence;      /* backquotes that close the call, still to come */
    bool tag;      /* behind <|python_tag|>: if it is no call, it is code */
    bool list;     /* within [ ] */
    bool marked;   /* within a list's marks */
    bool some;     /* of which a call was complete */
    bool nested;   /* within "function": { } */
    bool has_args; /* args is what it will be, up to what is still to come */
    bool begun;    /* GLIM_EVENT_CALL is out */
    bool whole;    /* hold it until it is complete */
    u8 target;     /* what the value being read is for */
    size_t lead;   /* bytes of raw before what follows the mark */
    size_t sent;   /* bytes of args handed out */
    bool cdata;    /* the value being read stands within <![CDATA[ ]]> */
    u32 types;     /* of the argument being read, where its notation does not tell */
    u32 n_hold;
    char hold[128]; /* what may be the end of a value; see stream_call_tag.c */
    struct value value;
    struct stream_text args, name, id, word; /* owned; word: a key, a name, a value not kept */
};

struct stream {
    enum stream_family family;
    u32 flags;
    u32 spelled; /* bit i: mark i counts when it comes in ordinary tokens */
    size_t limit;
    u32 n_calls;                      /* so far, over all answers: ids are made of it */
    const struct stream_tools *tools; /* borrowed; NULL: nothing is known of them */
    /* private */
    u8 mode;
    bool thinking;     /* text is a thought */
    bool channel;      /* a channel that is no thought is open */
    bool thought_seen; /* there was one */
    bool lead;         /* nothing but white space since the beginning, a thought or a call */
    bool skip_space;   /* white space that comes now is dropped */
    bool ending, ended, stopped;
    u8 close_is;      /* what the next mark that closes a call means */
    bool list_failed; /* the next mark that closes a list is text */
    u32 n_hold, n_space;
    const struct stream_mark *again; /* a mark to be taken once more; or NULL */
    bool again_control;
    char hold[STREAM_MARK_BYTES]; /* the beginning of a spelled mark, perhaps */
    char space[256];              /* white space that a mark may follow */
    char out[1024];               /* text to hand out: from..n not yet queued */
    size_t out_from, out_n;
    bool out_thought;
    struct stream_queued queue[16];
    u32 q_first, q_n;
    struct stream_text raw; /* owned: the call being read, as it came */
    bool raw_spent;
    char note[512];
    size_t note_n;
    struct stream_call call;
};

/* Zeroed flags and the default limit of 1 MiB. Takes no memory yet; alloc is borrowed. spelled: see
 * above; marks that the family writes in ordinary tokens always count. */
void stream_open(struct stream *s, enum stream_family family, u32 spelled, const glim_alloc *alloc);
void stream_close(struct stream *s);
/* Begins an answer. */
void stream_reset(struct stream *s, u32 flags);

/* Takes bytes off the front of *in and gives the next event. control: *in is the name of one
 * control token, given whole. Ordinary text is cut anywhere, and is UTF-8 if what comes out is to
 * be. GLIM_OK: *event, valid until the next call; GLIM_AGAIN: *in is used up; GLIM_DONE: all has
 * been said (after stream_end). GLIM_NOMEM. */
int stream_next(struct stream *s, struct str *in, bool control, glim_event *event, glim_err *e);
/* There is no more text: what is held back comes out of stream_next (with an empty *in), then
 * GLIM_EVENT_STOP, then GLIM_DONE. */
void stream_end(struct stream *s);
/* Whether what has been taken ends within a thought, where its closing mark may stand: not within a
 * call or a mark. */
bool stream_in_thought(const struct stream *s);

/* ---- Between stream.c and stream_head.c ------------------------------------------------------ */

/* HEAD_MARK stands for <|start|>, <|channel|>, <|constrain|> in what is kept of a message's head.
 */
enum { HEAD_MARK = 1, HEAD_BYTES = 256 };
enum head_kind { HEAD_TEXT, HEAD_THOUGHT, HEAD_CALL, HEAD_ODD };
/* function: of HEAD_CALL, shorter than HEAD_BYTES. */
enum head_kind head_read(struct str head, struct str *function);

/* ---- Between stream.c and stream_call.c ------------------------------------------------------ */

enum call_step {
    CALL_BAD = -1, /* it is none: s->call.value.why says why */
    CALL_MORE,
    CALL_LEAVE, /* it was over before this byte or mark */
    CALL_OVER,  /* this byte or mark ended it */
};
/* A call begins behind a mark; raw holds the mark. */
void call_enter(struct stream *s, enum stream_mark_kind kind);
/* Without one, or behind one that may be text; aside: as in struct stream_call. */
void call_enter_bare(struct stream *s, bool aside);
enum call_step call_byte(struct stream *s, char c);
enum call_step call_mark(struct stream *s, enum stream_mark_kind kind, struct str text,
                         bool control);
/* The answer ends within a call. */
enum call_step call_end(struct stream *s);
/* Hands out the arguments read so far. */
void call_flush(struct stream *s);
/* What has been handed out is no longer needed, where nothing can make it be taken back. */
void call_drained(struct stream *s);
bool call_in_string(const struct stream *s);
/* Between the calls of a list that has marks. */
bool call_in_list(const struct stream *s);
/* A call of this function begins, of which the arguments are still to come. */
void call_enter_named(struct stream *s, struct str name);
void call_free(struct stream *s);

enum stream_buffer { FROM_NOWHERE, FROM_OUT, FROM_RAW, FROM_ARGS, FROM_NOTE };
void stream_queue(struct stream *s, enum glim_event_kind kind, enum stream_buffer from, size_t at,
                  size_t n);
void stream_note(struct stream *s, const char *what, const char *why);

#endif
