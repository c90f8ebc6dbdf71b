/* Small vocabularies over characters: <unk> <s> </s>, the 256 bytes, and a few tokens from id 259.
 */
#ifndef TEST_SMALL_SPM_H
#define TEST_SMALL_SPM_H

#include "small_vocab.h"

enum { SPM_FIRST = 259, SPM_MORE = 96 };

struct small_spm {
    const char *model, *pre;
    const char *tokens[SPM_MORE];
    u8 kinds[SPM_MORE];   /* 0: normal */
    f32 scores[SPM_MORE]; /* with falling: not used */
    bool falling;         /* a token's score is minus its place */
    const char *merges[SPM_MORE];
    bool no_bytes;     /* byte tokens are control tokens instead */
    int space_prefix;  /* -1: no such key */
    int add_bos;       /* likewise */
    u32 scores_type;   /* 0: F32 */
    bool scores_short; /* one too few */
};

static inline void build_kv_flag(struct build *b, const char *key, int value) {
    build_key(b, key, GGUF_BOOL);
    build_u8(b, (u8)value);
}

static inline void build_spm(struct build *b, const struct small_spm *s) {
    u64 n = 0, merges = 0;
    while (n < SPM_MORE && s->tokens[n])
        n++;
    while (merges < SPM_MORE && s->merges[merges])
        merges++;
    build_head(b, 3, 0, 7 + (s->pre != NULL) + (s->space_prefix >= 0) + (s->add_bos >= 0));
    build_kv_str(b, "general.architecture", "llama");
    build_kv_str(b, "tokenizer.ggml.model", s->model);
    if (s->pre) build_kv_str(b, "tokenizer.ggml.pre", s->pre);
    if (s->space_prefix >= 0) build_kv_flag(b, "tokenizer.ggml.add_space_prefix", s->space_prefix);
    if (s->add_bos >= 0) build_kv_flag(b, "tokenizer.ggml.add_bos_token", s->add_bos);
    build_kv_u32(b, "tokenizer.ggml.bos_token_id", 1);
    build_kv_array(b, "tokenizer.ggml.tokens", GGUF_STR, SPM_FIRST + n);
    build_str(b, "<unk>");
    build_str(b, "<s>");
    build_str(b, "</s>");
    for (u32 i = 0; i < 256; i++) {
        char name[8];
        snprintf(name, sizeof name, s->no_bytes ? "<%02X>" : "<0x%02X>", i);
        build_str(b, name);
    }
    for (u64 i = 0; i < n; i++)
        build_str(b, s->tokens[i]);
    build_kv_array(b, "tokenizer.ggml.token_type", GGUF_I32, SPM_FIRST + n);
    build_u32(b, VOCAB_UNKNOWN);
    build_u32(b, VOCAB_CONTROL);
    build_u32(b, VOCAB_CONTROL);
    for (u32 i = 0; i < 256; i++)
        build_u32(b, s->no_bytes ? VOCAB_CONTROL : VOCAB_BYTE);
    for (u64 i = 0; i < n; i++)
        build_u32(b, s->kinds[i] ? s->kinds[i] : VOCAB_NORMAL);
    u32 type = s->scores_type ? s->scores_type : GGUF_F32;
    build_kv_array(b, "tokenizer.ggml.scores", type, SPM_FIRST + n - s->scores_short);
    for (u64 i = 0; i < SPM_FIRST + n - s->scores_short; i++) {
        u64 k = i - SPM_FIRST;
        if (i < SPM_FIRST)
            build_f32(b, 0);
        else
            build_f32(b, s->falling ? -(f32)k : s->scores[k]);
    }
    build_kv_array(b, "tokenizer.ggml.merges", GGUF_STR, merges);
    for (u64 i = 0; i < merges; i++)
        build_str(b, s->merges[i]);
    build_pad(b, 32);
}

static inline struct vocab *open_spm(struct load *l, const struct small_spm *s) {
    struct build b = {0};
    struct vocab *v = NULL;
    build_spm(&b, s);
    assert_loads(l, &b);
    if (vocab_open(&v, &l->g, &l->arena, &l->e)) fail_test("%s", l->e.msg);
    return v;
}

#endif
