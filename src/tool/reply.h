/* An answer on its way to stdout, for the commands that generate. */
#ifndef TOOL_REPLY_H
#define TOOL_REPLY_H

#include "tool/generate.h"
#include "tool/parts.h"

#include <stdio.h>

struct reply {
    glim_session *session; /* borrowed */
    const struct generation_options *options;
    glim_stats before;   /* what the session had done before this prompt */
    size_t n_prompt;     /* tokens in the context where the answer begins */
    size_t n_cached;     /* those of them that were there already, processed */
    struct parts *parts; /* borrowed: gathers what the answer is made of; NULL: nobody asks */
    u64 start_ns;
    bool noted; /* a progress note is on the terminal */
    char last;  /* byte printed; 0: nothing yet */
    bool interrupted;
    bool raw;           /* text as it comes: nothing in it is a thought or a call */
    bool thought;       /* the last thing printed was a thought */
    bool terminal, dim; /* stdout is one; which can show text dimmed */
    struct {
        char *p; /* owned: what is not shown as it comes, zero-terminated */
        size_t n;
        FILE *f; /* owned: while it is written */
    } call, notes;
};

enum reply_end {
    REPLY_DONE,       /* complete, cut or interrupted: reply_reason tells */
    REPLY_FAILED,     /* glim_session_error tells */
    REPLY_UNWRITABLE, /* stdout is gone, or memory; the reason has been printed */
};

/* Before a prompt is queued. */
void reply_begin(struct reply *r, glim_session *session, const struct generation_options *options);
/* After it; the two below do so themselves. */
void reply_queued(struct reply *r);
/* Prints pieces as they come until the answer is complete or Ctrl-C is seen
 * (tool/interrupt.h). whole_line: the answer ends with a line's end even where the model's text
 * does not. On a terminal thoughts are dimmed ($NO_COLOR: in brackets), elsewhere they are left
 * out. A tool call is a line of its own when it is complete: as name(arguments), dimmed, on a
 * terminal; elsewhere a JSON object. Notes on the answer go to stderr behind it. */
enum reply_end reply_stream(struct reply *r, bool whole_line);

/* To stdout, a line for each token of the answer that is complete, its end token too: the
 * log-probability, the token, then the likeliest ones with theirs, with tabs between. */
void reply_put_logprobs(const struct reply *r, const glim_model *model);

/* "prompt: 31 tokens, 120.5 tokens/s; answer: ..."; always: how many of them are new is said even
 * where all are. */
void reply_put_speeds(const struct reply *r, bool always, FILE *f);
/* Why the answer stopped before the model ended it, as "; interrupted" and the like; else "". Valid
 * until the next call. */
const char *reply_reason(const struct reply *r);

#endif
