/* Rope frequencies of a model, with the scaling that its file asks for. Scaling by rope_freqs
 * divides; linear scaling divides by one factor; yarn: Peng et al. 2023, arXiv 2309.00071. */
#include "model/model.h"

#include <math.h>
#include <stdio.h>

/* The pair index at which a wavelength makes r turns within the original context. */
static f64 yarn_dim(f64 r, u32 n, f64 base, f64 n_orig) {
    const f64 pi = 3.14159265358979323846;
    return (f64)n * log(n_orig / (r * 2 * pi)) / (2 * log(base));
}

struct scaling {
    bool yarn;
    f32 factor; /* 1: none */
    f64 lo, hi; /* yarn: pairs below lo keep their frequency, above hi it is divided */
};

static int read_scaling(struct model *m, u32 n, f32 base, struct scaling *s, f32 *mscale,
                        glim_err *e) {
    struct str type = {"none", 4};
    char key[96];
    snprintf(key, sizeof key, "%s.rope.scaling.type", m->arch->name);
    int rc = gguf_str(&m->gguf, key, &type, e);
    if (rc < 0 && rc != GLIM_NOT_FOUND) return rc;
    *s = (struct scaling){.factor = 1};
    *mscale = 1;
    const char *factor_key = "rope.scaling.factor";
    if (str_is(type, "none")) {
        factor_key = "rope.scale_linear"; /* older files have only this key */
        rc = model_f32_or(m, factor_key, 1, &s->factor, e);
        if (rc < 0) return rc;
    } else if (str_is(type, "linear") || str_is(type, "yarn")) {
        rc = model_f32_or(m, factor_key, 1, &s->factor, e);
        if (rc < 0) return rc;
    } else {
        return fail(e, GLIM_UNSUPPORTED,
                    "%s: %s '%.*s' is not supported; known: none, linear, yarn", m->name, key,
                    STR(type));
    }
    if (!(s->factor > 0)) {
        return fail(e, GLIM_FORMAT, "%s: %s.%s is %g; must be positive", m->name, m->arch->name,
                    factor_key, (f64)s->factor);
    }
    if (!str_is(type, "yarn")) return GLIM_OK;
    u32 n_orig;
    f32 fast, slow;
    if ((rc = model_u32_or(m, "rope.scaling.original_context_length", 1, 1u << 28, m->hp.n_ctx,
                           &n_orig, e)) < 0 ||
        (rc = model_f32_or(m, "rope.scaling.yarn_beta_fast", 32, &fast, e)) < 0 ||
        (rc = model_f32_or(m, "rope.scaling.yarn_beta_slow", 1, &slow, e)) < 0 ||
        (rc = model_f32_or(m, "rope.scaling.attn_factor", 1 + 0.1f * logf(s->factor), mscale, e)) <
            0) {
        return rc;
    }
    if (!(fast > 0) || !(slow > 0)) {
        return fail(e, GLIM_FORMAT, "%s: yarn_beta_fast and yarn_beta_slow must be positive",
                    m->name);
    }
    s->yarn = true;
    s->lo = fmax(floor(yarn_dim((f64)fast, n, (f64)base, n_orig)), 0);
    s->hi = fmin(ceil(yarn_dim((f64)slow, n, (f64)base, n_orig)), (f64)n - 1);
    if (s->hi <= s->lo) s->hi = s->lo + 0.001;
    return GLIM_OK;
}

int model_rope(struct model *m, struct rope *r, const char *suffix, u32 head_dim, f32 base,
               u32 flags, glim_err *e) {
    struct scaling s = {.factor = 1};
    char base_key[32], dims_key[40];
    u32 n;
    int rc;
    r->factor = 1;
    snprintf(base_key, sizeof base_key, "rope.freq_base%s", suffix);
    snprintf(dims_key, sizeof dims_key, "rope.dimension_count%s", suffix);
    if ((rc = model_u32_or(m, dims_key, 2, head_dim, head_dim, &n, e)) < 0 ||
        (rc = model_f32_or(m, base_key, base, &base, e)) < 0) {
        return rc;
    }
    if (n % 2) {
        return fail(e, GLIM_FORMAT, "%s: %s.%s %u is odd", m->name, m->arch->name, dims_key, n);
    }
    if (!(base > 1)) {
        return fail(e, GLIM_FORMAT, "%s: %s.%s is %g; must be above 1", m->name, m->arch->name,
                    base_key, (f64)base);
    }
    if ((flags & ROPE_SCALED) && (rc = read_scaling(m, n, base, &s, &r->factor, e)) < 0) return rc;
    const struct weight *freqs =
        flags & ROPE_FACTORS ? model_weight_opt(m, 1, n / 2, "rope_freqs.weight") : NULL;
    f32 *f;
    struct weight *w =
        model_constant(m, *suffix ? "rope_inv_freq_swa" : "rope_inv_freq", 1, n / 2, &f);
    if (!w) return fail(e, GLIM_NOMEM, "%s: out of memory (rope)", m->name);
    for (u32 j = 0; j < n / 2; j++) {
        f64 inv = pow((f64)base, -2.0 * j / n), divided = inv / (f64)s.factor;
        f64 ramp = s.yarn ? fmin(fmax(((f64)j - s.lo) / (s.hi - s.lo), 0), 1) : 1;
        f64 by = 1;
        if (freqs) {
            f32 file;
            memcpy(&file, freqs->data + 4 * j, 4);
            by = (f64)file;
        }
        f[j] = (f32)((inv * (1 - ramp) + divided * ramp) / by);
        if (isfinite(f[j])) continue;
        return fail(e, GLIM_FORMAT, "%s: rope frequency %u is not finite: %s", m->name, j,
                    freqs ? "rope_freqs.weight holds a zero or a value that is not finite"
                          : "the rope scaling factor is too small");
    }
    r->inv_freq = w;
    return GLIM_OK;
}
