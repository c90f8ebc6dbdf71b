/* How each family of models marks thoughts and tool calls in its answers, as data. */
#ifndef TEXT_STREAM_FAMILY_H
#define TEXT_STREAM_FAMILY_H

#include "base/base.h"

enum stream_family {
    STREAM_PLAIN,   /* nothing is marked */
    STREAM_THINK,   /* <think> only */
    STREAM_GEMMA4,  /* <|channel>thought, <|tool_call>call:f{a:1}<tool_call|> */
    STREAM_LFM2,    /* <|tool_call_start|>[f(a=1)]<|tool_call_end|> */
    STREAM_HERMES,  /* <tool_call>{"name": "f", "arguments": {}}</tool_call>: Qwen, Granite 4, .. */
    STREAM_LLAMA,   /* {"name": "f", "parameters": {}}, and <|python_tag|> before code */
    STREAM_GRANITE, /* <|tool_call|>[{"name": "f", "arguments": {}}] */
    STREAM_MISTRAL, /* [TOOL_CALLS] [{..}], and [TOOL_CALLS]f[ARGS]{} */
    STREAM_FAMILIES
};

enum stream_mark_kind {
    MARK_CALL,
    MARK_CALL_END,
    MARK_THINK,
    MARK_THINK_END,
    MARK_CHANNEL, /* a thought, if "thought" and a line's end follow */
    MARK_QUOTE,   /* around Gemma's strings */
    MARK_ARGS,
    MARK_CALL_ID,
    MARK_CODE, /* what follows is code, or a call */
    MARK_WRAP, /* around the answer that follows a thought */
};

enum { STREAM_MARKS = 7, STREAM_MARK_BYTES = 32 };

struct stream_mark {
    const char *text; /* shorter than STREAM_MARK_BYTES; none is the beginning of another */
    u8 kind;
    bool plain; /* the family's models write it in ordinary tokens */
};

struct stream_style {
    const char *name;
    struct stream_mark mark[STREAM_MARKS]; /* up to the first without text */
    char bare; /* begins calls that have no mark, at the beginning of an answer; or 0 */
};
extern const struct stream_style stream_styles[STREAM_FAMILIES];

/* The family whose marks a chat template (Jinja, or Ollama's) writes or asks for; where it tells
 * nothing, the architecture (general.architecture) decides. Either may be empty. */
enum stream_family stream_family_of(struct str template, struct str architecture);

/* Whether a prompt that ends in this text (control tokens by their names) has opened a thought, so
 * that the answer begins within it. */
bool stream_opens_thought(enum stream_family family, struct str tail);

#endif
