/* Vocabularies for tests: from files, and small ones made up of the 256 bytes and a few tokens. */
#ifndef TEST_SMALL_VOCAB_H
#define TEST_SMALL_VOCAB_H

#include "load_gguf.h"

#include "kern/quant.h"
#include "text/token.h"

#include <pthread.h>
#include <time.h>

#define MODEL "models/SmolLM2-135M-Instruct.Q4_1.gguf" /* present where it was fetched */

/* Time that this process computed: others on the machine do not count. */
static inline f64 seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (f64)t.tv_sec + 1e-9 * (f64)t.tv_nsec;
}

/* Limits are for the optimised build; sanitizers and asserts take a multiple. */
#ifdef NDEBUG
enum { SLOWER = 1 };
#else
enum { SLOWER = 20 };
#endif

static inline struct str text_of(const char *s) {
    return (struct str){s, strlen(s)};
}

/* A vocabulary from a file; free with load_free. */
static inline struct vocab *open_vocab(struct load *l, const char *path) {
    struct vocab *v = NULL;
    memset(l, 0, sizeof *l);
    count_alloc_init(&l->count);
    arena_init(&l->arena, &l->count.alloc);
    l->rc = gguf_open(&l->g, path, &l->arena, quant_size, &l->e);
    if (l->rc == 0) l->rc = vocab_open(&v, &l->g, &l->arena, &l->e);
    if (l->rc) fail_test("%s", l->e.msg);
    return v;
}

/* Ids in a fresh array; counts first, as callers do. */
static inline i32 *encode_text(const struct vocab *v, struct str text, u32 flags, i64 *n) {
    glim_err e = {0};
    *n = vocab_encode(v, text, flags, NULL, 0, &mem_libc, &e);
    if (*n < 0) fail_test("%s", e.msg);
    i32 *ids = malloc((size_t)*n * sizeof *ids + 1);
    assert_non_null(ids);
    assert_int_equal(vocab_encode(v, text, flags, ids, (u64)*n, &mem_libc, &e), *n);
    return ids;
}

/* ids must be the list that want spells, "1 2 3". */
static inline void assert_ids(const struct vocab *v, struct str text, u32 flags, const char *want) {
    i64 n;
    char got[256] = "";
    i32 *ids = encode_text(v, text, flags, &n);
    for (i64 i = 0, at = 0; i < n && at < 240; i++) {
        at += snprintf(got + at, sizeof got - (size_t)at, i ? " %d" : "%d", ids[i]);
    }
    free(ids);
    if (strcmp(got, want)) fail_test("'%.*s': got %s, expected %s", STR(text), got, want);
}

/* What the ids stand for must be text. */
static inline void assert_spells(const struct vocab *v, const i32 *ids, i64 n, struct str text) {
    size_t at = 0;
    for (i64 i = 0; i < n; i++) {
        struct str piece = vocab_piece(v, ids[i], VOCAB_SPECIAL);
        assert_true(piece.n <= text.n - at);
        assert_memory_equal(text.p + at, piece.p, piece.n);
        at += piece.n;
    }
    assert_int_equal(at, text.n);
}

/* Lines of script/make_token_fixtures.py. original: what an id is called there, or NULL. */
static inline u32 check_reference(const struct vocab *v, const char *path,
                                  const struct gguf_kv *original) {
    FILE *f = fopen(path, "r");
    if (!f) fail_test("%s is missing", path);
    char *line = NULL;
    size_t room = 0;
    u32 cases = 0;
    while (getline(&line, &room, f) > 0) {
        if (line[0] == '#') continue;
        char *mode = strtok(line, " \n"), *hex = strtok(NULL, " \n");
        u32 flags = VOCAB_BEGIN | VOCAB_END | (strcmp(mode, "special") ? 0 : VOCAB_SPECIAL);
        struct str text = {hex, hex[0] == '-' ? 0 : strlen(hex) / 2};
        for (size_t i = 0; i < text.n; i++) {
            u32 byte;
            assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
            hex[i] = (char)byte;
        }
        i64 n, i = 0;
        i32 *ids = encode_text(v, text, flags, &n);
        for (char *want; (want = strtok(NULL, " \n")); i++) {
            i64 id = i < n ? ids[i] : -1;
            if (original && id >= 0) id = gguf_item_int(original, (u64)id);
            if (id == strtol(want, NULL, 10)) continue;
            fail_test("'%.*s' (%s): id %u is %d, expected %s", STR(text), mode, (u32)i, (i32)id,
                      want);
        }
        if (i != n) fail_test("'%.*s' (%s): %u ids too many", STR(text), mode, (u32)(n - i));
        free(ids);
        cases++;
    }
    free(line);
    fclose(f);
    return cases;
}

/* One call of vocab_encode, in a thread of its own: see check_long. */
struct long_call {
    const struct vocab *v;
    struct str text;
    i32 *ids;
    const glim_alloc *alloc;
    i64 n;
    f64 took;
};

static inline void *run_long_call(void *ud) {
    struct long_call *c = ud;
    glim_err e = {0};
    f64 start = seconds();
    c->n = vocab_encode(c->v, c->text, VOCAB_SPECIAL, c->ids, c->text.n, c->alloc, &e);
    c->took = seconds() - start;
    return NULL;
}

/* A text of n bytes that repeats unit must come back, in time and in memory linear in it, on a
 * stack of 256 KiB (sanitizers need most of that). */
static inline void check_long(const char *path, const char *unit, size_t n, f64 limit) {
    struct load l;
    struct count_alloc count;
    count_alloc_init(&count);
    char *text = malloc(n);
    struct long_call call = {.v = open_vocab(&l, path),
                             .text = {text, n},
                             .ids = malloc(n * sizeof *call.ids),
                             .alloc = &count.alloc};
    assert_true(text && call.ids);
    for (size_t i = 0, k = strlen(unit); i < n; i++)
        text[i] = unit[i % k];
    pthread_attr_t attr;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, 256 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attr, run_long_call, &call), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
    assert_true(call.n > 0);
    if (call.took > limit) fail_test("%zu bytes of '%s' took %.1f s", n, unit, call.took);
    assert_true(count.peak <= 64 * n + 4096);
    assert_int_equal(count.live, 0);
    assert_spells(call.v, call.ids, call.n, call.text);
    free(call.ids);
    free(text);
    load_free(&l);
}

/* Byte-level spelling of the 256 bytes, in order, as UTF-8. */
static inline void byte_name(u32 byte, char *out) {
    u32 code = byte, other = 0;
    bool own = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
    for (u32 b = 0; b < byte; b++)
        other += !((b > 0x20 && b < 0x7f) || (b > 0xa0 && b != 0xad));
    if (!own) code = 0x100 + other;
    if (code < 0x80)
        snprintf(out, 3, "%c", (int)code);
    else
        snprintf(out, 3, "%c%c", (int)(0xc0 | code >> 6), (int)(0x80 | (code & 0x3f)));
}

struct small {
    const char *model, *pre;
    const char *tokens[16]; /* after the 256 bytes, from id 256 */
    u32 kinds[16];          /* 0: normal */
    const char *merges[16];
    const char *key[4]; /* u32 entries */
    u32 value[4];
    int add_bos; /* -1: no such key */
};

static inline void open_small(struct load *l, struct vocab **v, const struct small *s) {
    struct build b = {0};
    u64 n = 0, merges = 0, keys = 0;
    while (n < 16 && s->tokens[n])
        n++;
    while (merges < 16 && s->merges[merges])
        merges++;
    while (keys < 4 && s->key[keys])
        keys++;
    build_head(&b, 3, 0, 4 + keys + (s->model != NULL) + (s->pre != NULL) + (s->add_bos >= 0));
    build_kv_str(&b, "general.architecture", "llama");
    if (s->model) build_kv_str(&b, "tokenizer.ggml.model", s->model);
    if (s->pre) build_kv_str(&b, "tokenizer.ggml.pre", s->pre);
    if (s->add_bos >= 0) {
        build_key(&b, "tokenizer.ggml.add_bos_token", GGUF_BOOL);
        build_u8(&b, (u8)s->add_bos);
    }
    for (u64 i = 0; i < keys; i++)
        build_kv_u32(&b, s->key[i], s->value[i]);
    build_kv_array(&b, "tokenizer.ggml.tokens", GGUF_STR, 256 + n);
    for (u32 i = 0; i < 256; i++) {
        char name[4];
        byte_name(i, name);
        build_str(&b, name);
    }
    for (u64 i = 0; i < n; i++)
        build_str(&b, s->tokens[i]);
    build_kv_array(&b, "tokenizer.ggml.token_type", GGUF_I32, 256 + n);
    for (u32 i = 0; i < 256; i++)
        build_u32(&b, VOCAB_NORMAL);
    for (u64 i = 0; i < n; i++)
        build_u32(&b, s->kinds[i]);
    build_kv_array(&b, "tokenizer.ggml.merges", GGUF_STR, merges);
    for (u64 i = 0; i < merges; i++)
        build_str(&b, s->merges[i]);
    build_pad(&b, 32);
    assert_loads(l, &b);
    l->rc = vocab_open(v, &l->g, &l->arena, &l->e);
    assert_int_equal(l->rc != 0, *v == NULL);
}

static inline struct vocab *must_open(struct load *l, const struct small *s) {
    struct vocab *v = NULL;
    open_small(l, &v, s);
    if (l->rc) fail_test("%s", l->e.msg);
    return v;
}

#endif
