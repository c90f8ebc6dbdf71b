/* The platform seam for processors and time. */
#ifndef BASE_PLAT_CPU_H
#define BASE_PLAT_CPU_H

#include "base/base.h"

/* A monotonic clock in nanoseconds. */
u64 plat_now_ns(void);
/* How many processors this process may use; at least 1. */
u32 plat_cpu_count(void);
/* Keeps the calling thread on the i-th processor it may use (modulo their number). Best effort:
 * where the system has no such thing, nothing happens. */
void plat_pin(u32 i);
/* Gives the rest of the time slice away. */
void plat_yield(void);
/* Whether there is a device node of some GPU: a cheap question, where asking a driver loads 100 MB.
 */
bool plat_has_gpu(void);
/* Lets the calling thread rest for about this long. */
void plat_sleep_ns(u64 ns);
/* Tells the processor that this is a spin loop. */
static inline void plat_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
