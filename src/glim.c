/* The public API: handles around the inner structs, and argument checks. */
#include "run/sample_meta.h"
#include "run/session.h"
#include "text/answer.h"

#include <stdio.h>
#include <string.h>

struct glim_engine {
    struct engine *engine;
    char device[240];
};

struct glim_model {
    struct loaded loaded;
    const glim_alloc *alloc;   /* borrowed: engine */
    struct arena arena;        /* vocabulary, chat format */
    struct vocab *vocab;       /* NULL: vocab_err says why; only text functions need it */
    struct chat *chat;         /* NULL: chat_err says why; only glim_chat needs it */
    enum stream_family family; /* how its answers mark thoughts and calls */
    bool has_template;         /* the file's */
    bool noted, noted_tools;   /* what chat is, and that it has no place for tools, was told */
    bool noted_thinking;       /* nor a switch for thinking */
    glim_err vocab_err, chat_err;
    struct sample_meta sampling;
};

struct glim_session {
    struct session s;
    glim_model *model;
    struct answer answer; /* s NULL where the model has no vocabulary */
};

/* ---- Engine ---------------------------------------------------------------------------------- */

int engine_publish(glim_engine **out, struct engine *g, glim_err *err) {
    glim_engine *e = mem_get(&g->alloc, sizeof *e);
    if (!e) {
        engine_close(g);
        return fail(err, GLIM_NOMEM, "out of memory (engine)");
    }
    u32 n = pool_threads(g->pool);
    e->engine = g;
    if (g->device) {
        const struct gpu_info *gpu = gpu_info(g->device->gpu);
        snprintf(e->device, sizeof e->device, "gpu (%s%s%s)", gpu->name,
                 gpu->software ? ", software" : "", gpu->subgroups ? ", subgroups" : "");
    } else {
        snprintf(e->device, sizeof e->device, "cpu (%s, %u thread%s)", g->isa->name, n,
                 n == 1 ? "" : "s");
    }
    *out = e;
    return GLIM_OK;
}

int glim_engine_open(glim_engine **out, const glim_engine_params *params, glim_err *err) {
    if (!out) return fail(err, GLIM_ARG, "glim_engine_open: out is NULL");
    *out = NULL;
    struct engine *g;
    int rc = engine_open(&g, params, err);
    return rc < 0 ? rc : engine_publish(out, g, err);
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

const char *glim_engine_driver(const glim_engine *engine) {
    const struct device *d = engine->engine->device;
    return d ? gpu_info(d->gpu)->driver : NULL;
}

/* ---- Model ----------------------------------------------------------------------------------- */

static void set_family(glim_model *m, struct str template) {
    const char *arch = m->loaded.model.arch->name;
    m->family = stream_family_of(template, (struct str){arch, strlen(arch)});
}

/* The vocabulary and the chat format, or the reasons why there are none: a model without them still
 * gives logits. Only running out of memory is an error here. */
static int open_text(glim_model *m, glim_err *err) {
    const struct model *model = &m->loaded.model;
    struct str template = {"", 0};
    arena_init(&m->arena, m->alloc);
    m->has_template = gguf_str(&model->gguf, "tokenizer.chat_template", &template, NULL) == GLIM_OK;
    int rc = vocab_open(&m->vocab, &model->gguf, &m->arena, &m->vocab_err);
    if (rc == GLIM_OK && m->vocab->n > model->hp.vocab) {
        rc = fail(&m->vocab_err, GLIM_FORMAT,
                  "the vocabulary has %u tokens, token_embd only %u rows", m->vocab->n,
                  model->hp.vocab);
    }
    if (rc < 0) {
        m->vocab = NULL;
        return rc == GLIM_NOMEM ? fail(err, rc, "%s", m->vocab_err.msg) : GLIM_OK;
    }
    set_family(m, template);
    rc = chat_open(&m->chat, &model->gguf, m->vocab, &m->arena, &m->chat_err);
    if (rc < 0) m->chat = NULL;
    return rc == GLIM_NOMEM ? fail(err, rc, "%s", m->chat_err.msg) : GLIM_OK;
}

static void open_sampling(glim_model *m) {
    const struct engine *g = m->loaded.engine;
    sample_meta(&m->sampling, &m->loaded.model.gguf);
    if (!m->sampling.unused[0] || !g->log) return;
    char text[400];
    snprintf(text, sizeof text, "%.120s: %s; it is not used", m->loaded.model.name,
             m->sampling.unused);
    g->log(g->log_ud, text);
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
    rc = open_text(m, err);
    if (rc < 0) {
        glim_model_close(m);
        return rc;
    }
    open_sampling(m);
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
                              .bytes_per_token = m->bytes_per_token,
                              .has_template = model->has_template};
}

int glim_model_set_template(glim_model *model, enum glim_template language, const char *text,
                            size_t len, glim_err *err) {
    if (!model || !text)
        return fail(err, GLIM_ARG, "glim_model_set_template: model or text is NULL");
    if (language != GLIM_TEMPLATE_JINJA && language != GLIM_TEMPLATE_GO)
        return fail(err, GLIM_ARG, "glim_model_set_template: there is no language %d",
                    (int)language);
    if (!model->vocab)
        return fail(err, model->vocab_err.code, "%s: %s", model->loaded.model.name,
                    model->vocab_err.msg);
    struct chat *chat;
    struct str template = {text, len};
    int rc = chat_open_text(&chat, (int)language, template, &model->loaded.model.gguf, model->vocab,
                            &model->arena, err);
    if (rc < 0) return rc;
    model->chat = chat;
    model->chat_err = (glim_err){0};
    set_family(model, template);
    return GLIM_OK;
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

/* How a token is spelled, for samplers that look at the text. */
static struct str token_spelling(const void *vocab, i32 id) {
    return vocab_piece(vocab, id, VOCAB_SPECIAL);
}

/* Takes params over, or changes nothing. */
static int set_generation(glim_session *s, const glim_generation *params, glim_err *err) {
    struct sample_setup setup;
    int rc = sampler_prepare(&s->s.sampler, params, &setup, err);
    if (rc < 0) return rc;
    if (s->answer.s) rc = answer_set(&s->answer, params, err);
    if (rc < 0) {
        arena_free(&setup.arena);
    } else {
        sampler_adopt(&s->s.sampler, params, &setup);
        session_resampled(&s->s);
    }
    return rc;
}

glim_generation glim_generation_default(void) {
    return (glim_generation){.temp = 0.8f,
                             .top_k = 40,
                             .top_p = 0.95f,
                             .min_p = 0.05f,
                             .repeat_penalty = 1,
                             .repeat_last_n = 64,
                             .typical_p = 1,
                             .xtc_threshold = 0.1f,
                             .dry_base = 1.75f,
                             .dry_allowed_length = 2,
                             .dry_last_n = -1,
                             .mirostat_tau = 5,
                             .mirostat_eta = 0.1f};
}

glim_generation glim_model_generation(const glim_model *model) {
    return model->sampling.gen;
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
    if (model->vocab) {
        s->s.sampler.texts = (struct dry_texts){token_spelling, model->vocab};
        rc = answer_open(&s->answer, &s->s, model->vocab, model->family, err);
    }
    if (rc == GLIM_OK) rc = set_generation(s, &model->sampling.gen, err);
    if (rc < 0) {
        glim_session_close(s);
        return rc;
    }
    *out = s;
    return GLIM_OK;
}

void glim_session_close(glim_session *session) {
    if (!session) return;
    if (session->answer.s) answer_close(&session->answer);
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
    if (n < session->answer.n_prompt) session->answer.n_prompt = 0;
    bool turns = session->answer.s && talk_rewind(&session->answer.talk, n);
    if (turns) n = MIN(n, session->s.n_ids);
    return session_rewind(enter(session), n);
}

int glim_sample(glim_session *session, int32_t *id) {
    struct session *s = enter(session);
    if (!id) return fail(&s->err, GLIM_ARG, "glim_sample: id is NULL");
    return session_sample(s, id);
}

/* ---- Generation ------------------------------------------------------------------------------ */

/* The same for calls that need the vocabulary. */
static int enter_text(glim_session *s) {
    return need_vocab(s->model, &enter(s)->err);
}

int glim_set_generation(glim_session *session, const glim_generation *params) {
    struct session *s = enter(session);
    if (!params) return fail(&s->err, GLIM_ARG, "glim_set_generation: params is NULL");
    return set_generation(session, params, &s->err);
}

int glim_next_answer(glim_session *session) {
    int rc = enter_text(session);
    return rc < 0 ? rc : answer_again(&session->answer, &session->s.err);
}

const glim_logprob *glim_logprobs(const glim_session *session, size_t pos, size_t *n) {
    size_t count;
    const struct session *s = &session->s;
    return sampler_logprobs(&s->sampler, pos, s->n_ids, n ? n : &count);
}

int glim_prompt(glim_session *session, const char *text, size_t len, unsigned flags) {
    int rc = enter_text(session);
    if (rc < 0) return rc;
    glim_err *err = &session->s.err;
    if (!text && len) return fail(err, GLIM_ARG, "glim_prompt: text is NULL");
    u32 f = flags & GLIM_TOKENIZE_SPECIAL ? VOCAB_SPECIAL : 0u;
    return answer_prompt(&session->answer, (struct str){text, len}, f, err);
}

/* Says once that turns are the family's where they are written. */
static const struct chat *noted_chat(glim_model *m) {
    const struct engine *g = m->loaded.engine;
    const char *note = m->chat->turns ? turns_note(m->chat->turns) : NULL;
    if (note && g->log && !m->noted) g->log(g->log_ud, note);
    m->noted = true;
    return m->chat;
}

int glim_chat(glim_session *session, const glim_message *messages, size_t n) {
    int rc = enter_text(session);
    if (rc < 0) return rc;
    glim_err *err = &session->s.err;
    if (!messages || n == 0) return fail(err, GLIM_ARG, "glim_chat: there are no messages");
    rc = glim_chat_check(session->model, err);
    if (rc < 0) return rc;
    return answer_chat(&session->answer, noted_chat(session->model), messages, n, err);
}

int glim_converse(glim_session *session, const glim_conversation *conversation) {
    int rc = enter_text(session);
    if (rc < 0) return rc;
    glim_err *err = &session->s.err;
    if (!conversation || !conversation->messages)
        return fail(err, GLIM_ARG, "glim_converse: there are no messages");
    rc = glim_chat_check(session->model, err);
    if (rc < 0) return rc;
    const struct chat *chat = noted_chat(session->model);
    const struct engine *g = session->model->loaded.engine;
    bool blind = conversation->tools && !chat->turns && !chat_reads(chat, "tools");
    bool *noted = &session->model->noted_tools;
    if (blind && g->log && !*noted)
        g->log(g->log_ud, "the model's chat template has no place for tools; it does not see them");
    *noted |= blind;
    rc = answer_converse(&session->answer, chat, conversation, err);
    const struct jdict *more = session->answer.talk.more;
    const struct jval *think = rc < 0 || !more ? NULL : jdict_find(more, "enable_thinking");
    bool deaf = think && jval_true(*think) && !chat_can_think(chat);
    noted = &session->model->noted_thinking;
    if (deaf && g->log && !*noted)
        g->log(g->log_ud, "the model's chat template has no switch for thinking; it thinks or not "
                          "as it does by itself");
    *noted |= deaf;
    return rc;
}

int glim_chat_check(const glim_model *model, glim_err *err) {
    if (!model) return fail(err, GLIM_ARG, "glim_chat_check: model is NULL");
    int rc = need_vocab(model, err);
    if (rc < 0 || model->chat) return rc;
    return fail(err, model->chat_err.code, "%s", model->chat_err.msg);
}

int glim_next(glim_session *session, const char **text, size_t *len) {
    int rc = enter_text(session);
    if (rc < 0) return rc;
    if (!text || !len) return fail(&session->s.err, GLIM_ARG, "glim_next: text or len is NULL");
    struct str piece;
    rc = answer_next(&session->answer, &piece);
    *text = piece.p;
    *len = piece.n;
    return rc;
}

int glim_next_event(glim_session *session, glim_event *event) {
    int rc = enter_text(session);
    if (rc < 0) return rc;
    if (!event) return fail(&session->s.err, GLIM_ARG, "glim_next_event: event is NULL");
    return answer_event(&session->answer, event);
}

enum glim_end glim_end_reason(const glim_session *session) {
    return session->answer.end;
}

void glim_get_stats(const glim_session *session, glim_stats *stats) {
    *stats = session->s.stats;
    stats->gpu_dispatches = session->s.gpu.n_dispatches;
    stats->gpu_submits = session->s.gpu.n_passes;
}

int glim_profile(glim_session *session) {
    struct session *s = enter(session);
    if (!s->gpu.device)
        return fail(&s->err, GLIM_UNSUPPORTED, "only a GPU's kernels are timed (--device gpu)");
    return exec_gpu_profile(&s->gpu, &s->arena, &s->err);
}

size_t glim_get_profile(const glim_session *session, glim_kernel_time *times, size_t cap) {
    size_t n = 0;
    for (u32 op = 0; op < OP_COUNT; op++) {
        u64 ns = session->s.gpu.op_ns[op];
        if (!ns) continue;
        if (n < cap) times[n] = (glim_kernel_time){op_info(op)->name, ns};
        n++;
    }
    return n;
}
