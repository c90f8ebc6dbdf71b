/* Ctrl-C as a flag. */
#ifndef TOOL_INTERRUPT_H
#define TOOL_INTERRUPT_H

#include "base/base.h"

#include <signal.h>

/* Set by Ctrl-C while it is caught; whoever acts on it clears it. */
extern volatile sig_atomic_t interrupt_seen;

/* Ctrl-C sets the flag from now on and does not end the program; with once only the first one, so
 * that a second one ends a program that does not react. Where SIGINT is ignored, as in the
 * background of a script, it stays ignored. */
void interrupt_catch(bool once);
/* Back to what Ctrl-C did before. */
void interrupt_release(void);

#endif
