/* Writes models of real shapes with random weights, to measure on: a program, not a test.
 *
 *   make_model PRESET TYPE OUT.gguf [LAYERS]
 *
 * PRESET: a name from the table below. TYPE: a weight format (Q4_0, Q8_0, F16, ...; then embeddings
 * are Q6_K for 4-bit types, as other tools make them) or Q4_K_M, the common mix. LAYERS: only so
 * many; sharing of caches is kept where both kinds of layers still own one. Files are a function of
 * these arguments. There is no tokenizer: measure with ids. */
#include "file/gguf_write.h"
#include "base/f16.h"
#include "kern/quant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Hyper-parameters as published with the models; fields of 0 do not apply. */
struct preset {
    const char *name, *arch;
    u32 layers, d, ff, heads, kv_heads, head_dim, vocab, ctx;
    f32 rope_base;
    u32 window, period;          /* sliding layers: all but each period-th */
    u32 head_dim_swa, kv_global; /* gemma4 */
    u32 shared, ple;             /* gemma4: layers that own no cache; P */
    u32 experts, used, expert_ff, n_dense;
    u32 attends; /* lfm2: bit i: layer i has attention */
};
static const struct preset presets[] = {
    {.name = "lfm2-350m",
     .arch = "lfm2",
     .layers = 16,
     .d = 1024,
     .ff = 4608,
     .heads = 16,
     .kv_heads = 8,
     .head_dim = 64,
     .vocab = 65536,
     .ctx = 128000,
     .rope_base = 1e6f,
     .attends = 1u << 2 | 1u << 5 | 1u << 8 | 1u << 10 | 1u << 12 | 1u << 14},
    {.name = "lfm2-1.2b",
     .arch = "lfm2",
     .layers = 16,
     .d = 2048,
     .ff = 8192,
     .heads = 32,
     .kv_heads = 8,
     .head_dim = 64,
     .vocab = 65536,
     .ctx = 128000,
     .rope_base = 1e6f,
     .attends = 1u << 2 | 1u << 5 | 1u << 8 | 1u << 10 | 1u << 12 | 1u << 14},
    {.name = "lfm2-8b-a1b",
     .arch = "lfm2moe",
     .layers = 24,
     .d = 2048,
     .ff = 7168,
     .heads = 32,
     .kv_heads = 8,
     .head_dim = 64,
     .vocab = 65536,
     .ctx = 128000,
     .rope_base = 1e6f,
     .experts = 32,
     .used = 4,
     .expert_ff = 1792,
     .n_dense = 2,
     .attends = 1u << 2 | 1u << 6 | 1u << 10 | 1u << 14 | 1u << 18 | 1u << 21},
    {.name = "qwen3-0.6b",
     .arch = "qwen3",
     .layers = 28,
     .d = 1024,
     .ff = 3072,
     .heads = 16,
     .kv_heads = 8,
     .head_dim = 128,
     .vocab = 151936,
     .ctx = 40960,
     .rope_base = 1e6f},
    {.name = "llama-3.2-1b",
     .arch = "llama",
     .layers = 16,
     .d = 2048,
     .ff = 8192,
     .heads = 32,
     .kv_heads = 8,
     .head_dim = 64,
     .vocab = 128256,
     .ctx = 131072,
     .rope_base = 5e5f},
    {.name = "gemma3-270m",
     .arch = "gemma3",
     .layers = 18,
     .d = 640,
     .ff = 2048,
     .heads = 4,
     .kv_heads = 1,
     .head_dim = 256,
     .vocab = 262144,
     .ctx = 32768,
     .rope_base = 1e6f,
     .window = 512,
     .period = 6},
    {.name = "gemma4-e2b",
     .arch = "gemma4",
     .layers = 35,
     .d = 1536,
     .ff = 6144,
     .heads = 8,
     .kv_heads = 1,
     .head_dim = 512,
     .vocab = 262144,
     .ctx = 131072,
     .rope_base = 1e6f,
     .window = 512,
     .period = 5,
     .head_dim_swa = 256,
     .kv_global = 1,
     .shared = 20,
     .ple = 256},
    /* Not a real model: e2b's layers, heads and windows, so its cache, with little else. */
    {.name = "gemma4-e2b-thin",
     .arch = "gemma4",
     .layers = 35,
     .d = 64,
     .ff = 64,
     .heads = 8,
     .kv_heads = 1,
     .head_dim = 512,
     .vocab = 512,
     .ctx = 131072,
     .rope_base = 1e6f,
     .window = 512,
     .period = 5,
     .head_dim_swa = 256,
     .kv_global = 1,
     .shared = 20,
     .ple = 32},
    {.name = "gemma4-e4b",
     .arch = "gemma4",
     .layers = 42,
     .d = 2560,
     .ff = 10240,
     .heads = 8,
     .kv_heads = 2,
     .head_dim = 512,
     .vocab = 262144,
     .ctx = 131072,
     .rope_base = 1e6f,
     .window = 512,
     .period = 6,
     .head_dim_swa = 256,
     .kv_global = 2,
     .shared = 18,
     .ple = 256},
    {.name = "gemma4-26b-a4b",
     .arch = "gemma4",
     .layers = 30,
     .d = 2816,
     .ff = 2112,
     .heads = 16,
     .kv_heads = 8,
     .head_dim = 512,
     .vocab = 262144,
     .ctx = 262144,
     .rope_base = 1e6f,
     .window = 1024,
     .period = 6,
     .head_dim_swa = 256,
     .kv_global = 2,
     .experts = 128,
     .used = 8,
     .expert_ff = 704},
};

enum { MOST_TENSORS = 2048 };

struct plan {
    const struct preset *p;
    const char *type;
    u32 layers;
    struct tensor {
        char name[64];
        u32 type, n_dims;
        u64 dims[3];
    } tensors[MOST_TENSORS];
    u32 n;
};

static void die(const char *what) {
    fprintf(stderr, "make_model: %s\n", what);
    exit(1);
}

/* The format for a matrix whose rows have k values: what was asked for, or where rows are no
 * multiple of its block, the nearest one that fits. */
static u32 fitting(u32 type, u32 k) {
    if (k % quant_find(type)->block_len == 0) return type;
    return k % 32 == 0 ? QUANT_Q8_0 : QUANT_F16;
}

/* Q4_K_M gives attn_v and ffn_down more bits in some of the layers, and the embeddings always. */
static bool more_bits(u32 i, u32 n) {
    return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
}

enum role { PLAIN, SENSITIVE, EMBEDDING };

static u32 type_of(const struct plan *l, enum role role, u32 layer, u32 k) {
    if (strcmp(l->type, "Q4_K_M") == 0) {
        bool more = role == EMBEDDING || (role == SENSITIVE && more_bits(layer, l->layers));
        return fitting(more ? QUANT_Q6_K : QUANT_Q4_K, k);
    }
    const struct quant *q = quant_named(l->type);
    if (!q) die("unknown type");
    if (role == EMBEDDING && q->block_len > 1 && strchr(q->name, '4'))
        return fitting(QUANT_Q6_K, k);
    return fitting(q->type, k);
}

static void add(struct plan *l, u32 type, u32 cols, u32 rows, u32 n, const char *fmt, u32 layer) {
    if (l->n == MOST_TENSORS) die("too many tensors");
    struct tensor *t = &l->tensors[l->n++];
    /* fmt is one of the literals below, with the layer's number or without. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(t->name, sizeof t->name, fmt, layer);
#pragma GCC diagnostic pop
    t->type = type;
    t->n_dims = n > 1 ? 3 : rows > 1 ? 2 : 1;
    t->dims[0] = cols;
    t->dims[1] = rows;
    t->dims[2] = n;
}
static void vec(struct plan *l, u32 n, const char *fmt, u32 layer) {
    add(l, QUANT_F32, n, 1, 1, fmt, layer);
}
static void mat(struct plan *l, enum role role, u32 cols, u32 rows, const char *fmt, u32 layer) {
    add(l, type_of(l, role, layer, cols), cols, rows, 1, fmt, layer);
}
static void experts(struct plan *l, enum role role, u32 cols, u32 rows, const char *fmt,
                    u32 layer) {
    add(l, type_of(l, role, layer, cols), cols, rows, l->p->experts, fmt, layer);
}

static bool is(const struct plan *l, const char *arch) {
    return strcmp(l->p->arch, arch) == 0;
}
static bool is_sliding(const struct plan *l, u32 i) {
    return l->p->period && (i + 1) % l->p->period != 0;
}
/* The layers that share caches are the last ones; a shortened model keeps their share, but for the
 * first period of layers: there the first global one is, and each kind must own a cache. */
static u32 n_shared(const struct plan *l) {
    u32 most = l->layers > l->p->period ? l->layers - l->p->period : 0;
    return MIN(most, (u32)((u64)l->p->shared * l->layers / l->p->layers));
}

static void plan_attention(struct plan *l, u32 i) {
    const struct preset *p = l->p;
    bool gemma4 = is(l, "gemma4"), global = gemma4 && !is_sliding(l, i);
    u32 e = gemma4 && !global ? p->head_dim_swa : p->head_dim;
    u32 kv = (global ? p->kv_global : p->kv_heads) * e, q = p->heads * e;
    bool normed = gemma4 || !is(l, "llama");
    mat(l, PLAIN, p->d, q, "blk.%u.attn_q.weight", i);
    mat(l, PLAIN, q, p->d, "blk.%u.attn_output.weight", i);
    if (normed) vec(l, e, "blk.%u.attn_q_norm.weight", i);
    if (i >= l->layers - n_shared(l)) return;
    mat(l, PLAIN, p->d, kv, "blk.%u.attn_k.weight", i);
    if (normed) vec(l, e, "blk.%u.attn_k_norm.weight", i);
    bool k_is_v = global && p->experts;
    if (!k_is_v) mat(l, SENSITIVE, p->d, kv, "blk.%u.attn_v.weight", i);
}

static void plan_ffn(struct plan *l, u32 i) {
    const struct preset *p = l->p;
    bool moe = p->experts && i >= p->n_dense;
    if (!moe || is(l, "gemma4")) {
        u32 ff = i >= l->layers - n_shared(l) && p->shared ? 2 * p->ff : p->ff;
        mat(l, PLAIN, p->d, ff, "blk.%u.ffn_gate.weight", i);
        mat(l, PLAIN, p->d, ff, "blk.%u.ffn_up.weight", i);
        mat(l, SENSITIVE, ff, p->d, "blk.%u.ffn_down.weight", i);
    }
    if (!moe) return;
    add(l, QUANT_F32, p->d, p->experts, 1, "blk.%u.ffn_gate_inp.weight", i);
    if (is(l, "gemma4")) {
        experts(l, PLAIN, p->d, 2 * p->expert_ff, "blk.%u.ffn_gate_up_exps.weight", i);
        vec(l, p->d, "blk.%u.ffn_gate_inp.scale", i);
        vec(l, p->experts, "blk.%u.ffn_down_exps.scale", i);
        vec(l, p->d, "blk.%u.post_ffw_norm_1.weight", i);
        vec(l, p->d, "blk.%u.pre_ffw_norm_2.weight", i);
        vec(l, p->d, "blk.%u.post_ffw_norm_2.weight", i);
    } else {
        experts(l, PLAIN, p->d, p->expert_ff, "blk.%u.ffn_gate_exps.weight", i);
        experts(l, PLAIN, p->d, p->expert_ff, "blk.%u.ffn_up_exps.weight", i);
        vec(l, p->experts, "blk.%u.exp_probs_b.bias", i);
    }
    experts(l, SENSITIVE, p->expert_ff, p->d, "blk.%u.ffn_down_exps.weight", i);
}

static void plan_tensors(struct plan *l) {
    const struct preset *p = l->p;
    bool lfm2 = is(l, "lfm2") || is(l, "lfm2moe"), gemma = p->period > 0;
    mat(l, EMBEDDING, p->d, p->vocab, "token_embd.weight", 0);
    vec(l, p->d, lfm2 ? "token_embd_norm.weight" : "output_norm.weight", 0);
    if (is(l, "llama")) vec(l, p->head_dim / 2, "rope_freqs.weight", 0);
    if (is(l, "gemma4")) vec(l, p->head_dim / 2, "rope_freqs.weight", 0);
    if (p->ple) {
        mat(l, PLAIN, p->ple * l->layers, p->vocab, "per_layer_token_embd.weight", 0);
        add(l, QUANT_BF16, p->d, p->ple * l->layers, 1, "per_layer_model_proj.weight", 0);
        vec(l, p->ple, "per_layer_proj_norm.weight", 0);
    }
    for (u32 i = 0; i < l->layers; i++) {
        vec(l, p->d, "blk.%u.attn_norm.weight", i);
        vec(l, p->d, "blk.%u.ffn_norm.weight", i);
        if (gemma) {
            vec(l, p->d, "blk.%u.post_attention_norm.weight", i);
            vec(l, p->d, "blk.%u.post_ffw_norm.weight", i);
        }
        if (lfm2 && !(p->attends >> i & 1)) {
            mat(l, PLAIN, p->d, 3 * p->d, "blk.%u.shortconv.in_proj.weight", i);
            mat(l, PLAIN, p->d, p->d, "blk.%u.shortconv.out_proj.weight", i);
            add(l, QUANT_F32, 3, p->d, 1, "blk.%u.shortconv.conv.weight", i);
        } else {
            plan_attention(l, i);
        }
        plan_ffn(l, i);
        if (!p->ple) continue;
        mat(l, PLAIN, p->d, p->ple, "blk.%u.inp_gate.weight", i);
        mat(l, PLAIN, p->ple, p->d, "blk.%u.proj.weight", i);
        vec(l, p->d, "blk.%u.post_norm.weight", i);
    }
}

/* ---- Metadata -------------------------------------------------------------------------------- */

struct keys {
    struct gguf_writer *w;
    const char *arch;
    char buf[96];
};
static const char *key(struct keys *k, const char *name) {
    snprintf(k->buf, sizeof k->buf, "%s.%s", k->arch, name);
    return k->buf;
}
static void kv_u32(struct keys *k, const char *name, u32 v) {
    gguf_write_u32(k->w, key(k, name), v);
}
static void kv_f32(struct keys *k, const char *name, f32 v) {
    gguf_write_f32(k->w, key(k, name), v);
}

static void write_meta(struct gguf_writer *w, const struct plan *l) {
    const struct preset *p = l->p;
    struct keys k = {.w = w, .arch = p->arch};
    i32 kv[64], ff[64];
    u8 sliding[64];
    for (u32 i = 0; i < l->layers; i++) {
        bool attends = !p->attends || (p->attends >> i & 1);
        sliding[i] = is_sliding(l, i);
        kv[i] = (i32)(!attends ? 0 : is(l, "gemma4") && !sliding[i] ? p->kv_global : p->kv_heads);
        ff[i] = (i32)(p->shared && i >= l->layers - n_shared(l) ? 2 * p->ff : p->ff);
    }
    gguf_write_str(w, "general.architecture", (struct str){p->arch, strlen(p->arch)});
    gguf_write_str(w, "general.name", (struct str){p->name, strlen(p->name)});
    kv_u32(&k, "block_count", l->layers);
    kv_u32(&k, "context_length", p->ctx);
    kv_u32(&k, "embedding_length", p->d);
    kv_u32(&k, "vocab_size", p->vocab);
    kv_u32(&k, "attention.head_count", p->heads);
    gguf_write_array(w, key(&k, "attention.head_count_kv"), GGUF_I32, kv, l->layers);
    gguf_write_array(w, key(&k, "feed_forward_length"), GGUF_I32, ff, l->layers);
    kv_u32(&k, "attention.key_length", p->head_dim);
    kv_u32(&k, "attention.value_length", p->head_dim);
    kv_f32(&k, "attention.layer_norm_rms_epsilon", 1e-6f);
    kv_f32(&k, "rope.freq_base", p->rope_base);
    if (p->window) kv_u32(&k, "attention.sliding_window", p->window);
    if (is(l, "gemma4")) {
        kv_u32(&k, "attention.key_length_swa", p->head_dim_swa);
        kv_u32(&k, "attention.value_length_swa", p->head_dim_swa);
        kv_f32(&k, "rope.freq_base_swa", 1e4f);
        gguf_write_array(w, key(&k, "attention.sliding_window_pattern"), GGUF_BOOL, sliding,
                         l->layers);
        kv_u32(&k, "attention.shared_kv_layers", n_shared(l));
        kv_u32(&k, "embedding_length_per_layer_input", p->ple);
        kv_f32(&k, "final_logit_softcapping", 30);
    }
    if (p->attends) kv_u32(&k, "shortconv.l_cache", 3);
    if (!p->experts) return;
    kv_u32(&k, "expert_count", p->experts);
    kv_u32(&k, "expert_used_count", p->used);
    kv_u32(&k, "expert_feed_forward_length", p->expert_ff);
    if (p->attends) kv_u32(&k, "leading_dense_block_count", p->n_dense);
}

/* ---- Weights --------------------------------------------------------------------------------- */

static u64 rng_state = 0x9e3779b97f4a7c15u;
static u64 rng(void) { /* xorshift64* */
    rng_state ^= rng_state >> 12;
    rng_state ^= rng_state << 25;
    rng_state ^= rng_state >> 27;
    return rng_state * 0x2545f4914f6cdd1du;
}

/* Where a format keeps its half-precision scales; the second is an offset of that many times the
 * first, so that values are about centred. */
struct scales {
    u32 type;
    i32 scale, offset;
    f32 times;
};
static const struct scales scales[] = {
    {2, 0, -1, 0},      {3, 0, 2, -7.5f}, {6, 0, -1, 0},    {7, 0, 2, -15.5f}, {8, 0, -1, 0},
    {10, 80, 82, 1.5f}, {11, 108, -1, 0}, {12, 0, 2, 7.5f}, {13, 0, 2, 15.5f}, {14, 208, -1, 0},
    {20, 0, -1, 0},     {23, 0, -1, 0},   {16, 0, -1, 0},   {17, 0, -1, 0},    {22, 0, -1, 0},
    {18, 0, -1, 0},     {21, 0, -1, 0},   {19, 0, -1, 0},   {34, 52, -1, 0},   {35, 64, -1, 0},
};

static void put_scale(const struct scales *s, u8 *block, f32 d) {
    u16 h = f32_to_f16(d), m = f32_to_f16(d * s->times);
    memcpy(block + s->scale, &h, 2);
    if (s->offset >= 0) memcpy(block + s->offset, &m, 2);
}

/* Fills one block with random bits and the scale d (for MXFP4 a power of two near it). */
static void fill(const struct quant *q, const struct scales *s, u8 *block, f32 d) {
    for (u32 i = 0; i < q->block_bytes; i += 8) {
        u64 bits = rng();
        memcpy(block + i, &bits, MIN(8u, q->block_bytes - i));
    }
    if (s)
        put_scale(s, block, d);
    else
        block[0] = (u8)(127 + (int)lrintf(log2f(d))); /* MXFP4 */
}

/* The scale at which values have this root mean square. */
static f32 fitting_scale(const struct quant *q, const struct scales *s, f32 rms) {
    u8 block[256];
    f32 out[32];
    f64 sum = 0, n = 0, probe = 1.0 / 64;
    for (u32 i = 0; i < 200; i++) {
        fill(q, s, block, (f32)probe);
        for (u32 j = 0; j < q->block_len / 32; j++) {
            q->decode(block, j, 32, out);
            for (u32 k = 0; k < 32; k++, n++)
                sum += (f64)out[k] * (f64)out[k];
        }
    }
    return (f32)(probe * (f64)rms / sqrt(sum / n));
}

static void write_floats(struct gguf_writer *w, u32 type, u64 n, f32 mean, f32 rms) {
    for (u64 i = 0; i < n; i++) {
        f32 v = mean + rms * 3.4641016f * ((f32)(rng() >> 40) * 0x1p-24f - 0.5f);
        u16 h = type == QUANT_F16 ? f32_to_f16(v) : f32_to_bf16(v);
        if (type == QUANT_F32)
            gguf_write_data(w, &v, 4);
        else
            gguf_write_data(w, &h, 2);
    }
}

static void write_tensor(struct gguf_writer *w, const struct tensor *t) {
    const struct quant *q = quant_find(t->type);
    u64 n = t->dims[0] * t->dims[1] * t->dims[2];
    bool norm = t->n_dims == 1 && !strstr(t->name, "probs_b");
    f32 rms = 1 / sqrtf((f32)t->dims[0]);
    if (q->block_len == 1) {
        write_floats(w, t->type, n, norm ? 1 : 0, norm ? 0.1f : rms);
        return;
    }
    const struct scales *s = NULL;
    for (u32 i = 0; i < COUNT(scales); i++)
        s = scales[i].type == t->type ? &scales[i] : s;
    if (!s && t->type != 39) die("this type has no generator (IQ1_M keeps its scale in pieces)");
    f32 d = fitting_scale(q, s, rms);
    enum { BLOCKS = 1024 };
    static u8 buf[BLOCKS * 256];
    for (u64 left = n / q->block_len; left > 0;) {
        u32 some = (u32)MIN(left, (u64)BLOCKS);
        for (u32 i = 0; i < some; i++)
            fill(q, s, buf + (u64)i * q->block_bytes, d);
        gguf_write_data(w, buf, (u64)some * q->block_bytes);
        left -= some;
    }
}

int main(int argc, char **argv) {
    static struct plan l;
    if (argc < 4 || argc > 5) die("usage: make_model PRESET TYPE OUT.gguf [LAYERS]");
    for (u32 i = 0; i < COUNT(presets); i++) {
        if (strcmp(argv[1], presets[i].name) == 0) l.p = &presets[i];
    }
    if (!l.p) die("unknown preset");
    l.type = argv[2];
    l.layers = argc > 4 ? (u32)strtoul(argv[4], NULL, 10) : l.p->layers;
    if (l.layers < 1 || l.layers > l.p->layers) die("LAYERS must be 1 to the preset's own number");
    plan_tensors(&l);
    FILE *f = fopen(argv[3], "wb");
    glim_err e = {0};
    struct gguf_writer *w = NULL;
    if (!f || gguf_write_open(&w, f, &mem_libc, &e)) die("cannot write the file");
    write_meta(w, &l);
    for (u32 i = 0; i < l.n; i++) {
        struct tensor *t = &l.tensors[i];
        const struct quant *q = quant_find(t->type);
        u64 bytes = t->dims[0] / q->block_len * q->block_bytes * t->dims[1] * t->dims[2];
        gguf_write_tensor(w, t->name, t->type, t->n_dims, t->dims, bytes);
    }
    for (u32 i = 0; i < l.n; i++)
        write_tensor(w, &l.tensors[i]);
    if (gguf_write_close(w, &e) || fclose(f)) die(e.msg[0] ? e.msg : "cannot write the file");
    return 0;
}
