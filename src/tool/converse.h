/* A conversation as JSON: from files, in the making, and back into files. */
#ifndef TOOL_CONVERSE_H
#define TOOL_CONVERSE_H

#include "base/base.h"

#include <jansson.h>

enum think { THINK_AS_IS, THINK_ON, THINK_OFF }; /* as the template does by itself; or asked for */

struct converse {
    json_t *messages;    /* owned: a list of objects */
    json_t *tools;       /* owned: a list, or NULL */
    json_t *settings;    /* owned: an object by the names of flags, or NULL */
    char *text[3];       /* owned: what c points to */
    glim_conversation c; /* for the library: see converse_make */
};

/* No messages yet. */
int converse_open(struct converse *c, glim_err *e);
void converse_close(struct converse *c);

/* Reads a file in place of what is there; - is stdin. It is a list of messages; or an object with
 * such a list as "messages", and perhaps "tools" and "settings". what names it in errors. On a
 * failure nothing changes. */
int converse_read(struct converse *c, const char *path, const char *what, glim_err *e);
/* Only tools: a list, or an object with "tools". Without that, a file with none of them is an
 * error. */
int converse_read_tools(struct converse *c, const char *path, const char *what, glim_err *e);
/* Whether all of a list of tools can be offered: {"type": "function", "function": {"name": ...}},
 * or what is within. The error counts them from 1. */
int converse_check_tools(const json_t *list, const char *path, const char *what, glim_err *e);

/* Writes it as such an object, in a file that is there when all of it is; *replaced tells whether
 * there was one. replace: that may be. */
int converse_write(const struct converse *c, const char *path, bool replace, bool *replaced,
                   glim_err *e);

/* A turn behind the others; a system text in front of them, in place of the one that is there. */
int converse_add(struct converse *c, const char *role, const char *text, glim_err *e);
/* The result of a tool call {id, name}. */
int converse_add_result(struct converse *c, const json_t *call, const char *text, glim_err *e);
/* Takes over a message; NULL is "no memory". */
int converse_add_new(struct converse *c, json_t *message, glim_err *e);
/* The system text; NULL: none. "" takes it away. */
const char *converse_system(const struct converse *c);
/* "user", "assistant", ... of message i; "" where there is none. */
const char *converse_role(const struct converse *c, size_t i);
/* Its content, where that is a text; else "". */
const char *converse_text(const struct converse *c, size_t i);
const char *converse_last_role(const struct converse *c);
/* Whether the last message is the assistant's, with text that an answer can go on from: it calls no
 * tools. */
bool converse_can_go_on(const struct converse *c);
/* Forgets the messages from number n on. */
void converse_cut(struct converse *c, size_t n);

/* Writes the texts that c->c points to, until the next call. */
int converse_make(struct converse *c, enum think think, glim_err *e);

#endif
