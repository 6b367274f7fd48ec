/* Taking another queue's work. A device that waits for another lends its cores: while it has calls that have not finished, and
 * nothing ready, its workers run pieces of tasks that other CPU devices have started. Thread-safe; blocks for no longer than
 * another queue is locked. Queues are their own homes. */
#ifndef HOCKET_ENGINE_SCHED_STEAL_H
#define HOCKET_ENGINE_SCHED_STEAL_H

#include "engine/sched/queue.h"

/* Whether a piece takes so long that it pays to fetch what it needs from another core's cache, and not so long that it
 * would hold up the device which lends. */
static inline bool hki_is_lendable(const hki_task *task)
{
    const int64_t piece_ns = hki_task_piece_ns(task);
    return piece_ns >= HKI_LONG_TASK_NS && piece_ns <= HKI_LENT_NS;
}

/* The task is one more, or one less, of those whose pieces may be taken from its queue. */
static inline void hki_steal_count(const hki_task *task, int change)
{
    if (task->next_piece > 0 && hki_is_lendable(task))
        atomic_fetch_add(&task->runtime->scheduler->lendable_tasks, change);
}

/* A worker of the CPU queue, which has nothing of its own to do, would find a piece. */
bool hki_steal_may_find(hki_queue *queue);
/* Takes a piece for such a worker; its task is NULL when there is none. */
hki_claim hki_steal_piece(hki_queue *queue);
/* The task has started: where there may be a piece to take, wakes a worker of a device that waits and sleeps. Before each
 * piece, since a device may have begun to wait. */
void hki_steal_offer(const hki_task *task);
/* Where there is much to do in the queue, or in the ring: wakes a worker of its own, or, for what is in the ring, of a device
 * that waits. */
void hki_steal_call(hki_queue *queue);

#endif
