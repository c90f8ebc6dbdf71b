/* glim logits: what a model expects after each token of a text. */
#include "tool/format.h"
#include "tool/input.h"
#include "tool/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rows of logits held at a time: at most this many bytes. */
enum { ROW_BYTES = 64 << 20 };
enum { TOP = 10 };

struct logits {
    struct model_options o;
    const char *ids_text, *ids_file, *text;
    bool all, raw, fast;
    u32 batch;
    i32 *ids; /* owned */
    size_t n;
    glim_model *model;
    glim_session *session;
    u32 vocab, max_rows; /* rows of one pass */
};

static void print_piece(const struct logits *l, i32 id) {
    struct str s = {NULL, 0};
    s.p = glim_token_text(l->model, id, &s.n);
    format_quoted(s, stdout);
}

/* The TOP likeliest tokens after position pos. */
static void print_top(const struct logits *l, const f32 *row, size_t pos) {
    i32 top[TOP];
    u32 n = 0;
    for (u32 id = 0; id < l->vocab; id++) {
        if (n == TOP && !(row[id] > row[top[n - 1]])) continue;
        u32 at = n < TOP ? n++ : n - 1;
        for (; at > 0 && row[id] > row[top[at - 1]]; at--)
            top[at] = top[at - 1];
        top[at] = (i32)id;
    }
    f64 sum = 0;
    for (u32 id = 0; id < l->vocab; id++)
        sum += exp((f64)row[id] - (f64)row[top[0]]);
    printf("after token %zu, %d ", pos + 1, l->ids[pos]);
    print_piece(l, l->ids[pos]);
    printf("\n  %8s %10s %12s  piece\n", "id", "logit", "probability");
    for (u32 i = 0; i < n; i++) {
        f64 p = exp((f64)row[top[i]] - (f64)row[top[0]]) / sum;
        printf("  %8d %10.4f %12.6f  ", top[i], (f64)row[top[i]], p);
        print_piece(l, top[i]);
        printf("\n");
    }
}

/* Rows first .. first + n of the text. False: they cannot be written, which was said. */
static bool put_rows(const struct logits *l, size_t first, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const f32 *row = glim_logits(l->session, i, NULL);
        if (!l->raw)
            print_top(l, row, first + i);
        else
            fwrite(row, sizeof *row, l->vocab,
                   stdout); /* all machines that glim runs on are little endian */
    }
    return options_flush();
}

static int work(struct logits *l) {
    size_t n_rows, piece = l->all ? l->max_rows : l->n;
    for (size_t at = 0; at < l->n; at += piece) {
        size_t n = MIN(piece, l->n - at);
        int how = l->all ? GLIM_LOGITS_ALL : GLIM_LOGITS_LAST;
        int rc = glim_feed(l->session, l->ids + at, n, how);
        if (rc == GLIM_OK) rc = glim_wait(l->session);
        if (rc < 0) return options_failed(glim_session_error(l->session));
        glim_logits(l->session, 0, &n_rows);
        if (!put_rows(l, at + n - n_rows, n_rows)) return TOOL_FAILED;
    }
    return TOOL_FINE;
}

/* Fills l->ids from the flag that was given. */
static int get_ids(struct logits *l, glim_err *e) {
    if (l->ids_text) return input_ids(l->ids_text, strlen(l->ids_text), &l->ids, &l->n, e);
    if (l->ids_file) {
        char *text;
        size_t len;
        int rc = input_read(l->ids_file, &text, &len, e);
        if (rc < 0) return rc;
        rc = input_ids(text, len, &l->ids, &l->n, e);
        free(text);
        return rc;
    }
    unsigned flags = GLIM_TOKENIZE_SPECIAL | GLIM_TOKENIZE_BOS;
    size_t len = strlen(l->text);
    int64_t n = glim_tokenize(l->model, l->text, len, flags, NULL, 0, e);
    if (n < 0) return (int)n;
    l->n = (size_t)n;
    l->ids = malloc(MAX(l->n, (size_t)1) * sizeof *l->ids);
    if (!l->ids) return fail(e, GLIM_NOMEM, "no memory for %zu ids", l->n);
    n = glim_tokenize(l->model, l->text, len, flags, l->ids, l->n, e);
    return n < 0 ? (int)n : GLIM_OK;
}

static int with_model(struct logits *l, glim_err *e) {
    glim_model_info info;
    glim_model_get_info(l->model, &info);
    l->vocab = info.n_vocab;
    int rc = l->ids ? GLIM_OK : get_ids(l, e);
    if (rc == GLIM_OK && l->n == 0) rc = fail(e, GLIM_ARG, "there are no tokens to begin with");
    if (rc == GLIM_OK && l->n > info.n_ctx_train) {
        rc = fail(e, GLIM_FULL, "%zu tokens: %s was trained for at most %u", l->n, l->o.model,
                  info.n_ctx_train);
    }
    if (rc < 0) return options_failed(e);
    u64 fit = MAX(ROW_BYTES / ((u64)l->vocab * sizeof(f32)), 1u);
    l->max_rows = l->all ? (u32)MIN(fit, MIN(l->batch, l->n)) : 1;
    glim_session_params p = {.n_ctx = (u32)l->n,
                             .n_batch = l->batch,
                             .max_logits = l->max_rows,
                             .exact = !l->fast,
                             .tables = options_tables(&l->o)};
    rc = glim_session_open(&l->session, l->model, &p, e);
    int code = rc < 0 ? options_failed(e) : work(l);
    glim_session_close(l->session);
    return code;
}

static int logits_main(const struct command *c, int argc, char **argv) {
    struct logits l = {.batch = 512};
    const struct option_row rows[] = {
        OPTION_MODEL(l.o),
        {0, "ids", "LIST", OPTION_TEXT, &l.ids_text, 0, 0, "token ids, as in \"1 2 3\""},
        {0, "ids-file", "FILE", OPTION_TEXT, &l.ids_file, 0, 0,
         "the same from a file, - for stdin"},
        {0, "text", "TEXT", OPTION_TEXT, &l.text, 0, 0,
         "or a text, tokenized as glim tokenize does"},
        {0, "all", NULL, OPTION_SWITCH, &l.all, 0, 0, "after each token, not only the last"},
        {0, "raw", NULL, OPTION_SWITCH, &l.raw, 0, 0,
         "rows of little-endian float32, one for each token"},
        {0, "fast", NULL, OPTION_SWITCH, &l.fast, 0, 0,
         "int8 activations, as glim run (default: exact)"},
        {'b', "batch-size", "N", OPTION_U32, &l.batch, 1, 65536,
         "tokens processed at a time (default: 512)"},
        OPTION_ENGINE(l.o),
        OPTION_END,
    };
    int code;
    if (!options_parse(c, rows, &argc, &argv, &code)) return code;
    if (!options_model(c, &l.o, &argc, &argv, &code)) return code;
    if (argc > 0) return options_misused(c, "'%.60s': what is this? Ids follow --ids", argv[0]);
    if (!!l.ids_text + !!l.ids_file + !!l.text != 1) {
        return options_misused(c, "give one of --ids, --ids-file and --text");
    }
    if (l.raw && isatty(STDOUT_FILENO)) {
        return options_misused(c, "--raw is for a file or a pipe: stdout is a terminal");
    }
    glim_err e = {0};
    if (!l.text && get_ids(&l, &e) < 0) {
        return e.code == GLIM_ARG ? options_misused(c, "%s", e.msg) : options_failed(&e);
    }
    if (!l.text && l.n == 0) {
        free(l.ids);
        return options_misused(c, "there are no ids in the list");
    }
    glim_engine *engine;
    if (options_engine(&l.o, &engine, &e) < 0) {
        code = options_failed(&e);
    } else {
        options_pin(l.o.threads);
        int rc = glim_model_open(&l.model, engine, l.o.model, &e);
        code = rc < 0 ? options_failed_at(l.o.model, &e) : with_model(&l, &e);
        glim_model_close(l.model);
        glim_engine_close(engine);
    }
    free(l.ids);
    return code;
}

const struct command logits_command = {
    .name = "logits",
    .usage = "-m MODEL (--ids LIST | --ids-file FILE | --text TEXT)",
    .about = "Print what a model expects next",
    .detail = "Prints the 10 likeliest tokens after the last one, or with --raw all logits.",
    .examples = "examples:\n"
                "  glim logits -m model.gguf --text \"The capital of France is\"\n"
                "  glim logits -m model.gguf --ids \"1 2 3\" --all --raw > rows.f32\n",
    .main = logits_main,
};
