/* What a file that is not GGUF looks like, for error messages. */
#ifndef FILE_SNIFF_H
#define FILE_SNIFF_H

#include "base/base.h"

/* p[0..n): the file's first bytes, size: all of its bytes. A phrase that says what the file looks
 * like and the way out ("a safetensors file; convert it to GGUF"), or NULL if it looks like nothing
 * known. */
const char *sniff(const u8 *p, u64 n, u64 size);

#endif
