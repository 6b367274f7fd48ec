/* A peer: a program that runs a pattern of tasks in one task runtime and prints what a task took.
 *
 *     PEER PATTERN WORKERS ROUNDS TASKS:ITERATIONS:NS...
 *
 * Each point TASKS:ITERATIONS:NS is run ROUNDS times: so many tasks of the pattern, each of which spins for ITERATIONS
 * (0: it is empty), which takes NS where nothing disturbs it. A line for each point has a number for each round, the
 * nanoseconds from before the first task was issued until all were complete, divided by TASKS; after that may follow
 * what the peer has to say of the point, as words and numbers. Once before all, a quarter of each point, or some
 * milliseconds of it, is run and not counted, so that threads are awake and the pages touched that a system needs which
 * runs ahead of its tasks. Also for C++. */
#ifndef HOCKET_BENCH_PEER_H
#define HOCKET_BENCH_PEER_H

#include "spin.h"
#include "task_patterns.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PEER_MAX_POINTS = 32 };

typedef struct peer_point {
    long tasks;
    int64_t iterations, ns;
} peer_point;

typedef struct peer_plan {
    task_pattern pattern;
    int workers, rounds, point_count;
    long window; /* 0: no waiting but at the end */
    peer_point points[PEER_MAX_POINTS];
} peer_plan;

/* What a peer does with its runtime. */
typedef struct peer_calls {
    /* Optional: what is not timed before each round. */
    void (*prepare)(const task_pattern *pattern, const peer_point *point);
    /* Issues `count` tasks of the point, from task `first` on, and returns when all are complete. */
    void (*run)(const task_pattern *pattern, const peer_point *point, long first, long count);
    /* Optional: prints what is to be said of the rounds since it was called last. */
    void (*remark)(void);
} peer_calls;

/* Reads the command line. False: it is wrong, and stderr says how. */
bool peer_plan_parse(peer_plan *plan, int count, char **arguments);
/* Runs and prints all of it. */
void peer_plan_run(const peer_plan *plan, const peer_calls *calls);

#ifdef __cplusplus
}
#endif

#endif
