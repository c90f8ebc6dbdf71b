/* Byte-level BPE: a word starts as its bytes' tokens; of all neighbours the pair with the lowest
 * merge rank is joined, leftmost first, until no pair has a rank. A heap of candidate pairs over a
 * linked list of tokens makes that O(n log n) for a word of n bytes.
 *
 * Invariant: a merge's result stands for exactly the bytes of its two parts, so that decoding what
 * was encoded gives the same bytes back. Merges of which that isn't true are not used. */
#include "text/bpe.h"

#include <stdio.h>
#include <string.h>

#include "text/split.h"
#include "text/unicode.h"

#ifdef GLIM_SHRINK
enum { SMALL_WORD = 4 }; /* lets every test run the path of long words */
#else
enum { SMALL_WORD = 128 }; /* bytes; longer words take scratch memory from the allocator */
#endif
enum { NO_RANK = 0xffffffffu };

struct merge {
    i32 left, right, result;
};

/* Tokens by text: open addressing, a slot holds id + 1. */
struct names {
    const struct str *key; /* [V] */
    u32 *slot;
    u64 mask;
};

struct bpe {
    split_fn *split;
    bool whole_words; /* a word that is a token is not merged from bytes */
    i32 byte_id[256]; /* -1: the vocabulary lacks it */
    struct merge *merge;
    u32 *pair_slot; /* open addressing by (left, right), a slot holds rank + 1 */
    u64 pair_mask;
    struct names words; /* normal tokens by their bytes; only for whole_words */
};

/* Pre-tokenizers by tokenizer.ggml.pre. A new one is a row here and a function in split.c. */
static const struct pre {
    const char *name;
    split_fn *split;
    bool whole_words, add_begin;
} pres[] = {
    {"smollm", split_digits_gpt2, false, false}, {"gpt2", split_gpt2, false, false},
    {"gpt-2", split_gpt2, false, false},         {"llama-bpe", split_llama3, true, true},
    {"llama3", split_llama3, true, true},        {"llama-v3", split_llama3, true, true},
};

/* ---- Hash tables ----------------------------------------------------------------------------- */

static u64 hash_mix(u64 x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

/* FNV-1a over a text given in two parts. */
static u64 hash_joined(struct str a, struct str b) {
    u64 h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < a.n; i++)
        h = (h ^ (u8)a.p[i]) * 0x100000001b3u;
    for (size_t i = 0; i < b.n; i++)
        h = (h ^ (u8)b.p[i]) * 0x100000001b3u;
    return hash_mix(h);
}

static bool equals_joined(struct str key, struct str a, struct str b) {
    return key.n == a.n + b.n && (a.n == 0 || memcmp(key.p, a.p, a.n) == 0) &&
           (b.n == 0 || memcmp(key.p + a.n, b.p, b.n) == 0);
}

/* Slots for n entries, at most half full. */
static u64 table_size(u64 n) {
    u64 size = 16;
    while (size < 2 * n)
        size *= 2;
    return size;
}

/* The token whose text is a followed by b, or -1. */
static i32 names_find(const struct names *t, struct str a, struct str b) {
    for (u64 i = hash_joined(a, b) & t->mask; t->slot[i]; i = (i + 1) & t->mask) {
        if (equals_joined(t->key[t->slot[i] - 1], a, b)) return (i32)(t->slot[i] - 1);
    }
    return -1;
}

/* Of two tokens with one text the later one is found, as in the maps of other engines. */
static void names_put(struct names *t, i32 id) {
    struct str none = {NULL, 0};
    u64 i = hash_joined(t->key[id], none) & t->mask;
    while (t->slot[i] && !equals_joined(t->key[t->slot[i] - 1], t->key[id], none))
        i = (i + 1) & t->mask;
    t->slot[i] = (u32)id + 1;
}

static u64 pair_hash(i32 left, i32 right) {
    return hash_mix((u64)(u32)left << 32 | (u32)right);
}

/* The slot of a pair: empty, or holding its rank + 1. */
static u32 *pair_at(const struct bpe *b, i32 left, i32 right) {
    u64 i = pair_hash(left, right) & b->pair_mask;
    while (b->pair_slot[i]) {
        const struct merge *m = &b->merge[b->pair_slot[i] - 1];
        if (m->left == left && m->right == right) break;
        i = (i + 1) & b->pair_mask;
    }
    return &b->pair_slot[i];
}

static u32 pair_rank(const struct bpe *b, i32 left, i32 right) {
    if (left < 0 || right < 0) return NO_RANK;
    return *pair_at(b, left, right) - 1; /* an empty slot wraps to NO_RANK */
}

/* ---- Encoding -------------------------------------------------------------------------------- */

/* A token of the word; it sits where its first byte is. */
struct sym {
    i32 id; /* -1: a byte without a token; SYM_DEAD: joined to the left */
    u32 prev, next;
};
enum { SYM_DEAD = -2 };

/* For words of up to cap bytes. heap holds rank << 32 | position of the pair's left token, 2 * cap
 * of them: at most one per byte at first, and one more with each merge. */
struct bpe_scratch {
    struct sym *sym;
    u64 *heap;
    u64 cap;
};

static void heap_down(u64 *heap, u64 n, u64 i) {
    u64 key = heap[i];
    for (u64 child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= key) break;
        heap[i] = heap[child];
    }
    heap[i] = key;
}

static void heap_push(u64 *heap, u64 *n, u64 key) {
    u64 i = (*n)++;
    for (; i > 0 && heap[(i - 1) / 2] > key; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = key;
}

static void push_pair(const struct bpe *b, struct bpe_scratch *s, u64 *n_heap, u32 left,
                      u32 right) {
    u32 rank = pair_rank(b, s->sym[left].id, s->sym[right].id);
    if (rank != NO_RANK) heap_push(s->heap, n_heap, (u64)rank << 32 | left);
}

/* Joins pairs until none has a rank. The heap may hold pairs that a merge has broken since; they
 * are known by their tokens, which never come back at one place because tokens only grow. */
static void merge_word(const struct bpe *b, struct bpe_scratch *s, u32 n, u64 n_heap) {
    struct sym *sym = s->sym;
    while (n_heap) {
        u64 key = s->heap[0];
        s->heap[0] = s->heap[--n_heap];
        if (n_heap) heap_down(s->heap, n_heap, 0);
        u32 left = (u32)key;
        const struct merge *m = &b->merge[key >> 32];
        if (sym[left].id != m->left) continue;
        u32 right = sym[left].next;
        if (right == n || sym[right].id != m->right) continue;
        u32 next = sym[right].next;
        sym[left].id = m->result;
        sym[left].next = next;
        sym[right].id = SYM_DEAD;
        if (left > 0) push_pair(b, s, &n_heap, sym[left].prev, left);
        if (next == n) continue;
        sym[next].prev = left;
        push_pair(b, s, &n_heap, left, next);
    }
}

/* One word of n <= s->cap bytes. */
static void encode_word(const struct bpe *b, struct str word, struct bpe_scratch *s,
                        struct vocab_ids *ids) {
    u32 n = (u32)word.n;
    struct sym *sym = s->sym;
    for (u32 i = 0; i < n; i++) {
        sym[i] = (struct sym){b->byte_id[(u8)word.p[i]], i - 1, i + 1};
    }
    u64 n_heap = 0;
    for (u32 i = 0; i + 1 < n; i++) {
        u32 rank = pair_rank(b, sym[i].id, sym[i + 1].id);
        if (rank != NO_RANK) s->heap[n_heap++] = (u64)rank << 32 | i;
    }
    for (u64 i = n_heap / 2; i-- > 0;)
        heap_down(s->heap, n_heap, i);
    merge_word(b, s, n, n_heap);
    for (u32 i = 0; i < n; i = sym[i].next) {
        if (sym[i].id >= 0) vocab_push(ids, sym[i].id);
    }
}

/* Frees big (unless it is the stack's) and gives room for words of n bytes. */
static int scratch_grow(struct bpe_scratch *big, u64 n, const glim_alloc *tmp, glim_err *e) {
    mem_put(tmp, big->sym, big->cap * sizeof *big->sym);
    mem_put(tmp, big->heap, 2 * big->cap * sizeof *big->heap);
    *big = (struct bpe_scratch){mem_get(tmp, n * sizeof *big->sym),
                                n ? mem_get(tmp, 2 * n * sizeof *big->heap) : NULL, n};
    if (n == 0 || (big->sym && big->heap)) return 0;
    mem_put(tmp, big->sym, n * sizeof *big->sym);
    mem_put(tmp, big->heap, 2 * n * sizeof *big->heap);
    *big = (struct bpe_scratch){NULL, NULL, 0};
    return fail(e, GLIM_NOMEM, "no memory to tokenize a word of %llu bytes", (unsigned long long)n);
}

static int bpe_encode(const struct vocab *v, struct str text, struct vocab_ids *ids,
                      const glim_alloc *tmp, glim_err *e) {
    const struct bpe *b = v->algorithm;
    struct sym small_sym[SMALL_WORD];
    u64 small_heap[2 * SMALL_WORD];
    struct bpe_scratch small = {small_sym, small_heap, SMALL_WORD}, big = {NULL, NULL, 0};
    struct str none = {NULL, 0};
    int status = 0;
    while (text.n && status == 0) {
        struct str word = {text.p, b->split(text)};
        text.p += word.n;
        text.n -= word.n;
        i32 id = b->whole_words ? names_find(&b->words, word, none) : -1;
        if (id >= 0) {
            vocab_push(ids, id);
        } else if (word.n <= small.cap) {
            encode_word(b, word, &small, ids);
        } else {
            if (word.n > big.cap) status = scratch_grow(&big, MAX(word.n, 2 * big.cap), tmp, e);
            if (status == 0) encode_word(b, word, &big, ids);
        }
    }
    if (big.cap) scratch_grow(&big, 0, tmp, e);
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

static int find_pre(const struct pre **out, const struct gguf *g, glim_err *e) {
    struct str name;
    int status = gguf_str(g, "tokenizer.ggml.pre", &name, e);
    if (status == GLIM_FORMAT) return status;
    char known[120] = "";
    for (size_t i = 0, n = 0; i < COUNT(pres); i++) {
        if (status == 0 && str_is(name, pres[i].name)) {
            *out = &pres[i];
            return 0;
        }
        int wrote = snprintf(known + n, sizeof known - n, " %s", pres[i].name);
        n = MIN(n + (size_t)wrote, sizeof known - 1);
    }
    if (status) {
        return fail(e, GLIM_UNSUPPORTED,
                    "tokenizer.ggml.pre is missing, so the file does not say how to cut text into "
                    "words (supported:%s); convert the model again with a newer converter",
                    known);
    }
    return fail(e, GLIM_UNSUPPORTED,
                "tokenizer.ggml.pre '%.*s' is not a supported pre-tokenizer (supported:%s)",
                STR(name), known);
}

/* Whether text of that kind may come out of plain text. */
static bool is_plain(const struct vocab *v, i32 id) {
    return v->kind[id] != VOCAB_CONTROL && v->kind[id] != VOCAB_UNKNOWN;
}

static bool is_concat(const struct vocab *v, const struct merge *m) {
    return equals_joined(v->piece[m->result], v->piece[m->left], v->piece[m->right]);
}

/* "left right": the blank after the first character parts them, as a part may be a blank itself in
 * vocabularies that are not byte-level. */
static int read_merge(struct merge *m, u64 rank, struct str line, const struct names *texts,
                      glim_err *e) {
    const char *blank = line.n > 1 ? memchr(line.p + 1, ' ', line.n - 1) : NULL;
    if (!blank || blank == line.p + line.n - 1) {
        return fail(e, GLIM_FORMAT, "tokenizer.ggml.merges: entry %llu '%.*s' is not two tokens",
                    (unsigned long long)rank, STR(line));
    }
    struct str none = {NULL, 0}, left = {line.p, (size_t)(blank - line.p)};
    struct str right = {blank + 1, line.n - left.n - 1};
    *m = (struct merge){names_find(texts, left, none), names_find(texts, right, none),
                        names_find(texts, left, right)};
    if (m->left >= 0 && m->right >= 0 && m->result >= 0) return 0;
    return fail(e, GLIM_FORMAT,
                "tokenizer.ggml.merges: entry %llu '%.*s': the %s is not in tokenizer.ggml.tokens",
                (unsigned long long)rank, STR(line),
                m->left < 0    ? "first part"
                : m->right < 0 ? "second part"
                               : "joined text");
}

static int open_merges(struct bpe *b, const struct vocab *v, const struct names *texts,
                       const struct gguf *g, struct arena *a, glim_err *e) {
    const struct gguf_kv *kv = gguf_find(g, "tokenizer.ggml.merges");
    if (!kv || !kv->is_array || kv->type != GGUF_STR || kv->n >= NO_RANK) {
        return fail(e, GLIM_FORMAT, "tokenizer.ggml.merges is %s",
                    kv ? "not an array of strings" : "missing");
    }
    u64 slots = table_size(kv->n);
    b->merge = arena_array(a, kv->n, sizeof *b->merge);
    b->pair_slot = arena_array(a, slots, sizeof *b->pair_slot);
    b->pair_mask = slots - 1;
    if (!b->merge || !b->pair_slot) {
        return fail(e, GLIM_NOMEM, "no memory for %llu merges", (unsigned long long)kv->n);
    }
    for (u64 rank = 0; rank < kv->n; rank++) {
        struct merge m;
        int status = read_merge(&m, rank, kv->strings[rank], texts, e);
        if (status) return status;
        b->merge[rank] = m;
        /* Plain text must not turn into a control token by way of a merge. */
        if (!is_plain(v, m.left) || !is_plain(v, m.right) || !is_plain(v, m.result)) continue;
        if (!is_concat(v, &m)) continue;
        u32 *slot = pair_at(b, m.left, m.right);
        if (!*slot) *slot = (u32)rank + 1; /* of two equal merges the earlier one counts */
    }
    return 0;
}

/* Single bytes, and for whole_words all words, by what they stand for. */
static int open_words(struct bpe *b, struct vocab *v, struct arena *a, glim_err *e) {
    u64 slots = table_size(v->n);
    b->words = (struct names){v->piece, NULL, slots - 1};
    if (b->whole_words) {
        b->words.slot = arena_array(a, slots, sizeof *b->words.slot);
        if (!b->words.slot) return fail(e, GLIM_NOMEM, "no memory for %u words", v->n);
    }
    memset(b->byte_id, 0xff, sizeof b->byte_id);
    for (u32 id = 0; id < v->n; id++) {
        if (!is_plain(v, (i32)id) || v->kind[id] == VOCAB_USER || v->piece[id].n == 0) continue;
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
    if (status) return status;
    /* The merges name tokens by text; that table is needed only here. */
    u64 slots = table_size(v->n);
    struct names by_text = {texts, mem_get(a->alloc, slots * sizeof(u32)), slots - 1};
    if (!by_text.slot) return fail(e, GLIM_NOMEM, "no memory for %u token names", v->n);
    memset(by_text.slot, 0, slots * sizeof(u32));
    for (u32 id = 0; id < v->n; id++)
        names_put(&by_text, (i32)id);
    status = open_merges(b, v, &by_text, g, a, e);
    mem_put(a->alloc, by_text.slot, slots * sizeof(u32));
    return status;
}
