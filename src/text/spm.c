/* Tokenizers over characters. Inside, a blank is a blank: pieces are kept as the bytes that they
 * stand for, and U+2581 in a text becomes a blank before it is encoded, which joins the same
 * symbols as turning all blanks into U+2581 would.
 *
 * Invariant: what was encoded decodes to the same bytes, but for U+2581, which comes back as a
 * blank, for the blank that some vocabularies put in front, and for bytes that no token spells. */
#include "text/spm.h"

#include <math.h>
#include <string.h>

#include "text/merge.h"
#include "text/names.h"
#include "text/ranks.h"
#include "text/unicode.h"

#define BLANK "\xe2\x96\x81" /* U+2581 */

struct spm {
    struct names words; /* tokens that plain text may become, without those that spell bytes */
    size_t longest;     /* bytes of the longest of them */
    i32 one[256];       /* the token of a one-byte character, or -1 */
    i32 byte_id[256];   /* the token that spells a byte, or -1 */
    i32 unknown;        /* stands for characters that cannot be spelled; -1: they are left out */
    bool blank_first;   /* every stretch of plain text gets a blank in front */
    struct merge_seams seams;
    merge_pair_fn *pair;
    u32 *rank;          /* [V] by falling score: 0 is the highest; scores only */
    struct ranks ranks; /* gemma4 only */
    bool newline_runs;  /* gemma4: runs of newlines are words */
};

/* ---- Spelling -------------------------------------------------------------------------------- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that a text like <0x0A> spells, or -1. */
static int spelled_byte(struct str text) {
    if (text.n != 6 || memcmp(text.p, "<0x", 3) != 0 || text.p[5] != '>') return -1;
    int high = hex_digit(text.p[3]), low = hex_digit(text.p[4]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* Copies text with U+2581 as blanks; out may be NULL to count. */
static size_t unescape(struct str text, char *out) {
    size_t n = 0;
    for (size_t i = 0; i < text.n; n++) {
        bool blank = text.n - i >= 3 && memcmp(text.p + i, BLANK, 3) == 0;
        if (out) out[n] = blank ? ' ' : text.p[i];
        i += blank ? 3 : 1;
    }
    return n;
}

i64 spm_bytes(struct str text, char *out) {
    int byte = spelled_byte(text);
    if (byte < 0) return (i64)unescape(text, out);
    *out = (char)byte;
    return 1;
}

/* Plain text as it is encoded: without U+2581, with the blank in front. */
struct spelled {
    struct str text;
    char *copy; /* owned, or NULL */
    size_t size;
    char small[256];
};

static int spell(struct spelled *s, struct str text, bool blank_first, const glim_alloc *tmp,
                 glim_err *e) {
    s->text = text;
    s->copy = NULL;
    s->size = 0;
    if (!blank_first && !memmem(text.p, text.n, BLANK, 3)) return 0;
    size_t n = text.n + blank_first;
    char *out = s->small;
    if (n > sizeof s->small) {
        out = s->copy = mem_get(tmp, n);
        s->size = n;
        if (!out) return fail(e, GLIM_NOMEM, "no memory to tokenize %zu bytes", n);
    }
    if (blank_first) out[0] = ' ';
    s->text = (struct str){out, blank_first + unescape(text, out + blank_first)};
    return 0;
}

/* ---- Encoding -------------------------------------------------------------------------------- */

static u32 pair_by_score(const void *algorithm, struct str joined, i32 left, i32 right, i32 *id) {
    (void)left, (void)right; /* characters that are no token may join, too */
    const struct spm *s = algorithm;
    if (joined.n > s->longest) return MERGE_NONE;
    *id = names_find(&s->words, joined, (struct str){NULL, 0});
    return *id < 0 ? MERGE_NONE : s->rank[*id];
}

static u32 pair_by_rank(const void *algorithm, struct str joined, i32 left, i32 right, i32 *id) {
    (void)joined;
    return ranks_find(&((const struct spm *)algorithm)->ranks, left, right, id);
}

/* A character that is no token. last_unknown: the id before it was the unknown token, of which a
 * run of characters gives only one. */
static bool push_bytes(const struct spm *s, struct str ch, bool last_unknown,
                       struct vocab_ids *ids) {
    for (size_t i = 0; i < ch.n; i++) {
        if (s->byte_id[(u8)ch.p[i]] >= 0) continue;
        if (s->unknown >= 0 && !last_unknown) vocab_push(ids, s->unknown);
        return s->unknown >= 0;
    }
    for (size_t i = 0; i < ch.n; i++)
        vocab_push(ids, s->byte_id[(u8)ch.p[i]]);
    return false;
}

/* Encodes a stretch of text that no token sticks out of. *last_unknown: see push_bytes. */
static int encode_stretch(const struct spm *s, struct str word, struct merge_room *room,
                          bool *last_unknown, struct vocab_ids *ids, glim_err *e) {
    int status = merge_room_for(room, word.n, e);
    if (status) return status;
    for (u32 i = 0, next; i < word.n; i = next) {
        struct str ch = {word.p + i, unicode_read(word.p + i, word.n - i).len};
        next = i + (u32)ch.n;
        i32 id = ch.n == 1 ? s->one[(u8)ch.p[0]] : names_find(&s->words, ch, (struct str){0});
        room->sym[i].id = id;
        room->sym[i].next = next;
    }
    merge_word(room, word, s->pair, s);
    for (u32 i = 0, next; i < word.n; i = next) {
        next = room->sym[i].next;
        i32 id = room->sym[i].id;
        if (id >= 0) {
            vocab_push(ids, id);
            *last_unknown = false;
        } else {
            struct str ch = {word.p + i, next - i};
            *last_unknown = push_bytes(s, ch, *last_unknown, ids);
        }
    }
    return 0;
}

/* Up to the next change between newlines and other text. */
static size_t newline_run(struct str text) {
    bool newlines = text.p[0] == '\n';
    size_t n = 1;
    while (n < text.n && (text.p[n] == '\n') == newlines)
        n++;
    return n;
}

static int spm_encode(const struct vocab *v, struct str text, struct vocab_ids *ids,
                      const glim_alloc *tmp, glim_err *e) {
    const struct spm *s = v->algorithm;
    struct spelled spelled;
    int status = spell(&spelled, text, s->blank_first, tmp, e);
    if (status) return status;
    struct merge_room room;
    merge_room_init(&room, tmp);
    bool last_unknown = false;
    text = spelled.text;
    while (text.n && status == 0) {
        struct str word = {text.p, s->newline_runs ? newline_run(text) : text.n};
        text.p += word.n;
        text.n -= word.n;
        /* A run of newlines that the vocabulary holds stays whole, whatever the merges say. */
        i32 id = -1;
        if (s->newline_runs && word.p[0] == '\n')
            id = names_find(&s->words, word, (struct str){NULL, 0});
        if (id >= 0) {
            vocab_push(ids, id);
            last_unknown = false;
            continue;
        }
        while (word.n && status == 0) {
            struct str stretch = {word.p, merge_stretch(&s->seams, word)};
            word.p += stretch.n;
            word.n -= stretch.n;
            status = encode_stretch(s, stretch, &room, &last_unknown, ids, e);
        }
    }
    merge_room_free(&room);
    mem_put(tmp, spelled.copy, spelled.size);
    return status;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* Tokens by what they are for. A text with a real blank in it cannot come up, as blanks are spelled
 * U+2581, but it would stand for the same bytes as one that can. */
static int open_tokens(struct spm *s, struct vocab *v, const struct str *texts, struct arena *a,
                       glim_err *e) {
    u64 slots = names_slots(v->n);
    s->words = (struct names){v->piece, arena_array(a, slots, sizeof(u32)), slots - 1};
    if (!s->words.slot) return fail(e, GLIM_NOMEM, "no memory for %u token names", v->n);
    memset(s->one, 0xff, sizeof s->one);
    memset(s->byte_id, 0xff, sizeof s->byte_id);
    s->unknown = -1;
    for (u32 id = 0; id < v->n; id++) {
        if (v->kind[id] == VOCAB_UNKNOWN && s->unknown < 0) s->unknown = (i32)id;
        if (!vocab_is_plain(v, (i32)id) || v->kind[id] == VOCAB_USER || texts[id].n == 0) continue;
        int byte = spelled_byte(texts[id]);
        if (byte >= 0) s->byte_id[byte] = (i32)id;
        if (byte >= 0 || memchr(texts[id].p, ' ', texts[id].n)) continue;
        names_put(&s->words, (i32)id);
        if (v->piece[id].n == 1) s->one[(u8)v->piece[id].p[0]] = (i32)id;
        s->longest = MAX(s->longest, v->piece[id].n);
    }
    for (u32 byte = 0; byte < 256; byte++)
        v->missing[byte] = s->byte_id[byte] < 0 && s->one[byte] < 0;
    return 0;
}

static int open_common(struct spm **out, struct vocab *v, const struct str *texts, struct arena *a,
                       glim_err *e) {
    struct spm *s = *out = arena_get(a, sizeof *s);
    if (!s) return fail(e, GLIM_NOMEM, "no memory for the tokenizer");
    v->algorithm = s;
    v->encode = spm_encode;
    v->add_begin = true;
    return open_tokens(s, v, texts, a, e);
}

/* Scores as ranks: the bits of a float, seen as an integer, order like the floats of one sign. */
static int open_scores(struct spm *s, const struct vocab *v, const struct gguf *g, struct arena *a,
                       glim_err *e) {
    const char *key = "tokenizer.ggml.scores";
    const struct gguf_kv *kv = gguf_find(g, key);
    if (!kv || !kv->is_array || (kv->type != GGUF_F32 && kv->type != GGUF_F64)) {
        return fail(e, GLIM_FORMAT, "%s is %s", key, kv ? "not an array of numbers" : "missing");
    }
    if (kv->n != v->n) {
        return fail(e, GLIM_FORMAT, "%s has %llu entries for %u tokens", key,
                    (unsigned long long)kv->n, v->n);
    }
    s->rank = arena_array(a, v->n, sizeof *s->rank);
    if (!s->rank) return fail(e, GLIM_NOMEM, "no memory for %u scores", v->n);
    for (u32 id = 0; id < v->n; id++) {
        f32 score = (f32)gguf_item_real(kv, id) + 0.0f; /* -0 is 0 */
        if (isnan(score)) return fail(e, GLIM_FORMAT, "%s: entry %u is not a number", key, id);
        u32 bits;
        memcpy(&bits, &score, sizeof bits);
        s->rank[id] = bits >> 31 ? bits : 0x7fffffff - bits;
    }
    return 0;
}

int spm_open(struct vocab *v, const struct str *texts, const struct gguf *g, struct arena *a,
             glim_err *e) {
    struct spm *s;
    int status = open_common(&s, v, texts, a, e);
    if (!status) status = open_scores(s, v, g, a, e);
    if (status) return status;
    s->pair = pair_by_score;
    s->blank_first = true;
    for (u64 i = 0; i <= s->words.mask; i++) {
        if (s->words.slot[i]) merge_seams_add(&s->seams, v->piece[s->words.slot[i] - 1]);
    }
    status = gguf_bool(g, "tokenizer.ggml.add_space_prefix", &s->blank_first, e);
    return status == GLIM_NOT_FOUND ? 0 : status;
}

int spm_open_gemma4(struct vocab *v, const struct str *texts, const struct gguf *g, struct arena *a,
                    glim_err *e) {
    struct spm *s;
    int status = open_common(&s, v, texts, a, e);
    if (!status) status = ranks_open(&s->ranks, v, texts, g, a, e);
    if (status) return status;
    s->pair = pair_by_rank;
    s->newline_runs = true;
    for (u64 rank = 0; rank < s->ranks.n; rank++) {
        if (ranks_used(&s->ranks, rank))
            merge_seams_add(&s->seams, v->piece[s->ranks.merge[rank].result]);
    }
    return 0;
}
