/* Flags and their help, errors for people. */
#include "tool/options.h"

#include "tool/devices.h"

#include "base/plat.h"
#include "base/plat_cpu.h"
#include "tool/pick.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Errors ---------------------------------------------------------------------------------- */

/* Messages quote file names and metadata, which must not steer a terminal. */
static void put_visible(char *s) {
    for (; *s; s++) {
        if (iscntrl((unsigned char)*s)) *s = '?';
    }
}

__attribute__((format(printf, 1, 0))) static void say(const char *fmt, va_list args) {
    char line[1024];
    vsnprintf(line, sizeof line, fmt, args);
    put_visible(line);
    fprintf(stderr, "glim: %s\n", line);
}

void options_say(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
}

int options_misused(const struct command *c, const char *fmt, ...) {
    char line[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    options_say("%s; see `glim %s --help`", line, c->name);
    return TOOL_MISUSED;
}

int options_failed(const glim_err *e) {
    options_say("%s", e->msg[0] ? e->msg : glim_status_text(e->code));
    return TOOL_FAILED;
}

enum { NEAR_MODELS = 3 };

/* Names GGUF files in folder, a few of them: "; there is a.gguf, b.gguf". */
static void list_models(const char *folder, char *list, size_t cap) {
    u32 found = 0;
    size_t n = 0;
    DIR *dir = opendir(folder);
    list[0] = 0;
    for (struct dirent *d; dir && (d = readdir(dir));) {
        size_t len = strlen(d->d_name);
        if (len < 6 || strcmp(d->d_name + len - 5, ".gguf") != 0) continue;
        if (found++ == NEAR_MODELS) {
            n += (size_t)snprintf(list + n, cap - n, ", ...");
            break;
        }
        n += (size_t)snprintf(list + n, cap - n, "%s%.80s", found == 1 ? "; there is " : ", ",
                              d->d_name);
    }
    if (dir) closedir(dir);
}

int options_failed_at(const char *path, const glim_err *e) {
    char folder[512], list[3 * 96 + 16] = "";
    const char *slash = strrchr(path, '/');
    bool is_folder = plat_kind(path) == PLAT_DIR;
    if (is_folder)
        snprintf(folder, sizeof folder, "%s", path);
    else
        snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
                 slash ? path : ".");
    if (is_folder || e->code == GLIM_NOT_FOUND) list_models(folder, list, sizeof list);
    options_say("%s%s", e->msg, list);
    return TOOL_FAILED;
}

bool options_flush(void) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return true;
    int why = errno;
    if (why != EPIPE) {
        options_say("cannot write to standard output%s%s", why ? ": " : "",
                    why ? strerror(why) : "");
    }
    return false;
}

/* Edits (insert, delete, replace, swap of neighbours) between two short words. */
static size_t distance(const char *a, const char *b) {
    enum { LONGEST = 31 };
    size_t na = strlen(a), nb = strlen(b), d[LONGEST + 1][LONGEST + 1];
    if (na > LONGEST || nb > LONGEST) return SIZE_MAX;
    for (size_t i = 0; i <= na; i++) {
        for (size_t j = 0; j <= nb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t best = MIN(d[i - 1][j], d[i][j - 1]) + 1;
            best = MIN(best, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                best = MIN(best, d[i - 2][j - 2] + 1);
            }
            d[i][j] = best;
        }
    }
    return d[na][nb];
}

const char *options_nearest(const char *word, const char *const *names, size_t n) {
    const char *found = NULL;
    size_t least = 3; /* more edits than two are another word */
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(word, names[i]);
        if (d < least && d < strlen(names[i])) {
            least = d;
            found = names[i];
        }
    }
    return found;
}

/* ---- Help ------------------------------------------------------------------------------------ */

/* Columns before the explanation of a flag. */
enum { HELP_COLUMN = 26 };

static void help_row(const struct option_row *r) {
    char left[64];
    int n = snprintf(left, sizeof left, "  %c%c%s--%s%s%s", r->letter ? '-' : ' ',
                     r->letter ? r->letter : ' ', r->letter ? ", " : "  ", r->name,
                     r->arg ? " " : "", r->arg ? r->arg : "");
    if (n >= HELP_COLUMN) {
        printf("%s\n%*s%s\n", left, HELP_COLUMN, "", r->help);
    } else {
        printf("%-*s%s\n", HELP_COLUMN, left, r->help);
    }
}

static void help(const struct command *c, const struct option_row *rows) {
    printf("usage: glim %s%s%s\n\n%s.\n%s\n\n", c->name, *c->usage ? " " : "", c->usage, c->about,
           c->detail);
    for (; rows->name; rows++)
        help_row(rows);
    help_row(&(struct option_row){'h', "help", NULL, OPTION_SWITCH, NULL, 0, 0, "this text"});
    printf("\n%s", c->examples);
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* How a flag was written, for messages. */
struct flag_name {
    char s[48];
};
static struct flag_name flag_name(const struct option_row *r, bool by_letter) {
    struct flag_name f;
    if (by_letter)
        snprintf(f.s, sizeof f.s, "-%c", r->letter);
    else
        snprintf(f.s, sizeof f.s, "--%s", r->name);
    return f;
}

static int bad_number(const struct option_row *r, const char *flag, const char *value,
                      glim_err *e) {
    const char *kind = r->kind == OPTION_F32 ? "a number" : "a whole number";
    if (r->hi >= 0x1p62) {
        return fail(e, GLIM_ARG, "%s: '%.60s' is not %s of %.10g or more", flag, value, kind,
                    r->lo);
    }
    return fail(e, GLIM_ARG, "%s: '%.60s' is not %s from %.10g to %.10g", flag, value, kind, r->lo,
                r->hi);
}

/* Stores a number that lies in the row's range, false otherwise. */
static bool store_number(const struct option_row *r, const char *value) {
    char *end;
    errno = 0;
    if (isspace((unsigned char)*value) || !*value) return false;
    if (r->kind == OPTION_F32) {
        f64 v = strtod(value, &end);
        if (*end || !(v >= r->lo && v <= r->hi)) return false; /* false for NaN */
        *(f32 *)r->to = (f32)v;
        return true;
    }
    if (r->kind == OPTION_U64) {
        unsigned long long v = strtoull(value, &end, 10);
        if (*end || errno || *value == '-') return false;
        *(u64 *)r->to = v;
        return true;
    }
    long long v = strtoll(value, &end, 10);
    if (*end || errno || (f64)v < r->lo || (f64)v > r->hi) return false;
    if (r->kind == OPTION_U32)
        *(u32 *)r->to = (u32)v;
    else
        *(i32 *)r->to = (i32)v;
    return true;
}

/* Whether value stands in list, "auto|gpu[:N]": with a number where the list has [:N]. */
static bool is_word(const char *value, const char *list) {
    size_t n = strcspn(value, ":"), digits = strspn(value + n + (value[n] == ':'), "0123456789");
    bool numbered = value[n] == ':';
    if (numbered && (digits == 0 || digits > 3 || value[n + 1 + digits])) return false;
    for (const char *p = list; p; p = strchr(p, '|')) {
        p += *p == '|';
        if (n && strncmp(p, value, n) == 0 && (p[n] == '|' || p[n] == 0 || p[n] == '['))
            return !numbered || p[n] == '[';
    }
    return false;
}

/* "on", "off", or a number of at most 9 digits. */
static bool is_amount(const char *value) {
    size_t digits = strspn(value, "0123456789");
    if (strcmp(value, "on") == 0 || strcmp(value, "off") == 0) return true;
    return digits > 0 && digits < 10 && !value[digits];
}

static int append_text(struct texts *t, const char *value, glim_err *e) {
    const char **grown = malloc((t->n + 1) * sizeof *grown);
    if (!grown) return fail(e, GLIM_NOMEM, "out of memory");
    if (t->n) memcpy(grown, t->p, t->n * sizeof *grown);
    free((void *)t->p);
    grown[t->n] = value;
    *t = (struct texts){grown, t->n + 1};
    return GLIM_OK;
}

/* flag: how it was written. value stays where it is. */
static int store(const struct option_row *r, const char *flag, const char *value, glim_err *e) {
    switch (r->kind) {
    case OPTION_SWITCH:
        *(bool *)r->to = true;
        return GLIM_OK;
    case OPTION_TEXT:
        *(const char **)r->to = value;
        return GLIM_OK;
    case OPTION_TEXTS:
        return append_text(r->to, value, e);
    case OPTION_WORD:
        if (!is_word(value, r->arg))
            return fail(e, GLIM_ARG, "%s: '%.60s' is none of %s", flag, value, r->arg);
        *(const char **)r->to = value;
        return GLIM_OK;
    case OPTION_AMOUNT:
        if (value && !is_amount(value))
            return fail(e, GLIM_ARG, "%s: '%.60s' is not on, off or a number of tokens", flag,
                        value);
        *(const char **)r->to = value ? value : "on";
        return GLIM_OK;
    default:
        return store_number(r, value) ? GLIM_OK : bad_number(r, flag, value, e);
    }
}

/* ---- Parsing --------------------------------------------------------------------------------- */

enum { MOST_ROWS = 72, HELP_CODE = 1000, ROW_CODE = 1001 };

/* What the flags of this command line set. */
static const void *given[MOST_ROWS];
static size_t n_given;

bool options_given(const void *to) {
    for (size_t i = 0; i < n_given; i++) {
        if (given[i] == to) return true;
    }
    return false;
}

static void mark_given(const void *to) {
    if (!options_given(to) && n_given < COUNT(given)) given[n_given++] = to;
}

int options_set(const struct option_row *r, const char *text, glim_err *e) {
    /* What was set before may still be looked at: texts of a person's typing stay. */
    static struct texts kept;
    if (r->kind == OPTION_TEXTS && strcmp(text, "off") == 0) {
        ((struct texts *)r->to)->n = 0;
        mark_given(r->to);
        return GLIM_OK;
    }
    if (r->kind == OPTION_SWITCH) return fail(e, GLIM_ARG, "%s has no value", r->name);
    if (!*text) return fail(e, GLIM_ARG, "%s: the text is empty", r->name);
    bool keep = r->kind == OPTION_TEXT || r->kind == OPTION_TEXTS || r->kind == OPTION_WORD ||
                r->kind == OPTION_AMOUNT;
    char *copy = keep ? strdup(text) : NULL;
    if (keep && !copy) return fail(e, GLIM_NOMEM, "out of memory");
    int rc = copy ? append_text(&kept, copy, e) : GLIM_OK;
    if (rc < 0)
        free(copy);
    else
        rc = store(r, r->name, copy ? copy : text, e);
    if (rc == GLIM_OK) mark_given(r->to);
    return rc;
}

/* As short as it can be and still be read as the same. */
static void put_f32(f32 x, FILE *f) {
    char text[32];
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (f64)x);
        if (strtof(text, NULL) == x) break;
    }
    fputs(text, f);
}

void options_put_value(const struct option_row *r, FILE *f) {
    const struct texts *t = r->to;
    const char *text;
    switch (r->kind) {
    case OPTION_SWITCH:
        fputs(*(const bool *)r->to ? "on" : "off", f);
        break;
    case OPTION_TEXT:
    case OPTION_WORD:
    case OPTION_AMOUNT:
        text = *(const char *const *)r->to;
        fputs(text ? text : "not set", f);
        break;
    case OPTION_TEXTS:
        for (size_t i = 0; i < t->n; i++)
            fprintf(f, "%s\"%s\"", i ? " " : "", t->p[i]);
        if (!t->n) fputs("none", f);
        break;
    case OPTION_U32:
        fprintf(f, "%u", *(const u32 *)r->to);
        break;
    case OPTION_I32:
        fprintf(f, "%d", *(const i32 *)r->to);
        break;
    case OPTION_U64:
        fprintf(f, "%llu", (unsigned long long)*(const u64 *)r->to);
        break;
    case OPTION_F32:
        put_f32(*(const f32 *)r->to, f);
        break;
    }
}

/* The argument that getopt stumbled over. */
static int complain(const struct command *c, const struct option_row *rows, int code, char **argv) {
    const char *arg = argv[optind - 1];
    /* For a bad letter in a group optind may still point at the group. */
    char letter[3] = {'-', (char)optopt, 0};
    bool is_row = optopt >= ROW_CODE;
    if (code == ':') {
        struct flag_name f =
            is_row ? flag_name(&rows[optopt - ROW_CODE], false) : (struct flag_name){""};
        return options_misused(c, "%s needs a value", is_row ? f.s : letter);
    }
    if (is_row || optopt == HELP_CODE) {
        return options_misused(c, "'%.60s': this flag takes no value", arg);
    }
    if (optopt) return options_misused(c, "unknown flag '%s'", letter);
    const char *names[MOST_ROWS];
    size_t n = 0;
    for (; rows[n].name; n++)
        names[n] = rows[n].name;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(arg, "="), arg);
    const char *near = strlen(word) > 2 ? options_nearest(word + 2, names, n) : NULL;
    if (!near) return options_misused(c, "unknown flag '%s'", word);
    return options_misused(c, "unknown flag '%s' (did you mean --%s?)", word, near);
}

bool options_parse(const struct command *c, const struct option_row *rows, int *argc, char ***argv,
                   int *exit_code) {
    struct option longs[MOST_ROWS + 2] = {{0}};
    char shorts[2 * MOST_ROWS + 4] = ":h";
    size_t n = 0, k = strlen(shorts);
    for (; rows[n].name && n < MOST_ROWS; n++) {
        int has_arg = !rows[n].arg                    ? no_argument
                      : rows[n].kind == OPTION_AMOUNT ? optional_argument
                                                      : required_argument;
        longs[n] = (struct option){rows[n].name, has_arg, NULL, ROW_CODE + (int)n};
        if (!rows[n].letter) continue;
        shorts[k++] = rows[n].letter;
        if (rows[n].arg) shorts[k++] = ':';
    }
    longs[n] = (struct option){"help", no_argument, NULL, HELP_CODE};
    opterr = 0;
    int code;
    while ((code = getopt_long(*argc, *argv, shorts, longs, NULL)) != -1) {
        if (code == 'h' || code == HELP_CODE) {
            help(c, rows);
            *exit_code = TOOL_FINE;
            return false;
        }
        if (code == '?' || code == ':') {
            *exit_code = complain(c, rows, code, *argv);
            return false;
        }
        size_t i = 0;
        if (code >= ROW_CODE) {
            i = (size_t)(code - ROW_CODE);
        } else {
            while (rows[i].letter != code)
                i++;
        }
        struct flag_name flag = flag_name(&rows[i], code < ROW_CODE);
        bool amount = rows[i].kind == OPTION_AMOUNT && !optarg && optind < *argc;
        if (amount && is_amount((*argv)[optind])) optarg = (*argv)[optind++];
        glim_err e = {0};
        int rc = store(&rows[i], flag.s, optarg, &e);
        if (rc < 0) {
            *exit_code = rc == GLIM_ARG ? options_misused(c, "%s", e.msg) : options_failed(&e);
            return false;
        }
        mark_given(rows[i].to);
    }
    *argc -= optind;
    *argv += optind;
    return true;
}

bool options_model(const struct command *c, struct model_options *o, int *argc, char ***argv,
                   int *exit_code) {
    if (!o->model && *argc > 0) {
        o->model = (*argv)[0];
        (*argc)--;
        (*argv)++;
    }
    if (!o->model || !*o->model) {
        *exit_code =
            options_misused(c, "no model; name a GGUF file, or a model that `glim list` shows");
        return false;
    }
    *exit_code = pick_model(o->model, &o->picked);
    if (o->picked) o->model = o->picked->path;
    return *exit_code == TOOL_FINE;
}

/* ---- Engine ---------------------------------------------------------------------------------- */

static void note(void *ud, const char *message) {
    (void)ud;
    options_say("%s", message);
}

int options_engine(const struct model_options *o, glim_engine **engine, glim_err *e) {
    glim_engine_params p = {.n_threads = o->threads,
                            .device = o->device,
                            .isa = o->isa,
                            .log = note,
                            .gpu_library = devices_library(),
                            .gpu_features = o->gpu_features};
    return glim_engine_open(engine, &p, e);
}

int options_tables(const struct model_options *o) {
    if (!o->tables || strcmp(o->tables, "auto") == 0) return GLIM_TABLES_AUTO;
    return strcmp(o->tables, "file") == 0 ? GLIM_TABLES_FILE : GLIM_TABLES_DEVICE;
}

void options_pin(u32 threads) {
    u32 processors = plat_cpu_count();
    if (threads == 0) threads = processors;
    /* A lone thread is better off wherever the system finds room. */
    if (threads > 1 && threads <= processors) plat_pin(0);
}
