/* Weight formats: quant.def read three times, as C functions, as WGSL text and as a table. */
#include "kern/quant.h"

#include "base/f16.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

/* ---- lookup tables */

#define GRID_TABLE(name, first, n)
#define GRID_HASH(fnv)  const u64 quant_grids_fnv = fnv;
#define GRID_WORDS(...) const u32 quant_grids[QUANT_GRID_WORDS] = {__VA_ARGS__};
#include "kern/grids.inc"
#undef GRID_TABLE
#undef GRID_HASH
#undef GRID_WORDS

#define GRID_HASH(fnv)
#define GRID_WORDS(...)
enum {
#define GRID_TABLE(name, first, n) GRID_##name = first, GRID_END_##name = first + n,
#include "kern/grids.inc"
#undef GRID_TABLE
};
_Static_assert(GRID_END_MXFP4 == 2 * QUANT_GRID_WORDS, "grids.inc and quant.h disagree");

/* ---- bodies as C: `p` is the block, `out` takes 32 values */

static inline u32 quant_u16(const u8 *p) {
    return p[0] | (u32)p[1] << 8;
}
static inline u32 quant_u32(const u8 *p) {
    return quant_u16(p) | quant_u16(p + 2) << 16;
}

#define let             const __auto_type
#define var             __auto_type
#define u32(x)          ((u32)(x))
#define i32(x)          ((i32)(x))
#define f32(x)          ((f32)(x))
#define select(a, b, c) ((c) ? (b) : (a))
#define u8_at(k)        ((u32)p[k])
#define i8_at(k)        ((i32)(i8)p[k])
#define u16_at(k)       quant_u16(p + (k))
#define u32_at(k)       quant_u32(p + (k))
#define f16_at(k)       f16_value(u16_at(k))
#define f16_value(h)    f16_to_f32((u16)(h))
#define bf16_value(h)   bf16_to_f32((u16)(h))
#define f32_value(u)    f32_from_bits(u)
#define grid_word(i)    quant_grids[i]
#define put(i, v)       (out[i] = (v))

#define QUANT_FN(name, arg, ...)                                                                   \
    static inline u32 name(u32 arg) {                                                              \
        __VA_ARGS__                                                                                \
    }
/* Instantiated twice so that the usual n = 32 gets loops of constant length. A block's body always
 * makes 32 values; a row of plain floats makes n. The remainder tells the compiler that offsets
 * made from j do not wrap, without which gcc vectorises none of the loops. */
#define QUANT(name, number, len, bytes, ...)                                                       \
    _Static_assert((len) == 1 || (len) % 32 == 0, #name ": quant_row walks in steps of 32");       \
    _Static_assert((bytes)*8 <= 32 * (len) && (bytes)*8 >= (len), #name ": bits per value");       \
    __attribute__((always_inline)) static inline void body_##name(const u8 *restrict p, u32 j,     \
                                                                  u32 n, f32 *restrict out) {      \
        j = (len) == 1 ? j : j % MAX((len) / 32, 1);                                               \
        (void)j, (void)n;                                                                          \
        __VA_ARGS__                                                                                \
    }                                                                                              \
    static void decode_##name(const u8 *p, u32 j, u32 n, f32 *out) {                               \
        assert(n <= 32 && ((len) == 1 || 32 * j < (len)));                                         \
        if (n == 32) {                                                                             \
            body_##name(p, j, 32, out);                                                            \
        } else {                                                                                   \
            f32 all[32] = {0};                                                                     \
            body_##name(p, j, n, all);                                                             \
            memcpy(out, all, n * sizeof *out);                                                     \
        }                                                                                          \
    }
#include "kern/quant.def"
#undef QUANT
#undef QUANT_FN
#undef let
#undef var
#undef u32
#undef i32
#undef f32
#undef select
#undef u8_at
#undef i8_at
#undef u16_at
#undef u32_at
#undef f16_at
#undef f16_value
#undef bf16_value
#undef f32_value
#undef grid_word
#undef put

/* ---- the table, indexed by ggml's number; gaps have no name */

#define QUANT_FN(...)
#define QUANT(name, number, len, bytes, ...)                                                       \
    [number] = {#name, number, len, bytes, decode_##name, #__VA_ARGS__},
static const struct quant quants[QUANT_TYPES] = {
#include "kern/quant.def"
};
#undef QUANT
#undef QUANT_FN

const struct quant *quant_find(u32 type) {
    return type < QUANT_TYPES && quants[type].name ? &quants[type] : NULL;
}

const struct quant *quant_named(const char *name) {
    for (u32 i = 0; i < QUANT_TYPES; i++) {
        if (quants[i].name && strcasecmp(quants[i].name, name) == 0) return &quants[i];
    }
    return NULL;
}

bool quant_size(u32 type, u32 *block_len, u32 *block_bytes) {
    const struct quant *q = quant_find(type);
    if (!q) return false;
    *block_len = q->block_len;
    *block_bytes = q->block_bytes;
    return true;
}

u64 quant_row_bytes(const struct quant *q, u64 n) {
    assert(n % q->block_len == 0);
    return n / q->block_len * q->block_bytes;
}

void quant_row(const struct quant *q, const u8 *src, u64 first, u64 n, f32 *dst) {
    assert(first % 32 == 0);
    /* Plain floats walk like blocks of 32, so that the byte offset of a group never grows past p.
     */
    u32 len = MAX(q->block_len, 32u);
    u64 bytes = (u64)q->block_bytes * (len / q->block_len);
    const u8 *p = src + first / len * bytes;
    u32 j = (u32)(first % len / 32);
    for (u64 done = 0; done < n; done += 32) {
        q->decode(p, j, (u32)MIN(n - done, 32u), dst + done);
        if (32 * ++j == len) {
            p += bytes;
            j = 0;
        }
    }
}

/* ---- bodies as WGSL */

#define WGSL(...) #__VA_ARGS__
/* The accessors of quant.def. Fields lie at odd bytes, so every access is a shift of whole words;
 * a half is widened by integer rule because unpack2x16float may flush the subnormals that small
 * scales are. */
static const char wgsl_fields[] = WGSL(
    var<private> block_at: u32;
    var<private> block_n: u32;
    fn u32_at(k: u32) -> u32 {
        let at = block_at + k;
        let shift = (at & 3u) * 8u;
        let low = weight_word(at >> 2u) >> shift;
        if (shift == 0u) { return low; }
        return low | (weight_word((at >> 2u) + 1u) << (32u - shift));
    }
    fn u8_at(k: u32) -> u32 {
        let at = block_at + k;
        return (weight_word(at >> 2u) >> ((at & 3u) * 8u)) & 255u;
    }
    fn i8_at(k: u32) -> i32 { return extractBits(i32(u8_at(k)), 0u, 8u); }
    fn u16_at(k: u32) -> u32 { return u8_at(k) | (u8_at(k + 1u) << 8u); }
    fn f32_value(u: u32) -> f32 { return bitcast<f32>(u); }
    fn bf16_value(h: u32) -> f32 { return bitcast<f32>(h << 16u); }
    fn f16_value(h: u32) -> f32 {
        let sign = (h & 0x8000u) << 16u;
        let rest = h & 0x7fffu;
        if (rest >= 0x7c00u) { return bitcast<f32>(sign | 0x7f800000u | ((rest & 0x3ffu) << 13u)); }
        if (rest >= 0x0400u) { return bitcast<f32>(sign | ((rest + 0x1c000u) << 13u)); }
        return bitcast<f32>(sign | bitcast<u32>(f32(rest) * 0x1p-24f));
    }
    fn f16_at(k: u32) -> f32 { return f16_value(u16_at(k)); }
    fn put(i: u32, v: f32) { if (i < block_n) { emit(i, v); } }
);
/* Only formats with grids use the shared functions and the tables' names. */
static const char wgsl_shared[] = ""
#define QUANT(...)
#define QUANT_FN(name, arg, ...) "fn " #name "(" #arg ": u32) -> u32 {" #__VA_ARGS__ "}"
#include "kern/quant.def"
#undef QUANT
#undef QUANT_FN
#define GRID_TABLE(name, first, n) "const GRID_" #name " = " #first "u;"
#include "kern/grids.inc"
    ;

bool quant_uses_grids(const struct quant *q) {
    return strstr(q->wgsl, "grid_entry(") != NULL;
}

/* Text that may be longer than its buffer. */
struct wgsl_text {
    char *out;
    size_t cap, n;
    u32 depth;      /* of braces */
    u32 parens;     /* open ones: their semicolons end no line */
    bool line_open; /* something stands on the current line */
};

static void wgsl_char(struct wgsl_text *t, char c) {
    if (t->n + 1 < t->cap) t->out[t->n] = c;
    t->n++;
}

static void wgsl_end_line(struct wgsl_text *t) {
    if (t->line_open) wgsl_char(t, '\n');
    t->line_open = false;
}

/* Appends WGSL, one statement a line: the preprocessor has put all of it on a single one. */
static void wgsl_add(struct wgsl_text *t, const char *s) {
    for (; *s; s++) {
        if (!t->line_open && *s == ' ') continue;
        if (*s == '}') {
            wgsl_end_line(t);
            t->depth--;
        }
        for (u32 i = 0; !t->line_open && i < 4 * t->depth; i++)
            wgsl_char(t, ' ');
        wgsl_char(t, *s);
        t->line_open = true;
        if (*s == '{') t->depth++;
        if (*s == '(') t->parens++;
        if (*s == ')') t->parens--;
        if (*s == '{' || *s == '}' || (*s == ';' && t->parens == 0)) wgsl_end_line(t);
    }
}

size_t quant_wgsl(const struct quant *q, char *out, size_t cap) {
    struct wgsl_text t = {.out = out, .cap = cap};
    wgsl_add(&t, wgsl_fields);
    if (quant_uses_grids(q)) wgsl_add(&t, wgsl_shared);
    wgsl_add(&t, "fn decode(p: u32, j: u32, n: u32) { block_at = p; block_n = n;");
    wgsl_add(&t, q->wgsl);
    wgsl_add(&t, "}");
    if (cap) out[MIN(t.n, cap - 1)] = '\0';
    return t.n;
}
