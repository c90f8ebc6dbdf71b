/* JSON as text. */
#ifndef TOOL_JSONTEXT_H
#define TOOL_JSONTEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Writes j with numbers as short as they can be and still be read as the same (jansson's own
 * writing makes 0.10000000000000001 of 0.1). Objects and lists of the outermost `spread` levels
 * have a line for each member. False: no memory, or f cannot be written. */
bool jsontext_write(const json_t *j, FILE *f, int spread);
/* The same as compact text, the caller's to free; NULL: no memory. */
char *jsontext_make(const json_t *j);

#endif
