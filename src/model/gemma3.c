/* gemma3 (text): norms before and after each block, q and k normalised per head, gated GELU, five
 * sliding-window layers to each global one, with a rope base of their own. Gemma Team 2025,
 * arXiv 2503.19786. Norm weights in GGUF files include Gemma's +1. */
#include "model/block.h"

#include <math.h>

struct gemma3_layer {
    const struct weight *attn_norm, *post_attention_norm, *ffn_norm, *post_ffw_norm; /* [D] */
    struct attention attention;
    struct ffn ffn;
};

struct gemma3 {
    const struct weight *token_embd; /* [V, D] */
    const struct weight *norm;       /* [D] */
    const struct weight *output;     /* [V, D]; token_embd where the file has none */
    struct rope rope, rope_sliding;
    f32 scale, softcap; /* of scores; of the final logits, 0: none */
    struct gemma3_layer layers[];
};

/* Layer i is sliding unless (i + 1) is a multiple of the pattern. */
enum { PATTERN = 6 };
/* The 27B model scales scores by its width per head, not by its head width; only its number of
 * layers tells it from the others. */
enum { LAYERS_27B = 62 };

static int gemma3_bind(struct model *m, glim_err *e) {
    const struct hparams *hp = &m->hp;
    u32 pattern;
    struct gemma3 *w = arena_get(&m->arena, sizeof *w + hp->n_layers * sizeof w->layers[0]);
    if (!w) return fail(e, GLIM_NOMEM, "%s: out of memory (weights)", m->name);
    int rc = model_u32_or(m, "attention.sliding_window_pattern", 1, 4096, PATTERN, &pattern, e);
    if (rc < 0) return rc;
    if ((rc = model_f32_or(m, "final_logit_softcapping", 0, &w->softcap, e)) < 0) return rc;
    w->scale = 1.0f / sqrtf((f32)(hp->n_layers == LAYERS_27B ? hp->d / hp->n_heads : hp->head_dim));
    w->token_embd = model_weight(m, hp->vocab, hp->d, "token_embd.weight");
    w->norm = model_weight(m, 1, hp->d, "output_norm.weight");
    w->output = model_weight_opt(m, hp->vocab, hp->d, "output.weight");
    if (!w->output) w->output = w->token_embd;
    for (u32 i = 0; i < hp->n_layers; i++) {
        struct gemma3_layer *l = &w->layers[i];
        l->attn_norm = model_weight(m, 1, hp->d, "blk.%u.attn_norm.weight", i);
        l->post_attention_norm = model_weight(m, 1, hp->d, "blk.%u.post_attention_norm.weight", i);
        l->ffn_norm = model_weight(m, 1, hp->d, "blk.%u.ffn_norm.weight", i);
        l->post_ffw_norm = model_weight(m, 1, hp->d, "blk.%u.post_ffw_norm.weight", i);
        block_bind_attention(m, &l->attention, i, hp->head_dim, ATTENTION_NORM);
        block_bind_ffn(m, &l->ffn, i);
        bool sliding = hp->window > 0 && (i + 1) % pattern != 0;
        m->kv[i] = (struct kv_layer){.kind = sliding ? KV_SLIDING : KV_FULL,
                                     .n_heads = hp->n_kv_heads[i],
                                     .head_dim = hp->head_dim};
    }
    m->n_kv = hp->n_layers;
    m->windows[KV_SLIDING] = hp->window;
    rc = model_rope(m, &w->rope, "", hp->head_dim, 1e6f, ROPE_SCALED, e);
    if (rc == GLIM_OK) rc = model_rope(m, &w->rope_sliding, "_swa", hp->head_dim, 1e4f, 0, e);
    if (w->output != w->token_embd) model_reads_by_id(m, w->token_embd);
    if (rc == GLIM_OK) rc = model_bound(m, e);
    m->weights = w;
    return rc;
}

static void gemma3_build(struct build *b, const struct model *m) {
    const struct gemma3 *w = m->weights;
    const struct hparams *hp = &m->hp;
    struct ref angles = block_rope_angles(b, &w->rope);
    struct ref angles_sliding = block_rope_angles(b, &w->rope_sliding);
    struct ref x = block_embed(b, w->token_embd, sqrtf((f32)hp->d));
    for (u32 i = 0; i < hp->n_layers; i++) {
        const struct gemma3_layer *l = &w->layers[i];
        bool sliding = m->kv[i].kind == KV_SLIDING;
        struct attend_how attend = {.layer = i,
                                    .angles = sliding ? angles_sliding : angles,
                                    .neox = true,
                                    .scale = w->scale,
                                    .window = sliding ? hp->window : 0,
                                    .narrow = i + 1 == hp->n_layers};
        struct act y = block_norm(b, x, l->attn_norm, hp->eps);
        struct ref o = block_attention(b, m, &y, &l->attention, &attend);
        if (attend.narrow) x = block_pick(b, x);
        y = block_norm(b, o, l->post_attention_norm, hp->eps);
        x = block_add(b, x, block_value(b, &y), 1);
        y = block_norm(b, x, l->ffn_norm, hp->eps);
        y = block_norm(b, block_ffn(b, &y, &l->ffn, ACT_GEGLU), l->post_ffw_norm, hp->eps);
        x = block_add(b, x, block_value(b, &y), 1);
    }
    struct act y = block_norm(b, x, w->norm, hp->eps);
    b->p->output = block_linear(b, &y, w->output, NULL);
    if (w->softcap > 0) b->p->output = block_softcap(b, b->p->output, w->softcap);
}

const struct arch gemma3_arch = {"gemma3", ARCH_TOWERS, 1e-6f, gemma3_bind, gemma3_build};
