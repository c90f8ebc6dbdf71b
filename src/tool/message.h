/* Messages and commands as they are typed: one line, or several that belong together. */
#ifndef TOOL_MESSAGE_H
#define TOOL_MESSAGE_H

#include "tool/line.h"

struct message {
    char *p; /* owned, zero-terminated */
    size_t n, cap;
};

/* Reads one: a line; lines that go on by a backslash at the end; what stands between """, also
 * behind a command's name; pasted text. Line ends at its end are left out. What ends within lines
 * that belong together is given up at a terminal (LINE_INTERRUPTED), a failure in a block of a
 * pipe. */
enum line_kind message_read(struct message *m, struct line_reader *in, const char *prompt,
                            glim_err *e);

/* Whether a line is a command: "/" and one word. A path, or a line that begins with a blank, is
 * text. */
bool message_is_command(const char *line);
/* What stands behind the command's name. */
const char *message_argument(const char *line);

#endif
