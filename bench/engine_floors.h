/* What no engine gets below on this machine: the floors under bench_engine's numbers. */
#ifndef HOCKET_BENCH_ENGINE_FLOORS_H
#define HOCKET_BENCH_ENGINE_FLOORS_H

#include <stdio.h>

/* Measures on these cores; with one core there is no handing over. */
void floors_measure(const int *cores, int core_count, int repeat);
/* What a cache line takes from the first core to the second, now; negative: there is no second one, or no thread. */
double floors_hand_over_ns(const int *cores, int core_count);
void floors_print(void);
void floors_json(FILE *file);

#endif
