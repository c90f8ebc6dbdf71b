/* Joining neighbours: what byte-level BPE, Gemma 4's BPE and SentencePiece's BPE have in common. A
 * word starts as symbols; of all neighbours the pair of the lowest rank is joined, leftmost first,
 * until no pair has a rank. O(n log n) for a word of n bytes, constant stack. */
#ifndef TEXT_MERGE_H
#define TEXT_MERGE_H

#include "base/mem.h"

#ifdef GLIM_SHRINK
enum { MERGE_SMALL = 4 }; /* lets every test run the path of long words */
#else
enum { MERGE_SMALL = 128 }; /* bytes; longer words take scratch memory from the allocator */
#endif
enum { MERGE_NONE = 0xffffffffu }; /* the rank of a pair that is not joined */

/* A symbol of the word; it sits where its first byte is, the places inside it are unused. */
struct merge_sym {
    i32 id;         /* -1: no token, or not looked up */
    u32 prev, next; /* where its neighbours start; the word's length behind the last */
    u32 rank;       /* of the pair that this symbol begins, or MERGE_NONE */
    i32 joined;     /* the token that the pair becomes */
};

/* The rank of two neighbours, and in *id what they become. joined: the bytes of both; left and
 * right: their ids. */
typedef u32 merge_pair_fn(const void *algorithm, struct str joined, i32 left, i32 right, i32 *id);

/* Room for a word, reused from word to word. */
struct merge_room {
    struct merge_sym *sym; /* [cap] */
    u64 *heap;             /* [2 cap]: one pair per byte at first, and one more with each join */
    u64 cap;
    const glim_alloc *tmp;
    struct merge_sym small_sym[MERGE_SMALL];
    u64 small_heap[2 * MERGE_SMALL];
};
void merge_room_init(struct merge_room *r, const glim_alloc *tmp);
/* Makes room for a word of n bytes; r->sym may move. GLIM_NOMEM. */
int merge_room_for(struct merge_room *r, u64 n, glim_err *e);
void merge_room_free(struct merge_room *r);

/* Joins the symbols of a word, 1 <= word.n <= r->cap. The caller has set id and next of each
 * symbol, the first at 0; afterwards following next from 0 visits the tokens. */
void merge_word(struct merge_room *r, struct str word, merge_pair_fn *pair, const void *algorithm);

/* Which bytes lie beside each other in some token: where two do not, no token spans the place, and
 * the texts on both sides can be joined on their own. Keeps words short, whatever the algorithm's
 * own idea of a word is. */
struct merge_seams {
    u32 beside[256][8]; /* bit b of beside[a]: a is followed by b */
};
void merge_seams_add(struct merge_seams *s, struct str token);
/* Length of the stretch that starts text and that nothing spans; 1 to text.n, whole characters. */
size_t merge_stretch(const struct merge_seams *s, struct str text);

#endif
