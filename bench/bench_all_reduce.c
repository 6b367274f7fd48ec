/* All-reduce between two CPU devices against two threads that each sum half of two plain buffers and write
 * it to both: 10 MB and 100 MB of float32, interleaved, median with min and max.
 *
 *   bench_all_reduce [REPEATS]
 *
 * The threads wait by spinning for a start and are done when both halves are: the least that two cores can
 * do. Memory of both sides is made and touched in the same way, and each run follows one of the same kind,
 * so that the caches hold what they can. */
#include "bench_util.h"

#include <hocket/collective.h>
#include <hocket/device.h>
#include <hocket/runtime.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { MAX_REPEATS = 1001, METHODS = 4 };

static const char *const method_names[METHODS] = {"two threads", "default", "parts", "central"};

static const hk_all_reduce_algorithm algorithms[METHODS] = {
    HK_ALL_REDUCE_DEFAULT, HK_ALL_REDUCE_DEFAULT, HK_ALL_REDUCE_PARTS, HK_ALL_REDUCE_CENTRAL};

/* ---- two threads ----------------------------------------------------------------------------------- */

static struct {
    float *a, *b;
    size_t size;
    sem_t
        turns; /* starts that the second thread has not seen: it sleeps while hocket is measured */
    bool ends; /* the next one is the last */
    atomic_int done;
} shared;

static void sum_half(size_t begin, size_t end)
{
    float *restrict a = shared.a + begin, *restrict b = shared.b + begin;
    for (size_t i = 0; i < end - begin; i++) {
        float sum = a[i] + b[i];
        a[i] = sum;
        b[i] = sum;
    }
}

static void *second_thread(void *unused)
{
    (void)unused;
    for (;;) {
        while (sem_wait(&shared.turns)) {}
        if (shared.ends)
            return NULL;
        while (atomic_load_explicit(&shared.done, memory_order_acquire) != 1) {}
        sum_half(shared.size / 2, shared.size);
        atomic_store_explicit(&shared.done, 2, memory_order_release);
    }
}

static double threads_seconds(void)
{
    atomic_store(&shared.done, 0);
    sem_post(&shared.turns);
    nanosleep(&(struct timespec){0, 1000000}, NULL); /* the other one spins now */
    double begin = bench_seconds();
    atomic_store_explicit(&shared.done, 1, memory_order_release);
    sum_half(0, shared.size / 2);
    while (atomic_load_explicit(&shared.done, memory_order_acquire) != 2) {}
    return bench_seconds() - begin;
}

static float *buffer(size_t bytes, float value)
{
    float *data = aligned_alloc(2 << 20, (bytes + (2 << 20) - 1) >> 21 << 21);
    if (!data) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    madvise(data, bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < bytes / sizeof *data; i++)
        data[i] = value;
    return data;
}

/* ---- hocket ---------------------------------------------------------------------------------------- */

static double hocket_seconds(hk_array *const *arrays, hk_all_reduce_algorithm algorithm)
{
    double begin = bench_seconds();
    hk_all_reduce_by(arrays, 2, algorithm);
    hk_wait(arrays[0]);
    hk_wait(arrays[1]);
    return bench_seconds() - begin;
}

static int measure(size_t bytes, int repeats)
{
    static double times[METHODS][MAX_REPEATS], ratios[METHODS][MAX_REPEATS];
    HK_SCOPE;
    shared.size = bytes / sizeof(float);
    shared.a = buffer(bytes, 0);
    shared.b = buffer(bytes, 0);
    hk_array *arrays[2];
    for (int i = 0; i < 2; i++)
        arrays[i] = hk_from_host(shared.a, hk_shape((int64_t)shared.size), HK_F32, hk_device_at(i));
    for (int i = -2; i < repeats; i++) {
        double round[METHODS];
        for (int method = 0; method < METHODS; method++)
            for (int again = 0; again < 2;
                 again++) /* the first run brings its memory to the cache */
                round[method] =
                    method == 0 ? threads_seconds() : hocket_seconds(arrays, algorithms[method]);
        for (int method = 0; method < METHODS && i >= 0; method++) {
            times[method][i] = round[method] * 1e3;
            ratios[method][i] = round[method] / round[0];
        }
    }
    const hk_status *status = hk_wait_all();
    free(shared.a);
    free(shared.b);
    if (hk_status_print(status, stderr))
        return 1;
    for (int method = 0; method < METHODS; method++) {
        bench_spread ms = bench_spread_of(times[method], repeats);
        bench_spread ratio = bench_spread_of(ratios[method], repeats);
        printf("%6.0f MB  %-12s %8.3f ms (min %.3f, max %.3f)   ratio %.2f (min %.2f, max %.2f)\n",
               (double)bytes / 1e6, method_names[method], ms.median, ms.min, ms.max, ratio.median,
               ratio.min, ratio.max);
    }
    return 0;
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 41;
    if (repeats < 1 || repeats > MAX_REPEATS) {
        fprintf(stderr, "usage: bench_all_reduce [REPEATS]   1 … %d\n", MAX_REPEATS);
        return 2;
    }
    const hk_status *status = hk_runtime_init(&(hk_runtime_options){.cpu_devices = 2});
    if (hk_status_print(status, stderr))
        return 1;
    pthread_t thread;
    sem_init(&shared.turns, 0, 0);
    if (pthread_create(&thread, NULL, second_thread, NULL)) {
        fprintf(stderr, "cannot start a thread\n");
        return 1;
    }
    int result = measure(10 * 1000 * 1000, repeats) || measure(100 * 1000 * 1000, repeats);
    shared.ends = true;
    sem_post(&shared.turns);
    pthread_join(thread, NULL);
    hk_runtime_deinit();
    return result;
}
