/* Completion of words: the longest beginning that all candidates share. */
#include "tool/complete.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_LISTED = 60 };

void complete_begin(struct completion *c, const char *typed) {
    *c = (struct completion){.typed = typed};
    c->f = open_memstream(&c->list, &c->list_n);
}

/* name is what is shown of it: of a path its last part. */
static void offer(struct completion *c, const char *whole, const char *name) {
    size_t n = strlen(c->typed);
    if (strncmp(whole, c->typed, n) != 0 || strlen(whole) >= sizeof c->common) return;
    c->n++;
    if (c->n == 1) {
        strcpy(c->common, whole);
    } else {
        size_t same = n;
        while (c->common[same] && c->common[same] == whole[same])
            same++;
        /* Not within a character. */
        while (same > n && ((unsigned char)c->common[same] & 0xc0) == 0x80)
            same--;
        c->common[same] = 0;
    }
    if (c->f && c->n <= MOST_LISTED) fprintf(c->f, "%s\n", name);
    if (c->f && c->n == MOST_LISTED + 1) fprintf(c->f, "...\n");
}

void complete_offer(struct completion *c, const char *name) {
    offer(c, name, name);
}

/* Names that would steer the terminal are not offered. */
static bool is_plain(const char *name) {
    for (; *name; name++) {
        if (iscntrl((unsigned char)*name)) return false;
    }
    return true;
}

void complete_files(struct completion *c) {
    const char *slash = strrchr(c->typed, '/'), *home = getenv("HOME");
    int n_folder = slash ? (int)(slash - c->typed) + 1 : 0;
    char folder[1024], path[2048];
    bool at_home = strncmp(c->typed, "~/", 2) == 0 && home;
    struct dirent **entry = NULL;
    snprintf(folder, sizeof folder, "%s%.*s", at_home ? home : "", n_folder - at_home,
             c->typed + at_home);
    int n = scandir(*folder ? folder : ".", &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name, *base = c->typed + n_folder;
        struct stat st;
        bool hidden = name[0] == '.' && base[0] != '.';
        bool dots = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
        if (!hidden && !dots && is_plain(name) && strncmp(name, base, strlen(base)) == 0) {
            snprintf(path, sizeof path, "%s%s", folder, name);
            bool is_folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
            snprintf(path, sizeof path, "%.*s%s%s", n_folder, c->typed, name, is_folder ? "/" : "");
            offer(c, path, path + n_folder);
            c->open = c->n == 1 && is_folder;
        }
        free(entry[i]);
    }
    free(entry);
}

void complete_end(struct completion *c) {
    if (c->f) fclose(c->f);
    c->f = NULL;
}

void complete_free(struct completion *c) {
    free(c->list);
    c->list = NULL;
}
