/* The platform seam: everything that differs between operating systems and the browser. */
#ifndef BASE_PLAT_H
#define BASE_PLAT_H

#include "base/base.h"

/* ---- Files ----------------------------------------------------------------------------------- */

enum plat_kind {
    PLAT_NONE, /* nothing there, or not reachable */
    PLAT_FILE,
    PLAT_DIR,
    PLAT_OTHER, /* pipe, device, socket */
};
/* What a path leads to; symbolic links are followed. */
enum plat_kind plat_kind(const char *path);

/* Maps a regular file read-only. An empty file gives *map = NULL and *size = 0. GLIM_NOT_FOUND,
 * GLIM_IO or GLIM_ARG (not a regular file), with the path and the system's reason in e. The pages
 * follow the file: whoever shortens it while it is mapped breaks the reader. */
int plat_map(const char *path, const u8 **map, u64 *size, glim_err *e);
/* Gives back what plat_map returned; NULL is fine. */
void plat_unmap(const u8 *map, u64 size);
/* Hints about p[0..n) in a mapping; where the system has no such thing, nothing happens. Bytes will
 * be read here and there: reading ahead would only fill memory. */
void plat_map_scattered(const u8 *p, u64 n);
/* Bytes will be read soon, all of them: the system may begin to fetch them. */
void plat_map_ahead(const u8 *p, u64 n);
/* Bytes read so far are not needed for now: their pages may leave this process, which finds them
 * again when it reads on. */
void plat_map_drop(const u8 *p, u64 n);

#endif
