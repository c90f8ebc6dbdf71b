/* Choosing a token from a row of logits. The draw is a function of (seed, position), so that a
 * continuation after a reload repeats. */
#ifndef RUN_SAMPLE_H
#define RUN_SAMPLE_H

#include "base/mem.h"

struct candidate {
    f32 logit;
    i32 id;
};

/* GLIM_ARG naming the value that is out of range. */
int sample_check(const glim_generation *p, glim_err *e);

/* The token for position pos, from v logits. recent: the tokens that the repetition penalty looks
 * at, n of them. work: v candidates and v marks (zero before and after). GLIM_NUMERIC if a logit is
 * NaN or +infinity, or all are -infinity. */
int sample(const glim_generation *p, const f32 *logits, u32 v, const i32 *recent, u32 n, u64 pos,
           struct candidate *work, u8 *marks, i32 *id, glim_err *e);

/* Uniform in [0, 1): the draw at a position. */
f64 sample_draw(u64 seed, u64 pos);

#endif
