/* Replays as one task: where all calls of a graph are one accelerator's, and that can record what it is given, a replay
 * is one task, which has the device do what it recorded of an earlier one (hki_recorder_class). What the calls make for
 * each other lies in one piece of the device's memory, kept with the graph.
 *
 * A recording holds addresses. Bound arrays that lie elsewhere at each replay, as batches and slices do, therefore have
 * stand-ins within the graph (stand_ins.h), and the second replay is recorded. Where copying them would cost more than
 * launching the calls, there are a few recordings, by addresses: arrays that have not been seen before have their calls
 * launched one by one, by the same task, and are recorded when they come a second time. */
#ifndef HOCKET_GRAPH_RECORDED_H
#define HOCKET_GRAPH_RECORDED_H

#include "graph/graph.h"

/* NULL where replays are to issue the calls one by one: a graph of one call, of several devices or of one that records
 * nothing, with calls that are no kernels, with the option exact, in the serial engine; or for want of host memory. The
 * graph is indexed, and outlives it. */
hki_recorded *hki_recorded_create(hk_graph *graph);
/* No task of it is unfinished. NULL is ignored. Any thread. */
void hki_recorded_destroy(hki_recorded *self);

/* Replays so far that the device did from a recording. Any thread. */
int64_t hki_recorded_count(const hki_recorded *self);
/* Calls that the device does within kernels of several. */
int64_t hki_recorded_fused_calls(const hki_recorded *self);

/* Issues one task that does all calls of the graph: storages[slot] is the storage that stands for a slot (of temporaries
 * not looked at), base[slot] the element offset of a bound array in it. No two of the storages are the same. The task
 * keeps the graph. False: out of host memory, nothing issued. Thread-safe. */
bool hki_recorded_issue(hki_recorded *self, hki_storage *const *storages, const int64_t *base);

#endif
