/* The ready tasks of one device: a short list under a lock, and who is awake to take from it. */
#include "engine/engine_internal.h"

static void link_last(hki_queue *queue, hki_task *task)
{
    int index = task->spec.collective ? 0 : 1;
    task->queue_next = NULL;
    task->queue_previous = queue->lists[index].last;
    if (task->queue_previous)
        task->queue_previous->queue_next = task;
    else
        queue->lists[index].first = task;
    queue->lists[index].last = task;
    atomic_store_explicit(&task->queued_in, queue, memory_order_relaxed);
}

static void link_first(hki_queue *queue, hki_task *task)
{
    int index = task->spec.collective ? 0 : 1;
    task->queue_previous = NULL;
    task->queue_next = queue->lists[index].first;
    if (task->queue_next)
        task->queue_next->queue_previous = task;
    else
        queue->lists[index].last = task;
    queue->lists[index].first = task;
    atomic_store_explicit(&task->queued_in, queue, memory_order_relaxed);
}

static void unlink_task(hki_queue *queue, hki_task *task)
{
    int index = task->spec.collective ? 0 : 1;
    if (task->queue_previous)
        task->queue_previous->queue_next = task->queue_next;
    else
        queue->lists[index].first = task->queue_next;
    if (task->queue_next)
        task->queue_next->queue_previous = task->queue_previous;
    else
        queue->lists[index].last = task->queue_previous;
    atomic_store_explicit(&task->queued_in, NULL, memory_order_relaxed);
    atomic_fetch_sub_explicit(&queue->ready, 1, memory_order_relaxed);
}

/* Wakes a worker unless one is looking already: that one wakes the next when it finds more. */
void hki_queue_notify(hki_queue *queue)
{
    if (atomic_load(&queue->spinners) == 0 && atomic_load(&queue->sleepers) > 0) {
        atomic_fetch_add(&queue->wake_word, 1);
        hki_futex_wake(&queue->wake_word, 1);
    }
}

void hki_queue_push(hki_queue *queue, hki_task *task)
{
    hki_lock_acquire(&queue->lock);
    link_last(queue, task);
    atomic_fetch_add(&queue->ready, 1);
    hki_lock_release(&queue->lock);
    hki_queue_notify(queue);
}

void hki_queue_push_pieces(hki_queue *queue, hki_task *task)
{
    hki_lock_acquire(&queue->lock);
    link_first(queue, task);
    atomic_fetch_add(&queue->ready, 1);
    hki_lock_release(&queue->lock);
    hki_queue_notify(queue);
}

/* The whole task, or the next piece of one that has started. */
static hki_claim claim_locked(hki_queue *queue, hki_task *task)
{
    int64_t piece = task->next_piece;
    if (piece < 0) {
        unlink_task(queue, task);
    } else {
        task->next_piece++;
        if (task->next_piece == task->spec.piece_count)
            unlink_task(queue, task);
    }
    return (hki_claim){task, piece};
}

hki_claim hki_queue_pop(hki_queue *queue)
{
    hki_claim claim = {NULL, -1};
    if (atomic_load_explicit(&queue->ready, memory_order_relaxed) == 0)
        return claim;
    hki_lock_acquire(&queue->lock);
    hki_task *task = queue->lists[0].first ? queue->lists[0].first : queue->lists[1].first;
    if (task)
        claim = claim_locked(queue, task);
    bool more = queue->lists[0].first || queue->lists[1].first;
    hki_lock_release(&queue->lock);
    if (more)
        hki_queue_notify(queue);
    return claim;
}

hki_claim hki_queue_take(hki_queue *queue, hki_task *task, uint64_t sequence)
{
    hki_claim claim = {NULL, -1};
    hki_lock_acquire(&queue->lock);
    /* Being in this queue while its lock is held keeps the slot from being anything else. */
    if (atomic_load_explicit(&task->queued_in, memory_order_relaxed) == queue &&
        atomic_load_explicit(&task->sequence, memory_order_relaxed) == sequence)
        claim = claim_locked(queue, task);
    hki_lock_release(&queue->lock);
    return claim;
}

bool hki_budget_try_acquire(hki_budget *budget)
{
    int32_t cores = atomic_load(&budget->free_cores);
    while (cores > 0)
        if (atomic_compare_exchange_weak(&budget->free_cores, &cores, cores - 1))
            return true;
    return false;
}

void hki_budget_release(hki_queue *queue)
{
    hki_budget *budget = queue->budget;
    atomic_fetch_add(&budget->free_cores, 1);
    if (!budget->shared) {
        if (atomic_load(&queue->ready) > 0)
            hki_queue_notify(queue);
        return;
    }
    hki_runtime *runtime = queue->runtime;
    for (int i = 0; i < runtime->device_count; i++) {
        hki_queue *peer = runtime->devices[i]->queue;
        if (peer->budget == budget && atomic_load(&peer->ready) > 0)
            hki_queue_notify(peer);
    }
}

uint64_t hki_queue_finished(hki_queue *queue, unsigned epoch)
{
    uint64_t finished = 0;
    for (int i = 0; i <= queue->worker_count; i++)
        finished += atomic_load(&queue->counters[i].finished[epoch]);
    return finished;
}
