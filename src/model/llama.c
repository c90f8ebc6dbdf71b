/* llama: Llama 1 to 3, classic Mistral, SmolLM and their many kin. Formulae: Touvron et al. 2023,
 * arXiv 2302.13971; grouped queries: Ainslie et al. 2023, arXiv 2305.13245. Rope turns adjacent
 * pairs: GGUF files hold q and k with rows permuted for it. */
#include "model/block.h"

#include <math.h>

struct llama_layer {
    const struct weight *attn_norm; /* [D] */
    const struct weight *q;         /* [H E, D] */
    const struct weight *k, *v;     /* [K E, D] */
    const struct weight *o;         /* [D, H E] */
    const struct weight *ffn_norm;  /* [D] */
    const struct weight *gate, *up; /* [F, D] */
    const struct weight *down;      /* [D, F] */
};

struct llama {
    const struct weight *token_embd; /* [V, D] */
    const struct weight *norm;       /* [D] */
    const struct weight *output;     /* [V, D]; token_embd where the file has none */
    const struct weight *inv_freq;   /* [rotated pairs of a head] */
    f32 rope_factor;
    struct llama_layer layers[];
};

static int llama_bind(struct model *m, glim_err *e) {
    const struct hparams *hp = &m->hp;
    u32 n_rot, qe = hp->n_heads * hp->head_dim;
    struct llama *w = arena_get(&m->arena, sizeof *w + hp->n_layers * sizeof w->layers[0]);
    if (!w) return fail(e, GLIM_NOMEM, "%s: out of memory (weights)", m->name);
    int rc = model_u32_or(m, "rope.dimension_count", 2, hp->head_dim, hp->head_dim, &n_rot, e);
    if (rc < 0) return rc;
    w->token_embd = model_weight(m, hp->vocab, hp->d, "token_embd.weight");
    w->norm = model_weight(m, 1, hp->d, "output_norm.weight");
    w->output = model_weight_opt(m, hp->vocab, hp->d, "output.weight");
    if (!w->output) w->output = w->token_embd;
    for (u32 i = 0; i < hp->n_layers; i++) {
        struct llama_layer *l = &w->layers[i];
        u32 kv = hp->n_kv_heads[i] * hp->head_dim, ff = hp->ff[i];
        l->attn_norm = model_weight(m, 1, hp->d, "blk.%u.attn_norm.weight", i);
        l->q = model_weight(m, qe, hp->d, "blk.%u.attn_q.weight", i);
        l->k = model_weight(m, kv, hp->d, "blk.%u.attn_k.weight", i);
        l->v = model_weight(m, kv, hp->d, "blk.%u.attn_v.weight", i);
        l->o = model_weight(m, hp->d, qe, "blk.%u.attn_output.weight", i);
        l->ffn_norm = model_weight(m, 1, hp->d, "blk.%u.ffn_norm.weight", i);
        l->gate = model_weight(m, ff, hp->d, "blk.%u.ffn_gate.weight", i);
        l->up = model_weight(m, ff, hp->d, "blk.%u.ffn_up.weight", i);
        l->down = model_weight(m, hp->d, ff, "blk.%u.ffn_down.weight", i);
        m->kv[i] = (struct kv_layer){.n_heads = hp->n_kv_heads[i], .head_dim = hp->head_dim};
    }
    m->n_kv = hp->n_layers;
    const struct weight *freqs = model_weight_opt(m, 1, n_rot / 2, "rope_freqs.weight");
    w->inv_freq = model_rope(m, n_rot, freqs, &w->rope_factor, e);
    if (!w->inv_freq) return e->code;
    m->weights = w;
    rc = model_bound(m, e);
    if (rc < 0) return rc;
    m->bytes_per_token = m->weight_bytes;
    if (w->output != w->token_embd) { /* then only one row of it is read */
        m->bytes_per_token -= w->token_embd->pitch * (w->token_embd->rows - 1);
    }
    return GLIM_OK;
}

static void llama_build(struct build *b, const struct model *m) {
    const struct llama *w = m->weights;
    const struct hparams *hp = &m->hp;
    u32 e = hp->head_dim;
    f32 scale = 1.0f / sqrtf((f32)e);
    struct ref angles = block_rope_angles(b, w->inv_freq, w->rope_factor);
    struct ref x = block_embed(b, w->token_embd, 1.0f);
    for (u32 i = 0; i < hp->n_layers; i++) {
        const struct llama_layer *l = &w->layers[i];
        struct act y = block_norm(b, x, l->attn_norm, hp->eps);
        struct ref q = block_linear(b, &y, l->q);
        struct ref k = block_linear(b, &y, l->k);
        struct ref v = block_linear(b, &y, l->v);
        q = block_rope(b, q, angles, e, false);
        k = block_rope(b, k, angles, e, false);
        block_kv_store(b, k, v, i);
        struct ref o = block_attend(b, q, i, e, scale, 0, hp->window);
        if (i + 1 == hp->n_layers) { /* rows that nobody asks for stop here */
            x = block_pick(b, x);
            o = block_pick(b, o);
        }
        struct act a = block_plain(o);
        x = block_add(b, x, block_linear(b, &a, l->o));
        y = block_norm(b, x, l->ffn_norm, hp->eps);
        struct ref gate = block_linear(b, &y, l->gate);
        struct ref up = block_linear(b, &y, l->up);
        a = block_swiglu(gate, up);
        x = block_add(b, x, block_linear(b, &a, l->down));
    }
    struct act y = block_norm(b, x, w->norm, hp->eps);
    b->p->output = block_linear(b, &y, w->output);
}

const struct arch llama_arch = {"llama", llama_bind, llama_build};
