/* Byte-level BPE: a pre-tokenizer cuts text into words; a word starts as its bytes' tokens and is
 * joined by merge rank. */
#include "text/bpe.h"

#include <stdio.h>
#include <string.h>

#include "text/merge.h"
#include "text/names.h"
#include "text/ranks.h"
#include "text/split.h"
#include "text/unicode.h"

struct bpe {
    split_fn *split;
    bool whole_words; /* a word that is a token is not merged from bytes */
    i32 byte_id[256]; /* -1: the vocabulary lacks it */
    struct ranks ranks;
    struct names words; /* normal tokens by their bytes; only for whole_words */
};

/* Pre-tokenizers by tokenizer.ggml.pre. A new one is a row here and, where its expression is new,
 * a function in split.c. Several names stand for one expression, as converters name models. No row
 * normalises: qwen2's own tokenizer brings text into Unicode's composed form (NFC) first, but
 * neither the file nor the engines that read it know of that, and a text's bytes would be lost. */
static const struct pre {
    const char *name;
    split_fn *split;
    bool whole_words, add_begin;
} pres[] = {
    {"gpt2", split_gpt2, false, false},
    {"gpt-2", split_gpt2, false, false},
    {"phi-2", split_gpt2, false, false},
    {"mpt", split_gpt2, false, false},
    {"olmo", split_gpt2, false, false},
    {"granite-docling", split_gpt2, false, false},
    {"smollm", split_digits_gpt2, false, false},
    {"starcoder", split_digits_gpt2, false, false},
    {"refact", split_digits_gpt2, false, false},
    {"command-r", split_digits_gpt2, false, false},
    {"codeshell", split_digits_gpt2, false, false},
    {"llama-bpe", split_llama3, true, true},
    {"llama3", split_llama3, true, true},
    {"llama-v3", split_llama3, true, true},
    {"lfm2", split_llama3, true, true},
    {"pixtral", split_llama3, true, true},
    {"falcon3", split_llama3, true, true},
    {"falcon-h1", split_llama3, true, true},
    {"smaug-bpe", split_llama3, false, false},
    {"dbrx", split_llama3, false, false},
    {"qwen2", split_qwen2, false, false},
    {"deepseek-r1-qwen", split_qwen2, false, false},
    {"stablelm2", split_qwen2, false, false},
    {"megrez", split_qwen2, false, false},
    {"tekken", split_tekken, true, true},
    {"gpt-4o", split_o200k, false, false},
    {"llama4", split_o200k, false, false},
};

/* ---- Encoding -------------------------------------------------------------------------------- */

static u32 pair_of_bytes(const void *algorithm, struct str joined, i32 left, i32 right, i32 *id) {
    (void)joined;
    return ranks_find(&((const struct bpe *)algorithm)->ranks, left, right, id);
}

/* One word, merged from its bytes. */
static int encode_word(const struct bpe *b, struct str word, struct merge_room *room,
                       struct vocab_ids *ids, glim_err *e) {
    int status = merge_room_for(room, word.n, e);
    if (status) return status;
    struct merge_sym *sym = room->sym;
    for (u32 i = 0; i < word.n; i++) {
        sym[i].id = b->byte_id[(u8)word.p[i]];
        sym[i].next = i + 1;
    }
    merge_word(room, word, pair_of_bytes, b);
    for (u32 i = 0; i < word.n; i = sym[i].next) {
        if (sym[i].id >= 0) vocab_push(ids, sym[i].id);
    }
    return 0;
}

static int bpe_encode(const struct vocab *v, struct str text, struct vocab_ids *ids,
                      const glim_alloc *tmp, glim_err *e) {
    const struct bpe *b = v->algorithm;
    struct merge_room room;
    merge_room_init(&room, tmp);
    struct str none = {NULL, 0};
    int status = 0;
    while (text.n && status == 0) {
        struct str word = {text.p, b->split(text)};
        text.p += word.n;
        text.n -= word.n;
        i32 id = b->whole_words ? names_find(&b->words, word, none) : -1;
        if (id >= 0)
            vocab_push(ids, id);
        else
            status = encode_word(b, word, &room, ids, e);
    }
    merge_room_free(&room);
    return status;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* GPT-2's alphabet: printable characters of Latin-1 stand for themselves, the other 68 bytes, in
 * order, for U+0100 and on. */
static bool is_own_character(u32 code) {
    return (code >= 0x21 && code <= 0x7e) || (code >= 0xa1 && code <= 0xff && code != 0xad);
}

static int byte_of_character(u32 code) {
    if (is_own_character(code)) return (int)code;
    if (code < 0x100 || code >= 0x100 + 68) return -1;
    u32 k = code - 0x100;
    if (k <= 0x20) return (int)k;                /* 00 to 20 */
    if (k < 0x43) return (int)(0x7f + k - 0x21); /* 7f to a0 */
    return 0xad;
}

i64 bpe_bytes(struct str text, char *out) {
    i64 n = 0;
    for (size_t i = 0; i < text.n;) {
        struct unicode_char c = unicode_read(text.p + i, text.n - i);
        int byte = c.state == UNICODE_WHOLE ? byte_of_character(c.code) : -1;
        if (byte < 0) return -1;
        out[n++] = (char)byte;
        i += c.len;
    }
    return n;
}

/* The names in pres, for messages: " a b c". */
static void list_pres(char *out, size_t size) {
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; i < COUNT(pres); i++) {
        if (i && pres[i].split == pres[i - 1].split) continue; /* one name of each kind will do */
        int wrote = snprintf(out + n, size - n, " %s", pres[i].name);
        n = MIN(n + (size_t)wrote, size - 1);
    }
}

static int find_pre(const struct pre **out, const struct gguf *g, glim_err *e) {
    struct str name;
    int status = gguf_str(g, "tokenizer.ggml.pre", &name, e);
    if (status == GLIM_FORMAT) return status;
    for (size_t i = 0; i < COUNT(pres) && status == 0; i++) {
        if (!str_is(name, pres[i].name)) continue;
        *out = &pres[i];
        return 0;
    }
    char known[100];
    list_pres(known, sizeof known);
    if (status) {
        return fail(e, GLIM_UNSUPPORTED,
                    "tokenizer.ggml.pre is missing, so the file does not say how to cut text into "
                    "words (supported:%s); convert the model again with a newer converter",
                    known);
    }
    return fail(e, GLIM_UNSUPPORTED,
                "tokenizer.ggml.pre '%.*s' is not a supported pre-tokenizer (supported are those "
                "of:%s)",
                STR(name), known);
}

/* Single bytes, and for whole_words all words, by what they stand for. */
static int open_words(struct bpe *b, struct vocab *v, struct arena *a, glim_err *e) {
    u64 slots = names_slots(v->n);
    b->words = (struct names){v->piece, NULL, slots - 1};
    if (b->whole_words) {
        b->words.slot = arena_array(a, slots, sizeof *b->words.slot);
        if (!b->words.slot) return fail(e, GLIM_NOMEM, "no memory for %u words", v->n);
    }
    memset(b->byte_id, 0xff, sizeof b->byte_id);
    for (u32 id = 0; id < v->n; id++) {
        if (!vocab_is_plain(v, (i32)id) || v->kind[id] == VOCAB_USER || v->piece[id].n == 0)
            continue;
        if (v->piece[id].n == 1) b->byte_id[(u8)v->piece[id].p[0]] = (i32)id;
        if (b->whole_words) names_put(&b->words, (i32)id);
    }
    for (u32 byte = 0; byte < 256; byte++)
        v->missing[byte] = b->byte_id[byte] < 0;
    return 0;
}

int bpe_open(struct vocab *v, const struct str *texts, const struct gguf *g, struct arena *a,
             glim_err *e) {
    const struct pre *pre = NULL;
    int status = find_pre(&pre, g, e);
    if (status) return status;
    struct bpe *b = arena_get(a, sizeof *b);
    if (!b) return fail(e, GLIM_NOMEM, "no memory for the tokenizer");
    b->split = pre->split;
    b->whole_words = pre->whole_words;
    v->add_begin = pre->add_begin;
    v->algorithm = b;
    v->encode = bpe_encode;
    status = open_words(b, v, a, e);
    return status ? status : ranks_open(&b->ranks, v, texts, g, a, e);
}
