/* What the workers of a runtime share: cores, counts of finished tasks, and where they park. */
#ifndef HOCKET_ENGINE_SCHED_SCHEDULER_H
#define HOCKET_ENGINE_SCHED_SCHEDULER_H

#include "device/cpu/cpu_topology.h"
#include "engine/core/slot.h"
#include "engine/sched/lease.h"
#include "engine/sched/park.h"

/* Cores for the threads that launch: those that no CPU device has; where there are none, whatever core a CPU device
 * does not use at the moment. */
typedef struct hki_launch_cores {
    int count;
    int processors[HKI_MAX_CORES];
} hki_launch_cores;

/* Tasks by epoch. */
typedef struct hki_finished {
    _Atomic(uint64_t) count[2];
} hki_finished;

struct hki_scheduler {
    int home_count, core_count; /* queues of CPU devices that have workers, and all their cores */
    /* How long threads look for what others do before they sleep: not at all where those have no core to do it on. */
    int64_t spin_ns;
    /* By a worker's slot, then by the queue's number: that worker alone writes them. One slot for each core of the CPU devices,
     * and one for lease.c, as there are scores. */
    hki_finished *counters;
    size_t row; /* of those of a slot, whole lines of memory */
    hki_launch_cores launch_cores;
    /* Started, with pieces in a queue: see steal.h. */
    _Alignas(HKI_CACHE_LINE) _Atomic(int) lendable_tasks;
    _Atomic(uint32_t) waiters; /* threads that wait for tasks */
    /* Threads that sleep until there is progress. */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint32_t) sleepers, progress;
    _Atomic(uint64_t) helped_calls;
    _Atomic(uint64_t) run_ahead_sampled, counters_sampled; /* ticks: see tracing.c */
    hki_lease lease;
};

static inline hki_finished *hki_finished_by(const hki_scheduler *scheduler, int slot)
{
    return scheduler->counters + (size_t)slot * scheduler->row;
}

/* Tasks that have finished, of all queues and epochs. */
uint64_t hki_finished_tasks(hki_runtime *runtime);
/* How many that were issued have not. */
uint64_t hki_unfinished_tasks(hki_runtime *runtime);

/* Wakes waiting threads, if there are any that sleep. Call it after the write that they wait for. */
void hki_progress(hki_runtime *runtime);

/* Counts and scores, for all cores of CPU devices, when all queues are there. False: no memory. */
bool hki_scheduler_complete(hki_runtime *runtime);

#endif
