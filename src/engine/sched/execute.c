/* Running what was claimed, and completing it. */
#include "engine/core/stage.h"
#include "engine/sched/queue.h"
#include "engine/sched/ring.h"
#include "engine/sched/steal.h"
#include "engine/sched/tracing.h"

#include <fenv.h>

/* ---- completing ------------------------------------------------------------------------------------------------------ */

hki_task *hki_task_end_wait(hki_executor *executor, hki_task *wait, hki_task *ready)
{
    if (wait->runtime->accelerated)
        wait->end_ns = hki_clock_ns();
    ready = hki_task_open_gates(wait, ready);
    hki_task_finish(wait);
    hki_executor_put(executor, wait);
    return ready;
}

hki_task *hki_task_dispatch(hki_executor *executor, hki_task *ready)
{
    hki_task *kept = NULL;
    while (ready) {
        hki_task *task = ready;
        ready = task->queue_next;
        if (task->is_wait) {
            /* The slot may be another's by the time of the wake: slots stay, and who sleeps looks. */
            const uint32_t before = atomic_exchange(&task->signalled, HKI_SIGNALLED);
            if (before == HKI_SLEEPING)
                hki_futex_wake(&task->signalled, 1);
            else if (before == HKI_LEFT)
                ready = hki_task_end_wait(executor, task, ready); /* nobody waits any more */
            continue;
        }
        if (executor->queue && !kept && hki_task_home(task) == executor->queue)
            kept = task;
        else
            hki_queue_push(task);
    }
    return kept;
}

hki_task *hki_task_complete(hki_executor *executor, hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    if (runtime->accelerated) {
        hki_stage_await(task);
        if (!hki_task_queue(task)->is_accelerator)
            task->end_ns = hki_clock_ns();
    }
    hki_task_settle(task);
    if (runtime->accelerated && task->late)
        runtime->hold(task);
    hki_task *next = NULL;
    if (!runtime->serial)
        next = hki_task_dispatch(executor, hki_task_open_gates(task, NULL));
    hki_task_finish(task);
    if (runtime->accelerated)
        hki_stage_end(task);
    hki_executor_put(executor, task);
    return next;
}

/* ---- running --------------------------------------------------------------------------------------------------------- */

/* All pieces here, one after the other. */
static void run_pieces(hki_task *task, hki_run_point *point)
{
    for (int64_t piece = 0; piece < task->spec.piece_count; piece++) {
        hki_task_run_piece(task, piece);
        hki_tracing_piece(point, task, piece);
    }
    hki_task_run_join(task);
}

/* A simulated device then takes its time. */
static void run_serially(hki_task *task, hki_run_point *point)
{
    const hki_queue *queue = hki_task_queue(task);
    const int64_t ready_ns = queue->pace ? hki_clock_ns() : 0,
                  host_ns = queue->pace ? hki_thread_ns() : 0;
    if (task->spec.class->is_outside) {
        hki_outside_run(task);
        hki_outside_await(task);
        return;
    }
    run_pieces(task, point);
    if (queue->pace)
        queue->pace(task, ready_ns, hki_thread_ns() - host_ns);
}

/* The others can be claimed from now on. */
static void publish_pieces(hki_task *task)
{
    atomic_store_explicit(&task->pieces_left, task->spec.piece_count, memory_order_relaxed);
    task->next_piece = 1;
    hki_queue_push_first(task);
}

hki_task *hki_execute(hki_executor *executor, hki_claim claim)
{
    hki_task *task = claim.task;
    hki_run_point point = hki_tracing_begin(task);
    const bool is_divided = hki_is_divided(task), is_whole = claim.piece < 0;
    if (is_whole && (!hki_task_start(task) || task->runtime->serial)) {
        if (task->started && task->spec.class->is_promise) {
            hki_promise_put_locked(task);
            return NULL;
        }
        if (task->started)
            run_serially(task, &point);
        hki_tracing_end(&point, task);
        return hki_task_complete(executor, task);
    }
    if (task->spec.class->is_outside) {
        hki_outside_run(task);
        return NULL;
    }
    if (is_whole && is_divided)
        publish_pieces(task);
    if (is_divided) {
        const int64_t piece = is_whole ? 0 : claim.piece;
        hki_steal_offer(task);
        hki_task_run_piece(task, piece);
        hki_tracing_piece(&point, task, piece);
        if (atomic_fetch_sub_explicit(&task->pieces_left, 1, memory_order_acq_rel) != 1)
            return NULL;
        task->next_piece = -1;
        hki_task_run_join(task);
    } else {
        run_pieces(task, &point);
    }
    hki_tracing_end(&point, task);
    return hki_task_complete(executor, task);
}

void hki_execute_foreign(hki_claim claim)
{
    hki_runtime *runtime = claim.task->runtime;
    hki_executor executor = {0};
    fenv_t saved;
    const bool keep = hki_floats_are_usual();
    const uint32_t floats = keep ? hki_floats_enter() : 0;
    if (!keep) {
        fegetenv(&saved);
        hki_floats_begin();
    }
    hki_execute(&executor, claim);
    hki_slot_give_back(&executor.returns);
    hki_progress(runtime);
    if (keep)
        hki_floats_leave(floats);
    else
        fesetenv(&saved);
}

void hki_cancel_all(hki_runtime *runtime)
{
    bool found;
    do {
        found = false;
        for (int i = 0; i < runtime->queue_count; i++)
            for (hki_claim claim; (claim = hki_queue_pop(runtime->queues[i], NULL, INT64_MAX)).task;
                 found = true)
                hki_execute_foreign(claim);
    } while (found || !hki_ring_is_empty(runtime->ring));
}
