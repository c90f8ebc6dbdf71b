/* Choice of the instruction set at run time. */
#include "kern/simd.h"

#include <string.h>

/* __builtin_cpu_supports asks cpuid and, for the wide registers, whether the system saves them. */
static bool can_run(const struct isa *isa) {
#if SIMD_X86
    if (isa == &isa_avx512) {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vnni");
    }
    if (isa == &isa_avx2) {
        /* No name for F16C in older compilers; every processor with AVX2 has it. */
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    }
#endif
    return isa == &isa_scalar;
}

const struct isa *isa_pick(const char *name) {
    static const struct isa *const best_first[] = {
#if SIMD_X86
        &isa_avx512,
        &isa_avx2,
#endif
        &isa_scalar,
    };
    for (size_t i = 0; i < COUNT(best_first); i++) {
        const struct isa *isa = best_first[i];
        if (name && strcmp(name, isa->name) != 0) continue;
        if (can_run(isa)) return isa;
    }
    return NULL;
}
