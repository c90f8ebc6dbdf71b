/* Failure messages and status names. */
#include "base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int fail(glim_err *e, int code, const char *fmt, ...) {
    if (!e || e->code < 0) return code;
    va_list args;
    va_start(args, fmt);
    vsnprintf(e->msg, sizeof e->msg, fmt, args);
    va_end(args);
    /* Messages quote bytes of files: no control characters may reach a terminal. */
    for (char *c = e->msg; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    }
    e->code = code;
    return code;
}

bool str_is(struct str s, const char *zero_terminated) {
    return strlen(zero_terminated) == s.n && memcmp(s.p, zero_terminated, s.n) == 0;
}

const char *glim_status_name(int status) {
    switch (status) {
#define X(value, name, text)                                                                       \
    case value:                                                                                    \
        return #name;
        GLIM_STATUS(X)
#undef X
    }
    return "UNKNOWN";
}

const char *glim_status_text(int status) {
    switch (status) {
#define X(value, name, text)                                                                       \
    case value:                                                                                    \
        return text;
        GLIM_STATUS(X)
#undef X
    }
    return "unknown status";
}
