/* Messages of one line or several. */
#include "tool/message.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool message_is_command(const char *line) {
    size_t n = strcspn(line, " \t\n");
    return line[0] == '/' && n > 1 && !memchr(line + 1, '/', n - 1) &&
           (isalpha((unsigned char)line[1]) || n == 2);
}

const char *message_argument(const char *line) {
    line += strcspn(line, " \t\n");
    return line + strspn(line, " \t\n");
}

static int put(struct message *m, const char *s, size_t n, glim_err *e) {
    if (m->n + n + 1 > m->cap) {
        size_t cap = 2 * (m->n + n + 1);
        char *grown = realloc(m->p, cap);
        if (!grown) return fail(e, GLIM_NOMEM, "no memory for a message of %zu bytes", cap / 2);
        m->p = grown;
        m->cap = cap;
    }
    memcpy(m->p + m->n, s, n);
    m->n += n;
    m->p[m->n] = 0;
    return GLIM_OK;
}

/* Whether a line goes on in the next: with a backslash that is not itself behind one. */
static bool goes_on(const char *line) {
    size_t n = strlen(line), k = 0;
    while (k < n && line[n - 1 - k] == '\\')
        k++;
    return k % 2 == 1;
}

static const char quotes[] = "\"\"\"";

static bool ends_block(const char *line) {
    size_t n = strlen(line);
    return n >= 3 && strcmp(line + n - 3, quotes) == 0;
}

/* Behind the """ that begins a block; NULL: the line begins none. */
static const char *block_in(const char *line) {
    const char *at = message_is_command(line) ? message_argument(line) : line;
    return strncmp(at, quotes, 3) == 0 ? at + 3 : NULL;
}

static enum line_kind read_lines(struct message *m, struct line_reader *in, const char *prompt,
                                 glim_err *e) {
    const char *line;
    m->n = 0;
    enum line_kind kind = line_read(in, prompt, &line, e);
    const char *within = kind == LINE_TEXT ? block_in(line) : NULL;
    if (within) {
        if (put(m, line, (size_t)(within - line) - 3, e) < 0) return LINE_FAILED;
        line = within;
    }
    while (kind == LINE_TEXT) {
        size_t n = strlen(line);
        bool more = within ? !ends_block(line) : goes_on(line);
        if (within && !more) n -= 3;
        if (!within && more) n--;
        if (put(m, line, n, e) < 0 || (more && put(m, "\n", 1, e) < 0)) return LINE_FAILED;
        if (!more) return LINE_TEXT;
        kind = line_read(in, ". ", &line, e);
        if (kind != LINE_END) continue;
        if (line_is_edited(in)) return LINE_INTERRUPTED; /* what was begun is given up */
        if (!within) return LINE_TEXT;
        fail(e, GLIM_ARG, "standard input ended within a \"\"\" block");
        return LINE_FAILED;
    }
    return kind;
}

enum line_kind message_read(struct message *m, struct line_reader *in, const char *prompt,
                            glim_err *e) {
    enum line_kind kind = read_lines(m, in, prompt, e);
    /* Behind pasted text, often; never meant. */
    while (kind == LINE_TEXT && m->n && strchr("\r\n", m->p[m->n - 1]))
        m->p[--m->n] = 0;
    return kind;
}
