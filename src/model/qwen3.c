/* qwen3 (dense): llama with an RMSNorm per head of q and k, and rope over the two halves of a head.
 * Yang et al. 2025, arXiv 2505.09388. */
#include "model/dense.h"

static int qwen3_bind(struct model *m, glim_err *e) {
    struct dense_how how = {.attention = ATTENTION_NORM,
                            .neox = true,
                            .embed_scale = 1,
                            .residual_scale = 1,
                            .logit_divisor = 1};
    return dense_bind(m, &how, e);
}

const struct arch qwen3_arch = {"qwen3", 0, 1e-6f, qwen3_bind, dense_build};
