/* What all commands share: flags and their help, errors for people, the engine.
 *
 * Results go to stdout, everything else to stderr. A command returns an enum tool_exit. */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include "base/base.h"

#include <stdio.h>

enum tool_exit {
    TOOL_FINE,
    TOOL_FAILED,
    TOOL_MISUSED,           /* wrong flags or arguments */
    TOOL_INTERRUPTED = 130, /* by Ctrl-C, as shells have it: 128 + SIGINT */
};

struct command {
    const char *name;
    const char *usage;    /* what follows "glim NAME" */
    const char *about;    /* one line, for the list of commands */
    const char *detail;   /* paragraph for --help, without the last newline */
    const char *examples; /* lines for --help */
    int (*main)(const struct command *c, int argc, char **argv);
};

extern const struct command run_command, chat_command, list_command, show_command, tokenize_command,
    template_command, logits_command, inspect_command, bench_command, devices_command;

/* ---- Flags ----------------------------------------------------------------------------------- */

enum option_kind {
    OPTION_SWITCH, /* bool *: takes no value, sets true */
    OPTION_TEXT,   /* const char **: the last one counts */
    OPTION_TEXTS,  /* struct texts *: may be repeated */
    OPTION_WORD,   /* const char **: one of those in arg, "auto|cpu|gpu[:N]" */
    OPTION_AMOUNT, /* const char **: "on", "off" or a whole number; the flag alone is "on" */
    OPTION_U32,
    OPTION_I32,
    OPTION_U64,
    OPTION_F32,
};

struct texts {
    const char *const *p; /* owned by the process */
    size_t n;
};

struct option_row {
    char letter;      /* 0: none */
    const char *name; /* NULL ends the table */
    const char *arg;  /* name of the value in the help; NULL for switches */
    enum option_kind kind;
    void *to;
    f64 lo, hi; /* of a number */
    const char *help;
};

/* Flags of every command that opens a model. */
struct picked; /* tool/pick.h */
struct model_options {
    const char *model; /* a path, once options_model has found it */
    const struct picked
        *picked; /* the store's or bundle's model that it is of; NULL: just a file */
    u32 threads; /* 0: one per processor */
    const char *device, *tables, *isa, *gpu_features;
    const char *template; /* see chosen.h */
};
/* clang-format off */
#define OPTION_MODEL(o)                                                                            \
    {'m', "model", "FILE", OPTION_TEXT, &(o).model, 0, 0,                                       \
     "the model: a file, or a name in Ollama's store"}
#define OPTION_TEMPLATE(o)                                                                         \
    {0, "template", "jinja|ollama|FILE", OPTION_TEXT, &(o).template, 0, 0,                         \
     "write turns by the model file's, the store's, or this template"}
#define OPTION_DEVICE(o)                                                                           \
    {0, "device", "auto|cpu|gpu[:N]", OPTION_WORD, &(o).device, 0, 0,                              \
     "what computes (default: auto, a real GPU if there is one)"},                                 \
    {0, "tables", "auto|device|file", OPTION_WORD, &(o).tables, 0, 0,                              \
     "where a GPU has embeddings read by row (auto: where there is room)"}
#define OPTION_ENGINE(o)                                                                           \
    {'t', "threads", "N", OPTION_U32, &(o).threads, 1, 256,                                        \
     "threads (default: one per processor)"},                                                      \
    OPTION_DEVICE(o),                                                                              \
    {0, "isa", "scalar|avx2|avx512", OPTION_WORD, &(o).isa, 0, 0,                                  \
     "instructions to use (default: the best there are)"},                                         \
    {0, "gpu-features", "all|none", OPTION_WORD, &(o).gpu_features, 0, 0,                          \
     "what a GPU's kernels use beyond what all have (all)"}
/* clang-format on */
#define OPTION_END                                                                                 \
    { 0, NULL, NULL, OPTION_SWITCH, NULL, 0, 0, NULL }

/* Reads flags, wherever they stand, and moves the other arguments to (*argv)[0 .. *argc). Prints
 * the help for --help. True: go on; false: leave with *exit_code. */
bool options_parse(const struct command *c, const struct option_row *rows, int *argc, char ***argv,
                   int *exit_code);

/* Whether the flags that were read, or options_set, set what to points to, a row's to. */
bool options_given(const void *to);
/* Sets what a row is for from text, which is copied where it is kept; a text that may be repeated
 * comes behind the others, and "off" takes all of them away. GLIM_ARG names what it was to be. */
int options_set(const struct option_row *r, const char *text, glim_err *e);
/* The value as --help's names have it: "0.8", "\"a\" \"b\"", "none". */
void options_put_value(const struct option_row *r, FILE *f);

/* ---- Errors ---------------------------------------------------------------------------------- */

/* "glim: ..." as one line on stderr; control characters in it are made visible. */
void options_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same for a wrong command line, with a pointer to the help. Returns TOOL_MISUSED. */
int options_misused(const struct command *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints e. Returns TOOL_FAILED. */
int options_failed(const glim_err *e);
/* The same after opening a model; says which models are near when there is none at path. */
int options_failed_at(const char *path, const glim_err *e);
/* Flushes stdout; false, after saying why, if something could not be written. A reader that went
 * away (| head) is not worth a word. */
bool options_flush(void);
/* Reads the one model that every command needs, from -m or else from the first argument (which it
 * then removes), and finds its file: see pick_model. False: there is none, and *exit_code tells. */
bool options_model(const struct command *c, struct model_options *o, int *argc, char ***argv,
                   int *exit_code);
/* The most alike of n names, or NULL if none is. */
const char *options_nearest(const char *word, const char *const *names, size_t n);

/* ---- Engine ---------------------------------------------------------------------------------- */

/* Opens the engine that the flags ask for; its notes go to stderr. */
int options_engine(const struct model_options *o, glim_engine **engine, glim_err *e);
/* GLIM_TABLES_* of --tables. */
int options_tables(const struct model_options *o);
/* Keeps this thread on the one processor that the engine's workers leave free. */
void options_pin(u32 threads);

#endif
