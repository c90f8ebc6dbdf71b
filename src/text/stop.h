/* Stop strings in streamed text: text passes through, held back only while it may turn out to be
 * the beginning of a stop string, and ends exactly before the first one. */
#ifndef TEXT_STOP_H
#define TEXT_STOP_H

#include "base/mem.h"

struct stop {
    u32 n;
    struct stop_string *strings; /* [n] */
    i32 hit;                     /* index of the string that was met, -1 before */
};

/* Copies the strings into a, which *out lives in. n = 0 is fine: all text passes. GLIM_ARG for an
 * empty string, which would be met at once. */
int stop_open(struct stop **out, const struct str *strings, u32 n, struct arena *a, glim_err *e);
/* As just opened, for the next answer. */
void stop_reset(struct stop *s);

/* Takes the next piece of text. out[0] followed by out[1] is what may be shown now; either may be
 * empty, they point into s and text. Returns true when a stop string was met: out ends before it
 * and later calls give nothing. The string that is complete first counts, of several complete at
 * the same byte the longest; how the text is cut into pieces makes no difference. Allocates
 * nothing; time is bytes times strings. */
bool stop_feed(struct stop *s, struct str text, struct str out[2]);
/* At the end of the text: what was still held back, empty after a stop string was met. */
struct str stop_end(struct stop *s);

#endif
