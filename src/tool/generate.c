/* Flags and settings of the commands that generate. */
#include "tool/generate.h"

#include "run/sample.h"
#include "tool/pick.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
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

void generate_free(struct generation_options *g) {
    free((void *)g->stops.p);
    free((void *)g->breakers.p);
    free((void *)g->biases.p);
    free((void *)g->gen.logit_bias);
}

/* "15043+1.5", "15043-2", "15043-inf". */
static bool parse_bias(const char *text, glim_logit_bias *bias) {
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9') return false;
    long long id = strtoll(text, &end, 10);
    if (errno || id > INT32_MAX || (*end != '+' && *end != '-')) return false;
    const char *number = end;
    f32 x = strtof(number, &end);
    *bias = (glim_logit_bias){(i32)id, x};
    return end > number + 1 && !*end && (x == -INFINITY || (x >= -1000 && x <= 1000));
}

static int settle_biases(struct generation_options *g, glim_err *e) {
    free((void *)g->gen.logit_bias);
    g->gen.logit_bias = NULL;
    g->gen.n_logit_bias = 0;
    if (!g->biases.n) return GLIM_OK;
    glim_logit_bias *bias = calloc(g->biases.n, sizeof *bias);
    if (!bias) return fail(e, GLIM_NOMEM, "out of memory");
    g->gen.logit_bias = bias;
    g->gen.n_logit_bias = g->biases.n;
    for (size_t i = 0; i < g->biases.n; i++) {
        if (parse_bias(g->biases.p[i], &bias[i])) continue;
        return fail(e, GLIM_ARG,
                    "--logit-bias: '%.60s' is not a token's id and a number from -1000 to 1000 or "
                    "-inf, like 15043+1 or 15043-inf",
                    g->biases.p[i]);
    }
    return GLIM_OK;
}

static int settle_think(struct generation_options *g, glim_err *e) {
    const char *think = g->think;
    if (g->no_think && think && strcmp(think, "off") != 0)
        return fail(e, GLIM_ARG, "--think and --no-think exclude each other");
    g->gen.max_thought = 0;
    g->thinking = THINK_AS_IS;
    if (!think && !g->no_think) return GLIM_OK;
    bool off = g->no_think || strcmp(think, "off") == 0 || strspn(think, "0") == strlen(think);
    g->thinking = off ? THINK_OFF : THINK_ON;
    g->gen.max_thought = off ? -1 : (i32)strtol(think, NULL, 10); /* 0 for "on": no limit */
    return GLIM_OK;
}

int generate_check(struct generation_options *g, glim_err *e) {
    struct sample_order order;
    glim_err why = {0};
    if (g->n_predict == 0)
        return fail(e, GLIM_ARG, "-n 0: ask for a token at least, or -1 for no limit");
    if (sample_order_parse(&order, g->gen.samplers, NULL, 0, &why) < 0)
        return fail(e, GLIM_ARG, "--%s", why.msg);
    if (g->mirostat) g->gen.mirostat = g->mirostat[0] - '0';
    bool none = g->breakers.n == 1 && strcmp(g->breakers.p[0], "none") == 0;
    g->gen.dry_breakers = g->breakers.n ? g->breakers.p : NULL;
    g->gen.n_dry_breakers = none ? 0 : g->breakers.n;
    for (size_t i = 0; i < g->breakers.n; i++) {
        if (*g->breakers.p[i]) continue;
        return fail(e, GLIM_ARG, "--dry-sequence-breaker: the text is empty");
    }
    int rc = settle_think(g, e);
    return rc < 0 ? rc : settle_biases(g, e);
}

bool generate_settle(const struct command *c, struct generation_options *g,
                     const struct model_options *o, bool raw, int *exit_code) {
    glim_err e = {0};
    int rc = generate_check(g, &e);
    if (rc < 0) {
        *exit_code = rc == GLIM_ARG ? options_misused(c, "%s", e.msg) : options_failed(&e);
        return false;
    }
    const struct defaults *d = brought(o);
    if (!d) return true;
    if (!options_given(&g->n_predict)) g->n_predict = d->n_predict;
    if (!g->system && !raw) g->system = d->system;
    if (*d->unused && !g->quiet)
        options_say("the model's settings have some that glim does not know: %s", d->unused);
    return true;
}

#define SETTING(name)                                                                              \
    { offsetof(glim_generation, name), sizeof(((glim_generation *)0)->name) }
void generate_with_model(struct generation_options *g, const struct model_options *o,
                         const glim_model *model) {
    /* What a flag may set. */
    static const struct {
        size_t at, size;
    } settings[] = {
        SETTING(temp),           SETTING(top_k),
        SETTING(top_p),          SETTING(min_p),
        SETTING(typical_p),      SETTING(top_n_sigma),
        SETTING(min_keep),       SETTING(xtc_probability),
        SETTING(xtc_threshold),  SETTING(mirostat_tau),
        SETTING(mirostat_eta),   SETTING(repeat_penalty),
        SETTING(repeat_last_n),  SETTING(presence_penalty),
        SETTING(dry_multiplier), SETTING(frequency_penalty),
        SETTING(dry_base),       SETTING(dry_allowed_length),
        SETTING(dry_last_n),     SETTING(samplers),
        SETTING(seed),
    };
    const struct defaults *d = brought(o);
    glim_generation gen = glim_model_generation(model), *flags = &g->gen;
    gen.seed = flags->seed; /* the clock's */
    if (d) defaults_over(d, &gen);
    for (size_t i = 0; i < COUNT(settings); i++) {
        const char *from = (const char *)flags + settings[i].at;
        if (options_given(from)) memcpy((char *)&gen + settings[i].at, from, settings[i].size);
    }
    if (g->mirostat) gen.mirostat = flags->mirostat;
    /* These come from flags only. */
    gen.n_logprobs = flags->n_logprobs;
    gen.max_thought = flags->max_thought;
    gen.dry_breakers = flags->dry_breakers;
    gen.n_dry_breakers = flags->n_dry_breakers;
    gen.logit_bias = flags->logit_bias;
    gen.n_logit_bias = flags->n_logit_bias;
    *flags = gen;
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
    if (!options_given(&g->stops) && d) {
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
