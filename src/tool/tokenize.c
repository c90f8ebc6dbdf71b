/* glim tokenize: text to token ids. */
#include "tool/format.h"
#include "tool/input.h"
#include "tool/options.h"

#include "kern/quant.h"
#include "text/token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tokenize {
    struct model_options o;
    bool pieces, no_special;
    struct str text;
};

static void print_ids(const struct tokenize *t, const struct vocab *v, const i32 *ids, i64 n) {
    for (i64 i = 0; i < n; i++) {
        if (!t->pieces) {
            printf("%s%d", i ? " " : "", ids[i]);
            continue;
        }
        printf("%d\t", ids[i]);
        format_quoted(vocab_piece(v, ids[i], VOCAB_SPECIAL), stdout);
        printf("\n");
    }
    if (!t->pieces) printf("\n");
}

static int tokenize(const struct tokenize *t, const struct vocab *v, glim_err *e) {
    u32 flags = t->no_special ? 0 : VOCAB_SPECIAL | VOCAB_BEGIN;
    i64 n = vocab_encode(v, t->text, flags, NULL, 0, &mem_libc, e);
    if (n < 0) return (int)n;
    i32 *ids = malloc((size_t)MAX(n, 1) * sizeof *ids);
    if (!ids) return fail(e, GLIM_NOMEM, "no memory for %lld ids", (long long)n);
    i64 rc = vocab_encode(v, t->text, flags, ids, (u64)n, &mem_libc, e);
    if (rc >= 0) print_ids(t, v, ids, n);
    free(ids);
    u64 lost = vocab_lost(v, t->text);
    if (rc >= 0 && lost) {
        options_say("%llu bytes of the text have no token in this vocabulary and are left out",
                    (unsigned long long)lost);
    }
    return rc < 0 ? (int)rc : GLIM_OK;
}

/* Only the metadata is read: this works for models whose architecture cannot be run. */
static int with_vocab(const struct tokenize *t, glim_err *e) {
    struct arena arena;
    struct gguf g;
    struct vocab *v;
    arena_init(&arena, &mem_libc);
    int rc = gguf_open(&g, t->o.model, &arena, quant_size, e);
    if (rc == GLIM_OK) {
        glim_err why = {0};
        rc = vocab_open(&v, &g, &arena, &why);
        if (rc < 0) fail(e, rc, "%s: %s", t->o.model, why.msg);
        if (rc == GLIM_OK) rc = tokenize(t, v, e);
        gguf_close(&g);
    }
    arena_free(&arena);
    return rc;
}

static int tokenize_main(const struct command *c, int argc, char **argv) {
    struct tokenize t = {0};
    const struct option_row rows[] = {
        OPTION_MODEL(t.o),
        {0, "pieces", NULL, OPTION_SWITCH, &t.pieces, 0, 0,
         "one token a line: id, tab, its text, quoted and escaped"},
        {0, "no-special", NULL, OPTION_SWITCH, &t.no_special, 0, 0,
         "names of control tokens are plain text, and none is added"},
        OPTION_END,
    };
    int code;
    if (!options_parse(c, rows, &argc, &argv, &code)) return code;
    if (!t.o.model || !*t.o.model) {
        return options_misused(c, "no model; name one with -m MODEL");
    }
    if (argc > 1) return options_misused(c, "%d texts; put quotes around one", argc);
    char *text = argc == 1 ? argv[0] : NULL;
    if (!options_model(c, &t.o, &argc, &argv, &code)) return code;
    glim_err e = {0};
    char *input = NULL;
    int rc = GLIM_OK;
    if (text) {
        t.text = (struct str){text, strlen(text)};
    } else {
        size_t n = 0;
        rc = input_read("-", &input, &n, &e);
        t.text = (struct str){input, n};
    }
    if (rc == GLIM_OK) rc = with_vocab(&t, &e);
    free(input);
    return rc < 0 ? options_failed_at(t.o.model, &e) : TOOL_FINE;
}

const struct command tokenize_command = {
    .name = "tokenize",
    .usage = "-m MODEL [TEXT]",
    .about = "Turn text into token ids",
    .detail =
        "Prints the ids of TEXT, or of what comes through a pipe, on one line. The text is\n"
        "taken byte for byte: \\n in it is a backslash and an n. Names of control tokens become\n"
        "those tokens, and the model's beginning and end tokens are added where it asks for them.",
    .examples = "example:\n  glim tokenize -m model.gguf --pieces \"Hello, world\"\n",
    .main = tokenize_main,
};
