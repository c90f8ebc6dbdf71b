/* Perplexity of a text in both arithmetics, side by side: a program, not a test.
 *
 *   bench_ppl MODEL.gguf IDS [WINDOW]
 *
 * IDS: a file of token ids separated by blanks. The text is cut into windows (2048 tokens), each
 * read from an empty context; if the model's tokenizer begins texts with a token, every window
 * begins with it. The first half of a window is context only, as is usual. */
#include <glim.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 256 };

static void die(const char *what) {
    fprintf(stderr, "bench_ppl: %s\n", what);
    exit(1);
}

static int32_t *read_ids(const char *path, size_t *n) {
    FILE *f = fopen(path, "r");
    int32_t *ids = NULL, id;
    size_t cap = 0;
    if (!f) die("cannot open the ids");
    for (*n = 0; fscanf(f, "%d", &id) == 1; ids[(*n)++] = id) {
        if (*n < cap) continue;
        cap = cap ? 2 * cap : 4096;
        ids = realloc(ids, cap * sizeof *ids);
        if (!ids) die("out of memory");
    }
    fclose(f);
    return ids;
}

/* -log p(next) given a row of logits. */
static double nll(const float *row, uint32_t v, int32_t next) {
    double most = (double)row[0], sum = 0;
    for (uint32_t i = 1; i < v; i++)
        most = fmax(most, (double)row[i]);
    for (uint32_t i = 0; i < v; i++)
        sum += exp((double)row[i] - most);
    return most + log(sum) - (double)row[next];
}

/* Sum of nll over the second half of ids[0..n), read from an empty context. */
static double window_nll(glim_model *m, const int32_t *ids, size_t n, bool exact, size_t *count) {
    glim_err e = {0};
    glim_session *s;
    glim_session_params p = {
        .exact = exact, .n_ctx = (uint32_t)n, .n_batch = BATCH, .max_logits = BATCH};
    glim_model_info info;
    double sum = 0;
    glim_model_get_info(m, &info);
    if (glim_session_open(&s, m, &p, &e)) die(e.msg);
    for (size_t at = 0; at < n; at += BATCH) {
        size_t some = n - at < BATCH ? n - at : BATCH;
        if (glim_feed(s, ids + at, some, GLIM_LOGITS_ALL) || glim_wait(s)) {
            die(glim_session_error(s)->msg);
        }
        for (size_t i = 0; i < some; i++) {
            if (at + i < n / 2 || at + i + 1 >= n) continue;
            sum += nll(glim_logits(s, i, NULL), info.n_vocab, ids[at + i + 1]);
            ++*count;
        }
    }
    glim_session_close(s);
    return sum;
}

int main(int argc, char **argv) {
    glim_err e = {0};
    glim_engine *engine;
    glim_model *model;
    size_t n, window = argc > 3 ? strtoul(argv[3], NULL, 10) : 2048;
    if (argc < 3 || window < 4) die("usage: bench_ppl MODEL.gguf IDS [WINDOW]");
    int32_t *ids = read_ids(argv[2], &n), begin = -1;
    if (glim_engine_open(&engine, NULL, &e) || glim_model_open(&model, engine, argv[1], &e)) {
        die(e.msg);
    }
    if (glim_tokenize(model, "", 0, GLIM_TOKENIZE_BOS, &begin, 1, &e) < 0) die(e.msg);
    int32_t *text = malloc(window * sizeof *text);
    if (!text) die("out of memory");
    double sum[2] = {0, 0};
    size_t count[2] = {0, 0};
    for (size_t at = 0; at < n;) {
        size_t len = 0;
        if (begin >= 0) text[len++] = begin;
        while (len < window && at < n)
            text[len++] = ids[at++];
        if (len < 4) break;
        for (int exact = 0; exact < 2; exact++) {
            sum[exact] += window_nll(model, text, len, exact, &count[exact]);
        }
        printf("after %zu tokens: perplexity exact %.4f, fast %.4f\n", at,
               exp(sum[1] / (double)count[1]), exp(sum[0] / (double)count[0]));
        fflush(stdout);
    }
    double exact = exp(sum[1] / (double)count[1]), fast = exp(sum[0] / (double)count[0]);
    printf("%zu predictions: exact %.4f, fast %.4f (%+.3f %%)\n", count[0], exact, fast,
           100 * (fast / exact - 1));
    free(text);
    free(ids);
    glim_model_close(model);
    glim_engine_close(engine);
    return 0;
}
