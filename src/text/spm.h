/* Tokenizers over characters, as SentencePiece spells them: blanks as U+2581, characters that are
 * no token byte by byte as <0xNN>. Two rules for what joins:
 * - tokenizer.ggml.model "llama" (Llama 2, Mistral, Gemma 1 to 3): the neighbours whose joined text
 *   is the token of the highest score (Kudo and Richardson 2018, the BPE model);
 * - "gemma4" (also "llama" with tokenizer.ggml.pre "gemma4"): by merge rank, inside what lies
 *   between runs of newlines. */
#ifndef TEXT_SPM_H
#define TEXT_SPM_H

#include "text/token.h"

/* The bytes that a token's text in the file spells, at out (at most text.n); returns their count.
 */
i64 spm_bytes(struct str text, char *out);

/* Fill v->encode, v->algorithm, v->missing and the default of v->add_begin; v's pieces and kinds
 * are there already. texts[V]: the tokens' texts in the file. */
int spm_open(struct vocab *v, const struct str *texts, const struct gguf *g, struct arena *a,
             glim_err *e);
int spm_open_gemma4(struct vocab *v, const struct str *texts, const struct gguf *g, struct arena *a,
                    glim_err *e);

#endif
