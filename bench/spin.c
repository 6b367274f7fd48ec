#include "spin.h"

#include "bench_util.h"

void spin_loop(int64_t iterations)
{
    volatile uint64_t sink;
    uint64_t x = (uint64_t)iterations;
    for (int64_t i = 0; i < iterations; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
    (void)sink;
}

double spin_iteration_ns(void)
{
    enum { ITERATIONS = 1000000, TIMES = 20 };
    double least = 1e9;
    for (int i = 0; i < TIMES; i++) {
        double begin = bench_seconds();
        spin_loop(ITERATIONS);
        double ns = (bench_seconds() - begin) / ITERATIONS * 1e9;
        least = ns < least ? ns : least;
    }
    return least;
}
