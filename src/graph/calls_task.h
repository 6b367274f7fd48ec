/* What tasks of several calls, chains and teams, have in common. */
#ifndef HOCKET_GRAPH_CALLS_TASK_H
#define HOCKET_GRAPH_CALLS_TASK_H

#include "graph/graph.h"

/* Notes in *smoothed_ns, 0 at first, what a run has taken: what calls took one by one says little of
 * what they take together. Any thread. */
void hki_calls_task_learn(_Atomic(int64_t) *smoothed_ns, int64_t took_ns);
/* The task fails, since the device has no room for so many bytes. */
void hki_calls_task_fail_for_memory(hki_task *task, int64_t piece, const hki_device *device,
                                    uint64_t bytes);

#endif
