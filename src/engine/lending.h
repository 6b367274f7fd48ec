/* A device that waits for another lends its cores: while it has calls that have not finished, and nothing ready, its workers
 * run pieces of tasks that other CPU devices have started. Thread-safe; blocks for no longer than another queue is locked. */
#ifndef HOCKET_ENGINE_LENDING_H
#define HOCKET_ENGINE_LENDING_H

#include "engine/engine_runtime.h"

/* Whether a piece takes so long that it pays to fetch what it needs from another core's cache, and not so long that it
 * would hold up the device which lends. */
static inline bool hki_is_lendable(const hki_task *task)
{
    const int64_t piece_ns = task->spec.expected_ns / task->spec.piece_count;
    return piece_ns >= HKI_LONG_TASK_NS && piece_ns <= HKI_LENT_NS;
}

/* The task is one more, or one less, of those whose pieces may be taken from the queue. */
static inline void hki_lending_count(const hki_task *task, int change)
{
    if (task->next_piece > 0 && hki_is_lendable(task))
        atomic_fetch_add(&task->runtime->lendable_tasks, change);
}

/* Calls on the devices that have these cores have not finished. */
bool hki_has_unfinished(hki_runtime *runtime, const hki_budget *budget);

bool hki_lending_may_help_slow(hki_queue *queue);

/* A worker of the CPU queue, which has nothing of its own to do, would find something. */
static inline bool hki_lending_may_help(hki_queue *queue)
{
    return atomic_load(&queue->runtime->lendable_tasks) > 0 && hki_lending_may_help_slow(queue);
}

/* Takes a piece for such a worker; its task is NULL when there is none. */
hki_claim hki_lending_take(hki_queue *queue);
/* Wakes a worker of another device that waits and sleeps, if there is one. */
void hki_lending_wake(const hki_queue *queue);
/* The task has started: where there may be a piece to take, wakes a worker of a device that waits and sleeps. Before each
 * piece, since a device may have begun to wait. */
void hki_lending_offer(const hki_task *task);

#endif
