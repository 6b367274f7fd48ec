/* What a call costs in the engine: nanoseconds per empty task, to completion, for patterns of reading and
 * writing, beside a plain mutex pool with the same tracking in the same run. Usage:
 *   bench_engine [--tasks N] [--repeat R] */
#include "bench_util.h"
#include "engine_patterns.h"
#include "mutex_pool.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REPEAT = 51 };

/* Both sides run each pattern once before the clock starts, so that slots exist and pages are touched. */

/* ---- the peer ----------------------------------------------------------------------------------------- */

static void pool_nothing(void *argument)
{
    (void)argument;
}

static double run_pool(const engine_pattern *p, int workers, long tasks)
{
    static pool_datum data[ENGINE_PATTERN_DATA];
    memset(data, 0, sizeof data);
    pool *peer = pool_create(workers);
    double start = bench_seconds();
    for (long i = 0; i < tasks; i++) {
        engine_call c = p->at(i);
        pool_datum *fresh = c.write < 0 ? calloc(1, sizeof *fresh) : NULL;
        pool_access accesses[4] = {{fresh ? fresh : &data[c.write], true}};
        for (int j = 0; j < c.read_count; j++)
            accesses[1 + j] = (pool_access){&data[c.reads[j]], false};
        pool_submit(peer, pool_nothing, NULL, accesses, 1 + c.read_count, fresh);
    }
    pool_wait_all(peer);
    double seconds = bench_seconds() - start;
    pool_destroy(peer);
    for (int i = 0; i < p->data; i++)
        pool_datum_deinit(&data[i]);
    return seconds / (double)tasks * 1e9;
}

/* ---- floors --------------------------------------------------------------------------------------------- */

static void print_floors(void)
{
    enum { N = 2000000 };
    void (*volatile function)(void *) = pool_nothing;
    static atomic_int counter;
    double t0 = bench_seconds();
    for (int i = 0; i < N; i++)
        function(NULL);
    double t1 = bench_seconds();
    for (int i = 0; i < N; i++)
        atomic_fetch_add(&counter, 1);
    double t2 = bench_seconds();
    for (int i = 0; i < N; i++) {
        void *volatile block = malloc(64);
        free(block);
    }
    double t3 = bench_seconds();
    printf("floors, ns: call through a pointer %.1f, atomic add %.1f, malloc+free %.1f\n\n",
           (t1 - t0) / N * 1e9, (t2 - t1) / N * 1e9, (t3 - t2) / N * 1e9);
}

static void print_spread(double *values, int count)
{
    bench_spread s = bench_spread_of(values, count);
    printf("  %6.0f (%5.0f…%5.0f)", s.median, s.min, s.max);
}

int main(int argc, char **argv)
{
    long tasks = 100000;
    int repeat = 7;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--tasks"))
            tasks = atol(argv[i + 1]);
        else if (!strcmp(argv[i], "--repeat"))
            repeat = atoi(argv[i + 1]);
    }
    if (tasks < 1 || repeat < 1 || repeat > MAX_REPEAT) {
        fprintf(stderr, "usage: bench_engine [--tasks N] [--repeat 1…%d]\n", MAX_REPEAT);
        return 2;
    }
    printf("%ld empty tasks, ns per task to completion: median (min…max) of %d, interleaved\n",
           tasks, repeat);
    print_floors();
    printf("%-12s %7s  %20s  %20s  %20s  %s\n", "pattern", "workers", "in the caller",
           "handed over", "mutex pool", "pool / handed over");
    int slower = 0;
    for (int p = 0; p < ENGINE_PATTERNS; p++)
        for (int workers = 1; workers <= 2; workers++) {
            double caller[MAX_REPEAT], handed[MAX_REPEAT], peer[MAX_REPEAT];
            for (int r = 0; r < repeat; r++) {
                const engine_pattern *pattern = &engine_patterns[p];
                engine_pattern_time(pattern, workers, true, tasks, 0, &caller[r], 1);
                engine_pattern_time(pattern, workers, false, tasks, 0, &handed[r], 1);
                peer[r] = run_pool(pattern, workers, tasks);
            }
            printf("%-12s %7d", engine_patterns[p].name, workers);
            print_spread(caller, repeat);
            print_spread(handed, repeat);
            print_spread(peer, repeat);
            double ratio =
                bench_spread_of(peer, repeat).median / bench_spread_of(handed, repeat).median;
            slower += ratio < 1;
            printf("  %.2f×\n", ratio);
            fflush(stdout);
        }
    printf("\n%s\n", slower ? "slower than the pool somewhere" : "faster than the pool everywhere");
    return slower != 0;
}
