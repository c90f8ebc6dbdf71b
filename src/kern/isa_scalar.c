/* The portable table: correct everywhere, measured nowhere. */
#include "kern/simd.h"

#define SIMD(name)    name##_scalar
#define SIMD_NAME     "scalar"
#define SIMD_HAS_ROWS 0
#define SIMD_HAS_TILE 0
#include "isa_scalar.inc"
#include "simd.inc"
