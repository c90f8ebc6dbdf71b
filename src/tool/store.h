/* Ollama's store: folders with manifests/HOST/NAMESPACE/MODEL/TAG and blobs/sha256-HEX. Read only;
 * a manifest that is wrong is a matter of that model alone. */
#ifndef TOOL_STORE_H
#define TOOL_STORE_H

#include "tool/manifest.h"

/* ---- Names ----------------------------------------------------------------------------------- */

/* Parts of HOST/NAMESPACE/MODEL:TAG, case as typed; each a file name. */
enum { STORE_PART = 256 };
struct store_name {
    char host[STORE_PART], space[STORE_PART], model[STORE_PART], tag[STORE_PART];
};
/* Of a name as people type it, with what is left out filled in (registry.ollama.ai, library,
 * latest). GLIM_ARG: not a name (a path, a part with other characters, a part too many). */
int store_name_parse(struct store_name *n, const char *text, glim_err *e);
/* The shortest that means the same: "gemma4:e2b". */
struct store_shown {
    char s[4 * STORE_PART];
};
struct store_shown store_name_show(const struct store_name *n);
/* Upper and lower case are the same to Ollama. */
bool store_name_same(const struct store_name *a, const struct store_name *b);

/* ---- Stores ---------------------------------------------------------------------------------- */

struct store_root {
    const char *path;
    char why[160]; /* nothing or not everything could be read here, because; empty: fine */
    u32 n;         /* models in it */
};

struct store_entry {
    struct store_name name;
    const struct store_root *root;
    const char *path; /* of the manifest */
    bool hidden;      /* an earlier root has a model of that name */
};

struct store {
    struct arena arena;         /* everything here */
    struct store_root roots[3]; /* in the order of search */
    u32 n_roots;
    struct store_entry *entries; /* by root, then by name */
    u32 n, cap;
};

/* Lists what is in the stores: models (the value of OLLAMA_MODELS, may be NULL), home's .ollama
 * (may be NULL), and the one of Ollama as a service. Not finding any is no error: roots say why.
 * Only GLIM_NOMEM; s must be closed in any case. */
int store_open(struct store *s, const char *models, const char *home, glim_err *e);
void store_close(struct store *s);

/* By name, whatever the case; one of the very same case goes first, then the earlier root. NULL:
 * none, with e untouched, or two that differ only by case, with e saying so. */
const struct store_entry *store_find(const struct store *s, const struct store_name *name,
                                     glim_err *e);
/* Reads its manifest. */
int store_manifest(const struct store_entry *entry, struct manifest *m, struct arena *arena,
                   glim_err *e);
/* The path of a layer's blob, in arena; the file is there and has the layer's size. */
int store_blob(const struct store_entry *entry, const struct layer *l, const char **path,
               struct arena *arena, glim_err *e);
/* A blob as text, zero-terminated, in arena; one with a zero byte inside is GLIM_FORMAT. */
int store_text(const struct store_entry *entry, const struct layer *l, struct str *text,
               struct arena *arena, glim_err *e);
/* Whether a blob's bytes have its digest: GLIM_OK, or GLIM_FORMAT with the digest they have. */
int store_verify(const char *path, const struct layer *l, glim_err *e);

#endif
