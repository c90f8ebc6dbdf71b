/* Recognises chat templates that are ChatML by their program, not by their look. */
#ifndef TEXT_CHATML_H
#define TEXT_CHATML_H

#include "base/mem.h"

#define CHATML_START "<|im_start|>"
#define CHATML_END   "<|im_end|>"

/* What ChatML templates differ in. */
struct chatml {
    bool begin;        /* the begin token's text comes first */
    struct str system; /* said before a conversation without system message, marks and all; or
                        * empty. In the arena. */
};

/* Whether the template, with the settings that chat templates are run with (trim_blocks,
 * lstrip_blocks), does exactly this for any conversation:
 *   [begin] [system, unless the first message is one]
 *   per message: <|im_start|> role LF content <|im_end|> LF
 *   [<|im_start|>assistant LF, if a reply is asked for]
 * Spacing, quotes, m.x for m['x'] and where outputs are joined make no difference; anything else
 * does. 1: yes, *out is filled; 0: no; GLIM_NOMEM. */
int chatml_match(struct chatml *out, struct str template, struct arena *a, glim_err *e);

#endif
