/* A segment of a replay as one task, which has the device do what it recorded of an earlier one
 * (hki_recorder_class): calls of one accelerator that can record what it is given. What they make
 * for each other lies in one piece of the device's memory, kept with the graph.
 *
 * A recording holds addresses. Bound arrays that lie elsewhere at each replay, as batches and slices do, therefore have
 * stand-ins within the graph (stand_ins.h), and the second replay is recorded. Where copying them would cost more than
 * launching the calls, there are a few recordings, by addresses: arrays that have not been seen before have their calls
 * launched one by one, by the same task, and are recorded when they come a second time. */
#ifndef HOCKET_GRAPH_RECORDED_H
#define HOCKET_GRAPH_RECORDED_H

#include "graph/graph.h"

typedef struct hki_recorded hki_recorded;

/* Of these nodes of the graph, which are kernels of one device that records. is_within[slot]: a
 * temporary that they alone use. NULL where replays are to issue them one by one: they have more
 * checks than can be told apart, or host memory is short. The graph is indexed, and outlives it. */
hki_recorded *hki_recorded_create(hk_graph *graph, const int *nodes, int count,
                                  const bool *is_within);
/* Gives those of one device their memory, which they have in turns. Before anything is issued.
 * False: no host memory. */
bool hki_recorded_share_memory(hki_recorded *const *list, int count);
const hki_device *hki_recorded_device(const hki_recorded *self);
/* No task of it is unfinished. NULL is ignored. Any thread. */
void hki_recorded_destroy(hki_recorded *self);

/* Replays so far that the device did from a recording. Any thread. */
int64_t hki_recorded_count(const hki_recorded *self);
/* Calls that the device does within kernels of several. */
int64_t hki_recorded_fused_calls(const hki_recorded *self);

/* Issues one task that does all of its calls: storages[slot] is the storage that stands for a slot
 * (of those within not looked at), base[slot] the element offset of a bound array in it, drawn[i]
 * where the numbers of the graph's draw i begin. No two of the storages are the same. The task
 * keeps the graph. False: out of host memory, nothing issued. Thread-safe. */
bool hki_recorded_issue(hki_recorded *self, hki_storage *const *storages, const int64_t *base,
                        const hki_stream_options *drawn);

#endif
