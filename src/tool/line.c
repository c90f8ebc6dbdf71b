/* Lines from a terminal through libedit, or from a pipe through stdio.
 *
 * Signals: libedit's own handling passes each signal on to the whole process group and starts a
 * read again after the first Ctrl-C. So this file reads the keys itself: while a line is edited,
 * signals are blocked but in ppoll, where they set flags that are then acted on in order. */
#include "tool/line.h"

#include "tool/history.h"
#include "tool/interrupt.h"
#include "tool/options.h"

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

struct line_reader {
    EditLine *el; /* owned; NULL: a pipe */
    struct past past;
    FILE *out; /* the terminal */
    const char *prompt;
    sigset_t open_mask; /* signals that come through while waiting for a key */
    mbstate_t partial;  /* bytes of a key that is not whole yet */
    bool had_text, can_paste;
    line_completer *complete; /* NULL: the tab key does nothing */
    void *complete_ud;
    char *text; /* owned: the line */
    size_t cap;
    u64 n_lines; /* read from a pipe */
};

/* ---- Signals --------------------------------------------------------------------------------- */

/* The last two end the program. */
static const int signals[] = {SIGWINCH, SIGTSTP, SIGCONT, SIGTERM, SIGHUP};
static volatile sig_atomic_t seen[COUNT(signals)];

static void on_signal(int signal_number) {
    for (size_t i = 0; i < COUNT(signals); i++) {
        if (signals[i] == signal_number) seen[i] = 1;
    }
}

static bool take(int signal_number) {
    for (size_t i = 0; i < COUNT(signals); i++) {
        if (signals[i] != signal_number || !seen[i]) continue;
        seen[i] = 0;
        return true;
    }
    return false;
}

/* The terminal back to lines, then forth to keys again: after another program used it. */
static void redraw(struct line_reader *r) {
    el_set(r->el, EL_PREP_TERM, 0);
    el_set(r->el, EL_PREP_TERM, 1);
    el_set(r->el, EL_REFRESH);
}

static bool wants_to_end(void) {
    return seen[3] || seen[4];
}

/* Waits for a key and acts on signals meanwhile. False: no more keys are wanted for this line. */
static bool wait_key(struct line_reader *r) {
    for (;;) {
        struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
        int n = ppoll(&p, 1, NULL, &r->open_mask);
        if (n < 0 && errno != EINTR) return false;
        if (interrupt_seen || wants_to_end()) {
            const LineInfoW *line = el_wline(r->el);
            r->had_text = line->lastchar > line->buffer;
            return false;
        }
        if (take(SIGWINCH)) el_resize(r->el);
        if (take(SIGTSTP)) {
            el_set(r->el, EL_PREP_TERM, 0);
            fputs("^Z\n", r->out);
            fflush(r->out);
            raise(SIGSTOP); /* until the shell lets it go on, with SIGCONT */
        }
        if (take(SIGCONT)) redraw(r);
        if (n > 0) return true;
    }
}

/* ---- Keys ------------------------------------------------------------------------------------ */

/* One character for libedit: 1, 0 at the end, -1 to give up the line. */
static int read_key(EditLine *el, wchar_t *key) {
    struct line_reader *r;
    el_get(el, EL_CLIENTDATA, &r);
    for (;;) {
        char c;
        if (!wait_key(r)) return -1;
        ssize_t n = read(STDIN_FILENO, &c, 1);
        if (n <= 0) return (int)n;
        size_t rc = mbrtowc(key, &c, 1, &r->partial);
        if (rc == (size_t)-2) continue;
        if (rc == (size_t)-1) {
            memset(&r->partial, 0, sizeof r->partial);
            *key = 0xfffd;
        }
        return 1;
    }
}

/* What a terminal sends around pasted text once it has been asked to. */
#define PASTE_ON  "\x1b[?2004h"
#define PASTE_OFF "\x1b[?2004l"
static const wchar_t paste_end[] = L"\x1b[201~";

/* Takes in pasted text up to the end mark, line ends and all: only a typed Enter ends the line. */
static unsigned char take_paste(EditLine *el, int key) {
    const size_t end = COUNT(paste_end) - 1;
    size_t n = 0, cap = 0;
    wchar_t *text = NULL, c, last = 0;
    (void)key;
    while (el_wgetc(el, &c) == 1) {
        if (n + 2 > cap) {
            cap = cap ? 2 * cap : 256;
            wchar_t *grown = realloc(text, cap * sizeof *text);
            if (!grown) break;
            text = grown;
        }
        /* Terminals send CR for a line's end, some CR LF. */
        bool second = c == '\n' && last == '\r';
        last = c;
        if (second) continue;
        text[n++] = c == '\r' ? L'\n' : c;
        if (n >= end && wmemcmp(text + n - end, paste_end, end) == 0) {
            n -= end;
            break;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] >= ' ' || text[i] == '\n' || text[i] == '\t') text[kept++] = text[i];
    }
    if (kept) {
        text[kept] = 0;
        el_winsertstr(el, text);
    }
    free(text);
    return CC_REFRESH;
}

/* The tab key: inserts what is certain, else shows what may be meant. */
static unsigned char take_tab(EditLine *el, int key) {
    struct line_reader *r;
    struct completion c;
    char line[1024];
    wchar_t wide[sizeof c.common];
    (void)key;
    el_get(el, EL_CLIENTDATA, &r);
    const LineInfoW *at = el_wline(el);
    size_t n = 0;
    mbstate_t state = {0};
    for (const wchar_t *w = at->buffer; w < at->cursor; w++) {
        if (n + MB_CUR_MAX >= sizeof line) return CC_ERROR;
        size_t len = wcrtomb(line + n, *w, &state);
        if (len == (size_t)-1) return CC_ERROR;
        n += len;
    }
    line[n] = 0;
    if (!r->complete || !r->complete(r->complete_ud, line, &c)) return CC_ERROR;
    unsigned char result = CC_ERROR;
    const char *more = c.common + strlen(c.typed);
    if (c.n > 0 && mbstowcs(wide, more, COUNT(wide) - 1) != (size_t)-1) {
        wide[COUNT(wide) - 1] = 0;
        result = CC_REFRESH;
        if (*more) el_winsertstr(el, wide);
        if (c.n == 1 && !c.open) el_winsertstr(el, L" ");
        if (c.n > 1 && !*more && c.list) {
            fprintf(r->out, "\n%s", c.list);
            result = CC_REDISPLAY;
        }
    }
    complete_free(&c);
    return result;
}

/* Keys as most programs have them, where libedit's default is another or none. */
static const char *const keys[][2] = {
    {"\\e[200~", "glim-paste"},   {"\\e[1~", "ed-move-to-beg"},      {"\\e[4~", "ed-move-to-end"},
    {"\\e[H", "ed-move-to-beg"},  {"\\e[F", "ed-move-to-end"},       {"\\eOH", "ed-move-to-beg"},
    {"\\eOF", "ed-move-to-end"},  {"\\e[3~", "ed-delete-next-char"}, {"\\e[1;5D", "ed-prev-word"},
    {"\\e[1;5C", "em-next-word"}, {"\\eb", "ed-prev-word"},          {"\\ef", "em-next-word"},
    {"^I", "glim-complete"},      {"^W", "ed-delete-prev-word"},     {"^U", "vi-kill-line-prev"},
    {"^R", "em-inc-search-prev"},
};

static char *show_prompt(EditLine *el) {
    struct line_reader *r;
    el_get(el, EL_CLIENTDATA, &r);
    return (char *)r->prompt;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int open_editor(struct line_reader *r, bool keep_history, glim_err *e) {
    const char *term = getenv("TERM");
    /* Text is UTF-8 here, whatever the locale: most terminals are, also where none is set. */
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
    int rc = past_open(&r->past, keep_history, e);
    if (rc < 0) return rc;
    r->el = el_init("glim", stdin, r->out, stderr);
    if (!r->el) return fail(e, GLIM_NOMEM, "cannot edit lines on this terminal (out of memory?)");
    el_set(r->el, EL_CLIENTDATA, r);
    el_set(r->el, EL_PROMPT, show_prompt);
    el_set(r->el, EL_EDITOR, "emacs");
    el_set(r->el, EL_HIST, history, r->past.list);
    el_wset(r->el, EL_GETCFN, read_key);
    el_wset(r->el, EL_ADDFN, L"glim-paste", L"Take in pasted text", take_paste);
    el_wset(r->el, EL_ADDFN, L"glim-complete", L"Complete a command or file", take_tab);
    for (size_t i = 0; i < COUNT(keys); i++)
        el_set(r->el, EL_BIND, keys[i][0], keys[i][1], NULL);
    /* CR and LF as they are: a pasted CR LF must not become two line ends. */
    el_set(r->el, EL_SETTY, "-d", "-icrnl", "-inlcr", NULL);
    el_source(r->el, NULL); /* ~/.editrc may know better */
    r->can_paste = term && strcmp(term, "dumb") != 0;
    return GLIM_OK;
}

int line_open(struct line_reader **out, bool keep_history, glim_err *e) {
    struct line_reader *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r) return fail(e, GLIM_NOMEM, "no memory to read lines");
    /* With the answers going to a file, the dialogue is where the messages are. */
    if (isatty(STDIN_FILENO))
        r->out = isatty(STDOUT_FILENO) ? stdout : isatty(STDERR_FILENO) ? stderr : NULL;
    int rc = r->out ? open_editor(r, keep_history, e) : GLIM_OK;
    if (rc < 0) {
        line_close(r);
        return rc;
    }
    *out = r;
    return GLIM_OK;
}

void line_close(struct line_reader *r) {
    if (!r) return;
    if (r->el) el_end(r->el);
    past_close(&r->past);
    free(r->text);
    free(r);
}

void line_set_completer(struct line_reader *r, line_completer *fn, void *ud) {
    r->complete = fn;
    r->complete_ud = ud;
}

bool line_is_edited(const struct line_reader *r) {
    return r->el != NULL;
}

bool line_had_text(const struct line_reader *r) {
    return r->had_text;
}

void line_remember(struct line_reader *r, const char *text) {
    if (r->el) past_add(&r->past, text);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Puts n bytes into r->text. */
static int keep(struct line_reader *r, const char *text, size_t n, glim_err *e) {
    if (n + 1 > r->cap) {
        char *grown = realloc(r->text, n + 1);
        if (!grown) return fail(e, GLIM_NOMEM, "no memory for a line of %zu bytes", n);
        r->text = grown;
        r->cap = n + 1;
    }
    memcpy(r->text, text, n);
    r->text[n] = 0;
    return GLIM_OK;
}

static enum line_kind read_edited(struct line_reader *r, glim_err *e) {
    struct sigaction old[COUNT(signals)];
    struct sigaction a = {.sa_handler = on_signal};
    sigset_t block;
    sigemptyset(&block);
    sigaddset(&block, SIGINT);
    for (size_t i = 0; i < COUNT(signals); i++) {
        seen[i] = 0;
        sigaddset(&block, signals[i]);
        sigaction(signals[i], NULL, &old[i]);
        if (old[i].sa_handler != SIG_IGN) sigaction(signals[i], &a, NULL);
    }
    interrupt_seen = 0;
    r->had_text = false;
    sigprocmask(SIG_BLOCK, &block, &r->open_mask);
    if (r->can_paste) fputs(PASTE_ON, r->out);
    el_resize(r->el); /* the window may have changed during an answer */
    int n = 0;
    const char *line = el_gets(r->el, &n);
    if (r->can_paste) fputs(PASTE_OFF, r->out);
    if (!line || n <= 0) fputs(interrupt_seen ? "^C\n" : "\n", r->out);
    fflush(r->out);
    for (size_t i = 0; i < COUNT(signals); i++)
        sigaction(signals[i], &old[i], NULL);
    sigprocmask(SIG_SETMASK, &r->open_mask, NULL);
    /* Now that the terminal is as it was, what should end the program does. */
    for (size_t i = 0; i < COUNT(signals); i++) {
        if (wants_to_end() && seen[i]) raise(signals[i]);
    }
    if (interrupt_seen) return LINE_INTERRUPTED;
    if (!line || n <= 0) return LINE_END;
    size_t len = strlen(line);
    if (len && line[len - 1] == '\n') len--;
    return keep(r, line, len, e) < 0 ? LINE_FAILED : LINE_TEXT;
}

static enum line_kind read_plain(struct line_reader *r, glim_err *e) {
    errno = 0;
    ssize_t n = getline(&r->text, &r->cap, stdin);
    if (n < 0) {
        if (!ferror(stdin) && errno != ENOMEM) return LINE_END;
        fail(e, GLIM_IO, "cannot read standard input: %s", strerror(errno));
        return LINE_FAILED;
    }
    r->n_lines++;
    size_t len = (size_t)n;
    if (memchr(r->text, 0, len)) {
        fail(e, GLIM_ARG, "line %llu has a zero byte in it: it is not text",
             (unsigned long long)r->n_lines);
        return LINE_FAILED;
    }
    if (len && r->text[len - 1] == '\n') len--;
    if (len && r->text[len - 1] == '\r') len--;
    r->text[len] = 0;
    return LINE_TEXT;
}

enum line_kind line_read(struct line_reader *r, const char *prompt, const char **text,
                         glim_err *e) {
    r->prompt = prompt;
    enum line_kind kind = r->el ? read_edited(r, e) : read_plain(r, e);
    *text = kind == LINE_TEXT ? r->text : "";
    return kind;
}
