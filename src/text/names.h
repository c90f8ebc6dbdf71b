/* Tokens by their text: a hash table over texts that lie elsewhere. */
#ifndef TEXT_NAMES_H
#define TEXT_NAMES_H

#include "base/base.h"

/* Open addressing; a slot holds id + 1, 0 is a free one. */
struct names {
    const struct str *key; /* [V] borrowed: the text of each id */
    u32 *slot;             /* owned by whoever made the table; zeroed at first */
    u64 mask;              /* slots - 1 */
};

/* Slots for n entries: a power of two, at most half of which get filled. */
u64 names_slots(u64 n);
/* The token whose text is a followed by b (which may be empty), or -1. */
i32 names_find(const struct names *t, struct str a, struct str b);
/* Of two tokens with one text the later one is found, as in the maps of other engines. */
void names_put(struct names *t, i32 id);
bool names_equal(struct str key, struct str a, struct str b);
/* Spreads the bits of x, for tables with other keys. */
u64 names_mix(u64 x);

#endif
