/* Waiting: for a byte range, for a device, for everything, for room. Who waits lends its hands. */
#include "engine/engine_internal.h"

enum {
    SEARCH_LIMIT = 256,
    HELP_PERIOD_NS = 5000,
    WINDOW_NAP_NS = 1000000,
    PATIENCE_NS = 2 * HKI_SPIN_NS, /* of who waits to be nearer, while nothing finishes */
    BUSY_SPIN_NS = 5000            /* where no core is free: for tasks that end any moment */
};

/* Who spins longer takes the core from a worker otherwise, and that worker's device behind all others. */
static bool may_spin(hki_runtime *runtime, int64_t so_far_ns)
{
    if (so_far_ns < BUSY_SPIN_NS || so_far_ns >= HKI_SPIN_NS)
        return so_far_ns < HKI_SPIN_NS;
    bool found = atomic_load_explicit(&runtime->launch_cores.free, memory_order_relaxed) > 0;
    for (int i = 0; i < runtime->budget_count && !found; i++)
        found = atomic_load_explicit(&runtime->budgets[i].free_cores, memory_order_relaxed) > 0;
    return found;
}

void hki_progress(hki_runtime *runtime)
{
    if (atomic_load(&runtime->sleepers) > 0) {
        atomic_fetch_add(&runtime->progress, 1);
        hki_futex_wake(&runtime->progress, INT32_MAX);
    }
}

/* Runs the task, or a piece of it, or any that is not expected to take more than most_ns where it is NULL, if a core of
 * the device is free. */
static bool help_queue(hki_queue *queue, hki_task *task, uint64_t sequence, int64_t most_ns)
{
    if (queue->is_accelerator || (!task && !hki_queue_wants_help(queue)) ||
        !hki_budget_try_acquire(queue->budget))
        return false;
    hki_claim claims[HKI_BATCH_TASKS];
    int count;
    if (task)
        count = (claims[0] = hki_queue_take(queue, task, sequence)).task != NULL;
    else
        count = hki_queue_pop(queue, NULL, most_ns, claims, HKI_BATCH_TASKS);
    if (count) {
        atomic_fetch_add_explicit(&queue->runtime->helped_calls, (uint64_t)count,
                                  memory_order_relaxed);
        hki_execute_foreign(queue, claims, count);
        /* No worker will come for what has become ready by that. */
        if (atomic_load(&queue->runtime->ended))
            hki_cancel_all(queue->runtime);
    }
    hki_budget_release(queue);
    return count;
}

/* A task in a queue that `task` waits for, directly or through others. Expects the issue lock, under
 * which no slot or gate that an unfinished task names is recycled. */
static hki_task *find_needed(hki_task *task, int *visits)
{
    for (int i = 0; i < task->wait_count && ++*visits < SEARCH_LIMIT; i++) {
        hki_gate *gate = task->wait_gates[i].gate;
        if (hki_gate_is_open(gate) || gate->task_sequence != task->wait_gates[i].task_sequence)
            continue;
        hki_task *needed = gate->task;
        if (atomic_load_explicit(&needed->sequence, memory_order_relaxed) != gate->task_sequence)
            continue;
        uint32_t state = atomic_load_explicit(&needed->state, memory_order_relaxed);
        if (state == HKI_TASK_READY ||
            atomic_load_explicit(&needed->queued_in, memory_order_relaxed))
            return needed;
        if (state == HKI_TASK_WAITING && (needed = find_needed(needed, visits)))
            return needed;
    }
    return NULL;
}

static bool help_task(hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    hki_queue *queue = NULL;
    uint64_t sequence = 0;
    int visits = 0;
    /* Not by waiting for the lock: its holder may be waiting for a gate that this thread holds. */
    if (!hki_biased_try(&runtime->issue_lock))
        return false;
    hki_task *needed = NULL;
    if (!runtime->ordering || hki_order_is_empty(runtime->ordering) ||
        hki_order_all_locked(runtime->ordering))
        needed = find_needed(task, &visits);
    if (needed) {
        queue = hki_task_queue(needed);
        sequence = atomic_load_explicit(&needed->sequence, memory_order_relaxed);
    }
    hki_biased_release(&runtime->issue_lock);
    return queue && help_queue(queue, needed, sequence, 0);
}

/* ---- one range ------------------------------------------------------------------------------------------ */

static bool is_signalled(hki_task *task)
{
    return atomic_load_explicit(&task->signalled, memory_order_acquire) == HKI_SIGNALLED;
}

static void wait_signalled(hki_task *task)
{
    int64_t start = hki_clock_ns(), next_help = start;
    while (!is_signalled(task)) {
        int64_t now = hki_clock_ns();
        if (now >= next_help) {
            if (help_task(task)) {
                start = hki_clock_ns();
                continue;
            }
            next_help = now + HELP_PERIOD_NS;
        }
        if (may_spin(task->runtime, now - start)) {
            for (int i = 0; i < 16 && !is_signalled(task); i++) {
                hki_relax();
                hki_sharing_try_join(task->runtime);
            }
            continue;
        }
        uint32_t expected = 0;
        if (atomic_compare_exchange_strong(&task->signalled, &expected, HKI_SLEEPING) ||
            expected == HKI_SLEEPING)
            hki_futex_wait(&task->signalled, HKI_SLEEPING, -1);
    }
}

static const hk_status *would_deadlock(const char *operation)
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
    hki_order_acquire(var->runtime);
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
        return would_deadlock("wait");
    hki_wait_point point = hki_tracing_wait(runtime);
    if (!point.trace && !runtime->serial && !body && is_settled(var)) {
        hki_note_wait(&hki_this_thread, var);
        return read_range(var, begin, end, NULL, NULL);
    }
    if (runtime->serial) {
        hki_lock_acquire(&runtime->serial_lock);
        hki_tracing_waited(&point, HKI_TRACE_WAIT_ARRAY, -1);
        status = read_range(var, begin, end, body, argument);
        hki_lock_release(&runtime->serial_lock);
        return status;
    }
    hki_task *task = hki_slot_get(runtime, 1, 0, 0, false);
    if (!task)
        return hki_status_create(HK_OUT_OF_MEMORY, NULL, "no host memory left to wait with");
    task->spec.class = &wait_class;
    task->spec.accesses[0] = (hki_access){var, begin, end, HKI_READ};
    task->is_wait = true;
    atomic_store_explicit(&task->unusual, true, memory_order_relaxed);
    hki_order_acquire(runtime);
    /* A wait takes no place of its own in the order of calls: it stands right behind the latest. */
    atomic_store_explicit(&task->sequence, runtime->sequence, memory_order_relaxed);
    atomic_store_explicit(&task->state, HKI_TASK_WAITING, memory_order_relaxed);
    hki_registration registration;
    unsigned times = 0;
    while ((registration = hki_task_register(task)) == HKI_NOT_REGISTERED)
        hki_relax_or_yield(&times); /* others finish meanwhile */
    hki_biased_release(&runtime->issue_lock);
    hki_note_wait(&hki_this_thread, var);
    if (registration == HKI_REGISTERED_WAITS) {
        hki_relief_leave(runtime);
        if (runtime->accelerated)
            atomic_fetch_add(&runtime->waiters, 1);
        wait_signalled(task);
        if (runtime->accelerated)
            atomic_fetch_sub(&runtime->waiters, 1);
    }
    hki_tracing_waited(&point, HKI_TRACE_WAIT_ARRAY, -1);
    status = read_range(var, begin, end, body, argument);
    if (runtime->accelerated)
        task->end_ns = hki_clock_ns();
    hki_executor executor;
    hki_executor_init(&executor, NULL, false);
    hki_task *successors = hki_task_open_gates(task);
    hki_task_dispatch(&executor, successors);
    hki_slot_put(&executor, task);
    hki_executor_flush(&executor);
    if (successors && atomic_load(&runtime->ended)) /* no worker will come for them */
        hki_cancel_all(runtime);
    return status;
}

/* ---- a device, everything ---------------------------------------------------------------------------------- */

static bool help_any(hki_runtime *runtime, int64_t most_ns)
{
    for (int i = 0; i < runtime->queue_count; i++)
        if (help_queue(runtime->queues[i], NULL, 0, most_ns))
            return true;
    return false;
}

enum { ANYTHING = HKI_LONG_TASK_NS, NOTHING_LONG = HKI_LONG_TASK_NS - 1 }; /* to help with, ns */

/* Helps, or spins a little while it is not long since *start. False: time to sleep. */
static bool stay_awake(hki_runtime *runtime, int64_t most_ns, int64_t *start)
{
    if (help_any(runtime, most_ns)) {
        *start = hki_clock_ns();
        return true;
    }
    if (!may_spin(runtime, hki_clock_ns() - *start))
        return false;
    for (int i = 0; i < 16; i++)
        hki_relax();
    return true;
}

typedef struct drained {
    hki_queue *queue;
    unsigned epoch;
    uint64_t issued;
} drained;

static bool is_drained(const void *what)
{
    const drained *its = what;
    return hki_queue_finished(its->queue, its->epoch) == its->issued;
}

void hki_queue_drain(hki_queue *queue)
{
    hki_runtime *runtime = queue->runtime;
    /* Two epochs: while one drains, calls that come meanwhile count in the other. Who drains holds the
     * lock, so the epoch that becomes the current one is empty. */
    pthread_mutex_lock(&queue->flip_lock);
    hki_biased_acquire(&runtime->issue_lock);
    unsigned epoch = queue->epoch;
    uint64_t issued = atomic_load_explicit(&queue->issued[epoch], memory_order_relaxed);
    queue->epoch = !epoch;
    hki_biased_release(&runtime->issue_lock);
    if (runtime->accelerated)
        atomic_fetch_add(&runtime->waiters, 1);
    int64_t start = hki_clock_ns();
    hki_note_wait(&hki_this_thread, NULL);
    const drained its = {queue, epoch, issued};
    /* What others have taken of the ring ends soon. */
    if (hki_relief_is_on(runtime->ordering) && !hki_relief_work(runtime, is_drained, &its) &&
        !hki_order_is_empty(runtime->ordering))
        hki_relief_leave(runtime);
    while (hki_queue_finished(queue, epoch) != issued) {
        if (stay_awake(runtime, ANYTHING, &start))
            continue;
        atomic_fetch_add(&runtime->sleepers, 1);
        uint32_t seen = atomic_load(&runtime->progress);
        /* A worker that never runs out of tasks does not wake us. */
        if (hki_queue_finished(queue, epoch) != issued)
            hki_futex_wait(&runtime->progress, seen, HKI_LOOK_AGAIN_NS);
        atomic_fetch_sub(&runtime->sleepers, 1);
    }
    if (runtime->accelerated)
        atomic_fetch_sub(&runtime->waiters, 1);
    pthread_mutex_unlock(&queue->flip_lock);
}

static const hk_status *snapshot(hki_runtime *runtime)
{
    if (runtime->config_error)
        return hki_status_lend(hk_status_retain(runtime->config_error));
    hki_lock_acquire(&runtime->failures_lock);
    const hk_status *first = hk_status_retain(runtime->first_failure);
    uint64_t count = runtime->failure_count;
    hki_lock_release(&runtime->failures_lock);
    if (!first)
        return hki_status_lend(hki_status_ok());
    const hk_status *status = hki_status_with_count(first, count);
    hk_status_release(first);
    return hki_status_lend(status);
}

const hk_status *hk_wait_all(void)
{
    if (hki_in_task())
        return hki_status_lend(would_deadlock("wait_all"));
    hki_runtime *runtime = hki_runtime_default_retained();
    if (!runtime)
        return hki_status_lend(
            hki_status_create(HK_OUT_OF_MEMORY, NULL, "no host memory to start the runtime"));
    hki_wait_point point = hki_tracing_wait(runtime);
    for (int i = 0; !runtime->serial && i < runtime->queue_count; i++)
        hki_queue_drain(runtime->queues[i]);
    hki_tracing_waited(&point, HKI_TRACE_WAIT_ALL, -1);
    const hk_status *status = snapshot(runtime);
    hki_runtime_release(runtime);
    return status;
}

const hk_status *hk_wait_device(hk_device device)
{
    if (hki_in_task())
        return hki_status_lend(would_deadlock("wait_device"));
    if (!device.handle || !device.handle->class)
        return hk_device_status(device);
    hki_runtime *runtime = device.handle->runtime;
    if (!hki_runtime_alive(runtime))
        return hki_status_lend(hki_runtime_gone(runtime));
    hki_wait_point point = hki_tracing_wait(runtime);
    for (int i = 0; !runtime->serial && i < runtime->queue_count; i++)
        if (runtime->queues[i]->device == device.handle)
            hki_queue_drain(runtime->queues[i]);
    hki_tracing_waited(&point, HKI_TRACE_WAIT_DEVICE, device.handle->index);
    return snapshot(runtime);
}

/* ---- the run-ahead window -------------------------------------------------------------------------------------- */

void hki_window_add(hki_runtime *runtime, uint64_t bytes)
{
    int64_t now = (int64_t)bytes + atomic_fetch_add_explicit(&runtime->window_bytes, (int64_t)bytes,
                                                             memory_order_relaxed);
    int64_t peak = atomic_load_explicit(&runtime->peak_window_bytes, memory_order_relaxed);
    while (now > peak &&
           !atomic_compare_exchange_weak_explicit(&runtime->peak_window_bytes, &peak, now,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

void hki_window_remove(hki_runtime *runtime, uint64_t bytes)
{
    atomic_fetch_sub(&runtime->window_bytes, (int64_t)bytes);
}

static uint64_t known_unfinished_locked(hki_runtime *runtime)
{
    return atomic_load_explicit(&runtime->issued_tasks, memory_order_relaxed) -
           atomic_load_explicit(&runtime->known_finished, memory_order_relaxed);
}

static uint64_t unfinished_tasks_locked(hki_runtime *runtime)
{
    atomic_store_explicit(&runtime->known_finished, hki_finished_tasks(runtime),
                          memory_order_relaxed);
    return known_unfinished_locked(runtime);
}

bool hki_window_full_locked(hki_runtime *runtime, uint64_t output_bytes)
{
    int64_t held = atomic_load_explicit(&runtime->window_bytes, memory_order_relaxed);
    bool too_many_bytes = held > 0 && (uint64_t)held + output_bytes > runtime->run_ahead_bytes;
    uint64_t enough = too_many_bytes ? 1 : runtime->run_ahead_calls;
    /* The counters of those who finish tasks are read only when the last known sum does not do. */
    if (known_unfinished_locked(runtime) < enough || unfinished_tasks_locked(runtime) < enough)
        return false;
    atomic_store_explicit(&runtime->known_finished, hki_counted_tasks(runtime),
                          memory_order_relaxed);
    return known_unfinished_locked(runtime) >= enough;
}

static uint64_t unfinished_tasks(hki_runtime *runtime)
{
    hki_biased_acquire(&runtime->issue_lock);
    uint64_t unfinished = unfinished_tasks_locked(runtime);
    hki_biased_release(&runtime->issue_lock);
    return unfinished;
}

/* What who waits for room waits for. */
typedef struct room {
    uint64_t calls; /* at most so many unfinished ones, */
    int64_t held;   /* and so many bytes held by them */
} room;

/* Half empty: who had to wait goes on only then, or every call behind a full window would be a sleep. */
static room room_for(const hki_runtime *runtime, uint64_t output_bytes)
{
    const uint64_t half = runtime->run_ahead_bytes / 2;
    return (room){runtime->run_ahead_calls / 2,
                  output_bytes < half ? (int64_t)(half - output_bytes) : 0};
}

static bool is_there_room(hki_runtime *runtime, room wanted, uint64_t unfinished)
{
    return unfinished == 0 ||
           (unfinished <= wanted.calls &&
            atomic_load_explicit(&runtime->window_bytes, memory_order_relaxed) <= wanted.held);
}

/* Unfinished calls whose slots and gates the caches hold, and with which no worker runs out of them. */
static uint64_t near_tasks(const hki_runtime *runtime)
{
    const uint64_t batches = 2 * HKI_BATCH_TASKS * (uint64_t)runtime->core_count;
    return batches > HKI_NEAR_TASKS ? batches : HKI_NEAR_TASKS;
}

void hki_window_set_near(hki_runtime *runtime, uint64_t calls)
{
    const uint64_t most = runtime->run_ahead_calls, least = near_tasks(runtime);
    if (runtime->accelerated) /* its tasks are ahead anyway */
        calls = UINT64_MAX;
    else if (calls < least)
        calls = least;
    atomic_store_explicit(&runtime->near_calls, calls, memory_order_relaxed);
    atomic_store_explicit(&runtime->clear_calls, calls < most ? calls : most, memory_order_relaxed);
}

/* What the latest calls are expected to take each; 0: there were none. */
static int64_t latest_ns(hki_runtime *runtime)
{
    hki_biased_acquire(&runtime->issue_lock);
    const uint64_t issued = atomic_load_explicit(&runtime->issued_tasks, memory_order_relaxed);
    const int64_t tasks = (int64_t)(issued - runtime->looked_tasks);
    const int64_t ns = runtime->issued_ns - runtime->looked_ns;
    runtime->looked_tasks = issued;
    runtime->looked_ns = runtime->issued_ns;
    hki_biased_release(&runtime->issue_lock);
    return tasks > 0 ? 1 + ns / tasks : 0;
}

/* To how many unfinished ones a thread that issues such calls had better fall back; UINT64_MAX: it may go on. *works: it
 * had better work at them itself. */
static uint64_t near_enough(hki_runtime *runtime, uint64_t unfinished, bool *works)
{
    const uint64_t near = near_tasks(runtime);
    const int64_t ns = unfinished < near ? 0 : latest_ns(runtime);
    *works = false;
    if (ns == 0 || ns > HKI_TURN_NS)
        return UINT64_MAX;
    if (ns <= HKI_NEAR_NS * runtime->core_count) {
        /* Shorter ones are run by one thread at a time, and chains are best left to one. */
        *works = ns > HKI_SHORT_TURN_NS && hki_order_is_wide(runtime->ordering);
        return near / 2;
    }
    /* What the ring has no room for is registered, and so is all that follows from it. */
    return runtime->run_ahead_calls > HKI_RING_TASKS && unfinished + near > HKI_RING_TASKS
               ? HKI_RING_TASKS / 2
               : UINT64_MAX;
}

void hki_window_make_room(hki_runtime *runtime)
{
    bool wanted = atomic_load(&runtime->window_wanted);
    if (!wanted)
        return;
    const uint64_t unfinished = atomic_load_explicit(&runtime->issued_tasks, memory_order_relaxed) -
                                hki_finished_tasks(runtime);
    const room its = {atomic_load_explicit(&runtime->window_calls, memory_order_relaxed),
                      atomic_load_explicit(&runtime->window_held, memory_order_relaxed)};
    if (!is_there_room(runtime, its, unfinished) ||
        (unfinished > its.calls / 2 &&
         sched_getcpu() !=
             atomic_load_explicit(&runtime->window_processor, memory_order_relaxed)) ||
        !atomic_compare_exchange_strong(&runtime->window_wanted, &wanted, false))
        return;
    atomic_fetch_add(&runtime->progress, 1);
    hki_futex_wake(&runtime->progress, INT32_MAX);
    sched_yield();
}

uint64_t hki_counted_unfinished_locked(hki_runtime *runtime)
{
    return atomic_load_explicit(&runtime->issued_tasks, memory_order_relaxed) -
           hki_counted_tasks(runtime);
}

/* To the last one: who waits for room may wait for that. */
static uint64_t counted_unfinished(hki_runtime *runtime)
{
    hki_biased_acquire(&runtime->issue_lock);
    const uint64_t unfinished = hki_counted_unfinished_locked(runtime);
    hki_biased_release(&runtime->issue_lock);
    return unfinished;
}

/* False: for patience_ns it has come no nearer: nothing finishes, or others issue as much. */
static bool wait_for_room(hki_runtime *runtime, room wanted, int64_t patience_ns)
{
    const int64_t begin = hki_clock_ns();
    int64_t start = begin, latest = begin;
    uint64_t unfinished, least = UINT64_MAX;
    bool moves = true;
    hki_relief_leave(runtime);
    while (!is_there_room(runtime, wanted, unfinished = counted_unfinished(runtime)) && moves &&
           hki_runtime_alive(runtime)) {
        /* What is long may wait for what this thread is about to do, and there may be room before it ends. */
        if (stay_awake(runtime, NOTHING_LONG, &start))
            continue;
        /* A worker says when there is room (hki_window_make_room). If none is about to look, this sleeps no longer than a
         * part of the time so far, so that those who run tasks do not run out of them meanwhile. */
        const int64_t now = hki_clock_ns();
        int64_t most_ns = (now - begin) / 4;
        most_ns = most_ns < HKI_SPIN_NS     ? HKI_SPIN_NS
                  : most_ns > WINDOW_NAP_NS ? WINDOW_NAP_NS
                                            : most_ns;
        latest = unfinished < least ? now : latest;
        least = unfinished < least ? unfinished : least;
        moves = now - latest < patience_ns;
        const uint32_t seen = atomic_load(&runtime->progress);
        atomic_store_explicit(&runtime->window_processor, sched_getcpu(), memory_order_relaxed);
        atomic_store_explicit(&runtime->window_calls, wanted.calls, memory_order_relaxed);
        atomic_store_explicit(&runtime->window_held, wanted.held, memory_order_relaxed);
        atomic_store(&runtime->window_wanted, true);
        if (moves && !is_there_room(runtime, wanted, counted_unfinished(runtime)))
            hki_futex_wait(&runtime->progress, seen, most_ns);
    }
    atomic_store(&runtime->window_wanted, false);
    return moves;
}

void hki_window_wait(hki_runtime *runtime, uint64_t output_bytes)
{
    atomic_fetch_add_explicit(&runtime->window_waits, 1, memory_order_relaxed);
    hki_wait_point point = hki_tracing_wait(runtime);
    wait_for_room(runtime, room_for(runtime, output_bytes), INT64_MAX);
    hki_tracing_waited(&point, HKI_TRACE_WAIT_WINDOW, -1);
    hki_window_set_near(runtime, 0);
}

typedef struct nearer {
    hki_runtime *runtime;
    uint64_t finished; /* so many are to be: others may issue more meanwhile */
} nearer;

static bool is_nearer(const void *what)
{
    const nearer *its = what;
    return hki_counted_tasks(its->runtime) >= its->finished;
}

void hki_window_approach(hki_runtime *runtime)
{
    uint64_t unfinished = unfinished_tasks(runtime);
    bool works;
    const uint64_t enough = near_enough(runtime, unfinished, &works);
    if (enough == UINT64_MAX) {
        const uint64_t near = near_tasks(runtime);
        hki_window_set_near(runtime, unfinished < near ? near : unfinished + near);
        return;
    }
    atomic_fetch_add_explicit(&runtime->worker_waits, 1, memory_order_relaxed);
    hki_wait_point point = hki_tracing_wait(runtime);
    const nearer its = {
        runtime, atomic_load_explicit(&runtime->issued_tasks, memory_order_relaxed) - enough};
    const bool moves = (works && hki_relief_work(runtime, is_nearer, &its)) ||
                       wait_for_room(runtime, (room){enough, INT64_MAX}, PATIENCE_NS);
    hki_tracing_waited(&point, HKI_TRACE_WAIT_WORKERS, -1);
    unfinished = unfinished_tasks(runtime);
    /* They wait for something: no use to ask before there are as many again. */
    hki_window_set_near(runtime, moves ? unfinished + near_tasks(runtime) / 2 : 2 * unfinished);
}
