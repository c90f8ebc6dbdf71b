/* Text being put together, with the marks of who wrote it; and Python's ways to write values. */
#ifndef TEXT_JBUF_H
#define TEXT_JBUF_H

#include "text/jval.h"

/* Zeroed to start. Memory is the jmem's. */
struct jbuf {
    char *p;
    u8 *marks; /* made when text of both kinds comes together */
    size_t n, cap;
    bool ours; /* while there are no marks */
};

void jbuf_put(struct jmem *m, struct jbuf *b, const char *p, size_t n, bool ours);
void jbuf_puts(struct jmem *m, struct jbuf *b, const char *zero_terminated, bool ours);
void jbuf_str(struct jmem *m, struct jbuf *b, const struct jstr *s);
/* Bytes that stand for those of s from byte i on: they are marked as that one is. */
void jbuf_like(struct jmem *m, struct jbuf *b, const char *p, size_t n, const struct jstr *s,
               size_t i);
/* The text, which is not copied: nothing may be put into b afterwards. */
struct jval jbuf_done(struct jmem *m, struct jbuf *b);

/* str(v) and repr(v). Numbers and the like count as the template's own. */
void jbuf_value(struct jmem *m, struct jbuf *b, struct jval v);
void jbuf_repr(struct jmem *m, struct jbuf *b, struct jval v);
struct jval jval_to_str(struct jmem *m, struct jval v); /* v itself where it is text */
/* Python's repr of a float: the shortest that reads back; returns its length. */
u32 jbuf_float(f64 f, char out[40]);
/* The fewest digits that are f, a finite number, again: "d.ddde+xx", of which head bytes come
 * before the e. Returns how many digits there are behind the first. */
int jbuf_digits(f64 f, char digits[40], int *head, int *exponent);

/* Whether Python's str.strip() takes the character. */
bool jstr_is_space(u32 code);
static inline bool jstr_mark(const struct jstr *s, size_t i) {
    return s->marks ? s->marks[i] : s->ours;
}

#endif
