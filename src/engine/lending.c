/* Devices split the machine's cores, so that each works by itself; but one that waits for another, as at the end of a step
 * for gradients, has no use for its own. Another program on one of the cores, or an uneven split, would hold up all of them
 * for as long as it holds up the slowest. Pieces are the same whoever runs them, and so are the bytes. A device without
 * unfinished calls lends nothing: who measures what one device can do finds that. */
#include "engine/engine_internal.h"

bool hki_has_unfinished(hki_runtime *runtime, const hki_budget *budget)
{
    for (int i = 0; i < runtime->queue_count; i++) {
        hki_queue *queue = runtime->queues[i];
        for (unsigned epoch = 0; queue->budget == budget && epoch < 2; epoch++)
            if (atomic_load_explicit(&queue->issued[epoch], memory_order_relaxed) !=
                hki_queue_finished(queue, epoch))
                return true;
    }
    return false;
}

static bool is_elsewhere(const hki_queue *queue, const hki_queue *other)
{
    return other->budget && other->budget != queue->budget;
}

bool hki_lending_may_help_slow(hki_queue *queue)
{
    return hki_ticks() - atomic_load_explicit(&queue->barren_ticks, memory_order_relaxed) >
               HKI_LONG_TASK_TICKS &&
           hki_has_unfinished(queue->runtime, queue->budget);
}

hki_claim hki_lending_take(hki_queue *queue)
{
    hki_runtime *runtime = queue->runtime;
    hki_claim claim = {NULL, -1};
    if (atomic_load(&runtime->lendable_tasks) == 0 || !hki_has_unfinished(runtime, queue->budget))
        return claim;
    for (int i = 1; i < runtime->queue_count && !claim.task; i++) {
        hki_queue *other = runtime->queues[(queue->number + i) % runtime->queue_count];
        if (is_elsewhere(queue, other))
            claim = hki_queue_take_piece(other);
    }
    if (!claim.task)
        atomic_store_explicit(&queue->barren_ticks, hki_ticks(), memory_order_relaxed);
    return claim;
}

void hki_lending_wake(const hki_queue *queue)
{
    hki_runtime *runtime = queue->runtime;
    for (int i = 0; runtime->budget_count > 1 && i < runtime->queue_count; i++) {
        hki_queue *other = runtime->queues[i];
        if (is_elsewhere(queue, other) && atomic_load(&other->park->sleepers) > 0 &&
            atomic_load(&other->park->attentive) == 0 &&
            hki_has_unfinished(runtime, other->budget)) {
            hki_queue_wake(other);
            return;
        }
    }
}

void hki_lending_offer(const hki_task *task)
{
    if (hki_is_lendable(task) && atomic_load(&task->runtime->lendable_tasks) > 0)
        hki_lending_wake(hki_task_queue(task));
}
