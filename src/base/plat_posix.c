/* Platform seam for POSIX systems. */
#include "base/plat.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The end of a path that still leaves room for a reason in a message. */
static const char *path_tail(const char *path) {
    size_t n = strlen(path);
    return n > 140 ? path + n - 140 : path;
}

static enum plat_kind kind_of(const struct stat *st) {
    if (S_ISREG(st->st_mode)) return PLAT_FILE;
    return S_ISDIR(st->st_mode) ? PLAT_DIR : PLAT_OTHER;
}

enum plat_kind plat_kind(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? kind_of(&st) : PLAT_NONE;
}

/* Size of the open file fd, if it is a regular one of which a mapping can exist. */
static int mappable_size(int fd, const char *path, u64 *size, glim_err *e) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail(e, GLIM_IO, "%s: cannot stat: %s", path_tail(path), strerror(errno));
    switch (kind_of(&st)) {
    case PLAT_FILE:
        break;
    case PLAT_DIR:
        return fail(e, GLIM_ARG, "%s: is a directory; name a file in it", path_tail(path));
    default:
        return fail(e, GLIM_ARG, "%s: is not a regular file", path_tail(path));
    }
    *size = (u64)st.st_size;
    if (*size > SIZE_MAX / 2)
        return fail(e, GLIM_UNSUPPORTED, "%s: %llu bytes do not fit this machine's address space",
                    path_tail(path), (unsigned long long)*size);
    return 0;
}

int plat_map(const char *path, const u8 **map, u64 *size, glim_err *e) {
    *map = NULL;
    *size = 0;
    int fd;
    /* O_NONBLOCK: opening a pipe must not wait for its writer. */
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return fail(e, GLIM_NOT_FOUND, "%s: no such file", path_tail(path));
        return fail(e, GLIM_IO, "%s: cannot open: %s", path_tail(path), strerror(errno));
    }
    int rc = mappable_size(fd, path, size, e);
    if (rc == 0 && *size > 0) {
        void *p = mmap(NULL, (size_t)*size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED)
            rc = fail(e, errno == ENOMEM ? GLIM_NOMEM : GLIM_IO, "%s: cannot map: %s",
                      path_tail(path), strerror(errno));
        else
            *map = p;
    }
    close(fd); /* the mapping stays */
    if (rc) *size = 0;
    return rc;
}

/* Rounded to whole pages outwards: harmless, as a mapping is read-only and follows its file. */
static void advise(const u8 *p, u64 n, int advice) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)p & ~(page - 1);
    if (n) madvise((void *)start, (size_t)((uintptr_t)p + n - start), advice);
}

void plat_map_scattered(const u8 *p, u64 n) {
    advise(p, n, MADV_RANDOM);
}

void plat_map_ahead(const u8 *p, u64 n) {
    advise(p, n, MADV_WILLNEED);
}

void plat_map_drop(const u8 *p, u64 n) {
    advise(p, n, MADV_DONTNEED);
}

void plat_unmap(const u8 *map, u64 size) {
    if (map) munmap((void *)(uintptr_t)map, (size_t)size);
}
