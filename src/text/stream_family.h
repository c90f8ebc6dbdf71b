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
    STREAM_QWEN_XML, /* <tool_call><function=f><parameter=a>1</parameter></function></tool_call> */
    STREAM_SEED,     /* the same between <seed:tool_call> marks */
    STREAM_GLM,      /* <tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call> */
    STREAM_MINIMAX,  /* <minimax:tool_call><invoke name="f"><parameter name="a">1</parameter>.. */
    STREAM_DEEPSEEK, /* a list of calls, each f<sep>{}, or function<sep>f and {} in a code fence */
    STREAM_KIMI,     /* a list of calls, each functions.f:0<sep>{} */
    STREAM_PHI,      /* <|tool_call|>[{..}]<|/tool_call|>, and functools[{..}] */
    STREAM_COMMAND,  /* <|START_ACTION|>[{"tool_name": "f", "parameters": {}}]<|END_ACTION|> */
    STREAM_NEMOTRON, /* <TOOLCALL>[{..}]</TOOLCALL>; Apriel, MiniMax M1: <tool_calls> */
    STREAM_HARMONY, /* messages: <|start|>assistant to=functions.f<|channel|>commentary<|message|>{}
                     */
    STREAM_MINICPM, /* <function name="f"><param name="a">1</param></function> */
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
    MARK_LIST, /* around the calls, each of which has marks of its own */
    MARK_LIST_END,
    MARK_FUNCTION,  /* begins what stands within a call, whose own mark models forget */
    MARK_ASIDE,     /* where models put calls that belong elsewhere; else it is text */
    MARK_ASIDE_END, /* and its end */
    MARK_HEAD,      /* begins what is said of a message: its channel, whom it is to */
    MARK_BODY,      /* begins the message, */
    MARK_BODY_END,  /* and ends it */
};

enum { STREAM_MARKS = 10, STREAM_MARK_BYTES = 32 };

struct stream_mark {
    const char *text; /* shorter than STREAM_MARK_BYTES; none is the beginning of another */
    u8 kind;
    bool plain; /* the family's models write it in ordinary tokens */
};

struct stream_style {
    const char *name;
    struct stream_mark mark[STREAM_MARKS]; /* up to the first without text */
    char bare;  /* begins calls that have no mark, at the beginning of an answer; or 0 */
    bool aside; /* those are against the rules of the template, and must look like a call only */
};
extern const struct stream_style stream_styles[STREAM_FAMILIES];

/* The family whose marks a chat template (Jinja, or Ollama's) writes or asks for; where it tells
 * nothing, the architecture (general.architecture) decides. Either may be empty. */
enum stream_family stream_family_of(struct str template, struct str architecture);

/* Whether a prompt that ends in this text (control tokens by their names) has opened a thought, so
 * that the answer begins within it. */
bool stream_opens_thought(enum stream_family family, struct str tail);

/* The mark that closes this family's thoughts, with the white space that its models write around
 * it; "" where it has none. has tells which marks the vocabulary has as tokens: one that it has
 * goes before one that would be spelled out. text has room for STREAM_CLOSE_BYTES. */
enum { STREAM_CLOSE_BYTES = STREAM_MARK_BYTES + 4 };
void stream_thought_close(enum stream_family family, bool (*has)(const void *ud, struct str mark),
                          const void *ud, char *text);

#endif
