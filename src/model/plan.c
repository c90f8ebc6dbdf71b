/* Planning: where activations live, and where threads must meet; and the dump of a program. */
#include "model/prog.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static u64 val_bytes(const struct prog *p, const struct val *v) {
    return v->pitch * (v->rows == ROWS_R ? p->max_r : p->max_t) * v->times;
}

/* First fit by address among the values whose lifetimes meet v's. Lifetimes include both ends, so
 * an op's output never lies on its inputs. Values come in the order of their first op. */
static u64 place(const struct prog *p, u32 n_placed, const u32 *placed, const struct val *v) {
    u64 size = val_bytes(p, v), at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (u32 i = 0; i < n_placed; i++) {
            const struct val *o = &p->vals[placed[i]];
            if (o->last < v->first || v->last < o->first) continue;
            u64 end = o->offset + val_bytes(p, o);
            if (at < end && o->offset < at + size) {
                at = end;
                moved = true;
            }
        }
    }
    return at;
}

static bool is_store(enum op_code code) {
    return code == OP_KV_STORE || code == OP_CONV_STORE;
}
static bool uses_cache(enum op_code code) {
    return is_store(code) || code == OP_ATTEND || code == OP_CONV;
}

/* Does op b, started while a may still run, read what a writes or write what a touches? */
static bool conflict(const struct prog *p, const struct op *a, const struct op *b) {
    for (u32 i = 0; i < OP_OPERANDS; i++) {
        enum op_role ra = op_info(a->code)->operands[i].role;
        if (!ra) break;
        if (a->args[i].val == REF_NONE || p->vals[a->args[i].val].weight) continue;
        const struct val *va = &p->vals[a->args[i].val];
        for (u32 j = 0; j < OP_OPERANDS; j++) {
            enum op_role rb = op_info(b->code)->operands[j].role;
            if (!rb) break;
            if (ra != ROLE_OUT && rb != ROLE_OUT) continue;
            if (b->args[j].val == REF_NONE || p->vals[b->args[j].val].weight) continue;
            const struct val *vb = &p->vals[b->args[j].val];
            if (va->offset < vb->offset + val_bytes(p, vb) &&
                vb->offset < va->offset + val_bytes(p, va)) {
                return true;
            }
        }
    }
    /* The cache: two ops on the same layer (their first parameter), one of which stores. */
    bool stores = is_store(a->code) || is_store(b->code);
    return stores && uses_cache(a->code) && uses_cache(b->code) && a->params[0] == b->params[0];
}

int prog_plan(struct prog *p, glim_err *e) {
    u32 *placed = arena_array(p->arena, p->n_vals, sizeof *placed);
    if (!placed) fail(&p->err, GLIM_NOMEM, "out of memory (program)");
    if (p->err.code) return fail(e, p->err.code, "%s", p->err.msg);
    p->vals[p->output.val].last = p->n_ops; /* read by the caller after the last op */
    if (p->best.val != REF_NONE) p->vals[p->best.val].last = p->n_ops;
    if (p->drawn.val != REF_NONE) {
        p->vals[p->drawn.val].first = 0;
        p->vals[p->drawn.val].last = p->n_ops;
    }
    for (u32 i = 0; i < p->n_ops; i++) { /* what is there before the pass */
        if (p->ops[i].by_host) p->vals[p->ops[i].args[0].val].first = 0;
    }
    u32 n_placed = 0;
    for (u32 i = 0; i < p->n_vals; i++) {
        struct val *v = &p->vals[i];
        if (v->weight) continue;
        v->offset = place(p, n_placed, placed, v);
        p->bytes = MAX(p->bytes, v->offset + val_bytes(p, v));
        placed[n_placed++] = i;
    }
    u32 open = 0; /* first op since the threads last met */
    for (u32 i = 0; i < p->n_ops; i++) {
        for (u32 j = open; j < i && !p->ops[i].sync; j++) {
            p->ops[i].sync = conflict(p, &p->ops[j], &p->ops[i]);
        }
        if (p->ops[i].sync) open = i;
    }
    return GLIM_OK;
}

/* Appends to a buffer that may be too small, counting all the same. */
struct text {
    char *buf;
    size_t cap, n;
};
__attribute__((format(printf, 2, 3))) static void dump_put(struct text *t, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    bool room = t->n < t->cap;
    int n = vsnprintf(room ? t->buf + t->n : NULL, room ? t->cap - t->n : 0, fmt, args);
    va_end(args);
    if (n > 0) t->n += (size_t)n;
}

static void dump_ref(const struct prog *p, struct text *t, const char *name, struct ref r) {
    if (r.val == REF_NONE) {
        dump_put(t, " %s=-", name);
        return;
    }
    const struct val *v = &p->vals[r.val];
    if (v->weight) {
        dump_put(t, " %s=%s[%u,%u]", name, v->weight->name, v->weight->rows, v->weight->cols);
        return;
    }
    dump_put(t, " %s=%%%u", name, r.val);
    if (r.cols != v->cols) dump_put(t, "@%u+%u", r.col, r.cols);
}

static void dump_op(const struct prog *p, struct text *t, const struct op *op) {
    const struct op_info *info = op_info(op->code);
    dump_put(t, "%c ", op->sync ? '|' : ' ');
    u32 first = 0;
    if (info->operands[0].role == ROLE_OUT) {
        const struct val *v = &p->vals[op->args[0].val];
        char times[16] = "";
        if (v->times > 1) snprintf(times, sizeof times, "%u", v->times);
        dump_put(t, "%%%u:%s[%s%c,%u] = ", op->args[0].val, v->dtype == DT_A8 ? "a8" : "f32", times,
                 v->rows == ROWS_R ? 'R' : 'T', v->cols);
        first = 1;
    }
    dump_put(t, "%s", info->name);
    for (u32 j = first; j < OP_OPERANDS && info->operands[j].role; j++) {
        dump_ref(p, t, info->operands[j].name, op->args[j]);
    }
    for (u32 j = 0; j < OP_PARAMS && info->params[j].name; j++) {
        f32 f;
        memcpy(&f, &op->params[j], 4);
        if (info->params[j].kind == 'f')
            dump_put(t, " %s=%.9g", info->params[j].name, (f64)f);
        else
            dump_put(t, " %s=%u", info->params[j].name, op->params[j]);
    }
    dump_put(t, "\n");
}

size_t prog_dump(const struct prog *p, char *buf, size_t cap) {
    struct text t = {buf, cap, 0};
    for (u32 i = 0; i < p->n_ops; i++)
        dump_op(p, &t, &p->ops[i]);
    return t.n;
}
