/* Real models on the CPU. */
#include "reference_rig.h"

/* Sanitizers slow arithmetic down ten times: they see the short texts only. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLOW 1
#endif
#endif
#ifndef SLOW
#define SLOW 0
#endif

static int open_engine(glim_engine **out, glim_err *e) {
    return glim_engine_open(out, &(glim_engine_params){.device = "cpu"}, e);
}

struct reference_on reference_on = {open_engine, SLOW ? 64 : UINT32_MAX, 1e-4, "cpu"};

int main(void) {
    const struct CMUnitTest tests[] = {
        BOTH(&references[0]),
#if !SLOW
        BOTH(&references[1]),
#endif
    };
    return cmocka_run_group_tests_name("reference", tests, NULL, NULL);
}
