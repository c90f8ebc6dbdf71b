/* Merge ranks: tokenizer.ggml.merges as a table from two tokens to their rank and result. */
#ifndef TEXT_RANKS_H
#define TEXT_RANKS_H

#include "text/token.h"

struct ranks_merge {
    i32 left, right, result;
};

/* Invariant: a result stands for exactly the bytes of its two parts, so that decoding what was
 * encoded gives the same bytes back, and it is no control token. Merges of which that isn't true
 * are not in the table. */
struct ranks {
    struct ranks_merge *merge; /* [n] by rank */
    u64 n;
    u32 *slot; /* open addressing by (left, right), a slot holds rank + 1 */
    u64 mask;
};

/* Reads the merges; v's pieces and kinds are there already. texts[V]: the tokens' texts in the
 * file, which the merges are written in. The table lies in a. */
int ranks_open(struct ranks *r, const struct vocab *v, const struct str *texts,
               const struct gguf *g, struct arena *a, glim_err *e);
/* The rank of two neighbours (0xffffffff: none) and in *result what they become. */
u32 ranks_find(const struct ranks *r, i32 left, i32 right, i32 *result);
/* Whether the merge of that rank is in the table. */
bool ranks_used(const struct ranks *r, u64 rank);

#endif
