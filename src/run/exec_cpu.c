/* Every thread walks the same list and takes its share of each wide op; narrow ops (one row of a
 * norm, say) are done by thread 0 alone, and the threads meet only where the plan says that an op
 * depends on another and the two are not both thread 0's. */
#include "run/exec_cpu.h"
#include "base/plat_cpu.h"

#include <stdatomic.h>

int exec_cpu_init(struct exec_cpu *x, const struct prog *p, struct arena *a, glim_err *e) {
    *x = (struct exec_cpu){.prog = p};
    x->mats = arena_array(a, p->n_vals, sizeof *x->mats);
    x->memory = arena_get(a, p->bytes);
    if (!x->mats || !x->memory) {
        return fail(e, GLIM_NOMEM,
                    "no memory for %llu MiB of activations; use a smaller batch or context",
                    (unsigned long long)(p->bytes >> 20));
    }
    for (u32 i = 0; i < p->n_vals; i++) {
        const struct val *v = &p->vals[i];
        struct mat *m = &x->mats[i];
        *m = (struct mat){.pitch = v->pitch, .cols = v->cols, .dtype = v->dtype};
        if (v->weight) {
            m->p = (u8 *)(uintptr_t)v->weight->data; /* ops never write to weights */
            m->rows = v->weight->rows;
            m->type = v->weight->type;
        } else {
            m->p = x->memory + v->offset;
        }
    }
    return GLIM_OK;
}

const f32 *exec_cpu_logits(const struct exec_cpu *x, u32 r) {
    const struct mat *m = &x->mats[x->prog->output.val];
    return (const f32 *)(const void *)(m->p + r * m->pitch);
}

struct job {
    struct exec_cpu *x;
    struct engine *g;
    const struct step *s;
    u32 from;
    u32 stopped_at; /* written by thread 0 */
    u64 deadline;
    /* Thread 0's word whether to stop at a meeting point; alternating, so that a slow thread still
     * reads the word of the meeting it comes from. */
    atomic_bool stop[2];
};

/* Is the op worth all threads? Depends on the step only, so that all threads agree. */
static bool is_wide(const struct op *op, u32 rows, u32 cols) {
    if (rows == 0) return false;
    return cpu_op(op->code)->always_parallel || (u64)rows * cols >= 16384;
}

static void call_of(const struct job *j, const struct op *op, struct cpu_call *c) {
    const struct op_info *info = op_info(op->code);
    c->op = op;
    for (u32 i = 0; i < OP_OPERANDS && info->operands[i].role; i++) {
        struct ref r = op->args[i];
        if (r.val == REF_NONE) {
            c->a[i] = (struct mat){0};
            continue;
        }
        const struct val *v = &j->x->prog->vals[r.val];
        c->a[i] = j->x->mats[r.val];
        c->a[i].cols = r.cols;
        if (v->weight) continue;
        c->a[i].p += (u64)r.col * sizeof(f32); /* slices are of f32 values only */
        c->a[i].rows = (v->rows == ROWS_R ? j->s->r : j->s->t) * v->times;
        if (i == 0) c->pick = v->rows == ROWS_R ? j->s->out_rows : NULL;
    }
}

static void work(void *arg, u32 ith, u32 nth) {
    struct job *j = arg;
    const struct prog *p = j->x->prog;
    struct cpu_call c = {.step = j->s,
                         .isa = j->g->isa,
                         .scratch = j->g->scratch + (u64)ith * ENGINE_SCRATCH,
                         .own = j->g->scratch + (u64)ith * ENGINE_SCRATCH + ISA_SCRATCH,
                         .ith = ith,
                         .nth = nth};
    bool wide_pending = false; /* a wide op may still run in other threads */
    bool owed = false;         /* a meeting point was passed because both sides were thread 0's */
    u32 meeting = 0;
    for (u32 i = j->from; i < p->n_ops; i++) {
        const struct op *op = &p->ops[i];
        call_of(j, op, &c);
        bool wide = is_wide(op, c.a[0].rows, c.a[0].cols);
        if (wide ? op->sync || owed : op->sync && wide_pending) {
            u32 k = meeting++ & 1;
            if (ith == 0) {
                bool stop = i > j->from && plat_now_ns() >= j->deadline;
                if (stop) j->stopped_at = i;
                atomic_store_explicit(&j->stop[k], stop, memory_order_relaxed);
            }
            pool_barrier(j->g->pool);
            if (atomic_load_explicit(&j->stop[k], memory_order_relaxed)) return;
            wide_pending = owed = false;
        } else if (op->sync) {
            owed = true;
        }
        if (wide) {
            cpu_op(op->code)->fn(&c);
            wide_pending = true;
        } else if (ith == 0 && c.a[0].rows > 0) {
            struct cpu_call alone = c;
            alone.ith = 0;
            alone.nth = 1;
            cpu_op(op->code)->fn(&alone);
        }
    }
    if (ith == 0) j->stopped_at = p->n_ops;
}

int exec_cpu_run(struct exec_cpu *x, struct engine *g, const struct step *s, u32 *at,
                 u64 budget_ns) {
    struct job j = {.x = x, .g = g, .s = s, .from = *at, .deadline = plat_now_ns() + budget_ns};
    pool_run(g->pool, work, &j);
    *at = j.stopped_at;
    return *at == x->prog->n_ops ? GLIM_OK : GLIM_AGAIN;
}
