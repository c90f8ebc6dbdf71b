/* Joining neighbours. A heap of candidate pairs over a linked list of symbols.
 *
 * The heap may hold pairs that a join has broken since. A pair that comes off the heap counts if
 * the symbol that now sits there begins a pair of that very rank: then it is that pair's own
 * entry, or one that says the same. */
#include "text/merge.h"

#include <string.h>

#include "text/unicode.h"

/* Entries are rank << 32 | place of the left symbol, so that order is by rank, then leftmost. */
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

/* What a word is joined by. */
struct merge_run {
    struct str word;
    struct merge_sym *sym;
    merge_pair_fn *pair;
    const void *algorithm;
};

/* Ranks the pair that the symbol at left begins. */
static u32 rank_pair(const struct merge_run *m, u32 left) {
    struct merge_sym *l = &m->sym[left];
    l->rank = MERGE_NONE;
    if (l->next < m->word.n) {
        const struct merge_sym *r = &m->sym[l->next];
        struct str joined = {m->word.p + left, r->next - left};
        l->rank = m->pair(m->algorithm, joined, l->id, r->id, &l->joined);
    }
    return l->rank;
}

static void join_pairs(const struct merge_run *m, u64 *heap, u64 n_heap) {
    struct merge_sym *sym = m->sym;
    while (n_heap) {
        u64 key = heap[0];
        heap[0] = heap[--n_heap];
        if (n_heap) heap_down(heap, n_heap, 0);
        u32 left = (u32)key;
        if (sym[left].rank != key >> 32) continue;
        u32 right = sym[left].next, next = sym[right].next;
        sym[left].id = sym[left].joined;
        sym[left].next = next;
        sym[right].rank = MERGE_NONE; /* no longer a symbol; entries for it must not match */
        if (next < m->word.n) sym[next].prev = left;
        u32 rank = rank_pair(m, left);
        if (rank != MERGE_NONE) heap_push(heap, &n_heap, (u64)rank << 32 | left);
        if (left == 0) continue;
        u32 before = sym[left].prev;
        rank = rank_pair(m, before);
        if (rank != MERGE_NONE) heap_push(heap, &n_heap, (u64)rank << 32 | before);
    }
}

void merge_word(struct merge_room *r, struct str word, merge_pair_fn *pair, const void *algorithm) {
    struct merge_run m = {word, r->sym, pair, algorithm};
    u64 n_heap = 0;
    for (u32 i = 0, prev = 0; i < word.n; prev = i, i = r->sym[i].next) {
        r->sym[i].prev = prev;
        u32 rank = rank_pair(&m, i);
        if (rank != MERGE_NONE) r->heap[n_heap++] = (u64)rank << 32 | i;
    }
    for (u64 i = n_heap / 2; i-- > 0;)
        heap_down(r->heap, n_heap, i);
    join_pairs(&m, r->heap, n_heap);
}

void merge_room_init(struct merge_room *r, const glim_alloc *tmp) {
    r->sym = r->small_sym;
    r->heap = r->small_heap;
    r->cap = MERGE_SMALL;
    r->tmp = tmp;
}

void merge_room_free(struct merge_room *r) {
    if (r->sym != r->small_sym) {
        mem_put(r->tmp, r->sym, r->cap * sizeof *r->sym);
        mem_put(r->tmp, r->heap, 2 * r->cap * sizeof *r->heap);
    }
    merge_room_init(r, r->tmp);
}

int merge_room_for(struct merge_room *r, u64 n, glim_err *e) {
    if (n <= r->cap) return 0;
    u64 cap = MAX(n, 2 * r->cap);
    merge_room_free(r);
    struct merge_sym *sym = mem_get(r->tmp, cap * sizeof *sym);
    u64 *heap = mem_get(r->tmp, 2 * cap * sizeof *heap);
    if (!sym || !heap) {
        mem_put(r->tmp, sym, cap * sizeof *sym);
        mem_put(r->tmp, heap, 2 * cap * sizeof *heap);
        return fail(e, GLIM_NOMEM, "no memory to tokenize a word of %llu bytes",
                    (unsigned long long)n);
    }
    r->sym = sym;
    r->heap = heap;
    r->cap = cap;
    return 0;
}

/* ---- Seams ----------------------------------------------------------------------------------- */

void merge_seams_add(struct merge_seams *s, struct str token) {
    for (size_t i = 1; i < token.n; i++) {
        u8 a = (u8)token.p[i - 1], b = (u8)token.p[i];
        s->beside[a][b / 32] |= 1u << b % 32;
    }
}

size_t merge_stretch(const struct merge_seams *s, struct str text) {
    for (size_t i = 0;;) {
        i += unicode_read(text.p + i, text.n - i).len;
        if (i == text.n) return i;
        u8 a = (u8)text.p[i - 1], b = (u8)text.p[i];
        if (!(s->beside[a][b / 32] >> b % 32 & 1)) return i;
    }
}
