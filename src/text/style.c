/* The formats, as the templates published with the models have them. */
#include "text/style.h"

#define ROLE_START "<|start_of_role|>"
#define ROLE_END   "<|end_of_role|>"

/* ChatML. */
static const struct style qwen3 = {
    .name = "Qwen 3",
    .start = "",
    .head = {"<|im_start|>", "\n"},
    .user = {"", "<|im_end|>\n"},
    .model = {"", "<|im_end|>\n"},
    .reply = "<|im_start|>assistant\n",
    .model_role = "assistant",
    .end = "<|im_end|>",
    .marks = {"<|im_start|>"},
};

static const struct style gemma3 = {
    .name = "Gemma 3",
    .start = STYLE_BEGIN,
    .head = {"<start_of_turn>", "\n"},
    .user = {"", "<end_of_turn>\n"},
    .model = {"", "<end_of_turn>\n"},
    .reply = "<start_of_turn>model\n",
    .model_role = "model",
    .end = "<end_of_turn>",
    .marks = {"<start_of_turn>"},
    .system = STYLE_SYSTEM_WITHIN,
    .system_text = {"", "\n\n"},
    .trim_user = true,
    .trim_model = true,
    .alternate = true,
};

static const struct style granite3 = {
    .name = "Granite 3",
    .start = "",
    .head = {ROLE_START, ROLE_END},
    .user = {"", "<|end_of_text|>\n"},
    .model = {"", "<|end_of_text|>\n"},
    .reply = ROLE_START "assistant" ROLE_END,
    .model_role = "assistant",
    .end = "<|end_of_text|>",
    .marks = {ROLE_START, ROLE_END},
    .named_roles = true,
};

/* ChatML without tools. */
static const struct style qwen25 = {
    .name = "Qwen 2.5",
    .start = "",
    .head = {"<|im_start|>", "\n"},
    .user = {"", "<|im_end|>\n"},
    .model = {"", "<|im_end|>\n"},
    .reply = "<|im_start|>assistant\n",
    .model_role = "assistant",
    .end = "<|im_end|>",
    .marks = {"<|im_start|>"},
    .default_system = "<|im_start|>system\n"
                      "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
                      "<|im_end|>\n",
    .named_roles = true,
};

static const struct style gemma4 = {
    .name = "Gemma 4",
    .start = STYLE_BEGIN,
    .head = {"<|turn>", "\n"},
    .user = {"", "<turn|>\n"},
    .model = {"", "<turn|>\n"},
    .reply = "<|turn>model\n",
    .model_role = "model",
    .end = "<turn|>",
    .marks = {"<|turn>", "<|think|>"},
    .trim_user = true,
    .trim_model = true,
    .named_roles = true,
    .one_answer = true,
    .think = {"<|think|>\n", "<|turn>system\n<|think|>\n<turn|>\n"},
};

/* ChatML behind a begin token. */
static const struct style lfm2 = {
    .name = "LFM2",
    .start = STYLE_BEGIN,
    .head = {"<|im_start|>", "\n"},
    .user = {"", "<|im_end|>\n"},
    .model = {"", "<|im_end|>\n"},
    .reply = "<|im_start|>assistant\n",
    .model_role = "assistant",
    .end = "<|im_end|>",
    .marks = {"<|im_start|>"},
    .named_roles = true,
    .drop_empty_system = true,
};

static const struct {
    const char *architecture;
    const struct style *style;
} families[] = {
    {"gemma3", &gemma3}, {"gemma4", &gemma4}, {"granite", &granite3}, {"lfm2", &lfm2},
    {"lfm2moe", &lfm2},  {"qwen2", &qwen25},  {"qwen3", &qwen3},
};

const struct style *style_of_family(struct str architecture) {
    for (size_t i = 0; i < COUNT(families); i++) {
        if (str_is(architecture, families[i].architecture)) return families[i].style;
    }
    return NULL;
}
