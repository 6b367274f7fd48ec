/* What a call costs in the engine: nanoseconds per empty task, to completion, for patterns of reading and
 * writing, beside a plain mutex pool with the same tracking in the same run. Usage:
 *   bench_engine [--tasks N] [--repeat R] */
#include "bench_util.h"
#include "engine/engine.h"
#include "mutex_pool.h"

#include <hocket/runtime.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WIDTH = 64, MAX_REPEAT = 51, READERS = 64 };

/* One call of a pattern: what it writes and reads, as indices of data; -1: a fresh datum. */
typedef struct call {
    int write, reads[3], read_count;
} call;

typedef struct pattern {
    const char *name;
    int data; /* how many */
    call (*at)(long i);
} pattern;

static call chain_at(long i)
{
    (void)i;
    return (call){.write = 0, .reads = {0}, .read_count = 1};
}

static call independent_at(long i)
{
    return (call){.write = (int)(i % MAX_WIDTH)};
}

static call fresh_at(long i)
{
    (void)i;
    return (call){.write = -1, .reads = {0}, .read_count = 1};
}

static call stencil_at(long i, int width)
{
    int x = (int)(i % width), from = (int)(i / width % 2) * width, to = width - from;
    return (call){.write = to + x,
                  .reads = {from + x, from + (x + 1) % width, from + (x + width - 1) % width},
                  .read_count = 3};
}

static call stencil8_at(long i)
{
    return stencil_at(i, 8);
}

static call stencil64_at(long i)
{
    return stencil_at(i, 64);
}

static call fan_at(long i)
{
    long step = i % (READERS + 1);
    if (step == 0)
        return (call){.write = 0};
    return (call){.write = (int)step, .reads = {0}, .read_count = 1};
}

static const pattern patterns[] = {
    {"chain", 1, chain_at},
    {"independent", MAX_WIDTH, independent_at},
    {"y=x+1", 1, fresh_at},
    {"stencil 8", 16, stencil8_at},
    {"stencil 64", 128, stencil64_at},
    {"fan-out 64", READERS + 1, fan_at},
};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

/* Both sides run each pattern once before the clock starts, so that slots exist and pages are touched. */

/* ---- ours ------------------------------------------------------------------------------------------- */

static void nothing_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
}

static void fresh_finish(hki_task *task, void *payload)
{
    hki_var *var;
    (void)task;
    memcpy(&var, payload, sizeof var);
    if (var) {
        hki_var_deinit(var);
        free(var);
    }
}

static const hki_task_class nothing = {.run = nothing_run, .finish = fresh_finish};

static double run_engine(const pattern *p, int workers, bool in_caller, long tasks)
{
    static hki_var data[2 * MAX_WIDTH + 2];
    hk_runtime_init(
        &(hk_runtime_options){.cpu_cores = workers, .inline_ns = in_caller ? 4000 : -1});
    hki_runtime *runtime = hki_runtime_default();
    hki_device *device = hk_device_default().handle;
    for (int i = 0; i < p->data; i++)
        hki_var_init(&data[i], runtime);
    double start = bench_seconds();
    for (long i = 0; i < tasks; i++) {
        call c = p->at(i);
        hki_var *fresh = NULL, *target;
        if (c.write < 0) {
            fresh = malloc(sizeof *fresh);
            hki_var_init(fresh, runtime);
        }
        target = fresh ? fresh : &data[c.write];
        hki_task *task = hki_task_begin(runtime, sizeof fresh, 1 + c.read_count, 0);
        memcpy(hki_task_payload(task), &fresh, sizeof fresh);
        hki_task_spec *spec = hki_task_get_spec(task);
        spec->class = &nothing;
        spec->device = device;
        spec->operation = "nothing";
        spec->expected_ns = 1;
        spec->accesses[0] = (hki_access){target, 0, 8, HKI_WRITE | HKI_HEAL};
        for (int j = 0; j < c.read_count; j++)
            spec->accesses[1 + j] = (hki_access){&data[c.reads[j]], 0, 8, HKI_READ};
        hki_task_submit(task);
    }
    hk_wait_all();
    double seconds = bench_seconds() - start;
    for (int i = 0; i < p->data; i++)
        hki_var_deinit(&data[i]);
    hk_runtime_deinit();
    return seconds / (double)tasks * 1e9;
}

/* ---- the peer ----------------------------------------------------------------------------------------- */

static void pool_nothing(void *argument)
{
    (void)argument;
}

static double run_pool(const pattern *p, int workers, long tasks)
{
    static pool_datum data[2 * MAX_WIDTH + 2];
    memset(data, 0, sizeof data);
    pool *peer = pool_create(workers);
    double start = bench_seconds();
    for (long i = 0; i < tasks; i++) {
        call c = p->at(i);
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
    for (int p = 0; p < PATTERNS; p++)
        for (int workers = 1; workers <= 2; workers++) {
            double caller[MAX_REPEAT], handed[MAX_REPEAT], peer[MAX_REPEAT];
            for (int r = 0; r < repeat; r++) {
                caller[r] = run_engine(&patterns[p], workers, true, tasks);
                handed[r] = run_engine(&patterns[p], workers, false, tasks);
                peer[r] = run_pool(&patterns[p], workers, tasks);
            }
            printf("%-12s %7d", patterns[p].name, workers);
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
