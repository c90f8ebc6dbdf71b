/* What a session takes, whether that is there, and where a model's tables go. */
#ifndef RUN_FIT_H
#define RUN_FIT_H

#include "run/session.h"

/* Params with defaults filled in, checked. from may be NULL. */
int fit_settle(glim_session_params *p, const struct loaded *l, const glim_session_params *from,
               glim_err *e);
/* The plan for settled params. */
int fit_plan(glim_plan *plan, const struct loaded *l, const glim_session_params *p, glim_err *e);
/* Whether the GPU, if there is one, has room for what the plan says; where its memory is not known,
 * allocating tells. Decides on p->tables if that is left to it. */
int fit_check(glim_session_params *p, const struct loaded *l, glim_err *e);
/* The program that settled and checked params ask for, to be built. */
void fit_prog(struct prog *prog, const struct loaded *l, const glim_session_params *p,
              struct arena *a);

#endif
