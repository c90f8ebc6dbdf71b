/* AVX-512 with VNNI: Intel servers since 2019, AMD since Zen 4. */
#include "kern/simd.h"

#if SIMD_X86
#ifdef __clang__
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c"))),        \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")
#endif

#define SIMD(name) name##_avx512
#define SIMD_NAME  "avx512"
#include "isa_avx512.inc"
#include "simd_rows_avx512.inc"
#include "simd.inc"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
