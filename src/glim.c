/* The public API: handles around the inner structs, and argument checks. */
#include "run/session.h"
#include "text/token.h"

#include <stdio.h>
#include <string.h>

struct glim_engine {
    struct engine *engine;
    char device[64];
};

struct glim_model {
    struct loaded loaded;
    const glim_alloc *alloc; /* borrowed: engine */
    struct arena arena;      /* vocabulary */
    struct vocab *vocab;     /* NULL: vocab_err says why; only text functions need it */
    glim_err vocab_err;
};

struct glim_session {
    struct session s;
    glim_model *model;
};

/* ---- Engine ---------------------------------------------------------------------------------- */

int glim_engine_open(glim_engine **out, const glim_engine_params *params, glim_err *err) {
    if (!out) return fail(err, GLIM_ARG, "glim_engine_open: out is NULL");
    *out = NULL;
    struct engine *g;
    int rc = engine_open(&g, params, err);
    if (rc < 0) return rc;
    glim_engine *e = mem_get(&g->alloc, sizeof *e);
    if (!e) {
        engine_close(g);
        return fail(err, GLIM_NOMEM, "out of memory (engine)");
    }
    u32 n = pool_threads(g->pool);
    e->engine = g;
    snprintf(e->device, sizeof e->device, "cpu (%s, %u thread%s)", g->isa->name, n,
             n == 1 ? "" : "s");
    *out = e;
    return GLIM_OK;
}

void glim_engine_close(glim_engine *engine) {
    if (!engine) return;
    struct engine *g = engine->engine;
    mem_put(&g->alloc, engine, sizeof *engine);
    engine_close(g);
}

const char *glim_engine_device(const glim_engine *engine) {
    return engine->device;
}

/* ---- Model ----------------------------------------------------------------------------------- */

/* The vocabulary, or the reason why there is none; a model without one still gives logits. */
static void open_vocab(glim_model *m) {
    arena_init(&m->arena, m->alloc);
    int rc = vocab_open(&m->vocab, &m->loaded.model.gguf, &m->arena, &m->vocab_err);
    if (rc == GLIM_OK && m->vocab->n > m->loaded.model.hp.vocab) {
        fail(&m->vocab_err, GLIM_FORMAT, "the vocabulary has %u tokens, token_embd only %u rows",
             m->vocab->n, m->loaded.model.hp.vocab);
        m->vocab = NULL;
    }
    if (rc < 0) m->vocab = NULL;
}

int glim_model_open(glim_model **out, glim_engine *engine, const char *path, glim_err *err) {
    if (!out || !engine || !path) {
        return fail(err, GLIM_ARG, "glim_model_open: out, engine or path is NULL");
    }
    *out = NULL;
    const glim_alloc *a = &engine->engine->alloc;
    glim_model *m = mem_get(a, sizeof *m);
    if (!m) return fail(err, GLIM_NOMEM, "out of memory (model)");
    *m = (glim_model){.alloc = a};
    int rc = loaded_open(&m->loaded, engine->engine, path, err);
    if (rc < 0) {
        mem_put(a, m, sizeof *m);
        return rc;
    }
    open_vocab(m);
    if (m->vocab_err.code == GLIM_NOMEM) {
        rc = fail(err, GLIM_NOMEM, "%s", m->vocab_err.msg);
        glim_model_close(m);
        return rc;
    }
    *out = m;
    return GLIM_OK;
}

void glim_model_close(glim_model *model) {
    if (!model) return;
    arena_free(&model->arena);
    loaded_close(&model->loaded);
    mem_put(model->alloc, model, sizeof *model);
}

void glim_model_get_info(const glim_model *model, glim_model_info *info) {
    const struct model *m = &model->loaded.model;
    *info = (glim_model_info){.arch = m->arch->name,
                              .n_layers = m->hp.n_layers,
                              .n_embd = m->hp.d,
                              .n_vocab = m->hp.vocab,
                              .n_ctx_train = m->hp.n_ctx,
                              .weight_bytes = m->weight_bytes,
                              .bytes_per_token = m->bytes_per_token};
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

static int need_vocab(const glim_model *m, glim_err *err) {
    if (m->vocab) return GLIM_OK;
    return fail(err, m->vocab_err.code, "%s: %s", m->loaded.model.name, m->vocab_err.msg);
}

int64_t glim_tokenize(const glim_model *model, const char *text, size_t len, unsigned flags,
                      int32_t *ids, size_t cap, glim_err *err) {
    if (!model || (!text && len) || (!ids && cap)) {
        return fail(err, GLIM_ARG, "glim_tokenize: model, text or ids is NULL");
    }
    int rc = need_vocab(model, err);
    if (rc < 0) return rc;
    u32 f = (flags & GLIM_TOKENIZE_SPECIAL ? VOCAB_SPECIAL : 0u) |
            (flags & GLIM_TOKENIZE_BOS ? VOCAB_BEGIN : 0u);
    return vocab_encode(model->vocab, (struct str){text, len}, f, ids, cap, model->alloc, err);
}

const char *glim_token_text(const glim_model *model, int32_t id, size_t *len) {
    *len = 0;
    if (!model->vocab || id < 0 || (u32)id >= model->vocab->n) return NULL;
    struct str s = vocab_piece(model->vocab, id, VOCAB_SPECIAL);
    *len = s.n;
    return s.p ? s.p : "";
}

bool glim_token_is_end(const glim_model *model, int32_t id) {
    return model->vocab && vocab_ends(model->vocab, id);
}

/* ---- Session --------------------------------------------------------------------------------- */

glim_generation glim_generation_default(void) {
    return (glim_generation){.temp = 0.8f,
                             .top_k = 40,
                             .top_p = 0.95f,
                             .min_p = 0.05f,
                             .repeat_penalty = 1,
                             .repeat_last_n = 64};
}

int glim_session_open(glim_session **out, glim_model *model, const glim_session_params *params,
                      glim_err *err) {
    if (!out || !model) return fail(err, GLIM_ARG, "glim_session_open: out or model is NULL");
    *out = NULL;
    glim_session *s = mem_get(model->alloc, sizeof *s);
    if (!s) return fail(err, GLIM_NOMEM, "out of memory (session)");
    *s = (glim_session){.model = model};
    int rc = session_open(&s->s, &model->loaded, params, err);
    if (rc < 0) {
        mem_put(model->alloc, s, sizeof *s);
        return rc;
    }
    s->s.gen = glim_generation_default();
    *out = s;
    return GLIM_OK;
}

void glim_session_close(glim_session *session) {
    if (!session) return;
    session_close(&session->s);
    mem_put(session->model->alloc, session, sizeof *session);
}

int glim_session_plan(glim_model *model, const glim_session_params *params, glim_plan *plan,
                      glim_err *err) {
    if (!model || !plan) return fail(err, GLIM_ARG, "glim_session_plan: model or plan is NULL");
    return session_plan(&model->loaded, params, plan, err);
}

const glim_err *glim_session_error(const glim_session *session) {
    return &session->s.err;
}

/* Every call on a session starts without an error. */
static struct session *enter(glim_session *s) {
    s->s.err = (glim_err){0};
    return &s->s;
}

int glim_feed(glim_session *session, const int32_t *ids, size_t n, int logits) {
    struct session *s = enter(session);
    if (!ids && n) return fail(&s->err, GLIM_ARG, "glim_feed: ids is NULL");
    return session_feed(s, ids, n, logits);
}

int glim_step(glim_session *session) {
    return session_step(enter(session));
}

int glim_wait(glim_session *session) {
    struct session *s = enter(session);
    int rc;
    do
        rc = session_step(s);
    while (rc == GLIM_AGAIN);
    return rc;
}

const float *glim_logits(const glim_session *session, size_t i, size_t *n_rows) {
    if (n_rows) *n_rows = session->s.n_logits;
    return session_logits(&session->s, i);
}

const int32_t *glim_tokens(const glim_session *session, size_t *n) {
    *n = session->s.n_ids;
    return session->s.ids;
}

int glim_rewind(glim_session *session, size_t n) {
    return session_rewind(enter(session), n);
}

int glim_sample(glim_session *session, int32_t *id) {
    struct session *s = enter(session);
    if (!id) return fail(&s->err, GLIM_ARG, "glim_sample: id is NULL");
    return session_sample(s, id);
}

int glim_set_generation(glim_session *session, const glim_generation *params) {
    struct session *s = enter(session);
    if (!params) return fail(&s->err, GLIM_ARG, "glim_set_generation: params is NULL");
    int rc = sample_check(params, &s->err);
    if (rc == GLIM_OK) s->gen = *params;
    return rc;
}

void glim_get_stats(const glim_session *session, glim_stats *stats) {
    *stats = session->s.stats;
}
