/* Parser of one GGUF source, for gguf.c. */
#ifndef FILE_GGUF_PARSE_H
#define FILE_GGUF_PARSE_H

#include "file/gguf.h"

enum {
    GGUF_MAX_KEY = 65535,       /* bytes; the format's own limit */
    GGUF_MAX_TENSOR_NAME = 255, /* the format says 64; some writers go further */
    GGUF_ALIGNMENT = 32,        /* of tensor data, unless general.alignment says otherwise */
};
/* A power of two from 8 (the format's minimum) to 65536: more would only waste space. */
static inline bool gguf_alignment_ok(u64 a) {
    return a >= 8 && a <= 65536 && (a & (a - 1)) == 0;
}

/* Fills version, alignment, kv and tensors (with part = 0) and the hash tables; parts are left
 * alone. Structure is checked before anything is allocated. GLIM_AGAIN: call again. */
int gguf_parse(struct gguf *g, struct source *s, struct arena *arena, gguf_type_size *size,
               glim_err *e);

/* Builds the table of tensor names anew; a name that occurs twice is GLIM_FORMAT. */
int gguf_index_tensors(struct gguf *g, struct arena *arena, glim_err *e);

/* A source's name, or its last part if it is long, so that messages have room left. */
const char *gguf_file_name(const struct source *s);

/* For printf's "%.*s": a name of at most 64 bytes, the rest cut. */
#define GGUF_NAME(s) (int)MIN((s).n, 64u), (s).p

/* Bytes of one value of a type; 0 for strings, arrays and unknown numbers. */
u32 gguf_item_bytes(u32 type);
/* "u32", "str" and so on, for messages. */
const char *gguf_type_name(u32 type);

#endif
