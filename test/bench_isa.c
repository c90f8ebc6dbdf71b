/* Speed of the hot loops on one thread: for each instruction set and weight format, GB/s of weights
 * in a matrix-vector product and G operations/s (2 per multiply-add) of a product with 512 rows.
 * usage: bench_isa [ISA [TYPE]] */
#include "isa_util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *scratch;

static f64 now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* other programs may share the core */
    return (f64)t.tv_sec + 1e-9 * (f64)t.tv_nsec;
}

/* The roof of a product with one row: GB/s of adding up 320 MiB. */
static void bench_read(void) {
    u64 n = 40 << 20, *p = malloc(n * 8), sum[8] = {0};
    memset(p, 1, n * 8);
    f64 start = now();
    for (u64 i = 0; i < n; i += 8) {
        for (u32 j = 0; j < 8; j++) {
            sum[j] += p[i + j];
        }
    }
    f64 s = now() - start;
    printf("read %.2f GB/s (%llu)\n", 8e-9 * (f64)n / s, (unsigned long long)(sum[0] & sum[7]));
    free(p);
}

/* Median seconds of a product; rows of weights are taken from a pool larger than the caches when
 * the product has one row, so that they come from memory. */
static f64 time_matmul(const struct isa *isa, struct matmul m, u32 n, u64 pool_rows) {
    enum { RUNS = 25 };
    f64 seconds[RUNS];
    const u8 *pool = m.w;
    u64 at = 0;
    u32 runs = 0;
    for (f64 end = now() + 0.5; runs < RUNS && (runs < 3 || now() < end); runs++) {
        m.w = pool + at * m.w_pitch;
        f64 start = now();
        isa->matmul(&m, 0, n, scratch);
        seconds[runs] = now() - start;
        at = at + 2 * n <= pool_rows ? at + n : 0;
    }
    for (u32 i = 0; i < runs; i++) {
        for (u32 j = i; j > 0 && seconds[j] < seconds[j - 1]; j--) {
            f64 swap = seconds[j];
            seconds[j] = seconds[j - 1], seconds[j - 1] = swap;
        }
    }
    return seconds[runs / 2];
}

static void bench(const struct isa *isa, const struct isa_type *it, u32 k, u32 n, bool a8) {
    enum { T = 512, POOL = 320 << 20 };
    static const u32 ts[] = {1, 4, 8, 16, T};
    const struct quant *q = quant_find(it->type);
    u64 row = quant_row_bytes(q, k), rows = POOL / row, x_row = a8 ? a8_row_bytes(k) : 4 * (u64)k;
    u8 *w = malloc(rows * row), *x = malloc(x_row * T);
    f32 *y = malloc(4 * (u64)n * T), *in = malloc(4 * (u64)k);
    u64 some = MIN(rows, 64u);
    random_weights(it, w, some * k);
    for (u64 i = some; i < rows; i++) {
        memcpy(w + i * row, w + i % some * row, row);
    }
    for (u32 t = 0; t < T; t++) {
        for (u32 i = 0; i < k; i++) {
            in[i] = rng_f32();
        }
        if (a8) {
            isa->a8_row(in, k, x + t * x_row);
        } else {
            memcpy(x + t * x_row, in, x_row);
        }
    }
    struct matmul m = {.w = w,
                       .w_pitch = row,
                       .type = it->type,
                       .k = k,
                       .x = x,
                       .x_pitch = x_row,
                       .y = y,
                       .y_pitch = n,
                       .a8 = a8};
    printf("%-7s %-6s %-5s K %5u N %5u:", isa->name, q->name, a8 ? "fast" : "exact", k, n);
    for (size_t i = 0; i < COUNT(ts); i++) {
        m.t = ts[i];
        f64 s = time_matmul(isa, m, n, rows);
        if (m.t == 1) printf(" T=1 %5.2f GB/s;", 1e-9 * (f64)(row * n) / s);
        if (m.t > 1) printf(" T=%u %.0f", m.t, 2e-9 * k * n * m.t / s);
    }
    printf(" GOP/s\n");
    free(w), free(x), free(y), free(in);
}

static void bench_attend(const struct isa *isa, u32 e, u32 n_rows, u32 keys, bool f16) {
    u64 n = (u64)keys * e;
    u8 *kv = calloc(n, 4);
    f32 *q = calloc(n_rows * e, 4), *o = calloc(n_rows * e, 4);
    struct attend_row *rows = calloc(n_rows, sizeof *rows);
    for (u32 r = 0; r < n_rows; r++) {
        rows[r] = (struct attend_row){.q = q + r * e, .o = o + r * e, .m = -INFINITY, .hi = 64};
    }
    u32 runs = 0;
    f64 start = now();
    for (; now() < start + 0.3; runs++) {
        for (u32 j = 0; j < keys; j += 64) {
            struct attend_span s = {.k = kv + (u64)j * e * 2,
                                    .v = kv + (u64)j * e * 2,
                                    .pitch = e,
                                    .e = e,
                                    .f16 = f16,
                                    .scale = 1};
            isa->attend(&s, rows, n_rows, scratch);
        }
    }
    f64 s = (now() - start) / runs;
    printf("%-7s attend %s E %3u rows %3u keys %5u: %6.1f G operations/s\n", isa->name,
           f16 ? "f16" : "f32", e, n_rows, keys, 4e-9 * (f64)n * n_rows / s);
    free(kv), free(q), free(o), free(rows);
}

int main(int argc, char **argv) {
    static const char *const names[] = {"scalar", "avx2", "avx512"};
    if (posix_memalign(&scratch, 64, ISA_SCRATCH)) return 1;
    bench_read();
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct isa *isa = isa_pick(names[i]);
        if (!isa || (argc > 1 && strcmp(argv[1], isa->name) != 0)) continue;
        for (size_t j = 0; j < COUNT(isa_types); j++) {
            const struct isa_type *it = &isa_types[j];
            if (argc > 2 && strcmp(argv[2], quant_find(it->type)->name) != 0) continue;
            for (u32 a8 = 0; a8 < 2; a8++) {
                if (a8 && !it->fast) continue;
                if (a8 && quant_find(it->type)->block_len == 32) bench(isa, it, 576, 1536, true);
                if (it->fast || it->type <= QUANT_F16) bench(isa, it, 2048, 2048, a8);
            }
        }
        if (argc > 2 && strcmp(argv[2], "attend") != 0) continue;
        for (u32 f16 = 0; f16 < 2; f16++) {
            bench_attend(isa, 64, 3, 1024, f16);
            bench_attend(isa, 64, 192, 1024, f16);
            bench_attend(isa, 128, 8, 1024, f16);
            bench_attend(isa, 128, 128, 1024, f16);
        }
    }
    return 0;
}
