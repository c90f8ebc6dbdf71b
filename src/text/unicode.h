/* What the tokenizers need to know about code points, and reading them from UTF-8. */
#ifndef TEXT_UNICODE_H
#define TEXT_UNICODE_H

#include "base/base.h"

/* Properties of a code point, after Unicode's general categories. */
enum unicode_flag {
    UNICODE_LETTER = 1,  /* \p{L} */
    UNICODE_NUMBER = 2,  /* \p{N} */
    UNICODE_MARK = 4,    /* \p{M} */
    UNICODE_PUNCT = 8,   /* \p{P} */
    UNICODE_SYMBOL = 16, /* \p{S} */
    UNICODE_UPPER = 32,  /* Lu and Lt */
    UNICODE_LOWER = 64,  /* Ll */
    UNICODE_SPACE =
        128, /* White_Space: \s of the regex libraries behind the reference tokenizers */
};

enum { UNICODE_BAD = 0xfffd }; /* the replacement character, for what is not UTF-8 */

/* Flags of a code point; 0 for unassigned ones, controls and anything above U+10FFFF. */
u32 unicode_flags(u32 code);

/* How one character starts at p[0..n), n >= 1. */
struct unicode_char {
    u32 code; /* UNICODE_BAD where the bytes are not UTF-8 */
    u32 len;  /* bytes; for bad ones the part that one replacement character stands for (1 to 3) */
    enum { UNICODE_WHOLE, UNICODE_PART, UNICODE_INVALID } state;
};
/* Reads one character. UNICODE_PART: the n bytes (len = n < 4) begin a character that the next
 * bytes may complete. Overlong forms, surrogates and codes above U+10FFFF are invalid. */
struct unicode_char unicode_read(const char *p, size_t n);

/* Writes the UTF-8 of a valid code point; returns 1 to 4. */
u32 unicode_write(u32 code, char out[4]);

#endif
