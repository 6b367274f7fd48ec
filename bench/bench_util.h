/* Timing shared by the benchmarks: medians with their spread, never one number alone. */
#ifndef HOCKET_BENCH_UTIL_H
#define HOCKET_BENCH_UTIL_H

#include <stdlib.h>
#include <time.h>

static inline double bench_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Of this thread alone: others on its core do not count, but for what they leave of the caches. */
static inline double bench_cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

typedef struct bench_spread {
    double min, median, max;
} bench_spread;

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the values. */
static inline bench_spread bench_spread_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, bench_compare);
    double median = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
    return (bench_spread){values[0], median, values[count - 1]};
}

#endif
