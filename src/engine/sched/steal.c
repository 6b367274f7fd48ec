/* Devices split the machine's cores, so that each works by itself; but one that waits for another, as at the end of a step
 * for gradients, has no use for its own. Another program on one of the cores, or an uneven split, would hold up all of them
 * for as long as it holds up the slowest. Pieces are the same wherever they run, and so are the bytes. A device without
 * unfinished calls lends nothing: a program that measures what one device can do finds that. */
#include "engine/sched/steal.h"

#include "engine/sched/ring.h"

hki_queue *hki_steal_enter(hki_queue *queue)
{
    hki_budget *budget = queue->budget;
    if (!budget->shared)
        return queue;
    const uint64_t ready = atomic_load(&budget->ready);
    if (!ready)
        return hki_ring_is_empty(queue->runtime->ring) ? NULL : queue;
    const uint32_t turn = atomic_load_explicit(&budget->turn, memory_order_relaxed);
    const uint64_t later = ready >> turn << turn;
    const int next = __builtin_ctzll(later ? later : ready);
    atomic_store_explicit(&budget->turn, (uint32_t)(next + 1) % 64, memory_order_relaxed);
    atomic_fetch_and(&budget->ready, ~((uint64_t)1 << next));
    return queue->runtime->queues[next];
}

void hki_steal_leave(hki_queue *entered)
{
    if (entered->budget->shared && hki_queue_is_ready(entered))
        atomic_fetch_or(&entered->budget->ready, (uint64_t)1 << entered->number);
}

/* ---- pieces of other devices ----------------------------------------------------------------------------------------- */

static bool is_elsewhere(const hki_queue *queue, const hki_queue *other)
{
    return other->budget && other->budget != queue->budget;
}

bool hki_steal_may_find(hki_queue *queue)
{
    return atomic_load(&queue->runtime->scheduler->lendable_tasks) > 0 &&
           hki_ticks() - atomic_load_explicit(&queue->failed_steal_ticks, memory_order_relaxed) >
               HKI_LONG_TASK_TICKS &&
           hki_has_unfinished(queue->runtime, queue->budget);
}

hki_claim hki_steal_piece(hki_queue *queue)
{
    hki_runtime *runtime = queue->runtime;
    hki_claim claim = {NULL, -1};
    if (atomic_load(&runtime->scheduler->lendable_tasks) == 0 ||
        !hki_has_unfinished(runtime, queue->budget))
        return claim;
    for (int i = 1; i < runtime->queue_count && !claim.task; i++) {
        hki_queue *other = runtime->queues[(queue->number + i) % runtime->queue_count];
        if (is_elsewhere(queue, other))
            claim = hki_queue_take_piece(other);
    }
    if (!claim.task)
        atomic_store_explicit(&queue->failed_steal_ticks, hki_ticks(), memory_order_relaxed);
    return claim;
}

/* Wakes a worker of another device that waits and sleeps, if there is one. */
static void wake_elsewhere(const hki_queue *queue)
{
    hki_runtime *runtime = queue->runtime;
    for (int i = 0; runtime->scheduler->budget_count > 1 && i < runtime->queue_count; i++) {
        hki_queue *other = runtime->queues[i];
        if (is_elsewhere(queue, other) && hki_park_has_sleepers(other->park) &&
            !hki_park_is_attended(other->park) && hki_has_unfinished(runtime, other->budget)) {
            hki_queue_wake(other);
            return;
        }
    }
}

void hki_steal_offer(const hki_task *task)
{
    if (hki_is_lendable(task) && atomic_load(&task->runtime->scheduler->lendable_tasks) > 0)
        wake_elsewhere(hki_task_queue(task));
}

void hki_steal_call(hki_queue *queue)
{
    hki_ring *ring = queue->runtime->ring;
    const bool is_shared = queue->budget && queue->budget->shared;
    if (atomic_load(&queue->park->spinners) > 0)
        return;
    if (!is_shared &&
        atomic_load_explicit(&queue->backlog_ns, memory_order_relaxed) >= HKI_LONG_TASK_NS)
        hki_queue_wake(queue);
    if (!ring || hki_ring_backlog_ns(ring) < HKI_LONG_TASK_NS)
        return;
    if (!is_shared && hki_park_has_sleepers(queue->park))
        hki_queue_wake(queue);
    else
        wake_elsewhere(queue);
}
