/* glim bench: how fast a model reads and writes here, and how near that comes to what memory gives.
 *
 * A timed run must be a right run: the greedy tokens of every repetition are hashed, and must be
 * the same each time. */
#include "tool/options.h"

#include "base/plat_cpu.h"
#include "tool/bench_roof.h"
#include "tool/format.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST_REPS = 100 };

/* Tokens per second of each repetition. */
struct rates {
    f64 run[MOST_REPS], median;
};

struct bench {
    struct model_options o;
    u32 n_prompt, n_gen, reps;
    bool exact, json, profile;
    glim_stats before, after; /* of the last repetition's decoding */
    glim_model *model;
    glim_session *session;
    glim_model_info info;
    const char *device, *driver; /* NULL: the CPU's */
    u32 threads;
    i32 *prompt; /* [n_prompt] owned */
    u64 load_ns;
    struct rates prefill, decode;
    u64 hash;
    u64 rss;
    f64 roof; /* bytes per second at which the weights can be read; 0: not known */
};

/* ---- Tokens ---------------------------------------------------------------------------------- */

/* xorshift64*: the same prompt everywhere and every time. */
static u64 draw(u64 *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

/* Whether a token is plain text: its text, taken as text, is that token again. Control tokens are
 * not (and would make the measured text an odd one). */
static bool is_plain(const struct bench *b, i32 id) {
    size_t len;
    i32 again;
    const char *text = glim_token_text(b->model, id, &len);
    if (!text) return true; /* no vocabulary: all ids are alike */
    return len && glim_tokenize(b->model, text, len, 0, &again, 1, NULL) == 1 && again == id;
}

static int make_prompt(struct bench *b, glim_err *e) {
    b->prompt = malloc(b->n_prompt * sizeof *b->prompt);
    if (!b->prompt) return fail(e, GLIM_NOMEM, "no memory for the prompt");
    u64 state = 0x676c696d;
    for (u32 i = 0, tries = 0; i < b->n_prompt; tries++) {
        i32 id = (i32)(draw(&state) % b->info.n_vocab);
        /* A vocabulary without plain tokens must not hold us up. */
        if (tries < 100 * b->n_prompt && !is_plain(b, id)) continue;
        b->prompt[i++] = id;
    }
    return GLIM_OK;
}

/* FNV-1a, 64 bits, over the ids as little-endian words. */
static void hash_id(u64 *h, i32 id) {
    for (u32 shift = 0; shift < 32; shift += 8)
        *h = (*h ^ ((u32)id >> shift & 0xff)) * 0x100000001b3u;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* One repetition from an empty context. The times may be NULL. */
static int run_once(struct bench *b, u32 n_prompt, u32 n_gen, u64 *prefill_ns, u64 *decode_ns,
                    u64 *hash) {
    glim_session *s = b->session;
    u64 start = plat_now_ns();
    int rc = glim_rewind(s, 0);
    if (rc == GLIM_OK) rc = glim_feed(s, b->prompt, n_prompt, GLIM_LOGITS_LAST);
    if (rc == GLIM_OK) rc = glim_wait(s);
    u64 middle = plat_now_ns();
    glim_get_stats(s, &b->before);
    *hash = 0xcbf29ce484222325u;
    for (u32 i = 0; rc == GLIM_OK && i < n_gen; i++) {
        i32 id;
        rc = glim_sample(s, &id);
        if (rc < 0) break;
        hash_id(hash, id);
        rc = glim_feed(s, &id, 1, GLIM_LOGITS_DRAW);
        if (rc == GLIM_OK) rc = glim_wait(s);
    }
    *prefill_ns = middle - start;
    *decode_ns = plat_now_ns() - middle;
    glim_get_stats(s, &b->after);
    return rc;
}

static int by_value(const void *a, const void *b) {
    f64 x = *(const f64 *)a, y = *(const f64 *)b;
    return (x > y) - (x < y);
}

static void settle(struct rates *r, u32 n) {
    f64 sorted[MOST_REPS];
    memcpy(sorted, r->run, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    r->median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static void note(const struct bench *b, u32 i) {
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\x1b[Krun %u of %u", i + 1, b->reps);
}

static int measure(struct bench *b, glim_err *e) {
    u64 prefill_ns, decode_ns, hash;
    /* Weights come into memory, threads and clocks wake up. */
    int rc = run_once(b, MIN(b->n_prompt, 64u), MIN(b->n_gen, 4u), &prefill_ns, &decode_ns, &hash);
    for (u32 i = 0; rc == GLIM_OK && i < b->reps; i++) {
        note(b, i);
        rc = run_once(b, b->n_prompt, b->n_gen, &prefill_ns, &decode_ns, &hash);
        b->prefill.run[i] = b->n_prompt * 1e9 / (f64)MAX(prefill_ns, 1u);
        b->decode.run[i] = b->n_gen * 1e9 / (f64)MAX(decode_ns, 1u);
        if (rc == GLIM_OK && i && hash != b->hash) {
            rc = fail(e, GLIM_NUMERIC,
                      "run %u gave other tokens than the first (hash %016llx, then %016llx): "
                      "something is broken, and its speed means nothing",
                      i + 1, (unsigned long long)b->hash, (unsigned long long)hash);
        }
        b->hash = hash;
    }
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\x1b[K");
    if (rc < 0) return fail(e, rc, "%s", glim_session_error(b->session)->msg);
    settle(&b->prefill, b->reps);
    settle(&b->decode, b->reps);
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0) b->rss = (u64)usage.ru_maxrss * 1024; /* kB on Linux */
    return GLIM_OK;
}

/* ---- Telling --------------------------------------------------------------------------------- */

static f64 decode_bytes(const struct bench *b) {
    return b->decode.median * (f64)b->info.bytes_per_token;
}

static void print_rates(const char *what, u32 n, const struct rates *r, u32 reps) {
    f64 lo = r->run[0], hi = r->run[0];
    for (u32 i = 1; i < reps; i++) {
        lo = MIN(lo, r->run[i]);
        hi = MAX(hi, r->run[i]);
    }
    printf("%-9s %6u tokens %10.1f tokens/s", what, n, r->median);
    if (reps > 1) printf("   (median of %u, %.1f to %.1f)", reps, lo, hi);
    printf("\n");
}

/* Per decoded token. */
static f64 dispatches(const struct bench *b) {
    return (f64)(b->after.gpu_dispatches - b->before.gpu_dispatches) / b->n_gen;
}
static f64 submits(const struct bench *b) {
    return (f64)(b->after.gpu_submits - b->before.gpu_submits) / b->n_gen;
}

static int by_time(const void *a, const void *b) {
    u64 x = ((const glim_kernel_time *)a)->ns, y = ((const glim_kernel_time *)b)->ns;
    return (x < y) - (x > y);
}

/* Kernels of one more repetition, the slowest first. */
static size_t profile(struct bench *b, glim_kernel_time *times, size_t cap, glim_err *e) {
    u64 prefill_ns, decode_ns, hash;
    int rc = glim_profile(b->session);
    if (rc == GLIM_OK) rc = run_once(b, b->n_prompt, b->n_gen, &prefill_ns, &decode_ns, &hash);
    if (rc < 0) {
        fail(e, rc, "%s", glim_session_error(b->session)->msg);
        return 0;
    }
    size_t n = MIN(glim_get_profile(b->session, times, cap), cap);
    qsort(times, n, sizeof *times, by_time);
    return n;
}

static void print_profile(const glim_kernel_time *times, size_t n) {
    u64 sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += times[i].ns;
    printf("kernels of one repetition, by the GPU's clock:\n");
    for (size_t i = 0; i < n; i++) {
        printf("  %-12s %10.3f ms  %5.1f %%\n", times[i].name, (f64)times[i].ns / 1e6,
               100 * (f64)times[i].ns / (f64)sum);
    }
}

static void print_table(const struct bench *b) {
    printf("%-9s %s\n", "model", b->o.model);
    printf("%-9s %s%s\n", "device", b->device, b->exact ? ", exact" : "");
    if (b->driver) printf("%-9s %s\n", "driver", b->driver);
    print_rates("prefill", b->n_prompt, &b->prefill, b->reps);
    print_rates("decode", b->n_gen, &b->decode, b->reps);
    printf("%-9s %s of weights for each decoded token, %.1f GB/s", "reads",
           format_size(b->info.bytes_per_token).s, decode_bytes(b) / 1e9);
    if (b->roof > 0) {
        printf(": %.0f %% of the %.1f GB/s that these threads can read",
               100 * decode_bytes(b) / b->roof, b->roof / 1e9);
    }
    if (b->after.gpu_submits) {
        printf("\n%-9s %.1f dispatches and %.1f submits for each decoded token", "gpu",
               dispatches(b), submits(b));
    }
    printf("\n%-9s %.3f s\n", "load", (f64)b->load_ns / 1e9);
    printf("%-9s %s at most\n", "memory", format_size(b->rss).s);
    printf("%-9s %016llx\n", "ids hash", (unsigned long long)b->hash);
}

static json_t *run_list(const struct rates *r, u32 n) {
    json_t *j = json_array();
    for (u32 i = 0; j && i < n; i++) {
        if (json_array_append_new(j, format_real(r->run[i])) == 0) continue;
        json_decref(j);
        j = NULL;
    }
    return j;
}

static json_t *profile_json(const glim_kernel_time *times, size_t n) {
    json_t *j = json_object();
    bool ok = j;
    for (size_t i = 0; ok && i < n; i++)
        ok = json_object_set_new(j, times[i].name, format_u64(times[i].ns)) == 0;
    if (ok) return j;
    json_decref(j);
    return NULL;
}

/* times: of n kernels, where they were asked for. */
static json_t *as_json(const struct bench *b, const glim_kernel_time *times, size_t n) {
    char hash[24];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)b->hash);
    const struct {
        const char *key;
        json_t *value;
    } rows[] = {
        {"model", format_string((struct str){b->o.model, strlen(b->o.model)})},
        {"arch", json_string(b->info.arch)},
        {"device", json_string(b->device)},
        {"driver", b->driver ? json_string(b->driver) : json_null()},
        {"threads", json_integer(b->threads)},
        {"exact", json_boolean(b->exact)},
        {"n_prompt", json_integer(b->n_prompt)},
        {"n_gen", json_integer(b->n_gen)},
        {"reps", json_integer(b->reps)},
        {"prefill_tok_s", format_real(b->prefill.median)},
        {"prefill_tok_s_runs", run_list(&b->prefill, b->reps)},
        {"decode_tok_s", format_real(b->decode.median)},
        {"decode_tok_s_runs", run_list(&b->decode, b->reps)},
        {"load_s", format_real((f64)b->load_ns / 1e9)},
        {"peak_rss_bytes", format_u64(b->rss)},
        {"bytes_per_token", format_u64(b->info.bytes_per_token)},
        {"decode_gb_s", format_real(decode_bytes(b) / 1e9)},
        {"roof_gb_s", b->roof > 0 ? format_real(b->roof / 1e9) : json_null()},
        {"roof_share", b->roof > 0 ? format_real(decode_bytes(b) / b->roof) : json_null()},
        {"dispatches_per_token", b->after.gpu_submits ? format_real(dispatches(b)) : json_null()},
        {"submits_per_token", b->after.gpu_submits ? format_real(submits(b)) : json_null()},
        {"hash", json_string(hash)},
        {"kernels", b->profile ? profile_json(times, n) : json_null()},
    };
    json_t *j = json_object();
    bool ok = j;
    for (u32 i = 0; i < COUNT(rows); i++) /* all, so that each value is taken over or released */
        ok &= json_object_set_new(j, rows[i].key, rows[i].value) == 0;
    if (ok) return j;
    json_decref(j);
    return NULL;
}

/* ---- Command line ---------------------------------------------------------------------------- */

/* Opens, measures and closes the model. */
static int with_engine(struct bench *b, glim_engine *engine, glim_err *e) {
    glim_session_params p = {
        .n_ctx = b->n_prompt + b->n_gen, .exact = b->exact, .tables = options_tables(&b->o)};
    glim_generation greedy = glim_generation_default();
    greedy.temp = 0;
    glim_kernel_time kernels[64];
    size_t n_kernels = 0;
    u64 start = plat_now_ns();
    int rc = glim_model_open(&b->model, engine, b->o.model, e);
    if (rc == GLIM_OK) {
        glim_model_get_info(b->model, &b->info);
        if (p.n_ctx > b->info.n_ctx_train) {
            rc = fail(e, GLIM_ARG, "-p %u and -n %u: %s was trained for at most %u tokens",
                      b->n_prompt, b->n_gen, b->o.model, b->info.n_ctx_train);
        }
    }
    if (rc == GLIM_OK) rc = glim_session_open(&b->session, b->model, &p, e);
    b->load_ns = plat_now_ns() - start;
    if (rc == GLIM_OK) {
        rc = glim_set_generation(b->session, &greedy);
        if (rc == GLIM_OK) rc = make_prompt(b, e);
        if (rc == GLIM_OK) rc = measure(b, e);
        if (rc == GLIM_OK && b->profile) {
            n_kernels = profile(b, kernels, COUNT(kernels), e);
            rc = e->code;
        }
    }
    glim_session_close(b->session);
    int code = rc < 0 ? options_failed_at(b->o.model, e) : TOOL_FINE;
    if (code == TOOL_FINE) {
        b->device = glim_engine_device(engine);
        b->driver = glim_engine_driver(engine);
        if (b->json)
            code = format_json(as_json(b, kernels, n_kernels), 9);
        else
            print_table(b);
        if (n_kernels && !b->json) print_profile(kernels, n_kernels);
    }
    glim_model_close(b->model);
    free(b->prompt);
    return code;
}

static int bench_main(const struct command *c, int argc, char **argv) {
    struct bench b = {.n_prompt = 512, .n_gen = 128, .reps = 3};
    const struct option_row rows[] = {
        OPTION_MODEL(b.o),
        {'p', "n-prompt", "N", OPTION_U32, &b.n_prompt, 1, 1 << 24, "tokens of the prompt (512)"},
        {'n', "n-gen", "N", OPTION_U32, &b.n_gen, 1, 1 << 24, "tokens to decode after it (128)"},
        {'r', "repetitions", "N", OPTION_U32, &b.reps, 1, MOST_REPS, "runs; medians are shown (3)"},
        {0, "exact", NULL, OPTION_SWITCH, &b.exact, 0, 0, "f32 activations"},
        {0, "json", NULL, OPTION_SWITCH, &b.json, 0, 0, "the results as JSON"},
        {0, "profile", NULL, OPTION_SWITCH, &b.profile, 0, 0,
         "then the time of each kernel (GPU; with --json, in ns)"},
        OPTION_ENGINE(b.o),
        OPTION_END,
    };
    int code;
    if (!options_parse(c, rows, &argc, &argv, &code)) return code;
    if (!options_model(c, &b.o, &argc, &argv, &code)) return code;
    if (argc > 0) return options_misused(c, "'%.60s': one model at a time", argv[0]);
    b.threads = b.o.threads ? b.o.threads : plat_cpu_count();
    b.o.threads = b.threads;
    glim_err e = {0};
    glim_engine *engine;
    if (options_engine(&b.o, &engine, &e) < 0) return options_failed(&e);
    /* What these threads can read says nothing of a GPU. */
    bool on_cpu = strncmp(glim_engine_device(engine), "cpu", 3) == 0;
    if (on_cpu && b.profile) {
        glim_engine_close(engine);
        return options_misused(c, "--profile: only a GPU's kernels are timed, and this is the CPU "
                                  "(--device gpu chooses)");
    }
    /* Before this thread is pinned: the sweep's threads would inherit its one processor. */
    if (on_cpu && bench_roof(b.o.model, b.threads, &b.roof, &e) < 0) {
        glim_engine_close(engine);
        return options_failed_at(b.o.model, &e);
    }
    options_pin(b.threads);
    code = with_engine(&b, engine, &e);
    glim_engine_close(engine);
    return code;
}

const struct command bench_command = {
    .name = "bench",
    .usage = "MODEL",
    .about = "Measure how fast a model reads and writes",
    .detail =
        "The prompt is a fixed pseudo-random one; decoding is greedy. The hash of the decoded\n"
        "ids tells whether two runs computed the same. Loading is from opening the file until\n"
        "a prompt could be read.",
    .examples = "example:\n  glim bench model.gguf -p 512 -n 128 -t 4 --json\n",
    .main = bench_main,
};
