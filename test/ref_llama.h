/* llama's forward pass in float64, straight from a GGUF file, written apart from the code under
 * test: no program, no cache pages, no kernels. Formulae: Touvron et al. 2023, arXiv 2302.13971.
 * With `fast` it rounds what the fast arithmetic rounds: the input of a quantised matrix to int8
 * per 32 values; with `f16_kv` keys and values to half. */
#ifndef TEST_REF_LLAMA_H
#define TEST_REF_LLAMA_H

#include "edit_gguf.h"

struct ref_llama {
    struct gguf g;
    struct arena arena;
    f32 **decoded; /* per tensor, when first asked for */
    bool fast, f16_kv;
    u32 n_layers, d, heads, e, vocab, rot, window;
    u32 kv[64], ff[64]; /* per layer */
    f64 eps;
    f64 inv_freq[128];
};

static inline u32 ref_u32(struct ref_llama *r, const char *key, u32 def) {
    u32 v = def;
    glim_err e = {0};
    assert_true(gguf_u32(&r->g, key, &v, &e) == 0 || e.code == 0);
    return v;
}
static inline f64 ref_f32(struct ref_llama *r, const char *key, f32 def) {
    f32 v = def;
    glim_err e = {0};
    assert_true(gguf_f32(&r->g, key, &v, &e) == 0 || e.code == 0);
    return (f64)v;
}

/* Decoded values of a tensor, into the arena. NULL when there is none. */
static inline f32 *ref_tensor(struct ref_llama *r, const char *name, bool *quantised) {
    const struct gguf_tensor *t = gguf_tensor(&r->g, name);
    if (!t) return NULL;
    const struct quant *q = quant_find(t->type);
    f32 **x = &r->decoded[t - r->g.tensors];
    if (quantised) *quantised = q->block_len > 1;
    if (*x) return *x;
    *x = arena_array(&r->arena, t->dims[0] * t->dims[1], sizeof **x);
    assert_non_null(*x);
    for (u64 i = 0; i < t->dims[1]; i++)
        quant_row(q, t->data + i * (t->bytes / t->dims[1]), 0, t->dims[0], *x + i * t->dims[0]);
    return *x;
}
static inline f32 *ref_layer(struct ref_llama *r, u32 i, const char *name, bool *quantised) {
    char full[64];
    snprintf(full, sizeof full, "blk.%u.%s.weight", i, name);
    return ref_tensor(r, full, quantised);
}

static inline void ref_open(struct ref_llama *r, const char *path, bool fast, bool f16_kv) {
    glim_err e = {0};
    *r = (struct ref_llama){.fast = fast, .f16_kv = f16_kv};
    arena_init(&r->arena, &mem_libc);
    if (gguf_open(&r->g, path, &r->arena, quant_size, &e)) fail_test("%s", e.msg);
    r->decoded = arena_array(&r->arena, r->g.n_tensors, sizeof *r->decoded);
    assert_non_null(r->decoded);
    r->n_layers = ref_u32(r, "llama.block_count", 0);
    r->d = ref_u32(r, "llama.embedding_length", 0);
    r->heads = ref_u32(r, "llama.attention.head_count", 0);
    r->e = ref_u32(r, "llama.attention.key_length", r->d / r->heads);
    r->rot = ref_u32(r, "llama.rope.dimension_count", r->e);
    r->window = ref_u32(r, "llama.attention.sliding_window", 0);
    r->eps = ref_f32(r, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    r->vocab = (u32)gguf_tensor(&r->g, "token_embd.weight")->dims[1];
    assert_true(r->n_layers <= COUNT(r->kv) && r->rot / 2 <= COUNT(r->inv_freq));
    f64 base = ref_f32(r, "llama.rope.freq_base", 10000);
    f32 *by = ref_tensor(r, "rope_freqs.weight", NULL);
    for (u32 j = 0; j < r->rot / 2; j++)
        r->inv_freq[j] = pow(base, -2.0 * j / r->rot) / (by ? (f64)by[j] : 1);
    for (u32 i = 0; i < r->n_layers; i++) { /* from the shapes, not from the keys */
        char name[64];
        snprintf(name, sizeof name, "blk.%u.attn_k.weight", i);
        r->kv[i] = (u32)gguf_tensor(&r->g, name)->dims[1] / r->e;
        snprintf(name, sizeof name, "blk.%u.ffn_gate.weight", i);
        r->ff[i] = (u32)gguf_tensor(&r->g, name)->dims[1];
    }
}
static inline void ref_close(struct ref_llama *r) {
    gguf_close(&r->g);
    arena_free(&r->arena);
}

/* y[n] = W x, W [n][k]. */
static inline void ref_linear(const struct ref_llama *r, const f32 *w, bool quantised, const f64 *x,
                              u32 k, u32 n, f64 *y) {
    f64 *in = calloc(k, sizeof *in);
    assert_non_null(in);
    memcpy(in, x, k * sizeof *in);
    for (u32 b = 0; r->fast && quantised && k % 32 == 0 && b < k; b += 32) {
        f64 top = 0;
        for (u32 j = 0; j < 32; j++)
            top = MAX(top, fabs(in[b + j]));
        for (u32 j = 0; j < 32 && top > 0; j++)
            in[b + j] = nearbyint(in[b + j] * 127 / top) * top / 127;
    }
    for (u32 i = 0; i < n; i++) {
        y[i] = 0;
        for (u32 j = 0; j < k; j++)
            y[i] += (f64)w[(u64)i * k + j] * in[j];
    }
    free(in);
}
static inline void ref_norm(const struct ref_llama *r, const f64 *x, const f32 *w, f64 *y) {
    f64 sum = 0;
    for (u32 j = 0; j < r->d; j++)
        sum += x[j] * x[j];
    for (u32 j = 0; j < r->d; j++)
        y[j] = x[j] / sqrt(sum / r->d + r->eps) * (f64)w[j];
}
static inline void ref_rope(const struct ref_llama *r, f64 *x, u32 heads, u32 pos) {
    for (u32 h = 0; h < heads; h++, x += r->e) {
        for (u32 j = 0; j < r->rot / 2; j++) {
            f64 a = pos * r->inv_freq[j], u = x[2 * j], v = x[2 * j + 1];
            x[2 * j] = u * cos(a) - v * sin(a);
            x[2 * j + 1] = u * sin(a) + v * cos(a);
        }
    }
}
static inline void ref_round(const struct ref_llama *r, f64 *x, u32 n) {
    for (u32 j = 0; r->f16_kv && j < n; j++)
        x[j] = (f64)f16_to_f32(f32_to_f16((f32)x[j]));
}

/* Attention of position t over keys and values [positions][width]. */
static inline void ref_attend(const struct ref_llama *r, const f64 *q, const f64 *k, const f64 *v,
                              u32 t, u32 kv_heads, f64 *out) {
    u32 width = kv_heads * r->e, lo = r->window && t >= r->window ? t - r->window + 1 : 0;
    f64 *p = calloc(t + 1, sizeof *p);
    assert_non_null(p);
    for (u32 h = 0; h < r->heads; h++) {
        u32 off = h / (r->heads / kv_heads) * r->e;
        f64 top = -1e300, sum = 0;
        for (u32 j = lo; j <= t; j++) {
            p[j] = 0;
            for (u32 e = 0; e < r->e; e++)
                p[j] += q[h * r->e + e] * k[j * width + off + e] / sqrt(r->e);
            top = MAX(top, p[j]);
        }
        for (u32 j = lo; j <= t; j++)
            sum += p[j] = exp(p[j] - top);
        for (u32 e = 0; e < r->e; e++) {
            out[h * r->e + e] = 0;
            for (u32 j = lo; j <= t; j++)
                out[h * r->e + e] += p[j] / sum * v[j * width + off + e];
        }
    }
    free(p);
}

static inline void ref_block(struct ref_llama *r, u32 i, f64 *x, u32 n) {
    bool q4[7] = {false};
    f32 *norm = ref_layer(r, i, "attn_norm", NULL), *wq = ref_layer(r, i, "attn_q", &q4[0]);
    f32 *wk = ref_layer(r, i, "attn_k", &q4[1]), *wv = ref_layer(r, i, "attn_v", &q4[2]);
    f32 *wo = ref_layer(r, i, "attn_output", &q4[3]), *norm2 = ref_layer(r, i, "ffn_norm", NULL);
    f32 *gate = ref_layer(r, i, "ffn_gate", &q4[4]), *up = ref_layer(r, i, "ffn_up", &q4[5]);
    f32 *down = ref_layer(r, i, "ffn_down", &q4[6]);
    u32 qe = r->heads * r->e, width = r->kv[i] * r->e, ff = r->ff[i];
    u32 most = MAX(MAX(qe, ff), r->d);
    f64 *k = calloc((size_t)n * width, sizeof *k), *v = calloc((size_t)n * width, sizeof *v);
    f64 *y = calloc(most, 8), *a = calloc(most, 8), *b = calloc(most, 8), *o = calloc(most, 8);
    assert_true(k && v && y && a && b && o);
    for (u32 t = 0; t < n; t++, x += r->d) {
        ref_norm(r, x, norm, y);
        ref_linear(r, wq, q4[0], y, r->d, qe, a);
        ref_linear(r, wk, q4[1], y, r->d, width, k + (size_t)t * width);
        ref_linear(r, wv, q4[2], y, r->d, width, v + (size_t)t * width);
        ref_rope(r, a, r->heads, t);
        ref_rope(r, k + (size_t)t * width, r->kv[i], t);
        ref_round(r, k + (size_t)t * width, width);
        ref_round(r, v + (size_t)t * width, width);
        ref_attend(r, a, k, v, t, r->kv[i], o);
        ref_linear(r, wo, q4[3], o, qe, r->d, y);
        for (u32 j = 0; j < r->d; j++)
            x[j] += y[j];
        ref_norm(r, x, norm2, y);
        ref_linear(r, gate, q4[4], y, r->d, ff, a);
        ref_linear(r, up, q4[5], y, r->d, ff, b);
        for (u32 j = 0; j < ff; j++)
            a[j] = a[j] / (1 + exp(-a[j])) * b[j];
        ref_linear(r, down, q4[6], a, ff, r->d, y);
        for (u32 j = 0; j < r->d; j++)
            x[j] += y[j];
    }
    free(k), free(v), free(y), free(a), free(b), free(o);
}

/* logits[n][vocab] of n tokens. */
static inline void ref_logits(struct ref_llama *r, const i32 *ids, u32 n, f64 *logits) {
    bool quantised = false;
    f32 *embd = ref_tensor(r, "token_embd.weight", &quantised);
    f64 *x = calloc((size_t)n * r->d, sizeof *x), *y = calloc(r->d, sizeof *y);
    assert_true(x && y);
    for (u32 t = 0; t < n; t++) {
        for (u32 j = 0; j < r->d; j++)
            x[(size_t)t * r->d + j] = (f64)embd[(size_t)ids[t] * r->d + j];
    }
    for (u32 i = 0; i < r->n_layers; i++)
        ref_block(r, i, x, n);
    f32 *norm = ref_tensor(r, "output_norm.weight", NULL);
    f32 *out = ref_tensor(r, "output.weight", &quantised);
    if (!out) out = embd;
    for (u32 t = 0; t < n; t++) {
        ref_norm(r, x + (size_t)t * r->d, norm, y);
        ref_linear(r, out, quantised, y, r->d, r->vocab, logits + (size_t)t * r->vocab);
    }
    free(x), free(y);
}

#endif
