/* Tasks of a pattern, issued to the engine below arrays and operators: what the engine's benchmarks measure. */
#ifndef HOCKET_BENCH_ENGINE_PATTERNS_H
#define HOCKET_BENCH_ENGINE_PATTERNS_H

#include "task_patterns.h"

#include <hocket/device.h>
#include <stdbool.h>
#include <stdint.h>

/* Variables of the default runtime, without memory behind them. Who issues on them waits before they are destroyed. */
typedef struct engine_data engine_data;

/* NULL: out of memory. */
engine_data *engine_data_create(long count);
/* May be NULL. */
void engine_data_destroy(engine_data *data);

/* A task of any kind, one at a time. */
typedef struct engine_call {
    task_call call; /* indices of the data; write -1: a variable of its own */
    hk_device device;
    int64_t iterations;              /* of spinning */
    int64_t expected_ns;             /* what the engine is told */
    void (*body)(void *), *argument; /* instead of spinning, where it is not NULL */
} engine_call;

void engine_issue(engine_data *data, const engine_call *call);

/* So many tasks of the pattern on the default device, each of which spins and is expected to take expected_ns. Does not
 * wait for them. */
void engine_issue_pattern(engine_data *data, const task_pattern *pattern, long tasks,
                          int64_t iterations, int64_t expected_ns);

/* Runs the pattern of this number `rounds` times, with empty tasks, in a runtime of its own with so many workers, and
 * notes for each the nanoseconds that each of `tasks` took, to completion. in_caller: tasks that are ready run where
 * they are issued. trace_bytes: each round is recorded, into so much memory; 0: none is. */
void engine_pattern_time(int number, int workers, bool in_caller, long tasks, uint64_t trace_bytes,
                         double *round_ns, int rounds);

#endif
