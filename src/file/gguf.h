/* GGUF reader, versions 2 and 3, single files and split sets. Formats: the GGUF description in
 * ggml's documentation. No length in the file is trusted: every count is compared with the bytes
 * that remain before anything is allocated. */
#ifndef FILE_GGUF_H
#define FILE_GGUF_H

#include "file/source.h"

/* Value types of metadata, with the file's own numbers. */
enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STR,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
};

/* One metadata entry. Scalars and strings: n = 1, type is theirs. Arrays: type is the element's,
 * is_array is set. Nested arrays are refused. */
struct gguf_kv {
    struct str key;
    enum gguf_type type;
    bool is_array;
    u64 n;
    union {
        u64 u; /* U8 U16 U32 U64 BOOL; also I8..I64 as two's complement in i */
        i64 i;
        f64 f;               /* F32 F64 */
        struct str s;        /* STR */
        const u8 *items;     /* array of fixed-size items, little endian, unaligned */
        struct str *strings; /* array of STR */
    };
};

struct gguf_tensor {
    struct str name;
    u32 type;       /* ggml's number; known to quant.h (checked by gguf_open) */
    u32 n_dims;     /* 1 to 4 (0 in the file, a lone value, reads as 1) */
    u64 dims[4];    /* ne0 (fastest) first; unused ones are 1; the product of all, with 1 for any 0,
                     * fits 63 bits */
    u64 bytes;      /* size of the data, without padding */
    u64 offset;     /* from the start of its source */
    u32 part;       /* index into gguf.parts */
    const u8 *data; /* the data where the source is mapped, otherwise NULL */
};

struct gguf {
    u32 version;
    u64 alignment;
    u64 n_kv, n_tensors;
    struct gguf_kv *kv;          /* of the first part */
    struct gguf_tensor *tensors; /* of all parts, in file order */
    struct source **parts;       /* owned */
    u32 n_parts;
    /* private */
    u32 *kv_slot, *tensor_slot; /* hash tables of names: index + 1, or 0 for a free slot */
    u64 kv_mask, tensor_mask;   /* slots - 1, a power of two less one */
    u64 window;                 /* bytes of an unfinished header asked for so far */
};

/* Size of a tensor type: block length and bytes. Returns false for an unknown number. Given by the
 * caller because formats are known to kern/, a later folder. */
typedef bool gguf_type_size(u32 type, u32 *block_len, u32 *block_bytes);

/* Opens one file, or the whole split set that path is a member of (names like
 * NAME-00001-of-00003.gguf beside each other). g need not be initialised. All memory comes from
 * arena; on success g owns the sources, which are allocated by arena->alloc: close g before the
 * arena is freed. On failure nothing is left to close. */
int gguf_open(struct gguf *g, const char *path, struct arena *arena, gguf_type_size *size,
              glim_err *e);
/* One source. *g must be zero at the first call and owns s from here on; on failure s is closed.
 * Only the header is read, in ranges [0, n) that grow until it is complete. A member of a split set
 * is refused. GLIM_AGAIN: the source is still fetching; call again with the same arguments, or give
 * up with gguf_close. */
int gguf_open_source(struct gguf *g, struct source *s, struct arena *arena, gguf_type_size *size,
                     glim_err *e);
/* Closes the sources and zeroes g; a zero g is fine. Whatever pointed into them is invalid. */
void gguf_close(struct gguf *g);

/* By name; NULL when absent. */
const struct gguf_kv *gguf_find(const struct gguf *g, const char *key);
const struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name);

/* Typed access. absent key: returns GLIM_NOT_FOUND without touching e or *out; wrong type or out of
 * range: GLIM_FORMAT with the key's name in e. Any integer type converts when the value fits. */
int gguf_u32(const struct gguf *g, const char *key, u32 *out, glim_err *e);
int gguf_f32(const struct gguf *g, const char *key, f32 *out, glim_err *e);
int gguf_bool(const struct gguf *g, const char *key, bool *out, glim_err *e);
int gguf_str(const struct gguf *g, const char *key, struct str *out, glim_err *e);
/* A scalar repeated, or an array of exactly n integers. */
int gguf_u32s(const struct gguf *g, const char *key, u32 *out, u64 n, glim_err *e);
/* Element i of a fixed-size array as integer or real (the caller checked type and n). */
i64 gguf_item_int(const struct gguf_kv *kv, u64 i);
f64 gguf_item_real(const struct gguf_kv *kv, u64 i);

#endif
