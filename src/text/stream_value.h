/* Values of tool calls, one byte at a time, from the notations that models write into JSON: the
 * innermost part of the answer parsers (text/stream.h). A push-down automaton, so that quotes and
 * braces nest as they should and no byte is looked at twice. */
#ifndef TEXT_STREAM_VALUE_H
#define TEXT_STREAM_VALUE_H

#include "base/mem.h"

/* Text that grows. Zeroed but for alloc to start; owned by whoever holds it. */
struct stream_text {
    char *p;
    size_t n, cap;
    const glim_alloc *alloc; /* borrowed */
    bool failed;             /* sticky: memory ran out, and what was put since is lost */
};
void stream_text_put(struct stream_text *t, const char *p, size_t n);
/* Makes room for n bytes at p[at], to be filled by the caller. Returns whether there is memory. */
bool stream_text_open(struct stream_text *t, size_t at, size_t n);
void stream_text_free(struct stream_text *t);

/* Each dialect also takes the slips that models make: JSON with Python's constants and quotes,
 * Python with JSON's, line ends inside strings, a comma too many. Never a value that is not there.
 */
enum value_dialect {
    VALUE_JSON,
    VALUE_PYTHON, /* literals: True, 'it\'s', 0x1f, (1, 2) */
    VALUE_GEMMA,  /* keys without quotes, strings between <|"|> marks, bare words as strings */
};

enum { VALUE_DEPTH = 64, VALUE_BARE = 256 };

struct value {
    enum value_dialect dialect;
    struct stream_text *out; /* borrowed: the JSON goes here, compact */
    u8 state;
    bool key;                    /* what is being read is an object's key */
    bool raw, triple;            /* of the string being read (Python) */
    char quote;                  /* that it ends with */
    u8 run;                      /* quotes in a row that may close a triple-quoted string */
    char escape;                 /* the letter of the escape being read: u, U, x, or 0 for octal */
    u32 code, n_digits, high;    /* its value; high: first half of a surrogate pair, or 0 */
    u32 n_spaces, n_bare, depth; /* of the arrays below */
    char spaces[16];             /* after a quote that may have closed a string */
    char bare[VALUE_BARE];       /* a number or word being read; the digits of an escape */
    struct {
        char close;  /* what closes it: } ] ) */
        bool some;   /* it has a member already */
        bool tuple;  /* of ): a comma was seen */
        size_t from; /* of ): where in out it begins */
    } frame[VALUE_DEPTH];
    const char *why; /* after VALUE_BAD: what is wrong; static */
};

enum value_step {
    VALUE_BAD = -1,
    VALUE_MORE,
    VALUE_DONE,   /* the value is complete */
    VALUE_BEFORE, /* it was complete before this byte, which is not part of it */
};

void value_begin(struct value *v, enum value_dialect dialect, struct stream_text *out);
enum value_step value_byte(struct value *v, char c);
/* Gemma's string mark, <|"|>. */
enum value_step value_mark(struct value *v);
/* Whether a byte or mark now would be a string's content. */
bool value_in_string(const struct value *v);
/* How much of out will stay as it is: (1) may turn out to be (1, 2), which is an array. */
size_t value_settled(const struct value *v);

/* Puts a byte of a JSON string's content, escaped where JSON asks for it. */
void value_put_content(struct stream_text *out, char c);

#endif
