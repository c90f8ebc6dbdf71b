/* Changes of fixtures that make their activations too large for half precision and leave their
 * logits as they are. */
#ifndef TEST_LARGE_RIG_H
#define TEST_LARGE_RIG_H

#include "edit_gguf.h"

struct edits {
    struct edit e[256];
    char names[512][48];
    u32 n, n_names;
};
static inline const char *name_in(struct edits *l, const char *tensor, u32 layer) {
    assert_true(l->n_names < COUNT(l->names));
    char *name = l->names[l->n_names++];
    snprintf(name, sizeof l->names[0], "blk.%u.%s", layer, tensor);
    return name;
}
static inline struct edit *add_edit(struct edits *l, struct edit e) {
    assert_true(l->n < COUNT(l->e));
    l->e[l->n] = e;
    return &l->e[l->n++];
}
enum { BIG = 1 << 17 }; /* the residual is about 1: this is beyond 65504 */

static inline void scale_in(struct edits *l, u32 layer, const char *tensor, f32 by, u64 from,
                            u64 to) {
    add_edit(
        l, (struct edit){
               .tensor = name_in(l, tensor, layer), .as = EDIT_SCALE, .f = by, .dims = {from, to}});
}

/* The residual of Gemma is made BIG times larger, and so is what goes into each product that a norm
 * follows. Norms take out powers of two, so that nothing else changes. */
static inline void enlarge_gemma(struct edits *l, const char *name, u32 layers) {
    bool gemma4 = strncmp(name, "gemma4", 6) == 0, e2b = strcmp(name, "gemma4-e2b") == 0;
    bool moe = strcmp(name, "gemma4-moe") == 0;
    add_edit(l, (struct edit){.tensor = "token_embd.weight", .as = EDIT_SCALE, .f = BIG});
    add_edit(l, (struct edit){.tensor = "output_norm.weight", .as = EDIT_SCALE, .f = 1.0f / BIG});
    for (u32 i = 0; i < layers; i++) {
        scale_in(l, i, "post_attention_norm.weight", BIG, 0, 0);
        scale_in(l, i, "post_ffw_norm.weight", BIG, 0, 0);
        scale_in(l, i, "attn_output.weight", BIG, 0, 0);
        scale_in(l, i, "ffn_up.weight", BIG, 0, 0);
        if (gemma4 && i == 0) scale_in(l, i, "attn_v.weight", BIG, 0, 0);
        if (e2b) {
            scale_in(l, i, "inp_gate.weight", 1.0f / BIG, 0, 0);
            scale_in(l, i, "post_norm.weight", BIG, 0, 0);
        }
        if (moe) scale_in(l, i, "ffn_gate_up_exps.weight", BIG, 32, 64);
    }
}

/* LFM2 has no norms behind its products; what is enlarged in front is made smaller behind. */
static inline void enlarge_lfm2(struct edits *l) {
    add_edit(l, (struct edit){.tensor = "token_embd.weight", .as = EDIT_SCALE, .f = BIG});
    add_edit(l,
             (struct edit){.tensor = "token_embd_norm.weight", .as = EDIT_SCALE, .f = 1.0f / BIG});
    for (u32 i = 0; i < 6; i++) {
        if (i == 2 || i == 4) {
            scale_in(l, i, "attn_output.weight", BIG, 0, 0);
        } else { /* before, after, input: the history holds before times input */
            scale_in(l, i, "shortconv.in_proj.weight", 1024, 0, 64);
            scale_in(l, i, "shortconv.in_proj.weight", 1024, 128, 192);
            scale_in(l, i, "shortconv.out_proj.weight", BIG / 1048576.0f, 0, 0);
        }
        scale_in(l, i, "ffn_up.weight", BIG, 0, 0); /* and ffn_down as it is */
    }
}

/* Matrices whose rows fill blocks become Q8_0, so that the fast arithmetic rounds activations. */
static inline struct temp as_q8_0(const char *path, const struct edits *scaled) {
    struct arena arena;
    struct gguf g;
    glim_err err = {0};
    struct edits *l = calloc(1, sizeof *l);
    assert_non_null(l);
    if (scaled) *l = *scaled;
    arena_init(&arena, &mem_libc);
    assert_int_equal(gguf_open(&g, path, &arena, quant_size, &err), 0);
    for (u64 i = 0; i < g.n_tensors; i++) {
        const struct gguf_tensor *t = &g.tensors[i];
        const char *name = arena_text(&arena, t->name);
        /* inp_gate is made so small that half-precision scales would not hold it. */
        if (t->n_dims != 2 || t->dims[0] % 32 || strstr(name, "inp_gate")) continue;
        add_edit(l, (struct edit){.tensor = name, .as = EDIT_TYPE, .u = QUANT_Q8_0});
    }
    struct temp to = edit_gguf(path, l->e, l->n);
    gguf_close(&g);
    arena_free(&arena);
    free(l);
    return to;
}

/* A fixture with no epsilon, without which norms take out a power of two to the last bit; `large`:
 * and with large activations. layers: of Gemma; 0: LFM2. */
static inline struct temp large_copy(const char *name, const char *arch, u32 layers, bool large,
                                     bool fast) {
    char key[64], path[64];
    struct edits l = {0};
    snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", arch);
    snprintf(path, sizeof path, "test/data/%s.gguf", name);
    add_edit(&l, (struct edit){.key = key, .as = EDIT_F32, .f = 0});
    if (large && layers) enlarge_gemma(&l, name, layers);
    if (large && !layers) enlarge_lfm2(&l);
    return fast ? as_q8_0(path, &l) : edit_gguf(path, l.e, l.n);
}

static const struct large_case {
    const char *name, *arch;
    u32 layers;
} large_cases[] = {{"gemma3", "gemma3", 7},
                   {"gemma4-e2b", "gemma4", 8},
                   {"gemma4-large", "gemma4", 6},
                   {"gemma4-moe", "gemma4", 5},
                   {"lfm2", "lfm2", 0}};

#endif
