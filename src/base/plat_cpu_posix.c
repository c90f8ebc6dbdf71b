/* Processors and time on POSIX systems; pinning on Linux. */
#include "base/plat_cpu.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

u64 plat_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

bool plat_has_gpu(void) {
    /* Any kernel driver's, NVIDIA's own, AMD's, and Windows' for Linux. */
    static const char *const nodes[] = {"/dev/dri/renderD128", "/dev/dri/renderD129",
                                        "/dev/nvidiactl", "/dev/kfd", "/dev/dxg"};
    for (u32 i = 0; i < COUNT(nodes); i++) {
        if (access(nodes[i], F_OK) == 0) return true;
    }
    return false;
}

void plat_sleep_ns(u64 ns) {
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    nanosleep(&t, NULL);
}

void plat_yield(void) {
    sched_yield();
}

#ifdef __linux__
u32 plat_cpu_count(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? (u32)n : 1;
}

void plat_pin(u32 i) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    int n = CPU_COUNT(&allowed);
    if (n < 2) return;
    int want = (int)(i % (u32)n);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || want-- > 0) continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
        return;
    }
}
#else
u32 plat_cpu_count(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (u32)n : 1;
}

void plat_pin(u32 i) {
    (void)i;
}
#endif
