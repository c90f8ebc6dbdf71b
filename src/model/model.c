/* Opening a model: hyper-parameters, the table of architectures, binding of weights. */
#include "model/block.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct arch *const archs[] = {&llama_arch,  &qwen2_arch,  &qwen3_arch, &granite_arch,
                                           &gemma3_arch, &gemma4_arch, &lfm2_arch,  &lfm2moe_arch};

const char *model_archs(void) {
    return "llama, qwen2, qwen3, granite, gemma3, gemma4, lfm2, lfm2moe";
}

/* "llama.block_count" from "block_count". */
struct key {
    char s[96];
};
static struct key key_of(const struct model *m, const char *name) {
    struct key k;
    snprintf(k.s, sizeof k.s, "%s.%s", m->arch->name, name);
    return k;
}

static int range(const struct model *m, const char *key, u32 v, u32 lo, u32 hi, glim_err *e) {
    if (v >= lo && v <= hi) return GLIM_OK;
    return fail(e, GLIM_FORMAT, "%s: %s is %u; must be %u to %u", m->name, key, v, lo, hi);
}

int model_u32(struct model *m, const char *name, u32 lo, u32 hi, u32 *out, glim_err *e) {
    struct key k = key_of(m, name);
    int rc = gguf_u32(&m->gguf, k.s, out, e);
    if (rc == GLIM_NOT_FOUND) {
        return fail(e, GLIM_FORMAT, "%s: metadata key %s is missing", m->name, k.s);
    }
    return rc < 0 ? rc : range(m, k.s, *out, lo, hi, e);
}

int model_u32_or(struct model *m, const char *name, u32 lo, u32 hi, u32 def, u32 *out,
                 glim_err *e) {
    struct key k = key_of(m, name);
    int rc = gguf_u32(&m->gguf, k.s, out, e);
    if (rc == GLIM_NOT_FOUND) {
        *out = def;
        return GLIM_OK;
    }
    return rc < 0 ? rc : range(m, k.s, *out, lo, hi, e);
}

int model_f32_or(struct model *m, const char *name, f32 def, f32 *out, glim_err *e) {
    struct key k = key_of(m, name);
    int rc = gguf_f32(&m->gguf, k.s, out, e);
    if (rc == GLIM_NOT_FOUND) {
        *out = def;
        return GLIM_OK;
    }
    if (rc == GLIM_OK && !isfinite(*out)) {
        return fail(e, GLIM_FORMAT, "%s: %s is not finite", m->name, k.s);
    }
    return rc;
}

/* A per-layer key, scalar or array, each value in [lo, hi]. */
static int per_layer(struct model *m, const char *name, u32 lo, u32 hi, u32 **out, glim_err *e) {
    struct key k = key_of(m, name);
    u32 n = m->hp.n_layers;
    *out = arena_array(&m->arena, n, sizeof **out);
    if (!*out) return fail(e, GLIM_NOMEM, "%s: out of memory (metadata)", m->name);
    int rc = gguf_u32s(&m->gguf, k.s, *out, n, e);
    if (rc == GLIM_NOT_FOUND) {
        return fail(e, GLIM_FORMAT, "%s: metadata key %s is missing", m->name, k.s);
    }
    for (u32 i = 0; rc == GLIM_OK && i < n; i++)
        rc = range(m, k.s, (*out)[i], lo, hi, e);
    return rc;
}

static int read_hparams(struct model *m, glim_err *e) {
    struct hparams *hp = &m->hp;
    const struct gguf_tensor *embd = gguf_tensor(&m->gguf, "token_embd.weight");
    int rc;
    if ((rc = model_u32(m, "block_count", 1, 4096, &hp->n_layers, e)) < 0 ||
        (rc = model_u32(m, "context_length", 1, 1u << 28, &hp->n_ctx, e)) < 0 ||
        (rc = model_u32(m, "embedding_length", 1, 1u << 20, &hp->d, e)) < 0 ||
        (rc = model_u32(m, "attention.head_count", 1, 65536, &hp->n_heads, e)) < 0 ||
        (rc = per_layer(m, "feed_forward_length", 1, 1u << 24, &hp->ff, e)) < 0 ||
        (rc = model_u32_or(m, "attention.sliding_window", 0, 1u << 28, 0, &hp->window, e)) < 0 ||
        (rc = model_f32_or(m, "attention.layer_norm_rms_epsilon", m->arch->eps, &hp->eps, e)) < 0) {
        return rc;
    }
    if (hp->eps < 0) {
        return fail(e, GLIM_FORMAT, "%s: %s.attention.layer_norm_rms_epsilon is negative", m->name,
                    m->arch->name);
    }
    struct key k = key_of(m, "attention.head_count_kv");
    u32 least = m->arch->flags & ARCH_KV_ZERO ? 0 : 1;
    if (gguf_find(&m->gguf, k.s)) {
        rc = per_layer(m, "attention.head_count_kv", least, hp->n_heads, &hp->n_kv_heads, e);
    } else {
        rc = per_layer(m, "attention.head_count", 1, hp->n_heads, &hp->n_kv_heads, e);
    }
    if (rc < 0) return rc;
    for (u32 i = 0; i < hp->n_layers; i++) {
        if (hp->n_kv_heads[i] == 0 || hp->n_heads % hp->n_kv_heads[i] == 0) continue;
        return fail(e, GLIM_FORMAT, "%s: %s: %u query heads do not divide among %u KV heads",
                    m->name, k.s, hp->n_heads, hp->n_kv_heads[i]);
    }
    u32 value;
    k = key_of(m, "attention.key_length");
    if (!gguf_find(&m->gguf, k.s) && hp->d % hp->n_heads) {
        return fail(e, GLIM_FORMAT, "%s: embedding_length %u is no multiple of head_count %u",
                    m->name, hp->d, hp->n_heads);
    }
    u32 def = hp->d / hp->n_heads;
    if ((rc = model_u32_or(m, "attention.key_length", 2, 4096, def, &hp->head_dim, e)) < 0 ||
        (rc = range(m, k.s, hp->head_dim, 2, 4096, e)) < 0 ||
        (rc = model_u32_or(m, "attention.value_length", 2, 4096, hp->head_dim, &value, e)) < 0) {
        return rc;
    }
    if (value != hp->head_dim) {
        return fail(e, GLIM_UNSUPPORTED, "%s: key_length %u and value_length %u differ", m->name,
                    hp->head_dim, value);
    }
    if (!embd || embd->n_dims != 2 || embd->dims[1] < 1 || embd->dims[1] > 1u << 24) {
        return fail(e, GLIM_SHAPE, "%s: tensor 'token_embd.weight' is missing or no matrix",
                    m->name);
    }
    hp->vocab = (u32)embd->dims[1];
    m->kv = arena_array(&m->arena, hp->n_layers, sizeof *m->kv);
    return m->kv ? GLIM_OK : fail(e, GLIM_NOMEM, "%s: out of memory (layers)", m->name);
}

int model_open(struct model *m, const char *path, const glim_alloc *a, glim_err *e) {
    *m = (struct model){0};
    arena_init(&m->arena, a);
    m->name = arena_text(&m->arena, (struct str){path, strlen(path)});
    int rc = m->name ? gguf_open(&m->gguf, m->name, &m->arena, quant_size, e)
                     : fail(e, GLIM_NOMEM, "out of memory (path)");
    struct str arch;
    if (rc == GLIM_OK) rc = gguf_str(&m->gguf, "general.architecture", &arch, e);
    if (rc == GLIM_NOT_FOUND) {
        rc = fail(e, GLIM_FORMAT, "%s: metadata key general.architecture is missing", path);
    }
    if (rc < 0) goto failed;
    for (size_t i = 0; i < COUNT(archs); i++) {
        if (str_is(arch, archs[i]->name)) m->arch = archs[i];
    }
    if (!m->arch) {
        rc = fail(e, GLIM_UNSUPPORTED,
                  "%s: architecture '%.*s' is not supported; this glim knows: %s", path, STR(arch),
                  model_archs());
        goto failed;
    }
    m->used = arena_array(&m->arena, m->gguf.n_tensors, sizeof *m->used);
    if (!m->used)
        rc = fail(e, GLIM_NOMEM, "%s: out of memory (tensors)", path);
    else
        rc = read_hparams(m, e);
    if (rc == GLIM_OK) rc = m->arch->bind(m, e);
    if (rc == GLIM_OK) return rc;
failed:
    model_close(m);
    return rc;
}

void model_close(struct model *m) {
    gguf_close(&m->gguf);
    arena_free(&m->arena);
}

static bool is_table(const struct model *m, const struct weight *w) {
    for (u32 i = 0; i < m->n_tables; i++) {
        if (m->tables[i] == w) return true;
    }
    return false;
}

/* What reads a table knows the ids before the pass, so that the rows can come from outside. */
static void leave_tables(const struct model *m, struct prog *p) {
    for (u32 i = 0; i < p->n_ops; i++) {
        struct op *op = &p->ops[i];
        op->by_host = op->code == OP_EMBED && is_table(m, p->vals[op->args[1].val].weight);
    }
}

int model_build(const struct model *m, struct prog *p, bool exact, glim_err *e) {
    struct build b = {.p = p, .exact = exact};
    m->arch->build(&b, m);
    if (p->draws) block_draw(&b);
    if (p->host_tables) leave_tables(m, p);
    return prog_plan(p, e);
}
