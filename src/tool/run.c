/* glim run: asks a model and streams its answer. */
#include "tool/input.h"
#include "tool/options.h"
#include "tool/pick.h"

#include "base/plat_cpu.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct run {
    struct model_options o;
    const char *prompt, *system;
    bool raw, special, exact, quiet;
    i32 n_predict; /* -1: no limit */
    u32 n_ctx;
    glim_generation gen;
    struct texts stops;
    char *text; /* owned: the whole prompt */
    size_t len;
    glim_message
        *messages; /* owned: a system text, turns that the model brings along, the prompt */
    size_t n_messages;
    glim_session *session;
    size_t n_prompt; /* tokens */
    u64 start_ns;
    bool noted; /* a progress note is on the terminal */
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

/* The first Ctrl-C ends the answer, the second one the program. */
static void catch_interrupt(void) {
    struct sigaction a = {.sa_handler = on_interrupt, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    struct sigaction old;
    if (sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(SIGINT, &a, NULL);
}

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

static int make_messages(struct run *r, glim_err *e) {
    const struct defaults *d = r->o.picked ? &r->o.picked->defaults : NULL;
    size_t before = d ? d->n_messages : 0;
    glim_message *m = r->messages = malloc((before + 2) * sizeof *m);
    if (!m) return fail(e, GLIM_NOMEM, "no memory for %zu turns", before + 2);
    if (r->system) *m++ = (glim_message){"system", r->system};
    for (size_t i = 0; i < before; i++)
        *m++ = d->messages[i];
    *m++ = (glim_message){"user", r->text};
    r->n_messages = (size_t)(m - r->messages);
    return GLIM_OK;
}

/* The given text, then what comes through stdin, with a blank line between. */
static int make_prompt(struct run *r, glim_err *e) {
    char *input = NULL;
    size_t n = 0;
    if (has_input()) {
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
    if (!r->raw && !r->len) return fail(e, GLIM_ARG, "the prompt is empty");
    return make_messages(r, e);
}

static int queue_prompt(struct run *r) {
    if (r->raw) {
        return glim_prompt(r->session, r->text, r->len, r->special ? GLIM_TOKENIZE_SPECIAL : 0);
    }
    return glim_chat(r->session, r->messages, r->n_messages);
}

/* What a store's model or a bundle is to be run with, wherever no flag says otherwise. */
static void take_defaults(struct run *r) {
    if (!r->o.picked) return;
    const struct defaults *d = &r->o.picked->defaults;
    glim_generation *g = &r->gen;
    if (!options_given(&g->temp)) g->temp = d->gen.temp;
    if (!options_given(&g->top_k)) g->top_k = d->gen.top_k;
    if (!options_given(&g->top_p)) g->top_p = d->gen.top_p;
    if (!options_given(&g->min_p)) g->min_p = d->gen.min_p;
    if (!options_given(&g->repeat_penalty)) g->repeat_penalty = d->gen.repeat_penalty;
    if (!options_given(&g->repeat_last_n)) g->repeat_last_n = d->gen.repeat_last_n;
    if (!options_given(&g->seed) && d->seeded) g->seed = d->gen.seed;
    if (!options_given(&r->n_predict)) r->n_predict = d->n_predict;
    if (!r->system && !r->raw) r->system = d->system;
    if (*d->unused && !r->quiet)
        options_say("the model's settings have some that glim does not know: %s", d->unused);
}

/* The context that the model's settings ask for. They are often those of another size of it: unlike
 * a flag, a number above the model's limit means the limit. */
static u32 wanted_context(const struct run *r, const glim_model *model) {
    if (r->n_ctx || !r->o.picked) return r->n_ctx;
    u32 n = r->o.picked->defaults.n_ctx;
    glim_model_info info;
    glim_model_get_info(model, &info);
    if (n > info.n_ctx_train && !r->quiet)
        options_say("the model's settings ask for a context of %u tokens; it has %u", n,
                    info.n_ctx_train);
    return MIN(n, info.n_ctx_train);
}

/* ---- The answer ------------------------------------------------------------------------------ */

static bool wants_note(const struct run *r) {
    return !r->quiet && isatty(STDERR_FILENO);
}

/* While a long prompt is read: how far, how fast, how long still. Only after a second. */
static void note_progress(struct run *r) {
    u64 ns = plat_now_ns() - r->start_ns;
    if (!wants_note(r) || ns < 1000000000u) return;
    glim_stats s;
    glim_get_stats(r->session, &s);
    u64 done = s.n_prompt + s.n_decode;
    f64 rate = (f64)done * 1e9 / (f64)ns;
    fprintf(stderr, "\r\x1b[Kreading the prompt: ");
    if (done && done < r->n_prompt) {
        fprintf(stderr, "%llu of %zu tokens, %.0f tokens/s, %.0f s left", (unsigned long long)done,
                r->n_prompt, rate, (f64)(r->n_prompt - done) / rate);
    } else {
        fprintf(stderr, "%zu tokens", r->n_prompt);
    }
    r->noted = true;
}

static void clear_note(struct run *r) {
    if (r->noted) fprintf(stderr, "\r\x1b[K");
    r->noted = false;
}

static void put_rate(FILE *f, const char *what, u64 n, u64 timed, u64 ns) {
    fprintf(f, "%s %llu token%s", what, (unsigned long long)n, n == 1 ? "" : "s");
    if (timed && ns) fprintf(f, ", %.1f tokens/s", (f64)timed * 1e9 / (f64)ns);
}

static void closing_line(const struct run *r) {
    glim_stats s;
    size_t n_all;
    glim_get_stats(r->session, &s);
    glim_tokens(r->session, &n_all);
    fprintf(stderr, "%s[", isatty(STDERR_FILENO) ? "\n" : "");
    put_rate(stderr, "prompt:", MIN(r->n_prompt, s.n_prompt + s.n_decode), s.n_prompt, s.prompt_ns);
    put_rate(stderr, "; answer:", n_all - r->n_prompt, s.n_decode, s.decode_ns);
    if (r->gen.temp > 0) fprintf(stderr, "; seed %llu", (unsigned long long)r->gen.seed);
    enum glim_end end = glim_end_reason(r->session);
    if (interrupted && end == GLIM_END_NONE)
        fprintf(stderr, "; interrupted");
    else if (end == GLIM_END_LIMIT)
        fprintf(stderr, "; cut at -n %d", r->n_predict);
    else if (end == GLIM_END_CONTEXT)
        fprintf(stderr, "; cut: the context of %zu tokens is full (-c)", n_all);
    else if (end == GLIM_END_STOP)
        fprintf(stderr, "; ended by --stop");
    fprintf(stderr, "]\n");
}

/* Whole characters, as they are; on a terminal without control characters, which a model may have
 * learned or been told to send. */
static void put_answer(const char *text, size_t len, bool terminal) {
    if (!terminal) {
        fwrite(text, 1, len, stdout);
        return;
    }
    for (size_t i = 0; i < len;) {
        u8 c = (u8)text[i];
        size_t n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4; /* text is sound UTF-8 */
        bool c1 = c == 0xc2 && (u8)text[i + 1] < 0xa0;
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f || c1)
            fputs("\xef\xbf\xbd", stdout);
        else
            fwrite(text + i, 1, n, stdout);
        i += n;
    }
}

/* Prints pieces as they come until the answer is complete. Returns an exit code. */
static int stream(struct run *r) {
    bool terminal = isatty(STDOUT_FILENO);
    char last = '\n';
    int rc = GLIM_OK;
    while (!interrupted) {
        const char *text;
        size_t len;
        rc = glim_next(r->session, &text, &len);
        if (rc < 0 || rc == GLIM_DONE) break;
        if (rc == GLIM_AGAIN) {
            if (last == '\n') note_progress(r);
            continue;
        }
        if (len == 0) continue;
        clear_note(r);
        last = text[len - 1];
        put_answer(text, len, terminal);
        if (!options_flush()) return TOOL_FAILED;
    }
    clear_note(r);
    if (terminal && last != '\n') {
        printf("\n");
        if (!options_flush()) return TOOL_FAILED;
    }
    if (rc < 0) return options_failed(glim_session_error(r->session));
    if (!r->quiet) closing_line(r);
    return interrupted ? TOOL_INTERRUPTED : TOOL_FINE;
}

static int with_session(struct run *r) {
    r->gen.max_tokens = r->n_predict > 0 ? (u32)r->n_predict : 0;
    r->gen.stops = r->stops.p;
    r->gen.n_stops = r->stops.n;
    if (!r->stops.n && r->o.picked) {
        r->gen.stops = r->o.picked->defaults.gen.stops;
        r->gen.n_stops = r->o.picked->defaults.gen.n_stops;
    }
    r->start_ns = plat_now_ns();
    int rc = glim_set_generation(r->session, &r->gen);
    if (rc == GLIM_OK) rc = queue_prompt(r);
    if (rc < 0) return options_failed(glim_session_error(r->session));
    glim_tokens(r->session, &r->n_prompt);
    return stream(r);
}

static int with_engine(struct run *r, glim_engine *engine) {
    glim_err e = {0};
    glim_model *model = NULL;
    glim_session_params p = {.exact = r->exact};
    int rc = glim_model_open(&model, engine, r->o.model, &e);
    if (rc == GLIM_OK) p.n_ctx = wanted_context(r, model);
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
    if (r->n_predict == 0)
        return options_misused(c, "-n 0: ask for a token at least, or -1 for no limit");
    take_defaults(r);
    if (r->special && !r->raw) return options_misused(c, "--special goes with --raw");
    if (r->system && r->raw) return options_misused(c, "--system has no place in --raw text");
    if (!r->prompt && !has_input()) {
        return options_misused(c,
                               "no prompt; write one behind the model, or send it through a pipe");
    }
    return TOOL_FINE;
}

static int run_main(const struct command *c, int argc, char **argv) {
    struct run r = {.gen = glim_generation_default(), .n_predict = -1};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    r.gen.seed = ((u64)now.tv_sec * 1000000 + (u64)now.tv_nsec / 1000) & 0xffffffff;
    glim_generation *g = &r.gen;
    const struct option_row rows[] = {
        OPTION_MODEL(r.o),
        {'p', "prompt", "TEXT", OPTION_TEXT, &r.prompt, 0, 0, "what to ask"},
        {0, "system", "TEXT", OPTION_TEXT, &r.system, 0, 0, "instructions that go before it"},
        {0, "raw", NULL, OPTION_SWITCH, &r.raw, 0, 0,
         "continue the text as it is, without a chat turn"},
        {0, "special", NULL, OPTION_SWITCH, &r.special, 0, 0,
         "with --raw: names of control tokens are those tokens"},
        {'n', "n-predict", "N", OPTION_I32, &r.n_predict, -1, INT32_MAX,
         "at most N tokens (default: until the model ends)"},
        {'c', "ctx-size", "N", OPTION_U32, &r.n_ctx, 1, 1u << 28,
         "room for N tokens (default: the model's, at most 8192)"},
        {0, "stop", "TEXT", OPTION_TEXTS, &r.stops, 0, 0, "end before this text; may be repeated"},
        {0, "temp", "X", OPTION_F32, &g->temp, 0, 1000,
         "temperature (0.8; 0: the likeliest token)"},
        {0, "top-k", "N", OPTION_I32, &g->top_k, 0, INT32_MAX,
         "choose among the N likeliest (40; 0: all)"},
        {0, "top-p", "X", OPTION_F32, &g->top_p, 0, 1,
         "and the fewest with this share of probability (0.95)"},
        {0, "min-p", "X", OPTION_F32, &g->min_p, 0, 1,
         "and those this likely, the likeliest being 1 (0.05)"},
        {0, "repeat-penalty", "X", OPTION_F32, &g->repeat_penalty, 0.01, 100,
         "hold back recent tokens (1: off)"},
        {0, "repeat-last-n", "N", OPTION_U32, &g->repeat_last_n, 0, 1u << 28,
         "how many tokens are recent (64)"},
        {0, "seed", "N", OPTION_U64, &g->seed, 0, 0x1p64,
         "repeats an answer (default: from the clock)"},
        {0, "exact", NULL, OPTION_SWITCH, &r.exact, 0, 0,
         "f32 activations: slower, reproduces references"},
        {0, "quiet", NULL, OPTION_SWITCH, &r.quiet, 0, 0, "nothing on stderr but errors"},
        OPTION_ENGINE(r.o),
        OPTION_END,
    };
    int code;
    if (!options_parse(c, rows, &argc, &argv, &code)) {
        free((void *)r.stops.p);
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
            catch_interrupt();
            code = with_engine(&r, engine);
        }
    }
    glim_engine_close(engine);
    free(joined);
    free(r.text);
    free(r.messages);
    free((void *)r.stops.p);
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
        "the answer (exit status 130).",
    .examples = "examples:\n"
                "  glim run model.gguf \"Why is the sky blue?\"\n"
                "  glim run gemma4:e2b --system \"Be brief.\" Why is the sky blue?\n"
                "  glim run model.gguf Summarise this: < notes.txt\n"
                "  glim run model.gguf --raw -n 40 --temp 0 \"Once upon a time\"\n",
    .main = run_main,
};
