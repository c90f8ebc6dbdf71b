/* glim: a local language-model engine. The one public header.
 *
 * Who owns what: an engine is a device and its threads; it opens models. A model is a file's
 * weights, read in place; it opens sessions. A session is one sequence of tokens with its KV cache,
 * sampling state and output; all mutable state is here. Close in the opposite order.
 *
 * Threads: one engine may be used by one thread at a time, with everything opened from it.
 *
 * Errors: functions that can fail return a status: 0 is success, negative values are errors,
 * positive ones tell what to do next (GLIM_AGAIN, GLIM_DONE). Functions that open something fill a
 * glim_err that the caller owns; later errors of a session are kept in it (glim_session_error).
 * The library never prints, exits, aborts, or reads the environment.
 *
 * Nothing here waits: a step does a bounded amount of work (about 50 ms on a CPU) and says
 * GLIM_AGAIN while there is more; glim_wait is the blocking form.
 *
 * All text is UTF-8. All sizes are in bytes unless a comment says otherwise. Zeroed parameter
 * structs mean defaults. */
#ifndef GLIM_H
#define GLIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GLIM_API __attribute__((visibility("default")))
#else
#define GLIM_API
#endif

/* ---- Status ---------------------------------------------------------------------------------- */

/* X(value, NAME, text) */
#define GLIM_STATUS(X)                                                                             \
    X(2, DONE, "finished")                                                                         \
    X(1, AGAIN, "more work is pending; call again")                                                \
    X(0, OK, "success")                                                                            \
    X(-1, NOMEM, "out of memory")                                                                  \
    X(-2, IO, "cannot read or write")                                                              \
    X(-3, NOT_FOUND, "no such thing")                                                              \
    X(-4, FORMAT, "malformed file")                                                                \
    X(-5, UNSUPPORTED, "not supported")                                                            \
    X(-6, SHAPE, "missing or mis-shaped tensor")                                                   \
    X(-7, ARG, "bad argument")                                                                     \
    X(-8, FULL, "the context is full")                                                             \
    X(-9, NUMERIC, "a result is not finite")                                                       \
    X(-10, DEVICE, "device error")

enum glim_status {
#define X(value, name, text) GLIM_##name = value,
    GLIM_STATUS(X)
#undef X
};

/* A status and its one-line explanation. Caller-owned; zero it before the first use. The first
 * failure wins: later ones do not overwrite it. */
typedef struct {
    int code;      /* enum glim_status */
    char msg[240]; /* names the thing, the place and, where there is one, the way out */
} glim_err;

/* The name of a status ("GLIM_NOMEM" gives "NOMEM") and its general text. Never NULL. */
GLIM_API const char *glim_status_name(int status);
GLIM_API const char *glim_status_text(int status);

/* The one allocation function: new_size 0 frees, ptr NULL allocates, otherwise resizes. Returns
 * NULL when it cannot. old_size is what ptr was last given. Memory is aligned as by malloc. */
typedef struct {
    void *(*fn)(void *ud, void *ptr, size_t old_size, size_t new_size);
    void *ud;
} glim_alloc;

#ifdef __cplusplus
}
#endif
#endif
