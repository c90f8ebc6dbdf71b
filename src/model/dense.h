/* The pre-norm decoder that llama, qwen2, qwen3 and granite are: what differs is data.
 *   x = embed_scale embd[id]
 *   per layer: x += residual_scale attention(rms(x)); x += residual_scale ffn(rms(x))
 *   logits = output rms(x) / logit_divisor */
#ifndef MODEL_DENSE_H
#define MODEL_DENSE_H

#include "model/block.h"

struct dense_how {
    u32 attention;   /* ATTENTION_* */
    bool neox;       /* rope's pairs */
    f32 embed_scale; /* all four: 1 where the family has none */
    f32 residual_scale;
    f32 logit_divisor;
    f32 attention_scale; /* of the scores; 0: 1 / sqrt(E) */
};

/* Binds everything and sets m->weights. */
int dense_bind(struct model *m, const struct dense_how *how, glim_err *e);
void dense_build(struct build *b, const struct model *m);

#endif
