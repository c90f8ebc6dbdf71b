/* Builders of ops. */
#include "model/block.h"

/* Fused ops that end in A8 work on whole rows in a thread's scratch. */
enum { FUSED_COLS = ISA_SCRATCH / sizeof(f32) };

static struct ref op2(struct build *b, enum op_code code, struct ref x, struct ref y,
                      const void *params) {
    struct ref in[OP_OPERANDS] = {x, y};
    return prog_op(b->p, code, in, 0, params);
}

struct ref block_embed(struct build *b, const struct weight *table, f32 scale) {
    struct embed_params params = {scale};
    struct ref in[OP_OPERANDS] = {prog_weight(b->p, table)};
    return prog_op(b->p, OP_EMBED, in, 0, &params);
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

struct act block_swiglu(struct ref gate, struct ref up) {
    struct act a = block_plain(gate);
    a.kind = ACT_SWIGLU;
    a.y = up;
    a.f32_form = REF_ABSENT;
    return a;
}

static struct ref act_f32(struct build *b, struct act *a) {
    if (a->f32_form.val != REF_NONE) return a->f32_form;
    if (a->kind == ACT_NORM) {
        struct rms_norm_params params = {a->x.cols, a->eps};
        a->f32_form = op2(b, OP_RMS_NORM, a->x, a->y, &params);
    } else {
        a->f32_form = op2(b, OP_SWIGLU, a->x, a->y, NULL);
    }
    return a->f32_form;
}

static struct ref act_a8(struct build *b, struct act *a) {
    if (a->a8_form.val != REF_NONE) return a->a8_form;
    bool fuse = a->f32_form.val == REF_NONE && a->x.cols <= FUSED_COLS;
    if (fuse && a->kind == ACT_NORM) {
        struct rms_norm_q_params params = {a->x.cols, a->eps};
        a->a8_form = op2(b, OP_RMS_NORM_Q, a->x, a->y, &params);
    } else if (fuse && a->kind == ACT_SWIGLU) {
        a->a8_form = op2(b, OP_SWIGLU_Q, a->x, a->y, NULL);
    } else {
        a->a8_form = op2(b, OP_QUANTIZE, act_f32(b, a), REF_ABSENT, NULL);
    }
    return a->a8_form;
}

struct ref block_linear(struct build *b, struct act *x, const struct weight *w) {
    /* Unquantised weights gain nothing from int8 activations. */
    bool quantised = quant_find(w->type)->block_len > 1;
    bool a8 = !b->exact && quantised && w->cols % 32 == 0;
    struct ref in = a8 ? act_a8(b, x) : act_f32(b, x);
    return op2(b, OP_MATMUL, in, prog_weight(b->p, w), NULL);
}

struct ref block_rope_angles(struct build *b, const struct weight *inv_freq, f32 factor) {
    struct rope_angles_params params = {factor};
    struct ref in[OP_OPERANDS] = {prog_weight(b->p, inv_freq)};
    return prog_op(b->p, OP_ROPE_ANGLES, in, 2 * inv_freq->cols, &params);
}

struct ref block_rope(struct build *b, struct ref x, struct ref angles, u32 head_dim, bool neox) {
    struct rope_params params = {head_dim, neox};
    return op2(b, OP_ROPE, x, angles, &params);
}

void block_kv_store(struct build *b, struct ref k, struct ref v, u32 layer) {
    struct kv_store_params params = {layer};
    op2(b, OP_KV_STORE, k, v, &params);
}

struct ref block_attend(struct build *b, struct ref q, u32 layer, u32 head_dim, f32 scale,
                        f32 softcap, u32 window) {
    struct attend_params params = {layer, head_dim, scale, softcap, window};
    return op2(b, OP_ATTEND, q, REF_ABSENT, &params);
}

struct ref block_add(struct build *b, struct ref x, struct ref y) {
    return op2(b, OP_ADD, x, y, NULL);
}

struct ref block_pick(struct build *b, struct ref x) {
    return op2(b, OP_PICK, x, REF_ABSENT, NULL);
}
