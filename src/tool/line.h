/* Lines that a person types, edited and with a history; or lines of a pipe, as they are. */
#ifndef TOOL_LINE_H
#define TOOL_LINE_H

#include "base/base.h"
#include "tool/complete.h"

struct line_reader;

enum line_kind {
    LINE_TEXT,
    LINE_END,         /* Ctrl-D, or the end of the pipe */
    LINE_INTERRUPTED, /* Ctrl-C at a prompt */
    LINE_FAILED,      /* e tells */
};

/* keep_history: the history is read from and added to glim/history in the user's state folder
 * ($XDG_STATE_HOME, ~/.local/state); why that does not work is said, and is no failure. Interrupts
 * must be caught (tool/interrupt.h) where lines are edited. */
int line_open(struct line_reader **out, bool keep_history, glim_err *e);
void line_close(struct line_reader *r); /* NULL is fine */

/* Whether lines are edited: both ends are terminals. Otherwise no prompt is shown. */
bool line_is_edited(const struct line_reader *r);

/* What the tab key offers: names go to complete_offer for the word that is at the end of line,
 * which is what stands before the cursor; where there is nothing to complete, complete_begin is not
 * called and it returns false. */
typedef bool line_completer(void *ud, const char *line, struct completion *c);
void line_set_completer(struct line_reader *r, line_completer *fn, void *ud);

/* The next line without its end, zero-terminated, valid until the next call. Text pasted into an
 * edited line keeps its line ends. */
enum line_kind line_read(struct line_reader *r, const char *prompt, const char **text, glim_err *e);
/* Whether something had been typed when Ctrl-C came. */
bool line_had_text(const struct line_reader *r);

/* Adds to the history what was entered; nothing for a pipe. */
void line_remember(struct line_reader *r, const char *text);

#endif
