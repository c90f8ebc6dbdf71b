/* What all tokenizers share: reading the vocabulary, added tokens, begin and end, pieces. */
#include "text/token.h"

#include <string.h>

#include "text/bpe.h"
#include "text/spm.h"

void vocab_push(struct vocab_ids *ids, i32 id) {
    if (ids->n < ids->cap) ids->id[ids->n] = id;
    ids->n++;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* Control tokens with these texts end an answer whatever the eos keys say: turn-taking models name
 * the document's end as eos and mark the end of a turn by another token, or the reverse. */
static const char *const end_names[] = {
    "<|im_end|>",      "<|eot_id|>",    "<|eom_id|>", "<|end_of_text|>",
    "<|endoftext|>",   "<end_of_turn>", "<turn|>",    "</s>",
    "<|end_of_turn|>", "<EOT>",         "<|eot|>",
};

static bool is_added(u8 kind) {
    return kind == VOCAB_CONTROL || kind == VOCAB_USER || kind == VOCAB_UNKNOWN;
}

static int read_kinds(struct vocab *v, const struct gguf *g, glim_err *e) {
    const char *key = "tokenizer.ggml.token_type";
    const struct gguf_kv *kv = gguf_find(g, key);
    memset(v->kind, VOCAB_NORMAL, v->n);
    if (!kv) return 0;
    if (!kv->is_array || kv->type == GGUF_STR || kv->type == GGUF_F32 || kv->type == GGUF_F64) {
        return fail(e, GLIM_FORMAT, "%s is not an array of integers", key);
    }
    if (kv->n != v->n) {
        return fail(e, GLIM_FORMAT, "%s has %llu entries for %u tokens", key,
                    (unsigned long long)kv->n, v->n);
    }
    for (u32 id = 0; id < v->n; id++) {
        i64 kind = gguf_item_int(kv, id);
        if (kind < 0 || kind > VOCAB_BYTE) {
            return fail(e, GLIM_FORMAT, "%s: entry %u is %lld (known are 0 to %d)", key, id,
                        (long long)kind, VOCAB_BYTE);
        }
        if (kind) v->kind[id] = (u8)kind; /* 0 says nothing: an ordinary token */
    }
    return 0;
}

/* Pieces: added tokens stand for their text, others for the bytes that it spells. */
static int read_pieces(struct vocab *v, const struct str *texts,
                       i64 (*bytes)(struct str text, char *out), struct arena *a, glim_err *e) {
    u64 total = 0;
    for (u32 id = 0; id < v->n; id++) {
        if (!add_ok(total, texts[id].n, &total)) return fail(e, GLIM_FORMAT, "token texts wrap");
    }
    char *at = arena_get(a, total);
    if (!at) {
        return fail(e, GLIM_NOMEM, "no memory for %llu bytes of token texts",
                    (unsigned long long)total);
    }
    for (u32 id = 0; id < v->n; id++) {
        i64 n = is_added(v->kind[id]) ? -1 : bytes(texts[id], at);
        if (n < 0) {
            n = (i64)texts[id].n;
            if (n) memcpy(at, texts[id].p, texts[id].n);
        }
        v->piece[id] = (struct str){at, (size_t)n};
        at += n;
    }
    return 0;
}

static int compare_texts(struct str a, struct str b) {
    size_t n = MIN(a.n, b.n);
    int order = n ? memcmp(a.p, b.p, n) : 0;
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

static bool added_before(const struct vocab *v, i32 x, i32 y) {
    int order = compare_texts(v->piece[x], v->piece[y]);
    return order < 0 || (order == 0 && x < y);
}

/* Orders added tokens by text, equal texts by id. Heap sort: no recursion, no bad case. */
static void sort_added(const struct vocab *v, i32 *id, u64 n) {
    for (u64 start = n / 2, end = n; end > 1;) {
        i32 key;
        if (start > 0) {
            key = id[--start];
        } else {
            key = id[--end];
            id[end] = id[0];
        }
        u64 i = start;
        for (u64 child; (child = 2 * i + 1) < end; i = child) {
            if (child + 1 < end && added_before(v, id[child], id[child + 1])) child++;
            if (!added_before(v, key, id[child])) break;
            id[i] = id[child];
        }
        id[i] = key;
    }
}

static int index_added(struct vocab *v, struct arena *a, glim_err *e) {
    u32 n = 0;
    for (u32 id = 0; id < v->n; id++)
        n += is_added(v->kind[id]) && v->piece[id].n > 0;
    v->added = arena_array(a, n, sizeof *v->added);
    if (!v->added) return fail(e, GLIM_NOMEM, "no memory for %u added tokens", n);
    n = 0;
    for (u32 id = 0; id < v->n; id++) {
        if (!is_added(v->kind[id]) || v->piece[id].n == 0) continue;
        v->added[n++] = (i32)id;
        v->added_first[(u8)v->piece[id].p[0] + 1]++;
    }
    for (u32 b = 0; b < 256; b++)
        v->added_first[b + 1] += v->added_first[b];
    sort_added(v, v->added, n);
    return 0;
}

/* An id that the metadata names, or -1 where it names none. */
static int read_id(i32 *id, const struct vocab *v, const struct gguf *g, const char *key,
                   glim_err *e) {
    u32 value;
    *id = -1;
    int status = gguf_u32(g, key, &value, e);
    if (status == GLIM_NOT_FOUND) return 0;
    if (status) return status;
    if (value >= v->n) {
        return fail(e, GLIM_FORMAT, "%s is %u, but there are only %u tokens", key, value, v->n);
    }
    *id = (i32)value;
    return 0;
}

/* Begin, end, and the tokens that end an answer. */
static int read_ends(struct vocab *v, const struct gguf *g, glim_err *e) {
    i32 turn, message;
    int status = read_id(&v->begin, v, g, "tokenizer.ggml.bos_token_id", e);
    if (!status) status = read_id(&v->end, v, g, "tokenizer.ggml.eos_token_id", e);
    if (!status) status = read_id(&turn, v, g, "tokenizer.ggml.eot_token_id", e);
    if (!status) status = read_id(&message, v, g, "tokenizer.ggml.eom_token_id", e);
    if (status) return status;
    if (v->end >= 0) v->ends[v->end] = true;
    if (turn >= 0) v->ends[turn] = true;
    if (message >= 0) v->ends[message] = true;
    for (u32 id = 0; id < v->n; id++) {
        if (v->kind[id] != VOCAB_CONTROL) continue;
        for (size_t i = 0; i < COUNT(end_names); i++) {
            if (str_is(v->piece[id], end_names[i])) v->ends[id] = true;
        }
    }
    status = gguf_bool(g, "tokenizer.ggml.add_bos_token", &v->add_begin, e);
    if (status && status != GLIM_NOT_FOUND) return status;
    status = gguf_bool(g, "tokenizer.ggml.add_eos_token", &v->add_end, e);
    return status == GLIM_NOT_FOUND ? 0 : status;
}

/* Tokenizers by tokenizer.ggml.model, and where pre says so by tokenizer.ggml.pre; the first row
 * that fits counts. How a token's text becomes bytes, and the algorithm. */
static const struct tokenizer {
    const char *name, *pre;
    bool begins; /* with the begin token whatever add_bos_token says, as files got it wrong */
    i64 (*bytes)(struct str text, char *out);
    int (*open)(struct vocab *v, const struct str *texts, const struct gguf *g, struct arena *a,
                glim_err *e);
} tokenizers[] = {
    {"gpt2", NULL, false, bpe_bytes, bpe_open},
    {"llama", "gemma4", true, spm_bytes, spm_open_gemma4},
    {"llama", NULL, false, spm_bytes, spm_open},
    {"gemma4", NULL, true, spm_bytes, spm_open_gemma4},
};

static int find_tokenizer(const struct tokenizer **out, const struct gguf *g, glim_err *e) {
    struct str name, pre = {"", 0};
    int status = gguf_str(g, "tokenizer.ggml.model", &name, e);
    if (status == GLIM_NOT_FOUND) {
        return fail(e, GLIM_FORMAT, "tokenizer.ggml.model is missing: the file has no tokenizer");
    }
    if (!status) status = gguf_str(g, "tokenizer.ggml.pre", &pre, e);
    if (status && status != GLIM_NOT_FOUND) return status;
    for (size_t i = 0; i < COUNT(tokenizers); i++) {
        const struct tokenizer *t = &tokenizers[i];
        if (!str_is(name, t->name) || (t->pre && !str_is(pre, t->pre))) continue;
        *out = t;
        return 0;
    }
    return fail(e, GLIM_UNSUPPORTED,
                "tokenizer.ggml.model '%.*s' is not a supported tokenizer (supported: gpt2, llama, "
                "gemma4)",
                STR(name));
}

int vocab_open(struct vocab **out, const struct gguf *g, struct arena *a, glim_err *e) {
    *out = NULL;
    const struct tokenizer *kind = NULL;
    int status = find_tokenizer(&kind, g, e);
    if (status) return status;
    const struct gguf_kv *tokens = gguf_find(g, "tokenizer.ggml.tokens");
    if (!tokens || !tokens->is_array || tokens->type != GGUF_STR) {
        return fail(e, GLIM_FORMAT, "tokenizer.ggml.tokens is %s",
                    tokens ? "not an array of strings" : "missing");
    }
    if (tokens->n == 0 || tokens->n > INT32_MAX) {
        return fail(e, GLIM_FORMAT, "tokenizer.ggml.tokens has %llu entries",
                    (unsigned long long)tokens->n);
    }
    struct vocab *v = arena_get(a, sizeof *v);
    if (!v) return fail(e, GLIM_NOMEM, "no memory for the vocabulary");
    v->n = (u32)tokens->n;
    v->piece = arena_array(a, v->n, sizeof *v->piece);
    v->kind = arena_array(a, v->n, sizeof *v->kind);
    v->ends = arena_array(a, v->n, sizeof *v->ends);
    if (!v->piece || !v->kind || !v->ends) {
        return fail(e, GLIM_NOMEM, "no memory for %u tokens", v->n);
    }
    status = read_kinds(v, g, e);
    if (!status) status = read_pieces(v, tokens->strings, kind->bytes, a, e);
    if (!status) status = index_added(v, a, e);
    if (!status) status = kind->open(v, tokens->strings, g, a, e);
    if (!status) status = read_ends(v, g, e);
    if (status) return status;
    v->add_begin |= kind->begins;
    *out = v;
    return 0;
}

/* ---- Encoding -------------------------------------------------------------------------------- */

/* The first of added[low..high) whose byte at depth is at least byte. All are longer than depth and
 * agree before it. */
static u32 first_at_least(const struct vocab *v, u32 low, u32 high, size_t depth, u32 byte) {
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if ((u8)v->piece[v->added[middle]].p[depth] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether a word is written like a mark of a chat format. Gemma 4's of thoughts and tool calls are
 * plain added words in its files, so that they are shown; typed by a user they must stay text. */
static bool is_mark(struct str s) {
    return s.n > 3 && (memcmp(s.p, "<|", 2) == 0 || memcmp(s.p + s.n - 2, "|>", 2) == 0);
}

/* The added token that starts text, the longest one of several; its id or -1. control: how many
 * bytes of text are template text, in which control and unknown tokens count. */
static i32 match_added(const struct vocab *v, struct str text, size_t control) {
    u8 first = (u8)text.p[0];
    u32 low = v->added_first[first], high = v->added_first[first + 1];
    i32 best = -1;
    /* added[low..high) are those that agree with text in the first depth bytes; sorting puts the
     * ones that end there in front. */
    for (size_t depth = 1; low < high; depth++) {
        for (; low < high && v->piece[v->added[low]].n == depth; low++) {
            i32 id = v->added[low];
            bool any = v->kind[id] == VOCAB_USER && !is_mark(v->piece[id]);
            if (any || depth <= control) best = id;
        }
        if (depth == text.n) break;
        u8 byte = (u8)text.p[depth];
        low = first_at_least(v, low, high, depth, byte);
        high = first_at_least(v, low, high, depth, byte + 1u);
    }
    return best;
}

static int encode_plain(const struct vocab *v, const char *from, const char *to,
                        struct vocab_ids *ids, const glim_alloc *tmp, glim_err *e) {
    struct str text = {from, (size_t)(to - from)};
    return text.n ? v->encode(v, text, ids, tmp, e) : 0;
}

/* text is the spans' texts joined. */
static int encode_joined(const struct vocab *v, struct str text, const struct vocab_span *spans,
                         u64 n_spans, struct vocab_ids *ids, const glim_alloc *tmp, glim_err *e) {
    const char *done = text.p, *end = text.p + text.n;
    const char *span_end = text.p, *control_end = text.p;
    bool has_begin = ids->n > 0;
    u64 next = 0;
    for (const char *p = text.p; p < end;) {
        while (p >= span_end && next < n_spans) { /* enter the span that p is in */
            span_end += spans[next].text.n;
            if (spans[next++].control) {
                while (next < n_spans && spans[next].control)
                    span_end += spans[next++].text.n;
                control_end = span_end;
            }
        }
        size_t control = p < control_end ? (size_t)(control_end - p) : 0;
        i32 id = match_added(v, (struct str){p, (size_t)(end - p)}, control);
        if (id < 0) {
            p++;
            continue;
        }
        int status = encode_plain(v, done, p, ids, tmp, e);
        if (status) return status;
        /* A template that writes the begin token itself does not get a second one. */
        if (!(has_begin && id == v->begin && p == text.p)) vocab_push(ids, id);
        p += v->piece[id].n;
        done = p;
    }
    return encode_plain(v, done, end, ids, tmp, e);
}

i64 vocab_encode_spans(const struct vocab *v, const struct vocab_span *spans, u64 n_spans,
                       u32 flags, i32 *id, u64 cap, const glim_alloc *tmp, glim_err *e) {
    u64 total = 0;
    for (u64 i = 0; i < n_spans; i++) {
        if (!add_ok(total, spans[i].text.n, &total)) total = UINT64_MAX;
        if (total > INT32_MAX) {
            return fail(e, GLIM_ARG, "a text of more than %d bytes cannot be tokenized at once",
                        INT32_MAX);
        }
    }
    struct str text = {"", 0};
    char *joined = NULL;
    if (n_spans == 1 && total) {
        text = spans[0].text;
    } else if (total) {
        joined = mem_get(tmp, total);
        if (!joined) {
            return fail(e, GLIM_NOMEM, "no memory for a prompt of %llu bytes",
                        (unsigned long long)total);
        }
        for (u64 i = 0; i < n_spans; i++) {
            if (spans[i].text.n) memcpy(joined + text.n, spans[i].text.p, spans[i].text.n);
            text.n += spans[i].text.n;
        }
        text.p = joined;
    }
    struct vocab_ids ids = {id, cap, 0};
    if (flags & VOCAB_BEGIN && v->add_begin && v->begin >= 0) vocab_push(&ids, v->begin);
    int status = encode_joined(v, text, spans, n_spans, &ids, tmp, e);
    if (flags & VOCAB_END && v->add_end && v->end >= 0) vocab_push(&ids, v->end);
    mem_put(tmp, joined, total);
    return status ? status : (i64)ids.n;
}

i64 vocab_encode(const struct vocab *v, struct str text, u32 flags, i32 *ids, u64 cap,
                 const glim_alloc *tmp, glim_err *e) {
    struct vocab_span span = {text, (flags & VOCAB_SPECIAL) != 0};
    return vocab_encode_spans(v, &span, 1, flags, ids, cap, tmp, e);
}

/* ---- Looking up ------------------------------------------------------------------------------ */

struct str vocab_piece(const struct vocab *v, i32 id, u32 flags) {
    struct str none = {"", 0};
    if (id < 0 || (u32)id >= v->n) return none;
    bool hidden = v->kind[id] == VOCAB_CONTROL || v->kind[id] == VOCAB_UNKNOWN;
    return hidden && !(flags & VOCAB_SPECIAL) ? none : v->piece[id];
}

bool vocab_ends(const struct vocab *v, i32 id) {
    return id >= 0 && (u32)id < v->n && v->ends[id];
}

bool vocab_is_plain(const struct vocab *v, i32 id) {
    return v->kind[id] != VOCAB_CONTROL && v->kind[id] != VOCAB_UNKNOWN;
}

i32 vocab_find(const struct vocab *v, struct str text) {
    if (text.n == 0) return -1;
    i32 id = match_added(v, text, text.n);
    return id >= 0 && v->piece[id].n == text.n ? id : -1;
}

u64 vocab_lost(const struct vocab *v, struct str text) {
    u64 n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += v->missing[(u8)text.p[i]];
    return n;
}
