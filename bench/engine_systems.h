/* What bench_engine compares: the engine in three settings, and its peers. Each is a program in peers/ with settings in
 * its environment. */
#ifndef HOCKET_BENCH_ENGINE_SYSTEMS_H
#define HOCKET_BENCH_ENGINE_SYSTEMS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SYSTEM_CALLER, /* Hocket: every ready task runs where it is issued */
    SYSTEM_HANDED, /* every task is handed over to a worker */
    SYSTEM_CHOICE, /* the default: the engine decides by what a task is expected to take */
    SYSTEM_POOL,
    SYSTEM_STARPU,
    SYSTEM_LIBGOMP,
    SYSTEM_LIBOMP,
    SYSTEM_TBB,
    SYSTEM_COUNT,
    SYSTEM_FIRST_PEER = SYSTEM_POOL,
    ENGINE_MAX_SETTINGS = 8
};

typedef struct engine_system {
    const char *name, *program;
    const char *environment[ENGINE_MAX_SETTINGS]; /* NULL ends it */
    const char *about;                            /* what it is, and with which settings */
    double needed;   /* how many times as fast Hocket has to be; 0: no requirement */
    bool is_missing; /* its program was not built */
    bool is_broken;  /* it failed once */
} engine_system;

extern engine_system engine_systems[SYSTEM_COUNT];

typedef struct engine_point {
    long tasks;
    int64_t iterations, ns;
} engine_point;

enum { ENGINE_MAX_POINTS = 32, ENGINE_CORES = 2 };

typedef struct engine_sample {
    double ns;        /* a task took; negative: not measured */
    double in_caller; /* part of the tasks that ran where they were issued; negative: unknown */
} engine_sample;

/* Holds this process and those that it starts to two cores, which are returned; looks which peers there are, beside
 * this program in peers/. Returns how many cores it got. */
int engine_systems_init(int cores[ENGINE_CORES]);

/* Runs every point once, in a process of its own, which is given a minute. False: it is missing, or it failed, which
 * stderr tells; it is not started again then. */
bool engine_system_run(int system, const char *pattern, int workers, const engine_point *points,
                       int count, engine_sample *samples);

/* Some system failed: what is printed is incomplete. */
bool engine_systems_are_broken(void);

#endif
