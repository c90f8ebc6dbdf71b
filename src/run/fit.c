/* Planning a session's memory. */
#include "run/fit.h"

#include <stdio.h>
#include <string.h>

enum { DEFAULT_CTX = 8192, DEFAULT_BATCH = 512 };

int fit_settle(glim_session_params *p, const struct loaded *l, const glim_session_params *from,
               glim_err *e) {
    *p = from ? *from : (glim_session_params){0};
    u32 limit = l->model.hp.n_ctx;
    if (p->n_ctx == 0) p->n_ctx = MIN(limit, (u32)DEFAULT_CTX);
    if (p->n_ctx > limit) {
        return fail(
            e, GLIM_ARG,
            "%s: a context of %u tokens is more than the model was trained for: at most %u (-c)",
            l->model.name, p->n_ctx, limit);
    }
    if (p->n_batch == 0) p->n_batch = DEFAULT_BATCH;
    p->n_batch = MIN(p->n_batch, p->n_ctx);
    if (p->max_logits == 0) p->max_logits = 1;
    p->max_logits = MIN(p->max_logits, p->n_batch);
    if (p->kv < GLIM_KV_AUTO || p->kv > GLIM_KV_F32) {
        return fail(e, GLIM_ARG, "kv is %d; must be GLIM_KV_AUTO, _F16 or _F32", p->kv);
    }
    if (p->kv == GLIM_KV_AUTO) p->kv = p->exact ? GLIM_KV_F32 : GLIM_KV_F16;
    if (p->tables < GLIM_TABLES_AUTO || p->tables > GLIM_TABLES_FILE) {
        return fail(e, GLIM_ARG, "tables is %d; must be GLIM_TABLES_AUTO, _DEVICE or _FILE",
                    p->tables);
    }
    return GLIM_OK;
}

void fit_prog(struct prog *prog, const struct loaded *l, const glim_session_params *p,
              struct arena *a) {
    bool on_gpu = l->engine->device != NULL;
    prog_init(prog, a, p->n_batch, p->max_logits);
    prog->draws = on_gpu;
    prog->host_tables = on_gpu && p->tables == GLIM_TABLES_FILE;
}

/* ---- Plans ----------------------------------------------------------------------------------- */

/* Bytes of the model's tables that are on the device already. */
static u64 tables_there(const struct loaded *l) {
    u64 bytes = 0;
    for (u32 i = 0; i < l->model.n_tables; i++) {
        const struct weight *w = l->model.tables[i];
        if (device_has(&l->on_device, w)) bytes += w->pitch * w->rows;
    }
    return bytes;
}

/* What the GPU adds to a plan: tables that are on it, logits on their way back, and how much room
 * there is beside what other sessions and models of the engine have. */
static void plan_gpu(glim_plan *plan, const struct loaded *l, const glim_session_params *p) {
    const struct gpu *g = l->engine->device->gpu;
    u64 ours = l->on_device.bytes, held = gpu_held(g);
    plan->on_gpu = true;
    plan->tables_in_file = plan->tables && p->tables == GLIM_TABLES_FILE;
    plan->activations += (u64)p->max_logits * l->model.hp.vocab * sizeof(f32);
    if (plan->tables_in_file) ours -= tables_there(l);
    plan->gpu_memory = gpu_info(g)->memory;
    plan->gpu_free = plan->gpu_memory - MIN(plan->gpu_memory, held - ours);
}

static bool has_room(const glim_plan *plan) {
    return plan->gpu_memory == 0 || plan->total <= plan->gpu_free;
}

/* The plan with tables where p says; the device, if it leaves that open. */
static int plan_as(glim_plan *plan, const struct loaded *l, const glim_session_params *p,
                   glim_err *e) {
    const struct model *m = &l->model;
    struct arena a;
    struct prog prog;
    arena_init(&a, &l->engine->alloc);
    fit_prog(&prog, l, p, &a);
    int rc = model_build(m, &prog, p->exact, e);
    if (rc == GLIM_OK) {
        *plan = (glim_plan){.n_ctx = p->n_ctx,
                            .weights = m->weight_bytes - m->table_bytes,
                            .tables = m->table_bytes,
                            .tables_in_file = m->table_bytes > 0,
                            .kv = kv_bytes(m, p->kv == GLIM_KV_F16, p->n_ctx, p->n_batch),
                            .activations = prog.bytes};
        if (l->engine->device) plan_gpu(plan, l, p);
        plan->total = plan->weights + plan->kv + plan->activations;
        if (!plan->tables_in_file) plan->total += plan->tables;
    }
    arena_free(&a);
    return rc;
}

int fit_plan(glim_plan *plan, const struct loaded *l, const glim_session_params *p, glim_err *e) {
    glim_session_params q = *p;
    int rc = plan_as(plan, l, p, e);
    if (rc < 0) return rc;
    bool open = plan->on_gpu && plan->tables && p->tables == GLIM_TABLES_AUTO;
    if (!open || has_room(plan) || tables_there(l)) return rc;
    q.tables = GLIM_TABLES_FILE;
    return plan_as(plan, l, &q, e);
}

/* ---- Checking -------------------------------------------------------------------------------- */

/* 3330000000 as "3.1 GiB". */
struct size_text {
    char s[24];
};
static struct size_text size_text(u64 bytes) {
    struct size_text t;
    bool small = bytes < 100 << 20;
    snprintf(t.s, sizeof t.s, "%.1f %s", (f64)bytes / (small ? 1 << 20 : 1 << 30),
             small ? "MiB" : "GiB");
    return t;
}

/* The end of a path that leaves room for what is said of it. */
static const char *name_tail(const struct loaded *l) {
    size_t n = strlen(l->model.name), most = 44;
    return n > most ? l->model.name + n - most : l->model.name;
}

static int refuse(const glim_plan *plan, const struct loaded *l, glim_err *e) {
    char has[64];
    snprintf(has, sizeof has, plan->gpu_free < plan->gpu_memory ? "%s free of %s" : "%s",
             size_text(plan->gpu_free).s, size_text(plan->gpu_memory).s);
    u64 weights = plan->total - plan->kv - plan->activations;
    return fail(e, GLIM_NOMEM,
                "%s needs %s on the GPU%s (weights %s, cache %s, activations %s), which has %s; "
                "use %s--device cpu or a smaller context (-c)",
                name_tail(l), size_text(plan->total).s,
                plan->tables_in_file ? " even with its tables in the file" : "",
                size_text(weights).s, size_text(plan->kv).s, size_text(plan->activations).s, has,
                plan->tables && !plan->tables_in_file && !tables_there(l) ? "--tables file, " : "");
}

int fit_check(glim_session_params *p, const struct loaded *l, glim_err *e) {
    const struct engine *g = l->engine;
    glim_plan plan;
    if (!g->device) return GLIM_OK;
    int rc = fit_plan(&plan, l, p, e);
    if (rc < 0) return rc;
    if (!has_room(&plan)) return refuse(&plan, l, e);
    if (plan.tables_in_file && p->tables == GLIM_TABLES_AUTO && g->log) {
        char text[300];
        snprintf(text, sizeof text,
                 "%s: %s of embeddings stay in the file: with them the GPU would need %s, and it "
                 "has %s",
                 name_tail(l), size_text(plan.tables).s, size_text(plan.total + plan.tables).s,
                 size_text(plan.gpu_free).s);
        g->log(g->log_ud, text);
    }
    p->tables = plan.tables_in_file ? GLIM_TABLES_FILE : GLIM_TABLES_DEVICE;
    return GLIM_OK;
}
