#include "graph/calls_task.h"

#include <inttypes.h>

void hki_calls_task_learn(_Atomic(int64_t) *smoothed_ns, int64_t took_ns)
{
    const int64_t old = atomic_load_explicit(smoothed_ns, memory_order_relaxed);
    /* A thread that lost its core in the middle must not mislead the next runs. */
    if (old && took_ns > 4 * old)
        took_ns = 4 * old;
    atomic_store_explicit(smoothed_ns, old ? old + (took_ns - old) / 8 : took_ns + 1,
                          memory_order_relaxed);
}

void hki_calls_task_fail_for_memory(hki_task *task, int64_t piece, const hki_device *device,
                                    uint64_t bytes)
{
    hki_task_fail(task, piece, HK_OUT_OF_MEMORY,
                  "%s has no room for %" PRIu64
                  " bytes; release arrays or raise memory_bytes (HOCKET_MEMORY)",
                  device->name, bytes);
}
