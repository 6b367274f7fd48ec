/* Waiting: for a byte range, for a device, for everything, for room. A thread that waits lends its hands (help.h). */
#include "engine/wait/wait.h"

#include "engine/policy/place.h"
#include "engine/wait/help.h"

enum {
    PATIENCE_NS = 2 * HKI_SPIN_NS /* of a thread beyond the soft bound, while nothing finishes */
};

/* The clock of accelerators stays awake meanwhile. */
static void wait_awake(const hki_help *help)
{
    hki_runtime *runtime = help->runtime;
    if (runtime->accelerated)
        atomic_fetch_add(&runtime->scheduler->waiters, 1);
    hki_help_until(help);
    if (runtime->accelerated)
        atomic_fetch_sub(&runtime->scheduler->waiters, 1);
}

/* ---- one range ------------------------------------------------------------------------------------------ */

static uint64_t unsignalled(const void *task)
{
    return atomic_load_explicit(&((hki_task *)task)->signalled, memory_order_acquire) !=
           HKI_SIGNALLED;
}

const hk_status *hki_would_deadlock(const char *operation)
{
    const hki_status_facts facts = {.operation = operation};
    return hki_status_create(HK_WOULD_DEADLOCK, &facts,
                             "a task may not wait; wait in the thread that issues calls");
}

static const hk_status *read_range(hki_var *var, uint64_t begin, uint64_t end, void (*body)(void *),
                                   void *argument)
{
    const hk_status *failure = hki_var_failure(var, begin, end);
    if (!failure && body)
        body(argument);
    return failure ? failure : hki_status_ok();
}

static bool is_settled(hki_var *var)
{
    hki_ring_acquire(var->runtime);
    bool settled = hki_var_is_settled_locked(var);
    hki_biased_release(&var->runtime->issue_lock);
    return settled;
}

const hk_status *hki_wait_range(hki_var *var, uint64_t begin, uint64_t end, void (*body)(void *),
                                void *argument)
{
    static const hki_task_class wait_class = {0};
    hki_runtime *runtime = var->runtime;
    const hk_status *status;
    if (!hki_runtime_alive(runtime))
        return hki_runtime_gone(runtime);
    if (hki_in_task())
        return hki_would_deadlock("wait");
    hki_wait_point point = hki_tracing_wait(runtime);
    if (!point.trace && !runtime->serial && !body && is_settled(var)) {
        hki_place_note_wait(var);
        return read_range(var, begin, end, NULL, NULL);
    }
    if (runtime->serial) {
        hki_lock_acquire(&runtime->serial_lock);
        hki_tracing_waited(&point, HKI_TRACE_WAIT_ARRAY, -1);
        status = read_range(var, begin, end, body, argument);
        hki_lock_release(&runtime->serial_lock);
        return status;
    }
    hki_task *task = hki_slot_get(runtime, 1, 0);
    if (!task)
        return hki_status_create(HK_OUT_OF_MEMORY, NULL, "no host memory left to wait with");
    task->spec.class = &wait_class;
    task->spec.accesses[0] = (hki_access){var, begin, end, HKI_READ};
    task->is_wait = true;
    atomic_store_explicit(&task->unusual, true, memory_order_relaxed);
    hki_ring_acquire(runtime);
    /* A wait takes no place of its own in the order of calls: it stands right behind the latest. */
    atomic_store_explicit(&task->sequence, runtime->sequence, memory_order_relaxed);
    atomic_store_explicit(&task->state, HKI_TASK_WAITING, memory_order_relaxed);
    hki_registration registration;
    unsigned times = 0;
    while ((registration = hki_task_register(task)) == HKI_NOT_REGISTERED)
        hki_relax_or_yield(&times); /* others finish meanwhile */
    hki_biased_release(&runtime->issue_lock);
    hki_place_note_wait(var);
    if (registration == HKI_REGISTERED_WAITS)
        wait_awake(&(hki_help){.runtime = runtime,
                               .left = unsignalled,
                               .what = task,
                               .wait = task,
                               .patience_ns = INT64_MAX});
    hki_tracing_waited(&point, HKI_TRACE_WAIT_ARRAY, -1);
    status = read_range(var, begin, end, body, argument);
    if (runtime->accelerated)
        task->end_ns = hki_clock_ns();
    hki_executor executor;
    hki_executor_init(&executor, NULL, false);
    hki_task *successors = hki_task_open_gates(task);
    hki_task_dispatch(&executor, successors);
    hki_executor_put(&executor, task);
    hki_executor_flush(&executor);
    if (successors && atomic_load(&runtime->ended)) /* no worker will come for them */
        hki_cancel_all(runtime);
    return status;
}

/* ---- a device, everything ---------------------------------------------------------------------------------- */

typedef struct drain {
    hki_queue *queue;
    unsigned epoch;
    uint64_t issued;
} drain;

static uint64_t undrained(const void *what)
{
    const drain *self = what;
    return self->issued - hki_queue_finished(self->queue, self->epoch);
}

void hki_queue_drain(hki_queue *queue)
{
    hki_runtime *runtime = queue->runtime;
    /* Two epochs: while one drains, calls that come meanwhile count in the other. The thread that drains holds the
     * lock, so the epoch that becomes the current one is empty. */
    pthread_mutex_lock(&queue->flip_lock);
    hki_biased_acquire(&runtime->issue_lock);
    const unsigned epoch = queue->epoch;
    const drain its = {queue, epoch,
                       atomic_load_explicit(&queue->issued[epoch], memory_order_relaxed)};
    queue->epoch = !epoch;
    hki_biased_release(&runtime->issue_lock);
    hki_place_note_wait(NULL);
    wait_awake(&(hki_help){.runtime = runtime,
                           .left = undrained,
                           .what = &its,
                           .most_ns = HKI_HELP_ANYTHING,
                           .patience_ns = INT64_MAX,
                           .may_lease = hki_lease_is_on(runtime),
                           .is_called = true});
    pthread_mutex_unlock(&queue->flip_lock);
}

/* ---- room to issue ----------------------------------------------------------------------------------------- */

typedef struct room {
    hki_runtime *runtime;
    hki_room wanted;
} room;

static uint64_t without_room(const void *what)
{
    const room *self = what;
    return hki_throttle_left(self->runtime, &self->wanted);
}

/* What is long may wait for what this thread is about to do, and there may be room before it ends. */
static bool wait_for_room(const room *its, int64_t patience_ns, bool may_lease)
{
    return hki_help_until(&(hki_help){.runtime = its->runtime,
                                      .left = without_room,
                                      .what = its,
                                      .most_ns = HKI_HELP_SHORT,
                                      .patience_ns = patience_ns,
                                      .may_lease = may_lease});
}

static void approach(hki_runtime *runtime)
{
    room its = {.runtime = runtime};
    const hki_advice advice = hki_throttle_advise(runtime, &its.wanted);
    if (advice == HKI_GO_ON)
        return;
    hki_wait_point point = hki_tracing_wait(runtime);
    const bool moves = wait_for_room(&its, PATIENCE_NS, advice == HKI_HELP);
    hki_tracing_waited(&point, HKI_TRACE_WAIT_WORKERS, -1);
    hki_throttle_note(runtime, moves);
}

void hki_wait_to_issue(hki_runtime *runtime, uint64_t output_bytes)
{
    room its = {.runtime = runtime};
    if (hki_throttle_is_far(runtime))
        approach(runtime);
    while (hki_throttle_is_full(runtime, output_bytes, &its.wanted) && hki_runtime_alive(runtime)) {
        atomic_fetch_add_explicit(&runtime->throttle->window_waits, 1, memory_order_relaxed);
        hki_wait_point point = hki_tracing_wait(runtime);
        wait_for_room(&its, INT64_MAX, false);
        hki_tracing_waited(&point, HKI_TRACE_WAIT_WINDOW, -1);
        hki_throttle_set_soft(runtime, 0);
    }
}
