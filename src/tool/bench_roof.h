/* The memory roof: the rate at which threads can read a model's weights and do nothing else. */
#ifndef TOOL_BENCH_ROOF_H
#define TOOL_BENCH_ROOF_H

#include "base/base.h"

/* Reads the tensors of the GGUF file at path, mapped as the engine maps them (the first 2 GB of
 * them), a few times with n threads; *rate is the fastest, in bytes per second. Takes about a
 * second. */
int bench_roof(const char *path, u32 n, f64 *rate, glim_err *e);

#endif
