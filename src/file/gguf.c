/* Opening GGUF models: a single source, a file, or a split set.
 *
 * The shards of a set are NAME-00001-of-00003.gguf and so on, in one folder. The first carries the
 * model's metadata; each carries a share of the tensors and the keys split.no (from 0),
 * split.count and split.tensors.count (of the whole set). */
#include "file/gguf.h"
#include "file/gguf_parse.h"

#include "base/plat.h"

#include <stdio.h>
#include <string.h>

void gguf_close(struct gguf *g) {
    for (u32 i = 0; i < g->n_parts; i++)
        source_close(g->parts[i]);
    *g = (struct gguf){0};
}

/* ---- Keys of a shard ------------------------------------------------------------------------- */

struct shard {
    u32 no, count; /* count 0 or 1: not split (0 is what merging leaves behind) */
    u32 n_tensors; /* of the whole set; 0: not stated */
    struct str arch;
};

static int read_key(const struct gguf *g, const char *key, u32 *out, glim_err *e) {
    int rc = gguf_u32(g, key, out, e);
    return rc == GLIM_NOT_FOUND ? 0 : rc;
}

static int read_shard(const struct gguf *g, struct shard *sh, glim_err *e) {
    *sh = (struct shard){0};
    int rc = read_key(g, "split.count", &sh->count, e);
    if (!rc) rc = read_key(g, "split.no", &sh->no, e);
    if (!rc) rc = read_key(g, "split.tensors.count", &sh->n_tensors, e);
    const struct gguf_kv *arch = gguf_find(g, "general.architecture");
    if (arch && arch->type == GGUF_STR && !arch->is_array) sh->arch = arch->s;
    return rc;
}

/* ---- One source ------------------------------------------------------------------------------ */

static int refuse_shard(const struct gguf *g, const struct source *s, glim_err *e) {
    struct shard sh;
    int rc = read_shard(g, &sh, e);
    if (rc || sh.count <= 1) return rc;
    return fail(e, GLIM_UNSUPPORTED,
                "%s is number %u of the %u shards of a split model, but not named so; rename it to "
                "NAME-%05u-of-%05u.gguf beside the others",
                gguf_file_name(s), sh.no + 1, sh.count, sh.no + 1, sh.count);
}

int gguf_open_source(struct gguf *g, struct source *s, struct arena *arena, gguf_type_size *size,
                     glim_err *e) {
    if (!g->parts) {
        g->parts = arena_array(arena, 1, sizeof(struct source *));
        if (!g->parts) {
            fail(e, GLIM_NOMEM, "%s: out of memory", gguf_file_name(s));
            source_close(s);
            return GLIM_NOMEM;
        }
        g->parts[0] = s;
        g->n_parts = 1;
    }
    int rc = gguf_parse(g, s, arena, size, e);
    if (!rc) rc = refuse_shard(g, s, e);
    if (rc < 0) gguf_close(g);
    return rc;
}

/* ---- Split sets ------------------------------------------------------------------------------ */

/* What a path's name says: PREFIX-NNNNN-of-MMMMM.gguf. */
struct set {
    struct str prefix;
    u32 no, count; /* no from 1 */
};

/* Reads 5 digits. */
static bool digits(const char *p, u32 *v) {
    *v = 0;
    for (u32 i = 0; i < 5; i++) {
        if (p[i] < '0' || p[i] > '9') return false;
        *v = *v * 10 + (u32)(p[i] - '0');
    }
    return true;
}

static bool set_name(const char *path, struct set *set) {
    static const char form[] = "-00001-of-00003.gguf";
    size_t n = strlen(path), tail = sizeof form - 1;
    if (n <= tail) return false;
    const char *p = path + n - tail;
    set->prefix = (struct str){path, n - tail};
    return p[0] == '-' && digits(p + 1, &set->no) && memcmp(p + 6, "-of-", 4) == 0 &&
           digits(p + 10, &set->count) && strcmp(p + 15, ".gguf") == 0 && set->no >= 1 &&
           set->no <= set->count;
}

/* Path of shard no (from 1), in arena; NULL without memory. */
static char *set_path(const struct set *set, u32 no, struct arena *arena) {
    size_t size = set->prefix.n + 32;
    char *path = arena_get(arena, size);
    if (!path) return NULL;
    memcpy(path, set->prefix.p, set->prefix.n);
    snprintf(path + set->prefix.n, size - set->prefix.n, "-%05u-of-%05u.gguf", no, set->count);
    return path;
}

/* All shards that are not there, in one message, before any work is done. */
static int check_present(char *const *paths, const struct set *set, glim_err *e) {
    char list[80] = "";
    size_t used = 0;
    u32 missing = 0;
    for (u32 i = 0; i < set->count; i++) {
        if (plat_kind(paths[i]) != PLAT_NONE) continue;
        missing++;
        if (used + 16 < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, " %05u", i + 1);
        else if (list[used - 1] != '.')
            used += (size_t)snprintf(list + used, sizeof list - used, " ...");
    }
    if (!missing) return 0;
    const char *slash = strrchr(paths[set->no - 1], '/');
    const char *name = slash ? slash + 1 : paths[set->no - 1];
    size_t n = strlen(name);
    return fail(e, GLIM_NOT_FOUND, "%s: %u of the %u shards are missing beside it:%s",
                n > 80 ? name + n - 80 : name, missing, set->count, list);
}

/* Checks that shard i (from 0) belongs where its name puts it, in the set whose first shard is
 * described by first. */
static int check_shard(const struct gguf *g, u32 i, u32 count, const struct shard *first,
                       struct shard *sh, glim_err *e) {
    int rc = read_shard(g, sh, e);
    if (rc) return rc;
    const char *name = gguf_file_name(g->parts[0]);
    if (count > 1 && (sh->count != count || sh->no != i))
        return fail(e, GLIM_FORMAT,
                    "%s: its name says shard %u of %u, its keys split.no and split.count say %u of "
                    "%u: renamed, or not from this set",
                    name, i + 1, count, sh->no + 1, sh->count);
    if (count == 1 && sh->count > 1)
        return fail(e, GLIM_FORMAT, "%s: its name says that it is whole, split.count says %u", name,
                    sh->count);
    if (i == 0) return 0;
    if (sh->arch.n &&
        (sh->arch.n != first->arch.n || memcmp(sh->arch.p, first->arch.p, sh->arch.n) != 0))
        return fail(e, GLIM_FORMAT,
                    "%s: a shard of another model (architecture '%.*s', the first shard has "
                    "'%.*s')",
                    name, GGUF_NAME(sh->arch), GGUF_NAME(first->arch));
    if (sh->n_tensors != first->n_tensors)
        return fail(e, GLIM_FORMAT,
                    "%s: a shard of another model (split.tensors.count is %u, in the first shard "
                    "%u)",
                    name, sh->n_tensors, first->n_tensors);
    return 0;
}

/* Opens and checks all shards as files of their own, into ones; g->parts owns the sources. */
static int open_shards(struct gguf *g, struct gguf *ones, char *const *paths, const struct set *set,
                       struct arena *arena, gguf_type_size *size, glim_err *e) {
    struct shard first = {0}, sh;
    u64 total = 0;
    for (u32 i = 0; i < set->count; i++) {
        struct gguf *one = &ones[i];
        int rc = source_file(&g->parts[i], paths[i], arena->alloc, e);
        if (rc) return rc;
        g->n_parts = i + 1;
        one->parts = &g->parts[i];
        rc = gguf_parse(one, g->parts[i], arena, size, e);
        if (!rc) rc = check_shard(one, i, set->count, &first, &sh, e);
        if (rc) return rc;
        if (i == 0) first = sh;
        total += one->n_tensors;
    }
    if ((first.n_tensors && total != first.n_tensors) || total > INT32_MAX)
        return fail(e, GLIM_FORMAT,
                    "%s: the %u shards hold %llu tensors, split.tensors.count says %u: a shard is "
                    "damaged or of another model",
                    gguf_file_name(g->parts[0]), set->count, (unsigned long long)total,
                    first.n_tensors);
    g->n_tensors = total;
    return 0;
}

/* One table of all shards' tensors, with the first shard's metadata. */
static int merge(struct gguf *g, const struct gguf *ones, struct arena *arena, glim_err *e) {
    u64 total = g->n_tensors;
    struct source **parts = g->parts;
    u32 n_parts = g->n_parts;
    *g = ones[0];
    g->parts = parts;
    g->n_parts = n_parts;
    if (n_parts == 1) return 0;
    g->n_tensors = total;
    g->tensors = arena_array(arena, total, sizeof *g->tensors);
    if (!g->tensors)
        return fail(e, GLIM_NOMEM, "out of memory for %llu tensors", (unsigned long long)total);
    struct gguf_tensor *t = g->tensors;
    for (u32 i = 0; i < n_parts; i++) {
        for (u64 j = 0; j < ones[i].n_tensors; j++) {
            *t = ones[i].tensors[j];
            t++->part = i;
        }
    }
    return gguf_index_tensors(g, arena, e);
}

static int open_set(struct gguf *g, const struct set *set, struct arena *arena,
                    gguf_type_size *size, glim_err *e) {
    g->parts = arena_array(arena, set->count, sizeof(struct source *));
    struct gguf *ones = arena_array(arena, set->count, sizeof *ones);
    char **paths = arena_array(arena, set->count, sizeof *paths);
    if (!g->parts || !ones || !paths) return fail(e, GLIM_NOMEM, "out of memory for a split set");
    for (u32 i = 0; i < set->count; i++) {
        paths[i] = set_path(set, i + 1, arena);
        if (!paths[i]) return fail(e, GLIM_NOMEM, "out of memory for a split set's names");
    }
    int rc = check_present(paths, set, e);
    if (!rc) rc = open_shards(g, ones, paths, set, arena, size, e);
    return rc ? rc : merge(g, ones, arena, e);
}

int gguf_open(struct gguf *g, const char *path, struct arena *arena, gguf_type_size *size,
              glim_err *e) {
    *g = (struct gguf){0};
    struct set set;
    /* A path that does not exist gets the plain message, even if it looks like a shard's. */
    if (set_name(path, &set) && plat_kind(path) == PLAT_FILE) {
        int rc = open_set(g, &set, arena, size, e);
        if (rc) gguf_close(g);
        return rc;
    }
    char *name = arena_text(arena, (struct str){path, strlen(path)}); /* outlives the caller's */
    if (!name) return fail(e, GLIM_NOMEM, "%s: out of memory", path);
    struct source *s;
    int rc = source_file(&s, name, arena->alloc, e);
    return rc ? rc : gguf_open_source(g, s, arena, size, e);
}
