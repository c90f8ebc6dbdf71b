/* Looking up rows for a GPU. */
#include "run/gather.h"
#include "file/source.h"
#include "kern/quant.h"

/* Rows decoded before they are written: some 40 KB each in the widest models. */
enum { GATHER_ROWS = 32 };

static const struct val *output_of(const struct gather *g, const struct op *op) {
    return &g->prog->vals[op->args[0].val];
}
static const struct weight *table_of(const struct gather *g, const struct op *op) {
    return g->prog->vals[op->args[1].val].weight;
}

int gather_init(struct gather *g, const struct prog *p, struct arena *a, glim_err *e) {
    u64 widest = 0;
    *g = (struct gather){.prog = p, .n_rows = MIN(p->max_t, (u32)GATHER_ROWS)};
    for (u32 i = 0; i < p->n_ops; i++) {
        if (!p->ops[i].by_host) continue;
        widest = MAX(widest, output_of(g, &p->ops[i])->pitch);
        g->n_ops++;
    }
    if (!g->n_ops) return GLIM_OK;
    g->rows = arena_array(a, g->n_rows, widest);
    if (!g->rows) return fail(e, GLIM_NOMEM, "out of memory (rows of tables)");
    return GLIM_OK;
}

/* The n rows of an EMBED from the step's row `first` on. */
static void decode(const struct gather *g, const struct op *op, const struct step *s, u32 first,
                   u32 n) {
    const struct weight *w = table_of(g, op);
    const struct quant *q = quant_find(w->type);
    u64 pitch = output_of(g, op)->pitch;
    f32 scale = embed_params(op).scale;
    /* All are asked for before the first is read: from a disk they come at the same time. */
    for (u32 i = 0; i < n; i++) {
        u64 id = (u64)s->rows[first + i].id;
        source_hint(w->source, w->data + id * w->pitch, w->pitch, SOURCE_AHEAD);
    }
    for (u32 i = 0; i < n; i++) {
        u64 id = (u64)s->rows[first + i].id; /* the session checked the range */
        f32 *y = (f32 *)(void *)(g->rows + i * pitch);
        quant_row(q, w->data + id * w->pitch, 0, w->cols, y);
        for (u32 c = 0; c < w->cols; c++)
            y[c] *= scale;
    }
}

int gather_write(const struct gather *g, struct gpu *gpu, const struct gpu_buffer *activations,
                 const struct step *s, glim_err *e) {
    int rc = GLIM_OK;
    for (u32 i = 0; g->n_ops && i < g->prog->n_ops; i++) {
        const struct op *op = &g->prog->ops[i];
        if (!op->by_host) continue;
        const struct val *y = output_of(g, op);
        for (u32 first = 0, n; rc == GLIM_OK && first < s->t; first += n) {
            n = MIN(g->n_rows, s->t - first);
            decode(g, op, s, first, n);
            rc =
                gpu_write(gpu, activations, y->offset + first * y->pitch, g->rows, n * y->pitch, e);
        }
    }
    return rc;
}
