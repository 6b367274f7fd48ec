/* Short tasks, which no gates are made for (core/score.h says what variables remember of them). A worker takes a batch of
 * them from the ring, in order: what follows and conflicts waits until that task has run, which is soon. So several workers
 * run such tasks side by side, and each variable costs one line of memory. The shortest of all are run by one worker, while
 * the others wait for the ring: to take them elsewhere would take longer. */
#ifndef HOCKET_ENGINE_SCHED_SCOREBOARD_H
#define HOCKET_ENGINE_SCHED_SCOREBOARD_H

#include "engine/sched/ring.h"

typedef enum hki_scored {
    HKI_SCORED_NOT,    /* it is no such task, or waits for one that has gates */
    HKI_SCORED_RUN,    /* it has run */
    HKI_SCORED_TAKEN,  /* into the executor's batch */
    HKI_SCORED_STALLED /* something that another executor's batch runs is in its way */
} hki_scored;

/* For a task of the ring at this position. Expects the ring's lock. */
hki_scored hki_scoreboard_try(hki_executor *executor, hki_task *task, uint64_t position);
bool hki_batch_is_full(const hki_executor *executor);
/* Runs the batch. Expects that nobody holds the ring's lock for this thread. */
void hki_batch_run(hki_executor *executor);
/* After so few that it took longer to look for them than to run them: lets some more come, for a few microseconds. */
void hki_batch_gather(int taken);

#endif
