/* Fuzz target: any bytes as a GGUF file. What loads must be readable throughout, must load the same
 * from a source that is not mapped, and must survive being written and read again. */
#include "file/gguf.h"
#include "file/gguf_write.h"
#include "kern/quant.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert: the check stays in every build. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) __builtin_trap();                                                        \
    } while (0)

/* A source that hands out ranges and says that it is not mapped. */
struct ranges {
    struct source source;
    const u8 *bytes;
};

static int ranges_view(struct source *s, u64 off, u64 n, const u8 **p, glim_err *e) {
    (void)e;
    MUST(off <= s->size && n <= s->size - off);
    *p = ((struct ranges *)s)->bytes + off;
    return 0;
}

static void ranges_close(struct source *s) {
    s->size = 0; /* it lies on the caller's stack */
}

/* Reads the ends of everything that g points to. */
static u64 touch(const struct gguf *g) {
    u64 sum = 0;
    for (u64 i = 0; i < g->n_kv; i++) {
        const struct gguf_kv *kv = &g->kv[i];
        MUST(kv->key.n > 0);
        sum += (u8)kv->key.p[0] + (u8)kv->key.p[kv->key.n - 1];
        for (u64 j = 0; j < kv->n; j++) {
            if (kv->type == GGUF_STR) {
                struct str s = kv->is_array ? kv->strings[j] : kv->s;
                if (s.n) sum += (u8)s.p[0] + (u8)s.p[s.n - 1];
            } else if (kv->is_array) {
                sum += gguf_item_real(kv, j) > 0;
                sum += (u64)gguf_item_int(kv, j);
            }
        }
    }
    for (u64 i = 0; i < g->n_tensors; i++) {
        const struct gguf_tensor *t = &g->tensors[i];
        MUST(t->offset <= g->parts[0]->size && t->bytes <= g->parts[0]->size - t->offset);
        MUST(t->n_dims >= 1 && t->n_dims <= 4);
        if (t->data && t->bytes) sum += t->data[0] + t->data[t->bytes - 1];
    }
    return sum;
}

/* Typed access by keys that the corpus has. */
static void ask(const struct gguf *g) {
    static const char *const keys[] = {"general.architecture", "general.alignment", "a",
                                       "split.no"};
    for (u32 i = 0; i < COUNT(keys); i++) {
        glim_err e = {0};
        u32 u[4];
        f32 f;
        bool yes;
        struct str s;
        (void)gguf_u32(g, keys[i], u, &e);
        (void)gguf_f32(g, keys[i], &f, &e);
        (void)gguf_bool(g, keys[i], &yes, &e);
        (void)gguf_str(g, keys[i], &s, &e);
        (void)gguf_u32s(g, keys[i], u, COUNT(u), &e);
    }
}

static void rewrite(const struct gguf *g) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    struct gguf_writer *w;
    glim_err e = {0};
    MUST(f && gguf_write_open(&w, f, &mem_libc, &e) == 0);
    for (u64 i = 0; i < g->n_kv; i++)
        gguf_write_kv(w, &g->kv[i]);
    for (u64 i = 0; i < g->n_tensors; i++) {
        const struct gguf_tensor *t = &g->tensors[i];
        char name[256] = "";
        memcpy(name, t->name.p, t->name.n);
        gguf_write_tensor(w, name, t->type, t->n_dims, t->dims, t->bytes);
    }
    for (u64 i = 0; i < g->n_tensors; i++)
        gguf_write_data(w, g->tensors[i].data, g->tensors[i].bytes);
    MUST(gguf_write_close(w, &e) == 0);
    fclose(f);

    struct arena arena;
    struct gguf again = {0};
    struct source *s;
    arena_init(&arena, &mem_libc);
    MUST(source_bytes(&s, text, size, "rewritten", &mem_libc, &e) == 0);
    MUST(gguf_open_source(&again, s, &arena, quant_size, &e) == 0);
    MUST(again.n_kv == g->n_kv && again.n_tensors == g->n_tensors);
    MUST(again.alignment == g->alignment);
    for (u64 i = 0; i < g->n_tensors; i++) {
        const struct gguf_tensor *a = &again.tensors[i], *b = &g->tensors[i];
        MUST(a->bytes == b->bytes && memcmp(a->dims, b->dims, sizeof a->dims) == 0);
        MUST(a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
    }
    gguf_close(&again);
    arena_free(&arena);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena arena;
    struct gguf g = {0}, h = {0};
    struct source *s;
    glim_err e = {0}, e2 = {0};
    arena_init(&arena, &mem_libc);
    MUST(source_bytes(&s, data, size, "fuzz", &mem_libc, &e) == 0);
    int rc = gguf_open_source(&g, s, &arena, quant_size, &e);
    MUST(rc <= 0 && e.code == rc && (rc == 0) == (e.msg[0] == 0));
    /* Strings cost 8 bytes in the file and 16 here; an arena wastes at most a block at each end. */
    MUST(arena.total <= 16 * size + (256u << 10));

    struct ranges r = {{.size = size, .name = "fuzz", .view = ranges_view, .close = ranges_close},
                       data};
    int rc2 = gguf_open_source(&h, &r.source, &arena, quant_size, &e2);
    /* Only what lies behind the tensors is not looked at through ranges. */
    MUST(rc2 == rc || strstr(e.msg, "another GGUF file"));
    if (rc2 == 0) touch(&h);
    gguf_close(&h);

    if (rc == 0) {
        touch(&g);
        ask(&g);
        if (size <= 8192) rewrite(&g);
    }
    gguf_close(&g);
    arena_free(&arena);
    return 0;
}
