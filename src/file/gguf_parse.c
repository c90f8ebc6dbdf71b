/* Parser of one GGUF source: magic, metadata, tensor table.
 *
 * The header is walked twice by the same functions. The first walk (r.arena == NULL) allocates
 * nothing and checks everything, so that memory is only taken in proportion to bytes that exist;
 * it restarts with a larger window whenever it runs past the bytes fetched so far. The second walk
 * stores. Lengths are compared with what remains, never added to a position before the check. */
#include "file/gguf_parse.h"
#include "file/sniff.h"

#include <string.h>

enum {
#ifdef GLIM_SHRINK
    FIRST_WINDOW = 64,
#else
    FIRST_WINDOW = 256 * 1024, /* holds the header of a model with a small vocabulary */
#endif
    MIN_KV_BYTES = 8 + 1 + 4 + 1,
    MIN_TENSOR_BYTES = 8 + 1 + 4 + 4 + 8,
};
/* Larger headers do not occur (a vocabulary of a million takes some 50 MiB); the cap keeps a
 * damaged length from fetching a whole model, and keeps indices within 32 bits. */
#define MAX_HEADER ((u64)1 << 30)

struct reader {
    const struct source *s;
    const u8 *p;         /* bytes [0, have) of s */
    u64 at, have, want;  /* at <= have <= s->size; want: the window that need() asked for */
    struct arena *arena; /* NULL during the checking walk */
    gguf_type_size *size;
    glim_err *e;
    const char *kind; /* what is being read, for messages ... */
    struct str name;  /* ... and its name, once known */
    u64 alignment;
};

const char *gguf_file_name(const struct source *s) {
    const char *slash = strrchr(s->name, '/');
    const char *base = slash ? slash + 1 : s->name;
    size_t n = strlen(base);
    if (strlen(s->name) <= 80) return s->name;
    return n > 80 ? base + n - 80 : base;
}

u32 gguf_item_bytes(u32 type) {
    static const u8 bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < COUNT(bytes) ? bytes[type] : 0;
}

const char *gguf_type_name(u32 type) {
    static const char *const names[] = {"u8",   "i8",  "u16",   "i16", "u32", "i32", "f32",
                                        "bool", "str", "array", "u64", "i64", "f64"};
    return type < COUNT(names) ? names[type] : "unknown";
}

static u64 little_endian(const u8 *p, u32 n) {
    u64 v = 0;
    for (u32 i = 0; i < n; i++)
        v |= (u64)p[i] << 8 * i;
    return v;
}

/* ---- Cursor ---------------------------------------------------------------------------------- */

/* 0 when n more bytes are in the window; GLIM_AGAIN when a larger window would hold them. */
static int need(struct reader *r, u64 n) {
    if (n <= r->have - r->at) return 0;
    if (n > r->s->size - r->at)
        return fail(r->e, GLIM_FORMAT,
                    "%s: %s '%.*s' needs %llu bytes at byte %llu, but the file ends at %llu "
                    "(interrupted download?)",
                    gguf_file_name(r->s), r->kind, GGUF_NAME(r->name), (unsigned long long)n,
                    (unsigned long long)r->at, (unsigned long long)r->s->size);
    if (n > MAX_HEADER || r->at + n > MAX_HEADER)
        return fail(r->e, GLIM_UNSUPPORTED, "%s: %s '%.*s' makes the header larger than 1 GiB",
                    gguf_file_name(r->s), r->kind, GGUF_NAME(r->name));
    r->want = r->at + n;
    return GLIM_AGAIN;
}

static int take_u32(struct reader *r, u32 *v) {
    int rc = need(r, 4);
    if (rc) return rc;
    *v = (u32)little_endian(r->p + r->at, 4);
    r->at += 4;
    return 0;
}

static int take_u64(struct reader *r, u64 *v) {
    int rc = need(r, 8);
    if (rc) return rc;
    *v = little_endian(r->p + r->at, 8);
    r->at += 8;
    return 0;
}

static int take_str(struct reader *r, struct str *s) {
    u64 n;
    int rc = take_u64(r, &n);
    if (!rc) rc = need(r, n);
    if (rc) return rc;
    *s = (struct str){(const char *)r->p + r->at, (size_t)n};
    r->at += n;
    return 0;
}

/* A key or tensor name: 1 to max bytes without zeros, so that lookups by C string can find it. */
static int take_name(struct reader *r, const char *kind, u64 max, struct str *s) {
    u64 at = r->at;
    r->kind = kind;
    r->name = (struct str){"", 0};
    int rc = take_str(r, s);
    if (rc) return rc;
    if (s->n == 0 || s->n > max || memchr(s->p, 0, s->n))
        return fail(r->e, GLIM_FORMAT,
                    "%s: the %s at byte %llu is empty, longer than %llu bytes or holds a zero byte",
                    gguf_file_name(r->s), kind, (unsigned long long)at, (unsigned long long)max);
    r->name = *s;
    return 0;
}

/* ---- Metadata -------------------------------------------------------------------------------- */

static int bad_kv(struct reader *r, int code, const char *why, u64 value) {
    return fail(r->e, code, "%s: metadata key '%.*s': %s (%llu)", gguf_file_name(r->s),
                GGUF_NAME(r->name), why, (unsigned long long)value);
}

static int take_strings(struct reader *r, struct gguf_kv *kv) {
    u64 bytes; /* every string has a length of 8 bytes */
    if (!mul_ok(kv->n, 8, &bytes))
        return bad_kv(r, GLIM_FORMAT, "impossible number of strings", kv->n);
    int rc = need(r, bytes);
    if (rc) return rc;
    struct str *strings = NULL;
    if (r->arena) {
        strings = arena_array(r->arena, kv->n, sizeof *strings);
        if (!strings) return bad_kv(r, GLIM_NOMEM, "out of memory for strings", kv->n);
    }
    for (u64 i = 0; i < kv->n; i++) {
        struct str s;
        rc = take_str(r, &s);
        if (rc) return rc;
        if (strings) strings[i] = s;
    }
    kv->strings = strings;
    return 0;
}

static int take_items(struct reader *r, struct gguf_kv *kv) {
    u64 bytes;
    if (!mul_ok(kv->n, gguf_item_bytes(kv->type), &bytes))
        return bad_kv(r, GLIM_FORMAT, "impossible number of array items", kv->n);
    int rc = need(r, bytes);
    if (rc) return rc;
    kv->items = r->p + r->at;
    for (u64 i = 0; kv->type == GGUF_BOOL && i < kv->n; i++) {
        if (kv->items[i] > 1) return bad_kv(r, GLIM_FORMAT, "bool is not 0 or 1", kv->items[i]);
    }
    r->at += bytes;
    return 0;
}

static int take_scalar(struct reader *r, struct gguf_kv *kv) {
    if (kv->type == GGUF_STR) return take_str(r, &kv->s);
    u32 n = gguf_item_bytes(kv->type);
    int rc = need(r, n);
    if (rc) return rc;
    u64 u = little_endian(r->p + r->at, n);
    r->at += n;
    f32 real;
    switch (kv->type) {
    case GGUF_I8:
        kv->i = (i8)u;
        break;
    case GGUF_I16:
        kv->i = (i16)u;
        break;
    case GGUF_I32:
        kv->i = (i32)u;
        break;
    case GGUF_F32: {
        u32 bits = (u32)u;
        memcpy(&real, &bits, 4);
        kv->f = (f64)real;
        break;
    }
    case GGUF_F64:
        memcpy(&kv->f, &u, 8);
        break;
    case GGUF_BOOL:
        if (u > 1) return bad_kv(r, GLIM_FORMAT, "bool is not 0 or 1", u);
        kv->u = u;
        break;
    default:
        kv->u = u; /* U8 U16 U32 U64; I64 is the same bits */
    }
    return 0;
}

static int check_alignment(struct reader *r, const struct gguf_kv *kv) {
    if (kv->type != GGUF_U32 || kv->is_array)
        return bad_kv(r, GLIM_FORMAT, "the alignment must be a u32, but its value type is",
                      kv->is_array ? GGUF_ARRAY : kv->type);
    if (!gguf_alignment_ok(kv->u))
        return bad_kv(r, GLIM_FORMAT, "bad alignment, which must be a power of two from 8 to 65536",
                      kv->u);
    r->alignment = kv->u;
    return 0;
}

static int take_kv(struct reader *r, struct gguf_kv *kv) {
    u32 type;
    int rc = take_name(r, "metadata key", GGUF_MAX_KEY, &kv->key);
    if (!rc) rc = take_u32(r, &type);
    if (rc) return rc;
    *kv = (struct gguf_kv){.key = kv->key, .n = 1, .is_array = type == GGUF_ARRAY};
    if (kv->is_array) {
        rc = take_u32(r, &type);
        if (!rc) rc = take_u64(r, &kv->n);
        if (rc) return rc;
        if (type == GGUF_ARRAY)
            return bad_kv(r, GLIM_UNSUPPORTED, "arrays of arrays are not supported, items", kv->n);
    }
    if (type > GGUF_F64)
        return bad_kv(r, GLIM_FORMAT, "unknown value type; the file is damaged or newer than glim",
                      type);
    kv->type = (enum gguf_type)type;
    if (!kv->is_array)
        rc = take_scalar(r, kv);
    else
        rc = type == GGUF_STR ? take_strings(r, kv) : take_items(r, kv);
    if (!rc && str_is(kv->key, "general.alignment")) rc = check_alignment(r, kv);
    return rc;
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static int bad_tensor(struct reader *r, int code, const char *why, u64 value) {
    return fail(r->e, code, "%s: tensor '%.*s': %s (%llu)", gguf_file_name(r->s),
                GGUF_NAME(r->name), why, (unsigned long long)value);
}

/* Sets t->bytes; refuses types that quant.h does not know and sizes that wrap. */
static int measure(struct reader *r, struct gguf_tensor *t) {
    u32 block_len, block_bytes;
    if (!r->size(t->type, &block_len, &block_bytes))
        return bad_tensor(r, GLIM_UNSUPPORTED,
                          "unknown or retired tensor type; the file may be newer than this glim",
                          t->type);
    /* Zero dimensions are legal (an empty tensor); the product counts them as 1 so that the other
     * dimensions, too, are safe to multiply later. */
    u64 values = 1;
    bool empty = false;
    for (u32 i = 0; i < 4; i++) {
        empty |= t->dims[i] == 0;
        if (!mul_ok(values, MAX(t->dims[i], 1), &values) || values > INT64_MAX)
            return bad_tensor(r, GLIM_FORMAT, "too many values, at dimension", i);
    }
    if (t->dims[0] % block_len)
        return fail(r->e, GLIM_FORMAT,
                    "%s: tensor '%.*s': rows of %llu values are not whole blocks of %u (type %u)",
                    gguf_file_name(r->s), GGUF_NAME(r->name), (unsigned long long)t->dims[0],
                    block_len, t->type);
    t->bytes = 0;
    if (!empty && !mul_ok(values / block_len, block_bytes, &t->bytes))
        return bad_tensor(r, GLIM_FORMAT, "size in bytes exceeds 64 bits; number of values",
                          values);
    return 0;
}

/* t->offset is still relative to the data section. */
static int take_tensor(struct reader *r, struct gguf_tensor *t) {
    *t = (struct gguf_tensor){.dims = {1, 1, 1, 1}};
    int rc = take_name(r, "tensor name", GGUF_MAX_TENSOR_NAME, &t->name);
    r->kind = "tensor";
    if (!rc) rc = take_u32(r, &t->n_dims);
    if (rc) return rc;
    if (t->n_dims > 4) return bad_tensor(r, GLIM_FORMAT, "more than 4 dimensions", t->n_dims);
    for (u32 i = 0; i < t->n_dims; i++) {
        rc = take_u64(r, &t->dims[i]);
        if (rc) return rc;
    }
    if (t->n_dims == 0) t->n_dims = 1;
    rc = take_u32(r, &t->type);
    if (!rc) rc = take_u64(r, &t->offset);
    return rc ? rc : measure(r, t);
}

/* ---- Whole header ---------------------------------------------------------------------------- */

static int refuse_version(struct reader *r, u32 version) {
    const char *name = gguf_file_name(r->s);
    if (version == 1)
        return fail(r->e, GLIM_UNSUPPORTED,
                    "%s: GGUF version 1 is not supported; convert the model anew", name);
    if (version && !(version & 0xffff)) /* 2 or 3 with its bytes swapped */
        return fail(r->e, GLIM_UNSUPPORTED,
                    "%s: a big-endian GGUF file; take the little-endian one", name);
    return fail(r->e, GLIM_UNSUPPORTED,
                "%s: GGUF version %u is not supported (2 and 3 are); the file is damaged or newer "
                "than this glim",
                name, version);
}

/* Both counts against the bytes that remain, before any loop or allocation uses them. */
static int check_counts(struct reader *r, u64 n_tensors, u64 n_kv) {
    u64 left = r->s->size - r->at;
    if (n_kv <= left / MIN_KV_BYTES && n_tensors <= left / MIN_TENSOR_BYTES) return 0;
    return fail(r->e, GLIM_FORMAT,
                "%s: %llu metadata entries and %llu tensors cannot be in the %llu bytes that "
                "remain (interrupted download or damaged file)",
                gguf_file_name(r->s), (unsigned long long)n_kv, (unsigned long long)n_tensors,
                (unsigned long long)left);
}

static int refuse_changing(struct reader *r) {
    return fail(r->e, GLIM_IO, "%s: the file changes while it is read", gguf_file_name(r->s));
}

/* One walk over the header. Fills version, counts, alignment; with an arena also g->kv and
 * g->tensors, which have room for the counts of the first walk. */
static int walk(struct reader *r, struct gguf *g) {
    u32 magic;
    u64 n_tensors, n_kv;
    r->at = 0;
    r->alignment = GGUF_ALIGNMENT;
    r->kind = "the header";
    r->name = (struct str){"GGUF", 4};
    int rc = take_u32(r, &magic);
    if (!rc) rc = take_u32(r, &g->version);
    if (rc) return rc;
    if (g->version != 2 && g->version != 3) return refuse_version(r, g->version);
    rc = take_u64(r, &n_tensors);
    if (!rc) rc = take_u64(r, &n_kv);
    if (!rc) rc = check_counts(r, n_tensors, n_kv);
    if (rc) return rc;
    /* A mapping shows what others write to the file; the tables have room for the first counts. */
    if (r->arena && (n_tensors != g->n_tensors || n_kv != g->n_kv)) return refuse_changing(r);
    g->n_tensors = n_tensors;
    g->n_kv = n_kv;
    for (u64 i = 0; !rc && i < g->n_kv; i++) {
        struct gguf_kv scratch;
        rc = take_kv(r, r->arena ? &g->kv[i] : &scratch);
    }
    for (u64 i = 0; !rc && i < g->n_tensors; i++) {
        struct gguf_tensor scratch;
        rc = take_tensor(r, r->arena ? &g->tensors[i] : &scratch);
    }
    g->alignment = r->alignment;
    return rc;
}

/* Makes offsets absolute and checks that all data is in the file. *end: the end of the last byte
 * of data, or the start of the data section. */
static int place_tensors(struct reader *r, struct gguf *g, u64 *end) {
    /* A header has at most 1 GiB, so this sum cannot wrap. */
    u64 start = (r->at + g->alignment - 1) & ~(g->alignment - 1);
    *end = start;
    const struct gguf_tensor *outside = NULL;
    for (u64 i = 0; i < g->n_tensors; i++) {
        struct gguf_tensor *t = &g->tensors[i];
        r->name = t->name;
        if (t->offset & (g->alignment - 1))
            return bad_tensor(r, GLIM_FORMAT, "its offset is not a multiple of the alignment",
                              t->offset);
        u64 from, stop;
        if (!add_ok(start, t->offset, &from) || !add_ok(from, t->bytes, &stop))
            return bad_tensor(r, GLIM_FORMAT, "offset + size exceeds 64 bits; offset", t->offset);
        t->offset = from;
        if (stop > r->s->size && !outside) outside = t;
        *end = MAX(*end, stop);
        t->data = r->s->map && stop <= r->s->size ? r->s->map + t->offset : NULL;
    }
    if (outside)
        return fail(r->e, GLIM_FORMAT,
                    "%s: tensor '%.*s' ends past the end of the file, which needs %llu bytes and "
                    "has %llu (interrupted download?)",
                    gguf_file_name(r->s), GGUF_NAME(outside->name), (unsigned long long)*end,
                    (unsigned long long)r->s->size);
    return 0;
}

/* Bytes after the last tensor are fine unless they are another GGUF file: then someone joined the
 * shards of a split model with cat, and most of the model would be missing silently. */
static int refuse_joined(struct reader *r, const struct gguf *g, u64 end) {
    u64 padded, size = r->s->size;
    if (!r->s->map || !pad_ok(end, g->alignment, &padded)) return 0;
    const u64 at[] = {end, padded};
    for (u32 i = 0; i < COUNT(at); i++) {
        if (at[i] > size || size - at[i] < 8 || memcmp(r->s->map + at[i], "GGUF", 4) != 0) continue;
        return fail(r->e, GLIM_FORMAT,
                    "%s: another GGUF file begins at byte %llu: shards joined with cat? Split them "
                    "again and open any one, or merge them with gguf-split --merge",
                    gguf_file_name(r->s), (unsigned long long)at[i]);
    }
    return 0;
}

/* ---- Hash tables of names -------------------------------------------------------------------- */

static u64 hash(struct str s) {
    u64 h = 0xcbf29ce484222325u; /* FNV-1a, 64 bits */
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (u8)s.p[i]) * 0x100000001b3u;
    return h ^ h >> 32;
}

/* gguf_kv and gguf_tensor both begin with their name, so one table serves both. */
_Static_assert(offsetof(struct gguf_kv, key) == 0 && offsetof(struct gguf_tensor, name) == 0,
               "names come first");
static struct str name_at(const void *items, size_t stride, u64 i) {
    return *(const struct str *)((const char *)items + i * stride);
}

/* The slot that holds name, or the free one where it belongs. Counts the occupied slots that it
 * looked at. */
static u32 *find_slot(u32 *slots, u64 mask, const void *items, size_t stride, struct str name,
                      u64 *steps) {
    u64 at = hash(name) & mask;
    for (; slots[at]; at = (at + 1) & mask) {
        struct str s = name_at(items, stride, slots[at] - 1);
        ++*steps;
        if (s.n == name.n && memcmp(s.p, name.p, s.n) == 0) break;
    }
    return &slots[at];
}

/* Indexes n items. Names must be unique: otherwise it would depend on the order of lookups which
 * of two was used. */
static int build_index(u32 **slots, u64 *mask, const void *items, size_t stride, u64 n,
                       const char *kind, struct arena *arena, glim_err *e) {
    u64 size = 2;
    while (size < 2 * n)
        size *= 2; /* n < 2^31: every entry takes bytes of a header of 1 GiB */
    *slots = arena_array(arena, size, sizeof **slots);
    if (!*slots) return fail(e, GLIM_NOMEM, "out of memory for the index of %ss", kind);
    *mask = size - 1;
    u64 steps = 0;
    for (u64 i = 0; i < n; i++) {
        struct str name = name_at(items, stride, i);
        u32 *slot = find_slot(*slots, *mask, items, stride, name, &steps);
        if (*slot)
            return fail(e, GLIM_FORMAT, "%s '%.*s' occurs twice (number %u and number %llu)", kind,
                        GGUF_NAME(name), *slot, (unsigned long long)i + 1);
        /* A table at most half full takes about half a step per name, unless names were made to
         * collide, which would take time quadratic in their number. */
        if (steps > 64 * n + 1024)
            return fail(e, GLIM_FORMAT,
                        "%s '%.*s': too many names with one hash; the file was "
                        "made to load slowly",
                        kind, GGUF_NAME(name));
        *slot = (u32)i + 1;
    }
    return 0;
}

int gguf_index_tensors(struct gguf *g, struct arena *arena, glim_err *e) {
    return build_index(&g->tensor_slot, &g->tensor_mask, g->tensors, sizeof *g->tensors,
                       g->n_tensors, "tensor", arena, e);
}

const struct gguf_kv *gguf_find(const struct gguf *g, const char *key) {
    if (!g->kv_slot) return NULL;
    struct str name = {key, strlen(key)};
    u64 steps = 0;
    u32 slot = *find_slot(g->kv_slot, g->kv_mask, g->kv, sizeof *g->kv, name, &steps);
    return slot ? &g->kv[slot - 1] : NULL;
}

const struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name) {
    if (!g->tensor_slot) return NULL;
    struct str s = {name, strlen(name)};
    u64 steps = 0;
    u32 slot =
        *find_slot(g->tensor_slot, g->tensor_mask, g->tensors, sizeof *g->tensors, s, &steps);
    return slot ? &g->tensors[slot - 1] : NULL;
}

/* ---- Entry ----------------------------------------------------------------------------------- */

/* The second walk, over a header known to be whole and sound. */
static int store(struct reader *r, struct gguf *g, struct arena *arena) {
    u64 header = r->at;
    r->arena = arena;
    if (!r->s->map) { /* the view dies with the next one: keep a copy */
        u8 *copy = arena_get(arena, header);
        if (!copy)
            return fail(r->e, GLIM_NOMEM, "%s: out of memory for a header of %llu bytes",
                        gguf_file_name(r->s), (unsigned long long)header);
        memcpy(copy, r->p, (size_t)header);
        r->p = copy;
        r->have = header;
    }
    g->kv = arena_array(arena, g->n_kv, sizeof *g->kv);
    g->tensors = arena_array(arena, g->n_tensors, sizeof *g->tensors);
    if (!g->kv || !g->tensors)
        return fail(r->e, GLIM_NOMEM, "%s: out of memory for %llu keys and %llu tensors",
                    gguf_file_name(r->s), (unsigned long long)g->n_kv,
                    (unsigned long long)g->n_tensors);
    int rc = walk(r, g);
    if (rc == GLIM_AGAIN) rc = refuse_changing(r);
    if (!rc)
        rc = build_index(&g->kv_slot, &g->kv_mask, g->kv, sizeof *g->kv, g->n_kv, "metadata key",
                         arena, r->e);
    return rc ? rc : gguf_index_tensors(g, arena, r->e);
}

static int refuse_stranger(struct reader *r) {
    const char *name = gguf_file_name(r->s), *what = sniff(r->p, r->have, r->s->size);
    if (what) return fail(r->e, GLIM_FORMAT, "%s: not a GGUF file: it looks like %s", name, what);
    return fail(r->e, GLIM_FORMAT, "%s: not a GGUF file (it does not begin with GGUF)", name);
}

int gguf_parse(struct gguf *g, struct source *s, struct arena *arena, gguf_type_size *size,
               glim_err *e) {
    if (s->size == 0)
        return fail(e, GLIM_FORMAT, "%s: the file is empty (interrupted download?)",
                    gguf_file_name(s));
    struct reader r = {.s = s, .size = size, .e = e};
    u64 limit = MIN(s->size, MAX_HEADER);
    if (!g->window) g->window = s->map ? limit : MIN(limit, (u64)FIRST_WINDOW);
    int rc;
    for (;;) {
        rc = s->view(s, 0, g->window, &r.p, e);
        if (rc) return rc; /* GLIM_AGAIN: g->window is kept for the next call */
        r.have = g->window;
        if (memcmp(r.p, "GGUF", (size_t)MIN(r.have, 4u)) != 0) return refuse_stranger(&r);
        rc = walk(&r, g);
        if (rc != GLIM_AGAIN) break;
        g->window = MIN(limit, MAX(2 * g->window, r.want));
    }
    if (!rc) rc = store(&r, g, arena);
    u64 end = 0;
    if (!rc) rc = place_tensors(&r, g, &end);
    return rc ? rc : refuse_joined(&r, g, end);
}
