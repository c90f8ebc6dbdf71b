/* Writes a random llama whose matrices are of one format: 2 layers, D 256 (whole blocks of every
 * format), 4 heads on 2 KV heads of 64, F 512, V 96. No vocabulary. */
#ifndef TEST_MAKE_LLAMA_H
#define TEST_MAKE_LLAMA_H

#include "edit_gguf.h"
#include "isa_util.h"

enum { MAKE_D = 256, MAKE_KV = 128, MAKE_F = 512, MAKE_V = 96, MAKE_LAYERS = 2 };

/* One block of random bytes, scaled so that no weight is above about 0.15: sane activations. */
static inline void make_block(const struct isa_type *it, const struct quant *q, u8 *p) {
    f32 x[256], most = 0;
    random_weights(it, p, q->block_len);
    for (u32 j = 0; j < q->block_len; j += 32)
        q->decode(p, j / 32, MIN(q->block_len - j, 32u), x + j);
    for (u32 j = 0; j < q->block_len; j++)
        most = MAX(most, fabsf(x[j]));
    f32 scale = most > 0 ? (0.1f + 0.05f * rng_f32()) / most : 1;
    for (u32 i = 0; i < 2; i++) {
        u16 h;
        if (it->f16_at[i] < 0) continue;
        memcpy(&h, p + it->f16_at[i], 2);
        edit_put_f16(p + it->f16_at[i], f16_to_f32(h) * scale);
    }
}

static inline void make_matrix(struct gguf_writer *w, const struct isa_type *it, u64 n) {
    const struct quant *q = quant_find(it->type);
    u8 block[256];
    for (u64 i = 0; i < n; i += q->block_len) {
        f32 x = rng_f32() * 0.15f;
        u16 half = it->type == QUANT_BF16 ? f32_to_bf16(x) : f32_to_f16(x);
        if (q->block_len > 1)
            make_block(it, q, block);
        else if (q->block_bytes == 4)
            memcpy(block, &x, 4);
        else
            memcpy(block, &half, 2);
        gguf_write_data(w, block, q->block_bytes);
    }
}

struct make_tensor {
    const char *name;
    u32 cols, rows; /* rows 0: a norm */
};
static const struct make_tensor make_tensors[] = {
    {"attn_norm", MAKE_D, 0},     {"attn_q", MAKE_D, MAKE_D},      {"attn_k", MAKE_D, MAKE_KV},
    {"attn_v", MAKE_D, MAKE_KV},  {"attn_output", MAKE_D, MAKE_D}, {"ffn_norm", MAKE_D, 0},
    {"ffn_gate", MAKE_D, MAKE_F}, {"ffn_up", MAKE_D, MAKE_F},      {"ffn_down", MAKE_F, MAKE_D},
};

static inline void make_declare(struct gguf_writer *w, const char *name, const struct isa_type *it,
                                u32 cols, u32 rows) {
    u64 dims[2] = {cols, rows};
    u64 bytes = rows ? quant_row_bytes(quant_find(it->type), cols) * rows : 4ull * cols;
    gguf_write_tensor(w, name, rows ? it->type : QUANT_F32, rows ? 2 : 1, dims, bytes);
}
static inline void make_data(struct gguf_writer *w, const struct isa_type *it, u32 cols, u32 rows) {
    for (u32 j = 0; j < cols && rows == 0; j++) {
        f32 x = 1 + 0.2f * rng_f32();
        gguf_write_data(w, &x, 4);
    }
    if (rows) make_matrix(w, it, (u64)cols * rows);
}

/* embd is the format of the embedding, which is the output matrix too. */
static inline struct temp make_llama(const struct isa_type *embd, const struct isa_type *it) {
    struct temp to = temp_new();
    struct gguf_writer *w;
    glim_err e = {0};
    FILE *f = fopen(to.path, "wb");
    assert_non_null(f);
    assert_int_equal(gguf_write_open(&w, f, &mem_libc, &e), 0);
    gguf_write_str(w, "general.architecture", (struct str){"llama", 5});
    gguf_write_u32(w, "llama.block_count", MAKE_LAYERS);
    gguf_write_u32(w, "llama.context_length", 512);
    gguf_write_u32(w, "llama.embedding_length", MAKE_D);
    gguf_write_u32(w, "llama.attention.head_count", 4);
    gguf_write_u32(w, "llama.attention.head_count_kv", 2);
    gguf_write_u32(w, "llama.feed_forward_length", MAKE_F);
    for (u32 write = 0; write < 2; write++) { /* declarations, then data */
        if (write)
            make_data(w, embd, MAKE_D, MAKE_V), make_data(w, it, MAKE_D, 0);
        else
            make_declare(w, "token_embd.weight", embd, MAKE_D, MAKE_V),
                make_declare(w, "output_norm.weight", it, MAKE_D, 0);
        for (u32 i = 0; i < MAKE_LAYERS; i++) {
            for (u32 j = 0; j < COUNT(make_tensors); j++) {
                const struct make_tensor *t = &make_tensors[j];
                char name[64];
                snprintf(name, sizeof name, "blk.%u.%s.weight", i, t->name);
                if (write)
                    make_data(w, it, t->cols, t->rows);
                else
                    make_declare(w, name, it, t->cols, t->rows);
            }
        }
    }
    if (gguf_write_close(w, &e)) fail_test("%s", e.msg);
    fclose(f);
    return to;
}

#endif
