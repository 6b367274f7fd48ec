/* What no engine gets below on this machine: the floors under bench_engine's numbers. */
#ifndef HOCKET_BENCH_ENGINE_FLOORS_H
#define HOCKET_BENCH_ENGINE_FLOORS_H

#include <stdio.h>

/* Measures on these cores; with one core there is no handing over. */
void floors_measure(const int *cores, int core_count, int repeat);
void floors_print(void);
void floors_json(FILE *file);

#endif
