/* glim run: asks a model and streams its answer. */
#include "tool/answer_json.h"
#include "tool/chosen.h"
#include "tool/input.h"
#include "tool/interrupt.h"
#include "tool/reply.h"
#include "tool/settings.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct run {
    struct model_options o;
    struct generation_options g;
    const char *prompt;
    const char *messages_file, *tools_file;
    const struct option_row *rows; /* borrowed: the flags */
    struct converse conversation;
    bool raw, special, json;
    u32 answers;
    char *text; /* owned: the whole prompt */
    size_t len;
    glim_message
        *messages; /* owned: a system text, turns that the model brings along, the prompt */
    size_t n_messages;
    glim_session *session;
    const glim_model *model;
};

/* ---- The prompt ------------------------------------------------------------------------------ */

/* Whether somebody sends text through stdin: a pipe, a file or a socket, not a terminal. */
static bool has_input(void) {
    struct stat st;
    if (fstat(STDIN_FILENO, &st) != 0) return false;
    return S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode);
}

/* All of stdin; says so when nothing comes for a while, for a pipe that nobody means to fill. */
static int read_input(char **text, size_t *len, glim_err *e) {
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&p, 1, 2000) == 0)
        options_say("waiting for text on standard input (`< /dev/null` if there is none)");
    return input_read("-", text, len, e);
}

/* Joins argv with blanks. */
static char *join(int argc, char **argv) {
    size_t n = 1;
    for (int i = 0; i < argc; i++)
        n += strlen(argv[i]) + 1;
    char *s = calloc(1, n);
    for (int i = 0; s && i < argc; i++) {
        if (i) strcat(s, " ");
        strcat(s, argv[i]);
    }
    return s;
}

/* Whether the conversation goes to the model as JSON. */
static bool has_files(const struct run *r) {
    return r->messages_file || r->tools_file || r->g.thinking != THINK_AS_IS;
}

/* The files, and the given turns behind them, a system text in front. */
static int make_conversation(struct run *r, glim_err *e) {
    struct converse *c = &r->conversation;
    int rc = converse_open(c, e);
    if (rc == GLIM_OK && r->messages_file)
        rc = converse_read(c, r->messages_file, "--messages ", e);
    if (rc == GLIM_OK && r->tools_file) rc = converse_read_tools(c, r->tools_file, "--tools ", e);
    /* The user's text is the last turn; a file may do without. */
    size_t turns = r->n_messages - (r->len == 0);
    for (size_t i = 0; i < turns && rc == GLIM_OK; i++)
        rc = converse_add(c, r->messages[i].role, r->messages[i].text, e);
    if (rc == GLIM_OK && c->settings) rc = settings_take(r->rows, &r->g, c->settings, true, e);
    /* Without a question behind it, an answer at the end is one that was not finished. */
    bool go_on = !r->len && strcmp(converse_last_role(c), "assistant") == 0;
    if (rc == GLIM_OK && go_on && !converse_can_go_on(c))
        rc = fail(e, GLIM_ARG,
                  "--messages %.140s: the last message is the assistant's, and only text without "
                  "tool calls can be gone on with; end with another's, or give a prompt",
                  r->messages_file);
    if (rc == GLIM_OK) rc = converse_make(c, r->g.thinking, e);
    c->c.go_on = go_on;
    return rc;
}

/* The given text, then what comes through stdin, with a blank line between. */
static int make_prompt(struct run *r, glim_err *e) {
    char *input = NULL;
    size_t n = 0;
    if (has_input() && !r->messages_file) {
        int rc = read_input(&input, &n, e);
        if (rc < 0) return rc;
    }
    /* A line's end closes the line; it is not part of a question. */
    if (!r->raw && n && input[n - 1] == '\n') n--;
    if (!r->raw && n && input[n - 1] == '\r') n--;
    size_t given = r->prompt ? strlen(r->prompt) : 0;
    bool both = given && n;
    r->len = given + (both ? 2 : 0) + n;
    r->text = malloc(r->len + 1);
    if (!r->text) {
        free(input);
        return fail(e, GLIM_NOMEM, "no memory for the prompt");
    }
    if (given) memcpy(r->text, r->prompt, given);
    if (both) memcpy(r->text + given, "\n\n", 2);
    if (n) memcpy(r->text + r->len - n, input, n);
    r->text[r->len] = 0;
    free(input);
    if (!r->raw && memchr(r->text, 0, r->len)) {
        return fail(e, GLIM_ARG, "the prompt has a zero byte in it: it is not text");
    }
    if (!r->raw && !r->len && !r->messages_file) return fail(e, GLIM_ARG, "the prompt is empty");
    int rc = generate_turns(&r->g, &r->o, r->text, &r->messages, &r->n_messages, e);
    return rc < 0 || !has_files(r) ? rc : make_conversation(r, e);
}

static int queue_prompt(struct run *r) {
    if (r->raw) {
        return glim_prompt(r->session, r->text, r->len, r->special ? GLIM_TOKENIZE_SPECIAL : 0);
    }
    if (has_files(r)) return glim_converse(r->session, &r->conversation.c);
    return glim_chat(r->session, r->messages, r->n_messages);
}

/* ---- The answer ------------------------------------------------------------------------------ */

static void closing_line(const struct reply *reply) {
    const struct generation_options *g = reply->options;
    fprintf(stderr, "%s[", isatty(STDERR_FILENO) ? "\n" : "");
    reply_put_speeds(reply, false, stderr);
    if (g->gen.temp > 0) fprintf(stderr, "; seed %llu", (unsigned long long)g->gen.seed);
    fprintf(stderr, "%s]\n", reply_reason(reply));
}

/* One answer, with what belongs under it. An exit code. */
static int answer(struct run *r, struct reply *reply) {
    bool more = r->answers > 1 || r->g.gen.n_logprobs;
    bool whole_line = more || isatty(STDOUT_FILENO);
    switch (r->json ? answer_json(reply, r->model) : reply_stream(reply, whole_line)) {
    case REPLY_FAILED:
        return options_failed(glim_session_error(r->session));
    case REPLY_UNWRITABLE:
        return TOOL_FAILED;
    case REPLY_DONE:
        break;
    }
    if (r->g.gen.n_logprobs && !r->json) reply_put_logprobs(reply, r->model);
    if (!options_flush()) return TOOL_FAILED;
    if (!r->g.quiet) closing_line(reply);
    return reply->interrupted ? TOOL_INTERRUPTED : TOOL_FINE;
}

static int with_session(struct run *r) {
    struct reply reply;
    reply_begin(&reply, r->session, &r->g);
    reply.raw = r->raw;
    int rc = generate_apply(&r->g, &r->o, r->session);
    if (rc == GLIM_OK) rc = queue_prompt(r);
    if (rc < 0) {
        glim_err e = chosen_error(glim_session_error(r->session));
        return options_failed(&e);
    }
    int code = answer(r, &reply);
    for (u32 i = 1; code == TOOL_FINE && i < r->answers; i++) {
        reply_begin(&reply, r->session, &r->g);
        reply.raw = r->raw;
        if (glim_next_answer(r->session) < 0) return options_failed(glim_session_error(r->session));
        r->g.gen.seed++; /* as the library does */
        if (!r->json) printf("\n");
        code = answer(r, &reply);
    }
    return code;
}

static int with_engine(struct run *r, glim_engine *engine) {
    glim_err e = {0};
    glim_model *model = NULL;
    glim_session_params p = {.exact = r->g.exact, .tables = options_tables(&r->o)};
    int rc = glim_model_open(&model, engine, r->o.model, &e);
    if (rc == GLIM_OK && !r->raw) rc = chosen_apply(&r->o, model, &e);
    if (rc == GLIM_OK) generate_with_model(&r->g, &r->o, model);
    if (rc == GLIM_OK) p.n_ctx = generate_context(&r->g, &r->o, model);
    r->model = model;
    if (rc == GLIM_OK) rc = glim_session_open(&r->session, model, &p, &e);
    int code = rc < 0 ? options_failed_at(r->o.model, &e) : with_session(r);
    glim_session_close(r->session);
    glim_model_close(model);
    return code;
}

/* ---- Command line ---------------------------------------------------------------------------- */

/* Model and prompt from what is left of the command line. 0, or an exit code. */
static int take_arguments(const struct command *c, struct run *r, int argc, char **argv,
                          char **joined) {
    int code;
    if (!options_model(c, &r->o, &argc, &argv, &code)) return code;
    if (r->prompt && argc > 0) {
        return options_misused(c, "a prompt after -p and another, '%.60s'", argv[0]);
    }
    if (argc > 0) r->prompt = *joined = join(argc, argv);
    if (argc > 0 && !*joined) {
        options_say("out of memory");
        return TOOL_FAILED;
    }
    if (!generate_settle(c, &r->g, &r->o, r->raw, &code)) return code;
    if (r->special && !r->raw) return options_misused(c, "--special goes with --raw");
    if (r->g.system && r->raw) return options_misused(c, "--system has no place in --raw text");
    if (r->raw && r->o.template) return options_misused(c, "--template has no place in --raw text");
    if (r->raw && (has_files(r) || r->json))
        return options_misused(c, "--raw text is no conversation: it goes without --messages, "
                                  "--tools, --think, --no-think and --json");
    if (!r->prompt && !r->messages_file && !has_input()) {
        return options_misused(c,
                               "no prompt; write one behind the model, or send it through a pipe");
    }
    return TOOL_FINE;
}

static int run_main(const struct command *c, int argc, char **argv) {
    struct run r = {.g = generate_defaults(), .answers = 1};
    const struct option_row rows[] = {
        OPTION_MODEL(r.o),
        {'p', "prompt", "TEXT", OPTION_TEXT, &r.prompt, 0, 0, "what to ask"},
        OPTION_SYSTEM(r.g),
        {0, "raw", NULL, OPTION_SWITCH, &r.raw, 0, 0,
         "continue the text as it is, without a chat turn"},
        {0, "special", NULL, OPTION_SWITCH, &r.special, 0, 0,
         "with --raw: names of control tokens are those tokens"},
        {0, "messages", "FILE", OPTION_TEXT, &r.messages_file, 0, 0,
         "JSON, as /save writes: before the prompt, or alone (an answer goes on)"},
        {0, "tools", "FILE", OPTION_TEXT, &r.tools_file, 0, 0,
         "tools that the model may call: a JSON list"},
        OPTION_THINK(r.g),
        {0, "no-think", NULL, OPTION_SWITCH, &r.g.no_think, 0, 0, "as --think off"},
        {0, "json", NULL, OPTION_SWITCH, &r.json, 0, 0,
         "the whole answer as one JSON object: text, thought, tool_calls"},
        OPTION_TEMPLATE(r.o),
        OPTION_GENERATION(r.g),
        {0, "answers", "N", OPTION_U32, &r.answers, 1, 1000,
         "N answers to the prompt, with the seeds that follow (1)"},
        {0, "logprobs", "N", OPTION_U32, &r.g.gen.n_logprobs, 0, 100,
         "then each token's log-probability, and the N likeliest"},
        {0, "quiet", NULL, OPTION_SWITCH, &r.g.quiet, 0, 0, "nothing on stderr but errors"},
        OPTION_ENGINE(r.o),
        OPTION_END,
    };
    int code;
    r.rows = rows;
    if (!options_parse(c, rows, &argc, &argv, &code)) {
        generate_free(&r.g);
        return code;
    }
    char *joined = NULL;
    glim_err e = {0};
    glim_engine *engine = NULL;
    code = take_arguments(c, &r, argc, argv, &joined);
    if (code == TOOL_FINE) {
        if (make_prompt(&r, &e) < 0 || options_engine(&r.o, &engine, &e) < 0) {
            code = options_failed(&e);
        } else {
            options_pin(r.o.threads);
            interrupt_catch(true);
            code = with_engine(&r, engine);
        }
    }
    glim_engine_close(engine);
    free(joined);
    free(r.text);
    free(r.messages);
    converse_close(&r.conversation);
    generate_free(&r.g);
    return code;
}

const struct command run_command = {
    .name = "run",
    .usage = "MODEL [PROMPT...]",
    .about = "Ask a model and print its answer",
    .detail =
        "The model is a GGUF file, a name in Ollama's store (glim list), whose parameters and\n"
        "system text then apply below the flags, or the .json manifest of a LeapBundle. The\n"
        "prompt may come through a pipe, or partly: what is written behind the model goes\n"
        "first. The answer goes to stdout, a closing line with speeds to stderr. Ctrl-C ends\n"
        "the answer (exit status 130). Thoughts are dimmed on a terminal and left out elsewhere; "
        "a\n"
        "tool call is a line of its own, a JSON object where there is no terminal.",
    .examples = "examples:\n"
                "  glim run model.gguf \"Why is the sky blue?\"\n"
                "  glim run gemma4:e2b --system \"Be brief.\" Why is the sky blue?\n"
                "  glim run model.gguf Summarise this: < notes.txt\n"
                "  glim run model.gguf --raw -n 40 --temp 0 \"Once upon a time\"\n",
    .main = run_main,
};
