/* A thread that runs tasks now: a worker, or one that submits or waits. Externally synchronised: its own thread's. */
#ifndef HOCKET_ENGINE_SCHED_EXECUTOR_H
#define HOCKET_ENGINE_SCHED_EXECUTOR_H

#include "engine/sched/scheduler.h"

typedef struct hki_claim {
    hki_task *task; /* NULL: nothing there */
    int64_t piece;  /* -1: the whole task, not started */
} hki_claim;

/* Zeroed: of a thread that runs what it is told to. */
typedef struct hki_executor {
    hki_queue *queue; /* whose worker it is, which may keep one ready successor; else NULL */
    hki_finished *finished_tasks; /* a worker's counters; NULL: those of all others */
    int slot;                     /* of these, and of its score */
    bool only_short;              /* takes from the ring only what needs no gates */
    int instants;                 /* tasks run while others were held back */
    int batch_count;              /* short tasks to be run: see scoreboard.h */
    int64_t batch_ns;
    bool is_stalled; /* what others run is in the way of the next one */
    hki_task *batch[HKI_BATCH_TASKS];
    hki_slot_returns returns;
} hki_executor;

/* The task has ended: its slot is another's once hki_slot_give_back is called, before the executor goes or pauses; and it counts
 * as finished. Threads that wait for all of its queue are woken, where they sleep, by hki_progress, when the executor runs out
 * of tasks. */
void hki_executor_put(hki_executor *executor, hki_task *task);

/* ---- execute.c ------------------------------------------------------------------------------------------------------ */

/* Several threads may run pieces of it: on one core they would only be handed from hand to hand. */
static inline bool hki_is_divided(const hki_task *task)
{
    return task->spec.piece_count > 1 && task->runtime->scheduler->core_count > 1;
}

/* Runs what was claimed; returns a successor to run next, in a worker. */
hki_task *hki_execute(hki_executor *executor, hki_claim claim);
/* Runs what was claimed in a thread that is no worker. */
void hki_execute_foreign(hki_claim claim);
/* Ends a task: failures, gates, finish, counters. Returns a ready successor for a worker. */
hki_task *hki_task_complete(hki_executor *executor, hki_task *task);
/* Ends the task of a wait: puts what it held back, and is ready, before `ready`. */
hki_task *hki_task_end_wait(hki_executor *executor, hki_task *wait, hki_task *ready);
/* Gives ready tasks, linked through queue_next, to the threads that wait for them or to their queues; a worker gets one of its
 * own device back. */
hki_task *hki_task_dispatch(hki_executor *executor, hki_task *ready);
/* Hands a task over that is_outside. It may be gone on return. */
void hki_outside_run(hki_task *task);
/* The serial engine's: blocks until the task has been ended. It is then to be completed. */
void hki_outside_await(hki_task *task);
/* The serial engine's promises, whose lock is expected. Keeps one that begins. */
void hki_promise_put_locked(hki_task *task);
/* One that conflicts with the access (NULL: any) has not been kept or broken. */
bool hki_promise_is_open_locked(hki_runtime *runtime, const hki_access *access);
/* Of those that have been. */
void hki_promises_complete_locked(hki_runtime *runtime);
/* Once the runtime is ending: a thread that still issues a task, or makes one ready, finishes it, cancelled, in place. */
void hki_cancel_all(hki_runtime *runtime);

#endif
