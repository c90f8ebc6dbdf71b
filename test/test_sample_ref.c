/* Samplers alone and in chains, mirostat's runs and log-probabilities against
 * script/make_sample_fixtures.py (NumPy, double precision); XTC's and mirostat's randomness. */
#include "unit.h"

#include "run/sample.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

enum { MAX_V = 256, MAX_IDS = 64, MAX_BIAS = 4 };

/* Logits are at most 40 here and stay floats: each of a few steps may err by 40 * 2^-24, which a
 * temperature of 0.4 makes 2.5 times as much. */
#define TOLERANCE 3e-5

static json_t *fixture;
static struct sampler sampler;
static struct arena memory;

/* ---- Reading the fixture --------------------------------------------------------------------- */

static f64 number(const json_t *from, const char *key, f64 otherwise) {
    const json_t *j = json_object_get(from, key);
    return j ? json_number_value(j) : otherwise;
}

static u32 read_floats(const json_t *list, f32 *to) {
    size_t n = json_array_size(list);
    assert_in_range(n, 1, MAX_V);
    for (size_t i = 0; i < n; i++)
        to[i] = (f32)json_number_value(json_array_get(list, i));
    return (u32)n;
}

static u32 read_ids(const json_t *list, i32 *to) {
    size_t n = json_array_size(list);
    assert_in_range(n, 0, MAX_IDS);
    for (size_t i = 0; i < n; i++)
        to[i] = (i32)json_integer_value(json_array_get(list, i));
    return (u32)n;
}

static struct str piece(const void *ud, i32 id) {
    const json_t *j = json_array_get(json_object_get(fixture, "pieces"), (size_t)id);
    (void)ud;
    return (struct str){json_string_value(j), json_string_length(j)};
}

/* What the texts and lists of a glim_generation point to. */
struct settings {
    glim_generation gen;
    glim_logit_bias bias[MAX_BIAS];
    const char *breakers[8];
};

static void read_settings(struct settings *s, const json_t *set) {
    static const struct {
        const char *name;
        size_t at;
    } reals[] = {
        {"temp", offsetof(glim_generation, temp)},
        {"top_p", offsetof(glim_generation, top_p)},
        {"min_p", offsetof(glim_generation, min_p)},
        {"typical_p", offsetof(glim_generation, typical_p)},
        {"top_n_sigma", offsetof(glim_generation, top_n_sigma)},
        {"repeat_penalty", offsetof(glim_generation, repeat_penalty)},
        {"presence_penalty", offsetof(glim_generation, presence_penalty)},
        {"frequency_penalty", offsetof(glim_generation, frequency_penalty)},
        {"xtc_probability", offsetof(glim_generation, xtc_probability)},
        {"xtc_threshold", offsetof(glim_generation, xtc_threshold)},
        {"dry_multiplier", offsetof(glim_generation, dry_multiplier)},
        {"dry_base", offsetof(glim_generation, dry_base)},
        {"mirostat_tau", offsetof(glim_generation, mirostat_tau)},
        {"mirostat_eta", offsetof(glim_generation, mirostat_eta)},
    };
    glim_generation *g = &s->gen;
    *g = glim_generation_default();
    g->temp = 1;
    g->top_p = 1;
    g->min_p = 0;
    for (u32 i = 0; i < COUNT(reals); i++) {
        const json_t *j = json_object_get(set, reals[i].name);
        f32 v = (f32)json_number_value(j);
        if (j) memcpy((char *)g + reals[i].at, &v, sizeof v);
    }
    g->top_k = (i32)number(set, "top_k", 0);
    g->repeat_last_n = (u32)number(set, "repeat_last_n", 64);
    g->dry_allowed_length = (u32)number(set, "dry_allowed_length", 2);
    g->dry_last_n = (i32)number(set, "dry_last_n", -1);
    g->mirostat = (int)number(set, "mirostat", 0);
    g->min_keep = (u32)number(set, "min_keep", 0);
    g->seed = (u64)json_integer_value(json_object_get(set, "seed"));
    g->samplers = json_string_value(json_object_get(set, "samplers"));
    assert_non_null(g->samplers);
    const json_t *breakers = json_object_get(set, "dry_breakers"),
                 *bias = json_object_get(set, "logit_bias");
    g->n_dry_breakers = json_array_size(breakers);
    g->dry_breakers = breakers ? s->breakers : NULL;
    for (size_t i = 0; i < g->n_dry_breakers; i++)
        s->breakers[i] = json_string_value(json_array_get(breakers, i));
    g->n_logit_bias = json_array_size(bias);
    g->logit_bias = s->bias;
    for (size_t i = 0; i < g->n_logit_bias; i++) {
        const json_t *pair = json_array_get(bias, i), *b = json_array_get(pair, 1);
        s->bias[i].id = (i32)json_integer_value(json_array_get(pair, 0));
        s->bias[i].bias = json_is_string(b) ? -INFINITY : (f32)json_number_value(b);
    }
}

static void adopt(const glim_generation *gen, u32 v) {
    struct sample_setup setup;
    glim_err e = {0};
    sampler.vocab = v;
    if (sampler_prepare(&sampler, gen, &setup, &e) < 0) fail_test("%s", e.msg);
    sampler_adopt(&sampler, gen, &setup);
    sampler_rewound(&sampler, 0);
}

/* ---- One step -------------------------------------------------------------------------------- */

static void check_case(size_t at, const json_t *c) {
    struct settings s;
    struct candidates left;
    glim_err e = {0};
    f32 logits[MAX_V];
    i32 ids[MAX_IDS], token;
    read_settings(&s, json_object_get(c, "set"));
    u32 v = read_floats(
        json_array_get(json_object_get(fixture, "rows"), (size_t)number(c, "row", -1)), logits);
    u32 n = read_ids(
        json_array_get(json_object_get(fixture, "contexts"), (size_t)number(c, "ids", -1)), ids);
    u64 pos = (u64)number(c, "pos", -1);
    adopt(&s.gen, v);
    if (sample_candidates(&sampler, logits, ids, n, pos, &left, &e) < 0) fail_test("%s", e.msg);
    f64 total = candidates_total(&left);
    struct candidate top = candidates_top(&left);
    const json_t *want = json_object_get(c, "left");
    size_t n_want = json_array_size(want);
    if (left.n < n_want) fail_test("case %zu: %u left, expected %zu", at, left.n, n_want);
    for (u32 i = 0; i < left.n; i++) {
        struct candidate b = candidates_best(&left, i);
        f64 p = candidates_weight(&left, b, top) / total;
        const json_t *pair = json_array_get(want, i);
        if (!pair) { /* those of no weight are not listed */
            if (p > 2e-9) fail_test("case %zu: token %d with %g too many", at, b.id, p);
            continue;
        }
        f64 q = json_number_value(json_array_get(pair, 1));
        if (!(fabs(p - q) <= TOLERANCE)) fail_test("case %zu: rank %u has %g, not %g", at, i, p, q);
        if (p - q <= TOLERANCE && b.id != json_integer_value(json_array_get(pair, 0)))
            fail_test("case %zu: rank %u is token %d", at, i, b.id);
    }
    for (u32 i = 0; i < MAX_V; i++)
        assert_int_equal(sampler.counts[i], 0);
    if (sample(&sampler, logits, ids, n, pos, &token, &e) < 0) fail_test("%s", e.msg);
    if (token != (i32)number(c, "token", -1)) fail_test("case %zu: token %d drawn", at, token);
}

static void test_cases(void **state) {
    (void)state;
    const json_t *cases = json_object_get(fixture, "cases");
    assert_in_range(json_array_size(cases), 250, 1000);
    for (size_t i = 0; i < json_array_size(cases); i++)
        check_case(i, json_array_get(cases, i));
}

/* ---- Mirostat -------------------------------------------------------------------------------- */

/* Draws the run's tokens, from position `from` on; the state is that of the positions before. */
static void follow(size_t at, const json_t *run, const i32 *tokens, u32 from) {
    const json_t *rows = json_object_get(run, "rows"), *mu = json_object_get(run, "mu");
    for (u32 pos = from; pos < json_array_size(rows); pos++) {
        f32 logits[MAX_V];
        glim_err e = {0};
        i32 id, same;
        size_t row = (size_t)json_integer_value(json_array_get(rows, pos));
        read_floats(json_array_get(json_object_get(fixture, "rows"), row), logits);
        assert_int_equal(sample(&sampler, logits, tokens, pos, pos, &id, &e), 0);
        assert_int_equal(sample(&sampler, logits, tokens, pos, pos, &same, &e), 0);
        assert_int_equal(id, same); /* asking twice changes nothing */
        if (id != tokens[pos]) fail_test("run %zu: token %d at position %u", at, id, pos);
        sampler_fed(&sampler, pos, id);
        f64 want = json_number_value(json_array_get(mu, pos));
        if (!(fabs((f64)sampler.mu[pos + 1] - want) <= 2e-4))
            fail_test("run %zu: mu %g behind position %u, not %g", at, (f64)sampler.mu[pos + 1],
                      pos, want);
    }
}

static void test_mirostat(void **state) {
    (void)state;
    const json_t *runs = json_object_get(fixture, "mirostat");
    assert_int_equal(json_array_size(runs), 8);
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        struct settings s;
        i32 tokens[MAX_IDS];
        read_ids(json_object_get(run, "tokens"), tokens);
        read_settings(&s, json_object_get(run, "set"));
        adopt(&s.gen, 16);
        memset(sampler.mu, 0, sizeof *sampler.mu * (MAX_IDS + 1));
        follow(i, run, tokens, 0);
        sampler_rewound(&sampler, 9); /* going back finds the state of then */
        follow(i, run, tokens, 9);
        /* Another token than the one drawn begins a text of its own. */
        sampler_fed(&sampler, 20, 15 - tokens[20]);
        assert_true(sampler.mu[21] == 0);
    }
}

/* Over a long run the surprise of what is drawn is near tau. */
static void test_mirostat_steers(void **state) {
    (void)state;
    static const f32 taus[] = {2, 2.5f, 3}; /* the likeliest has 1.5 bits, the mean is 4.3 */
    for (u32 t = 0; t < COUNT(taus); t++) {
        glim_generation g = glim_generation_default();
        f64 sum = 0, mu = 0;
        f32 logits[MAX_V];
        g.temp = 1;
        g.mirostat = 2;
        g.mirostat_tau = taus[t];
        adopt(&g, MAX_V);
        sampler.mu[0] = 0;
        enum { STEPS = 4000 };
        for (u32 step = 0; step < STEPS; step++) {
            glim_err e = {0};
            f64 total = 0;
            i32 id;
            for (u32 i = 0; i < MAX_V; i++) {
                logits[i] = (f32)(-1.4 * log(1 + (i * 37 + step * 11) % MAX_V)); /* Zipf's law */
                total += exp((f64)logits[i]);
            }
            /* The state of one position is handed on by hand: there are more steps than positions.
             */
            sampler.mu[0] = (f32)mu;
            g.seed = sampler.gen.seed = step;
            assert_int_equal(sample(&sampler, logits, NULL, 0, 0, &id, &e), 0);
            mu = (f64)sampler.mu[1];
            sum += log2(total) - (f64)logits[id] / log(2);
        }
        sampler.mu[0] = 0;
        if (fabs(sum / STEPS - (f64)taus[t]) > 0.1)
            fail_test("tau %g gave %g bits", (f64)taus[t], sum / STEPS);
    }
}

/* ---- Log-probabilities ----------------------------------------------------------------------- */

static void test_logprobs(void **state) {
    (void)state;
    const json_t *all = json_object_get(fixture, "logprobs"),
                 *rows = json_object_get(fixture, "rows");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        static const u32 tops[] = {1, 5, 16, 100};
        for (u32 k = 0; k < COUNT(tops); k++) {
            f32 logits[MAX_V];
            glim_err e = {0};
            i32 id;
            size_t n;
            u32 v = read_floats(json_array_get(rows, r), logits);
            const json_t *want = json_array_get(all, r);
            glim_generation g = glim_generation_default();
            g.n_logprobs = tops[k];
            g.temp = 0.3f; /* samplers change nothing of them */
            g.repeat_penalty = 2;
            adopt(&g, v);
            assert_int_equal(sample(&sampler, logits, (const i32[]){1, 2}, 2, 2, &id, &e), 0);
            const glim_logprob *row = sampler_logprobs(&sampler, 2, 2, &n);
            assert_non_null(row);
            assert_int_equal(n, 1 + MIN(tops[k], v));
            assert_int_equal(row[0].id, id);
            for (size_t i = 0; i < n; i++) {
                const json_t *pair = json_array_get(want, i ? i - 1 : 0);
                for (size_t j = 0; i == 0 && j < v; j++) { /* the drawn one, wherever it stands */
                    pair = json_array_get(want, j);
                    if (json_integer_value(json_array_get(pair, 0)) == id) break;
                }
                assert_int_equal(row[i].id, json_integer_value(json_array_get(pair, 0)));
                f64 q = json_number_value(json_array_get(pair, 1));
                assert_true(fabs((f64)row[i].logprob - q) <= 2e-6 + 1e-7 * fabs(q));
            }
            /* Kept when the token is queued, gone when another one is, or when it is forgotten. */
            sampler_fed(&sampler, 2, id);
            assert_non_null(sampler_logprobs(&sampler, 2, 3, &n));
            assert_null(sampler_logprobs(&sampler, 2, 2, &n));
            sampler_fed(&sampler, 2, id ^ 1);
            assert_null(sampler_logprobs(&sampler, 2, 3, &n));
            assert_int_equal(n, 0);
        }
    }
}

/* Logits as far apart as floats go, and impossible tokens: never NaN, never infinite. */
static void test_logprobs_of_extremes(void **state) {
    (void)state;
    static const f32 rows[][4] = {{400, 401, -INFINITY, 399}, {3e38f, -3e38f, -INFINITY, 0}};
    for (u32 r = 0; r < COUNT(rows); r++) {
        glim_generation g = glim_generation_default();
        glim_err e = {0};
        i32 id;
        size_t n;
        g.n_logprobs = 4;
        adopt(&g, 4);
        assert_int_equal(sample(&sampler, rows[r], NULL, 0, 0, &id, &e), 0);
        const glim_logprob *row = sampler_logprobs(&sampler, 0, 0, &n);
        assert_int_equal(n, 4);
        for (u32 i = 0; i < n; i++) {
            assert_true(isfinite(row[i].logprob) && row[i].logprob <= 0);
            assert_int_not_equal(row[i].id, 2);
        }
        if (r == 0) assert_true(fabs((f64)row[1].logprob + 0.407606) < 1e-5);
    }
}

/* ---- XTC ------------------------------------------------------------------------------------- */

/* How often the top is excluded, and what is drawn then: chi-square over outcomes, one seed, many
 * positions. The draw that decides is independent of the draw of the token, or the counts of the
 * two branches would not fit. */
static void test_xtc_distribution(void **state) {
    (void)state;
    static const f32 logits[5] = {2, 1.5f, 1, -1, -2};
    f64 p[5], total = 0, want[5] = {0};
    for (u32 i = 0; i < 5; i++)
        total += p[i] = exp((f64)logits[i]);
    static const f32 chances[] = {0.25f, 0.5f, 0.9f};
    for (u32 k = 0; k < COUNT(chances); k++) {
        f64 chance = (f64)chances[k], rest = p[2] + p[3] + p[4], x = 0;
        u32 counts[5] = {0}, draws = 40000;
        /* The first three have more than 0.1 each: of them the third stays. */
        for (u32 i = 0; i < 5; i++)
            want[i] = (1 - chance) * p[i] / total + (i >= 2 ? chance * p[i] / rest : 0);
        glim_generation g = glim_generation_default();
        g.temp = 1;
        g.top_k = 0;
        g.top_p = 1;
        g.min_p = 0;
        g.seed = 77;
        g.xtc_probability = chances[k];
        adopt(&g, 5);
        for (u32 pos = 0; pos < draws; pos++) {
            glim_err e = {0};
            i32 id;
            assert_int_equal(sample(&sampler, logits, NULL, 0, pos, &id, &e), 0);
            counts[id]++;
        }
        for (u32 i = 0; i < 5; i++)
            x += (counts[i] - want[i] * draws) * (counts[i] - want[i] * draws) / (want[i] * draws);
        if (!(x < 23.5)) /* 4 degrees of freedom: passed once in 10,000 */
            fail_test("probability %g: chi-square %g", chance, x);
    }
}

static int set_up(void **state) {
    (void)state;
    json_error_t why;
    fixture = json_load_file("test/data/sample.json", 0, &why);
    if (!fixture) return 1;
    arena_init(&memory, &mem_libc);
    int rc = sampler_open(&sampler, MAX_V, MAX_IDS, &memory, NULL);
    sampler.texts = (struct dry_texts){piece, NULL};
    return rc;
}
static int tear_down(void **state) {
    (void)state;
    sampler_close(&sampler);
    arena_free(&memory);
    json_decref(fixture);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_mirostat),
        cmocka_unit_test(test_mirostat_steers),
        cmocka_unit_test(test_logprobs),
        cmocka_unit_test(test_xtc_distribution),
        cmocka_unit_test(test_logprobs_of_extremes),
    };
    return cmocka_run_group_tests_name("sample_ref", tests, set_up, tear_down);
}
