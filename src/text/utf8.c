/* Streaming detokenizer. */
#include "text/utf8.h"

#include <string.h>

#include "text/unicode.h"

static const struct str replacement = {"\xef\xbf\xbd", 3};

static void drop_front(struct str *s, size_t n) {
    s->p += n;
    s->n -= n;
}

/* Goes on with the held beginning, byte by byte; empty while it is still a beginning. */
static struct str finish_held(struct utf8_stream *s, struct str *in) {
    while (in->n) {
        s->held[s->n] = in->p[0];
        struct unicode_char c = unicode_read(s->held, s->n + 1);
        if (c.state == UNICODE_INVALID) { /* this byte starts something new */
            s->n = 0;
            return replacement;
        }
        drop_front(in, 1);
        s->n++;
        if (c.state == UNICODE_WHOLE) {
            s->n = 0;
            return (struct str){s->held, c.len};
        }
    }
    return (struct str){"", 0};
}

struct str utf8_next(struct utf8_stream *s, struct str *in) {
    if (s->n) return finish_held(s, in);
    struct str run = {in->p, 0};
    while (in->n) {
        struct unicode_char c = unicode_read(in->p, in->n);
        if (c.state == UNICODE_WHOLE) {
            drop_front(in, c.len);
            run.n += c.len;
            continue;
        }
        if (run.n) break; /* first what is good, then what is not */
        if (c.state == UNICODE_PART) {
            memcpy(s->held, in->p, c.len);
            s->n = c.len;
        }
        drop_front(in, c.len);
        if (c.state == UNICODE_INVALID) return replacement;
    }
    return run;
}

struct str utf8_end(struct utf8_stream *s) {
    bool cut = s->n > 0;
    s->n = 0;
    return cut ? replacement : (struct str){"", 0};
}
