/* Samplers against a plain reference (sort, cut, sum, draw), the distribution of draws, and the
 * values that must be refused. */
#include "unit.h"

#include "isa_util.h"
#include "run/sample.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_V = 700, MAX_CTX = 64 };

static struct sampler sampler;
static struct arena memory;

static int set_up(void **state) {
    (void)state;
    arena_init(&memory, &mem_libc);
    return sampler_open(&sampler, MAX_V, MAX_CTX, &memory, NULL);
}
static int tear_down(void **state) {
    (void)state;
    sampler_close(&sampler);
    arena_free(&memory);
    return 0;
}

/* Everything off. */
static glim_generation plain(f32 temp) {
    glim_generation p = glim_generation_default();
    p.temp = temp;
    p.top_k = 0;
    p.top_p = 1;
    p.min_p = 0;
    return p;
}

/* Behind n tokens ids. */
static int try(const glim_generation *p, const f32 *logits, u32 v, const i32 *ids, u32 n, u64 pos,
               i32 *id, glim_err *e) {
    struct sample_setup setup;
    sampler.vocab = v;
    int rc = sampler_prepare(&sampler, p, &setup, e);
    if (rc < 0) return rc;
    sampler_adopt(&sampler, p, &setup);
    rc = sample(&sampler, logits, ids, n, pos, id, e);
    for (u32 i = 0; i < MAX_V; i++)
        assert_int_equal(sampler.counts[i], 0);
    return rc;
}

static i32 draw(const glim_generation *p, const f32 *logits, u32 v, u64 pos) {
    glim_err e = {0};
    i32 id = -1;
    if (try(p, logits, v, NULL, 0, pos, &id, &e)) fail_test("%s", e.msg);
    assert_in_range(id, 0, v - 1);
    return id;
}

/* ---- Reference ------------------------------------------------------------------------------- */

static int by_logit(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

struct kept {
    struct candidate c[MAX_V]; /* likeliest first */
    u32 n;
};

static void reference_kept(const glim_generation *p, const f32 *logits, u32 v, struct kept *k) {
    f64 total = 0, sum = 0;
    for (u32 i = 0; i < v; i++)
        k->c[i] = (struct candidate){logits[i], (i32)i};
    qsort(k->c, v, sizeof k->c[0], by_logit);
    u32 n = p->top_k > 0 ? MIN((u32)p->top_k, v) : v;
    for (u32 i = 0; i < n; i++)
        total += exp((f64)k->c[i].logit - (f64)k->c[0].logit);
    k->n = 0;
    for (u32 i = 0; i < n; i++) {
        f64 w = exp((f64)k->c[i].logit - (f64)k->c[0].logit);
        if (i > 0 && (w < (f64)p->min_p || w == 0)) break;
        if (i > 0 && p->top_p < 1 && sum >= (f64)p->top_p * total) break;
        sum += w;
        k->n++;
    }
}

static i32 reference_draw(const glim_generation *p, const struct kept *k, u64 pos) {
    f64 total = 0, below = 0, at = sample_draw(p->seed, pos);
    for (u32 i = 0; i < k->n; i++)
        total += exp(((f64)k->c[i].logit - (f64)k->c[0].logit) / (f64)p->temp);
    for (u32 i = 0; i < k->n; i++) {
        below += exp(((f64)k->c[i].logit - (f64)k->c[0].logit) / (f64)p->temp);
        if (at * total < below) return k->c[i].id;
    }
    return k->c[k->n - 1].id;
}

/* Random logits and settings; coarse logits make many ties. */
static void test_against_reference(void **state) {
    (void)state;
    static f32 logits[MAX_V];
    static struct kept k;
    u32 several = 0;
    for (u32 round = 0; round < 3000; round++) {
        u32 v = 1 + rng() % (round % 10 ? 60 : MAX_V);
        f32 spread = (f32)(rng() % 200) / 10, step = round % 3 ? 0 : 0.5f;
        for (u32 i = 0; i < v; i++) {
            logits[i] = rng_f32() * spread;
            if (step > 0) logits[i] = floorf(logits[i] / step) * step;
            if (rng() % 50 == 0) logits[i] = -INFINITY;
        }
        logits[rng() % v] = spread; /* one at least is possible */
        glim_generation p = plain((f32)(1 + rng() % 40) / 20);
        p.seed = rng();
        if (rng() % 2) p.top_k = (i32)(rng() % (v + 20));
        if (rng() % 2) p.top_p = (f32)(rng() % 101) / 100;
        if (rng() % 3 == 0) p.min_p = (f32)(rng() % 101) / 100;
        reference_kept(&p, logits, v, &k);
        several += k.n > 1;
        for (u64 pos = 0; pos < 4; pos++)
            assert_int_equal(draw(&p, logits, v, pos), reference_draw(&p, &k, pos));
    }
    assert_true(several > 1000);
}

/* Exactly the kept tokens come up, given enough draws. */
static void test_kept_sets(void **state) {
    (void)state;
    static const f32 logits[6] = {1, 3, 2, 3, 0, -INFINITY};
    /* relative to the likeliest: 0.135, 1, 0.368, 1, 0.0498, 0; sum 2.553 */
    static const struct {
        i32 top_k;
        f32 top_p, min_p;
        u32 set; /* bit per token */
    } cases[] = {{0, 1, 0, 0x1f},     {1, 1, 0, 0x02},      {2, 1, 0, 0x0a},
                 {3, 1, 0, 0x0e},     {100, 1, 0, 0x1f},    {0, 0, 0, 0x02},
                 {0, 0.39f, 0, 0x02}, {0, 0.4f, 0, 0x0a},   {0, 0.78f, 0, 0x0a},
                 {0, 0.79f, 0, 0x0e}, {0, 1, 1, 0x0a},      {0, 1, 0.3f, 0x0e},
                 {0, 1, 0.13f, 0x0f}, {3, 0.999f, 0, 0x0e}, {2, 0.49f, 0, 0x02},
                 {2, 0.51f, 0, 0x0a}, {0, 1, 0.04f, 0x1f},  {0, 0.95f, 0.2f, 0x0e}};
    for (u32 i = 0; i < COUNT(cases); i++) {
        glim_generation p = plain(2);
        p.top_k = cases[i].top_k;
        p.top_p = cases[i].top_p;
        p.min_p = cases[i].min_p;
        u32 seen = 0;
        for (u64 pos = 0; pos < 2000; pos++)
            seen |= 1u << draw(&p, logits, 6, pos);
        if (seen != cases[i].set) fail_test("case %u: %#x, expected %#x", i, seen, cases[i].set);
    }
}

/* ---- Draws ----------------------------------------------------------------------------------- */

/* Chi-square of counts against probabilities. */
static f64 chi_square(const u32 *counts, const f64 *p, u32 n, u32 draws) {
    f64 sum = 0;
    for (u32 i = 0; i < n; i++) {
        f64 want = p[i] * draws, d = counts[i] - want;
        sum += d * d / want;
    }
    return sum;
}

/* Over positions with one seed, over seeds at one position, and over both along a diagonal: the
 * counts of 8 tokens fit their probabilities (chi-square with 7 degrees of freedom passes 29.9 once
 * in 10,000). */
static void test_distribution(void **state) {
    (void)state;
    static const f32 logits[8] = {0, 1, 2, -1, 0.5f, 2.5f, 1.5f, -2};
    f64 probability[8], sum = 0;
    f32 temp = 1.3f;
    for (u32 i = 0; i < 8; i++)
        sum += probability[i] = exp((f64)logits[i] / (f64)temp);
    for (u32 i = 0; i < 8; i++)
        probability[i] /= sum;
    for (u32 way = 0; way < 3; way++) {
        u32 counts[8] = {0};
        for (u32 i = 0; i < 20000; i++) {
            glim_generation p = plain(temp);
            p.seed = way == 0 ? 42 : i;
            counts[draw(&p, logits, 8, way == 1 ? 9 : i)]++;
        }
        f64 x = chi_square(counts, probability, 8, 20000);
        if (!(x < 29.9)) fail_test("way %u: chi-square %g", way, x);
    }
}

/* The draws themselves are uniform, and neighbours know nothing of each other: 16 x 16 cells of
 * pairs (255 degrees of freedom: 345 is passed once in 10,000). */
static void test_draws_are_uniform(void **state) {
    (void)state;
    f64 p[256];
    for (u32 i = 0; i < 256; i++)
        p[i] = 1.0 / 256;
    for (u32 way = 0; way < 4; way++) {
        u32 counts[256] = {0};
        for (u64 i = 0; i < 50000; i++) {
            u64 seed = way == 0 ? 0 : way == 1 ? i : way == 2 ? i << 32 : ~i;
            u64 pos = way == 0 ? i : 3, next_seed = way == 0 ? seed : seed + 1;
            f64 a = sample_draw(seed, pos), b = sample_draw(next_seed, pos + (way == 0));
            assert_true(a >= 0 && a < 1 && b >= 0 && b < 1);
            counts[(u32)(a * 16) * 16 + (u32)(b * 16)]++;
        }
        f64 x = chi_square(counts, p, 256, 50000);
        if (!(x < 345)) fail_test("way %u: chi-square %g", way, x);
    }
}

static void test_draws_repeat(void **state) {
    (void)state;
    f32 logits[64];
    u32 same_pos = 0, same_seed = 0;
    for (u32 i = 0; i < 64; i++)
        logits[i] = rng_f32();
    for (u64 i = 0; i < 500; i++) {
        glim_generation p = plain(1), other = plain(1);
        p.seed = i;
        other.seed = i + 1;
        i32 id = draw(&p, logits, 64, 1000 + i);
        assert_int_equal(draw(&p, logits, 64, 1000 + i), id);
        same_seed += draw(&p, logits, 64, 1001 + i) == id;
        same_pos += draw(&other, logits, 64, 1000 + i) == id;
    }
    assert_true(same_seed < 50); /* chance gives about 9 */
    assert_true(same_pos < 50);
}

/* ---- Greedy, ties, odd logits ---------------------------------------------------------------- */

static void test_greedy(void **state) {
    (void)state;
    static const f32 ties[7] = {-5, 2, 7, 1, 7, 7, -INFINITY};
    static const f32 temps[] = {0, 1e-30f, 1e-7f, 1e-4f, FLT_MIN};
    for (u32 i = 0; i < COUNT(temps); i++) {
        glim_generation p = plain(temps[i]);
        u32 n = temps[i] < 1e-6f ? 7 : 4; /* with ties a small temperature may draw any of them */
        for (u64 pos = 0; pos < 50; pos++)
            assert_int_equal(draw(&p, ties, n, pos), 2);
        p.top_k = 1;
        assert_int_equal(draw(&p, ties, 7, 1), 2);
    }
    for (u32 round = 0; round < 300; round++) {
        f32 logits[90];
        i32 best = 0;
        for (u32 i = 0; i < 90; i++) {
            logits[i] = rng_f32() * 10;
            if (logits[i] > logits[best]) best = (i32)i;
        }
        for (u32 i = 0; i < COUNT(temps); i++) {
            glim_generation p = plain(temps[i]);
            if (temps[i] > 1e-5f) continue; /* the second may be very near */
            assert_int_equal(draw(&p, logits, 90, round), best);
        }
    }
}

static void test_extreme_logits(void **state) {
    (void)state;
    static const f32 huge[4] = {FLT_MAX, -FLT_MAX, FLT_MAX, 0};
    static const f32 low[4] = {-FLT_MAX, -FLT_MAX, -INFINITY, -FLT_MAX};
    static const f32 one[4] = {-INFINITY, -INFINITY, -3e30f, -INFINITY};
    for (u64 pos = 0; pos < 200; pos++) {
        glim_generation p = plain(1000);
        assert_int_equal(draw(&p, huge, 4, pos) & 1, 0);
        assert_int_not_equal(draw(&p, low, 4, pos), 2);
        assert_int_equal(draw(&p, one, 4, pos), 2);
    }
}

static void test_not_finite(void **state) {
    (void)state;
    static const struct {
        f32 bad;
        const char *word;
    } cases[] = {{NAN, "NaN"}, {-NAN, "NaN"}, {INFINITY, "infinite"}};
    for (u32 i = 0; i < COUNT(cases); i++) {
        for (u32 at = 0; at < 5; at++) {
            for (u32 greedy = 0; greedy < 2; greedy++) {
                f32 logits[5] = {0, 1, 2, 3, 4};
                glim_generation p = plain(greedy ? 0 : 1);
                glim_err e = {0};
                i32 id = 77;
                char want[80];
                logits[at] = cases[i].bad;
                assert_int_equal(try(&p, logits, 5, NULL, 0, 123, &id, &e), GLIM_NUMERIC);
                snprintf(want, sizeof want, "token %u at position 123 is %s", at, cases[i].word);
                assert_non_null(strstr(e.msg, want));
                assert_int_equal(id, 77);
            }
        }
    }
    const f32 none[3] = {-INFINITY, -INFINITY, -INFINITY};
    glim_generation p = plain(1);
    glim_err e = {0};
    i32 id = 77;
    assert_int_equal(try(&p, none, 3, NULL, 0, 9, &id, &e), GLIM_NUMERIC);
    assert_non_null(strstr(e.msg, "position 9"));
    assert_int_equal(id, 77);
}

/* ---- Repetition penalty ---------------------------------------------------------------------- */

static void test_penalty(void **state) {
    (void)state;
    static struct kept k;
    for (u32 round = 0; round < 1000; round++) {
        f32 logits[40], changed[40];
        i32 recent[30];
        u32 n = rng() % 31;
        glim_generation p = plain(round % 4 ? 0.8f : 0);
        p.repeat_penalty = (f32)(1 + rng() % 300) / 100;
        p.seed = round;
        for (u32 i = 0; i < 40; i++)
            changed[i] = logits[i] = rng_f32() * 5;
        for (u32 i = 0; i < n; i++)
            recent[i] = (i32)(rng() % 12); /* often the same */
        for (u32 id = 0; id < 40; id++) {
            bool found = false;
            for (u32 i = 0; i < n; i++)
                found |= recent[i] == (i32)id;
            if (!found) continue;
            changed[id] =
                logits[id] > 0 ? logits[id] / p.repeat_penalty : logits[id] * p.repeat_penalty;
        }
        glim_err e = {0};
        i32 id;
        assert_int_equal(try(&p, logits, 40, recent, n, round, &id, &e), 0);
        reference_kept(&p, changed, 40, &k);
        assert_int_equal(id, p.temp == 0 ? k.c[0].id : reference_draw(&p, &k, round));
    }
}

/* The penalty may not turn a large logit into an infinite one, nor an impossible token possible. */
static void test_penalty_of_extremes(void **state) {
    (void)state;
    static const f32 logits[4] = {FLT_MAX, -FLT_MAX, FLT_MAX / 2, -INFINITY};
    static const i32 recent[] = {0, 1, 3};
    static const f32 penalties[] = {0.01f, 100};
    for (u32 i = 0; i < COUNT(penalties); i++) {
        for (u64 pos = 0; pos < 50; pos++) {
            glim_generation p = plain(1);
            glim_err e = {0};
            i32 id;
            p.repeat_penalty = penalties[i];
            assert_int_equal(try(&p, logits, 4, recent, 3, pos, &id, &e), 0);
            assert_int_equal(id, i == 0 ? 0 : 2);
        }
    }
    static const f32 all_low[2] = {-FLT_MAX, -FLT_MAX};
    u32 seen = 0;
    for (u64 pos = 0; pos < 50; pos++) {
        glim_generation p = plain(1);
        glim_err e = {0};
        i32 id;
        p.repeat_penalty = 100;
        assert_int_equal(try(&p, all_low, 2, recent, 2, pos, &id, &e), 0);
        seen |= 1u << id;
    }
    assert_int_equal(seen, 3);
}

/* ---- Parameters ------------------------------------------------------------------------------ */

static void test_parameters(void **state) {
    (void)state;
    static const f32 never[] = {NAN, INFINITY, -INFINITY, -1, -1e-30f, 1e30f};
    static const struct {
        const char *name;
        size_t at;
        f32 wrong, lo, hi;
    } reals[] = {
        {"temp", offsetof(glim_generation, temp), 1001, 0, 1000},
        {"top_p", offsetof(glim_generation, top_p), 1.01f, 0, 1},
        {"min_p", offsetof(glim_generation, min_p), 1.01f, 0, 1},
        {"repeat_penalty", offsetof(glim_generation, repeat_penalty), 0, 0.01f, 100},
    };
    for (u32 i = 0; i < COUNT(reals); i++) {
        for (u32 j = 0; j <= COUNT(never); j++) {
            glim_generation p = plain(1);
            glim_err e = {0};
            f32 v = j < COUNT(never) ? never[j] : reals[i].wrong;
            memcpy((char *)&p + reals[i].at, &v, sizeof v);
            assert_int_equal(sample_check(&p, &e), GLIM_ARG);
            assert_int_equal(strncmp(e.msg, reals[i].name, strlen(reals[i].name)), 0);
        }
        for (u32 j = 0; j < 2; j++) {
            glim_generation p = plain(1);
            glim_err e = {0};
            f32 v = j ? reals[i].hi : reals[i].lo;
            memcpy((char *)&p + reals[i].at, &v, sizeof v);
            assert_int_equal(sample_check(&p, &e), 0);
        }
    }
    static const i32 ks[] = {-1, INT32_MIN};
    for (u32 i = 0; i < COUNT(ks); i++) {
        glim_generation p = plain(1);
        glim_err e = {0};
        p.top_k = ks[i];
        assert_int_equal(sample_check(&p, &e), GLIM_ARG);
        assert_non_null(strstr(e.msg, "top_k"));
    }
    glim_generation p = glim_generation_default();
    glim_err e = {0};
    assert_int_equal(sample_check(&p, &e), 0);
    p.top_k = INT32_MAX; /* more than there are: all */
    assert_int_equal(sample_check(&p, &e), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_reference), cmocka_unit_test(test_kept_sets),
        cmocka_unit_test(test_distribution),      cmocka_unit_test(test_draws_are_uniform),
        cmocka_unit_test(test_draws_repeat),      cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_extreme_logits),    cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_penalty),           cmocka_unit_test(test_penalty_of_extremes),
        cmocka_unit_test(test_parameters),
    };
    return cmocka_run_group_tests_name("sample", tests, set_up, tear_down);
}
