/* What the workers of a runtime share, and how many tasks have finished: each worker counts its own, by queue and epoch, and
 * whoever asks adds up. */
#include "engine/sched/queue.h"

#include "base/integer.h"
#include "engine/core/score.h"

bool hki_scheduler_complete(hki_runtime *runtime)
{
    hki_scheduler *self = runtime->scheduler;
    const size_t in_line = HKI_CACHE_LINE / sizeof *self->counters;
    const int count = self->core_count + 1;
    self->row = ((size_t)runtime->queue_count + in_line - 1) / in_line * in_line;
    self->counters = hki_zeroed_lines((size_t)count * self->row * sizeof *self->counters);
    runtime->scores = hki_zeroed_lines((size_t)count * sizeof *runtime->scores);
    runtime->score_count = count;
    for (int i = 0; runtime->scores && i < count; i++)
        atomic_store(&runtime->scores[i].first, UINT64_MAX);
    return self->counters && runtime->scores;
}

/* ---- counts ---------------------------------------------------------------------------------------------------------- */

uint64_t hki_queue_finished(hki_queue *queue, unsigned epoch)
{
    const hki_scheduler *scheduler = queue->runtime->scheduler;
    uint64_t finished = atomic_load(&queue->finished_elsewhere[epoch]);
    for (int i = 0; !queue->is_accelerator && i <= scheduler->core_count; i++)
        finished += atomic_load(&hki_finished_by(scheduler, i)[queue->number].count[epoch]);
    return finished;
}

bool hki_has_unfinished(const hki_queue *home)
{
    for (int i = 0; i < home->runtime->queue_count; i++) {
        hki_queue *queue = home->runtime->queues[i];
        for (unsigned epoch = 0; queue->home == home && epoch < 2; epoch++)
            if (atomic_load_explicit(&queue->issued[epoch], memory_order_relaxed) !=
                hki_queue_finished(queue, epoch))
                return true;
    }
    return false;
}

uint64_t hki_finished_tasks(hki_runtime *runtime)
{
    uint64_t finished = 0;
    for (int i = 0; i < runtime->queue_count; i++)
        finished +=
            hki_queue_finished(runtime->queues[i], 0) + hki_queue_finished(runtime->queues[i], 1);
    return finished;
}

uint64_t hki_unfinished_tasks(hki_runtime *runtime)
{
    /* In this order: what has finished has been issued. */
    const uint64_t finished = hki_finished_tasks(runtime);
    return atomic_load(&runtime->issued_tasks) - finished;
}

void hki_executor_put(hki_executor *executor, hki_task *task)
{
    const unsigned epoch = task->epoch;
    hki_queue *queue = epoch == HKI_UNCOUNTED ? NULL : hki_task_queue(task); /* waits have none */
    if (hki_slot_put(&executor->returns, task))
        hki_slot_give_back(&executor->returns);
    if (!queue)
        return;
    if (!HKI_USUALLY(executor->finished_tasks)) {
        atomic_fetch_add(&queue->finished_elsewhere[epoch], 1);
        return;
    }
    /* Nobody else writes it. */
    _Atomic(uint64_t) *count = &executor->finished_tasks[queue->number].count[epoch];
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
                          memory_order_release);
}

/* ---- progress -------------------------------------------------------------------------------------------------------- */

void hki_progress(hki_runtime *runtime)
{
    hki_scheduler *self = runtime->scheduler;
    /* Read by writing, as who falls asleep writes it: so one of the two finds what the other has done. */
    if (atomic_fetch_add(&self->sleepers, 0) > 0)
        hki_futex_bump(&self->progress, INT32_MAX);
}
