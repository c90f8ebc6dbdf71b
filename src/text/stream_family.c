/* The families' marks; see stream_family.h. Facts from the models' published chat templates. */
#include "text/stream_family.h"

#include <stdio.h>
#include <string.h>

#define THINK                                                                                      \
    {"<think>", MARK_THINK, true}, {                                                               \
        "</think>", MARK_THINK_END, true                                                           \
    }

const struct stream_style stream_styles[STREAM_FAMILIES] = {
    [STREAM_PLAIN] = {.name = "plain"},
    [STREAM_THINK] = {.name = "think", .mark = {THINK}},
    [STREAM_GEMMA4] = {.name = "gemma4",
                       .mark = {{"<|tool_call>", MARK_CALL, false},
                                {"<tool_call|>", MARK_CALL_END, false},
                                {"<|channel>", MARK_CHANNEL, false},
                                {"<channel|>", MARK_THINK_END, false},
                                {"<|\"|>", MARK_QUOTE, false}}},
    [STREAM_LFM2] = {.name = "lfm2",
                     .mark = {{"<|tool_call_start|>", MARK_CALL, false},
                              {"<|tool_call_end|>", MARK_CALL_END, false},
                              THINK},
                     .bare = '['},
    /* Qwen 2.5's models, above all the coders, put calls into fences and other marks. */
    [STREAM_HERMES] = {.name = "hermes",
                       .mark = {{"<tool_call>", MARK_CALL, true},
                                {"</tool_call>", MARK_CALL_END, true},
                                THINK,
                                {"<tools>", MARK_ASIDE, true},
                                {"</tools>", MARK_ASIDE_END, true},
                                {"```json", MARK_ASIDE, true},
                                {"```\n", MARK_ASIDE, true}},
                       .bare = '{',
                       .aside = true},
    [STREAM_LLAMA] = {.name = "llama3",
                      .mark = {{"<|python_tag|>", MARK_CODE, false}, THINK},
                      .bare = '{'},
    [STREAM_GRANITE] = {.name = "granite",
                        .mark = {{"<|tool_call|>", MARK_CALL, false},
                                 {"<tool_call>", MARK_CALL, true},
                                 {"</tool_call>", MARK_CALL_END, true},
                                 THINK,
                                 {"<response>", MARK_WRAP, true},
                                 {"</response>", MARK_WRAP, true}}},
    [STREAM_MISTRAL] = {.name = "mistral",
                        .mark = {{"[TOOL_CALLS]", MARK_CALL, false},
                                 {"[ARGS]", MARK_ARGS, false},
                                 {"[CALL_ID]", MARK_CALL_ID, false},
                                 {"[THINK]", MARK_THINK, false},
                                 {"[/THINK]", MARK_THINK_END, false},
                                 THINK}},
    [STREAM_QWEN_XML] = {.name = "qwen3-coder",
                         .mark = {{"<tool_call>", MARK_CALL, true},
                                  {"</tool_call>", MARK_CALL_END, true},
                                  {"<function=", MARK_FUNCTION, true},
                                  THINK}},
    [STREAM_SEED] = {.name = "seed-oss",
                     .mark = {{"<seed:tool_call>", MARK_CALL, true},
                              {"</seed:tool_call>", MARK_CALL_END, true},
                              {"<function=", MARK_FUNCTION, true},
                              {"<seed:think>", MARK_THINK, true},
                              {"</seed:think>", MARK_THINK_END, true}}},
    [STREAM_GLM] = {.name = "glm4",
                    .mark = {{"<tool_call>", MARK_CALL, true},
                             {"</tool_call>", MARK_CALL_END, true},
                             THINK}},
    [STREAM_MINIMAX] = {.name = "minimax",
                        .mark = {{"<minimax:tool_call>", MARK_CALL, true},
                                 {"</minimax:tool_call>", MARK_CALL_END, true},
                                 THINK}},
    [STREAM_DEEPSEEK] = {.name = "deepseek",
                         .mark = {{"<｜tool▁calls▁begin｜>", MARK_LIST, true},
                                  {"<｜tool▁calls▁end｜>", MARK_LIST_END, true},
                                  {"<｜tool▁call▁begin｜>", MARK_CALL, true},
                                  {"<｜tool▁call▁end｜>", MARK_CALL_END, true},
                                  {"<｜tool▁sep｜>", MARK_ARGS, true},
                                  THINK,
                                  /* as models distilled from R1 spell it */
                                  {"<｜tool_calls_begin｜>", MARK_LIST, true},
                                  {"<｜tool calls begin｜>", MARK_LIST, true}}},
    [STREAM_KIMI] = {.name = "kimi-k2",
                     .mark = {{"<|tool_calls_section_begin|>", MARK_LIST, false},
                              {"<|tool_calls_section_end|>", MARK_LIST_END, false},
                              {"<|tool_call_begin|>", MARK_CALL, false},
                              {"<|tool_call_end|>", MARK_CALL_END, false},
                              {"<|tool_call_argument_begin|>", MARK_ARGS, false},
                              THINK}},
    [STREAM_PHI] = {.name = "phi4",
                    .mark = {{"<|tool_call|>", MARK_CALL, false},
                             {"<|/tool_call|>", MARK_CALL_END, false},
                             {"functools", MARK_ASIDE, true},
                             THINK}},
    [STREAM_COMMAND] = {.name = "command-r",
                        .mark = {{"<|START_ACTION|>", MARK_CALL, false},
                                 {"<|END_ACTION|>", MARK_CALL_END, false},
                                 {"<|START_THINKING|>", MARK_THINK, false},
                                 {"<|END_THINKING|>", MARK_THINK_END, false},
                                 {"<|START_RESPONSE|>", MARK_WRAP, false},
                                 {"<|END_RESPONSE|>", MARK_WRAP, false}}},
    [STREAM_NEMOTRON] = {.name = "nemotron",
                         .mark = {{"<TOOLCALL>", MARK_CALL, true},
                                  {"</TOOLCALL>", MARK_CALL_END, true},
                                  {"<tool_calls>", MARK_CALL, true},
                                  {"</tool_calls>", MARK_CALL_END, true},
                                  THINK}},
    [STREAM_MINICPM] = {.name = "minicpm5",
                        .mark = {{"<function name=\"", MARK_FUNCTION, true}, THINK}},
    [STREAM_HARMONY] = {.name = "harmony",
                        .mark = {{"<|start|>", MARK_HEAD, false},
                                 {"<|channel|>", MARK_HEAD, false},
                                 {"<|constrain|>", MARK_HEAD, false},
                                 {"<|message|>", MARK_BODY, false},
                                 {"<|end|>", MARK_BODY_END, false},
                                 {"<|call|>", MARK_BODY_END, false},
                                 {"<|return|>", MARK_BODY_END, false}}},
};

static bool family_says(struct str s, const char *word) {
    return memmem(s.p, s.n, word, strlen(word)) != NULL;
}

static bool family_is(struct str s, const char *word) {
    return s.n >= strlen(word) && memcmp(s.p, word, strlen(word)) == 0;
}

enum stream_family stream_family_of(struct str template, struct str architecture) {
    /* In this order: what is said first is said by no template of another family, but for Granite
     * 4 and others that took over Hermes' marks, some with another notation between them. */
    static const struct {
        const char *word;
        enum stream_family family;
    } words[] = {
        {"<|tool_call>", STREAM_GEMMA4},
        {"<|tool_call_start|>", STREAM_LFM2},
        {"<|tool_list_start|>", STREAM_LFM2},
        {"[TOOL_CALLS]", STREAM_MISTRAL},
        {"[THINK]", STREAM_MISTRAL},
        {"<seed:tool_call>", STREAM_SEED},
        {"<minimax:tool_call>", STREAM_MINIMAX},
        {"<arg_key>", STREAM_GLM},
        {"<parameter=", STREAM_QWEN_XML},
        {"<｜tool▁calls▁begin｜>", STREAM_DEEPSEEK},
        {"<|tool_calls_section_begin|>", STREAM_KIMI},
        {"<|channel|>analysis<|message|>", STREAM_HARMONY},
        {"<|START_ACTION|>", STREAM_COMMAND},
        {"<TOOLCALL>", STREAM_NEMOTRON},
        {"</tool_calls>", STREAM_NEMOTRON},
        {"<param name=", STREAM_MINICPM},
        {"<|/tool|>", STREAM_PHI},
        {"</tool_call>", STREAM_HERMES},
        {"<|tool_call|>", STREAM_GRANITE},
        {"<tool_call>", STREAM_GRANITE},
        {"<|python_tag|>", STREAM_LLAMA},
        {"ipython", STREAM_LLAMA},
    };
    for (size_t i = 0; i < COUNT(words); i++) {
        if (family_says(template, words[i].word)) return words[i].family;
    }
    if (family_is(architecture, "gemma4")) return STREAM_GEMMA4;
    if (family_is(architecture, "lfm2")) return STREAM_LFM2;
    if (family_is(architecture, "granite")) return STREAM_GRANITE;
    if (family_says(template, "<think>") || family_says(template, "</think>")) return STREAM_THINK;
    return STREAM_PLAIN;
}

bool stream_opens_thought(enum stream_family family, struct str tail) {
    const struct stream_mark *mark = stream_styles[family].mark;
    while (tail.n && strchr(" \t\r\n", tail.p[tail.n - 1]) && tail.p[tail.n - 1])
        tail.n--;
    for (u32 i = 0; i < STREAM_MARKS && mark[i].text; i++) {
        bool channel = mark[i].kind == MARK_CHANNEL, body = mark[i].kind == MARK_BODY;
        struct str before = {"analysis", body ? 8 : 0}, behind = {"thought", channel ? 7 : 0};
        struct str parts[] = {behind, {mark[i].text, strlen(mark[i].text)}, before};
        size_t at = tail.n, k = 0;
        if (mark[i].kind != MARK_THINK && !channel && !body) continue;
        for (; k < COUNT(parts) && at >= parts[k].n; k++) {
            at -= parts[k].n;
            if (memcmp(tail.p + at, parts[k].p, parts[k].n) != 0) break;
        }
        if (k == COUNT(parts)) return true;
    }
    return false;
}

void stream_thought_close(enum stream_family family, bool (*has)(const void *ud, struct str mark),
                          const void *ud, char *text) {
    const struct stream_mark *mark = stream_styles[family].mark, *found = NULL;
    for (u32 i = 0; i < STREAM_MARKS && mark[i].text; i++) {
        if (mark[i].kind != MARK_THINK_END) continue;
        bool is_token = has(ud, (struct str){mark[i].text, strlen(mark[i].text)});
        if (is_token || (mark[i].plain && !found)) found = &mark[i];
        if (is_token) break;
    }
    /* <think> stands on lines of its own. */
    bool lines = found && strcmp(found->text, "</think>") == 0;
    snprintf(text, STREAM_CLOSE_BYTES, "%s%s%s", lines ? "\n" : "", found ? found->text : "",
             lines ? "\n\n" : "");
}
