/* Text and token ids from files, pipes and flags. */
#include "tool/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than the longest context that any model has, even at many bytes a token. */
enum { MOST_BYTES = 1 << 28 };

static int read_all(FILE *f, const char *name, char **text, size_t *len, glim_err *e) {
    size_t n = 0, cap = 0;
    char *buf = NULL;
    for (;;) {
        if (n + 1 >= cap) {
            cap = cap ? cap * 2 : 4096;
            char *grown = realloc(buf, cap);
            if (!grown) {
                free(buf);
                return fail(e, GLIM_NOMEM, "%s: no memory for its text", name);
            }
            buf = grown;
        }
        size_t got = fread(buf + n, 1, cap - 1 - n, f);
        n += got;
        if (got == 0) break;
        if (n > MOST_BYTES) {
            free(buf);
            return fail(e, GLIM_ARG, "%s: more than %d MB of text", name, MOST_BYTES >> 20);
        }
    }
    if (ferror(f)) {
        free(buf);
        return fail(e, GLIM_IO, "%s: cannot read: %s", name, strerror(errno));
    }
    buf[n] = 0;
    *text = buf;
    *len = n;
    return GLIM_OK;
}

int input_read(const char *path, char **text, size_t *len, glim_err *e) {
    if (strcmp(path, "-") == 0) return read_all(stdin, "standard input", text, len, e);
    FILE *f = fopen(path, "rb");
    if (!f) return fail(e, GLIM_IO, "%.140s: cannot open: %s", path, strerror(errno));
    int rc = read_all(f, path, text, len, e);
    fclose(f);
    return rc;
}

static bool is_gap(char c) {
    return c == ' ' || c == ',' || (c >= '\t' && c <= '\r');
}

int input_ids(const char *text, size_t len, i32 **ids, size_t *n, glim_err *e) {
    i32 *list = malloc((len / 2 + 1) * sizeof *list); /* an id and a gap are two bytes */
    if (!list) return fail(e, GLIM_NOMEM, "no memory for the ids");
    size_t count = 0;
    for (size_t i = 0; i < len;) {
        if (is_gap(text[i])) {
            i++;
            continue;
        }
        size_t start = i;
        i64 v = 0;
        while (i < len && text[i] >= '0' && text[i] <= '9' && v <= INT32_MAX)
            v = v * 10 + (text[i++] - '0');
        if (i == start || v > INT32_MAX || (i < len && !is_gap(text[i]))) {
            size_t end = start;
            while (end < len && end < start + 40 && !is_gap(text[end]))
                end++;
            free(list);
            return fail(e, GLIM_ARG, "'%.*s' is not a token id", (int)(end - start), text + start);
        }
        list[count++] = (i32)v;
    }
    *ids = list;
    *n = count;
    return GLIM_OK;
}
