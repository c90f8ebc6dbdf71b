/* Tokens by their text. */
#include "text/names.h"

#include <string.h>

u64 names_mix(u64 x) {
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
    return names_mix(h);
}

bool names_equal(struct str key, struct str a, struct str b) {
    return key.n == a.n + b.n && (a.n == 0 || memcmp(key.p, a.p, a.n) == 0) &&
           (b.n == 0 || memcmp(key.p + a.n, b.p, b.n) == 0);
}

u64 names_slots(u64 n) {
    u64 size = 16;
    while (size < 2 * n)
        size *= 2;
    return size;
}

i32 names_find(const struct names *t, struct str a, struct str b) {
    for (u64 i = hash_joined(a, b) & t->mask; t->slot[i]; i = (i + 1) & t->mask) {
        if (names_equal(t->key[t->slot[i] - 1], a, b)) return (i32)(t->slot[i] - 1);
    }
    return -1;
}

void names_put(struct names *t, i32 id) {
    struct str none = {NULL, 0};
    u64 i = hash_joined(t->key[id], none) & t->mask;
    while (t->slot[i] && !names_equal(t->key[t->slot[i] - 1], t->key[id], none))
        i = (i + 1) & t->mask;
    t->slot[i] = (u32)id + 1;
}
