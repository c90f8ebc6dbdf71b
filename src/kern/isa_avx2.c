/* AVX2 with FMA and F16C: x86 processors since 2013. */
#include "kern/simd.h"

#if SIMD_X86
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif

#define SIMD(name) name##_avx2
#define SIMD_NAME  "avx2"
#include "isa_avx2.inc"
#include "simd_rows_avx2.inc"
#include "simd.inc"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
