/* Which template a model's turns are written by: the model file's own; else the store's, a Go
 * template, or the bundle's; else none, and the library has the turns of the family. --template
 * goes before all. */
#ifndef TOOL_CHOSEN_H
#define TOOL_CHOSEN_H

#include "tool/options.h"
#include "tool/pick.h"

enum chosen_from {
    CHOSEN_FILE,  /* the model file's: nothing to be done */
    CHOSEN_STORE, /* text is that of the store's template layer, or of the bundle */
    CHOSEN_GIVEN, /* text is the file's that --template names */
    CHOSEN_NONE,  /* neither has one */
};

struct chosen {
    enum chosen_from from;
    enum glim_template language;
    struct str text;
    char *owned;        /* text, where it was read here */
    const char *said;   /* for people: "Ollama's template in the store" */
    const char *unused; /* why a template of the store is not used where there is one, or NULL */
    bool built_in;      /* Ollama writes these turns by code of its own: picked->renderer */
};

/* flag: the value of --template, or NULL. picked may be NULL: no store's model. */
int chosen_find(struct chosen *c, const char *flag, const struct picked *picked, bool file_has,
                glim_err *e);
void chosen_free(struct chosen *c);
/* The same for an open model, which then writes by it. */
int chosen_apply(const struct model_options *o, glim_model *model, glim_err *e);

/* The library's error, with the flag that is the way out where another template is. */
glim_err chosen_error(const glim_err *why);

#endif
