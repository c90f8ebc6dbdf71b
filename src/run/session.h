/* A loaded model (weights and page pools on an engine) and a session: one sequence of tokens, its
 * cache, its program and its sampling state. */
#ifndef RUN_SESSION_H
#define RUN_SESSION_H

#include "run/exec_cpu.h"
#include "run/exec_gpu.h"
#include "run/kv.h"
#include "run/sample.h"

struct loaded {
    struct engine *engine; /* borrowed */
    struct model model;
    struct kv_cache caches[2]; /* f32, f16; made when first wanted */
    struct device_model on_device;
};
/* Opens path on an engine. *l must stay where it is. */
int loaded_open(struct loaded *l, struct engine *g, const char *path, glim_err *e);
void loaded_close(struct loaded *l);

enum wanted { WANTED_NOT, WANTED_LOGITS, WANTED_DRAW };

struct session {
    struct loaded *loaded; /* borrowed */
    struct arena arena;    /* everything below that is owned */
    struct prog prog;
    struct exec_cpu exec;
    struct exec_gpu gpu; /* in use where the engine has a device */
    struct kv_seq kv;
    u32 n_ctx, n_batch, max_logits, vocab;

    i32 *ids;          /* [n_ctx] all tokens */
    u8 *wanted;        /* [n_ctx] whether a token's logits are: enum wanted */
    u32 n_ids, n_done; /* fed; processed */

    struct step step; /* the pass in flight */
    struct step_row *rows;
    u32 *out_rows;
    struct step_seq seq;
    u32 at; /* next op of the pass */
    bool running;
    u64 budget_ns;   /* a step comes back after about this long; tests set 0 */
    u32 n_rows_read; /* of tables read by id, since they were last dropped */
    u32 n_logits;    /* rows that the last finished pass gave */
    /* How the device draws in this pass and in the one that it may begin by itself; n 0: not. */
    struct draw draws, draws_next;
    bool has_best; /* the last pass gave candidates instead */
    f32 *kept;     /* [vocab] a row for session_recall */
    bool recalled; /* it stands in for the last pass's */

    struct sampler sampler;
    glim_stats stats;
    glim_err err;
};

/* p may be NULL. */
int session_open(struct session *s, struct loaded *l, const glim_session_params *p, glim_err *e);
void session_close(struct session *s);
int session_plan(struct loaded *l, const glim_session_params *p, glim_plan *plan, glim_err *e);

/* As in glim.h; errors go to s->err. */
int session_feed(struct session *s, const i32 *ids, size_t n, int logits);
int session_step(struct session *s);
int session_rewind(struct session *s, size_t n);
const f32 *session_logits(const struct session *s, size_t i);
int session_sample(struct session *s, i32 *id);
/* Other samplers: where they would need what the last pass has not brought back, it is to be done
 * again. */
void session_resampled(struct session *s);
/* Keeps a copy of the last row of logits; makes the copy the last pass's one row again, until the
 * next pass. With one pass's logits several answers to a prompt begin alike, which a prompt that is
 * processed in other cuts would not give. */
void session_keep(struct session *s);
void session_recall(struct session *s);

#endif
