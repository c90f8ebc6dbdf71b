/* What a person may change while a conversation goes on: the flags of generation, by their names.
 */
#ifndef TOOL_SETTINGS_H
#define TOOL_SETTINGS_H

#include "tool/generate.h"

/* Whether a row of a command's flags is a setting of g. */
bool settings_has(const struct generation_options *g, const struct option_row *r);

/* Sets one by its name. GLIM_NOT_FOUND, with the nearest name, or GLIM_ARG; then nothing changes.
 */
int settings_set(const struct option_row *rows, struct generation_options *g, const char *name,
                 const char *text, glim_err *e);
/* All of them with their values and what they do; or one. False: there is no such one. */
bool settings_show(const struct option_row *rows, const struct generation_options *g,
                   const char *name, FILE *f);

/* Those that flags or settings_set gave a value, as an object for a file; NULL: no memory. And
 * back: below_flags leaves alone what has been given one. */
json_t *settings_json(const struct option_row *rows, const struct generation_options *g);
int settings_take(const struct option_row *rows, struct generation_options *g,
                  const json_t *settings, bool below_flags, glim_err *e);

#endif
