/* Buffers whose last byte lies before an inaccessible page: reading past the end is a crash in
 * every build, not only under a sanitizer. */
#ifndef TEST_GUARDED_H
#define TEST_GUARDED_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

struct guarded {
    void *p; /* n bytes; p + n is the end of the page */
    void *map;
    size_t bytes;
};

static inline struct guarded guarded_get(size_t n) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (n + page - 1) / page * page;
    struct guarded g = {.bytes = whole + page};
    g.map = mmap(NULL, g.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.map == MAP_FAILED || mprotect((char *)g.map + whole, page, PROT_NONE) != 0) _exit(99);
    g.p = (char *)g.map + whole - n;
    return g;
}
static inline void guarded_put(struct guarded g) {
    munmap(g.map, g.bytes);
}

#endif
