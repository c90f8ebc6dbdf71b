/* Ctrl-C as a flag. */
#include "tool/interrupt.h"

volatile sig_atomic_t interrupt_seen;

static struct sigaction before;
static bool caught;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupt_seen = 1;
}

void interrupt_catch(bool once) {
    /* Writes go on: a half-written answer would look like a failure of the disk. */
    struct sigaction a = {.sa_handler = on_interrupt,
                          .sa_flags = (int)(SA_RESTART | (once ? SA_RESETHAND : 0))};
    struct sigaction old;
    if (sigaction(SIGINT, NULL, &old) != 0 || old.sa_handler == SIG_IGN) return;
    if (sigaction(SIGINT, &a, NULL) != 0) return;
    if (!caught) before = old;
    caught = true;
}

void interrupt_release(void) {
    if (caught) sigaction(SIGINT, &before, NULL);
    caught = false;
}
