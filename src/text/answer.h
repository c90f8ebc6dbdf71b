/* An answer in the making: text or turns in, whole characters out, over a session. */
#ifndef TEXT_ANSWER_H
#define TEXT_ANSWER_H

#include "run/session.h"
#include "text/stop.h"
#include "text/stream.h"
#include "text/talk.h"
#include "text/utf8.h"

struct answer {
    struct session *s;     /* borrowed */
    const struct vocab *v; /* borrowed */
    struct arena arena;    /* stop strings */
    struct stop *stop;
    u32 max_tokens, n_tokens; /* of this answer; max 0: no limit */
    u32 n_prompt;             /* tokens in front of it; 0: none was queued */
    bool begun, again;        /* the prompt's logits are kept; and to be used again */
    struct utf8_stream utf8;
    struct str piece;  /* bytes of the last token not yet turned into characters */
    struct str name;   /* of the last token, if it is a control token not yet handed out */
    struct str out[2]; /* text that may be shown, not yet handed out */
    enum glim_end end;
    bool flushed;
    bool events;                /* the answer is read by answer_event */
    i32 max_thought, n_thought; /* as in glim_generation; tokens of this answer that are thought */
    i32 close[STREAM_CLOSE_BYTES]; /* what closes a thought */
    u32 n_close, n_unsaid;         /* their number; how many are queued and not yet handed out */
    struct stream stream;          /* for answer_event */
    struct str in;                 /* what it has not yet taken */
    bool in_control;
    struct talk talk; /* where a template writes conversations */
    bool tools;       /* tools were offered to the model: calls without marks are calls */
    struct stream_tools declared; /* what the talk says of them */
};

int answer_open(struct answer *a, struct session *s, const struct vocab *v,
                enum stream_family family, glim_err *e);
void answer_close(struct answer *a);

/* Takes over stop strings (copied) and the token limit. */
int answer_set(struct answer *a, const glim_generation *gen, glim_err *e);

/* Queues ids and begins a new answer. With nothing in the context yet, the begin token comes first
 * where the metadata asks for one and ids does not start with it. */
int answer_feed(struct answer *a, const i32 *ids, u64 n, glim_err *e);
/* Queues text; flags: VOCAB_SPECIAL or 0. */
int answer_prompt(struct answer *a, struct str text, u32 flags, glim_err *e);
/* Queues turns and opens the assistant's; after earlier turns only what is new. */
int answer_chat(struct answer *a, const struct chat *c, const glim_message *messages, size_t n,
                glim_err *e);
/* Queues what of a conversation is not in the context yet. */
int answer_converse(struct answer *a, const struct chat *c, const glim_conversation *conversation,
                    glim_err *e);

/* As glim_next_answer. */
int answer_again(struct answer *a, glim_err *e);

/* As glim_next; errors go to s->err. Allocates nothing. */
int answer_next(struct answer *a, struct str *text);
/* As glim_next_event. Stop strings are looked for in the text as the model writes it, marks of
 * calls and thoughts included, but not across a control token. */
int answer_event(struct answer *a, glim_event *event);

#endif
