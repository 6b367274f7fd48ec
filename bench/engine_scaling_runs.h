/* The single runs of engine_scaling.h. Each starts a runtime of its own on two cores and ends it, and returns the
 * nanoseconds that a task took; 0: nothing can be said for this count; negative: no memory, or no thread. */
#ifndef HOCKET_BENCH_ENGINE_SCALING_RUNS_H
#define HOCKET_BENCH_ENGINE_SCALING_RUNS_H

#include <stdbool.h>

typedef double (*scaling_run)(long count, bool in_caller);

/* `count` threads issue, each on data of its own. */
double scaling_run_threads_chain(long count, bool in_caller);
double scaling_run_threads_independent(long count, bool in_caller);

/* One thread issues to `count` devices in turns; a chain on each, or data of which no two tasks in a row use one. */
double scaling_run_devices_chain(long count, bool in_caller);
double scaling_run_devices_independent(long count, bool in_caller);
/* The same on simulated ones, whose model takes no time. */
double scaling_run_sims_chain(long count, bool in_caller);
double scaling_run_sims_independent(long count, bool in_caller);

/* While `count` readers of an array are unfinished: a chain that has nothing to do with it; readers of it that finish at
 * once; issuing one of those that do not; and finishing one of those, with a writer that waits for all. */
double scaling_run_readers_chain(long count, bool in_caller);
double scaling_run_readers_read(long count, bool in_caller);
double scaling_run_readers_issue(long count, bool in_caller);
double scaling_run_readers_finish(long count, bool in_caller);

/* While `count` arrays live, all of which have been written: a chain on one of them; writing them in turns, in an order
 * that memory does not like. */
double scaling_run_live_chain(long count, bool in_caller);
double scaling_run_live_all(long count, bool in_caller);

#endif
