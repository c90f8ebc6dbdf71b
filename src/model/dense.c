/* Pre-norm decoders. Formulae: Touvron et al. 2023, arXiv 2302.13971; grouped queries: Ainslie et
 * al. 2023, arXiv 2305.13245. */
#include "model/dense.h"

#include <math.h>

struct dense_layer {
    const struct weight *attn_norm, *ffn_norm; /* [D] */
    struct attention attention;
    struct ffn ffn;
};

struct dense {
    struct dense_how how;
    const struct weight *token_embd; /* [V, D] */
    const struct weight *norm;       /* [D] */
    const struct weight *output;     /* [V, D]; token_embd where the file has none */
    struct rope rope;
    struct dense_layer layers[];
};

int dense_bind(struct model *m, const struct dense_how *how, glim_err *e) {
    const struct hparams *hp = &m->hp;
    struct dense *w = arena_get(&m->arena, sizeof *w + hp->n_layers * sizeof w->layers[0]);
    if (!w) return fail(e, GLIM_NOMEM, "%s: out of memory (weights)", m->name);
    w->how = *how;
    if (how->attention_scale == 0) w->how.attention_scale = 1.0f / sqrtf((f32)hp->head_dim);
    w->token_embd = model_weight(m, hp->vocab, hp->d, "token_embd.weight");
    w->norm = model_weight(m, 1, hp->d, "output_norm.weight");
    w->output = model_weight_opt(m, hp->vocab, hp->d, "output.weight");
    if (!w->output) w->output = w->token_embd;
    for (u32 i = 0; i < hp->n_layers; i++) {
        struct dense_layer *l = &w->layers[i];
        l->attn_norm = model_weight(m, 1, hp->d, "blk.%u.attn_norm.weight", i);
        l->ffn_norm = model_weight(m, 1, hp->d, "blk.%u.ffn_norm.weight", i);
        block_bind_attention(m, &l->attention, i, hp->head_dim, how->attention);
        block_bind_ffn(m, &l->ffn, i);
        m->kv[i] = (struct kv_layer){.kind = hp->window ? KV_SLIDING : KV_FULL,
                                     .n_heads = hp->n_kv_heads[i],
                                     .head_dim = hp->head_dim};
    }
    m->n_kv = hp->n_layers;
    m->windows[KV_SLIDING] = hp->window;
    int rc = model_rope(m, &w->rope, "", hp->head_dim, 10000, ROPE_SCALED | ROPE_FACTORS, e);
    if (w->output != w->token_embd) model_reads_by_id(m, w->token_embd);
    if (rc == GLIM_OK) rc = model_bound(m, e);
    m->weights = w;
    return rc;
}

void dense_build(struct build *b, const struct model *m) {
    const struct dense *w = m->weights;
    const struct hparams *hp = &m->hp;
    const struct dense_how *how = &w->how;
    struct attend_how attend = {.angles = block_rope_angles(b, &w->rope),
                                .neox = how->neox,
                                .scale = how->attention_scale,
                                .window = hp->window};
    struct ref x = block_embed(b, w->token_embd, how->embed_scale);
    for (u32 i = 0; i < hp->n_layers; i++) {
        const struct dense_layer *l = &w->layers[i];
        attend.layer = i;
        attend.narrow = i + 1 == hp->n_layers; /* rows that nobody asks for stop here */
        struct act y = block_norm(b, x, l->attn_norm, hp->eps);
        struct ref o = block_attention(b, m, &y, &l->attention, &attend);
        if (attend.narrow) x = block_pick(b, x);
        x = block_add(b, x, o, how->residual_scale);
        y = block_norm(b, x, l->ffn_norm, hp->eps);
        x = block_add(b, x, block_ffn(b, &y, &l->ffn, ACT_SWIGLU), how->residual_scale);
    }
    struct act y = block_norm(b, x, w->norm, hp->eps);
    b->p->output = block_linear(b, &y, w->output, NULL);
    if (how->logit_divisor != 1) {
        b->p->output = block_scale(b, b->p->output, 1 / how->logit_divisor);
    }
}
