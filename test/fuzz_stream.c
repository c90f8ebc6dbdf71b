/* Any bytes as a model's answer: nothing breaks, arguments are JSON objects, and the pieces that
 * the answer comes in make no difference. First byte: the family; second: flags, 64 for tools
 * of which nothing is known, 128 for marks that count spelled out; \001NAME\002 is a control token.
 */
#include "stream_rig.h"
#include "text/utf8.h"

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What comes out of the detokenizer: whole characters. The caller frees the text. */
static struct str sound(struct str in) {
    struct utf8_stream u = {0};
    char *p = malloc(3 * in.n + 4);
    size_t n = 0;
    if (!p) abort();
    for (struct str c; (c = utf8_next(&u, &in)).n; n += c.n)
        memcpy(p + n, c.p, c.n);
    struct str last = utf8_end(&u);
    memcpy(p + n, last.p, last.n);
    return (struct str){p, n + last.n};
}

static void same(const struct stream_log *a, const struct stream_log *b) {
    if (b->broken || a->rc != b->rc || a->n != b->n || memcmp(a->p, b->p, a->n) != 0) abort();
}

/* Every "args" line whose call ended is an object. */
static void check_args(const struct stream_log *l) {
    for (const char *p = l->p, *end; p && *p; p = end ? end + 1 : NULL) {
        end = strchr(p, '\n');
        if (strncmp(p, "args ", 5) != 0 || !end || strncmp(end, "\nend", 4) != 0) continue;
        json_error_t e;
        size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
        json_t *v = json_loadb(p + 5, (size_t)(end - p - 5), flags, &e);
        if (!v && json_error_code(&e) != json_error_numeric_overflow) abort();
        if (v && !json_is_object(v)) abort();
        json_decref(v);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || memchr(data + 2, 0, size - 2)) return 0; /* the log is made of lines */
    enum stream_family family = (enum stream_family)(data[0] % STREAM_FAMILIES);
    u32 flags = data[1] % 8;
    struct str answer = sound((struct str){(const char *)data + 2, size - 2});
    struct stream s;
    stream_open(&s, family, data[1] & 128 ? ~0u : 0u, &mem_libc);
    s.tools = data[1] & 64 ? NULL : &stream_rig_tools;
    s.limit = 4096;
    struct stream_log one = stream_run(&s, flags, answer, NULL, NULL);
    if (one.broken || one.rc != GLIM_DONE) abort();
    if ((flags & STREAM_WHOLE) && one.drops) abort();
    check_args(&one);
    s.n_calls = 0;
    struct stream_log bytes = stream_run(&s, flags, answer, stream_cut_bytes, NULL);
    same(&one, &bytes);
    u64 state = size;
    s.n_calls = 0;
    struct stream_log random = stream_run(&s, flags, answer, stream_cut_random, &state);
    same(&one, &random);
    /* Where nothing was found the text is all there. */
    if (!one.calls && !one.thoughts && !one.notes && !memchr(answer.p, '\001', answer.n) &&
        !(flags & STREAM_THOUGHT) && family <= STREAM_THINK &&
        !memmem(answer.p, answer.n, "<", 1)) {
        for (size_t i = 0; i < answer.n; i++) {
            if (answer.p[i] == '\n') ((char *)answer.p)[i] = '\v';
        }
        size_t n = one.n - strlen("stop"), head = n ? strlen("text ") : 0;
        if (n - head - (n > 0) != answer.n || memcmp(one.p + head, answer.p, answer.n) != 0)
            abort();
    }
    free(one.p);
    free(bytes.p);
    free(random.p);
    free((void *)answer.p);
    stream_close(&s);
    return 0;
}
