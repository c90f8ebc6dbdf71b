/* The history of entered lines. The file has libedit's own format, which keeps the line ends within
 * an entry. */
#include "tool/history.h"

#include "tool/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ENTRIES = 1000, MOST_BYTES = 1 << 20 };

/* $XDG_STATE_HOME/glim/history, or its default; "" when there is no home. The XDG specification
 * wants relative paths ignored. */
static void find_path(char *path, size_t cap) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = 0;
    path[0] = 0;
    if (state && state[0] == '/')
        n = snprintf(path, cap, "%s/glim/history", state);
    else if (home && home[0] == '/')
        n = snprintf(path, cap, "%s/.local/state/glim/history", home);
    if ((size_t)n >= cap) path[0] = 0;
}

/* Makes the folders on the way to path, for this user only. */
static void make_folders(const char *path) {
    char folder[sizeof((struct past *)0)->path];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *p = strchr(folder + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        mkdir(folder, 0700); /* that it cannot be is seen when the file is opened */
        *p = '/';
    }
}

static void give_up(struct past *p, const char *why) {
    options_say("%s: %s; going on without a history file", p->path, why);
    p->path[0] = 0;
}

/* Writes the list anew once the file has grown far beyond it. */
static void shorten(struct past *p) {
    struct stat st;
    char fresh[sizeof p->path + 16];
    HistEvent ev;
    if (stat(p->path, &st) != 0 || st.st_size <= MOST_BYTES) return;
    snprintf(fresh, sizeof fresh, "%s.%ld", p->path, (long)getpid());
    if (history(p->list, &ev, H_SAVE, fresh) < 0 || rename(fresh, p->path) != 0) unlink(fresh);
}

int past_open(struct past *p, bool keep, glim_err *e) {
    HistEvent ev;
    *p = (struct past){.list = history_init()};
    if (!p->list) return fail(e, GLIM_NOMEM, "no memory for the history");
    history(p->list, &ev, H_SETSIZE, MOST_ENTRIES);
    history(p->list, &ev, H_SETUNIQUE, 1);
    if (!keep) return GLIM_OK;
    find_path(p->path, sizeof p->path);
    if (!p->path[0]) return GLIM_OK;
    struct stat st;
    if (stat(p->path, &st) != 0 || st.st_size == 0) return GLIM_OK; /* the first time */
    if (history(p->list, &ev, H_LOAD, p->path) < 0)
        give_up(p, access(p->path, R_OK) ? strerror(errno) : "is not a history file");
    else
        shorten(p);
    return GLIM_OK;
}

void past_close(struct past *p) {
    if (p->list) history_end(p->list);
    p->list = NULL;
}

/* Appends one entry: a list of only that one, saved behind the others. */
static bool append(const char *path, const char *text) {
    HistEvent ev;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "a");
    History *one = f ? history_init() : NULL;
    bool good = one != NULL;
    if (good) {
        fseek(f, 0, SEEK_END); /* libedit heads a file with its mark at position 0 only */
        history(one, &ev, H_SETSIZE, 1);
        good = history(one, &ev, H_ENTER, text) >= 0 && history(one, &ev, H_SAVE_FP, f) >= 0;
        history_end(one);
    }
    if (f) good = fclose(f) == 0 && good;
    return good;
}

void past_add(struct past *p, const char *text) {
    HistEvent ev;
    history(p->list, &ev, H_ENTER, text);
    if (!p->path[0]) return;
    make_folders(p->path);
    errno = 0;
    if (!append(p->path, text)) give_up(p, errno ? strerror(errno) : "cannot be written");
}
