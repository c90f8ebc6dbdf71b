/* Chat templates in Jinja: a program once per model, a rendering per conversation. What Jinja2
 * makes of a template under the settings of Hugging Face's chat templates (sandbox, trim_blocks,
 * lstrip_blocks, break and continue, generation, tojson as json.dumps, raise_exception,
 * strftime_now) is made here byte for byte. Not there, and errors at load: recursive for loops,
 * blocks, inheritance, imports, and four filters that no model's template uses. random would write
 * earlier turns anew at each later one; pprint is for people's eyes, and its lines differ between
 * versions of Python; striptags and urlize need HTML's two thousand names of characters and a guess
 * of what is an address. */
#ifndef TEXT_JINJA_H
#define TEXT_JINJA_H

#include "text/jval.h"

struct jinja;

/* Reads a template; *out lives in a. GLIM_FORMAT: it is not well-formed; GLIM_UNSUPPORTED: it uses
 * a tag, filter, test, function or method that is not known. The message names line and name. */
int jinja_open(struct jinja **out, struct str template, struct arena *a, glim_err *e);

/* Whether the template mentions that name. */
bool jinja_reads(const struct jinja *j, const char *name);

struct jinja_result {
    struct str text;
    const u8 *marks; /* [text.n] 1: written by the template; NULL: all alike */
    bool ours;       /* marks NULL: all by the template */
};

struct jinja_clock {
    i64 seconds; /* since 1970-01-01 00:00 of the local time, for strftime_now */
};

/* Renders with the given variables, in m's arena. GLIM_ARG: the template refuses the conversation
 * (raise_exception), or cannot be carried out with it; GLIM_NOMEM. */
int jinja_render(const struct jinja *j, struct jmem *m, const struct jdict *variables,
                 struct jinja_clock now, struct jinja_result *out);

#endif
