/* Any bytes through the tokenizers of small vocabularies and back. The first byte chooses the
 * vocabulary and the flags, the rest is the text. */
#include "file/gguf.h"
#include "kern/quant.h"
#include "text/token.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file, and what one of its keys is changed to: each kind of tokenizer and pre-tokenizer. */
static const struct kind {
    const char *path, *pre;
    bool blanks;      /* U+2581 comes back as a blank */
    bool blank_first; /* a blank before each stretch of plain text */
} kinds[] = {
    {"test/data/llama.gguf", "llama-bpe", false, false},
    {"test/data/llama.gguf", "gpt2", false, false},
    {"test/data/llama.gguf", "smollm", false, false},
    {"test/data/llama.gguf", "qwen2", false, false},
    {"test/data/llama.gguf", "tekken", false, false},
    {"test/data/llama.gguf", "gpt-4o", false, false},
    {"test/data/gemma3.gguf", "default", true, false},
    {"test/data/gemma3.gguf", "default", true, true},
    {"test/data/gemma4-e2b-tokenizer.gguf", NULL, true, false},
};
static struct vocab *vocabs[COUNT(kinds)]; /* live as long as the process */

static void open_vocabs(void) {
    static struct arena arena;
    static struct gguf g[COUNT(kinds)];
    glim_err e = {0};
    arena_init(&arena, &mem_libc);
    for (u32 k = 0; k < COUNT(kinds); k++) {
        if (gguf_open(&g[k], kinds[k].path, &arena, quant_size, &e)) abort();
        for (u32 i = 0; i < g[k].n_kv; i++) {
            struct gguf_kv *kv = &g[k].kv[i];
            if (kinds[k].pre && str_is(kv->key, "tokenizer.ggml.pre"))
                kv->s = (struct str){kinds[k].pre, strlen(kinds[k].pre)};
            if (str_is(kv->key, "tokenizer.ggml.add_space_prefix")) kv->u = kinds[k].blank_first;
        }
        if (vocab_open(&vocabs[k], &g[k], &arena, &e)) abort();
    }
}

/* Takes piece off the front of *text; in text U+2581 may stand for a blank. */
static void eat(struct str *text, struct str piece, bool blanks) {
    for (size_t i = 0; i < piece.n; i++) {
        size_t n = 1;
        if (blanks && piece.p[i] == ' ' && text->n >= 3 && !memcmp(text->p, "\xe2\x96\x81", 3))
            n = 3;
        else if (text->n == 0 || text->p[0] != piece.p[i])
            abort();
        text->p += n;
        text->n -= n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!vocabs[0]) open_vocabs();
    if (size == 0) return 0;
    u32 which = data[0] % 16 % COUNT(kinds);
    const struct vocab *v = vocabs[which];
    const struct kind *kind = &kinds[which];
    u32 flags = data[0] & 16 ? VOCAB_SPECIAL : 0;
    struct str text = {(const char *)data + 1, size - 1}, rest = text;
    glim_err e = {0};
    i64 n = vocab_encode(v, text, flags, NULL, 0, &mem_libc, &e);
    if (n < 0 || (u64)n > text.n * (kind->blank_first ? 2 : 1)) abort();
    i32 *ids = malloc((size_t)n * sizeof *ids + 1);
    if (!ids || vocab_encode(v, text, flags, ids, (u64)n, &mem_libc, &e) != n) abort();
    struct utf8_stream stream = {0};
    bool start = true; /* of the text, or behind an added token */
    for (i64 i = 0; i < n; i++) {
        struct str piece = vocab_piece(v, ids[i], VOCAB_SPECIAL);
        bool added = v->kind[ids[i]] == VOCAB_USER || !vocab_is_plain(v, ids[i]);
        if (piece.n == 0 || (!flags && !vocab_is_plain(v, ids[i]))) abort();
        for (struct str in = piece; in.n;)
            utf8_next(&stream, &in);
        if (kind->blank_first && start && !added) {
            if (piece.p[0] != ' ') abort();
            piece.p++;
            piece.n--;
        }
        eat(&rest, piece, kind->blanks && !added);
        start = added;
    }
    utf8_end(&stream);
    if (rest.n) abort();
    free(ids);
    return 0;
}
