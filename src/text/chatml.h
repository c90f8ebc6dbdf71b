/* Recognises chat templates that are ChatML by their program, not by their look. */
#ifndef TEXT_CHATML_H
#define TEXT_CHATML_H

#include "text/template.h"

#define CHATML_START "<|im_start|>"
#define CHATML_END   "<|im_end|>"

/* What ChatML templates differ in. */
struct chatml {
    bool begin;        /* the begin token's text comes first */
    struct str system; /* said before a conversation without system message, marks and all; or
                        * empty. Borrowed from the form. */
};

/* Whether the template of that normal form does exactly this for any conversation:
 *   [begin] [system, unless the first message is one]
 *   per message: <|im_start|> role LF content <|im_end|> LF
 *   [<|im_start|>assistant LF, if a reply is asked for]
 * If so, *out is filled. */
bool chatml_match(struct chatml *out, struct str form);

#endif
