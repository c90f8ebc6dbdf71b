/* Text and token ids from files, pipes and flags. */
#ifndef TOOL_INPUT_H
#define TOOL_INPUT_H

#include "base/base.h"

/* All of a file, or of stdin for "-", zero-terminated; *text is the caller's to free(). */
int input_read(const char *path, char **text, size_t *len, glim_err *e);
/* A list of token ids: decimal numbers with blanks or commas between. *ids is the caller's to
 * free(). */
int input_ids(const char *text, size_t len, i32 **ids, size_t *n, glim_err *e);

#endif
