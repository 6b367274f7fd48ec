/* Tasks that somebody outside the engine ends: the classes that are is_outside. */
#include "engine/sched/tracing.h"

void hki_outside_run(hki_task *task)
{
    hki_this_thread.task_depth++;
    task->spec.class->run(task, task->payload, 0);
    hki_this_thread.task_depth--;
}

/* As a waiting thread that is told. */
void hki_outside_await(hki_task *task)
{
    uint32_t expected = 0;
    if (atomic_compare_exchange_strong(&task->signalled, &expected, HKI_SLEEPING))
        while (atomic_load(&task->signalled) == HKI_SLEEPING)
            hki_futex_wait(&task->signalled, HKI_SLEEPING, -1);
    atomic_store(&task->signalled, 0);
}

/* ---- promises, in the serial engine ---------------------------------------------------------- */

static bool conflict(const hki_task *task, const hki_access *access)
{
    bool found = !access;
    for (int i = 0; i < task->spec.access_count && !found; i++) {
        const hki_access *own = &task->spec.accesses[i];
        found = own->var == access->var &&
                hki_ranges_overlap(hki_access_range(own), hki_access_range(access)) &&
                ((own->mode | access->mode) & HKI_WRITE);
    }
    return found;
}

void hki_promise_put_locked(hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    task->queue_next = runtime->promised;
    runtime->promised = task;
    hki_outside_run(task);
}

bool hki_promise_is_open_locked(hki_runtime *runtime, const hki_access *access)
{
    bool found = false;
    for (hki_task *task = runtime->promised; task && !found; task = task->queue_next)
        found = conflict(task, access) && atomic_load(&task->signalled) != HKI_SIGNALLED;
    return found;
}

void hki_promises_complete_locked(hki_runtime *runtime)
{
    hki_executor executor = {0};
    for (hki_task **link = &runtime->promised, *task; (task = *link);) {
        if (atomic_load(&task->signalled) != HKI_SIGNALLED) {
            link = &task->queue_next;
            continue;
        }
        *link = task->queue_next;
        atomic_store(&task->signalled, 0);
        hki_task_complete(&executor, task);
    }
    hki_slot_give_back(&executor.returns);
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void note_failure(hki_task *task, const hki_outside_end *end)
{
    if (!end->failure)
        return;
    if (end->is_root)
        hki_runtime_note_failure(task->runtime, end->failure);
    hki_task_fail_for_input(task, end->failure);
}

static void note_run(const hki_task *task, uint64_t begin_ticks)
{
    hki_run_point point = hki_tracing_begin(task);
    if (point.trace)
        point.begin_ticks = begin_ticks;
    hki_tracing_end(&point, task);
}

void hki_task_end(hki_task *task, const hki_outside_end *end)
{
    hki_runtime *runtime = task->runtime;
    note_failure(task, end);
    task->started = end->has_begun;
    if (runtime->serial) { /* which notes the run itself, but for promises */
        const bool is_promise = task->spec.class->is_promise;
        if (is_promise)
            note_run(task, end->begin_ticks);
        if (atomic_exchange(&task->signalled, HKI_SIGNALLED) == HKI_SLEEPING)
            hki_futex_wake(&task->signalled, 1);
        if (is_promise) /* which may be gone */
            hki_futex_bump(&runtime->promise_ends, INT32_MAX);
        return;
    }
    note_run(task, end->begin_ticks);
    hki_executor executor = {0};
    hki_task_complete(&executor, task);
    hki_slot_give_back(&executor.returns);
    hki_progress(runtime);
}

bool hki_runtime_is_awaited(const hki_runtime *runtime)
{
    return atomic_load_explicit(&runtime->scheduler->waiters, memory_order_relaxed) > 0;
}

bool hki_runtime_is_ending(const hki_runtime *runtime)
{
    return atomic_load(&runtime->ending);
}

void hki_runtime_count_promises(hki_runtime *runtime, int more)
{
    atomic_fetch_add(&runtime->promise_count, more);
}
