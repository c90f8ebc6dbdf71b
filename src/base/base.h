/* Base vocabulary of every file: fixed-width types, failure, checked arithmetic. */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <glim.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef float f32;
typedef double f64;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MIN(a, b)    ((a) < (b) ? (a) : (b))
#define MAX(a, b)    ((a) > (b) ? (a) : (b))

/* Reports a failure: stores code and message in e (which may be NULL) unless e already holds one.
 * Returns code, so that `return fail(e, GLIM_FORMAT, ...)` reads well. Input and resource errors
 * come through here; our own bugs are asserts. */
int fail(glim_err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Checked arithmetic for sizes that a file or a caller names: false when the result wraps. */
static inline bool add_ok(u64 a, u64 b, u64 *sum) {
    return !__builtin_add_overflow(a, b, sum);
}
static inline bool mul_ok(u64 a, u64 b, u64 *product) {
    return !__builtin_mul_overflow(a, b, product);
}
/* Rounds up to a multiple of align, a power of two. */
static inline bool pad_ok(u64 n, u64 align, u64 *padded) {
    if (!add_ok(n, align - 1, padded)) return false;
    *padded &= ~(align - 1);
    return true;
}

/* A borrowed piece of text, not zero-terminated. Print with "%.*s", STR(s). */
struct str {
    const char *p;
    size_t n;
};
#define STR(s) (int)MIN((s).n, 200u), (s).p
bool str_is(struct str s, const char *zero_terminated);

#endif
