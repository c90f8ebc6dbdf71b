/* Ollama's store: names, folders, blobs. */
#include "tool/store.h"

#include "base/plat.h"
#include "tool/input.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const char default_host[] = "registry.ollama.ai", default_space[] = "library",
                  default_tag[] = "latest";

/* ---- Names ----------------------------------------------------------------------------------- */

/* Parts become names of files: no separators, nothing hidden, no "..". */
static bool set_part(char *to, const char *from, size_t n, bool is_host) {
    if (n == 0 || n >= STORE_PART || from[0] == '.' || from[0] == '-') return false;
    for (size_t i = 0; i < n; i++) {
        char c = from[i];
        if (!isalnum((unsigned char)c) && !strchr(is_host ? "_-.:" : "_-.", c)) return false;
    }
    memcpy(to, from, n);
    to[n] = 0;
    return true;
}

int store_name_parse(struct store_name *n, const char *text, glim_err *e) {
    const char *s = text;
    if (strncmp(s, "https://", 8) == 0) s += 8;
    if (strncmp(s, "http://", 7) == 0) s += 7;
    *n = (struct store_name){0};
    bool ok = true;
    /* From the end: TAG behind the last colon, unless that is a host's. */
    const char *slash = strrchr(s, '/'), *colon = strrchr(s, ':');
    size_t len = strlen(s);
    if (colon && (!slash || colon > slash)) {
        ok = set_part(n->tag, colon + 1, strlen(colon + 1), false);
        len = (size_t)(colon - s);
    } else {
        strcpy(n->tag, default_tag);
    }
    char *const parts[] = {n->model, n->space, n->host};
    size_t k = 0;
    for (; ok && k < COUNT(parts); k++) {
        size_t start = len;
        while (start > 0 && s[start - 1] != '/')
            start--;
        ok = set_part(parts[k], s + start, len - start, k == 2);
        len = start ? start - 1 : 0;
        if (start == 0) break;
    }
    if (!ok || k == COUNT(parts))
        return fail(e, GLIM_ARG, "'%.100s' is not a model's name (HOST/NAMESPACE/MODEL:TAG)", text);
    if (!*n->space) strcpy(n->space, default_space);
    if (!*n->host) strcpy(n->host, default_host);
    return GLIM_OK;
}

struct store_shown store_name_show(const struct store_name *n) {
    struct store_shown t;
    bool host = strcasecmp(n->host, default_host) != 0;
    bool space = host || strcasecmp(n->space, default_space) != 0;
    snprintf(t.s, sizeof t.s, "%s%s%s%s%s:%s", host ? n->host : "", host ? "/" : "",
             space ? n->space : "", space ? "/" : "", n->model, n->tag);
    return t;
}

bool store_name_same(const struct store_name *a, const struct store_name *b) {
    return strcasecmp(a->host, b->host) == 0 && strcasecmp(a->space, b->space) == 0 &&
           strcasecmp(a->model, b->model) == 0 && strcasecmp(a->tag, b->tag) == 0;
}

/* ---- Listing --------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static char *put(struct arena *a, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *s = n < 0 ? NULL : arena_get(a, (u64)n + 1);
    if (s) vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    return s;
}

static int add_entry(struct store *s, struct store_root *root, char *const parts[4],
                     const char *path, glim_err *e) {
    if (s->n == s->cap) { /* the arena keeps the old list until the store is closed */
        u32 cap = s->cap ? 2 * s->cap : 64;
        struct store_entry *grown = arena_array(&s->arena, cap, sizeof *grown);
        if (!grown) return fail(e, GLIM_NOMEM, "no memory to list %s", path);
        if (s->n) memcpy(grown, s->entries, s->n * sizeof *grown);
        s->entries = grown;
        s->cap = cap;
    }
    struct store_entry *entry = &s->entries[s->n++];
    *entry = (struct store_entry){.root = root, .path = path};
    snprintf(entry->name.host, STORE_PART, "%s", parts[0]);
    snprintf(entry->name.space, STORE_PART, "%s", parts[1]);
    snprintf(entry->name.model, STORE_PART, "%s", parts[2]);
    snprintf(entry->name.tag, STORE_PART, "%s", parts[3]);
    root->n++;
    return GLIM_OK;
}

/* Manifests lie exactly four folders deep; what lies elsewhere is not ours. parts: names above. */
static int scan(struct store *s, struct store_root *root, const char *folder, char *parts[4],
                u32 depth, glim_err *e) {
    DIR *dir = opendir(folder);
    if (!dir) {
        snprintf(root->why, sizeof root->why, "cannot read %.60s: %s", folder, strerror(errno));
        return GLIM_OK;
    }
    int rc = GLIM_OK;
    for (struct dirent *d; rc == GLIM_OK && (d = readdir(dir));) {
        if (d->d_name[0] == '.') continue; /* also what editors and file managers leave behind */
        char *path = put(&s->arena, "%s/%s", folder, d->d_name);
        parts[depth] = put(&s->arena, "%s", d->d_name);
        if (!path || !parts[depth]) {
            rc = fail(e, GLIM_NOMEM, "no memory to list %.100s", folder);
            break;
        }
        enum plat_kind kind = plat_kind(path);
        if (depth < 3 && kind == PLAT_DIR) rc = scan(s, root, path, parts, depth + 1, e);
        /* A link that leads nowhere is listed too, and found wrong when it is read. */
        if (depth == 3 && kind != PLAT_DIR) rc = add_entry(s, root, parts, path, e);
    }
    closedir(dir);
    return rc;
}

static int by_name(const void *pa, const void *pb) {
    const struct store_entry *a = pa, *b = pb;
    if (a->root != b->root) return a->root < b->root ? -1 : 1;
    struct store_shown x = store_name_show(&a->name), y = store_name_show(&b->name);
    int order = strcasecmp(x.s, y.s);
    return order ? order : strcmp(x.s, y.s);
}

/* The same folder under two names is searched once. */
static bool is_known(const struct store *s, const char *path) {
    struct stat a, b;
    if (stat(path, &a) != 0) return false;
    for (u32 i = 0; i < s->n_roots; i++) {
        if (stat(s->roots[i].path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
            return true;
    }
    return false;
}

static int add_root(struct store *s, const char *path, glim_err *e) {
    if (!path) return fail(e, GLIM_NOMEM, "no memory to list the store");
    if (is_known(s, path)) return GLIM_OK;
    struct store_root *root = &s->roots[s->n_roots++];
    root->path = path;
    const char *folder = put(&s->arena, "%s/manifests", path);
    if (!folder) return fail(e, GLIM_NOMEM, "no memory to list %.100s", path);
    struct stat st;
    if (stat(path, &st) != 0) {
        snprintf(root->why, sizeof root->why, "%s",
                 errno == ENOENT ? "no such folder" : strerror(errno));
        return GLIM_OK;
    }
    if (stat(folder, &st) != 0) {
        snprintf(root->why, sizeof root->why, "%s",
                 errno == ENOENT ? "no manifests folder in it" : strerror(errno));
        return GLIM_OK;
    }
    char *parts[4];
    return scan(s, root, folder, parts, 0, e);
}

/* The value of OLLAMA_MODELS as Ollama takes it: without blanks and quotes around; and with "~/",
 * which no shell expands inside quotes or in a service's settings. */
static const char *clean_root(struct store *s, const char *value, const char *home) {
    size_t n = strlen(value);
    while (n && strchr(" \t\r\n\"'", value[n - 1]))
        n--;
    while (n && strchr(" \t\r\n\"'", *value))
        value++, n--;
    while (n > 1 && value[n - 1] == '/')
        n--;
    bool tilde = home && n && value[0] == '~' && (n == 1 || value[1] == '/');
    return put(&s->arena, "%s%.*s", tilde ? home : "", (int)(n - tilde), value + tilde);
}

int store_open(struct store *s, const char *models, const char *home, glim_err *e) {
    *s = (struct store){0};
    arena_init(&s->arena, &mem_libc);
    if (home && !*home) home = NULL;
    int rc = GLIM_OK;
    const char *own = models ? clean_root(s, models, home) : "";
    if (!own) rc = fail(e, GLIM_NOMEM, "no memory to list the store");
    if (rc == GLIM_OK && *own) rc = add_root(s, own, e);
    if (rc == GLIM_OK && home) rc = add_root(s, put(&s->arena, "%s/.ollama/models", home), e);
    if (rc == GLIM_OK) rc = add_root(s, "/usr/share/ollama/.ollama/models", e);
    if (rc < 0) return rc;
    if (s->n) qsort(s->entries, s->n, sizeof *s->entries, by_name);
    for (u32 i = 0; i < s->n; i++) {
        for (u32 k = 0; k < i && !s->entries[i].hidden; k++)
            s->entries[i].hidden = s->entries[k].root != s->entries[i].root &&
                                   store_name_same(&s->entries[k].name, &s->entries[i].name);
    }
    return GLIM_OK;
}

void store_close(struct store *s) {
    arena_free(&s->arena);
    *s = (struct store){0};
}

const struct store_entry *store_find(const struct store *s, const struct store_name *name,
                                     glim_err *e) {
    struct store_shown want = store_name_show(name);
    const struct store_entry *found = NULL, *other = NULL;
    for (u32 i = 0; i < s->n; i++) {
        const struct store_entry *it = &s->entries[i];
        if (!store_name_same(&it->name, name)) continue;
        struct store_shown shown = store_name_show(&it->name);
        if (strcmp(shown.s, want.s) == 0) return it;
        if (!found) {
            found = it;
        } else if (!other && it->root == found->root) {
            other = it;
        }
    }
    if (!other) return found;
    fail(e, GLIM_ARG, "'%.60s' could be %.60s or %.60s; write it in their case", want.s,
         store_name_show(&found->name).s, store_name_show(&other->name).s);
    return NULL;
}

/* ---- Contents -------------------------------------------------------------------------------- */

/* Real manifests have a few hundred bytes; texts in a store a few thousand. */
enum { MOST_MANIFEST = 1 << 24, MOST_TEXT = 1 << 24 };

/* A whole small file in arena, zero-terminated. */
static int read_file(const char *path, u64 most, struct str *text, struct arena *arena,
                     glim_err *e) {
    struct stat st;
    if (stat(path, &st) != 0) return fail(e, GLIM_IO, "%.150s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode)) return fail(e, GLIM_IO, "%.150s: not a regular file", path);
    if ((u64)st.st_size > most)
        return fail(e, GLIM_FORMAT, "%.120s: %lld bytes; at most %llu are read", path,
                    (long long)st.st_size, (unsigned long long)most);
    char *bytes;
    size_t n;
    int rc = input_read(path, &bytes, &n, e);
    if (rc < 0) return rc;
    char *copy = arena_text(arena, (struct str){bytes, n});
    free(bytes);
    if (!copy) return fail(e, GLIM_NOMEM, "no memory for %.100s", path);
    *text = (struct str){copy, n};
    return GLIM_OK;
}

int store_manifest(const struct store_entry *entry, struct manifest *m, struct arena *arena,
                   glim_err *e) {
    struct str text;
    *m = (struct manifest){0};
    int rc = read_file(entry->path, MOST_MANIFEST, &text, arena, e);
    return rc < 0 ? rc : manifest_parse(m, text, arena, e);
}

/* Why a blob is not there. */
static int missing(const struct store_entry *entry, const struct layer *l, int why,
                   struct arena *arena, glim_err *e) {
    static const char *const endings[] = {"-partial", "-partial-0"};
    const char *kind = layer_kind_name(l->kind);
    for (size_t i = 0; why == ENOENT && i < COUNT(endings); i++) {
        char *path = put(arena, "%s/blobs/sha256-%s%s", entry->root->path, l->hex, endings[i]);
        if (path && plat_kind(path) != PLAT_NONE)
            return fail(e, GLIM_NOT_FOUND,
                        "%s: its download was not finished (blob sha256-%.12s...); pull the model "
                        "again",
                        kind, l->hex);
    }
    return fail(e, why == ENOENT ? GLIM_NOT_FOUND : GLIM_IO,
                "%s: blob sha256-%.12s... in %.80s: %s", kind, l->hex, entry->root->path,
                why == ENOENT ? "missing; pull the model again" : strerror(why));
}

int store_blob(const struct store_entry *entry, const struct layer *l, const char **path,
               struct arena *arena, glim_err *e) {
    struct stat st;
    int why = ENOENT;
    *path = NULL;
    /* Stores of early versions have a colon in the name. */
    for (const char *sep = "-:"; *sep; sep++) {
        char *p = put(arena, "%s/blobs/sha256%c%s", entry->root->path, *sep, l->hex);
        if (!p) return fail(e, GLIM_NOMEM, "out of memory");
        if (stat(p, &st) == 0) {
            *path = p;
            break;
        }
        if (errno != ENOENT) why = errno;
    }
    if (!*path) return missing(entry, l, why, arena, e);
    if (!S_ISREG(st.st_mode))
        return fail(e, GLIM_FORMAT, "%s: %.150s is not a regular file", layer_kind_name(l->kind),
                    *path);
    if ((u64)st.st_size != l->size)
        return fail(e, GLIM_FORMAT,
                    "%s: blob sha256-%.12s... has %lld bytes, not the manifest's %llu; pull the "
                    "model again",
                    layer_kind_name(l->kind), l->hex, (long long)st.st_size,
                    (unsigned long long)l->size);
    return GLIM_OK;
}

int store_text(const struct store_entry *entry, const struct layer *l, struct str *text,
               struct arena *arena, glim_err *e) {
    const char *path;
    *text = (struct str){"", 0};
    int rc = store_blob(entry, l, &path, arena, e);
    if (rc == GLIM_OK && l->size) rc = read_file(path, MOST_TEXT, text, arena, e);
    if (rc == GLIM_OK && memchr(text->p, 0, text->n))
        rc =
            fail(e, GLIM_FORMAT, "%s: a zero byte in it: it is not text", layer_kind_name(l->kind));
    return rc;
}

int store_verify(const char *path, const struct layer *l, glim_err *e) {
    struct sha256_ctx sha;
    u8 digest[SHA256_DIGEST_SIZE];
    char hex[2 * SHA256_DIGEST_SIZE + 1];
    enum { CHUNK = 1 << 18 };
    u8 *chunk = malloc(CHUNK);
    FILE *f = chunk ? fopen(path, "rb") : NULL;
    if (!f) {
        int rc = chunk ? fail(e, GLIM_IO, "%.150s: cannot open: %s", path, strerror(errno))
                       : fail(e, GLIM_NOMEM, "no memory to verify %.100s", path);
        free(chunk);
        return rc;
    }
    sha256_init(&sha);
    for (size_t n; (n = fread(chunk, 1, CHUNK, f));)
        sha256_update(&sha, n, chunk);
    bool failed = ferror(f);
    fclose(f);
    free(chunk);
    if (failed) return fail(e, GLIM_IO, "%.150s: cannot be read to its end", path);
    sha256_digest(&sha, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    if (strcmp(hex, l->hex) == 0) return GLIM_OK;
    return fail(e, GLIM_FORMAT,
                "%s: wrong bytes: their digest is sha256:%.12s..., the manifest's sha256:%.12s...; "
                "remove the model and pull it again",
                layer_kind_name(l->kind), hex, l->hex);
}
