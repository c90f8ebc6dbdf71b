/* glim chat: a conversation at a terminal, or with a script through a pipe.
 *
 * The session holds the conversation in the model's own tokens: each turn queues only what is new.
 * It is kept as JSON too, so that it can be saved, and its system text, its tools and its last
 * answer changed: then all of it is told anew, of which the session processes what differs. A turn
 * that fails or is stopped before its first token is taken back, so that what the model has seen is
 * what the person saw. */
#include "tool/chat.h"

#include "tool/chosen.h"
#include "tool/interrupt.h"
#include "tool/pick.h"
#include "tool/settings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool chat_at_terminal(const struct chat *c) {
    return line_is_edited(c->in);
}

int chat_failed(const struct chat *c) {
    return chat_at_terminal(c) ? TOOL_FINE : TOOL_FAILED;
}

/* ---- Answers --------------------------------------------------------------------------------- */

int chat_begin(struct chat *c, bool with_system, glim_err *e) {
    glim_message *first = NULL;
    size_t n;
    converse_cut(&c->talk, converse_system(&c->talk) != NULL);
    int rc = generate_turns(&c->g, &c->o, "", &first, &n, e);
    /* Without the last, which is the user's. */
    for (size_t i = 0; rc == GLIM_OK && i + 1 < n; i++) {
        if (strcmp(first[i].role, "system") == 0 && !with_system) continue;
        rc = converse_add(&c->talk, first[i].role, first[i].text, e);
    }
    free(first);
    return rc;
}

/* Whether something was said before message n: more than a system text. */
static bool said_before(const struct chat *c, size_t n) {
    return n > (converse_system(&c->talk) != NULL);
}

/* Reports why a turn failed and forgets it. */
static int turn_failed(struct chat *c, size_t n_before, const glim_err *why) {
    bool room = why->code == GLIM_FULL && said_before(c, n_before);
    options_say("%s%s", why->msg, room ? "; /clear forgets the conversation" : "");
    converse_cut(&c->talk, n_before);
    c->edited = true;
    return chat_failed(c);
}

/* The line of --stats, kept for /stats. */
static void take_figures(struct chat *c, const struct reply *reply) {
    size_t n, n_all;
    free(c->figures);
    c->figures = NULL;
    FILE *f = open_memstream(&c->figures, &n);
    if (!f) return;
    glim_tokens(c->session, &n_all);
    fprintf(f, "[");
    reply_put_speeds(reply, true, f);
    fprintf(f, "; context: %zu of %u tokens", n_all, c->n_ctx);
    if (c->g.gen.temp > 0) fprintf(f, "; seed %llu", (unsigned long long)c->g.gen.seed);
    fprintf(f, "]");
    fclose(f);
}

/* What a person should know of an answer that has ended. */
static void closing_notes(struct chat *c, const struct reply *reply, const char *taken_back) {
    bool full = glim_end_reason(c->session) == GLIM_END_CONTEXT;
    const char *reason = reply_reason(reply);
    take_figures(c, reply);
    if (c->stats && c->figures) fprintf(stderr, "%s\n", c->figures);
    if (*reason && (!c->g.quiet || full)) {
        fprintf(stderr, "[%s%s%s]\n", reason + 2, full ? "; /clear forgets the conversation" : "",
                taken_back);
    }
}

/* Queues the last message, or where the talk was edited all that is not in the session as it is. */
static int queue_talk(struct chat *c, glim_err *e) {
    size_t n = json_array_size(c->talk.messages);
    if (c->edited) {
        int rc = converse_make(&c->talk, c->g.thinking, e);
        if (rc == GLIM_OK) rc = glim_converse(c->session, &c->talk.c);
        if (rc < 0 && !e->code) *e = chosen_error(glim_session_error(c->session));
        return rc;
    }
    glim_message last = {"user", converse_text(&c->talk, n - 1)};
    int rc = glim_chat(c->session, &last, 1);
    if (rc < 0) *e = *glim_session_error(c->session);
    return rc;
}

/* One answer into the conversation; its tool calls go to *calls, for the caller to release. */
static int answer_once(struct chat *c, size_t n_before, json_t **calls) {
    struct reply reply;
    struct parts parts;
    glim_err e = {0};
    size_t n_all;
    *calls = NULL;
    reply_begin(&reply, c->session, &c->g);
    if (queue_talk(c, &e) < 0) return turn_failed(c, n_before, &e);
    c->edited = false;
    parts_open(&parts);
    reply.parts = &parts;
    if (!chat_at_terminal(c)) interrupt_catch(true);
    enum reply_end end = reply_stream(&reply, true);
    if (!chat_at_terminal(c)) interrupt_release();
    int code = TOOL_FINE;
    glim_tokens(c->session, &n_all);
    enum glim_end why = glim_end_reason(c->session);
    bool cut = reply.interrupted || why == GLIM_END_CONTEXT;
    if (end == REPLY_UNWRITABLE) {
        c->leaving = true;
        code = TOOL_FAILED;
    } else if (end == REPLY_FAILED) {
        code = turn_failed(c, n_before, glim_session_error(c->session));
    } else if (cut && n_all == reply.n_prompt) {
        bool question = json_array_size(c->talk.messages) > n_before;
        closing_notes(c, &reply,
                      question ? "; before the answer began, so the question is forgotten" : "");
        converse_cut(&c->talk, n_before);
        glim_rewind(c->session, reply.n_cached);
        c->edited = true;
    } else {
        closing_notes(c, &reply, "");
        if (!parts_end(&parts)) fail(&e, GLIM_NOMEM, "no memory to keep the answer");
        if (!e.code) converse_add_new(&c->talk, parts_message(&parts), &e);
        if (e.code) code = options_failed(&e);
        /* Templates write calls as they know them, and look for them before results. */
        c->edited = json_array_size(parts.calls) > 0;
        if (!reply.interrupted) *calls = json_incref(parts.calls);
    }
    parts_close(&parts);
    if (code == TOOL_FINE && reply.interrupted && !chat_at_terminal(c)) code = TOOL_INTERRUPTED;
    return code;
}

/* ---- Tools ----------------------------------------------------------------------------------- */

/* Asks for what each call gives. *all: they are all there. */
static int take_results(struct chat *c, const json_t *calls, bool *all) {
    glim_err e = {0};
    size_t i;
    json_t *call;
    *all = false;
    if (chat_at_terminal(c) && !c->g.quiet && !c->told)
        fprintf(stderr, "(what it returns: text, or nothing; Ctrl-C leaves the call alone)\n");
    c->told = true;
    json_array_foreach(calls, i, call) {
        char prompt[64];
        snprintf(prompt, sizeof prompt, "%.48s returns> ",
                 json_string_value(json_object_get(call, "name")));
        enum line_kind kind = message_read(&c->text, c->in, prompt, &e);
        if (kind == LINE_FAILED) {
            options_failed(&e);
            return TOOL_FAILED;
        }
        if (kind != LINE_TEXT) { /* the call stays without a result */
            c->leaving = kind == LINE_END && !chat_at_terminal(c);
            return TOOL_FINE;
        }
        const char *result = c->text.n ? c->text.p : "no result";
        if (converse_add_result(&c->talk, call, result, &e) < 0) return options_failed(&e);
    }
    *all = true;
    return TOOL_FINE;
}

int chat_answer(struct chat *c, size_t n_before) {
    for (;;) {
        json_t *calls;
        int code = answer_once(c, n_before, &calls);
        size_t n = json_array_size(calls);
        bool go_on = code == TOOL_FINE && n && c->talk.tools;
        if (n && !c->talk.tools && !c->g.quiet)
            fprintf(stderr, "[no tools were offered; /tools FILE offers some]\n");
        if (n == 0 && chat_at_terminal(c)) fprintf(stderr, "\n");
        n_before = json_array_size(c->talk.messages);
        if (go_on) code = take_results(c, calls, &go_on);
        json_decref(calls);
        if (!go_on || code != TOOL_FINE) return code;
    }
}

static int turn(struct chat *c) {
    glim_err e = {0};
    size_t n = json_array_size(c->talk.messages);
    if (converse_add(&c->talk, "user", c->text.p, &e) < 0) return turn_failed(c, n, &e);
    return chat_answer(c, n);
}

/* ---- The conversation ------------------------------------------------------------------------ */

static void interrupted_at_prompt(struct chat *c) {
    bool empty = !line_had_text(c->in) && c->text.n == 0;
    if (empty && c->warned)
        c->leaving = true;
    else if (empty)
        fprintf(stderr, "(Ctrl-C again or Ctrl-D to leave)\n");
    c->warned = empty;
}

/* One message or command. An exit code; leaving ends the conversation, and so does a failure. */
static int converse_once(struct chat *c) {
    glim_err e = {0};
    switch (message_read(&c->text, c->in, "> ", &e)) {
    case LINE_FAILED:
        options_failed(&e);
        return TOOL_FAILED;
    case LINE_END:
        c->leaving = true;
        return TOOL_FINE;
    case LINE_INTERRUPTED:
        interrupted_at_prompt(c);
        return TOOL_FINE;
    case LINE_TEXT:
        break;
    }
    c->warned = false;
    if (strspn(c->text.p, " \t\r\n") == c->text.n) return TOOL_FINE;
    line_remember(c->in, c->text.p);
    if (!message_is_command(c->text.p)) return turn(c);
    while (strchr(" \t", c->text.p[c->text.n - 1])) /* as the tab key leaves it */
        c->text.p[--c->text.n] = 0;
    return chat_command_run(c, c->text.p);
}

static void greet(const struct chat *c) {
    const char *name = c->o.model, *slash = strrchr(name, '/');
    if (slash) name = slash + 1;
    if (c->o.picked) name = c->o.picked->name; /* the file of a store is called by its hash */
    fprintf(stderr, "%s, context of %u tokens. Type /help for commands.\n\n", name, c->n_ctx);
}

static int converse(struct chat *c) {
    if (chat_at_terminal(c) && !c->g.quiet) greet(c);
    int code = TOOL_FINE;
    if (chat_at_terminal(c)) interrupt_catch(false);
    while (code == TOOL_FINE && !c->leaving)
        code = converse_once(c);
    return code;
}

/* The conversation and the tools that the flags name. */
static int take_files(struct chat *c, glim_err *e) {
    int rc = GLIM_OK;
    if (c->messages_file) rc = converse_read(&c->talk, c->messages_file, "--messages ", e);
    if (rc == GLIM_OK && c->messages_file && c->g.system)
        rc = converse_add(&c->talk, "system", c->g.system, e);
    if (rc == GLIM_OK && c->talk.settings)
        rc = settings_take(c->rows, &c->g, c->talk.settings, true, e);
    if (rc == GLIM_OK && !c->messages_file) rc = chat_begin(c, true, e);
    if (rc == GLIM_OK && c->tools_file)
        rc = converse_read_tools(&c->talk, c->tools_file, "--tools ", e);
    return rc;
}

static int with_session(struct chat *c) {
    glim_err e = {0};
    int rc = line_open(&c->in, !c->no_history, &e);
    if (rc == GLIM_OK && generate_apply(&c->g, &c->o, c->session) < 0) {
        e = *glim_session_error(c->session);
        rc = e.code;
    }
    if (rc == GLIM_OK) line_set_completer(c->in, chat_command_complete, c);
    int code = rc < 0 ? options_failed(&e) : converse(c);
    line_close(c->in);
    return code;
}

/* The library's way out of an unknown chat format is plain text, which is not for a chat. */
static int cannot_open(const struct chat *c, const glim_err *e) {
    glim_err why = *e;
    if (strstr(why.msg, "--raw")) {
        size_t n = strlen(why.msg);
        snprintf(why.msg + n, sizeof why.msg - n, " with glim run");
    }
    return options_failed_at(c->o.model, &why);
}

static int with_engine(struct chat *c, glim_engine *engine) {
    glim_err e = {0};
    glim_model *model = NULL;
    glim_plan plan;
    glim_session_params p = {.exact = c->g.exact, .tables = options_tables(&c->o)};
    int rc = glim_model_open(&model, engine, c->o.model, &e);
    if (rc == GLIM_OK) rc = chosen_apply(&c->o, model, &e);
    if (rc == GLIM_OK) rc = glim_chat_check(model, &e);
    if (rc == GLIM_OK) generate_with_model(&c->g, &c->o, model);
    if (rc == GLIM_OK) p.n_ctx = generate_context(&c->g, &c->o, model);
    if (rc == GLIM_OK) rc = glim_session_plan(model, &p, &plan, &e);
    if (rc == GLIM_OK) rc = glim_session_open(&c->session, model, &p, &e);
    if (rc == GLIM_OK) c->n_ctx = plan.n_ctx;
    int code = rc < 0 ? cannot_open(c, &e) : with_session(c);
    glim_session_close(c->session);
    glim_model_close(model);
    return code;
}

static int chat_main(const struct command *command, int argc, char **argv) {
    struct chat c = {.g = generate_defaults(), .edited = true};
    const struct option_row rows[] = {
        OPTION_MODEL(c.o),
        OPTION_SYSTEM(c.g),
        {0, "messages", "FILE", OPTION_TEXT, &c.messages_file, 0, 0,
         "begin with a conversation: what /save wrote, or a JSON list"},
        {0, "tools", "FILE", OPTION_TEXT, &c.tools_file, 0, 0,
         "tools that the model may call: a JSON list"},
        OPTION_THINK(c.g),
        {0, "stats", NULL, OPTION_SWITCH, &c.stats, 0, 0,
         "tokens (cached and new), speeds and seed after each answer"},
        {0, "no-history", NULL, OPTION_SWITCH, &c.no_history, 0, 0,
         "keep what is typed in memory only"},
        OPTION_TEMPLATE(c.o),
        OPTION_GENERATION(c.g),
        {0, "quiet", NULL, OPTION_SWITCH, &c.g.quiet, 0, 0, "no greeting and no notes"},
        OPTION_ENGINE(c.o),
        OPTION_END,
    };
    int code;
    glim_err e = {0};
    glim_engine *engine = NULL;
    c.rows = rows;
    if (!options_parse(command, rows, &argc, &argv, &code) ||
        !options_model(command, &c.o, &argc, &argv, &code) ||
        !generate_settle(command, &c.g, &c.o, false, &code)) {
        /* code says it */
    } else if (argc > 0) {
        code = options_misused(command, "'%.60s': a chat is typed; `glim run` takes a prompt",
                               argv[0]);
    } else if (converse_open(&c.talk, &e) < 0 || take_files(&c, &e) < 0 ||
               options_engine(&c.o, &engine, &e) < 0) {
        code = options_failed(&e);
    } else {
        options_pin(c.o.threads);
        code = with_engine(&c, engine);
    }
    glim_engine_close(engine);
    converse_close(&c.talk);
    generate_free(&c.g);
    free(c.text.p);
    free(c.file);
    free(c.figures);
    return code;
}

const struct command chat_command = {
    .name = "chat",
    .usage = "MODEL",
    .about = "Talk with a model",
    .detail =
        "The model is a GGUF file, or a name in Ollama's store. /help there lists commands; "
        "Ctrl-C\n"
        "stops an answer, Ctrl-D at the prompt leaves. From a pipe each line is a message, or the\n"
        "result of a tool that was called; answers go to stdout, all else to stderr. What is "
        "typed\n"
        "is kept in ~/.local/state/glim/history (or $XDG_STATE_HOME).",
    .examples = "examples:\n"
                "  glim chat model.gguf --system \"You are terse.\"\n"
                "  printf 'Hello\\nTell me more\\n' | glim chat model.gguf --temp 0\n",
    .main = chat_main,
};
