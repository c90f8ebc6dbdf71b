/* The conversation of a session: what was said so far, so that a template can write all of it again
 * at each turn, and what of that is in the context already. */
#ifndef TEXT_TALK_H
#define TEXT_TALK_H

#include "run/session.h"
#include "text/chat.h"

struct talk {
    struct arena arena;
    struct jmem m;
    struct jval messages; /* a list of dictionaries; undefined before the first */
    struct jval tools;
    const struct jdict *more;
    u32 *start; /* [n_start] how many tokens were there before each message was queued */
    u64 n_start;
    bool went_on; /* the last message was an answer's beginning */
    u32 queued;   /* tokens in the context when the last turn was queued; 0: none was */
};

void talk_open(struct talk *t, const glim_alloc *alloc);
void talk_close(struct talk *t);

/* The session is taken back to n_ids tokens, as the caller counted them when messages were queued:
 * those queued from there on are forgotten. Whether there were any; the context may be shorter by
 * now, as a template may have left out what it wrote before. */
bool talk_rewind(struct talk *t, u64 n_ids);
/* What was said in the session since. answered: there was an answer, though it may be empty.
 * GLIM_ARG: the context holds something else than this conversation. */
int talk_follow(struct talk *t, const struct session *s, const struct vocab *v, bool answered,
                glim_err *e);
/* One more message, or a whole conversation in place of the one there is. Text is copied. */
int talk_add(struct talk *t, const struct session *s, struct str role, struct str text,
             glim_err *e);
int talk_replace(struct talk *t, struct str messages, struct str tools, struct str more,
                 glim_err *e);
/* Takes back the messages from number n on. */
void talk_drop(struct talk *t, u64 n);

/* The conversation's tokens that are not in the context yet: *ids, *n from the caller's arena. The
 * first *keep tokens of the context stay, the rest is to be rewound. What the model said stays in
 * its own tokens where the template writes the same text. */
int talk_render(struct talk *t, const struct chat *c, const struct session *s, bool go_on,
                struct arena *a, i32 **ids, u64 *n, u32 *keep, glim_err *e);

#endif
