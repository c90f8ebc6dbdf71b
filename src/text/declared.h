/* What a conversation's list of tools says about their arguments, for notations that write a number
 * and a text alike. */
#ifndef TEXT_DECLARED_H
#define TEXT_DECLARED_H

#include "text/jval.h"
#include "text/stream.h"

/* tools: the list as programs send it (OpenAI's objects, or functions alone), or any other value,
 * of which nothing is known. Borrowed; it may change between answers. */
struct stream_tools declared_tools(const struct jval *tools);

#endif
