/* glim chat: a conversation at a terminal, or with a script through a pipe.
 *
 * The session holds the whole conversation: each turn queues only what is new, and the earlier
 * turns' keys and values are used again. A turn that fails or is stopped before its first token is
 * taken back, so that what the model has seen is what the person saw. */
#include "tool/interrupt.h"
#include "tool/line.h"
#include "tool/pick.h"
#include "tool/reply.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct chat {
    struct model_options o;
    struct generation_options g;
    bool stats, no_history;
    u32 n_ctx;
    glim_session *session;
    struct line_reader *in;
    struct {
        char *p; /* owned: the message being put together, zero-terminated */
        size_t n, cap;
    } text;
    bool warned; /* the last thing was Ctrl-C at an empty prompt */
    bool leaving;
};

static bool at_terminal(const struct chat *c) {
    return line_is_edited(c->in);
}

/* What a person can mend is no reason to leave; a script cannot answer for itself. */
static int failed(const struct chat *c) {
    return at_terminal(c) ? TOOL_FINE : TOOL_FAILED;
}

/* ---- Commands -------------------------------------------------------------------------------- */

static void slash_help(struct chat *c);

static void slash_clear(struct chat *c) {
    glim_rewind(c->session, 0); /* to the beginning: cannot fail */
    if (at_terminal(c) && !c->g.quiet) fprintf(stderr, "The conversation is forgotten.\n");
}

static void slash_quit(struct chat *c) {
    c->leaving = true;
}

static const struct {
    const char *name;
    void (*run)(struct chat *c);
    const char *about; /* NULL: another name of the one before */
} slashes[] = {
    {"/help", slash_help, "this text"},
    {"/?", slash_help, NULL},
    {"/clear", slash_clear, "forget the conversation and begin anew"},
    {"/quit", slash_quit, "leave, as Ctrl-D does"},
    {"/exit", slash_quit, NULL},
    {"/bye", slash_quit, NULL},
};

static void slash_help(struct chat *c) {
    (void)c;
    for (size_t i = 0; i < COUNT(slashes); i++) {
        if (slashes[i].about) fprintf(stderr, "  %-12s %s\n", slashes[i].name, slashes[i].about);
    }
    fprintf(stderr, "  %-12s %s\n", "text \\", "a backslash at the end: the message goes on");
    fprintf(stderr, "  %-12s %s\n", "\"\"\"", "begins and ends a message of several lines");
    fprintf(stderr, "  %-12s %s\n", "Ctrl-C", "stops an answer, or gives up what is typed");
}

/* Whether a line is a command: "/" and one word. A path, or a line that begins with a blank, is
 * text. */
static bool is_slash(const char *line) {
    size_t n = strcspn(line, " \t\n");
    return line[0] == '/' && n > 1 && !memchr(line + 1, '/', n - 1) &&
           (isalpha((unsigned char)line[1]) || n == 2);
}

static int run_slash(struct chat *c, const char *line) {
    const char *names[COUNT(slashes)];
    char word[64];
    size_t n = strcspn(line, " \t\n");
    snprintf(word, sizeof word, "%.*s", (int)MIN(n, sizeof word - 1), line);
    for (size_t i = 0; i < COUNT(slashes); i++) {
        names[i] = slashes[i].name;
        if (strcmp(word, names[i]) != 0) continue;
        if (line[n + strspn(line + n, " \t\n")] != 0) {
            options_say("%s takes nothing behind it; a blank in front makes the line text", word);
            return failed(c);
        }
        slashes[i].run(c);
        return TOOL_FINE;
    }
    const char *near = options_nearest(word, names, COUNT(names));
    options_say("unknown command '%s'%s%s%s; /help lists them, a blank in front makes it text",
                word, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    return failed(c);
}

/* ---- Messages -------------------------------------------------------------------------------- */

static int put(struct chat *c, const char *s, size_t n, glim_err *e) {
    if (c->text.n + n + 1 > c->text.cap) {
        size_t cap = 2 * (c->text.n + n + 1);
        char *grown = realloc(c->text.p, cap);
        if (!grown) return fail(e, GLIM_NOMEM, "no memory for a message of %zu bytes", cap / 2);
        c->text.p = grown;
        c->text.cap = cap;
    }
    memcpy(c->text.p + c->text.n, s, n);
    c->text.n += n;
    c->text.p[c->text.n] = 0;
    return GLIM_OK;
}

/* Whether a line goes on in the next: with a backslash that is not itself behind one. */
static bool goes_on(const char *line) {
    size_t n = strlen(line), k = 0;
    while (k < n && line[n - 1 - k] == '\\')
        k++;
    return k % 2 == 1;
}

static bool ends_block(const char *line) {
    size_t n = strlen(line);
    return n >= 3 && strcmp(line + n - 3, "\"\"\"") == 0;
}

/* The next message or command into c->text: one line, or several that belong together. */
static enum line_kind read_message(struct chat *c, glim_err *e) {
    const char *line;
    c->text.n = 0;
    enum line_kind kind = line_read(c->in, "> ", &line, e);
    bool block = kind == LINE_TEXT && strncmp(line, "\"\"\"", 3) == 0;
    if (block) line += 3;
    while (kind == LINE_TEXT) {
        size_t n = strlen(line);
        bool more = block ? !ends_block(line) : goes_on(line);
        if (block && !more) n -= 3;
        if (!block && more) n--;
        if (put(c, line, n, e) < 0 || (more && put(c, "\n", 1, e) < 0)) return LINE_FAILED;
        if (!more) return LINE_TEXT;
        kind = line_read(c->in, ". ", &line, e);
        if (kind != LINE_END) continue;
        if (at_terminal(c)) return LINE_INTERRUPTED; /* what was begun is given up */
        if (!block) return LINE_TEXT;
        fail(e, GLIM_ARG, "standard input ended within a \"\"\" block");
        return LINE_FAILED;
    }
    return kind;
}

/* ---- Turns ----------------------------------------------------------------------------------- */

/* The first turn brings along what goes before it. */
static int queue_turn(struct chat *c, glim_err *e) {
    size_t n_tokens, n = 1;
    glim_message user = {"user", c->text.p}, *first = NULL;
    glim_tokens(c->session, &n_tokens);
    int rc = n_tokens ? GLIM_OK : generate_turns(&c->g, &c->o, c->text.p, &first, &n, e);
    if (rc < 0) return rc;
    rc = glim_chat(c->session, first ? first : &user, n);
    if (rc < 0) *e = *glim_session_error(c->session);
    free(first);
    return rc;
}

/* Reports why a turn failed and forgets it. */
static int turn_failed(struct chat *c, const struct reply *reply, const glim_err *why) {
    bool room = why->code == GLIM_FULL && reply->n_before > 0;
    options_say("%s%s", why->msg, room ? "; /clear forgets the conversation" : "");
    glim_rewind(c->session, reply->n_before);
    return failed(c);
}

/* What a person should know of an answer that has ended. */
static void closing_notes(const struct chat *c, const struct reply *reply, bool taken_back) {
    bool full = glim_end_reason(c->session) == GLIM_END_CONTEXT;
    const char *reason = reply_reason(reply);
    if (c->stats) {
        glim_stats now;
        size_t n_all;
        glim_get_stats(c->session, &now);
        glim_tokens(c->session, &n_all);
        u64 done = now.n_prompt + now.n_decode - reply->before.n_prompt - reply->before.n_decode;
        fprintf(stderr, "[");
        reply_put_speeds(reply, stderr);
        fprintf(stderr, "; context: %zu of %u tokens, %llu of them processed now", n_all, c->n_ctx,
                (unsigned long long)done);
        if (c->g.gen.temp > 0) fprintf(stderr, "; seed %llu", (unsigned long long)c->g.gen.seed);
        fprintf(stderr, "]\n");
    }
    if (*reason && (!c->g.quiet || full)) {
        fprintf(stderr, "[%s%s%s]\n", reason + 2, full ? "; /clear forgets the conversation" : "",
                taken_back ? "; before the answer began, so the question is forgotten" : "");
    }
}

static int turn(struct chat *c) {
    struct reply reply;
    glim_err e = {0};
    size_t n_all;
    reply_begin(&reply, c->session, &c->g);
    if (queue_turn(c, &e) < 0) return turn_failed(c, &reply, &e);
    if (!at_terminal(c)) interrupt_catch(true);
    enum reply_end end = reply_stream(&reply, true);
    if (!at_terminal(c)) interrupt_release();
    if (end == REPLY_UNWRITABLE) {
        c->leaving = true;
        return TOOL_FAILED;
    }
    if (end == REPLY_FAILED) return turn_failed(c, &reply, glim_session_error(c->session));
    enum glim_end why = glim_end_reason(c->session);
    glim_tokens(c->session, &n_all);
    bool cut = reply.interrupted || why == GLIM_END_CONTEXT;
    bool take_back = cut && n_all == reply.n_before + reply.n_prompt;
    closing_notes(c, &reply, take_back);
    if (take_back) glim_rewind(c->session, reply.n_before);
    if (at_terminal(c)) fprintf(stderr, "\n");
    return reply.interrupted && !at_terminal(c) ? TOOL_INTERRUPTED : TOOL_FINE;
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
    switch (read_message(c, &e)) {
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
    /* Behind pasted text, often; never meant. */
    while (c->text.n && strchr("\r\n", c->text.p[c->text.n - 1]))
        c->text.p[--c->text.n] = 0;
    if (strspn(c->text.p, " \t\r\n") == c->text.n) return TOOL_FINE;
    line_remember(c->in, c->text.p);
    return is_slash(c->text.p) ? run_slash(c, c->text.p) : turn(c);
}

static void greet(const struct chat *c) {
    const char *name = c->o.model, *slash = strrchr(name, '/');
    if (slash) name = slash + 1;
    if (c->o.picked) name = c->o.picked->name; /* the file of a store is called by its hash */
    fprintf(stderr, "%s, context of %u tokens. Type /help for commands.\n\n", name, c->n_ctx);
}

static int converse(struct chat *c) {
    if (at_terminal(c) && !c->g.quiet) greet(c);
    int code = TOOL_FINE;
    if (at_terminal(c)) interrupt_catch(false);
    while (code == TOOL_FINE && !c->leaving)
        code = converse_once(c);
    return code;
}

static int with_session(struct chat *c) {
    glim_err e = {0};
    if (generate_apply(&c->g, &c->o, c->session) < 0)
        return options_failed(glim_session_error(c->session));
    if (line_open(&c->in, !c->no_history, &e) < 0) return options_failed(&e);
    int code = converse(c);
    line_close(c->in);
    free(c->text.p);
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
    glim_session_params p = {.exact = c->g.exact};
    int rc = glim_model_open(&model, engine, c->o.model, &e);
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
    struct chat c = {.g = generate_defaults()};
    const struct option_row rows[] = {
        OPTION_MODEL(c.o),
        OPTION_SYSTEM(c.g),
        {0, "stats", NULL, OPTION_SWITCH, &c.stats, 0, 0,
         "tokens, speeds and seed after each answer"},
        {0, "no-history", NULL, OPTION_SWITCH, &c.no_history, 0, 0,
         "keep what is typed in memory only"},
        OPTION_GENERATION(c.g),
        {0, "quiet", NULL, OPTION_SWITCH, &c.g.quiet, 0, 0, "no greeting and no notes"},
        OPTION_ENGINE(c.o),
        OPTION_END,
    };
    int code;
    glim_err e = {0};
    glim_engine *engine = NULL;
    if (!options_parse(command, rows, &argc, &argv, &code) ||
        !options_model(command, &c.o, &argc, &argv, &code) ||
        !generate_settle(command, &c.g, &c.o, false, &code)) {
        /* code says it */
    } else if (argc > 0) {
        code = options_misused(command, "'%.60s': a chat is typed; `glim run` takes a prompt",
                               argv[0]);
    } else if (options_engine(&c.o, &engine, &e) < 0) {
        code = options_failed(&e);
    } else {
        options_pin(c.o.threads);
        code = with_engine(&c, engine);
    }
    glim_engine_close(engine);
    generate_free(&c.g);
    return code;
}

const struct command chat_command = {
    .name = "chat",
    .usage = "MODEL",
    .about = "Talk with a model",
    .detail =
        "The model is a GGUF file. Ctrl-C stops an answer, Ctrl-D at the prompt leaves; /help "
        "there\n"
        "lists commands. From a pipe each line is a message; answers go to stdout, all else to\n"
        "stderr. What is typed is kept in ~/.local/state/glim/history (or $XDG_STATE_HOME).",
    .examples = "examples:\n"
                "  glim chat model.gguf --system \"You are terse.\"\n"
                "  printf 'Hello\\nTell me more\\n' | glim chat model.gguf --temp 0\n",
    .main = chat_main,
};
