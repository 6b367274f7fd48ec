/* How workers of CPU devices keep the order of calls for the threads that issue them. Tasks that go to a worker wait in one
 * ring for all CPU devices, in the order in which they were issued. A worker that is looking for work, and whose device has
 * calls that have not finished, takes them from it and runs them by the scoreboard, where they are short, whatever device
 * they are for, or else registers them. So variables and gates stay in the caches of the cores that run tasks.
 *
 * The thread that *keeps order* changes the lists of gates, and has registered all tasks with a place before what comes
 * next. Where there is no ring, that is the one that holds the issue lock. Else, while there are tasks in the ring, it is
 * the one that holds the ring's lock, and while there are none, the one that holds the issue lock. */
#ifndef HOCKET_ENGINE_SCHED_RING_H
#define HOCKET_ENGINE_SCHED_RING_H

#include "engine/sched/queue.h"

struct hki_ring {
    _Alignas(HKI_CACHE_LINE) hki_lock lock; /* for taking */
    /* How far a task is, of late, from the nearest before it that it depends on; lock for writing. */
    _Atomic(uint64_t) distance;
    hki_runtime *runtime;
    /* Put under the issue lock. */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) put; /* so many were */
    _Atomic(int64_t) put_ns;                        /* their backlog */
    uint64_t seen_taken;                            /* issue lock */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) taken;
    _Atomic(int64_t) taken_ns;
    hki_task *entries[HKI_RING_TASKS];
};

/* NULL: no memory. */
hki_ring *hki_ring_create(hki_runtime *runtime);

/* Nothing is to be taken. ring may be NULL. */
static inline bool hki_ring_is_empty(hki_ring *ring)
{
    return !ring || atomic_load_explicit(&ring->taken, memory_order_acquire) ==
                        atomic_load_explicit(&ring->put, memory_order_acquire);
}

/* It needs no gates unless it waits for one that has: see scoreboard.h. */
static inline bool hki_task_is_short(const hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    return spec->class->leaf && spec->expected_ns <= HKI_SHORT_NS && spec->piece_count == 1;
}

/* Puts a task into the ring; hki_queue_notify is to be called when the issue lock, which this expects, is released.
 * False: no room. */
bool hki_ring_put_locked(hki_ring *ring, hki_task *task);
/* Something is to be taken by a thread that has a core of the queue's device: not where all calls on that have finished, 20 us
 * ago and more. What is in the ring has nothing to do with it then, and may turn out to be long. */
bool hki_ring_is_for(hki_ring *ring, hki_queue *queue);
/* What those in the ring are expected to take. */
int64_t hki_ring_backlog_ns(hki_ring *ring);
/* Takes tasks off the ring, for a thread that has a core of the queue's device and runs nothing. A worker, `executor`, takes
 * the short ones for its batch, or runs them at once; others are registered, until one of the queue is ready, *claim, which
 * is not expected to take more than most_ns. Those of other queues go there. Returns how many it took off. */
int hki_ring_take(hki_ring *ring, hki_queue *queue, hki_executor *executor, int64_t most_ns,
                  hki_claim *claim);

/* Registers what is in the ring, until nothing is left. Expects the issue lock. */
void hki_ring_drain_locked(hki_ring *ring);

/* The thread keeps order until it releases the issue lock, which this expects. */
static inline void hki_ring_keep_order_locked(hki_runtime *runtime)
{
    if (!hki_ring_is_empty(runtime->ring))
        hki_ring_drain_locked(runtime->ring);
}

/* The same, and acquires the issue lock. */
static inline void hki_ring_acquire(hki_runtime *runtime)
{
    hki_biased_acquire(&runtime->issue_lock);
    hki_ring_keep_order_locked(runtime);
}

#endif
