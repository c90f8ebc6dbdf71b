/* qwen2 (and 2.5): llama with biases on q, k and v, and rope over the two halves of a head. Yang et
 * al. 2024, arXiv 2407.10671. */
#include "model/dense.h"

static int qwen2_bind(struct model *m, glim_err *e) {
    struct dense_how how = {.attention = ATTENTION_BIAS,
                            .neox = true,
                            .embed_scale = 1,
                            .residual_scale = 1,
                            .logit_divisor = 1};
    return dense_bind(m, &how, e);
}

const struct arch qwen2_arch = {"qwen2", 0, 1e-6f, qwen2_bind, dense_build};
