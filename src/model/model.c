/* Opening a model: hyper-parameters, the table of architectures, binding of weights. */
#include "model/block.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct arch *const archs[] = {&llama_arch, &qwen2_arch, &qwen3_arch, &granite_arch,
                                           &gemma3_arch};

const char *model_archs(void) {
    return "llama, qwen2, qwen3, granite, gemma3";
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
        (rc = model_f32_or(m, "attention.layer_norm_rms_epsilon", 1e-5f, &hp->eps, e)) < 0) {
        return rc;
    }
    if (hp->eps < 0) {
        return fail(e, GLIM_FORMAT, "%s: %s.attention.layer_norm_rms_epsilon is negative", m->name,
                    m->arch->name);
    }
    struct key k = key_of(m, "attention.head_count_kv");
    if (gguf_find(&m->gguf, k.s)) {
        rc = per_layer(m, "attention.head_count_kv", 1, hp->n_heads, &hp->n_kv_heads, e);
    } else {
        rc = per_layer(m, "attention.head_count", 1, hp->n_heads, &hp->n_kv_heads, e);
    }
    if (rc < 0) return rc;
    for (u32 i = 0; i < hp->n_layers; i++) {
        if (hp->n_heads % hp->n_kv_heads[i] == 0) continue;
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

/* Notes a wrong tensor; the text keeps the first few. */
__attribute__((format(printf, 2, 3))) static void misfit(struct model *m, const char *fmt, ...) {
    size_t n = strlen(m->wrong);
    if (m->n_wrong++ && n + 2 < sizeof m->wrong) n += (size_t)sprintf(m->wrong + n, "; ");
    va_list args;
    va_start(args, fmt);
    vsnprintf(m->wrong + n, sizeof m->wrong - n, fmt, args);
    va_end(args);
}

static const struct weight *bind(struct model *m, bool required, u32 rows, u32 cols,
                                 const char *name) {
    const struct gguf_tensor *t = gguf_tensor(&m->gguf, name);
    if (!t) {
        if (required) misfit(m, "'%s' is missing", name);
        return NULL;
    }
    m->used[t - m->gguf.tensors] = true;
    u64 t_rows = t->dims[1];
    if (t->dims[0] != cols || t_rows != rows || t->dims[2] != 1 || t->dims[3] != 1) {
        misfit(m, "'%s' is [%llu, %llu], expected [%u, %u]", name, (unsigned long long)t->dims[0],
               (unsigned long long)t_rows, cols, rows);
        return NULL;
    }
    if (rows == 1 && t->type != QUANT_F32) {
        misfit(m, "'%s' has type %s, expected F32", name, quant_find(t->type)->name);
        return NULL;
    }
    if (!t->data) {
        misfit(m, "'%s' is not in mapped memory", name);
        return NULL;
    }
    struct weight *w = arena_get(&m->arena, sizeof *w);
    char *copy = arena_text(&m->arena, t->name);
    if (!w || !copy) {
        misfit(m, "out of memory");
        return NULL;
    }
    *w = (struct weight){.name = copy,
                         .data = t->data,
                         .type = t->type,
                         .rows = rows,
                         .cols = cols,
                         .pitch = t->bytes / rows};
    m->weight_bytes += t->bytes;
    return w;
}

__attribute__((format(printf, 3, 0))) static void name_of(char *buf, size_t cap, const char *fmt,
                                                          va_list args) {
    vsnprintf(buf, cap, fmt, args);
}

const struct weight *model_weight(struct model *m, u32 rows, u32 cols, const char *fmt, ...) {
    char name[64];
    va_list args;
    va_start(args, fmt);
    name_of(name, sizeof name, fmt, args);
    va_end(args);
    return bind(m, true, rows, cols, name);
}

const struct weight *model_weight_opt(struct model *m, u32 rows, u32 cols, const char *fmt, ...) {
    char name[64];
    va_list args;
    va_start(args, fmt);
    name_of(name, sizeof name, fmt, args);
    va_end(args);
    return bind(m, false, rows, cols, name);
}

int model_bound(struct model *m, const struct weight *embd, glim_err *e) {
    if (m->n_wrong) {
        int code = strstr(m->wrong, "out of memory") ? GLIM_NOMEM : GLIM_SHAPE;
        return fail(e, code, "%s: %u of the tensors that %s needs: %s", m->name, m->n_wrong,
                    m->arch->name, m->wrong);
    }
    /* A tensor that the forward pass would leave out (a bias, say) would make it silently wrong. */
    for (u64 i = 0; i < m->gguf.n_tensors; i++) {
        if (m->used[i]) continue;
        return fail(e, GLIM_UNSUPPORTED,
                    "%s: tensor '%.*s' is not part of %s as this glim knows it", m->name,
                    STR(m->gguf.tensors[i].name), m->arch->name);
    }
    m->bytes_per_token = m->weight_bytes;
    if (embd) m->bytes_per_token -= embd->pitch * (embd->rows - 1);
    return GLIM_OK;
}

int model_build(const struct model *m, struct prog *p, bool exact, glim_err *e) {
    struct build b = {.p = p, .exact = exact};
    m->arch->build(&b, m);
    return prog_plan(p, e);
}
