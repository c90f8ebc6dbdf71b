/* Filters over sequences: the second half of the table. */
#ifndef TEXT_JINJA_SEQ_H
#define TEXT_JINJA_SEQ_H

#include "text/jinja_call.h"

const struct jspec *jspec_seq_filter(struct str name);

#endif
