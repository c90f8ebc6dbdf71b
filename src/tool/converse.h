/* Conversations and tools from files, and answers as JSON, for glim run. */
#ifndef TOOL_CONVERSE_H
#define TOOL_CONVERSE_H

#include "tool/reply.h"

/* What the flags name; NULL: not given. */
struct converse_files {
    const char *messages, *tools; /* paths; - is stdin */
    bool think, no_think;
};

struct converse {
    char *messages, *tools, *variables; /* owned: JSON */
    glim_conversation c;                /* borrows those */
};

/* Reads the files. The turns that are given as well go behind the messages of the file, a system
 * text in front. */
int converse_read(struct converse *c, const struct converse_files *files, const glim_message *turns,
                  size_t n, glim_err *e);
void converse_free(struct converse *c);

/* As reply_stream, but the answer is printed when it is complete, as one JSON object: text,
 * thought, tool_calls (id, name, arguments), end, and how many tokens prompt and answer have. */
enum reply_end converse_put_json(struct reply *r);

#endif
