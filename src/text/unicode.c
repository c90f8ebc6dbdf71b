/* Code point properties by binary search in generated ranges; UTF-8 by the table of well-formed
 * sequences in the Unicode standard (chapter 3, "Unicode Encoding Forms"). */
#include "text/unicode.h"

#include "text/unicode.inc"

u32 unicode_flags(u32 code) {
    if (code < 128) return unicode_ascii[code];
    if (code > 0x10ffff) return 0;
    u32 low = 0, high = UNICODE_RANGES; /* the range that starts last at or before code */
    while (high - low > 1) {
        u32 middle = (low + high) / 2;
        if (unicode_ranges[middle] >> 8 <= code)
            low = middle;
        else
            high = middle;
    }
    return unicode_ranges[low] & 0xff;
}

struct unicode_char unicode_read(const char *text, size_t n) {
    const u8 *p = (const u8 *)text;
    if (p[0] < 0x80) return (struct unicode_char){p[0], 1, UNICODE_WHOLE};
    /* The lead byte gives the length; a few narrow the second byte's range. */
    u32 len = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (len == 0) return (struct unicode_char){UNICODE_BAD, 1, UNICODE_INVALID};
    u8 low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    u8 high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    u32 code = p[0] & (0x7fu >> len);
    for (u32 i = 1; i < len; i++) {
        if (i == n) return (struct unicode_char){UNICODE_BAD, i, UNICODE_PART};
        if (p[i] < low || p[i] > high)
            return (struct unicode_char){UNICODE_BAD, i, UNICODE_INVALID};
        code = code << 6 | (p[i] & 0x3f);
        low = 0x80, high = 0xbf;
    }
    return (struct unicode_char){code, len, UNICODE_WHOLE};
}

u32 unicode_write(u32 code, char out[4]) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    u32 len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (u32 i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)((0xf00u >> len & 0xf0) | code);
    return len;
}
