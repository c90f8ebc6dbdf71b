/* Text from models made fit for a line, for JSON, for a terminal. */
#ifndef TOOL_FORMAT_H
#define TOOL_FORMAT_H

#include "base/base.h"

#include <jansson.h>
#include <stdio.h>

/* Writes s in quotes on one line: quotes, backslash, control characters and bytes that are not
 * UTF-8 are escaped (\" \\ \n \t \x1b). */
void format_quoted(struct str s, FILE *f);

/* 98362432 as "98.4 MB": decimal units. */
struct format_size {
    char s[24];
};
struct format_size format_size(u64 bytes);

/* A JSON string; what is not UTF-8 in s becomes U+FFFD. A new reference, NULL without memory. */
json_t *format_string(struct str s);
/* A JSON number, or where JSON has none (NaN, infinities, integers over 63 bits) a string. */
json_t *format_real(f64 v);
json_t *format_u64(u64 v);
/* Writes j on stdout, with a newline, and releases it. A NULL j or a failure inside it, for want of
 * memory, is said; returns an exit code. digits: of reals. */
int format_json(json_t *j, u32 digits);

#endif
