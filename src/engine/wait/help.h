/* Helping: a thread that waits runs what is ready meanwhile, one level deep, while a core of that device is free and no worker is
 * going to: to wake one takes 50 us. */
#ifndef HOCKET_ENGINE_WAIT_HELP_H
#define HOCKET_ENGINE_WAIT_HELP_H

#include "engine/policy/throttle.h"
#include "engine/wait/blocking.h"

/* What a thread waits for, and how. */
typedef struct hki_help {
    hki_runtime *runtime;
    /* 0: the wait is over; else how much is left, which tells whether waiting is of use. Thread-safe, never blocks. */
    uint64_t (*left)(const void *what);
    const void *what;
    hki_task *wait;      /* NULL, or the task that stands for the wait, which is told */
    int64_t most_ns;     /* nothing expected to take longer is run; negative: nothing at all */
    int64_t patience_ns; /* gives up when nothing has become less for so long; INT64_MAX: never */
    hki_lease_use lease; /* what the thread makes of a worker's core (sched/lease.h) */
    hki_blocking *blocking; /* begins here if need be; NULL: nobody is told */
} hki_help;

/* Blocks. False: it gave up, or was interrupted. In no task, and without a lock. */
bool hki_help_until(const hki_help *help);

/* Runs pieces of a ready task that this thread is about to wait for, beside the workers that look for work. Where its device has
 * no core free, workers run all of them. */
void hki_help_with(hki_task *task);

#endif
