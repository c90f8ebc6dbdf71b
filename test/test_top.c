/* TOP, the largest values of a row and where they are, on the CPU. */
#include "ops_rig.h"
#include "top_rig.h"

static void tops(struct rig *r) {
    static const struct {
        u32 d, n;
    } cases[] = {{1, 1}, {5, 1}, {5, 5}, {300, 1}, {300, 40}, {300, TOP_MOST}, {1000, 17}};
    for (u32 i = 0; i < COUNT(cases); i++) {
        u32 d = cases[i].d;
        f32 *x = arena_array(&r->arena, (u64)TOP_ROWS * d, sizeof *x);
        assert_non_null(x);
        top_fill(x, d);
        struct top_params p = {cases[i].n};
        struct mat a[2] = {mat_new(r, TOP_ROWS, 2 * p.n + 1, DT_F32), mat_copy(r, x, TOP_ROWS, d)};
        r->step = (struct step){.t = TOP_ROWS, .r = TOP_ROWS};
        rig_run(r, OP_TOP, &p, a, 2);
        for (u32 k = 0; k < TOP_ROWS; k++)
            top_check(mat_row(&a[0], k), x + (size_t)k * d, d, p.n);
    }
}
static void test_tops(void **state) {
    (void)state;
    rig_each(tops);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tops)};
    return cmocka_run_group_tests_name("top", tests, NULL, NULL);
}
