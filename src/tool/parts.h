/* The parts of an answer, gathered from its events. */
#ifndef TOOL_PARTS_H
#define TOOL_PARTS_H

#include "base/base.h"

#include <jansson.h>
#include <stdio.h>

struct parts_text {
    char *p; /* owned, zero-terminated */
    size_t n;
    FILE *f; /* owned */
};

struct parts {
    struct parts_text text, thought, args; /* args: of the call that is being read */
    json_t *calls, *notes;                 /* lists: of {id, name, arguments}; of texts */
    bool calling, failed;                  /* failed: there was no memory for some of it */
};

void parts_open(struct parts *p);
void parts_close(struct parts *p);
void parts_take(struct parts *p, const glim_event *e);
/* The answer is over: what was read of a call is none. False: no memory for some of it. */
bool parts_end(struct parts *p);

/* The answer as a message of a conversation, with what it has of reasoning_content and tool_calls.
 * NULL: no memory. */
json_t *parts_message(const struct parts *p);

#endif
