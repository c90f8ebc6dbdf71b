/* The ops that draw a token, on the CPU and on the GPU, against the sampler that has all logits,
 * whose own tests compare it with NumPy. */
#include "gpu_ops_rig.h"

#include "draw_rig.h"
#include "kern/cpu.h"
#include "run/sample.h"

enum { OP_VOCAB = 600, OP_DRAWS = 60 };

/* How near u is to where the choice changes: there f32 and f64 may differ. */
static f64 margin(const struct candidates *c, f64 u) {
    struct candidates all = *c;
    f64 total = candidates_total(&all), sum = 0, nearest = 1;
    struct candidate top = candidates_best(&all, 0);
    for (u32 i = 0; i + 1 < all.n; i++) {
        sum += candidates_weight(&all, candidates_best(&all, i), top) / total;
        nearest = MIN(nearest, fabs(sum - u));
    }
    return nearest;
}

static void draws(void **state) {
    (void)state;
    static f32 logits[OP_VOCAB], best[2 * TOP_MOST + 1], drawn;
    u32 n_variants, n_compared = 0;
    const glim_generation *g = draw_variants(&n_variants);
    struct op_run o;
    run_begin(&o, ON_FLOOR, 1, 1);
    struct top_params p = {TOP_MOST};
    struct ref in = run_in(&o, logits, ROWS_R, 1, OP_VOCAB, DT_F32);
    struct ref top = prog_op(&o.prog, OP_TOP, &in, 2 * p.n + 1, &p);
    struct ref y = prog_op(&o.prog, OP_DRAW, &top, 1, NULL);
    o.prog.best = top;
    o.prog.drawn = y;
    run_ready(&o);
    for (u32 i = 0; i < n_variants * OP_DRAWS; i++) {
        struct arena arena;
        struct sampler s;
        struct sample_setup setup;
        struct draw d;
        struct candidates c;
        glim_generation gen = g[i % n_variants];
        glim_err e = {0};
        i32 id, again;
        u64 pos = i;
        gen.seed = i;
        arena_init(&arena, &mem_libc);
        for (u32 j = 0; j < OP_VOCAB; j++)
            logits[j] = 6 * rng_f32() + (f32)(rng() % 3);
        if (sampler_open(&s, OP_VOCAB, 1000, &arena, &e) || sampler_prepare(&s, &gen, &setup, &e)) {
            fail_test("%s", e.msg);
        }
        sampler_adopt(&s, &gen, &setup);
        assert_true(sample_plan(&s, pos, &d));
        o.draw = &d;
        run_pass(&o, 1, 1);
        const f32 *row = run_row(&o, top, 0);
        assert_int_equal(sample(&s, logits, NULL, 0, pos, &id, &e), GLIM_OK);
        assert_int_equal(sample_best(&s, &d, row, row + p.n, pos, &again, &e), GLIM_OK);
        assert_int_equal(again, id);
        /* The ops themselves, where rounding cannot matter. */
        assert_int_equal(sample_candidates(&s, logits, NULL, 0, pos, &c, &e), GLIM_OK);
        if (gen.temp == 0 || margin(&c, sample_draw(gen.seed, pos)) > 1e-4) {
            struct op op = {.code = OP_DRAW};
            struct step step = {.draw = &d, .t = 1, .r = 1};
            struct cpu_call call = {.op = &op, .step = &step, .nth = 1};
            memcpy(best, row, sizeof best);
            call.a[0] = (struct mat){.p = (u8 *)&drawn, .rows = 1, .cols = 1, .pitch = 4};
            call.a[1] =
                (struct mat){.p = (u8 *)best, .rows = 1, .cols = COUNT(best), .pitch = sizeof best};
            cpu_draw(&call);
            assert_int_equal((i32)drawn, id);
            assert_int_equal((i32)run_at(&o, y, 0, 0), id);
            n_compared++;
        }
        sampler_close(&s);
        arena_free(&arena);
    }
    print_message("%u of %u draws were far enough from an edge to compare\n", n_compared,
                  n_variants * OP_DRAWS);
    assert_true(n_compared > n_variants * OP_DRAWS * 3 / 4);
    run_end(&o);
}

static int close_devices(void **state) {
    (void)state;
    rig_close_devices();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(draws)};
    if (!rig_has_gpu()) return 0;
    return cmocka_run_group_tests_name("gpu draw", tests, NULL, close_devices);
}
