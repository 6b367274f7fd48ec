/* Trace points of tasks and of threads that wait: nothing but a look where nothing is recorded. */
#ifndef HOCKET_ENGINE_SCHED_TRACING_H
#define HOCKET_ENGINE_SCHED_TRACING_H

#include "engine/sched/queue.h"

void hki_tracing_name_worker(const hki_worker *worker);
void hki_tracing_name_launcher(int index);
/* The task has its sequence number, and is not ready yet. Expects the issue lock. */
void hki_tracing_issue_locked(const hki_task *task);

/* A thread runs a piece, or a whole task: `begin` when it takes it, `piece` when the kernel has returned and the
 * piece still counts as unfinished, `end` in the thread that then completes the task, before hki_task_complete. A
 * task that does not start has no `piece`. */
typedef struct hki_run_point {
    hki_trace *trace; /* NULL: nothing is recorded */
    uint64_t sequence, begin_ticks;
    bool has_noted;               /* a piece, */
    hki_trace_run_record *record; /* which is here; NULL: it was lost */
} hki_run_point;

hki_run_point hki_tracing_begin(const hki_task *task);
void hki_tracing_piece(hki_run_point *point, const hki_task *task, int64_t piece);
void hki_tracing_end(const hki_run_point *point, const hki_task *task);

/* A thread waits: `wait` before, in no task and without a lock; `waited` after. */
typedef struct hki_wait_point {
    hki_trace *trace; /* NULL: nothing is recorded */
    hki_runtime *runtime;
    uint64_t begin_ticks, sequence;
} hki_wait_point;

hki_wait_point hki_tracing_wait(hki_runtime *runtime);
/* device: what was waited for, -1 for none. */
void hki_tracing_waited(const hki_wait_point *point, hki_trace_wait_kind kind, int device);

#endif
