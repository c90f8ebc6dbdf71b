/* Any bytes through the tokenizer of a small vocabulary and back. The first byte chooses the
 * pre-tokenizer and the flags, the rest is the text. */
#include "file/gguf.h"
#include "kern/quant.h"
#include "text/token.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct vocab *vocabs[3];

/* The vocabulary under each pre-tokenizer; lives as long as the process. */
static void open_vocabs(void) {
    static const char *const pres[] = {"llama-bpe", "gpt2", "smollm"};
    static struct arena arena;
    static struct gguf g;
    glim_err e = {0};
    arena_init(&arena, &mem_libc);
    if (gguf_open(&g, "test/data/llama.gguf", &arena, quant_size, &e)) abort();
    for (u32 i = 0; i < g.n_kv; i++) {
        if (!str_is(g.kv[i].key, "tokenizer.ggml.pre")) continue;
        for (u32 k = 0; k < COUNT(pres); k++) {
            g.kv[i].s = (struct str){pres[k], strlen(pres[k])};
            if (vocab_open(&vocabs[k], &g, &arena, &e)) abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!vocabs[0]) open_vocabs();
    if (size == 0) return 0;
    const struct vocab *v = vocabs[data[0] % COUNT(vocabs)];
    u32 flags = data[0] & 4 ? VOCAB_SPECIAL : 0;
    struct str text = {(const char *)data + 1, size - 1};
    glim_err e = {0};
    i64 n = vocab_encode(v, text, flags, NULL, 0, &mem_libc, &e);
    if (n < 0 || (u64)n > text.n) abort();
    i32 *ids = malloc((size_t)n * sizeof *ids + 1);
    if (!ids || vocab_encode(v, text, flags, ids, (u64)n, &mem_libc, &e) != n) abort();
    struct utf8_stream stream = {0};
    size_t at = 0;
    for (i64 i = 0; i < n; i++) {
        struct str piece = vocab_piece(v, ids[i], VOCAB_SPECIAL);
        if (piece.n == 0 || piece.n > text.n - at) abort();
        if (memcmp(text.p + at, piece.p, piece.n) != 0) abort();
        if (!flags && v->kind[ids[i]] == VOCAB_CONTROL) abort();
        at += piece.n;
        for (struct str in = piece; in.n;)
            utf8_next(&stream, &in);
    }
    utf8_end(&stream);
    if (at != text.n) abort();
    free(ids);
    return 0;
}
