/* glim template: a conversation as the model's own template writes it. */
#include "tool/chosen.h"
#include "tool/converse.h"
#include "tool/format.h"
#include "tool/input.h"
#include "tool/options.h"

#include "kern/quant.h"
#include "text/chat.h"
#include "text/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct rendering {
    struct model_options o;
    const char *messages, *tools, *variables; /* paths; variables: JSON itself */
    bool ids, pieces, no_reply, go_on;
};

/* A JSON file as a value in m. Files are read once and stay until the end. */
static struct jval read_json(struct jmem *m, const char *path, const char *what, char **text) {
    size_t n;
    m->where = what;
    if (input_read(path, text, &n, m->e) < 0) {
        m->rc = m->e->code;
        return jval_undefined();
    }
    return json_parse(m, (struct str){*text, n});
}

/* Tools of a file, its text, which are a list or an object's member. */
static int check_tools(const char *path, const char *what, const char *text, glim_err *e) {
    json_t *file = json_loads(text, JSON_ALLOW_NUL, NULL);
    const json_t *tools = json_is_object(file) ? json_object_get(file, "tools") : file;
    int rc = converse_check_tools(tools, path, what, e);
    json_decref(file);
    return rc;
}

static int print_spans(const struct rendering *r, const struct vocab *v,
                       const struct vocab_span *span, u64 n, struct arena *a, glim_err *e) {
    if (!r->ids && !r->pieces) {
        for (u64 i = 0; i < n; i++)
            fwrite(span[i].text.p, 1, span[i].text.n, stdout);
        return GLIM_OK;
    }
    i64 count = vocab_encode_spans(v, span, n, VOCAB_BEGIN, NULL, 0, a->alloc, e);
    if (count < 0) return (int)count;
    i32 *ids = arena_array(a, (u64)count, sizeof *ids);
    if (!ids) return fail(e, GLIM_NOMEM, "no memory for %lld ids", (long long)count);
    i64 rc = vocab_encode_spans(v, span, n, VOCAB_BEGIN, ids, (u64)count, a->alloc, e);
    for (i64 i = 0; i < count && rc >= 0; i++) {
        if (!r->pieces) {
            printf("%s%d", i ? " " : "", ids[i]);
            continue;
        }
        printf("%d\t", ids[i]);
        format_quoted(vocab_piece(v, ids[i], VOCAB_SPECIAL), stdout);
        printf("\n");
    }
    if (!r->pieces && rc >= 0) printf("\n");
    return rc < 0 ? (int)rc : GLIM_OK;
}

/* The chat format that the flags, the file and the store ask for. *note: which, for stderr, where
 * it is not the file's. */
static int open_chat(struct chat **chat, const char **note, const struct rendering *r,
                     const struct gguf *g, const struct vocab *v, struct arena *a, glim_err *e) {
    struct chosen c;
    bool has = gguf_find(g, "tokenizer.chat_template") != NULL;
    int rc = chosen_find(&c, r->o.template, r->o.picked, has, e);
    bool ours = c.from == CHOSEN_FILE || c.from == CHOSEN_NONE;
    *note = NULL;
    if (rc == GLIM_OK)
        rc = ours ? chat_open(chat, g, v, a, e)
                  : chat_open_text(chat, (int)c.language, c.text, g, v, a, e);
    if (rc == GLIM_OK && (*chat)->turns)
        *note = turns_note((*chat)->turns);
    else if (rc == GLIM_OK && c.from == CHOSEN_STORE)
        *note = c.language == GLIM_TEMPLATE_GO
                    ? "turns are written by Ollama's template in the store"
                    : "turns are written by the bundle's template";
    chosen_free(&c);
    return rc;
}

static int render(const struct rendering *r, const struct gguf *g, struct arena *a, glim_err *e) {
    struct jmem m;
    struct vocab *v;
    struct chat *chat;
    struct vocab_span *span;
    const char *note;
    char *messages = NULL, *tools = NULL;
    u64 n;
    int rc = vocab_open(&v, g, a, e);
    if (rc < 0) return rc;
    rc = open_chat(&chat, &note, r, g, v, a, e);
    if (rc < 0) return rc;
    jmem_init(&m, a, chat_limit(1u << 20), CHAT_STEPS, e);
    struct chat_request request = {
        .reply = !r->no_reply, .go_on = r->go_on, .now = (i64)time(NULL)};
    request.messages = read_json(&m, r->messages, r->messages, &messages);
    if (!m.rc && request.messages.kind == JVAL_DICT) { /* as glim chat saves it */
        const struct jval *tools_in = jdict_find(request.messages.d, "tools"),
                          *list_in = jdict_find(request.messages.d, "messages");
        if (tools_in) request.tools = *tools_in;
        if (tools_in) m.rc = check_tools(r->messages, "--messages ", messages, e);
        if (list_in) request.messages = *list_in;
    }
    if (r->tools && !m.rc) request.tools = read_json(&m, r->tools, r->tools, &tools);
    if (r->tools && !m.rc && request.tools.kind == JVAL_DICT) {
        const struct jval *tools_in = jdict_find(request.tools.d, "tools");
        if (tools_in) request.tools = *tools_in;
    }
    if (r->tools && !m.rc && request.tools.kind != JVAL_LIST)
        m.rc = fail(e, GLIM_FORMAT,
                    "--tools %.140s: a JSON list of tools is needed, or an object with such a list "
                    "as \"tools\"",
                    r->tools);
    if (r->tools && !m.rc) m.rc = check_tools(r->tools, "--tools ", tools, e);
    if (r->variables && !m.rc) {
        m.where = "--variables";
        struct jval more = json_parse(&m, (struct str){r->variables, strlen(r->variables)});
        if (!m.rc && more.kind != JVAL_DICT)
            m.rc = fail(e, GLIM_ARG, "--variables: a JSON object is needed");
        request.more = more.d;
    }
    bool list = !m.rc && request.messages.kind == JVAL_LIST && request.messages.l->n;
    for (u64 i = 0; list && i < request.messages.l->n; i++) {
        list = request.messages.l->v[i].kind == JVAL_DICT;
        if (list) chat_trust(&m, request.messages.l->v[i]);
    }
    if (!m.rc && !list)
        m.rc = fail(e, GLIM_FORMAT,
                    "--messages %.140s: a JSON list of objects is needed, of one at least, or an "
                    "object with such a list as \"messages\"",
                    r->messages);
    m.where = "chat template";
    rc = m.rc ? m.rc : chat_render(chat, &m, &request, &span, &n);
    if (rc == GLIM_OK && note) options_say("%s", note);
    if (rc == GLIM_OK) rc = print_spans(r, v, span, n, a, e);
    free(messages);
    free(tools);
    return rc;
}

/* Only the metadata is read: this works for models whose architecture cannot be run. */
static int with_file(const struct rendering *r, glim_err *e) {
    struct arena arena;
    struct gguf g;
    arena_init(&arena, &mem_libc);
    int rc = gguf_open(&g, r->o.model, &arena, quant_size, e);
    if (rc == GLIM_OK) {
        rc = render(r, &g, &arena, e);
        gguf_close(&g);
        if (rc < 0) *e = chosen_error(e);
    }
    arena_free(&arena);
    return rc;
}

static int template_main(const struct command *c, int argc, char **argv) {
    struct rendering r = {0};
    const struct option_row rows[] = {
        OPTION_MODEL(r.o),
        {0, "messages", "FILE", OPTION_TEXT, &r.messages, 0, 0,
         "the conversation: a JSON list of {\"role\": ..., \"content\": ...}, or\n"
         "                          what /save of glim chat writes; - is stdin"},
        {0, "tools", "FILE", OPTION_TEXT, &r.tools, 0, 0, "tools that the model may call, in JSON"},
        {0, "variables", "JSON", OPTION_TEXT, &r.variables, 0, 0,
         "further variables of the template: '{\"enable_thinking\": false}'"},
        {0, "ids", NULL, OPTION_SWITCH, &r.ids, 0, 0, "the prompt's token ids, on one line"},
        {0, "pieces", NULL, OPTION_SWITCH, &r.pieces, 0, 0,
         "one token a line: id, tab, its text, quoted and escaped"},
        OPTION_TEMPLATE(r.o),
        {0, "no-reply", NULL, OPTION_SWITCH, &r.no_reply, 0, 0,
         "do not open the assistant's turn at the end"},
        {0, "go-on", NULL, OPTION_SWITCH, &r.go_on, 0, 0,
         "leave the last message open, for it to go on"},
        OPTION_END,
    };
    int code;
    if (!options_parse(c, rows, &argc, &argv, &code)) return code;
    if (!options_model(c, &r.o, &argc, &argv, &code)) return code;
    if (argc > 0)
        return options_misused(c, "'%.60s': the conversation is read from a file", argv[0]);
    if (!r.messages) return options_misused(c, "no conversation; name a file with --messages");
    glim_err e = {0};
    int rc = with_file(&r, &e);
    return rc < 0 ? options_failed_at(r.o.model, &e) : TOOL_FINE;
}

const struct command template_command = {
    .name = "template",
    .usage = "MODEL --messages FILE",
    .about = "Show the prompt that a conversation becomes",
    .detail =
        "Prints the conversation as the model's own chat template writes it, byte for byte, or\n"
        "the token ids of that. A model of Ollama's store whose file has no template is written "
        "by\n"
        "the store's. Only what the template itself writes becomes control tokens;\n"
        "their names in messages stay text, which --pieces shows.",
    .examples = "example:\n"
                "  echo '[{\"role\": \"user\", \"content\": \"Hi\"}]' |\n"
                "    glim template model.gguf --messages - --pieces\n",
    .main = template_main,
};
