/* What the tab key makes of a word that is being typed. */
#ifndef TOOL_COMPLETE_H
#define TOOL_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct completion {
    const char *typed; /* borrowed: the word so far */
    char common[512];  /* what all that fit begin with, what was typed included */
    size_t n;          /* how many fit */
    bool open;         /* the one that fits is a folder: more may follow */
    char *list;        /* owned: the names, one a line; or NULL */
    size_t list_n;
    FILE *f; /* owned: while names are added */
};

void complete_begin(struct completion *c, const char *typed);
/* A name that fits if it begins with what was typed. */
void complete_offer(struct completion *c, const char *name);
/* The files that a path may become; ~/ is the home folder. */
void complete_files(struct completion *c);
/* No more names: list is there. */
void complete_end(struct completion *c);
void complete_free(struct completion *c);

#endif
