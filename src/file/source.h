/* Where bytes come from: a range source. Natively a mapped file; HTTP ranges and OPFS plug in
 * behind the same two functions. A source never blocks on a network: it says GLIM_AGAIN and the
 * caller asks again later. */
#ifndef FILE_SOURCE_H
#define FILE_SOURCE_H

#include "base/mem.h"

/* Hints about bytes of a mapped file, as of plat_map_scattered, _ahead and _drop. */
enum source_hint { SOURCE_SCATTERED, SOURCE_AHEAD, SOURCE_DROP };

struct source {
    u64 size;         /* bytes in all */
    const char *name; /* for messages; borrowed */
    /* Makes bytes [off, off + n) readable at *p. The range is inside the source (the caller has
     * checked). 0: *p is valid until close for mapped sources, otherwise until the next view;
     * GLIM_AGAIN: requested, ask again; negative: failed. */
    int (*view)(struct source *s, u64 off, u64 n, const u8 **p, glim_err *e);
    void (*close)(struct source *s); /* frees s itself */
    /* For bytes in map; NULL where these are not a file's mapping. */
    void (*hint)(struct source *s, const u8 *p, u64 n, enum source_hint hint);
    const u8 *map; /* the whole file, or NULL if it is not mapped */
    void *impl;
};

/* A regular file, mapped read-only. Directories, missing and empty files are errors by name. */
int source_file(struct source **out, const char *path, const glim_alloc *a, glim_err *e);
/* Bytes that the caller keeps alive (tests, fuzzing). */
int source_bytes(struct source **out, const void *bytes, u64 n, const char *name,
                 const glim_alloc *a, glim_err *e);
/* A hint about p[0..n), bytes of a view; nothing happens where it does not apply (s NULL: the bytes
 * are in no source). */
void source_hint(struct source *s, const u8 *p, u64 n, enum source_hint hint);
/* NULL is fine. */
void source_close(struct source *s);

#endif
