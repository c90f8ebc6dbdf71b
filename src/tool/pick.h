/* From what people write as the model to the file that is opened: a path, the manifest of a
 * LeapBundle, or a name in Ollama's store. */
#ifndef TOOL_PICK_H
#define TOOL_PICK_H

#include "tool/facts.h"
#include "tool/store.h"

/* A model of a store or a bundle. */
struct picked {
    char name[512];           /* as it is shown: "gemma4:e2b", or the manifest's path */
    const char *path;         /* of the GGUF file */
    struct defaults defaults; /* what it is to be run with */
    /* Of Ollama's template layer, in Go, or of the bundle, in Jinja; n 0: there is none. */
    struct str template;
    enum glim_template language;
    char renderer[64];     /* the code that Ollama writes turns by instead; empty: none */
    glim_err template_why; /* why these two could not be read */
    struct arena arena;    /* all of it */
};

/* Finds what arg means. TOOL_FINE with *out NULL: a path, to be opened as it is (whether or not
 * there is a file); otherwise *out lives as long as the process, and until the next call. Another
 * exit code: said why. A file that exists goes before a name. */
int pick_model(const char *arg, const struct picked **out);

/* The stores of whoever runs this program: the one place that reads the environment for them. */
int pick_store(struct store *s, glim_err *e);
/* The entry that arg names; NULL after saying which names are near and where it was looked for. */
const struct store_entry *pick_entry(const struct store *s, const char *arg);
/* Which layer is the model that can be run: the one model layer, or among several the one whose
 * file is a model by its own words. e names what is wrong. */
int pick_layer(const struct store_entry *entry, const struct manifest *m,
               const struct layer **layer, const char **path, struct arena *arena, glim_err *e);
/* The settings that its layers bring along, in arena. */
int pick_defaults(const struct store_entry *entry, const struct manifest *m, struct defaults *d,
                  struct arena *arena, glim_err *e);
/* Its template layer and the renderer that its config names, in arena; both may be missing. */
int pick_template(const struct store_entry *entry, const struct manifest *m, struct str *template,
                  char renderer[64], struct arena *arena, glim_err *e);
/* Reads the bundle's manifest at path if it is one: GLIM_NOT_FOUND (e untouched) if not. */
int pick_bundle(const char *path, struct bundle *b, struct arena *arena, glim_err *e);
/* A part of a bundle as a path from here: relative ones start at the manifest's folder. */
const char *pick_part(const char *manifest, const char *part, struct arena *arena);

#endif
