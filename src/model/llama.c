/* llama: Llama 1 to 3, classic Mistral, SmolLM and their many kin. Rope turns adjacent pairs: GGUF
 * files hold q and k with rows permuted for it. */
#include "model/dense.h"

static int llama_bind(struct model *m, glim_err *e) {
    struct dense_how how = {
        .neox = false, .embed_scale = 1, .residual_scale = 1, .logit_divisor = 1};
    return dense_bind(m, &how, e);
}

const struct arch llama_arch = {"llama", 0, 1e-5f, llama_bind, dense_build};
