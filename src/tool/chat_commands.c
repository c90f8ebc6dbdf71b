/* Commands within glim chat. What they say goes to stderr: stdout has answers only. */
#include "tool/chat.h"

#include "tool/settings.h"

#include <stdlib.h>
#include <string.h>

/* Each gets what stands behind its name, "" for nothing. An exit code. */
typedef int slash(struct chat *c, const char *arg);

static int failed(const struct chat *c, const glim_err *e) {
    options_failed(e);
    return chat_failed(c);
}

/* Said to a person; a script knows what it did. */
static bool talkative(const struct chat *c) {
    return chat_at_terminal(c) && !c->g.quiet;
}

static const char *plural(size_t n) {
    return n == 1 ? "" : "s";
}

/* ---- The conversation ------------------------------------------------------------------------ */

static int slash_clear(struct chat *c, const char *arg) {
    (void)arg;
    glim_err e = {0};
    if (chat_begin(c, false, &e) < 0) return failed(c, &e);
    c->edited = true;
    glim_rewind(c->session, 0); /* to the beginning: cannot fail */
    if (talkative(c)) fprintf(stderr, "The conversation is forgotten.\n");
    return TOOL_FINE;
}

static int slash_system(struct chat *c, const char *arg) {
    glim_err e = {0};
    if (!*arg) {
        const char *text = converse_system(&c->talk);
        fprintf(stderr, "%s\n", text ? text : "There is no system text.");
        return TOOL_FINE;
    }
    bool none = strcmp(arg, "off") == 0;
    if (converse_add(&c->talk, "system", none ? "" : arg, &e) < 0) return failed(c, &e);
    c->edited = true;
    if (talkative(c))
        fprintf(stderr, none ? "No system text from now on.\n"
                             : "From now on, for what was said before too.\n");
    return TOOL_FINE;
}

/* Seeds follow one another, so that each answer is another one and can be had again. The old answer
 * stays where there comes no other. */
static int slash_regen(struct chat *c, const char *arg) {
    (void)arg;
    glim_err e = {0};
    size_t n = json_array_size(c->talk.messages);
    const char *last = converse_last_role(&c->talk);
    bool answered = strcmp(last, "assistant") == 0;
    if (!answered && strcmp(last, "user") != 0 && strcmp(last, "tool") != 0) {
        options_say("there is no answer to take back");
        return chat_failed(c);
    }
    bool same = answered && !c->edited && c->g.gen.temp <= 0;
    c->edited = true;
    if (!answered) return chat_answer(c, n);
    if (same && talkative(c))
        fprintf(stderr, "[the temperature is 0: the answer will be the same; /set temp 0.8 gives "
                        "others]\n");
    c->g.gen.seed++;
    if (generate_apply(&c->g, &c->o, c->session) < 0)
        return failed(c, glim_session_error(c->session));
    json_t *old = json_incref(json_array_get(c->talk.messages, --n));
    converse_cut(&c->talk, n);
    int code = chat_answer(c, n);
    if (json_array_size(c->talk.messages) > n) {
        json_decref(old);
        return code;
    }
    c->edited = true;
    if (talkative(c)) fprintf(stderr, "[the answer before stays]\n");
    return converse_add_new(&c->talk, old, &e) < 0 ? failed(c, &e) : code;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* ~/ is the home folder, as in shells. NULL: no memory. */
static char *path_of(const char *arg) {
    const char *home = getenv("HOME");
    char *path = NULL;
    if (strncmp(arg, "~/", 2) != 0 || !home) return strdup(arg);
    return asprintf(&path, "%s%s", home, arg + 1) < 0 ? NULL : path;
}

static void put_summary(const struct chat *c, const char *path, const char *more) {
    size_t n = json_array_size(c->talk.messages), tools = json_array_size(c->talk.tools);
    fprintf(stderr, "%s: %zu message%s", path, n, plural(n));
    if (tools) fprintf(stderr, ", %zu tool%s", tools, plural(tools));
    fprintf(stderr, "%s.\n", more);
}

/* Takes path, as where the conversation is kept. */
static void keep_path(struct chat *c, char *path) {
    free(c->file);
    c->file = path;
}

static int save(struct chat *c, const char *arg, bool force) {
    glim_err e = {0};
    bool replaced;
    if (!*arg && !c->file) {
        options_say("/save needs the name of a file");
        return chat_failed(c);
    }
    char *path = path_of(*arg ? arg : c->file);
    json_t *settings = settings_json(c->rows, &c->g);
    if (!path || !settings) {
        fail(&e, GLIM_NOMEM, "no memory to save the conversation");
    } else {
        json_decref(c->talk.settings);
        c->talk.settings = json_incref(settings);
        /* Its own file may be replaced: that is what saving again means. */
        bool own = c->file && strcmp(c->file, path) == 0;
        int rc = converse_write(&c->talk, path, force || own, &replaced, &e);
        if (rc == GLIM_ARG && replaced && !force && strstr(e.msg, "is there already"))
            snprintf(e.msg, sizeof e.msg, "%.140s: is there already; /save! %.40s replaces it",
                     path, arg);
    }
    json_decref(settings);
    if (e.code) {
        free(path);
        return failed(c, &e);
    }
    if (replaced || talkative(c)) put_summary(c, path, replaced ? "; replaced" : "");
    keep_path(c, path);
    return TOOL_FINE;
}

static int slash_save(struct chat *c, const char *arg) {
    return save(c, arg, false);
}

static int slash_save_over(struct chat *c, const char *arg) {
    return save(c, arg, true);
}

static int slash_load(struct chat *c, const char *arg) {
    glim_err e = {0};
    char *path = path_of(arg);
    c->edited = true;
    int rc = path ? converse_read(&c->talk, path, "", &e) : fail(&e, GLIM_NOMEM, "out of memory");
    if (rc == GLIM_OK && c->talk.settings) {
        rc = settings_take(c->rows, &c->g, c->talk.settings, false, &e);
        if (rc == GLIM_OK && generate_apply(&c->g, &c->o, c->session) < 0) {
            e = *glim_session_error(c->session);
            rc = e.code;
        }
        if (rc < 0) options_say("%s: the conversation is there, but not all settings", path);
    }
    if (rc < 0) {
        free(path);
        return failed(c, &e);
    }
    const char *last = converse_last_role(&c->talk);
    bool waits = strcmp(last, "user") == 0 || strcmp(last, "tool") == 0;
    if (talkative(c))
        put_summary(c, path, waits ? "; the last one has no answer yet (/regen)" : "");
    keep_path(c, path);
    return TOOL_FINE;
}

/* ---- Settings and tools ---------------------------------------------------------------------- */

static int slash_set(struct chat *c, const char *arg) {
    glim_err e = {0};
    enum think thinking = c->g.thinking;
    char name[48];
    size_t n = strcspn(arg, " \t\n=");
    snprintf(name, sizeof name, "%.*s", (int)MIN(n, sizeof name - 1), arg);
    const char *value = arg + n + strspn(arg + n, " \t\n=");
    if (!*arg) {
        settings_show(c->rows, &c->g, NULL, stderr);
        return TOOL_FINE;
    }
    if (!*value && settings_show(c->rows, &c->g, name, stderr)) return TOOL_FINE;
    if (settings_set(c->rows, &c->g, name, value, &e) < 0) {
        if (e.code != GLIM_NOT_FOUND) return failed(c, &e);
        options_say("%s; /set lists them", e.msg);
        return chat_failed(c);
    }
    if (generate_apply(&c->g, &c->o, c->session) < 0)
        return failed(c, glim_session_error(c->session));
    c->edited |= c->g.thinking != thinking; /* which is the template's to write */
    if (talkative(c)) settings_show(c->rows, &c->g, name, stderr);
    return TOOL_FINE;
}

/* "  get_weather(city)  Tells the weather." */
static void put_tool(const json_t *tool) {
    const json_t *function = json_object_get(tool, "function");
    if (!function) function = tool; /* without the wrapping, as some templates take them */
    const char *name = json_string_value(json_object_get(function, "name"));
    const char *about = json_string_value(json_object_get(function, "description"));
    json_t *all = json_object_get(json_object_get(function, "parameters"), "properties"), *one;
    const char *parameter;
    size_t n = 0;
    fprintf(stderr, "  %s(", name ? name : "?");
    json_object_foreach(all, parameter, one) fprintf(stderr, "%s%s", n++ ? ", " : "", parameter);
    fprintf(stderr, ")%s%.*s\n", about ? "  " : "", about ? (int)strcspn(about, "\n") : 0,
            about ? about : "");
}

static int slash_tools(struct chat *c, const char *arg) {
    glim_err e = {0};
    c->edited |= *arg != 0;
    if (strcmp(arg, "off") == 0) {
        json_decref(c->talk.tools);
        c->talk.tools = NULL;
        if (talkative(c)) fprintf(stderr, "No tools from now on.\n");
        return TOOL_FINE;
    }
    if (*arg) {
        char *path = path_of(arg);
        int rc = path ? converse_read_tools(&c->talk, path, "", &e)
                      : fail(&e, GLIM_NOMEM, "out of memory");
        free(path);
        if (rc < 0) return failed(c, &e);
    }
    size_t i;
    json_t *tool;
    if (*arg && !talkative(c)) return TOOL_FINE;
    if (!c->talk.tools) fprintf(stderr, "There are no tools; /tools FILE offers some.\n");
    json_array_foreach(c->talk.tools, i, tool) put_tool(tool);
    return TOOL_FINE;
}

static int slash_stats(struct chat *c, const char *arg) {
    size_t n_all;
    bool on = strcmp(arg, "on") == 0;
    if (on || strcmp(arg, "off") == 0) {
        c->stats = on;
        return TOOL_FINE;
    }
    if (*arg) {
        options_say("/stats takes on, off or nothing");
        return chat_failed(c);
    }
    glim_tokens(c->session, &n_all);
    fprintf(stderr, "%s\n", c->figures ? c->figures : "[nothing has been answered yet]");
    fprintf(stderr, "[context now: %zu of %u tokens; %s]\n", n_all, c->n_ctx,
            c->stats ? "shown after each answer, /stats off ends that"
                     : "/stats on shows this after each answer");
    return TOOL_FINE;
}

static int slash_quit(struct chat *c, const char *arg) {
    (void)arg;
    c->leaving = true;
    return TOOL_FINE;
}

/* ---- All of them ----------------------------------------------------------------------------- */

static slash slash_help;

enum takes { NOTHING, PERHAPS, FILE_NAME };
static const struct {
    const char *name, *arg;
    slash *run;
    enum takes takes;
    const char *about; /* NULL: another name of the one before */
} slashes[] = {
    {"/help", "", slash_help, NOTHING, "this text"},
    {"/?", "", slash_help, NOTHING, NULL},
    {"/regen", "", slash_regen, NOTHING, "take the last answer back and answer again"},
    {"/clear", "", slash_clear, NOTHING, "forget the conversation and begin anew"},
    {"/system", "[TEXT|off]", slash_system, PERHAPS, "show or change the system text"},
    {"/set", "[NAME [VALUE]]", slash_set, PERHAPS,
     "show or change settings: /set temp 0.2, /set think off"},
    {"/tools", "[FILE|off]", slash_tools, PERHAPS, "show or offer tools that the model may call"},
    {"/save", "[FILE]", slash_save, PERHAPS, "write the conversation; /save! replaces a file"},
    {"/save!", "[FILE]", slash_save_over, PERHAPS, NULL},
    {"/load", "FILE", slash_load, FILE_NAME, "go on with a conversation from a file"},
    {"/stats", "[on|off]", slash_stats, PERHAPS,
     "tokens and speeds of the last answer; or of each"},
    {"/quit", "", slash_quit, NOTHING, "leave, as Ctrl-D does"},
    {"/exit", "", slash_quit, NOTHING, NULL},
    {"/bye", "", slash_quit, NOTHING, NULL},
};

static int slash_help(struct chat *c, const char *arg) {
    (void)c;
    (void)arg;
    for (size_t i = 0; i < COUNT(slashes); i++) {
        char left[40];
        if (!slashes[i].about) continue;
        snprintf(left, sizeof left, "%s %s", slashes[i].name, slashes[i].arg);
        fprintf(stderr, "  %-21s %s\n", left, slashes[i].about);
    }
    fprintf(
        stderr,
        "\n"
        "  text \\                a backslash at the end: the message goes on\n"
        "  \"\"\"                   begins and ends a text of several lines, behind /system too\n"
        "  pasted text           stays one message, whatever lines it has\n"
        "  Ctrl-C                stops an answer, or gives up what is typed\n"
        "\n"
        "When the model calls a tool you are asked for its result, which may be of several lines\n"
        "as well; an empty one is \"no result\". A blank in front makes a line that begins with /\n"
        "text. Files are those of glim run --messages.\n");
    return TOOL_FINE;
}

/* Settings are completed by name, values of "think" by their words. */
static void complete_set(const struct chat *c, const char *arg, struct completion *found) {
    bool think = strncmp(arg, "think ", 6) == 0;
    complete_begin(found, think ? arg + 6 : arg);
    if (think) complete_offer(found, "off");
    if (think) complete_offer(found, "on");
    for (const struct option_row *r = c->rows; !think && r->name; r++) {
        if (settings_has(&c->g, r)) complete_offer(found, r->name);
    }
}

bool chat_command_complete(void *chat, const char *line, struct completion *found) {
    const struct chat *c = chat;
    const char *arg = message_argument(line);
    size_t n = strcspn(line, " \t\n");
    if (line[0] != '/') return false;
    if (!line[n]) {
        complete_begin(found, line);
        for (size_t i = 0; i < COUNT(slashes); i++) {
            if (slashes[i].about) complete_offer(found, slashes[i].name);
        }
    } else {
        size_t i = 0;
        while (i < COUNT(slashes) &&
               (strlen(slashes[i].name) != n || strncmp(slashes[i].name, line, n) != 0))
            i++;
        if (i == COUNT(slashes)) return false;
        if (slashes[i].run == slash_set) {
            complete_set(c, arg, found);
        } else if (strstr(slashes[i].arg, "FILE")) {
            complete_begin(found, arg);
            complete_files(found);
        } else {
            return false;
        }
    }
    complete_end(found);
    return true;
}

int chat_command_run(struct chat *c, const char *line) {
    const char *names[COUNT(slashes)], *arg = message_argument(line);
    char word[64];
    size_t n = strcspn(line, " \t\n");
    snprintf(word, sizeof word, "%.*s", (int)MIN(n, sizeof word - 1), line);
    for (size_t i = 0; i < COUNT(slashes); i++) {
        names[i] = slashes[i].name;
        if (strcmp(word, names[i]) != 0) continue;
        if (slashes[i].takes == NOTHING && *arg) {
            options_say("%s takes nothing behind it; a blank in front makes the line text", word);
            return chat_failed(c);
        }
        if (slashes[i].takes == FILE_NAME && !*arg) {
            options_say("%s needs the name of a file", word);
            return chat_failed(c);
        }
        return slashes[i].run(c, arg);
    }
    const char *near = options_nearest(word, names, COUNT(names));
    options_say("unknown command '%s'%s%s%s; /help lists them, a blank in front makes it text",
                word, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    return chat_failed(c);
}
