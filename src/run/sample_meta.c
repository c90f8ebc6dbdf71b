/* general.sampling.* */
#include "run/sample_meta.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum meta_kind { META_F32, META_I32, META_WINDOW, META_MIROSTAT };

static const struct meta_key {
    const char *key;
    enum meta_kind kind;
    size_t at; /* in glim_generation */
} meta_keys[] = {
    {"general.sampling.temp", META_F32, offsetof(glim_generation, temp)},
    {"general.sampling.top_k", META_I32, offsetof(glim_generation, top_k)},
    {"general.sampling.top_p", META_F32, offsetof(glim_generation, top_p)},
    {"general.sampling.min_p", META_F32, offsetof(glim_generation, min_p)},
    {"general.sampling.xtc_probability", META_F32, offsetof(glim_generation, xtc_probability)},
    {"general.sampling.xtc_threshold", META_F32, offsetof(glim_generation, xtc_threshold)},
    {"general.sampling.penalty_last_n", META_WINDOW, offsetof(glim_generation, repeat_last_n)},
    {"general.sampling.penalty_repeat", META_F32, offsetof(glim_generation, repeat_penalty)},
    {"general.sampling.mirostat", META_MIROSTAT, offsetof(glim_generation, mirostat)},
    {"general.sampling.mirostat_tau", META_F32, offsetof(glim_generation, mirostat_tau)},
    {"general.sampling.mirostat_eta", META_F32, offsetof(glim_generation, mirostat_eta)},
};

static void note_unused(struct sample_meta *m, const char *key, const char *why) {
    if (!m->unused[0]) snprintf(m->unused, sizeof m->unused, "%s: %.140s", key, why);
}

/* Some writers store whole numbers as reals and the other way round. */
static bool meta_number(const struct gguf_kv *kv, f64 *x) {
    if (kv->is_array || kv->type == GGUF_STR || kv->type == GGUF_BOOL) return false;
    if (kv->type == GGUF_F32 || kv->type == GGUF_F64)
        *x = kv->f;
    else
        *x = kv->type == GGUF_U64 ? (f64)kv->u : (f64)kv->i;
    return true;
}

static void take_key(struct sample_meta *m, const struct meta_key *k, const struct gguf_kv *kv) {
    glim_generation gen = m->gen;
    void *to = (char *)&gen + k->at;
    glim_err e = {0};
    f64 x;
    if (!meta_number(kv, &x)) {
        note_unused(m, k->key, "is not a number");
        return;
    }
    if (k->kind != META_F32 && !(x == floor(x) && fabs(x) <= 0x7fffffff)) {
        note_unused(m, k->key, "is not a whole number of 32 bits");
        return;
    }
    switch (k->kind) {
    case META_F32:
        *(f32 *)to = (f32)x;
        break;
    case META_I32: /* below zero is "all" too */
        *(i32 *)to = (i32)MAX(x, 0);
        break;
    case META_WINDOW: /* below zero is "all of the context" */
        *(u32 *)to = x < 0 ? UINT32_MAX : (u32)x;
        break;
    case META_MIROSTAT:
        *(int *)to = (int)x;
    }
    if (sample_check(&gen, &e) < 0)
        note_unused(m, k->key, e.msg);
    else
        m->gen = gen;
}

static void take_order(struct sample_meta *m, const struct gguf_kv *kv) {
    static const char key[] = "general.sampling.sequence";
    char names[256], unknown[64];
    struct sample_order order;
    glim_err e = {0};
    if (kv->is_array || kv->type != GGUF_STR || kv->s.n >= sizeof names) {
        note_unused(m, key, "is not a short text");
        return;
    }
    memcpy(names, kv->s.p, kv->s.n);
    names[kv->s.n] = 0;
    if (sample_order_parse(&order, names, unknown, sizeof unknown, &e) < 0) {
        note_unused(m, key, e.msg);
        return;
    }
    if (unknown[0]) {
        char why[100];
        snprintf(why, sizeof why, "has '%s', which is left out", unknown);
        note_unused(m, key, why);
    }
    sample_order_text(&order, m->samplers);
    m->gen.samplers = m->samplers;
}

void sample_meta(struct sample_meta *m, const struct gguf *g) {
    *m = (struct sample_meta){.gen = glim_generation_default()};
    for (u32 i = 0; i < COUNT(meta_keys); i++) {
        const struct gguf_kv *kv = gguf_find(g, meta_keys[i].key);
        if (kv) take_key(m, &meta_keys[i], kv);
    }
    const struct gguf_kv *order = gguf_find(g, "general.sampling.sequence");
    if (order) take_order(m, order);
}
