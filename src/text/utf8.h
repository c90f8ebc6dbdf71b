/* Streaming detokenizer: bytes of tokens in, whole characters out. Tokens end inside characters;
 * what a terminal or a JSON string gets must not. */
#ifndef TEXT_UTF8_H
#define TEXT_UTF8_H

#include "base/base.h"

/* Zeroed to start. */
struct utf8_stream {
    char held[4]; /* the beginning of a character */
    u32 n;        /* its bytes so far, 0 to 3 */
};

/* Takes bytes off the front of *in and returns the next stretch of whole characters; empty once *in
 * is used up (call until then). A character comes out with the byte that completes it. Bytes that
 * cannot be UTF-8 come out as U+FFFD, one for each longest beginning of a character, as soon as
 * that is known. The result points into *in's bytes or into s and is valid until the next call. */
struct str utf8_next(struct utf8_stream *s, struct str *in);
/* At the end of the text: U+FFFD if a character was left unfinished, else empty. */
struct str utf8_end(struct utf8_stream *s);

#endif
