/* Empty tasks in patterns of reading and writing: what the engine's benchmarks issue. */
#ifndef HOCKET_BENCH_ENGINE_PATTERNS_H
#define HOCKET_BENCH_ENGINE_PATTERNS_H

#include <stdbool.h>
#include <stdint.h>

enum { ENGINE_PATTERNS = 6, ENGINE_PATTERN_DATA = 130 };

/* One call of a pattern: what it writes and reads, as indices of data; write -1: a fresh datum. */
typedef struct engine_call {
    int write, reads[3], read_count;
} engine_call;

typedef struct engine_pattern {
    const char *name;
    int data; /* how many */
    engine_call (*at)(long i);
} engine_pattern;

extern const engine_pattern engine_patterns[ENGINE_PATTERNS];

/* Runs the pattern `rounds` times in a runtime of its own with so many workers, and notes for each the nanoseconds that
 * each of `tasks` took, to completion. in_caller: tasks that are ready run where they are issued. trace_bytes: each
 * round is recorded, into so much memory; 0: none is. */
void engine_pattern_time(const engine_pattern *pattern, int workers, bool in_caller, long tasks,
                         uint64_t trace_bytes, double *round_ns, int rounds);

#endif
