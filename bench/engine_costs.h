/* What an empty task costs, to completion, in each pattern: the engine beside its goals and its peers. */
#ifndef HOCKET_BENCH_ENGINE_COSTS_H
#define HOCKET_BENCH_ENGINE_COSTS_H

#include <stdio.h>

/* So many tasks a run, on these cores; every system takes its turn in each of `repeat` rounds. */
void costs_measure(const int *cores, int core_count, long tasks, int repeat);
/* Notes the requirements: see engine_report.h. */
void costs_require(void);
void costs_print(void);
void costs_json(FILE *file);

#endif
