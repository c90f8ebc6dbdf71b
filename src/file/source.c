/* Range sources that need no waiting: mapped files and bytes in memory. */
#include "file/source.h"

#include "base/plat.h"

/* Both kinds are the same thing, a pointer to all bytes; they differ in who frees it. */
struct whole {
    struct source source; /* first: closing casts back */
    const glim_alloc *alloc;
    bool mapped; /* unmap at close */
};

static int whole_view(struct source *s, u64 off, u64 n, const u8 **p, glim_err *e) {
    (void)n;
    (void)e;
    *p = s->map + off;
    return 0;
}

static void whole_hint(struct source *s, const u8 *p, u64 n, enum source_hint hint) {
    (void)s;
    switch (hint) {
    case SOURCE_SCATTERED:
        plat_map_scattered(p, n);
        break;
    case SOURCE_AHEAD:
        plat_map_ahead(p, n);
        break;
    case SOURCE_DROP:
        plat_map_drop(p, n);
        break;
    }
}

static void whole_close(struct source *s) {
    struct whole *w = (struct whole *)s;
    if (w->mapped) plat_unmap(s->map, s->size);
    mem_put(w->alloc, w, sizeof *w);
}

static struct whole *whole_new(const char *name, const glim_alloc *a, glim_err *e) {
    struct whole *w = mem_get(a, sizeof *w);
    if (!w) {
        fail(e, GLIM_NOMEM, "%s: out of memory", name);
        return NULL;
    }
    *w = (struct whole){.alloc = a};
    w->source = (struct source){.name = name, .view = whole_view, .close = whole_close, .impl = w};
    return w;
}

int source_file(struct source **out, const char *path, const glim_alloc *a, glim_err *e) {
    *out = NULL;
    struct whole *w = whole_new(path, a, e);
    if (!w) return GLIM_NOMEM;
    int rc = plat_map(path, &w->source.map, &w->source.size, e);
    if (rc == 0 && w->source.size == 0)
        rc = fail(e, GLIM_FORMAT, "%s: the file is empty (interrupted download?)", path);
    if (rc) {
        mem_put(a, w, sizeof *w);
        return rc;
    }
    w->mapped = true;
    w->source.hint = whole_hint; /* dropping a caller's own bytes would empty them */
    *out = &w->source;
    return 0;
}

int source_bytes(struct source **out, const void *bytes, u64 n, const char *name,
                 const glim_alloc *a, glim_err *e) {
    *out = NULL;
    struct whole *w = whole_new(name, a, e);
    if (!w) return GLIM_NOMEM;
    w->source.map = bytes;
    w->source.size = n;
    *out = &w->source;
    return 0;
}

void source_hint(struct source *s, const u8 *p, u64 n, enum source_hint hint) {
    if (s && s->hint && s->map) s->hint(s, p, n, hint);
}

void source_close(struct source *s) {
    if (s) s->close(s);
}
