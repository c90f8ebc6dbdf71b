/* Text from models made fit for a line, for JSON, for a terminal. */
#include "tool/format.h"

#include "text/unicode.h"
#include "text/utf8.h"
#include "tool/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What stands for a character with an escape of its own, or 0. */
static char short_escape(u8 c) {
    switch (c) {
    case '"':
    case '\\':
        return (char)c;
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

void format_quoted(struct str s, FILE *f) {
    fputc('"', f);
    for (size_t i = 0; i < s.n;) {
        struct unicode_char c = unicode_read(s.p + i, s.n - i);
        u8 byte = (u8)s.p[i];
        /* Control characters, the C1 ones (two bytes) included, could steer a terminal. */
        bool control = c.code < 0x20 || (c.code >= 0x7f && c.code < 0xa0);
        if (short_escape(byte)) {
            fprintf(f, "\\%c", short_escape(byte));
        } else if (c.state == UNICODE_WHOLE && !control) {
            fwrite(s.p + i, 1, c.len, f);
            i += c.len;
            continue;
        } else {
            fprintf(f, "\\x%02x", byte);
        }
        i++;
    }
    fputc('"', f);
}

struct format_size format_size(u64 bytes) {
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    struct format_size t;
    if (bytes < 1000) {
        snprintf(t.s, sizeof t.s, "%u bytes", (u32)bytes);
        return t;
    }
    f64 v = (f64)bytes / 1000;
    u32 i = 0;
    for (; v >= 999.95 && i + 1 < COUNT(units); i++)
        v /= 1000;
    snprintf(t.s, sizeof t.s, "%.1f %s", v, units[i]);
    return t;
}

json_t *format_string(struct str s) {
    /* Most text is sound; only a wrong byte grows, to three. */
    json_t *j = json_stringn(s.p ? s.p : "", s.n);
    if (j) return j;
    char *clean = malloc(3 * s.n + 3);
    if (!clean) return NULL;
    size_t n = 0;
    struct utf8_stream stream = {{0}, 0};
    struct str out;
    while ((out = utf8_next(&stream, &s)).n || s.n) {
        memcpy(clean + n, out.p, out.n);
        n += out.n;
    }
    out = utf8_end(&stream);
    memcpy(clean + n, out.p, out.n);
    j = json_stringn(clean, n + out.n);
    free(clean);
    return j;
}

json_t *format_real(f64 v) {
    if (isfinite(v)) return json_real(v);
    return json_string(isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

json_t *format_u64(u64 v) {
    if (v <= INT64_MAX) return json_integer((json_int_t)v);
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)v);
    return json_string(digits);
}

int format_json(json_t *j, u32 digits) {
    int rc = j ? json_dumpf(j, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(digits)) : -1;
    json_decref(j);
    if (rc == 0) {
        printf("\n");
        return options_flush() ? TOOL_FINE : TOOL_FAILED;
    }
    if (!ferror(stdout)) {
        options_say("out of memory");
        return TOOL_FAILED;
    }
    options_flush();
    return TOOL_FAILED;
}
