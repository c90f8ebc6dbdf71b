/* The formats, and the templates. What a template does was found by running it; it is known by the
 * hash of its normal form, so that spacing and quotes make no difference and anything else does. */
#include "text/style.h"

#define HEADER_START "<|start_header_id|>"
#define HEADER_END   "<|end_header_id|>\n\n"
#define ROLE_START   "<|start_of_role|>"
#define ROLE_END     "<|end_of_role|>"

const struct style style_chatml = {
    .name = "ChatML",
    .start = "",
    .head = {"<|im_start|>", "\n"},
    .user = {"", "<|im_end|>\n"},
    .model = {"", "<|im_end|>\n"},
    .reply = "<|im_start|>assistant\n",
    .model_role = "assistant",
    .end = "<|im_end|>",
    .marks = {"<|im_start|>"},
};

static const struct style llama2 = {
    .name = "Llama 2",
    .start = "",
    .user = {STYLE_BEGIN "[INST] ", " [/INST]"},
    .model = {" ", " " STYLE_END},
    .reply = "",
    .end = STYLE_END,
    .system = STYLE_SYSTEM_WITHIN,
    .system_text = {"<<SYS>>\n", "\n<</SYS>>\n\n"},
    .trim_user = true,
    .trim_model = true,
    .trim_within = true,
    .alternate = true,
    .named_roles = true,
};

static const struct style llama3 = {
    .name = "Llama 3",
    .start = STYLE_BEGIN,
    .head = {HEADER_START, HEADER_END},
    .user = {"", "<|eot_id|>"},
    .model = {"", "<|eot_id|>"},
    .reply = HEADER_START "assistant" HEADER_END,
    .model_role = "assistant",
    .end = "<|eot_id|>",
    .marks = {HEADER_START, "<|end_header_id|>"},
    .trim_user = true,
    .trim_model = true,
};

/* Mistral 7B 0.1 and 0.2, before they took system messages. */
static const struct style mistral = {
    .name = "Mistral",
    .start = STYLE_BEGIN,
    .user = {"[INST] ", " [/INST]"},
    .model = {"", STYLE_END},
    .reply = "",
    .end = STYLE_END,
    .system = STYLE_SYSTEM_NONE,
    .alternate = true,
    .named_roles = true,
};

static const struct style mistral_v1 = {
    .name = "Mistral, version 1",
    .start = STYLE_BEGIN,
    .user = {" [INST] ", " [/INST]"},
    .model = {" ", STYLE_END},
    .reply = "",
    .end = STYLE_END,
    .system = STYLE_SYSTEM_WITHIN,
    .system_text = {"", "\n\n"},
    .alternate = true,
    .named_roles = true,
};

/* Mistral 7B 0.3. Its template writes a system message before the last user's text, so that every
 * turn moves it; that is not taken. */
static const struct style mistral_v3 = {
    .name = "Mistral, version 3",
    .start = STYLE_BEGIN,
    .user = {"[INST] ", "[/INST]"},
    .model = {" ", STYLE_END},
    .reply = "",
    .end = STYLE_END,
    .system = STYLE_SYSTEM_NONE,
    .trim_model = true,
    .alternate = true,
    .named_roles = true,
};

static const struct style gemma = {
    .name = "Gemma",
    .start = STYLE_BEGIN,
    .head = {"<start_of_turn>", "\n"},
    .user = {"", "<end_of_turn>\n"},
    .model = {"", "<end_of_turn>\n"},
    .reply = "<start_of_turn>model\n",
    .model_role = "model",
    .end = "<end_of_turn>",
    .marks = {"<start_of_turn>"},
    .system = STYLE_SYSTEM_NONE,
    .trim_user = true,
    .trim_model = true,
    .alternate = true,
};

/* The same in a file whose tokenizer puts the begin token in front. */
static const struct style gemma_without_begin = {
    .name = "Gemma",
    .start = "",
    .head = {"<start_of_turn>", "\n"},
    .user = {"", "<end_of_turn>\n"},
    .model = {"", "<end_of_turn>\n"},
    .reply = "<start_of_turn>model\n",
    .model_role = "model",
    .end = "<end_of_turn>",
    .marks = {"<start_of_turn>"},
    .system = STYLE_SYSTEM_NONE,
    .trim_user = true,
    .trim_model = true,
    .alternate = true,
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
    {"gemma3", &gemma3},
    {"gemma4", &gemma4},
    {"lfm2", &lfm2},
    {"lfm2moe", &lfm2},
};

const struct style *style_of_family(struct str architecture) {
    for (size_t i = 0; i < COUNT(families); i++) {
        if (str_is(architecture, families[i].architecture)) return families[i].style;
    }
    return NULL;
}

u64 style_hash(struct str form) {
    u64 h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < form.n; i++)
        h = (h ^ (u8)form.p[i]) * 0x100000001b3u;
    return h;
}

/* By the hash of the normal form of published templates, with the model that each came with. */
static const struct known {
    u64 hash;
    const struct style *style;
} known[] = {
    {0x05627ba4d51b11a4, &llama2},              /* Llama-2-chat */
    {0xf0cfdc7e38736906, &llama3},              /* Meta-Llama-3-Instruct */
    {0x08906306b0ad184f, &mistral},             /* Mistral-7B-Instruct-v0.2 */
    {0x112bcafc796fd72e, &mistral_v1},          /* the same, later */
    {0xcef30a75fd80a829, &mistral_v3},          /* Mistral-7B-Instruct-v0.3 */
    {0x20c9783ddc7bad25, &gemma},               /* gemma-2-it */
    {0xe8b8eb47333349c7, &gemma_without_begin}, /* gemma-7b-it */
    {0x6c40d21566178d44, &gemma3},              /* gemma-3-it */
    {0x3868f23d4972f42d, &granite3},            /* granite-3.0-instruct */
    {0xf99691cb55760c93, &qwen25},              /* Qwen2.5-Instruct */
    {0x95d30fb615b88395, &qwen25},              /* Qwen2.5-Coder-Instruct */
};

const struct style *style_by_hash(u64 hash) {
    for (size_t i = 0; i < COUNT(known); i++) {
        if (known[i].hash == hash) return known[i].style;
    }
    return NULL;
}

const struct style *style_find(struct str form) {
    return style_by_hash(style_hash(form));
}
