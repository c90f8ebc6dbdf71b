/* The portable table: correct everywhere, measured nowhere. */
#include "kern/simd.h"

#define SIMD(name) name##_scalar
#define SIMD_NAME  "scalar"
#include "isa_scalar.inc"
#include "simd.inc"
