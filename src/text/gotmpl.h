/* Chat templates of Ollama's store: Go's text/template with Ollama's functions and variables. What
 * Ollama makes of a conversation is made here byte for byte: one rendering of all messages where
 * the template reads .Messages, else one per turn, cut behind .Response. Thoughts in answers
 * (<think>) are apart from them for templates that read .Thinking. Not there: html, js, urlquery,
 * call, complex numbers, and values that Go prints as addresses. */
#ifndef TEXT_GOTMPL_H
#define TEXT_GOTMPL_H

#include "text/jinja.h"

struct gotmpl;

#define GOTMPL_NAME "Ollama's template" /* in messages */

/* Reads a template; *out lives in a. GLIM_FORMAT: it is not well-formed; GLIM_UNSUPPORTED: it calls
 * a function that is not known. The message names line and name. */
int gotmpl_open(struct gotmpl **out, struct str source, struct arena *a, glim_err *e);

/* Whether the template mentions that variable, in any case: "tools". */
bool gotmpl_reads(const struct gotmpl *t, const char *name);

struct gotmpl_request {
    struct jval messages; /* a list of dictionaries */
    struct jval tools;    /* a list, or anything else for none */
    /* Further variables: think (true, false, or a level), enable_thinking or thinking as others
     * call it, reasoning_effort; and any other by its name. May be NULL. */
    const struct jdict *more;
    i64 now; /* seconds since 1970 of the local time */
};

/* Renders in m's arena. GLIM_ARG: the template cannot be carried out with this conversation. */
int gotmpl_render(const struct gotmpl *t, struct jmem *m, const struct gotmpl_request *r,
                  struct jinja_result *out);

#endif
