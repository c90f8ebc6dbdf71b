/* Answers as JSON, for glim run. */
#ifndef TOOL_ANSWER_JSON_H
#define TOOL_ANSWER_JSON_H

#include "tool/reply.h"

/* As reply_stream, but the answer is printed when it is complete, as one JSON object on a line:
 * text, thought, tool_calls (id, name, arguments), notes, end, how many tokens the prompt and the
 * answer have; and with --logprobs, for each token of the answer (its end token too): text, id,
 * logprob, and the likeliest ones as "top". Where a token's text is no whole characters, "bytes"
 * has them. What was not drawn (the mark that closes a thought for the model) has null for its
 * logprob. */
enum reply_end answer_json(struct reply *r, const glim_model *model);

#endif
