/* Byte-level BPE (tokenizer.ggml.model "gpt2"). Sennrich et al. 2016, over bytes as in GPT-2. */
#ifndef TEXT_BPE_H
#define TEXT_BPE_H

#include "text/token.h"

/* Turns a token's text in the file, in which each byte is written as a printable character, back
 * into bytes at out (at most text.n). Returns their count, or -1 where a character of the text
 * stands for no byte: the text is then meant literally. */
i64 bpe_bytes(struct str text, char *out);

/* Fills v->encode, v->algorithm, v->missing and the default of v->add_begin; v's pieces and kinds
 * are there already. texts[V]: the tokens' texts in the file. */
int bpe_open(struct vocab *v, const struct str *texts, const struct gguf *g, struct arena *a,
             glim_err *e);

#endif
