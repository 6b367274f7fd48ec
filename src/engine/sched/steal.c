/* Devices split the machine's cores, so that each works by itself; but one that waits for another, as at the end of a step
 * for gradients, has no use for its own. Another program on one of the cores, or an uneven split, would hold up all of them
 * for as long as it holds up the slowest. Pieces are the same wherever they run, and so are the bytes. A device without
 * unfinished calls lends nothing: a program that measures what one device can do finds that. */
#include "engine/sched/steal.h"

#include "engine/sched/ring.h"

bool hki_steal_may_find(hki_queue *queue)
{
    return atomic_load(&queue->runtime->scheduler->lendable_tasks) > 0 &&
           hki_ticks() - atomic_load_explicit(&queue->failed_steal_ticks, memory_order_relaxed) >
               HKI_LONG_TASK_TICKS &&
           hki_has_unfinished(queue);
}

hki_claim hki_steal_piece(hki_queue *queue)
{
    hki_runtime *runtime = queue->runtime;
    hki_claim claim = {NULL, -1};
    if (!hki_steal_may_find(queue))
        return claim;
    const int homes = runtime->scheduler->home_count;
    for (int i = 1; i < homes && !claim.task; i++)
        claim = hki_queue_take_piece(runtime->queues[(queue->number + i) % homes], NULL);
    if (!claim.task)
        atomic_store_explicit(&queue->failed_steal_ticks, hki_ticks(), memory_order_relaxed);
    return claim;
}

/* Wakes a worker of another device that waits and sleeps, if there is one. */
static void wake_elsewhere(const hki_queue *queue)
{
    hki_runtime *runtime = queue->runtime;
    for (int i = 0; i < runtime->scheduler->home_count; i++) {
        hki_queue *other = runtime->queues[i];
        if (other != queue && hki_park_has_sleepers(&other->park) &&
            !hki_park_is_attended(&other->park) && hki_has_unfinished(other)) {
            hki_queue_wake(other);
            return;
        }
    }
}

void hki_steal_offer(const hki_task *task)
{
    if (hki_is_lendable(task) && atomic_load(&task->runtime->scheduler->lendable_tasks) > 0)
        wake_elsewhere(hki_task_home(task));
}

void hki_steal_call(hki_queue *queue)
{
    hki_ring *ring = queue->runtime->ring;
    if (atomic_load(&queue->park.spinners) > 0)
        return;
    if (atomic_load_explicit(&queue->backlog_ns, memory_order_relaxed) >= HKI_LONG_TASK_NS)
        hki_queue_wake(queue);
    if (!ring || hki_ring_backlog_ns(ring) < HKI_LONG_TASK_NS)
        return;
    if (hki_park_has_sleepers(&queue->park))
        hki_queue_wake(queue);
    else
        wake_elsewhere(queue);
}
