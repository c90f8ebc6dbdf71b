/* What a model brings along for being run: sampling parameters, system text, first turns. The
 * user's flags go above them. */
#ifndef TOOL_DEFAULTS_H
#define TOOL_DEFAULTS_H

#include "base/mem.h"

#include <jansson.h>

struct defaults {
    glim_generation gen;    /* stops are in the arena */
    bool seeded;            /* gen.seed is meant */
    u32 n_ctx;              /* 0: not said */
    i32 n_predict;          /* -1: no limit */
    const char *system;     /* NULL: none; arena */
    glim_message *messages; /* turns that go before the user's; arena */
    size_t n_messages;
    char unused[160]; /* names of parameters that have no effect here: "num_gpu, mirostat" */
};

/* The library's own defaults. */
void defaults_init(struct defaults *d);
/* Takes sampling parameters by Ollama's names (temperature, top_k, top_p, min_p, repeat_penalty,
 * repeat_last_n, seed, num_ctx, num_predict, stop) and LEAP's (repetition_penalty). Keys without an
 * effect are listed in d->unused; a known key with a wrong type or out of range is GLIM_FORMAT. */
int defaults_take(struct defaults *d, const json_t *params, struct arena *arena, glim_err *e);
/* The same from the text of a params layer. */
int defaults_params(struct defaults *d, struct str text, struct arena *arena, glim_err *e);
/* Turns from the text of a messages layer: [{"role": ..., "content": ...}, ...]. */
int defaults_messages(struct defaults *d, struct str text, struct arena *arena, glim_err *e);

#endif
