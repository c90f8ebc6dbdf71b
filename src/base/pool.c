/* Thread pool. Work is published by raising `job`; a barrier is a counter of arrivals and a
 * generation. Waiting spins for some microseconds (an op takes about as long), then yields, and
 * between jobs parks on a condition variable, so that an idle engine costs nothing. */
#include "base/pool.h"
#include "base/plat_cpu.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

enum { SPINS = 4096, YIELDS = 64 };

struct pool_thread {
    struct pool *pool; /* borrowed */
    u32 ith;
    pthread_t thread;
};

struct pool {
    const glim_alloc *alloc; /* borrowed */
    u32 n;
    u32 n_started;
    pool_fn *fn;
    void *arg;
    bool stop;
    bool oversubscribed; /* more threads than processors: spinning would only delay the others */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    _Alignas(64) atomic_uint job; /* raised once per pool_run */
    _Alignas(64) atomic_uint arrived;
    _Alignas(64) atomic_uint generation;
    struct pool_thread threads[];
};

/* One round of a waiting loop. */
static void wait_a_little(const struct pool *p, u32 round) {
    if (p->oversubscribed || (round > SPINS && round % 32 == 0)) {
        plat_yield();
    } else {
        plat_relax();
    }
}

void pool_barrier(struct pool *p) {
    if (p->n == 1) return;
    u32 generation = atomic_load_explicit(&p->generation, memory_order_acquire);
    if (atomic_fetch_add_explicit(&p->arrived, 1, memory_order_acq_rel) + 1 == p->n) {
        atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
        atomic_fetch_add_explicit(&p->generation, 1, memory_order_release);
        return;
    }
    for (u32 i = 0; atomic_load_explicit(&p->generation, memory_order_acquire) == generation; i++) {
        wait_a_little(p, i);
    }
}

/* Waits until a job newer than `seen` is there; returns its number. */
static u32 next_job(struct pool *p, u32 seen) {
    for (u32 i = 0; i < SPINS + YIELDS * 32; i++) {
        u32 job = atomic_load_explicit(&p->job, memory_order_acquire);
        if (job != seen) return job;
        wait_a_little(p, i);
        if (p->oversubscribed && i > YIELDS) break;
    }
    pthread_mutex_lock(&p->lock);
    u32 job;
    while ((job = atomic_load_explicit(&p->job, memory_order_acquire)) == seen) {
        pthread_cond_wait(&p->wake, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return job;
}

static void *worker(void *arg) {
    struct pool_thread *t = arg;
    struct pool *p = t->pool;
    if (!p->oversubscribed) plat_pin(t->ith);
    u32 seen = 0;
    for (;;) {
        seen = next_job(p, seen);
        if (p->stop) return NULL;
        p->fn(p->arg, t->ith, p->n);
        pool_barrier(p);
    }
}

/* Publishes a change of fn, arg or stop. The lock makes sure that nobody parks past it. */
static void publish(struct pool *p) {
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add_explicit(&p->job, 1, memory_order_release);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

/* Starts a worker that leaves signals to the program's own threads: they know what to do, and a
 * call of theirs that waits is to be woken. A worker's own faults stay its own. */
static int start_worker(struct pool_thread *t) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t block, old;
    sigfillset(&block);
    for (u32 i = 0; i < COUNT(faults); i++)
        sigdelset(&block, faults[i]);
    pthread_sigmask(SIG_BLOCK, &block, &old);
    int rc = pthread_create(&t->thread, NULL, worker, t);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

int pool_open(struct pool **out, u32 n, const glim_alloc *a, glim_err *e) {
    *out = NULL;
    if (n < 1 || n > POOL_MAX) {
        return fail(e, GLIM_ARG, "%u threads: must be 1 to %d", n, POOL_MAX);
    }
    size_t size = sizeof(struct pool) + n * sizeof(struct pool_thread);
    struct pool *p = mem_get(a, size);
    if (!p) return fail(e, GLIM_NOMEM, "out of memory (thread pool)");
    memset(p, 0, size);
    p->alloc = a;
    p->n = n;
    p->oversubscribed = n > plat_cpu_count();
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    for (u32 i = 1; i < n; i++) {
        struct pool_thread *t = &p->threads[i];
        *t = (struct pool_thread){.pool = p, .ith = i};
        int rc = start_worker(t);
        if (rc != 0) {
            pool_close(p);
            return fail(e, GLIM_DEVICE, "cannot start thread %u of %u: %s", i + 1, n, strerror(rc));
        }
        p->n_started++;
    }
    *out = p;
    return GLIM_OK;
}

void pool_close(struct pool *p) {
    if (!p) return;
    p->stop = true;
    publish(p);
    for (u32 i = 1; i <= p->n_started; i++)
        pthread_join(p->threads[i].thread, NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->wake);
    mem_put(p->alloc, p, sizeof *p + p->n * sizeof(struct pool_thread));
}

u32 pool_threads(const struct pool *p) {
    return p->n;
}

void pool_run(struct pool *p, pool_fn *fn, void *arg) {
    if (p->n == 1) {
        fn(arg, 0, 1);
        return;
    }
    p->fn = fn;
    p->arg = arg;
    publish(p);
    fn(arg, 0, p->n);
    pool_barrier(p);
}
