/* Trace points of tasks and of threads that wait: nothing but a look where nothing is recorded. */
#ifndef HOCKET_ENGINE_SCHED_TRACING_H
#define HOCKET_ENGINE_SCHED_TRACING_H

#include "engine/sched/queue.h"

void hki_tracing_name_worker(const hki_worker *worker);
void hki_tracing_name_launcher(int index);
void hki_tracing_issue_locked(hki_trace *trace, const hki_task *task);

/* The task has its sequence number, and is not ready yet. Expects the issue lock. */
static inline void hki_tracing_issue(const hki_task *task)
{
    hki_trace *trace = hki_tracing(task->runtime);
    if (trace)
        hki_tracing_issue_locked(trace, task);
}

/* A thread runs a piece, or a whole task: `begin` when it takes it, `piece` when the kernel has returned and the
 * piece still counts as unfinished, `end` in the thread that then completes the task, before hki_task_complete. A
 * task that does not start has no `piece`. Passed on by value, so that it costs nothing where nothing is recorded. */
typedef struct hki_run_point {
    hki_trace *trace; /* NULL: nothing is recorded */
    uint64_t sequence, begin_ticks;
    bool has_noted;               /* a piece, */
    hki_trace_run_record *record; /* which is here; NULL: it was lost */
} hki_run_point;

hki_run_point hki_tracing_note_piece(hki_run_point point, const hki_task *task, int64_t piece);
void hki_tracing_note_end(hki_run_point point, const hki_task *task);

static inline hki_run_point hki_tracing_begin(const hki_task *task)
{
    hki_run_point point = {.trace = hki_tracing(task->runtime)};
    if (point.trace) {
        point.sequence = hki_task_sequence(task);
        point.begin_ticks = hki_ticks();
    }
    return point;
}

static inline void hki_tracing_piece(hki_run_point *point, const hki_task *task, int64_t piece)
{
    if (point->trace)
        *point = hki_tracing_note_piece(*point, task, piece);
}

static inline void hki_tracing_end(const hki_run_point *point, const hki_task *task)
{
    if (point->trace)
        hki_tracing_note_end(*point, task);
}

/* A thread waits: `wait` before, in no task and without a lock; `waited` after. */
typedef struct hki_wait_point {
    hki_trace *trace; /* NULL: nothing is recorded */
    hki_runtime *runtime;
    uint64_t begin_ticks, sequence;
} hki_wait_point;

void hki_tracing_note_wait(hki_wait_point *point, hki_runtime *runtime);
void hki_tracing_note_waited(const hki_wait_point *point, hki_trace_wait_kind kind, int device);

static inline hki_wait_point hki_tracing_wait(hki_runtime *runtime)
{
    hki_wait_point point = {.trace = hki_tracing(runtime)};
    if (point.trace)
        hki_tracing_note_wait(&point, runtime);
    return point;
}

/* device: what was waited for, -1 for none. */
static inline void hki_tracing_waited(const hki_wait_point *point, hki_trace_wait_kind kind,
                                      int device)
{
    if (point->trace)
        hki_tracing_note_waited(point, kind, device);
}

#endif
