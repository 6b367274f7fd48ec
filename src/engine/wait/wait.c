/* Waiting: for a byte range, for a device, for everything, for room. A thread that waits lends its hands (help.h). */
#include "engine/wait/wait.h"

#include "engine/core/score.h"
#include "engine/core/watch.h"
#include "engine/policy/place.h"
#include "engine/wait/help.h"

enum {
    BLOCKED_NS =
        200000000, /* of a thread that may have what all others wait for, or a promise to keep */
    PATIENCE_NS = 2 * HKI_SPIN_NS /* of a thread beyond the soft bound, while nothing finishes */
};

/* Where a program wants to interrupt waits the thread runs nothing that could take long. */
static int64_t help_most_ns(int64_t otherwise_ns)
{
    return hki_blocking_is_told() ? HKI_LONG_TASK_NS : otherwise_ns;
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

const hk_status *hki_range_error_now(const hki_waiting *what)
{
    const hk_status *failure = hki_var_failure(what->var, what->range);
    return failure ? failure : hki_status_ok();
}

static const hk_status *read_range(const hki_waiting *what)
{
    const hk_status *status = hki_range_error_now(what);
    if (hk_ok(status) && what->body)
        what->body(what->argument);
    return status;
}

/* ---- a wait that may end before its time ---- */

static void left_finish(hki_task *task, void *payload)
{
    const hki_waiting *self = payload;
    (void)task;
    self->drop(self->owner);
}

static const hki_task_class wait_class = {0}, left_class = {.finish = left_finish};

/* Leaves the wait to who signals it, unless it has been signalled. */
static bool leave(hki_task *task)
{
    const hki_waiting *self = hki_task_payload(task);
    uint32_t seen = 0;
    self->keep(self->owner);
    task->spec.class = &left_class;
    if (atomic_compare_exchange_strong(&task->signalled, &seen, HKI_LEFT) ||
        (seen == HKI_SLEEPING && atomic_compare_exchange_strong(&task->signalled, &seen, HKI_LEFT)))
        return true;
    task->spec.class = &wait_class;
    self->drop(self->owner);
    return false;
}

/* ---- what a range is waited for by ---- */

/* Ends a wait: what it held back goes on. */
void hki_wait_end(hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    hki_executor executor = {0};
    hki_task *successors = hki_task_end_wait(&executor, task, NULL);
    hki_task_dispatch(&executor, successors);
    hki_slot_give_back(&executor.returns);
    if (successors && atomic_load(&runtime->ended)) /* no worker will come for them */
        hki_cancel_all(runtime);
}

static hki_access access_of(const hki_waiting *self, unsigned mode)
{
    return (hki_access){self->var, self->range.begin, self->range.end, mode, self->range.pitch};
}

/* The program is going to write itself, which takes a place like a call does. */
static void note_write_locked(hki_runtime *runtime, hki_task_spec *spec)
{
    spec->versions = NULL;
    spec->operation = "data_borrow";
    spec->source = hki_source_get();
    hki_this_thread.last_sequence = ++runtime->sequence;
    if (runtime->counts_writes)
        hki_writes_note_locked(spec, runtime->sequence);
}

void hki_wait_note_write(const hki_waiting *self)
{
    hki_runtime *runtime = self->var->runtime;
    hki_access access = access_of(self, HKI_WRITE);
    hki_task_spec spec = {.accesses = &access, .access_count = 1};
    hki_biased_acquire(&runtime->issue_lock);
    note_write_locked(runtime, &spec);
    hki_biased_release(&runtime->issue_lock);
}

/* A task that stands for the wait, behind what was issued before; NULL: no memory. *waits: it is not signalled yet, maybe. */
static hki_task *begin_wait(const hki_waiting *self, bool writes, bool *waits)
{
    hki_runtime *runtime = self->var->runtime;
    hki_task *task = hki_slot_get(runtime, 1, sizeof *self);
    if (!task)
        return NULL;
    *(hki_waiting *)hki_task_payload(task) = *self;
    task->spec.class = &wait_class;
    task->spec.accesses[0] = access_of(self, writes ? HKI_WRITE : HKI_READ);
    task->is_wait = true;
    atomic_store_explicit(&task->unusual, true, memory_order_relaxed);
    hki_ring_acquire(runtime);
    /* A wait takes no place of its own in the order of calls: it stands right behind the latest. */
    if (writes)
        note_write_locked(runtime, &task->spec);
    atomic_store_explicit(&task->sequence, runtime->sequence, memory_order_relaxed);
    hki_registration registration;
    unsigned times = 0;
    while ((registration = hki_task_register(task)) == HKI_NOT_REGISTERED)
        hki_relax_or_yield(&times); /* others finish meanwhile */
    hki_biased_release(&runtime->issue_lock);
    *waits = registration == HKI_REGISTERED_WAITS;
    return task;
}

/* A thread that waits for the lock tells so, since the one that has it may have to wait for what the hook releases. False: it
 * was interrupted. blocking: NULL where nobody is told. */
static bool acquire(hki_lock *lock, hki_blocking *blocking)
{
    if (!blocking || !hki_blocking_is_told()) {
        hki_lock_acquire(lock);
        return true;
    }
    while (!hki_lock_try(lock)) {
        hki_blocking_begin(blocking);
        if (hki_blocking_look(blocking, hki_clock_ns()))
            return false;
        hki_sleep_ns(HKI_LOOK_AGAIN_NS);
    }
    return true;
}

/* NULL: the wait is over. Else its record, and the task has been left. */
static const hk_status *await_or_leave(hki_task *task, bool may_leave, hki_blocking *blocking)
{
    const hk_status *blocked = may_leave ? hki_holds_block(task->runtime, task, NULL) : NULL;
    if (blocked && leave(task))
        return blocked;
    hk_status_release(blocked);
    const bool over = hki_help_until(&(hki_help){.runtime = task->runtime,
                                                 .left = unsignalled,
                                                 .what = task,
                                                 .wait = task,
                                                 .most_ns = help_most_ns(HKI_HELP_NS),
                                                 .patience_ns = INT64_MAX,
                                                 .blocking = may_leave ? blocking : NULL});
    return over || !leave(task) ? NULL : hki_interrupted("wait");
}

const hk_status *hki_wait_hold(const hki_waiting *self, bool writes, hki_task **hold)
{
    hki_var *var = self->var;
    hki_wait_point point = hki_tracing_wait(var->runtime);
    bool waits = false;
    hki_task *task = begin_wait(self, writes, &waits);
    if (!task)
        return hki_status_create(HK_OUT_OF_MEMORY, NULL, "no host memory left to wait with");
    hki_place_note_wait(var);
    hki_blocking blocking = {0};
    const hk_status *status = waits ? await_or_leave(task, self->keep != NULL, &blocking) : NULL;
    hki_tracing_waited(&point, HKI_TRACE_WAIT_ARRAY, -1);
    if (!status) {
        status = read_range(self);
        if (hold && hk_ok(status))
            *hold = task;
        else
            hki_wait_end(task);
    }
    hki_blocking_end(&blocking);
    return status;
}

bool hki_promises_await_locked(hki_runtime *runtime, const hki_access *access,
                               hki_blocking *blocking)
{
    const bool is_told = blocking && hki_blocking_is_told();
    bool is_over = false;
    atomic_fetch_add(&runtime->scheduler->waiters, 1);
    while (!is_over) {
        const uint32_t seen = atomic_load(&runtime->promise_ends);
        is_over = !hki_promise_is_open_locked(runtime, access);
        if (is_over)
            break;
        if (is_told)
            hki_blocking_begin(blocking);
        hki_lock_release(&runtime->serial_lock);
        hki_futex_wait(&runtime->promise_ends, seen, is_told ? HKI_LOOK_NS : -1);
        const bool is_left = is_told && hki_blocking_look(blocking, hki_clock_ns());
        hki_lock_acquire(&runtime->serial_lock);
        if (is_left)
            break;
    }
    atomic_fetch_sub(&runtime->scheduler->waiters, 1);
    hki_promises_complete_locked(runtime);
    return is_over;
}

const hk_status *hki_wait_with(const hki_waiting *self)
{
    hki_runtime *runtime = self->var->runtime;
    if (!hki_runtime_alive(runtime))
        return hki_runtime_gone(runtime);
    if (hki_in_task())
        return hki_would_deadlock("wait");
    if (!runtime->serial)
        return hki_wait_hold(self, false, NULL);
    hki_wait_point point = hki_tracing_wait(runtime);
    hki_blocking blocking = {0};
    bool over = acquire(&runtime->serial_lock, self->keep ? &blocking : NULL);
    const bool is_locked = over;
    const hki_access access = access_of(self, HKI_READ);
    over = over && hki_promises_await_locked(runtime, &access, self->keep ? &blocking : NULL);
    hki_tracing_waited(&point, HKI_TRACE_WAIT_ARRAY, -1);
    const hk_status *status = over ? read_range(self) : hki_interrupted("wait");
    if (is_locked)
        hki_lock_release(&runtime->serial_lock);
    hki_blocking_end(&blocking);
    return status;
}

/* ---- a range, for so long, or not at all ----------------------------------------------------------------------- */

/* Writes that had been issued when it was looked at first. So nothing is left of a wait that ends early, and however often one
 * does, as it would be of a task that waits. */
typedef struct look {
    const hki_waiting *what;
    uint64_t sequence, scored; /* 0: it has not been looked at */
} look;

static uint64_t has_not_come(const void *moment)
{
    look *self = (look *)moment;
    hki_var *var = self->what->var;
    hki_runtime *runtime = var->runtime;
    if (runtime->serial) {
        if (!hki_lock_try(&runtime->serial_lock))
            return true;
        const hki_access access = access_of(self->what, HKI_READ);
        const bool is_open = hki_promise_is_open_locked(runtime, &access);
        hki_promises_complete_locked(runtime);
        hki_lock_release(&runtime->serial_lock);
        return is_open;
    }
    hki_ring_acquire(runtime);
    if (!self->sequence) {
        self->sequence = runtime->sequence;
        self->scored = var->scored_write;
    }
    const bool is_pending = hki_score_is_pending(runtime, self->scored, -1) ||
                            hki_gates_hold_locked(var, self->what->range, self->sequence);
    hki_biased_release(&runtime->issue_lock);
    return is_pending;
}

bool hki_range_has_come(const hki_waiting *what)
{
    return !has_not_come(&(look){.what = what});
}

const hk_status *hki_wait_for(const hki_waiting *what, int64_t timeout_ns)
{
    hki_runtime *runtime = what->var->runtime;
    if (!hki_runtime_alive(runtime))
        return hki_runtime_gone(runtime);
    if (hki_in_task())
        return hki_would_deadlock("wait_for");
    look moment = {.what = what};
    hki_blocking blocking = {0};
    hki_wait_point point = hki_tracing_wait(runtime);
    hki_place_note_wait(what->var);
    /* A task that it ran could outlast the limit. */
    const bool over = hki_help_until(&(hki_help){.runtime = runtime,
                                                 .left = has_not_come,
                                                 .what = &moment,
                                                 .most_ns = -1,
                                                 .patience_ns = timeout_ns,
                                                 .blocking = &blocking});
    hki_tracing_waited(&point, HKI_TRACE_WAIT_ARRAY, -1);
    hki_blocking_end(&blocking);
    if (blocking.is_interrupted)
        return hki_interrupted("wait_for");
    const hki_status_facts facts = {.operation = "wait_for"};
    return over ? hki_range_error_now(what)
                : hki_status_create(HK_TIMEOUT, &facts,
                                    "what writes the array had not finished after %.3f s",
                                    (double)timeout_ns * 1e-9);
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

static bool drain_epoch(hki_queue *queue, unsigned epoch, uint64_t issued, hki_blocking *blocking)
{
    hki_runtime *runtime = queue->runtime;
    const drain its = {queue, epoch, issued};
    return hki_help_until(
        &(hki_help){.runtime = runtime,
                    .left = undrained,
                    .what = &its,
                    .most_ns = blocking ? help_most_ns(INT64_MAX) : INT64_MAX,
                    .patience_ns = INT64_MAX,
                    .lease = hki_lease_is_on(runtime) ? HKI_LEASE_WORK : HKI_LEASE_LEAVE,
                    .blocking = blocking});
}

/* Drains one epoch while calls that come meanwhile count in the other. Expects the flip lock, so that nobody else does. */
static bool drain_locked(hki_queue *queue, hki_blocking *blocking)
{
    hki_runtime *runtime = queue->runtime;
    const unsigned epoch = queue->epoch;
    /* It was emptied before, unless somebody was interrupted at that. */
    const drain left = {queue, !epoch,
                        atomic_load_explicit(&queue->issued[!epoch], memory_order_relaxed)};
    if (undrained(&left) && !drain_epoch(queue, !epoch, left.issued, blocking))
        return false;
    hki_biased_acquire(&runtime->issue_lock);
    const uint64_t issued = atomic_load_explicit(&queue->issued[epoch], memory_order_relaxed);
    queue->epoch = !epoch;
    hki_biased_release(&runtime->issue_lock);
    return drain_epoch(queue, epoch, issued, blocking);
}

static _Thread_local bool is_draining; /* a hook that is called meanwhile may not drain, too */

bool hki_queue_drain(hki_queue *queue, hki_blocking *blocking)
{
    if (!acquire(&queue->flip_lock, blocking))
        return false;
    is_draining = true;
    atomic_fetch_add(&queue->runtime->drains, 1);
    hki_place_note_wait(NULL);
    const bool over = drain_locked(queue, blocking);
    atomic_fetch_sub(&queue->runtime->drains, 1);
    is_draining = false;
    hki_lock_release(&queue->flip_lock);
    return over;
}

bool hki_is_draining(void)
{
    return is_draining;
}

/* ---- room to issue ----------------------------------------------------------------------------------------- */

/* What is long may wait for what this thread is about to do, and there may be room before it ends. */
static bool wait_for_room(const hki_room *wanted, int64_t patience_ns, hki_lease_use lease,
                          hki_blocking *blocking)
{
    return hki_help_until(&(hki_help){.runtime = wanted->runtime,
                                      .left = hki_throttle_left,
                                      .what = wanted,
                                      .most_ns = HKI_LONG_TASK_NS,
                                      .patience_ns = patience_ns,
                                      .lease = lease,
                                      .blocking = blocking});
}

static void approach(hki_runtime *runtime, hki_blocking *blocking)
{
    hki_room wanted;
    hki_lease_use lease;
    if (!hki_throttle_is_far(runtime, &wanted, &lease))
        return;
    hki_wait_point point = hki_tracing_wait(runtime);
    wait_for_room(&wanted, PATIENCE_NS, lease, blocking);
    hki_tracing_waited(&point, HKI_TRACE_WAIT_WORKERS, -1);
    /* If they wait for something: no use to ask before there are as many again. */
    hki_throttle_set_soft(runtime, 2 * hki_throttle_left(&wanted));
}

void hki_wait_to_issue(hki_runtime *runtime, uint64_t output_bytes)
{
    hki_room wanted;
    hki_blocking blocking = {0};
    approach(runtime, &blocking);
    while (!blocking.is_interrupted && hki_throttle_is_full(runtime, output_bytes, &wanted) &&
           hki_runtime_alive(runtime)) {
        atomic_fetch_add_explicit(&runtime->throttle->window_waits, 1, memory_order_relaxed);
        hki_wait_point point = hki_tracing_wait(runtime);
        const hk_status *blocked = hki_holds_block(runtime, NULL, NULL);
        const bool has_room = wait_for_room(
            &wanted, blocked || atomic_load(&runtime->promise_count) ? BLOCKED_NS : INT64_MAX,
            HKI_LEASE_LEAVE, &blocking);
        hk_status_release(blocked);
        hki_tracing_waited(&point, HKI_TRACE_WAIT_WINDOW, -1);
        hki_throttle_set_soft(runtime, 0);
        if (!has_room) /* interrupted, or it may be waiting for itself: what it is about to do comes first */
            break;
    }
    hki_blocking_end(&blocking);
}
