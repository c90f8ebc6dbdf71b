/* What a model brings along for being run: sampling parameters, system text, first turns. The
 * user's flags go above them. */
#ifndef TOOL_DEFAULTS_H
#define TOOL_DEFAULTS_H

#include "base/mem.h"

#include <jansson.h>

struct defaults {
    glim_generation gen;    /* stops are in the arena */
    u32 set;                /* bit per key that was said: see defaults_over */
    bool seeded;            /* gen.seed is meant */
    u32 n_ctx;              /* 0: not said */
    i32 n_predict;          /* -1: no limit */
    const char *system;     /* NULL: none; arena */
    glim_message *messages; /* turns that go before the user's; arena */
    size_t n_messages;
    char unused[160]; /* names of parameters that have no effect here: "num_gpu, mirostat 1" */
};

/* The library's own defaults. */
void defaults_init(struct defaults *d);
/* Takes sampling parameters by Ollama's names (temperature, top_k, top_p, min_p, typical_p,
 * repeat_penalty, repeat_last_n, presence_penalty, frequency_penalty, mirostat, mirostat_tau,
 * mirostat_eta, seed, num_ctx, num_predict, stop) and LEAP's (repetition_penalty). Keys without an
 * effect are listed in d->unused; a known key with a wrong type or out of range is GLIM_FORMAT. */
int defaults_take(struct defaults *d, const json_t *params, struct arena *arena, glim_err *e);
/* The same from the text of a params layer. */
int defaults_params(struct defaults *d, struct str text, struct arena *arena, glim_err *e);
/* Puts the sampling parameters that were taken, stop texts excepted, above those in gen. */
void defaults_over(const struct defaults *d, glim_generation *gen);
/* Turns from the text of a messages layer: [{"role": ..., "content": ...}, ...]. */
int defaults_messages(struct defaults *d, struct str text, struct arena *arena, glim_err *e);

#endif
