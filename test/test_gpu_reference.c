/* Real models on a GPU. A GPU that is software takes minutes for a thousand tokens: it sees the
 * short texts only. */
#include "reference_rig.h"

#include "gpu_rig.h"

static int open_engine(glim_engine **out, glim_err *e) {
    return glim_engine_open(out, &(glim_engine_params){.device = "gpu", .gpu_library = GPU_LIBRARY},
                            e);
}

struct reference_on reference_on = {open_engine, 64, 1e-3, "gpu"};

int main(void) {
    const struct CMUnitTest tests[] = {BOTH(&references[0]), BOTH(&references[1])};
    struct gpu_info info;
    glim_err e = {0};
    if (!rig_has_gpu()) return 0;
    if (gpu_list(GPU_LIBRARY, &info, 1, &e) == 1 && !info.software)
        reference_on.longest = UINT32_MAX;
    return cmocka_run_group_tests_name("gpu reference", tests, NULL, NULL);
}
