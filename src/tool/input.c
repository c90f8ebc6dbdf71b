/* Text from files and pipes, lists of ids, and text made fit for one line. */
#include "tool/options.h"

#include "text/unicode.h"

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

int options_read(const char *path, char **text, size_t *len, glim_err *e) {
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

int options_ids(const char *text, size_t len, i32 **ids, size_t *n, glim_err *e) {
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

/* ---- Escapes --------------------------------------------------------------------------------- */

void options_escape(struct str s, void (*put)(void *ud, const char *p, size_t n), void *ud) {
    for (size_t i = 0; i < s.n;) {
        const u8 c = (u8)s.p[i];
        struct unicode_char ch = unicode_read(s.p + i, s.n - i);
        size_t n = ch.state == UNICODE_WHOLE ? ch.len : 0;
        /* C1 controls are two bytes, C2 80 to C2 9F. */
        bool control = c < 0x20 || c == 0x7f || (n == 2 && c == 0xc2 && (u8)s.p[i + 1] < 0xa0);
        if (c == '\\' || c == '"') {
            char two[2] = {'\\', (char)c};
            put(ud, two, 2);
        } else if (c == '\n' || c == '\t' || c == '\r') {
            char two[2] = {'\\', c == '\n' ? 'n' : c == '\t' ? 't' : 'r'};
            put(ud, two, 2);
        } else if (n == 0 || control) {
            char hex[5];
            snprintf(hex, sizeof hex, "\\x%02x", c);
            put(ud, hex, 4);
            n = 1;
        } else {
            put(ud, s.p + i, n);
        }
        i += MAX(n, (size_t)1);
    }
}
