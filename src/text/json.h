/* JSON and values of templates. json_dump is declared with the other calls. */
#ifndef TEXT_JSON_H
#define TEXT_JSON_H

#include "text/jval.h"

/* Reads one JSON text. What it says is somebody's content: none of its text is the template's own.
 * GLIM_FORMAT, through m, names the line of the text. Numbers without fraction and exponent that
 * fit 64 bits are integers. Text must be UTF-8; of equal keys the last counts, as in Python. */
struct jval json_parse(struct jmem *m, struct str text);

#endif
