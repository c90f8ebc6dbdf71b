/* The memory roof: a read sweep over the weights. */
#include "tool/bench_roof.h"

#include "base/plat_cpu.h"
#include "base/pool.h"
#include "file/gguf.h"
#include "kern/quant.h"

#include <string.h>

enum { MOST_SWEEPS = 20, SWEEP_BYTES = 2000 * 1000 * 1000 };
#define BUDGET_NS 1000000000u

struct sweep {
    const struct gguf *g;
    u64 n_tensors;     /* the first ones are read */
    u64 sum[POOL_MAX]; /* so that reading has a purpose */
};

/* Words of p[0..n) added up; compilers make this as wide as the machine's loads are. */
static u64 sum_words(const u8 *p, u64 n) {
    enum { LINE = 64, AHEAD = 2048 };
    u64 sum = 0;
    for (u64 i = 0; i + LINE <= n; i += LINE) {
        u64 words[LINE / 8];
        __builtin_prefetch(p + i + AHEAD); /* as the products do; beyond the end it does nothing */
        memcpy(words, p + i, LINE);
        for (u32 j = 0; j < LINE / 8; j++)
            sum += words[j];
    }
    return sum;
}

/* Whether a run reads all of a tensor, not only the rows of tokens. The others must not be brought
 * into memory here, where bench reports how much of it a run takes. */
static bool is_read(const struct gguf *g, const struct gguf_tensor *t) {
    bool tied = !gguf_tensor(g, "output.weight");
    return t->data && !str_is(t->name, "per_layer_token_embd.weight") &&
           (tied || !str_is(t->name, "token_embd.weight"));
}

/* Each thread reads its share of every tensor, as in a product with it. */
static void read_share(void *arg, u32 ith, u32 nth) {
    struct sweep *s = arg;
    u64 sum = 0;
    for (u64 i = 0; i < s->n_tensors; i++) {
        const struct gguf_tensor *t = &s->g->tensors[i];
        u64 each = t->bytes / nth;
        if (is_read(s->g, t)) sum += sum_words(t->data + ith * each, each);
    }
    s->sum[ith] = sum;
}

static f64 fastest(struct sweep *s, struct pool *pool, u64 bytes) {
    f64 best = 0;
    u64 start = plat_now_ns();
    /* The first sweep also sets up the mapping, and is slow; more than one is always made. */
    for (u32 i = 0; i < MOST_SWEEPS && (i < 3 || plat_now_ns() - start < BUDGET_NS); i++) {
        u64 t0 = plat_now_ns();
        pool_run(pool, read_share, s);
        u64 ns = plat_now_ns() - t0;
        best = MAX(best, (f64)bytes * 1e9 / (f64)MAX(ns, 1u));
    }
    return best;
}

int bench_roof(const char *path, u32 n, f64 *rate, glim_err *e) {
    struct arena arena;
    struct gguf g = {0};
    struct pool *pool = NULL;
    arena_init(&arena, &mem_libc);
    struct sweep *s = arena_get(&arena, sizeof *s);
    int rc = s ? gguf_open(&g, path, &arena, quant_size, e) : fail(e, GLIM_NOMEM, "out of memory");
    bool enough = n <= plat_cpu_count();
    if (rc == GLIM_OK) rc = pool_open(&pool, n, &mem_libc, e);
    if (rc == GLIM_OK) {
        if (n > 1 && enough) plat_pin(0); /* like the others, each on a processor of its own */
        u64 bytes = 0;
        s->g = &g;
        for (; s->n_tensors < g.n_tensors && bytes < SWEEP_BYTES; s->n_tensors++) {
            const struct gguf_tensor *t = &g.tensors[s->n_tensors];
            if (is_read(&g, t)) bytes += t->bytes;
        }
        *rate = fastest(s, pool, bytes);
    }
    pool_close(pool);
    gguf_close(&g);
    arena_free(&arena);
    return rc;
}
