/* Damaged model files: every prefix and every changed byte of the header gives an error in words or
 * a model that works, in little memory and time. What is opened is the whole: weights, vocabulary,
 * a session, a prompt, tokens of an answer. */
#include "edit_gguf.h"

#include "count_alloc.h"

#include <fcntl.h>
#include <time.h>

#define MODEL "test/data/llama.gguf"

/* Tensor data begins in the page after this. */
static u64 header_bytes(void) {
    struct arena arena;
    struct gguf g;
    glim_err e = {0};
    arena_init(&arena, &mem_libc);
    assert_int_equal(gguf_open(&g, MODEL, &arena, quant_size, &e), 0);
    u64 first = UINT64_MAX;
    for (u64 i = 0; i < g.n_tensors; i++)
        first = MIN(first, g.tensors[i].offset);
    gguf_close(&g);
    arena_free(&arena);
    return first;
}

struct victim {
    struct temp temp;
    int fd;
    u8 *bytes; /* the sound file */
    u64 size, header;
    struct count_alloc count;
    glim_engine *engine;
    u64 engine_live; /* bytes that the engine itself holds */
    u32 opened, refused;
};

static void victim_open(struct victim *v) {
    glim_err e = {0};
    *v = (struct victim){.temp = edit_gguf(MODEL, NULL, 0)};
    v->fd = open(v->temp.path, O_RDWR);
    assert_true(v->fd >= 0);
    v->size = (u64)lseek(v->fd, 0, SEEK_END);
    v->header = header_bytes();
    v->bytes = malloc(v->size);
    assert_int_equal(pread(v->fd, v->bytes, v->size, 0), v->size);
    count_alloc_init(&v->count);
    glim_engine_params p = {.n_threads = 1, .alloc = v->count.alloc};
    assert_int_equal(glim_engine_open(&v->engine, &p, &e), 0);
    v->engine_live = v->count.live;
}
static void victim_close(struct victim *v) {
    glim_engine_close(v->engine);
    assert_int_equal(v->count.live, 0);
    close(v->fd);
    temp_remove(&v->temp);
    free(v->bytes);
}

static void status_in_words(int rc, const glim_err *e) {
    if (rc >= 0) return;
    assert_int_equal(e->code, rc);
    assert_true(e->msg[0] != 0);
}

/* Every call that a chat makes, as far as they succeed. */
static void work(glim_session *s) {
    static const i32 ids[] = {3, 200, 17};
    const char *text;
    size_t len;
    int rc = glim_feed(s, ids, 3, GLIM_LOGITS_LAST);
    status_in_words(rc, glim_session_error(s));
    if (rc == 0) {
        i32 id;
        assert_int_equal(glim_wait(s), 0);
        rc = glim_sample(s, &id);
        status_in_words(rc, glim_session_error(s));
        assert_true(rc == 0 || rc == GLIM_NUMERIC);
    }
    rc = glim_prompt(s, "the End", 7, GLIM_TOKENIZE_SPECIAL);
    status_in_words(rc, glim_session_error(s));
    for (u32 i = 0; rc >= 0 && rc != GLIM_DONE && i < 3; i++) {
        rc = glim_next(s, &text, &len);
        status_in_words(rc, glim_session_error(s));
    }
    const glim_message hello = {"user", "hello"};
    status_in_words(glim_chat(s, &hello, 1), glim_session_error(s));
}

static void attempt(struct victim *v) {
    glim_err e = {0};
    glim_model *m;
    glim_session *s;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    v->count.peak = 0;
    int rc = glim_model_open(&m, v->engine, v->temp.path, &e);
    status_in_words(rc, &e);
    if (rc == 0) {
        static const glim_session_params p = {
            .n_ctx = 16, .n_batch = 4, .exact = true, .kv = GLIM_KV_F16};
        v->opened++;
        rc = glim_session_open(&s, m, &p, &e);
        status_in_words(rc, &e);
        if (rc == 0) {
            work(s);
            glim_session_close(s);
        }
        glim_model_close(m);
    } else {
        v->refused++;
        assert_null(m);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - start.tv_sec < 10);
    assert_int_equal(v->count.live, v->engine_live);
    assert_true(v->count.peak < (32u << 20));
}

/* All lengths up to the first tensor, then steps through the data: all but the whole are refused,
 * since the last tensor's end is missing. */
static void test_prefixes(void **state) {
    (void)state;
    struct victim v;
    victim_open(&v);
    attempt(&v);
    assert_int_equal(v.opened, 1);
    for (u64 n = v.size - 1;; n = n > v.header + 32 ? n - MIN(n - v.header - 32, 1777u) : n - 1) {
        assert_int_equal(ftruncate(v.fd, (off_t)n), 0);
        attempt(&v);
        if (n == 0) break;
    }
    assert_int_equal(v.opened, 1);
    assert_true(v.refused > v.header);
    victim_close(&v);
}

static void change(struct victim *v, u64 at, u8 byte) {
    if (byte == v->bytes[at]) return;
    assert_int_equal(pwrite(v->fd, &byte, 1, (off_t)at), 1);
    attempt(v);
    assert_int_equal(pwrite(v->fd, &v->bytes[at], 1, (off_t)at), 1);
}

/* Every byte of the header: a low and a high bit flipped, and in turn zero and all ones. */
static void test_changed_bytes(void **state) {
    (void)state;
    struct victim v;
    victim_open(&v);
    for (u64 i = 0; i < v.header; i++) {
        change(&v, i, v.bytes[i] ^ 1);
        change(&v, i, v.bytes[i] ^ 0x80);
        change(&v, i, i & 1 ? 0 : 0xff);
    }
    /* Both happen often: names and sizes are refused, texts and ids are other texts and ids. */
    assert_true(v.opened > 1000);
    assert_true(v.refused > 1000);
    attempt(&v); /* nothing is left of the changes */
    victim_close(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_changed_bytes),
    };
    return cmocka_run_group_tests_name("model_bytes", tests, NULL, NULL);
}
