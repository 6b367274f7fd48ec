/* The smallest tasks that pay: minimum effective task granularity, METG(50%), as defined by Slaughter et al., "Task
 * Bench: A Parameterized Benchmark for Evaluating Parallel Runtime Performance" (SC 2020). */
#ifndef HOCKET_BENCH_ENGINE_METG_H
#define HOCKET_BENCH_ENGINE_METG_H

#include <stdbool.h>
#include <stdio.h>

/* Every system takes its turn in each of `repeat` rounds. */
void metg_measure(int repeat);
/* Notes the requirements: see engine_report.h. */
void metg_require(void);
void metg_print(void);
void metg_json(FILE *file);
/* Efficiency over granularity, as `folder`/engine_metg.svg. False: errno says why not. */
bool metg_draw(const char *folder);

#endif
