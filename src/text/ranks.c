/* Merge ranks. */
#include "text/ranks.h"

#include <string.h>

#include "text/merge.h"
#include "text/names.h"

/* The slot of a pair: empty, or holding its rank + 1. */
static u32 *pair_at(const struct ranks *r, i32 left, i32 right) {
    u64 i = names_mix((u64)(u32)left << 32 | (u32)right) & r->mask;
    while (r->slot[i]) {
        const struct ranks_merge *m = &r->merge[r->slot[i] - 1];
        if (m->left == left && m->right == right) break;
        i = (i + 1) & r->mask;
    }
    return &r->slot[i];
}

u32 ranks_find(const struct ranks *r, i32 left, i32 right, i32 *result) {
    if (left < 0 || right < 0) return MERGE_NONE;
    u32 rank = *pair_at(r, left, right) - 1; /* an empty slot wraps to MERGE_NONE */
    if (rank != MERGE_NONE) *result = r->merge[rank].result;
    return rank;
}

bool ranks_used(const struct ranks *r, u64 rank) {
    return *pair_at(r, r->merge[rank].left, r->merge[rank].right) == rank + 1;
}

/* "left right": the blank after the first character parts them, as a part may be a blank itself in
 * vocabularies that are not byte-level. */
static int read_merge(struct ranks_merge *m, u64 rank, struct str line, const struct names *texts,
                      glim_err *e) {
    const char *blank = line.n > 1 ? memchr(line.p + 1, ' ', line.n - 1) : NULL;
    if (!blank || blank == line.p + line.n - 1) {
        return fail(e, GLIM_FORMAT, "tokenizer.ggml.merges: entry %llu '%.*s' is not two tokens",
                    (unsigned long long)rank, STR(line));
    }
    struct str none = {NULL, 0}, left = {line.p, (size_t)(blank - line.p)};
    struct str right = {blank + 1, line.n - left.n - 1};
    *m = (struct ranks_merge){names_find(texts, left, none), names_find(texts, right, none),
                              names_find(texts, left, right)};
    if (m->left >= 0 && m->right >= 0 && m->result >= 0) return 0;
    return fail(e, GLIM_FORMAT,
                "tokenizer.ggml.merges: entry %llu '%.*s': the %s is not in tokenizer.ggml.tokens",
                (unsigned long long)rank, STR(line),
                m->left < 0    ? "first part"
                : m->right < 0 ? "second part"
                               : "joined text");
}

/* Whether plain text may go through this merge. */
static bool is_sound(const struct vocab *v, const struct ranks_merge *m) {
    return vocab_is_plain(v, m->left) && vocab_is_plain(v, m->right) &&
           vocab_is_plain(v, m->result) &&
           names_equal(v->piece[m->result], v->piece[m->left], v->piece[m->right]);
}

static int read_merges(struct ranks *r, const struct vocab *v, const struct names *texts,
                       const struct str *lines, glim_err *e) {
    for (u64 rank = 0; rank < r->n; rank++) {
        struct ranks_merge m;
        int status = read_merge(&m, rank, lines[rank], texts, e);
        if (status) return status;
        r->merge[rank] = m;
        if (!is_sound(v, &m)) continue;
        u32 *slot = pair_at(r, m.left, m.right);
        if (!*slot) *slot = (u32)rank + 1; /* of two equal merges the earlier one counts */
    }
    return 0;
}

int ranks_open(struct ranks *r, const struct vocab *v, const struct str *texts,
               const struct gguf *g, struct arena *a, glim_err *e) {
    const struct gguf_kv *kv = gguf_find(g, "tokenizer.ggml.merges");
    if (!kv || !kv->is_array || kv->type != GGUF_STR || kv->n >= MERGE_NONE) {
        return fail(e, GLIM_FORMAT, "tokenizer.ggml.merges is %s",
                    kv ? "not an array of strings" : "missing");
    }
    u64 slots = names_slots(kv->n);
    *r = (struct ranks){arena_array(a, kv->n, sizeof *r->merge), kv->n,
                        arena_array(a, slots, sizeof *r->slot), slots - 1};
    if (!r->merge || !r->slot) {
        return fail(e, GLIM_NOMEM, "no memory for %llu merges", (unsigned long long)kv->n);
    }
    /* The merges name tokens by text; that table is needed only here. */
    slots = names_slots(v->n);
    struct names by_text = {texts, mem_get(a->alloc, slots * sizeof(u32)), slots - 1};
    if (!by_text.slot) return fail(e, GLIM_NOMEM, "no memory for %u token names", v->n);
    memset(by_text.slot, 0, slots * sizeof(u32));
    for (u32 id = 0; id < v->n; id++)
        names_put(&by_text, (i32)id);
    int status = read_merges(r, v, &by_text, kv->strings, e);
    mem_put(a->alloc, by_text.slot, slots * sizeof(u32));
    return status;
}
