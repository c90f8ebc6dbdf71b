/* lfm2, lfm2.5 and lfm2moe: gated short convolutions with some attention layers among them, and
 * from some layer on a mixture of experts. Liquid AI's LFM2 report, arXiv 2511.23404. */
#include "model/block.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct lfm2_layer {
    const struct weight *attn_norm, *ffn_norm; /* [D] */
    bool attends;
    struct attention attention;
    const struct weight *in_proj, *out_proj; /* [3 D, D], [D, D] */
    const struct weight *taps;               /* [K, D], the last one is now */
    struct ffn ffn;
    struct experts experts; /* n = 0: ffn */
};

struct lfm2 {
    const struct weight *token_embd; /* [V, D] */
    const struct weight *norm;       /* [D] */
    const struct weight *output;     /* [V, D]; token_embd where the file has none */
    struct rope rope;
    u32 n_taps; /* K */
    struct lfm2_layer layers[];
};

/* The filters of all channels, turned from the file's [D, K] into [K, D]. */
static const struct weight *lfm2_bind_taps(struct model *m, u32 layer, u32 n_taps) {
    const struct weight *file =
        model_weight(m, m->hp.d, n_taps, "blk.%u.shortconv.conv.weight", layer);
    f32 *taps, row[16];
    struct weight *w = model_constant(m, "shortconv.taps", n_taps, m->hp.d, &taps);
    for (u32 i = 0; file && w && i < m->hp.d; i++) {
        quant_row(quant_find(file->type), file->data + i * file->pitch, 0, n_taps, row);
        for (u32 j = 0; j < n_taps; j++)
            taps[(u64)j * m->hp.d + i] = row[j];
    }
    return w;
}

/* Keys that models so far do without: what they would change must not go unseen. */
static int read_expert_weights(struct model *m, struct experts *x, glim_err *e) {
    bool norm = true;
    f32 scale, *by;
    int rc = gguf_bool(&m->gguf, "lfm2moe.expert_weights_norm", &norm, e);
    if (rc < 0 && rc != GLIM_NOT_FOUND) return rc;
    if (!norm) {
        return fail(e, GLIM_UNSUPPORTED, "%s: lfm2moe.expert_weights_norm is false: not supported",
                    m->name);
    }
    if ((rc = model_f32_or(m, "expert_weights_scale", 1, &scale, e)) < 0) return rc;
    if (scale == 1) return GLIM_OK;
    struct weight *w = model_constant(m, "expert_weights_scale", 1, x->n, &by);
    if (!w) return fail(e, GLIM_NOMEM, "%s: out of memory (experts)", m->name);
    for (u32 i = 0; i < x->n; i++)
        by[i] = scale;
    x->scale = w;
    return GLIM_OK;
}

static int lfm2_bind_experts(struct model *m, struct experts *x, u32 layer, glim_err *e) {
    u32 gating;
    int rc;
    if ((rc = model_u32(m, "expert_count", 1, 4096, &x->n, e)) < 0 ||
        (rc = model_u32(m, "expert_used_count", 1, x->n, &x->used, e)) < 0 ||
        (rc = model_u32(m, "expert_feed_forward_length", 1, 1u << 20, &x->ff, e)) < 0 ||
        (rc = model_u32_or(m, "expert_gating_func", 0, 16, 2, &gating, e)) < 0) {
        return rc;
    }
    if (gating != 2) {
        return fail(e, GLIM_UNSUPPORTED, "%s: expert_gating_func %u is not supported; known: 2",
                    m->name, gating);
    }
    block_bind_experts(m, x, layer);
    x->bias = model_weight_opt(m, 1, x->n, "blk.%u.exp_probs_b.bias", layer);
    model_reads(m, x->gate, x->used * x->stride);
    model_reads(m, x->up, x->used * x->stride);
    model_reads(m, x->down, x->used * m->hp.d);
    return read_expert_weights(m, x, e);
}

/* Files exist whose feed_forward_length is that before rounding: the tensor is right. */
static void mend_ff(struct model *m, u32 layer) {
    char name[64];
    snprintf(name, sizeof name, "blk.%u.ffn_gate.weight", layer);
    const struct gguf_tensor *t = gguf_tensor(&m->gguf, name);
    if (!t || t->dims[1] == m->hp.ff[layer] || t->dims[1] > 1u << 24) return;
    model_note(m, "feed_forward_length is %u in the metadata, but %u by the tensors; using these",
               m->hp.ff[layer], (u32)t->dims[1]);
    m->hp.ff[layer] = (u32)t->dims[1];
}

static int lfm2_bind_layer(struct model *m, struct lfm2 *w, u32 i, u32 n_dense, glim_err *e) {
    struct lfm2_layer *l = &w->layers[i];
    const struct hparams *hp = &m->hp;
    l->attn_norm = model_weight(m, 1, hp->d, "blk.%u.attn_norm.weight", i);
    l->ffn_norm = model_weight(m, 1, hp->d, "blk.%u.ffn_norm.weight", i);
    l->attends = hp->n_kv_heads[i] > 0;
    if (l->attends) {
        block_bind_attention(m, &l->attention, i, hp->head_dim, ATTENTION_NORM);
        m->kv[i] = (struct kv_layer){
            .kind = KV_FULL, .n_heads = hp->n_kv_heads[i], .head_dim = hp->head_dim};
    } else {
        l->in_proj = model_weight(m, 3 * hp->d, hp->d, "blk.%u.shortconv.in_proj.weight", i);
        l->out_proj = model_weight(m, hp->d, hp->d, "blk.%u.shortconv.out_proj.weight", i);
        l->taps = lfm2_bind_taps(m, i, w->n_taps);
        if (!l->taps) return fail(e, GLIM_NOMEM, "%s: out of memory (filters)", m->name);
        m->kv[i] = (struct kv_layer){.kind = KV_CONV, .n_heads = 1, .head_dim = hp->d};
    }
    if (i >= n_dense) return lfm2_bind_experts(m, &l->experts, i, e);
    mend_ff(m, i);
    block_bind_ffn(m, &l->ffn, i);
    return GLIM_OK;
}

/* The final norm goes by either name. A file that has both may mean one thing only. */
static int bind_norm(struct model *m, const struct weight **norm, glim_err *e) {
    u32 d = m->hp.d;
    const struct weight *old = model_weight_opt(m, 1, d, "output_norm.weight");
    *norm = old ? model_weight_opt(m, 1, d, "token_embd_norm.weight")
                : model_weight(m, 1, d, "token_embd_norm.weight");
    if (old && *norm && memcmp(old->data, (*norm)->data, d * sizeof(f32)) != 0) {
        return fail(e, GLIM_FORMAT,
                    "%s: 'output_norm.weight' and 'token_embd_norm.weight' differ, and a model has "
                    "one final norm",
                    m->name);
    }
    if (old) *norm = old;
    return GLIM_OK;
}

static int lfm2_bind(struct model *m, glim_err *e) {
    const struct hparams *hp = &m->hp;
    struct lfm2 *w = arena_get(&m->arena, sizeof *w + hp->n_layers * sizeof w->layers[0]);
    if (!w) return fail(e, GLIM_NOMEM, "%s: out of memory (weights)", m->name);
    u32 n_dense = hp->n_layers;
    int rc = model_u32(m, "shortconv.l_cache", 1, 16, &w->n_taps, e);
    if (rc == GLIM_OK && m->arch == &lfm2moe_arch) {
        rc = model_u32(m, "leading_dense_block_count", 0, hp->n_layers, &n_dense, e);
    }
    if (rc < 0) return rc;
    w->token_embd = model_weight(m, hp->vocab, hp->d, "token_embd.weight");
    if ((rc = bind_norm(m, &w->norm, e)) < 0) return rc;
    w->output = model_weight_opt(m, hp->vocab, hp->d, "output.weight");
    if (!w->output) w->output = w->token_embd;
    for (u32 i = 0; i < hp->n_layers; i++) {
        if ((rc = lfm2_bind_layer(m, w, i, n_dense, e)) < 0) return rc;
    }
    m->n_kv = hp->n_layers;
    m->windows[KV_CONV] = w->n_taps;
    if ((rc = model_rope(m, &w->rope, "", hp->head_dim, 1e6f, ROPE_SCALED, e)) < 0) return rc;
    if (w->output != w->token_embd) model_reads_by_id(m, w->token_embd);
    m->weights = w;
    return model_bound(m, e);
}

static void lfm2_build(struct build *b, const struct model *m) {
    const struct lfm2 *w = m->weights;
    const struct hparams *hp = &m->hp;
    struct attend_how attend = {.angles = block_rope_angles(b, &w->rope),
                                .neox = true,
                                .scale = 1.0f / sqrtf((f32)hp->head_dim)};
    struct ref x = block_embed(b, w->token_embd, 1);
    for (u32 i = 0; i < hp->n_layers; i++) {
        const struct lfm2_layer *l = &w->layers[i];
        bool narrow = i + 1 == hp->n_layers; /* rows that nobody asks for stop here */
        struct act y = block_norm(b, x, l->attn_norm, hp->eps);
        struct ref o;
        if (l->attends) {
            attend.layer = i;
            attend.narrow = narrow;
            o = block_attention(b, m, &y, &l->attention, &attend);
        } else {
            struct ref bcx = block_linear(b, &y, l->in_proj, NULL);
            o = block_conv(b, bcx, l->taps, i, narrow);
            struct act a = block_plain(o);
            o = block_linear(b, &a, l->out_proj, NULL);
        }
        if (narrow) x = block_pick(b, x);
        x = block_add(b, x, o, 1);
        y = block_norm(b, x, l->ffn_norm, hp->eps);
        struct ref f = l->experts.n
                           ? block_experts(b, &y, &y, &l->experts, ROUTE_SIGMOID, ACT_SWIGLU)
                           : block_ffn(b, &y, &l->ffn, ACT_SWIGLU);
        x = block_add(b, x, f, 1);
    }
    struct act y = block_norm(b, x, w->norm, hp->eps);
    b->p->output = block_linear(b, &y, w->output, NULL);
}

const struct arch lfm2_arch = {"lfm2", ARCH_KV_ZERO | ARCH_TOWERS, 1e-5f, lfm2_bind, lfm2_build};
const struct arch lfm2moe_arch = {"lfm2moe", ARCH_KV_ZERO | ARCH_TOWERS, 1e-5f, lfm2_bind,
                                  lfm2_build};
