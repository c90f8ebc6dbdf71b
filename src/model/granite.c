/* granite (3.x, 4.x dense): llama with four multipliers. IBM's Granite 3.0 report, 2024. */
#include "model/dense.h"

static int granite_bind(struct model *m, glim_err *e) {
    struct dense_how how = {.neox = false};
    int rc;
    if ((rc = model_f32_or(m, "embedding_scale", 1, &how.embed_scale, e)) < 0 ||
        (rc = model_f32_or(m, "residual_scale", 1, &how.residual_scale, e)) < 0 ||
        (rc = model_f32_or(m, "logit_scale", 1, &how.logit_divisor, e)) < 0 ||
        (rc = model_f32_or(m, "attention.scale", 0, &how.attention_scale, e)) < 0) {
        return rc;
    }
    if (how.logit_divisor == 0) {
        return fail(e, GLIM_FORMAT, "%s: granite.logit_scale is 0", m->name);
    }
    return dense_bind(m, &how, e);
}

const struct arch granite_arch = {"granite", 0, 1e-5f, granite_bind, dense_build};
