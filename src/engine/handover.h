/* Whether a task is worth handing to a worker. */
#ifndef HOCKET_ENGINE_HANDOVER_H
#define HOCKET_ENGINE_HANDOVER_H

#include "engine/engine_runtime.h"

bool hki_runs_in_caller_slow(hki_queue *queue, int64_t expected_ns);

/* Whether a ready task of this CPU queue, expected to take so long, had better run in the thread that issues it.
 * Blocks for less than a millisecond where that is still to be measured. */
static inline bool hki_runs_in_caller(hki_queue *queue, int64_t expected_ns)
{
    int64_t limit_ns = atomic_load_explicit(&queue->runtime->inline_ns, memory_order_relaxed);
    if (expected_ns <= (limit_ns ? limit_ns : HKI_DIRECT_NS))
        return true;
    return limit_ns >= 0 && expected_ns <= HKI_LONG_TASK_NS &&
           hki_runs_in_caller_slow(queue, expected_ns);
}

#endif
