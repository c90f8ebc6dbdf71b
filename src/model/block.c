/* Builders of ops and shared blocks. */
#include "model/block.h"

/* Fused ops that end in A8 work on whole rows in a thread's scratch. */
enum { FUSED_COLS = ISA_SCRATCH / sizeof(f32) };

static struct ref op3(struct build *b, enum op_code code, struct ref x, struct ref y, struct ref z,
                      const void *params) {
    const struct ref in[OP_OPERANDS] = {x, y, z, REF_ABSENT, REF_ABSENT, REF_ABSENT};
    return prog_op(b->p, code, in, 0, params);
}

static struct ref op2(struct build *b, enum op_code code, struct ref x, struct ref y,
                      const void *params) {
    return op3(b, code, x, y, REF_ABSENT, params);
}

struct act block_plain(struct ref x) {
    return (struct act){
        .kind = ACT_PLAIN, .x = x, .y = REF_ABSENT, .f32_form = x, .a8_form = REF_ABSENT};
}

struct act block_norm(struct build *b, struct ref x, const struct weight *w, f32 eps) {
    struct act a = block_plain(x);
    a.kind = ACT_NORM;
    a.y = prog_weight(b->p, w);
    a.eps = eps;
    a.f32_form = REF_ABSENT;
    return a;
}

struct act block_gated(enum act_kind kind, struct ref gate, struct ref up) {
    struct act a = block_plain(gate);
    a.kind = kind;
    a.y = up;
    a.f32_form = REF_ABSENT;
    return a;
}

/* The op that makes an act's plain or quantised form, with a norm's parameters (which the others
 * do not read). Both norms have the same ones. */
static struct ref make(struct build *b, const struct act *a, enum op_code code) {
    struct rms_norm_params params = {a->x.cols, a->eps};
    return op2(b, code, a->x, a->y, &params);
}
_Static_assert(sizeof(struct rms_norm_params) == sizeof(struct rms_norm_q_params), "one struct");

struct ref block_value(struct build *b, struct act *a) {
    static const enum op_code plain[] = {
        [ACT_NORM] = OP_RMS_NORM, [ACT_SWIGLU] = OP_SWIGLU, [ACT_GEGLU] = OP_GEGLU};
    if (a->f32_form.val == REF_NONE) a->f32_form = make(b, a, plain[a->kind]);
    return a->f32_form;
}

static struct ref act_a8(struct build *b, struct act *a) {
    static const enum op_code fused[] = {
        [ACT_NORM] = OP_RMS_NORM_Q, [ACT_SWIGLU] = OP_SWIGLU_Q, [ACT_GEGLU] = OP_GEGLU_Q};
    if (a->a8_form.val != REF_NONE) return a->a8_form;
    bool fuse = a->f32_form.val == REF_NONE && a->x.cols <= FUSED_COLS;
    a->a8_form = fuse ? make(b, a, fused[a->kind])
                      : op2(b, OP_QUANTIZE, block_value(b, a), REF_ABSENT, NULL);
    return a->a8_form;
}

/* The form of x that a product with w wants: unquantised weights gain nothing from int8. */
static struct ref act_for(struct build *b, struct act *x, const struct weight *w) {
    bool quantised = quant_find(w->type)->block_len > 1;
    return !b->exact && quantised && w->cols % 32 == 0 ? act_a8(b, x) : block_value(b, x);
}

struct ref block_embed(struct build *b, const struct weight *table, f32 scale) {
    struct embed_params params = {scale};
    return op2(b, OP_EMBED, prog_weight(b->p, table), REF_ABSENT, &params);
}

struct ref block_linear(struct build *b, struct act *x, const struct weight *w,
                        const struct weight *bias) {
    /* One after the other: as arguments their order, and so the values' numbers, would be the
     * compiler's choice. */
    struct ref in = act_for(b, x, w), matrix = prog_weight(b->p, w);
    struct ref added = prog_weight(b->p, bias);
    return op3(b, OP_MATMUL, in, matrix, added, NULL);
}

struct ref block_rope_angles(struct build *b, const struct rope *r) {
    struct rope_angles_params params = {r->factor};
    const struct ref in[OP_OPERANDS] = {prog_weight(b->p, r->inv_freq)};
    return prog_op(b->p, OP_ROPE_ANGLES, in, 2 * r->inv_freq->cols, &params);
}

struct ref block_add(struct build *b, struct ref x, struct ref y, f32 scale) {
    struct add_params params = {scale};
    return op2(b, OP_ADD, x, y, &params);
}

struct ref block_scale(struct build *b, struct ref x, f32 scale) {
    struct scale_params params = {scale};
    return op2(b, OP_SCALE, x, REF_ABSENT, &params);
}

struct ref block_softcap(struct build *b, struct ref x, f32 cap) {
    struct softcap_params params = {cap};
    return op2(b, OP_SOFTCAP, x, REF_ABSENT, &params);
}

struct ref block_pick(struct build *b, struct ref x) {
    return op2(b, OP_PICK, x, REF_ABSENT, NULL);
}

void block_draw(struct build *b) {
    struct top_params top = {MIN((u32)TOP_MOST, b->p->output.cols)};
    b->p->best = prog_op(b->p, OP_TOP, &b->p->output, 2 * top.n + 1, &top);
    b->p->drawn = prog_op(b->p, OP_DRAW, &b->p->best, 1, NULL);
}

/* ---- Attention ------------------------------------------------------------------------------- */

void block_bind_attention(struct model *m, struct attention *a, u32 layer, u32 head_dim, u32 with) {
    const struct hparams *hp = &m->hp;
    u32 q = hp->n_heads * head_dim, kv = hp->n_kv_heads[layer] * head_dim;
    *a = (struct attention){.head_dim = head_dim};
    a->q = model_weight(m, q, hp->d, "blk.%u.attn_q.weight", layer);
    a->o = model_weight(m, hp->d, q, "blk.%u.attn_output.weight", layer);
    if (with & ATTENTION_BIAS) a->q_bias = model_weight(m, 1, q, "blk.%u.attn_q.bias", layer);
    if (with & ATTENTION_NORM) {
        a->q_norm = model_weight(m, 1, head_dim, "blk.%u.attn_q_norm.weight", layer);
    }
    if (with & ATTENTION_QUERY) return;
    a->k = model_weight(m, kv, hp->d, "blk.%u.attn_k.weight", layer);
    a->v = with & ATTENTION_K_AS_V ? model_weight_opt(m, kv, hp->d, "blk.%u.attn_v.weight", layer)
                                   : model_weight(m, kv, hp->d, "blk.%u.attn_v.weight", layer);
    if (with & ATTENTION_BIAS) {
        a->k_bias = model_weight(m, 1, kv, "blk.%u.attn_k.bias", layer);
        a->v_bias = model_weight(m, 1, kv, "blk.%u.attn_v.bias", layer);
    }
    if (with & ATTENTION_NORM) {
        a->k_norm = model_weight(m, 1, head_dim, "blk.%u.attn_k_norm.weight", layer);
    }
}

struct ref block_head_norm(struct build *b, struct ref x, u32 width, const struct weight *w,
                           f32 eps) {
    struct rms_norm_params params = {width, eps};
    return op2(b, OP_RMS_NORM, x, prog_weight(b->p, w), &params);
}

static struct ref rope(struct build *b, struct ref x, u32 head_dim, const struct attend_how *how) {
    struct rope_params params = {head_dim, how->neox};
    return op2(b, OP_ROPE, x, how->angles, &params);
}

struct ref block_attention(struct build *b, const struct model *m, struct act *y,
                           const struct attention *w, const struct attend_how *how) {
    u32 e = w->head_dim;
    struct ref k = REF_ABSENT, v = REF_ABSENT;
    /* The products first: threads need not meet between them. */
    struct ref q = block_linear(b, y, w->q, w->q_bias);
    if (w->k) k = v = block_linear(b, y, w->k, w->k_bias);
    if (w->v) v = block_linear(b, y, w->v, w->v_bias);
    if (w->q_norm) q = block_head_norm(b, q, e, w->q_norm, m->hp.eps);
    q = rope(b, q, e, how);
    if (w->k) {
        if (w->k_norm) k = block_head_norm(b, k, e, w->k_norm, m->hp.eps);
        k = rope(b, k, e, how);
        if (how->value_norm) v = block_head_norm(b, v, e, NULL, m->hp.eps);
        struct kv_store_params store = {how->layer};
        op2(b, OP_KV_STORE, k, v, &store);
    }
    struct attend_params params = {
        .layer = how->layer, .head_dim = e, .scale = how->scale, .window = how->window};
    struct ref o = op2(b, OP_ATTEND, q, REF_ABSENT, &params);
    if (how->narrow) o = block_pick(b, o);
    struct act a = block_plain(o);
    return block_linear(b, &a, w->o, NULL);
}

struct ref block_conv(struct build *b, struct ref bcx, const struct weight *taps, u32 layer,
                      bool narrow) {
    u32 d = taps->cols;
    struct conv_store_params store = {layer};
    op2(b, OP_CONV_STORE, prog_slice(b->p, bcx, 0, d), prog_slice(b->p, bcx, 2 * d, d), &store);
    struct ref gate = prog_slice(b->p, bcx, d, d);
    if (narrow) gate = block_pick(b, gate);
    struct conv_params params = {layer, taps->rows};
    return op2(b, OP_CONV, gate, prog_weight(b->p, taps), &params);
}

/* ---- Feed-forward ---------------------------------------------------------------------------- */

void block_bind_ffn(struct model *m, struct ffn *f, u32 layer) {
    u32 d = m->hp.d, ff = m->hp.ff[layer];
    f->gate = model_weight(m, ff, d, "blk.%u.ffn_gate.weight", layer);
    f->up = model_weight(m, ff, d, "blk.%u.ffn_up.weight", layer);
    f->down = model_weight(m, d, ff, "blk.%u.ffn_down.weight", layer);
}

struct ref block_ffn(struct build *b, struct act *y, const struct ffn *w, enum act_kind gate) {
    struct ref g = block_linear(b, y, w->gate, NULL);
    struct act a = block_gated(gate, g, block_linear(b, y, w->up, NULL));
    return block_linear(b, &a, w->down, NULL);
}

/* ---- Mixtures of experts --------------------------------------------------------------------- */

void block_bind_experts(struct model *m, struct experts *x, u32 layer) {
    u32 d = m->hp.d;
    x->score = model_weight(m, x->n, d, "blk.%u.ffn_gate_inp.weight", layer);
    x->gate = model_experts_opt(m, x->n, 2 * x->ff, d, "blk.%u.ffn_gate_up_exps.weight", layer);
    x->stride = x->gate ? 2 * x->ff : x->ff;
    x->up_first = x->gate ? x->ff : 0;
    x->up = x->gate;
    if (!x->gate) {
        x->gate = model_experts(m, x->n, x->ff, d, "blk.%u.ffn_gate_exps.weight", layer);
        x->up = model_experts(m, x->n, x->ff, d, "blk.%u.ffn_up_exps.weight", layer);
    }
    x->down = model_experts(m, x->n, d, x->ff, "blk.%u.ffn_down_exps.weight", layer);
}

static struct ref expert(struct build *b, struct act *x, struct ref route, const struct weight *w,
                         const struct expert_params *params) {
    struct ref form = act_for(b, x, w), matrix = prog_weight(b->p, w); /* in this order */
    const struct ref in[OP_OPERANDS] = {form, route, matrix, REF_ABSENT, REF_ABSENT, REF_ABSENT};
    return prog_op(b->p, OP_EXPERT, in, params->n, params);
}

struct ref block_experts(struct build *b, struct act *scores, struct act *y,
                         const struct experts *w, enum route_gate gate, enum act_kind kind) {
    struct route_params params = {w->used, gate};
    struct ref logits = block_linear(b, scores, w->score, NULL); /* in this order */
    struct ref bias = prog_weight(b->p, w->bias), scale = prog_weight(b->p, w->scale);
    const struct ref in[OP_OPERANDS] = {logits, bias, scale, REF_ABSENT, REF_ABSENT, REF_ABSENT};
    struct ref route = prog_op(b->p, OP_ROUTE, in, 2 * w->used, &params);
    struct expert_params part = {.used = w->used, .stride = w->stride, .first = 0, .n = w->ff};
    struct ref g = expert(b, y, route, w->gate, &part);
    part.first = w->up_first;
    struct act a = block_gated(kind, g, expert(b, y, route, w->up, &part));
    part = (struct expert_params){.used = w->used, .stride = y->x.cols, .n = y->x.cols};
    struct ref out = expert(b, &a, route, w->down, &part);
    struct mix_params mix = {w->used};
    return op2(b, OP_MIX, out, route, &mix);
}
