/* Loaded models and sessions. */
#include "run/session.h"
#include "base/plat_cpu.h"
#include "run/fit.h"

#include <stdio.h>
#include <string.h>

/* A step on the CPU comes back after about this long. */
enum { BUDGET_NS = 50 * 1000 * 1000 };

/* After so many tokens what was read of tables by id is dropped. A row brings at most 64 KiB of its
 * file into the process (how many pages Linux maps at once), so this and a pass bound them. */
enum { DROP_ROWS = 256 };

int loaded_open(struct loaded *l, struct engine *g, const char *path, glim_err *e) {
    *l = (struct loaded){.engine = g, .on_device = {.device = g->device}};
    int rc = model_open(&l->model, path, &g->alloc, e);
    if (rc == GLIM_OK && l->model.note[0] && g->log) {
        char text[600];
        snprintf(text, sizeof text, "%s: %s", l->model.name, l->model.note);
        g->log(g->log_ud, text);
    }
    return rc;
}

void loaded_close(struct loaded *l) {
    device_model_free(&l->on_device);
    for (u32 i = 0; i < COUNT(l->caches); i++)
        kv_cache_free(&l->caches[i]);
    model_close(&l->model);
}

int session_plan(struct loaded *l, const glim_session_params *params, glim_plan *plan,
                 glim_err *e) {
    glim_session_params p;
    int rc = fit_settle(&p, l, params, e);
    return rc < 0 ? rc : fit_plan(plan, l, &p, e);
}

static int allocate(struct session *s, const glim_session_params *p, glim_err *e) {
    struct loaded *l = s->loaded;
    struct arena *a = &s->arena;
    fit_prog(&s->prog, l, p, a);
    int rc = model_build(&l->model, &s->prog, p->exact, e);
    if (rc == GLIM_OK && !l->engine->device) rc = exec_cpu_init(&s->exec, &s->prog, a, e);
    if (rc < 0) return rc;
    s->ids = arena_array(a, s->n_ctx, sizeof *s->ids);
    s->wanted = arena_array(a, s->n_ctx, sizeof *s->wanted);
    s->rows = arena_array(a, s->n_batch, sizeof *s->rows);
    s->out_rows = arena_array(a, s->max_logits, sizeof *s->out_rows);
    s->kept = arena_array(a, s->vocab, sizeof *s->kept);
    if (!s->ids || !s->wanted || !s->rows || !s->out_rows || !s->kept) {
        return fail(e, GLIM_NOMEM, "out of memory (session)");
    }
    rc = sampler_open(&s->sampler, s->vocab, s->n_ctx, a, e);
    if (rc < 0) return rc;
    bool f16 = p->kv == GLIM_KV_F16;
    struct kv_cache *cache = &l->caches[f16];
    if (!cache->layers)
        rc = kv_cache_init(cache, &l->model, f16, l->engine->device != NULL, &l->engine->alloc, e);
    if (rc == GLIM_OK) rc = kv_seq_init(&s->kv, cache, s->n_ctx, s->n_batch, e);
    if (rc == GLIM_OK && l->engine->device)
        rc = exec_gpu_init(&s->gpu, &s->prog, &l->on_device, &s->kv, a, e);
    return rc;
}

int session_open(struct session *s, struct loaded *l, const glim_session_params *params,
                 glim_err *e) {
    glim_session_params p;
    int rc = fit_settle(&p, l, params, e);
    if (rc < 0) return rc;
    *s = (struct session){.loaded = l,
                          .n_ctx = p.n_ctx,
                          .n_batch = p.n_batch,
                          .max_logits = p.max_logits,
                          .vocab = l->model.hp.vocab,
                          .budget_ns = BUDGET_NS};
    arena_init(&s->arena, &l->engine->alloc);
    rc = fit_check(&p, l, e);
    if (rc == GLIM_OK) rc = allocate(s, &p, e);
    if (rc < 0) {
        session_close(s);
        return rc;
    }
    for (u32 k = 0; k < KV_KINDS; k++) {
        s->seq.pages[k] = s->kv.kinds[k].data;
        s->seq.n_pages[k] = s->kv.kinds[k].max;
    }
    s->step = (struct step){
        .rows = s->rows, .out_rows = s->out_rows, .seqs = &s->seq, .kv = &s->kv.cache->layout};
    return GLIM_OK;
}

void session_close(struct session *s) {
    sampler_close(&s->sampler);
    exec_gpu_free(&s->gpu);
    kv_seq_free(&s->kv);
    arena_free(&s->arena);
}

static int too_long(struct session *s, size_t n) {
    char used[48] = "";
    u32 limit = s->loaded->model.hp.n_ctx;
    if (s->n_ids) snprintf(used, sizeof used, ", of which %u are in use", s->n_ids);
    if (s->n_ctx == limit) {
        return fail(&s->err, GLIM_FULL,
                    "%zu tokens do not fit in the context of %u%s: the model was trained for no "
                    "more; shorten the text",
                    n, s->n_ctx, used);
    }
    return fail(&s->err, GLIM_FULL,
                "%zu tokens do not fit in the context of %u%s; make it larger (-c, at most %u for "
                "this model) or shorten the text",
                n, s->n_ctx, used, limit);
}

int session_feed(struct session *s, const i32 *ids, size_t n, int logits) {
    glim_err *e = &s->err;
    if (n > s->n_ctx - s->n_ids) return too_long(s, n);
    if (logits < GLIM_LOGITS_LAST || logits > GLIM_LOGITS_DRAW) {
        return fail(e, GLIM_ARG, "logits is %d; must be GLIM_LOGITS_LAST, _ALL, _NONE or _DRAW",
                    logits);
    }
    u32 most = MIN(s->max_logits, s->n_batch);
    if (logits == GLIM_LOGITS_ALL && (n > most || s->n_done != s->n_ids)) {
        return fail(e, GLIM_ARG,
                    "logits of all of %zu tokens: at most %u at a time (max_logits, n_batch), with "
                    "nothing else queued",
                    n, most);
    }
    for (size_t i = 0; i < n; i++) {
        if (ids[i] >= 0 && (u32)ids[i] < s->vocab) continue;
        return fail(e, GLIM_ARG, "token id %d at %zu: the vocabulary has ids 0 to %u", ids[i], i,
                    s->vocab - 1);
    }
    for (size_t i = 0; i < n; i++) {
        sampler_fed(&s->sampler, s->n_ids, ids[i]);
        s->ids[s->n_ids] = ids[i];
        bool last = i + 1 == n && logits != GLIM_LOGITS_NONE;
        s->wanted[s->n_ids++] = !last && logits != GLIM_LOGITS_ALL ? WANTED_NOT
                                : logits == GLIM_LOGITS_DRAW       ? WANTED_DRAW
                                                                   : WANTED_LOGITS;
    }
    return GLIM_OK;
}

/* Whether the pass's token is to be drawn by the device, and whether it may go on with it. */
static void plan_draws(struct session *s) {
    u32 pos = s->n_done;
    s->draws.n = s->draws_next.n = 0;
    s->step.draw = NULL;
    if (!s->gpu.device || s->step.t != 1 || s->wanted[pos] != WANTED_DRAW) return;
    if (!sample_plan(&s->sampler, pos + 1, &s->draws)) {
        s->draws.n = 0;
        return;
    }
    s->step.draw = &s->draws;
    if (pos + 1 < s->n_ids || pos + 2 > s->n_ctx || exec_gpu_needs_ids(&s->gpu)) return;
    sample_plan(&s->sampler, pos + 2, &s->draws_next);
    kv_seq_extend(&s->kv, pos + 2);
}

/* Runs or goes on with the pass on the GPU, where it may begin the one after it. */
static int step_gpu(struct session *s) {
    static const u32 only = 0;
    const struct step_row row = {.id = 0, .pos = s->n_done + 1};
    struct step then = s->step;
    then.rows = &row;
    then.out_rows = &only;
    then.draw = &s->draws_next;
    return exec_gpu_run(&s->gpu, &s->step, s->draws_next.n ? &then : NULL, s->budget_ns, &s->err);
}

/* Sets up a pass over the next tokens: at most n_batch, and no more wanted rows than fit. */
static void begin_pass(struct session *s) {
    u32 t = 0, r = 0;
    for (u32 pos = s->n_done; pos < s->n_ids && t < s->n_batch; pos++, t++) {
        if (s->wanted[pos]) {
            if (r == s->max_logits) break;
            s->out_rows[r++] = t;
        }
        s->rows[t] = (struct step_row){.id = s->ids[pos], .pos = pos, .seq = 0};
    }
    s->step.t = t;
    s->step.r = r;
    kv_seq_extend(&s->kv, s->n_done + t);
    s->at = 0;
    s->n_logits = 0;
    s->has_best = false;
    plan_draws(s);
    s->recalled = false;
    s->running = true;
}

int session_step(struct session *s) {
    if (!s->running) {
        if (s->n_done == s->n_ids) return GLIM_OK;
        begin_pass(s);
    }
    u64 start = plat_now_ns();
    int rc = s->gpu.device
                 ? step_gpu(s)
                 : exec_cpu_run(&s->exec, s->loaded->engine, &s->step, &s->at, s->budget_ns);
    u64 took = plat_now_ns() - start;
    u32 t = s->step.t;
    if (t > 1)
        s->stats.prompt_ns += took;
    else
        s->stats.decode_ns += took;
    if (rc == GLIM_AGAIN) return rc;
    if (rc < 0) { /* of a GPU: the pass may be tried again */
        s->running = false;
        return rc;
    }
    if (t > 1)
        s->stats.n_prompt += t;
    else
        s->stats.n_decode++;
    s->running = false;
    s->n_done += t;
    s->n_rows_read += t;
    if (s->n_rows_read >= DROP_ROWS) {
        model_drop_rows(&s->loaded->model);
        s->n_rows_read = 0;
    }
    s->has_best = s->draws.n != 0;
    s->n_logits = s->has_best ? 0 : s->step.r;
    return s->n_done < s->n_ids ? GLIM_AGAIN : GLIM_OK;
}

int session_rewind(struct session *s, size_t n) {
    if (n > s->n_ids) {
        return fail(&s->err, GLIM_ARG, "rewind to %zu tokens: there are only %u", n, s->n_ids);
    }
    exec_gpu_drop(&s->gpu);
    s->running = false; /* a pass in flight is given up; its positions are written again */
    s->n_ids = (u32)n;
    s->n_logits = 0;
    s->has_best = s->recalled = false;
    sampler_rewound(&s->sampler, s->n_ids);
    u32 keep = MIN(s->n_done, s->n_ids);
    s->n_done = kv_seq_truncate(&s->kv, keep);
    /* Where a sliding window has moved on too far, the tokens kept are processed again. */
    for (u32 i = s->n_done; i < keep; i++)
        s->wanted[i] = 0;
    return GLIM_OK;
}

const f32 *session_logits(const struct session *s, size_t i) {
    if (i >= s->n_logits) return NULL;
    if (s->recalled) return s->kept;
    return s->gpu.device ? exec_gpu_logits(&s->gpu, (u32)i) : exec_cpu_logits(&s->exec, (u32)i);
}

void session_keep(struct session *s) {
    if (s->n_logits && !s->recalled)
        memcpy(s->kept, session_logits(s, s->n_logits - 1), s->vocab * sizeof *s->kept);
}

void session_recall(struct session *s) {
    s->n_logits = 1;
    s->has_best = false;
    s->recalled = true;
}

void session_resampled(struct session *s) {
    if (s->has_best) s->n_done--;
    s->has_best = false;
    if (!s->running || !s->draws.n) return;
    exec_gpu_drop(&s->gpu);
    s->running = false;
}

int session_sample(struct session *s, i32 *id) {
    if (s->has_best) {
        const f32 *ids, *logits;
        exec_gpu_best(&s->gpu, &ids, &logits);
        return sample_best(&s->sampler, &s->draws, ids, logits, s->n_done, id, &s->err);
    }
    if (s->n_logits == 0) {
        return fail(&s->err, GLIM_ARG, "there are no logits: feed tokens and step first");
    }
    return sample(&s->sampler, session_logits(s, s->n_logits - 1), s->ids, s->n_done, s->n_done, id,
                  &s->err);
}
