#include "engine_floors.h"

#include "engine_report.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { TIMES = 1000000, TURNS = 50000 };

static void nothing(void *argument)
{
    (void)argument;
}

static double call_ns(void)
{
    void (*volatile function)(void *) = nothing;
    double begin = bench_seconds();
    for (int i = 0; i < TIMES; i++)
        function(NULL);
    return (bench_seconds() - begin) / TIMES * 1e9;
}

static double atomic_ns(void)
{
    static atomic_int counter;
    double begin = bench_seconds();
    for (int i = 0; i < TIMES; i++)
        atomic_fetch_add(&counter, 1);
    return (bench_seconds() - begin) / TIMES * 1e9;
}

static double malloc_ns(void)
{
    double begin = bench_seconds();
    for (int i = 0; i < TIMES; i++) {
        void *volatile block = malloc(64);
        free(block);
    }
    return (bench_seconds() - begin) / TIMES * 1e9;
}

/* ---- a cache line that two cores write in turns ------------------------------------------------------------ */

static struct {
    _Alignas(128) _Atomic(int) turn; /* even: this thread's */
    _Alignas(128) int cores[2];
} line;

static void pin(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void take_turns(int mine)
{
    for (int i = 0; i < TURNS; i++) {
        while (atomic_load_explicit(&line.turn, memory_order_acquire) != 2 * i + mine)
            continue;
        atomic_store_explicit(&line.turn, 2 * i + mine + 1, memory_order_release);
    }
}

static void *other_main(void *unused)
{
    (void)unused;
    pin(line.cores[1]);
    take_turns(1);
    return NULL;
}

double floors_hand_over_ns(const int *cores, int core_count)
{
    if (core_count < 2)
        return -1;
    cpu_set_t before;
    pthread_t other;
    line.cores[0] = cores[0];
    line.cores[1] = cores[1];
    atomic_store(&line.turn, 0);
    pthread_getaffinity_np(pthread_self(), sizeof before, &before);
    if (pthread_create(&other, NULL, other_main, NULL))
        return -1;
    pin(cores[0]);
    double begin = bench_seconds();
    take_turns(0);
    pthread_join(other, NULL);
    double seconds = bench_seconds() - begin;
    pthread_setaffinity_np(pthread_self(), sizeof before, &before);
    return seconds / (2.0 * TURNS) * 1e9;
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

enum { CALL, ATOMIC, HAND_OVER, MALLOC, FLOORS };
static const char *const names[FLOORS] = {"call through a pointer", "atomic add",
                                          "hand-over between two cores", "malloc+free"};
static bench_spread floors[FLOORS];

void floors_measure(const int *cores, int core_count, int repeat)
{
    double ns[FLOORS][REPORT_MAX_REPEAT];
    for (int r = 0; r < repeat; r++) {
        ns[CALL][r] = call_ns();
        ns[ATOMIC][r] = atomic_ns();
        ns[HAND_OVER][r] = floors_hand_over_ns(cores, core_count);
        ns[MALLOC][r] = malloc_ns();
    }
    for (int i = 0; i < FLOORS; i++)
        floors[i] = report_spread(ns[i], repeat);
}

void floors_print(void)
{
    printf("== floors, ns\n");
    for (int i = 0; i < FLOORS; i++) {
        printf("  %-28s", names[i]);
        report_print_spread(floors[i], 1);
        printf("\n");
    }
    printf("\n");
}

void floors_json(FILE *file)
{
    fprintf(file, "{");
    for (int i = 0; i < FLOORS; i++) {
        fprintf(file, "%s\n    \"%s\": ", i ? "," : "", names[i]);
        report_json_spread(file, floors[i]);
    }
    fprintf(file, "}");
}
