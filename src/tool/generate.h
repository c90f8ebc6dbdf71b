/* What the commands that generate share: their flags, and the settings that a model brings along.
 */
#ifndef TOOL_GENERATE_H
#define TOOL_GENERATE_H

#include "tool/converse.h"
#include "tool/options.h"

struct generation_options {
    const char *system;
    bool exact, quiet;
    i32 n_predict;                        /* -1: no limit */
    u32 n_ctx;                            /* 0: the library's default */
    glim_generation gen;                  /* logit_bias is owned */
    struct texts stops, breakers, biases; /* owned */
    const char *mirostat;                 /* "0" or "2" */
    const char *think;                    /* "on", "off" or a number; NULL: not said */
    bool no_think;                        /* think is "off" */
    enum think thinking;                  /* what those two mean, with gen.max_thought */
};
/* clang-format off */
#define OPTION_SYSTEM(g)                                                                           \
    {0, "system", "TEXT", OPTION_TEXT, &(g).system, 0, 0, "instructions that go before it"}
#define OPTION_THINK(g)                                                                            \
    {0, "think", "[on|off|N]", OPTION_AMOUNT, &(g).think, 0, 0,                                    \
     "think first, for N tokens at most, or not (off, 0), if its template can"}
#define OPTION_GENERATION(g)                                                                       \
    {'n', "n-predict", "N", OPTION_I32, &(g).n_predict, -1, INT32_MAX,                             \
     "at most N tokens (default: until the model ends)"},                                          \
    {'c', "ctx-size", "N", OPTION_U32, &(g).n_ctx, 1, 1u << 28,                                    \
     "room for N tokens (default: the model's, at most 8192)"},                                    \
    {0, "stop", "TEXT", OPTION_TEXTS, &(g).stops, 0, 0,                                            \
     "end before this text; may be repeated"},                                                     \
    {0, "temp", "X", OPTION_F32, &(g).gen.temp, 0, 1000,                                           \
     "temperature (0.8; 0: the likeliest token)"},                                                 \
    {0, "top-k", "N", OPTION_I32, &(g).gen.top_k, 0, INT32_MAX,                                    \
     "choose among the N likeliest (40; 0: all)"},                                                 \
    {0, "top-p", "X", OPTION_F32, &(g).gen.top_p, 0, 1,                                            \
     "and the fewest with this share of probability (0.95)"},                                      \
    {0, "min-p", "X", OPTION_F32, &(g).gen.min_p, 0, 1,                                            \
     "and those this likely, the likeliest being 1 (0.05)"},                                       \
    {0, "typical-p", "X", OPTION_F32, &(g).gen.typical_p, 0, 1,                                    \
     "and the most typical with this share of probability (1)"},                                   \
    {0, "top-n-sigma", "X", OPTION_F32, &(g).gen.top_n_sigma, 0, 1000,                             \
     "and those within X deviations of the best logit (0: all)"},                                  \
    {0, "min-keep", "N", OPTION_U32, &(g).gen.min_keep, 0, 1u << 28,                               \
     "but N tokens at least (0: one)"},                                                                 \
    {0, "xtc-probability", "X", OPTION_F32, &(g).gen.xtc_probability, 0, 1,                        \
     "how often to exclude the top choices (0)"},                                                  \
    {0, "xtc-threshold", "X", OPTION_F32, &(g).gen.xtc_threshold, 0, 1,                            \
     "which are those this probable, but for the last (0.1)"},                                     \
    {0, "mirostat", "0|2", OPTION_WORD, &(g).mirostat, 0, 0,                                       \
     "2: steer the surprise of tokens, instead of these cuts"},                                    \
    {0, "mirostat-ent", "X", OPTION_F32, &(g).gen.mirostat_tau, 0, 100,                            \
     "to X bits per token (5)"},                                                                   \
    {0, "mirostat-lr", "X", OPTION_F32, &(g).gen.mirostat_eta, 0, 1,                               \
     "how fast (0.1)"},                                                                            \
    {0, "repeat-penalty", "X", OPTION_F32, &(g).gen.repeat_penalty, 0.01, 100,                     \
     "hold back recent tokens (1: off)"},                                                          \
    {0, "repeat-last-n", "N", OPTION_U32, &(g).gen.repeat_last_n, 0, 1u << 28,                     \
     "how many tokens are recent (64)"},                                                           \
    {0, "presence-penalty", "X", OPTION_F32, &(g).gen.presence_penalty, -100, 100,                 \
     "take X off the logits of recent tokens (0)"},                                                \
    {0, "frequency-penalty", "X", OPTION_F32, &(g).gen.frequency_penalty, -100, 100,               \
     "and X for each time that they occur (0)"},                                                   \
    {0, "dry-multiplier", "X", OPTION_F32, &(g).gen.dry_multiplier, 0, 100,                        \
     "hold back tokens that go on with a repetition (0: off)"},                                    \
    {0, "dry-base", "X", OPTION_F32, &(g).gen.dry_base, 1, 100,                                    \
     "growth of that with each repeated token (1.75)"},                                            \
    {0, "dry-allowed-length", "N", OPTION_U32, &(g).gen.dry_allowed_length, 0, 1u << 28,           \
     "beyond N of them (2)"},                                                                      \
    {0, "dry-penalty-last-n", "N", OPTION_I32, &(g).gen.dry_last_n, -1, INT32_MAX,                 \
     "search the last N tokens (-1: all)"},                                                        \
    {0, "dry-sequence-breaker", "TEXT", OPTION_TEXTS, &(g).breakers, 0, 0,                         \
     "no repetition goes across it; may be repeated; \"none\" (newline : \" *)"},                  \
    {0, "logit-bias", "ID+X", OPTION_TEXTS, &(g).biases, 0, 0,                                     \
     "add X to token ID's logit, or ID-X, ID-inf; may be repeated"},                               \
    {0, "samplers", "NAMES", OPTION_TEXT, &(g).gen.samplers, 0, 0,                                 \
     "what is used, in this order: penalties;dry;top_n_sigma;\n"                                   \
     "                          top_k;typ_p;top_p;min_p;xtc;temperature"},                         \
    {0, "seed", "N", OPTION_U64, &(g).gen.seed, 0, 0x1p64,                                         \
     "repeats an answer (default: from the clock)"},                                               \
    {0, "exact", NULL, OPTION_SWITCH, &(g).exact, 0, 0,                                            \
     "f32 activations: slower, reproduces references"}
/* clang-format on */

/* The library's defaults, no limit, a seed from the clock. */
struct generation_options generate_defaults(void);
/* After the flags were read: what a store's model or a bundle is to be run with applies wherever no
 * flag says otherwise, its system text unless raw. False: the flags make no sense, leave with
 * *exit_code. */
bool generate_settle(const struct command *c, struct generation_options *g,
                     const struct model_options *o, bool raw, int *exit_code);

/* The same without the model's part: takes over what flags and settings say as texts. GLIM_ARG
 * names one that makes no sense. */
int generate_check(struct generation_options *g, glim_err *e);

/* Gives back what the flags took. */
void generate_free(struct generation_options *g);

/* Once the model is open: what its file asks for, below what its store or bundle does, below the
 * flags. */
void generate_with_model(struct generation_options *g, const struct model_options *o,
                         const glim_model *model);
/* The context to open a session with; 0: the library's default. */
u32 generate_context(const struct generation_options *g, const struct model_options *o,
                     const glim_model *model);
/* Hands the rest to a session; its error tells what is wrong. */
int generate_apply(const struct generation_options *g, const struct model_options *o,
                   glim_session *session);
/* The first turns of a conversation: a system text, those that the model brings along, the user's
 * text. *m is the caller's to free; it borrows all texts. */
int generate_turns(const struct generation_options *g, const struct model_options *o,
                   const char *text, glim_message **m, size_t *n, glim_err *e);

#endif
