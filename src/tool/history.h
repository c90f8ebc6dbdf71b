/* What was entered earlier, in memory and in a file. */
#ifndef TOOL_HISTORY_H
#define TOOL_HISTORY_H

#include "base/base.h"

#include <histedit.h>

struct past {
    History *list;   /* owned */
    char path[1024]; /* of the file; "": none */
};

/* The last entries of the file, if keep; a file that cannot be used is said and left alone. */
int past_open(struct past *p, bool keep, glim_err *e);
void past_close(struct past *p);
/* Adds to the list, and at once to the file, so that another chat or a crash loses nothing. */
void past_add(struct past *p, const char *text);

#endif
