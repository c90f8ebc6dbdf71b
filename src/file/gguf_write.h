/* GGUF v3 writer. Tensor data may be given at once or streamed in order, so that files larger than
 * memory can be written. */
#ifndef FILE_GGUF_WRITE_H
#define FILE_GGUF_WRITE_H

#include "file/gguf.h"
#include <stdio.h>

struct gguf_writer; /* opaque; owns its memory, not the stream */

/* to is written from its current position, which need not be seekable; it stays open at the end.
 * Metadata comes first, then the declarations of tensors, then their data. A u32
 * "general.alignment" sets the alignment, otherwise it is 32. Names are not compared with each
 * other: the caller keeps them unique. */
int gguf_write_open(struct gguf_writer **out, FILE *to, const glim_alloc *a, glim_err *e);
/* Metadata, in order. Errors stick; gguf_write_close reports the first. Everything is copied. */
void gguf_write_u32(struct gguf_writer *w, const char *key, u32 v);
void gguf_write_f32(struct gguf_writer *w, const char *key, f32 v);
void gguf_write_bool(struct gguf_writer *w, const char *key, bool v);
void gguf_write_str(struct gguf_writer *w, const char *key, struct str v);
void gguf_write_strs(struct gguf_writer *w, const char *key, const struct str *v, u64 n);
/* type is U8..F64 without STR and ARRAY; items little endian as in memory. */
void gguf_write_array(struct gguf_writer *w, const char *key, enum gguf_type type,
                      const void *items, u64 n);
/* Copies an entry of another file. */
void gguf_write_kv(struct gguf_writer *w, const struct gguf_kv *kv);
/* Declares a tensor (all before the first data). */
void gguf_write_tensor(struct gguf_writer *w, const char *name, u32 type, u32 n_dims,
                       const u64 *dims, u64 bytes);
/* Data of the declared tensors, in order, in any pieces. */
void gguf_write_data(struct gguf_writer *w, const void *p, u64 n);
/* Pads, checks that all declared data came, flushes the stream, frees w (NULL is fine). Returns the
 * first error: GLIM_NOMEM, GLIM_IO, or GLIM_ARG when the calls did not fit together. */
int gguf_write_close(struct gguf_writer *w, glim_err *e);

#endif
