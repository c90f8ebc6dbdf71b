/* Heads of messages in gpt-oss's notation: "assistant to=functions.f", a mark, "commentary json".
 */
#include "text/stream.h"

#include <string.h>

/* The word behind `before`, up to a blank or a mark. */
static struct str head_word(struct str head, const char *before) {
    size_t n = strlen(before);
    const char *at = head.n ? memmem(head.p, head.n, before, n) : NULL;
    if (!at) return (struct str){"", 0};
    at += n;
    const char *end = at;
    while (end < head.p + head.n && *end != ' ' && *end != HEAD_MARK)
        end++;
    return (struct str){at, (size_t)(end - at)};
}

enum head_kind head_read(struct str head, struct str *function) {
    static const char functions[] = "functions.";
    size_t n = strlen(functions);
    struct str to = head_word(head, "to="), channel = head_word(head, "\1");
    if (str_is(channel, "assistant")) channel = head_word(head, "assistant\1");
    if (to.n > n && memcmp(to.p, functions, n) == 0) to = (struct str){to.p + n, to.n - n};
    *function = to;
    if (to.n && to.n < HEAD_BYTES) return HEAD_CALL;
    if (str_is(channel, "analysis")) return HEAD_THOUGHT;
    return str_is(channel, "final") || str_is(channel, "commentary") ? HEAD_TEXT : HEAD_ODD;
}
