/* What the workers of a runtime share: made, and destroyed. */
#include "engine/sched/queue.h"

#include "base/integer.h"
#include "engine/core/score.h"

#include <stdlib.h>

void hki_scheduler_destroy(hki_scheduler *self)
{
    for (int i = 0; self && self->counters && i < self->counter_count; i++)
        free(self->counters[i]);
    if (self)
        free(self->counters);
    free(self);
}

bool hki_scheduler_complete(hki_runtime *runtime)
{
    hki_scheduler *self = runtime->scheduler;
    const int count = self->core_count + 1;
    self->counters = hki_zeroed_lines((size_t)count * sizeof *self->counters);
    runtime->scores = hki_zeroed_lines((size_t)count * sizeof *runtime->scores);
    if (!self->counters || !runtime->scores)
        return false;
    self->counter_count = runtime->score_count = count;
    for (int i = 0; i < count; i++) {
        atomic_store(&runtime->scores[i].first, UINT64_MAX);
        self->counters[i] =
            hki_zeroed_lines((size_t)runtime->queue_count * sizeof **self->counters);
        if (!self->counters[i])
            return false;
    }
    return true;
}

void hki_progress(hki_runtime *runtime)
{
    hki_scheduler *self = runtime->scheduler;
    /* Read by writing, as who falls asleep writes it: so one of the two finds what the other has done. */
    if (atomic_fetch_add(&self->sleepers, 0) > 0)
        hki_futex_bump(&self->progress, INT32_MAX);
}
