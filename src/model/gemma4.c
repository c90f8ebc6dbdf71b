/* gemma4 (text), every size: sliding and global layers with head widths of their own, keys as
 * values in global layers of the large models, per-layer embeddings and shared caches in the small
 * ones, a dense path beside 128 experts in the mixture. Google's Gemma 4 model card and the
 * formulae of its transformers implementation. Unlike Gemma 3, norms carry no +1 and scores no
 * scale. */
#include "model/block.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct gemma4_layer {
    const struct weight *attn_norm, *post_attention_norm, *ffn_norm, *post_ffw_norm; /* [D] */
    struct attention attention;
    u32 cache; /* layer whose keys and values it reads; its own if it owns some */
    struct ffn ffn;
    struct experts experts;          /* n = 0: none */
    const struct weight *route_norm; /* [D] the router's scale / sqrt(D) */
    const struct weight *post_ffw_norm_1, *pre_ffw_norm_2, *post_ffw_norm_2; /* [D] */
    const struct weight *inp_gate, *proj, *post_norm; /* [P, D], [D, P], [D]; per-layer input */
    f32 output_scale;
};

struct gemma4 {
    const struct weight *token_embd;     /* [V, D] */
    const struct weight *norm;           /* [D] */
    const struct weight *output;         /* [V, D]; token_embd where the file has none */
    const struct weight *ple, *ple_proj; /* [V, P layers], [P layers, D] */
    const struct weight *ple_norm;       /* [P] */
    u32 p;                               /* P, 0: no per-layer inputs */
    u32 n_own;                           /* layers before this one own a cache */
    struct rope rope, rope_sliding;
    f32 softcap;
    struct gemma4_layer layers[];
};

/* sliding[i]: from the pattern array, or every layer but each n-th for a number n. */
static int read_pattern(struct model *m, bool *sliding, glim_err *e) {
    const char *key = "gemma4.attention.sliding_window_pattern";
    const struct gguf_kv *kv = gguf_find(&m->gguf, key);
    u32 period;
    if (!kv || !kv->is_array) {
        int rc = model_u32(m, "attention.sliding_window_pattern", 1, 4096, &period, e);
        if (rc < 0) return rc;
        for (u32 i = 0; i < m->hp.n_layers; i++)
            sliding[i] = (i + 1) % period != 0;
        return GLIM_OK;
    }
    if (kv->n != m->hp.n_layers || kv->type == GGUF_STR || kv->type == GGUF_F32 ||
        kv->type == GGUF_F64) {
        return fail(e, GLIM_FORMAT, "%s: %s: expected %u booleans", m->name, key, m->hp.n_layers);
    }
    for (u32 i = 0; i < m->hp.n_layers; i++)
        sliding[i] = gguf_item_int(kv, i) != 0;
    return GLIM_OK;
}

static int gemma4_bind_experts(struct model *m, struct gemma4_layer *l, u32 i, glim_err *e) {
    struct experts *x = &l->experts;
    u32 d = m->hp.d;
    char name[64];
    snprintf(name, sizeof name, "blk.%u.ffn_gate_inp.weight", i);
    if (!gguf_tensor(&m->gguf, name)) return GLIM_OK;
    int rc;
    if ((rc = model_u32(m, "expert_count", 1, 4096, &x->n, e)) < 0 ||
        (rc = model_u32(m, "expert_used_count", 1, x->n, &x->used, e)) < 0 ||
        (rc = model_u32(m, "expert_feed_forward_length", 1, 1u << 20, &x->ff, e)) < 0) {
        return rc;
    }
    block_bind_experts(m, x, i);
    x->scale = model_weight_opt(m, 1, x->n, "blk.%u.ffn_down_exps.scale", i);
    if (!x->scale) { /* an older name */
        x->scale = model_weight(m, 1, x->n, "blk.%u.ffn_gate_inp.per_expert_scale", i);
    }
    l->post_ffw_norm_1 = model_weight(m, 1, d, "blk.%u.post_ffw_norm_1.weight", i);
    l->pre_ffw_norm_2 = model_weight(m, 1, d, "blk.%u.pre_ffw_norm_2.weight", i);
    l->post_ffw_norm_2 = model_weight(m, 1, d, "blk.%u.post_ffw_norm_2.weight", i);
    const struct weight *scale = model_weight(m, 1, d, "blk.%u.ffn_gate_inp.scale", i);
    f32 *by;
    struct weight *norm = model_constant(m, "ffn_gate_inp.scale/sqrt(D)", 1, d, &by);
    if (!norm) return fail(e, GLIM_NOMEM, "%s: out of memory (experts)", m->name);
    for (u32 j = 0; scale && j < d; j++) {
        memcpy(&by[j], scale->data + 4 * j, 4);
        by[j] /= sqrtf((f32)d);
    }
    l->route_norm = norm;
    return GLIM_OK;
}

static int gemma4_bind_layer(struct model *m, struct gemma4 *w, u32 i, u32 head_dim, glim_err *e) {
    struct gemma4_layer *l = &w->layers[i];
    u32 d = m->hp.d;
    bool own = i < w->n_own;
    l->attn_norm = model_weight(m, 1, d, "blk.%u.attn_norm.weight", i);
    l->post_attention_norm = model_weight(m, 1, d, "blk.%u.post_attention_norm.weight", i);
    l->ffn_norm = model_weight(m, 1, d, "blk.%u.ffn_norm.weight", i);
    l->post_ffw_norm = model_weight(m, 1, d, "blk.%u.post_ffw_norm.weight", i);
    block_bind_attention(m, &l->attention, i, head_dim,
                         ATTENTION_NORM | ATTENTION_K_AS_V | (own ? 0u : ATTENTION_QUERY));
    block_bind_ffn(m, &l->ffn, i);
    if (w->p) {
        l->inp_gate = model_weight(m, w->p, d, "blk.%u.inp_gate.weight", i);
        l->proj = model_weight(m, d, w->p, "blk.%u.proj.weight", i);
        l->post_norm = model_weight(m, 1, d, "blk.%u.post_norm.weight", i);
    }
    const struct weight *scale = model_weight_opt(m, 1, 1, "blk.%u.layer_output_scale.weight", i);
    l->output_scale = 1;
    if (scale) memcpy(&l->output_scale, scale->data, 4);
    return gemma4_bind_experts(m, l, i, e);
}

/* Some files still have the keys and values of layers that read another's cache. */
static void leave_unread(struct model *m, const struct gemma4 *w) {
    u32 n = 0;
    for (u32 i = w->n_own; i < m->hp.n_layers; i++) {
        n += model_unread(m, "blk.%u.attn_k.weight", i);
        n += model_unread(m, "blk.%u.attn_v.weight", i);
        n += model_unread(m, "blk.%u.attn_k_norm.weight", i);
    }
    if (n) model_note(m, "%u tensors of layers that share caches are not used", n);
}

/* Which cache each layer reads: its own, or the last of its kind before the sharing layers. */
static int share(struct model *m, struct gemma4 *w, const bool *sliding, glim_err *e) {
    u32 last[2] = {UINT32_MAX, UINT32_MAX};
    for (u32 i = 0; i < m->hp.n_layers; i++) {
        if (i < w->n_own) last[sliding[i]] = i;
        w->layers[i].cache = last[sliding[i]];
        if (w->layers[i].cache != UINT32_MAX) continue;
        return fail(e, GLIM_FORMAT, "%s: layer %u shares a cache, but no layer of its kind has one",
                    m->name, i);
    }
    return GLIM_OK;
}

static int gemma4_bind(struct model *m, glim_err *e) {
    const struct hparams *hp = &m->hp;
    u32 n_shared, e_sliding;
    struct gemma4 *w = arena_get(&m->arena, sizeof *w + hp->n_layers * sizeof w->layers[0]);
    bool *sliding = arena_array(&m->arena, hp->n_layers, sizeof *sliding);
    if (!w || !sliding) return fail(e, GLIM_NOMEM, "%s: out of memory (weights)", m->name);
    int rc;
    if ((rc = read_pattern(m, sliding, e)) < 0 ||
        (rc = model_u32_or(m, "attention.key_length_swa", 2, 4096, hp->head_dim, &e_sliding, e)) <
            0 ||
        (rc = model_u32_or(m, "attention.shared_kv_layers", 0, hp->n_layers - 1, 0, &n_shared, e)) <
            0 ||
        (rc = model_u32_or(m, "embedding_length_per_layer_input", 0, 65536, 0, &w->p, e)) < 0 ||
        (rc = model_f32_or(m, "final_logit_softcapping", 0, &w->softcap, e)) < 0) {
        return rc;
    }
    w->n_own = hp->n_layers - n_shared;
    if ((rc = share(m, w, sliding, e)) < 0) return rc;
    w->token_embd = model_weight(m, hp->vocab, hp->d, "token_embd.weight");
    w->norm = model_weight(m, 1, hp->d, "output_norm.weight");
    w->output = model_weight_opt(m, hp->vocab, hp->d, "output.weight");
    if (!w->output) w->output = w->token_embd;
    if (w->p) {
        u32 all = w->p * hp->n_layers;
        w->ple = model_weight(m, hp->vocab, all, "per_layer_token_embd.weight");
        w->ple_proj = model_weight(m, all, hp->d, "per_layer_model_proj.weight");
        w->ple_norm = model_weight(m, 1, w->p, "per_layer_proj_norm.weight");
    }
    for (u32 i = 0; i < hp->n_layers; i++) {
        u32 head_dim = sliding[i] ? e_sliding : hp->head_dim;
        if ((rc = gemma4_bind_layer(m, w, i, head_dim, e)) < 0) return rc;
        m->kv[i] = (struct kv_layer){.kind = sliding[i] && hp->window ? KV_SLIDING : KV_FULL,
                                     .n_heads = i < w->n_own ? hp->n_kv_heads[i] : 0,
                                     .head_dim = head_dim};
        const struct experts *x = &w->layers[i].experts;
        if (!x->n) continue;
        model_reads(m, x->gate, x->used * x->stride);
        if (x->up != x->gate) model_reads(m, x->up, x->used * x->stride);
        model_reads(m, x->down, x->used * hp->d);
    }
    leave_unread(m, w);
    m->n_kv = w->n_own;
    m->windows[KV_SLIDING] = hp->window;
    if ((rc = model_rope(m, &w->rope, "", hp->head_dim, 1e6f, ROPE_FACTORS, e)) < 0) return rc;
    if ((rc = model_rope(m, &w->rope_sliding, "_swa", e_sliding, 1e4f, 0, e)) < 0) return rc;
    if (w->output != w->token_embd) model_reads_by_id(m, w->token_embd);
    model_reads_by_id(m, w->ple);
    m->weights = w;
    return model_bound(m, e);
}

/* The inputs of all layers at once [T, P layers]: the token's own embeddings and a projection of x,
 * averaged. The projection is divided by sqrt(D) before its norm, which but for eps undoes that. */
static struct ref layer_inputs(struct build *b, const struct model *m, const struct gemma4 *w,
                               struct ref x) {
    struct ref own = block_embed(b, w->ple, sqrtf((f32)w->p));
    struct act a = block_plain(x);
    struct ref c = block_linear(b, &a, w->ple_proj, NULL);
    c = block_head_norm(b, c, w->p, w->ple_norm, m->hp.eps * (f32)m->hp.d);
    return block_scale(b, block_add(b, c, own, 1), sqrtf(0.5f));
}

/* The feed-forward with its norms, dense or with experts beside it. */
static struct ref feed_forward(struct build *b, const struct model *m, const struct gemma4_layer *l,
                               struct ref x) {
    f32 eps = m->hp.eps;
    struct act y = block_norm(b, x, l->ffn_norm, eps);
    struct ref f = block_ffn(b, &y, &l->ffn, ACT_GEGLU);
    if (l->experts.n) {
        struct act dense = block_norm(b, f, l->post_ffw_norm_1, eps);
        struct act scores = block_norm(b, x, l->route_norm, eps);
        y = block_norm(b, x, l->pre_ffw_norm_2, eps);
        f = block_experts(b, &scores, &y, &l->experts, ROUTE_SOFTMAX, ACT_GEGLU);
        struct act mixed = block_norm(b, f, l->post_ffw_norm_2, eps);
        struct ref first = block_value(b, &dense); /* recorded in this order by every compiler */
        f = block_add(b, first, block_value(b, &mixed), 1);
    }
    y = block_norm(b, f, l->post_ffw_norm, eps);
    return block_value(b, &y);
}

static void gemma4_build(struct build *b, const struct model *m) {
    const struct gemma4 *w = m->weights;
    const struct hparams *hp = &m->hp;
    struct ref angles = block_rope_angles(b, &w->rope);
    struct ref angles_sliding = block_rope_angles(b, &w->rope_sliding);
    struct ref x = block_embed(b, w->token_embd, sqrtf((f32)hp->d)), inputs = REF_ABSENT;
    if (w->p) inputs = layer_inputs(b, m, w, x);
    for (u32 i = 0; i < hp->n_layers; i++) {
        const struct gemma4_layer *l = &w->layers[i];
        bool sliding = m->kv[l->cache].kind == KV_SLIDING;
        /* After the last layer that owns a cache only the rows that are asked for go on. */
        struct attend_how attend = {.layer = l->cache,
                                    .angles = sliding ? angles_sliding : angles,
                                    .neox = true,
                                    .scale = 1,
                                    .window = sliding ? hp->window : 0,
                                    .value_norm = true,
                                    .narrow = i + 1 == w->n_own};
        struct act y = block_norm(b, x, l->attn_norm, hp->eps);
        struct ref o = block_attention(b, m, &y, &l->attention, &attend);
        if (attend.narrow) {
            x = block_pick(b, x);
            if (w->p) inputs = block_pick(b, inputs);
            if (i + 1 < hp->n_layers) {
                angles = block_pick(b, angles);
                angles_sliding = block_pick(b, angles_sliding);
            }
        }
        y = block_norm(b, o, l->post_attention_norm, hp->eps);
        x = block_add(b, x, block_value(b, &y), 1);
        x = block_add(b, x, feed_forward(b, m, l, x), 1);
        if (w->p) {
            y = block_plain(x);
            struct ref gate = block_linear(b, &y, l->inp_gate, NULL);
            y = block_gated(ACT_GEGLU, gate, prog_slice(b->p, inputs, i * w->p, w->p));
            y = block_norm(b, block_linear(b, &y, l->proj, NULL), l->post_norm, hp->eps);
            x = block_add(b, x, block_value(b, &y), 1);
        }
        if (l->output_scale != 1) x = block_scale(b, x, l->output_scale);
    }
    struct act y = block_norm(b, x, w->norm, hp->eps);
    b->p->output = block_linear(b, &y, w->output, NULL);
    if (w->softcap > 0) b->p->output = block_softcap(b, b->p->output, w->softcap);
}

const struct arch gemma4_arch = {"gemma4", ARCH_TOWERS, 1e-6f, gemma4_bind, gemma4_build};
