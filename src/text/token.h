/* Vocabulary: text to token ids and back, built from a model file's metadata. This file holds what
 * all tokenizers share (pieces, kinds, added tokens, begin and end); the algorithm that cuts plain
 * text into tokens sits behind vocab.encode, one file each (bpe.c: byte-level BPE; spm.c:
 * SentencePiece and Gemma 4). */
#ifndef TEXT_TOKEN_H
#define TEXT_TOKEN_H

#include "file/gguf.h"

/* Kinds of tokens, with the file's own numbers (tokenizer.ggml.token_type). */
enum vocab_kind {
    VOCAB_NORMAL = 1,
    VOCAB_UNKNOWN = 2,
    VOCAB_CONTROL = 3, /* turn marks, begin, end: only template text may become one */
    VOCAB_USER = 4,    /* added words: found in any text, before the algorithm sees it, unless they
                        * are marks like <|channel>: those only in template text, as control tokens */
    VOCAB_UNUSED = 5,
    VOCAB_BYTE = 6,
};

enum vocab_flag {
    VOCAB_SPECIAL = 1, /* encode: control tokens written in the text become tokens.
                        * piece: control tokens give their text instead of nothing */
    VOCAB_BEGIN = 2,   /* encode: the begin token first, where the metadata asks for one */
    VOCAB_END = 4,     /* encode: the end token last, where the metadata asks for one */
};

/* Ids being collected: n counts on past cap, so that a caller learns how many it needs. */
struct vocab_ids {
    i32 *id;
    u64 cap, n;
};
void vocab_push(struct vocab_ids *ids, i32 id);

struct vocab {
    u32 n;             /* V, number of tokens */
    struct str *piece; /* [V] the bytes that each token stands for */
    u8 *kind;          /* [V] enum vocab_kind */
    bool *ends;        /* [V] generation stops at this token */
    i32 begin, end;    /* bos and eos ids, -1 where the file names none */
    bool add_begin, add_end;
    u8 missing[256]; /* 1 for a byte that no token can spell */
    /* private */
    i32 *added;            /* unknown, control and user tokens, by text */
    u32 added_first[257];  /* added[first[b] .. first[b + 1]) start with byte b */
    const void *algorithm; /* e.g. struct bpe */
    /* Appends the ids of plain text between added tokens (text.n > 0). */
    int (*encode)(const struct vocab *v, struct str text, struct vocab_ids *ids,
                  const glim_alloc *tmp, glim_err *e);
};

/* Reads the tokenizer.* metadata. Everything is copied into a, which *out lives in. Errors:
 * GLIM_UNSUPPORTED names a tokenizer model or pre-tokenizer that is not built in and lists those
 * that are; GLIM_FORMAT names the key that is missing, of the wrong type or out of range. */
int vocab_open(struct vocab **out, const struct gguf *g, struct arena *a, glim_err *e);

/* Text to ids: writes the first cap of them (ids may be NULL for cap = 0) and returns how many
 * there are, or a negative status. flags: enum vocab_flag. Bytes that are not UTF-8 are encoded
 * like any others; bytes in v->missing give no token. Takes time O(n log n) in the longest word;
 * words over 128 bytes take memory from tmp, given back before returning. */
i64 vocab_encode(const struct vocab *v, struct str text, u32 flags, i32 *ids, u64 cap,
                 const glim_alloc *tmp, glim_err *e);

/* A stretch of a conversation: template text, in which control tokens are recognised, or a
 * message's own text, in which they are not. */
struct vocab_span {
    struct str text;
    bool control;
};
/* The spans' texts as one text, as a template would have joined them, except that a control token
 * is recognised only where it lies wholly in template text. flags: VOCAB_BEGIN, VOCAB_END. */
i64 vocab_encode_spans(const struct vocab *v, const struct vocab_span *spans, u64 n_spans,
                       u32 flags, i32 *ids, u64 cap, const glim_alloc *tmp, glim_err *e);

/* The bytes of a token, borrowed from v: often less than a whole character. Empty for an id
 * outside the vocabulary, and without VOCAB_SPECIAL for control and unknown tokens. */
struct str vocab_piece(const struct vocab *v, i32 id, u32 flags);
bool vocab_ends(const struct vocab *v, i32 id);
/* Whether plain text may become this token: neither control nor unknown. 0 <= id < v->n. */
bool vocab_is_plain(const struct vocab *v, i32 id);
/* The control, unknown or user token with this text, or -1. */
i32 vocab_find(const struct vocab *v, struct str text);
/* How many bytes of text no token can spell (they are left out by encode). */
u64 vocab_lost(const struct vocab *v, struct str text);

#endif
