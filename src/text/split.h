/* Pre-tokenizers: cut text into the words inside which byte-level BPE merges. Written out by hand
 * after the regular expressions that the models were trained with: one pass, no backtracking beyond
 * one character, so time is linear and the stack constant whatever the text. */
#ifndef TEXT_SPLIT_H
#define TEXT_SPLIT_H

#include "base/base.h"

/* Length in bytes of the word that starts text; text.n >= 1, the result is 1 to text.n. Bytes that
 * are not UTF-8 count as symbols, one at a time. */
typedef size_t split_fn(struct str text);

/* GPT-2:
 * 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
split_fn split_gpt2;
/* SmolLM and StarCoder: every \p{N} is a word of its own; what lies between goes through GPT-2's
 * expression piece by piece, so a number ends the text for it. */
split_fn split_digits_gpt2;
/* Llama 3:
 * (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
 * \s*[\r\n]+|\s+(?!\S)|\s+ */
split_fn split_llama3;
/* Qwen 2: Llama 3's with every \p{N} a word of its own. */
split_fn split_qwen2;
/* Tekken (Mistral), where case separates words; U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}],
 * L = [\p{Ll}\p{Lm}\p{Lo}\p{M}]:
 * [^\r\n\p{L}\p{N}]?U*L+|[^\r\n\p{L}\p{N}]?U+L*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|
 * \s*[\r\n]+|\s+(?!\S)|\s+ */
split_fn split_tekken;
/* GPT-4o and Llama 4: Tekken's with (?i:'s|'t|'re|'ve|'m|'ll|'d)? behind the first two
 * alternatives, and \p{N}{1,3}. */
split_fn split_o200k;

#endif
