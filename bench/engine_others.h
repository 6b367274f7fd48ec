/* How much of the cores other processes used while something was measured: with much of it, figures say little. */
#ifndef HOCKET_BENCH_ENGINE_OTHERS_H
#define HOCKET_BENCH_ENGINE_OTHERS_H

/* Begins to watch these cores, to which this process and those that it starts are held. */
void others_begin(const int *cores, int count);
/* Cores that others used on average since then; negative: the system does not tell. Processes that this one started are
 * others until they have ended. */
double others_cores(void);

#endif
