/* Flags and settings of the commands that generate. */
#include "tool/generate.h"

#include "tool/pick.h"

#include <stdlib.h>
#include <time.h>

struct generation_options generate_defaults(void) {
    struct generation_options g = {.n_predict = -1, .gen = glim_generation_default()};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    /* Ten digits at most, so that a person can type it again. */
    g.gen.seed = ((u64)now.tv_sec * 1000000 + (u64)now.tv_nsec / 1000) & 0xffffffff;
    return g;
}

static const struct defaults *brought(const struct model_options *o) {
    return o->picked ? &o->picked->defaults : NULL;
}

bool generate_settle(const struct command *c, struct generation_options *g,
                     const struct model_options *o, bool raw, int *exit_code) {
    if (g->n_predict == 0) {
        *exit_code = options_misused(c, "-n 0: ask for a token at least, or -1 for no limit");
        return false;
    }
    const struct defaults *d = brought(o);
    if (!d) return true;
    glim_generation *to = &g->gen;
    if (!options_given(&to->temp)) to->temp = d->gen.temp;
    if (!options_given(&to->top_k)) to->top_k = d->gen.top_k;
    if (!options_given(&to->top_p)) to->top_p = d->gen.top_p;
    if (!options_given(&to->min_p)) to->min_p = d->gen.min_p;
    if (!options_given(&to->repeat_penalty)) to->repeat_penalty = d->gen.repeat_penalty;
    if (!options_given(&to->repeat_last_n)) to->repeat_last_n = d->gen.repeat_last_n;
    if (!options_given(&to->seed) && d->seeded) to->seed = d->gen.seed;
    if (!options_given(&g->n_predict)) g->n_predict = d->n_predict;
    if (!g->system && !raw) g->system = d->system;
    if (*d->unused && !g->quiet)
        options_say("the model's settings have some that glim does not know: %s", d->unused);
    return true;
}

/* The settings' context is often that of another size of the model: unlike a flag, a number above
 * the model's limit means the limit. */
u32 generate_context(const struct generation_options *g, const struct model_options *o,
                     const glim_model *model) {
    const struct defaults *d = brought(o);
    if (g->n_ctx || !d) return g->n_ctx;
    glim_model_info info;
    glim_model_get_info(model, &info);
    if (d->n_ctx > info.n_ctx_train && !g->quiet)
        options_say("the model's settings ask for a context of %u tokens; it has %u", d->n_ctx,
                    info.n_ctx_train);
    return MIN(d->n_ctx, info.n_ctx_train);
}

int generate_apply(const struct generation_options *g, const struct model_options *o,
                   glim_session *session) {
    const struct defaults *d = brought(o);
    glim_generation gen = g->gen;
    gen.max_tokens = g->n_predict > 0 ? (u32)g->n_predict : 0;
    gen.stops = g->stops.p;
    gen.n_stops = g->stops.n;
    if (!g->stops.n && d) {
        gen.stops = d->gen.stops;
        gen.n_stops = d->gen.n_stops;
    }
    return glim_set_generation(session, &gen);
}

int generate_turns(const struct generation_options *g, const struct model_options *o,
                   const char *text, glim_message **m, size_t *n, glim_err *e) {
    const struct defaults *d = brought(o);
    size_t before = d ? d->n_messages : 0;
    glim_message *next = *m = malloc((before + 2) * sizeof *next);
    if (!next) return fail(e, GLIM_NOMEM, "no memory for %zu turns", before + 2);
    if (g->system) *next++ = (glim_message){"system", g->system};
    for (size_t i = 0; i < before; i++)
        *next++ = d->messages[i];
    *next++ = (glim_message){"user", text};
    *n = (size_t)(next - *m);
    return GLIM_OK;
}
