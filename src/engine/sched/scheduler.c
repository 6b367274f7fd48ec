/* What the workers of a runtime share: made, and destroyed. */
#include "engine/sched/queue.h"

#include "base/integer.h"
#include "engine/core/score.h"

#include <stdlib.h>

hki_scheduler *hki_scheduler_create(int devices, int cores)
{
    hki_scheduler *self = hki_zeroed_lines(sizeof *self);
    if (!self)
        return NULL;
    self->core_count = cores;
    self->budget_count = devices < cores ? devices : cores;
    self->budgets = hki_zeroed_lines((size_t)self->budget_count * sizeof *self->budgets);
    if (!self->budgets) {
        free(self);
        return NULL;
    }
    return self;
}

void hki_scheduler_destroy(hki_scheduler *self)
{
    if (!self)
        return;
    for (int i = 0; self->counters && i < self->counter_count; i++)
        free(self->counters[i].by_queue);
    free(self->counters);
    free(self->budgets);
    free(self);
}

bool hki_scheduler_complete(hki_runtime *runtime, int cores)
{
    hki_scheduler *self = runtime->scheduler;
    const int count = cores + 1; /* one for the thread that works on a worker's core */
    self->counters = hki_zeroed_lines((size_t)count * sizeof *self->counters);
    runtime->scores = hki_zeroed_lines((size_t)count * sizeof *runtime->scores);
    if (!self->counters || !runtime->scores)
        return false;
    self->counter_count = runtime->score_count = count;
    for (int i = 0; i < count; i++) {
        atomic_store(&runtime->scores[i].first, UINT64_MAX);
        self->counters[i].by_queue =
            hki_zeroed_lines((size_t)runtime->queue_count * sizeof *self->counters[i].by_queue);
        if (!self->counters[i].by_queue)
            return false;
    }
    return true;
}

void hki_progress(hki_runtime *runtime)
{
    hki_scheduler *self = runtime->scheduler;
    if (atomic_load(&self->sleepers) > 0)
        hki_futex_bump(&self->progress, INT32_MAX);
}
