/* What the workers of a runtime share: cores, counts of finished tasks, and where they park. */
#ifndef HOCKET_ENGINE_SCHED_SCHEDULER_H
#define HOCKET_ENGINE_SCHED_SCHEDULER_H

#include "device/cpu/cpu_topology.h"
#include "engine/core/slot.h"
#include "engine/sched/lease.h"
#include "engine/sched/park.h"

/* ---- cores ---------------------------------------------------------------------------------------------------------- */

/* Cores that a device, or several devices that share them, may keep busy at a time. */
typedef struct hki_budget {
    _Atomic(int32_t) free_cores;
    /* By devices of one core each: any of their workers runs what is ready in any of their queues. */
    bool shared;
    /* Of those that share it: queues that may have something to do, a bit each by their place in runtime->queues, and
     * whose turn it is then. */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) ready;
    _Atomic(uint32_t) turn;
} hki_budget;

static inline bool hki_budget_try_acquire(hki_budget *budget)
{
    int32_t cores = atomic_load(&budget->free_cores);
    while (cores > 0)
        if (atomic_compare_exchange_weak(&budget->free_cores, &cores, cores - 1))
            return true;
    return false;
}

/* Cores for the threads that launch: those that no CPU device has; where there are none, whatever core a CPU device
 * does not use at the moment. */
typedef struct hki_launch_cores {
    _Atomic(int32_t) free;
    int count;
    int processors[HKI_MAX_CORES];
} hki_launch_cores;

/* ---- counts (count.c) ------------------------------------------------------------------------------------------------ */

/* Tasks by epoch. */
typedef struct hki_finished {
    _Atomic(uint64_t) count[2];
} hki_finished;

/* Of the workers of each core: how many tasks they have finished. The worker that has the core writes it. */
typedef struct hki_counter {
    /* In all, told when slots are given back; and by the queue's number, at once. */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) finished;
    hki_finished *by_queue;
} hki_counter;

struct hki_scheduler {
    hki_budget *budgets;
    int budget_count, core_count, counter_count;
    hki_counter *counters; /* one for each core of the CPU devices, and one for lease.c */
    hki_launch_cores launch_cores;
    _Alignas(HKI_CACHE_LINE) _Atomic(uint32_t) attentive; /* workers, of all CPU devices */
    _Atomic(int) lendable_tasks; /* started, with pieces in a queue: see steal.h */
    _Atomic(uint32_t) waiters;   /* where somebody asks (counts_waiters): threads that wait */
    /* Threads that sleep until there is progress. */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint32_t) sleepers, progress;
    _Atomic(uint64_t) finished_elsewhere; /* tasks, by threads that are no workers */
    _Atomic(uint64_t) helped_calls;
    _Atomic(uint64_t) run_ahead_sampled, counters_sampled; /* ticks: see tracing.c */
    hki_lease lease;
};

/* Tasks that have finished, of all queues and epochs, as told: up to 32 less for each worker. */
uint64_t hki_finished_tasks(hki_runtime *runtime);
/* The same as counted, which takes longer with many devices. */
uint64_t hki_counted_tasks(hki_runtime *runtime);
/* How many that were issued have not finished, to the last one. */
uint64_t hki_counted_unfinished(hki_runtime *runtime);

/* ---- progress -------------------------------------------------------------------------------------------------------- */

/* Wakes waiting threads, if there are any that sleep. Call it after the sequentially consistent write that they wait for. */
void hki_progress(hki_runtime *runtime);

/* ---- life (scheduler.c) ---------------------------------------------------------------------------------------------- */

/* When all queues are there: what their workers share. cores: of CPU devices. False: no memory. */
bool hki_scheduler_complete(hki_runtime *runtime, int cores);
/* Of this many CPU devices, on those cores; NULL: no memory. */
hki_scheduler *hki_scheduler_create(int devices, int cores);
void hki_scheduler_destroy(hki_scheduler *scheduler);

#endif
