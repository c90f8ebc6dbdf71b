/* A program on a GPU. The activations are one buffer, bound whole; where operands are in it stands
 * in each dispatch's params. So there is one bind group per dispatch for good, and what a step
 * changes are the step record and, when the number of rows is another one, the params. */
#include "run/exec_gpu.h"
#include "base/plat_cpu.h"
#include "kern/quant.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The same product in two kernels: for few rows, and for many. */
enum launch_form { FORM_ONLY, FORM_FEW, FORM_MANY };
enum { MANY_ROWS = 8 };

enum { PARAM_WORDS = 64 }; /* a slice of the params: 256 bytes, as bindings are aligned */

/* Words of the step record before the rows, and per row; see kern/wgsl.c. */
enum { STEP_HEAD = 9 + 2 * DRAW_STEPS, STEP_ROW = 3 };
enum { FROM_ACTIVATIONS = 0x80000000 }; /* of a row's id: where it stands */

/* ---- Shapes ---------------------------------------------------------------------------------- */

static const struct val *val_of(const struct exec_gpu *x, struct ref r) {
    return r.val == REF_NONE ? NULL : &x->prog->vals[r.val];
}

static u32 rows_of(const struct val *v, u32 t, u32 r) {
    return (v->rows == ROWS_R ? r : t) * v->times;
}

/* The weight of an op's matrix, or NULL. */
static const struct weight *matrix_of(const struct exec_gpu *x, const struct op *op, u32 *operand) {
    const struct op_info *info = op_info(op->code);
    for (u32 i = 0; i < OP_OPERANDS && info->operands[i].role; i++) {
        const struct val *v = val_of(x, op->args[i]);
        if (info->operands[i].role != ROLE_MAT || !v) continue;
        *operand = i;
        return v->weight;
    }
    return NULL;
}

static bool has_two_forms(enum op_code code) {
    return code == OP_MATMUL || code == OP_EXPERT;
}

/* The cache layer that an op reads or writes, or UINT32_MAX. */
static u32 layer_of(const struct op *op) {
    const struct op_info *info = op_info(op->code);
    for (u32 i = 0; i < OP_PARAMS && info->params[i].name; i++) {
        if (strcmp(info->params[i].name, "layer") == 0) return op->params[i];
    }
    return UINT32_MAX;
}

/* Where subgroups pay. On an H200 attention takes 1.45 times as long by them (a reduction for each
 * 64 positions, which nothing is known of but that there are subgroups), products 1.01 times. */
static struct wgsl_subgroups subgroups_for(const struct device *d, enum op_code code) {
    bool pay = code != OP_ATTEND && code != OP_MATMUL && code != OP_EXPERT;
    bool skip = d->subgroups.are == SUBGROUPS_NATIVE && !pay && !d->subgroups_everywhere;
    return skip ? (struct wgsl_subgroups){0} : d->subgroups;
}

static struct wgsl_variant variant_of(const struct exec_gpu *x, const struct op *op) {
    const struct op_info *info = op_info(op->code);
    struct wgsl_variant v = {.op = op->code, .subgroups = subgroups_for(x->device, op->code)};
    u32 n_vecs = 0, operand, layer = layer_of(op);
    const struct weight *w = matrix_of(x, op, &operand);
    if (w) v.type = w->type;
    for (u32 i = 0; i < OP_OPERANDS && info->operands[i].role; i++) {
        const struct val *val = val_of(x, op->args[i]);
        enum op_role role = info->operands[i].role;
        if (role == ROLE_VEC || role == ROLE_OPT_VEC) {
            *(n_vecs++ ? &v.has_v2 : &v.has_v1) = val != NULL;
        } else if (val && role == ROLE_IN && info->operands[i].dtype == DT_ANY) {
            v.x_a8 = val->dtype == DT_A8;
        }
    }
    if (layer != UINT32_MAX) {
        const struct kv_layout *l = &x->seq->cache->layout;
        v.kv_f16 = l->f16 && l->layers[layer].kind != KV_CONV;
        v.head_dim = l->layers[layer].head_dim;
    }
    return v;
}

/* ---- Params ---------------------------------------------------------------------------------- */

/* Words of a layer's page, and from its start to V. */
static u32 page_words(const struct kv_layout *l, const struct kv_layer *k, u32 *v_at) {
    bool conv = k->kind == KV_CONV;
    u32 half = k->n_heads * k->head_dim * KV_PAGE / (l->f16 && !conv ? 2 : 1);
    *v_at = half;
    return conv ? half : 2 * half;
}

/* Everything but the number of groups, which depends on the step. */
static void fill_params(const struct exec_gpu *x, const struct gpu_launch *l, u32 first_row,
                        u32 *to) {
    const struct op_info *info = op_info(l->op->code);
    u32 operand, n = 1, layer = layer_of(l->op);
    const struct weight *w = matrix_of(x, l->op, &operand);
    to[n++] = first_row;
    to[n++] = l->piece_rows;
    to[n++] = w ? (u32)w->pitch : 0;
    if (layer != UINT32_MAX) {
        const struct kv_layer *k = &x->seq->cache->layout.layers[layer];
        to[n] = page_words(&x->seq->cache->layout, k, &to[n + 1]);
        to[n + 2] = k->n_heads;
        to[n + 3] = k->kind;
    }
    n += 4;
    for (u32 i = 0; i < OP_OPERANDS && info->operands[i].role; i++) {
        if (info->operands[i].role != ROLE_OUT && info->operands[i].role != ROLE_IN) continue;
        const struct val *v = val_of(x, l->op->args[i]);
        to[n++] = (u32)(v->offset / 4) + l->op->args[i].col;
        to[n++] = (u32)(v->pitch / 4);
        to[n++] = l->op->args[i].cols;
        to[n++] = v->rows == ROWS_R;
        to[n++] = v->times;
    }
    for (u32 i = 0; i < OP_PARAMS && info->params[i].name; i++)
        to[n++] = l->op->params[i];
    assert(n <= PARAM_WORDS);
}

/* Slots spread over the experts: it is the rows of one that make a tile worth its while. */
static bool is_due(const struct gpu_launch *l, u32 rows, const struct weight *w) {
    if (l->form == FORM_ONLY) return true;
    u32 sharing = l->op->code == OP_EXPERT ? w->rows / expert_params(l->op).stride : 1;
    return (l->form == FORM_MANY) == (rows / sharing >= MANY_ROWS);
}

static u64 groups_of(const struct exec_gpu *x, const struct gpu_launch *l, u32 t, u32 r) {
    const struct val *v = val_of(x, l->op->args[0]);
    u32 rows = rows_of(v, t, r);
    u32 operand, val = l->op->args[0].val;
    const struct weight *w = matrix_of(x, l->op, &operand);
    if (!x->drawing && (val == x->prog->best.val || val == x->prog->drawn.val)) return 0;
    if (rows == 0 || !is_due(l, rows, w)) return 0;
    return wgsl_groups(&l->variant, l->op, rows, w ? w->rows : 0, l->piece_rows);
}

/* ---- Preparing ------------------------------------------------------------------------------- */

static int bind_launch(struct exec_gpu *x, struct device_model *m, struct gpu_launch *l,
                       const struct device_piece *piece, glim_err *e) {
    const struct op_info *info = op_info(l->op->code);
    struct gpu *g = x->device->gpu;
    u32 mask = wgsl_bindings(&l->variant), n = 0, layer = layer_of(l->op), vec = WGSL_V1;
    struct gpu_binding b[GPU_SLOTS];
    b[n++] = (struct gpu_binding){WGSL_PARAMS, &x->params, (u64)l->params_at * 4, PARAM_WORDS * 4};
    if (mask >> WGSL_STEP & 1) b[n++] = (struct gpu_binding){WGSL_STEP, &x->step, 0, 0};
    if (mask >> WGSL_ACT & 1) b[n++] = (struct gpu_binding){WGSL_ACT, &x->memory, 0, 0};
    if (mask >> WGSL_W & 1) b[n++] = (struct gpu_binding){WGSL_W, &piece->buffer, 0, 0};
    for (u32 i = 0; i < OP_OPERANDS && info->operands[i].role; i++) {
        enum op_role role = info->operands[i].role;
        if (role != ROLE_VEC && role != ROLE_OPT_VEC) continue;
        const struct val *v = val_of(x, l->op->args[i]);
        const struct device_weight *w;
        u32 slot = vec++;
        if (!v) continue;
        int rc = device_weight(m, v->weight, l->op->code == OP_ROPE_ANGLES, &w, e);
        if (rc < 0) return rc;
        b[n++] = (struct gpu_binding){slot, &w->pieces[0].buffer, 0, 0};
    }
    if (mask >> WGSL_KV & 1) b[n++] = (struct gpu_binding){WGSL_KV, &x->caches[layer], 0, 0};
    if (mask >> WGSL_GRIDS & 1) {
        struct gpu_buffer *grids = &x->device->grids;
        int rc = GLIM_OK;
        if (!grids->handle) {
            rc = gpu_buffer_init(g, grids, sizeof quant_grids, GPU_STORAGE, "tables", e);
            if (rc == GLIM_OK) rc = gpu_write(g, grids, 0, quant_grids, sizeof quant_grids, e);
        }
        if (rc < 0) { /* not half made for the next program */
            gpu_buffer_free(g, grids);
            return rc;
        }
        b[n++] = (struct gpu_binding){WGSL_GRIDS, grids, 0, 0};
    }
    l->group = gpu_bind(g, l->pipeline, b, n, e);
    return l->group ? GLIM_OK : e->code;
}

/* Calls with each launch of the program, in order; stops at the first failure. */
typedef int launch_fn(struct exec_gpu *x, struct device_model *m, struct gpu_launch *l,
                      const struct device_piece *piece, glim_err *e);
static int each_launch(struct exec_gpu *x, struct device_model *m, launch_fn *fn, glim_err *e) {
    struct gpu_launch none;
    u32 k = 0;
    for (u32 i = 0; i < x->prog->n_ops; i++) {
        const struct op *op = &x->prog->ops[i];
        const struct device_weight *dw = NULL;
        u32 operand;
        if (op->by_host) continue;
        const struct weight *w = matrix_of(x, op, &operand);
        if (w) {
            int rc = device_weight(m, w, false, &dw, e);
            if (rc < 0) return rc;
        }
        for (u32 form = 0; form < (has_two_forms(op->code) ? 2u : 1u); form++) {
            for (u32 j = 0; j < (dw ? dw->n : 1); j++, k++) {
                struct gpu_launch *l = x->launches ? &x->launches[k] : &none;
                if (fn) {
                    l->op = op;
                    l->form = (u8)(has_two_forms(op->code) ? FORM_FEW + form : FORM_ONLY);
                    l->piece_rows = dw ? dw->pieces[j].rows : 0;
                    l->params_at = k * PARAM_WORDS;
                    int rc = fn(x, m, l, dw ? &dw->pieces[j] : NULL, e);
                    if (rc < 0) return rc;
                }
            }
        }
    }
    x->n_launches = k;
    return GLIM_OK;
}

static int begin_launch(struct exec_gpu *x, struct device_model *m, struct gpu_launch *l,
                        const struct device_piece *piece, glim_err *e) {
    (void)m;
    l->variant = variant_of(x, l->op);
    l->variant.tile = l->form == FORM_MANY;
    fill_params(x, l, piece ? piece->first : 0, x->params_words + l->params_at);
    return device_pipeline(x->device, &l->variant, &l->pipeline, e);
}

static int make_caches(struct exec_gpu *x, struct arena *a, glim_err *e) {
    const struct kv_layout *l = &x->seq->cache->layout;
    x->n_caches = l->n_layers;
    x->caches = arena_array(a, l->n_layers, sizeof *x->caches);
    if (!x->caches) return fail(e, GLIM_NOMEM, "out of memory (KV layers)");
    memset(x->caches, 0, l->n_layers * sizeof *x->caches);
    u64 most = gpu_info(x->device->gpu)->limits.binding;
    for (u32 i = 0; i < l->n_layers; i++) {
        u32 v_at, words = page_words(l, &l->layers[i], &v_at);
        u64 bytes = (u64)words * 4 * x->seq->kinds[l->layers[i].kind].max;
        if (bytes > most) {
            return fail(e, GLIM_NOMEM,
                        "the KV cache of a layer needs %llu MiB, a binding of this GPU has %llu; "
                        "use a smaller context (-c)",
                        (unsigned long long)(bytes >> 20), (unsigned long long)(most >> 20));
        }
        int rc = gpu_buffer_init(x->device->gpu, &x->caches[i], bytes, GPU_STORAGE, "cache", e);
        if (rc < 0) return rc;
    }
    return GLIM_OK;
}

/* What comes back of a pass that draws: the id, then TOP's row. */
static u64 pick_bytes(const struct exec_gpu *x) {
    return 4 + 4 * (u64)x->prog->best.cols;
}

static int make_buffers(struct exec_gpu *x, struct arena *a, glim_err *e) {
    struct gpu *g = x->device->gpu;
    const struct prog *p = x->prog;
    const struct val *out = val_of(x, p->output);
    u64 most = gpu_info(g)->limits.binding;
    if (p->bytes > most) {
        return fail(e, GLIM_NOMEM,
                    "a pass of %u tokens needs %llu MiB of activations, a binding of this GPU has "
                    "%llu; use a smaller batch",
                    p->max_t, (unsigned long long)(p->bytes >> 20),
                    (unsigned long long)(most >> 20));
    }
    u32 slots = 0;
    for (u32 k = 0; k < KV_KINDS; k++)
        slots += x->seq->kinds[k].max;
    x->step_size = STEP_HEAD + STEP_ROW * p->max_t + p->max_r + 2 * KV_KINDS + slots;
    x->params_size = x->n_launches * PARAM_WORDS;
    x->step_words = arena_array(a, x->step_size, 4);
    x->params_words = arena_array(a, x->params_size, 4);
    x->launches = arena_array(a, x->n_launches, sizeof *x->launches);
    x->logits = arena_array(a, (u64)p->max_r * out->cols, sizeof *x->logits);
    bool draws = p->best.val != REF_NONE;
    if (draws) x->best = arena_array(a, p->best.cols, sizeof *x->best);
    if (!x->step_words || !x->params_words || !x->launches || !x->logits || (draws && !x->best))
        return fail(e, GLIM_NOMEM, "out of memory (GPU session)");
    memset(x->launches, 0, x->n_launches * sizeof *x->launches);
    memset(x->params_words, 0, (size_t)x->params_size * 4);
    int rc = gpu_buffer_init(g, &x->memory, p->bytes, GPU_STORAGE, "activations", e);
    if (rc == GLIM_OK)
        rc = gpu_buffer_init(g, &x->step, (u64)x->step_size * 4, GPU_STORAGE, "step", e);
    if (rc == GLIM_OK)
        rc = gpu_buffer_init(g, &x->params, (u64)x->params_size * 4, GPU_UNIFORM, "params", e);
    if (rc == GLIM_OK)
        rc = gpu_buffer_init(g, &x->back, p->max_r * out->pitch, GPU_READBACK, "logits", e);
    for (u32 i = 0; i < COUNT(x->picks) && draws && rc == GLIM_OK; i++)
        rc = gpu_buffer_init(g, &x->picks[i], pick_bytes(x), GPU_READBACK, "drawn", e);
    return rc < 0 ? rc : make_caches(x, a, e);
}

int exec_gpu_init(struct exec_gpu *x, const struct prog *p, struct device_model *m,
                  const struct kv_seq *seq, struct arena *a, glim_err *e) {
    glim_err own = {0};
    if (!e) e = &own;
    *x = (struct exec_gpu){.prog = p, .device = m->device, .seq = seq, .drawn = -1};
    int rc = each_launch(x, m, NULL, e); /* uploads weights and counts */
    if (rc == GLIM_OK) rc = make_buffers(x, a, e);
    if (rc == GLIM_OK) rc = gather_init(&x->gather, p, a, e);
    if (rc == GLIM_OK) rc = each_launch(x, m, begin_launch, e);
    if (rc == GLIM_OK) rc = gpu_wait(x->device->gpu, e);
    if (rc == GLIM_OK) rc = each_launch(x, m, bind_launch, e);
    if (rc < 0) exec_gpu_free(x);
    return rc;
}

void exec_gpu_free(struct exec_gpu *x) {
    if (!x->device) return;
    struct gpu *g = x->device->gpu;
    exec_gpu_drop(x);
    for (u32 i = 0; x->launches && i < x->n_launches; i++)
        gpu_bind_free(g, x->launches[i].group);
    for (u32 i = 0; x->caches && i < x->n_caches; i++)
        gpu_buffer_free(g, &x->caches[i]);
    gpu_buffer_free(g, &x->memory);
    gpu_buffer_free(g, &x->step);
    gpu_buffer_free(g, &x->params);
    gpu_buffer_free(g, &x->back);
    for (u32 i = 0; i < COUNT(x->picks); i++)
        gpu_buffer_free(g, &x->picks[i]);
    *x = (struct exec_gpu){0};
}

/* ---- Running --------------------------------------------------------------------------------- */

static void fill_draw(const struct draw *d, u32 *to) {
    to[0] = d->n;
    to[1] = d->least;
    memcpy(&to[2], &d->u, 4);
    to[3] = d->n_steps;
    memcpy(&to[4], d->steps, d->n_steps * sizeof d->steps[0]);
}

/* The step record; see the contract in kern/wgsl.c. A sequence's pages on the device are its own,
 * in the order of its slots. drawn: the one row's id is what the pass before drew. */
static u32 fill_step(struct exec_gpu *x, const struct step *s, bool drawn) {
    u32 *to = x->step_words;
    u32 rows = STEP_HEAD, out = rows + STEP_ROW * s->t, seqs = out + s->r;
    u32 pages = seqs + 2 * KV_KINDS;
    memset(to, 0, STEP_HEAD * 4);
    to[0] = s->t;
    to[1] = s->r;
    to[2] = rows;
    to[3] = out;
    to[4] = seqs;
    if (s->draw) fill_draw(s->draw, to + 5);
    for (u32 i = 0; i < s->t; i++) {
        to[rows + STEP_ROW * i] = (u32)s->rows[i].id;
        to[rows + STEP_ROW * i + 1] = s->rows[i].pos;
        to[rows + STEP_ROW * i + 2] = s->rows[i].seq;
    }
    if (drawn) to[rows] = FROM_ACTIVATIONS | (u32)(val_of(x, x->prog->drawn)->offset / 4);
    for (u32 i = 0; i < s->r; i++)
        to[out + i] = s->out_rows[i];
    for (u32 k = 0; k < KV_KINDS; k++) {
        u32 n = x->seq->kinds[k].max;
        to[seqs + 2 * k] = pages;
        to[seqs + 2 * k + 1] = n;
        for (u32 i = 0; i < n; i++)
            to[pages++] = i;
    }
    return pages;
}

/* Params depend on the number of rows and on whether a token is drawn. */
static int set_params(struct exec_gpu *x, const struct step *s, glim_err *e) {
    bool drawing = s->draw != NULL;
    if (s->t == x->t && s->r == x->r && drawing == x->drawing) return GLIM_OK;
    x->drawing = drawing;
    for (u32 i = 0; i < x->n_launches; i++) {
        const struct gpu_launch *l = &x->launches[i];
        x->params_words[l->params_at] = (u32)groups_of(x, l, s->t, s->r);
    }
    int rc = gpu_write(x->device->gpu, &x->params, 0, x->params_words, (u64)x->params_size * 4, e);
    x->t = rc == GLIM_OK ? s->t : 0; /* 0: write them again */
    x->r = s->r;
    return rc;
}

/* Puts what the pass gives where it can be read back; how many bytes. */
static u64 copy_back(struct exec_gpu *x, const struct step *s, struct gpu_pass *pass) {
    struct gpu *g = x->device->gpu;
    if (!s->draw) {
        const struct val *out = val_of(x, x->prog->output);
        u64 bytes = MAX(s->r * out->pitch, (u64)4);
        pass->back = &x->back;
        gpu_copy(g, &x->memory, out->offset, pass->back, 0, bytes);
        return bytes;
    }
    pass->draw = *s->draw;
    pass->back = &x->picks[x->turn];
    x->turn = (x->turn + 1) % COUNT(x->picks);
    gpu_copy(g, &x->memory, val_of(x, x->prog->drawn)->offset, pass->back, 0, 4);
    gpu_copy(g, &x->memory, val_of(x, x->prog->best)->offset, pass->back, 4, pick_bytes(x) - 4);
    return pick_bytes(x);
}

bool exec_gpu_needs_ids(const struct exec_gpu *x) {
    return x->gather.n_ops > 0;
}

static int submit_pass(struct exec_gpu *x, const struct step *s, bool drawn, struct gpu_pass *pass,
                       glim_err *e) {
    struct gpu *g = x->device->gpu;
    assert(!drawn || !exec_gpu_needs_ids(x));
    u32 words = fill_step(x, s, drawn);
    int rc = gpu_write(g, &x->step, 0, x->step_words, (u64)words * 4, e);
    if (rc == GLIM_OK) rc = set_params(x, s, e);
    if (rc == GLIM_OK) rc = gather_write(&x->gather, g, &x->memory, s, e);
    if (rc < 0) return rc;
    for (u32 i = 0; i < x->n_launches; i++) {
        const struct gpu_launch *l = &x->launches[i];
        u32 groups = x->params_words[l->params_at];
        if (!groups) continue;
        gpu_dispatch(g, l->pipeline, l->group, groups);
        x->n_dispatches++;
    }
    struct gpu_pass p = {.pos = s->rows[0].pos};
    u64 bytes = copy_back(x, s, &p);
    rc = gpu_submit(g, e);
    if (rc == GLIM_OK) rc = gpu_read_begin(g, p.back, bytes, e);
    if (rc == GLIM_OK) *pass = p;
    x->n_passes++;
    return rc;
}

/* A GPU that failed in silence gives zeros or nonsense: an error, never text. */
static int check_row(const f32 *row, u32 n, glim_err *e) {
    bool finite = true, zero = true;
    for (u32 i = 0; i < n; i++) {
        finite &= isfinite(row[i]) != 0;
        zero &= row[i] == 0;
    }
    if (!finite) return fail(e, GLIM_NUMERIC, "the GPU gave logits that are not finite");
    return zero ? fail(e, GLIM_NUMERIC, "the GPU gave logits that are all zero") : GLIM_OK;
}

static int take_logits(struct exec_gpu *x, const u8 *bytes, u32 r, glim_err *e) {
    const struct val *out = val_of(x, x->prog->output);
    int rc = GLIM_OK;
    for (u32 i = 0; i < r && rc == GLIM_OK; i++) {
        f32 *row = x->logits + (u64)i * out->cols;
        memcpy(row, bytes + i * out->pitch, out->cols * sizeof *row);
        rc = check_row(row, out->cols, e);
    }
    return rc;
}

/* Adds the times of a pass's dispatches to their ops'. */
static int take_times(struct exec_gpu *x, glim_err *e) {
    int n = gpu_profile_read(x->device->gpu, x->times, x->n_launches, e);
    u32 k = 0;
    for (u32 i = 0; i < x->n_launches && (int)k < n; i++) {
        const struct gpu_launch *l = &x->launches[i];
        if (x->params_words[l->params_at]) x->op_ns[l->op->code] += x->times[k++];
    }
    return n < 0 ? n : GLIM_OK;
}

static int take_drawn(struct exec_gpu *x, const u8 *bytes, glim_err *e) {
    u32 most = x->prog->best.cols / 2;
    f32 id;
    memcpy(&id, bytes, 4);
    memcpy(x->best, bytes + 4, (2 * most + 1) * sizeof *x->best);
    f32 ends[2] = {x->best[most], x->best[2 * most]}; /* the largest and the smallest */
    x->drawn = (i32)id;
    return check_row(ends, 2, e);
}

/* Whether the pass that was begun ahead is the one of this step. */
static bool is_ahead(const struct exec_gpu *x, const struct step *s) {
    const struct gpu_pass *p = &x->ahead;
    return p->back && s->draw && s->t == 1 && s->rows[0].pos == p->pos &&
           s->rows[0].id == x->drawn && memcmp(s->draw, &p->draw, sizeof p->draw) == 0;
}

static void drop_pass(struct exec_gpu *x, struct gpu_pass *pass) {
    const void *bytes;
    if (!pass->back) return;
    while (gpu_read_poll(x->device->gpu, pass->back, &bytes, NULL) == GLIM_AGAIN)
        plat_sleep_ns(50 * 1000);
    gpu_read_end(x->device->gpu, pass->back);
    *pass = (struct gpu_pass){0};
}

static int begin_passes(struct exec_gpu *x, const struct step *s, const struct step *then,
                        glim_err *e) {
    int rc = GLIM_OK;
    if (!x->now.back && is_ahead(x, s)) {
        x->now = x->ahead;
        x->ahead = (struct gpu_pass){0};
    } else if (!x->now.back) {
        drop_pass(x, &x->ahead);
        rc = submit_pass(x, s, false, &x->now, e);
    }
    if (rc < 0 || !then || x->ahead.back || x->times) return rc;
    return submit_pass(x, then, true, &x->ahead, e);
}

/* Polls for about budget_ns; then what came back is here. */
static int end_pass(struct exec_gpu *x, const struct step *s, u64 budget_ns, glim_err *e) {
    struct gpu *g = x->device->gpu;
    u64 deadline = plat_now_ns() + budget_ns;
    const void *bytes;
    int rc;
    for (u32 turns = 0; (rc = gpu_read_poll(g, x->now.back, &bytes, e)) == GLIM_AGAIN; turns++) {
        if (plat_now_ns() >= deadline) return GLIM_AGAIN;
        if (turns > 1000) plat_sleep_ns(50 * 1000);
    }
    x->drawn = -1;
    if (rc == GLIM_OK) rc = s->draw ? take_drawn(x, bytes, e) : take_logits(x, bytes, s->r, e);
    gpu_read_end(g, x->now.back);
    x->now = (struct gpu_pass){0};
    return rc == GLIM_OK && x->times ? take_times(x, e) : rc;
}

int exec_gpu_run(struct exec_gpu *x, const struct step *s, const struct step *then, u64 budget_ns,
                 glim_err *e) {
    int rc = begin_passes(x, s, then, e);
    if (rc == GLIM_OK) rc = end_pass(x, s, budget_ns, e);
    if (rc < 0) exec_gpu_drop(x);
    return rc;
}

void exec_gpu_drop(struct exec_gpu *x) {
    if (!x->device) return;
    drop_pass(x, &x->now);
    drop_pass(x, &x->ahead);
}

int exec_gpu_profile(struct exec_gpu *x, struct arena *a, glim_err *e) {
    if (x->times) return GLIM_OK;
    u64 *times = arena_array(a, x->n_launches, sizeof *times);
    if (!times) return fail(e, GLIM_NOMEM, "out of memory (profile)");
    int rc = gpu_profile(x->device->gpu, x->n_launches, e);
    if (rc == GLIM_OK) x->times = times;
    return rc;
}

const f32 *exec_gpu_logits(const struct exec_gpu *x, u32 r) {
    return x->logits + (u64)r * x->prog->vals[x->prog->output.val].cols;
}

void exec_gpu_best(const struct exec_gpu *x, const f32 **ids, const f32 **values) {
    *ids = x->best;
    *values = x->best + x->prog->best.cols / 2;
}
