/* A task from begin to end: submit, start, complete. */
#include "engine/accelerator.h"

#include <assert.h>

/* What a leaf that runs under the issue lock adds to task_depth. */
enum { LEAF_DEPTH = 1 << 16 };

static _Thread_local const hki_blame *task_blame;

bool hki_in_task(void)
{
    return hki_this_thread.task_depth > 0;
}

void hki_sequence_note(uint64_t sequence)
{
    hki_this_thread.last_sequence = sequence;
}

uint64_t hki_last_sequence(void)
{
    return hki_this_thread.last_sequence;
}

uint64_t hki_submitted_count(void)
{
    return hki_this_thread.submitted_count;
}

/* ---- running -------------------------------------------------------------------------------------------- */

void hki_task_blame(const hki_blame *blame)
{
    task_blame = blame;
}

bool hki_task_has_failed(hki_task *task)
{
    hki_lock_acquire(&task->failure_lock);
    bool failed = task->failure || task->input_failure;
    hki_lock_release(&task->failure_lock);
    return failed;
}

void hki_task_fail(hki_task *task, int64_t piece, hk_code code, const char *format, ...)
{
    char inputs[512] = "";
    const hki_blame own = {task->spec.operation, task->spec.source, task->spec.class->describe,
                           task->payload};
    const hki_blame *blame = task_blame ? task_blame : &own;
    if (blame->describe)
        blame->describe(blame->what, inputs, sizeof inputs);
    const hki_status_facts facts = {.operation = blame->operation,
                                    .device = task->spec.device->name,
                                    .inputs = inputs,
                                    .file = blame->source.file,
                                    .line = blame->source.line,
                                    .sequence = hki_task_sequence(task)};
    va_list args;
    va_start(args, format);
    const hk_status *status = hki_status_create_va(code, &facts, format, args);
    va_end(args);
    hki_lock_acquire(&task->failure_lock);
    if (!task->failure || piece < task->failure_piece) {
        const hk_status *old = task->failure;
        task->failure = status;
        task->failure_piece = piece;
        status = old;
    }
    hki_lock_release(&task->failure_lock);
    atomic_store_explicit(&task->unusual, true, memory_order_relaxed);
    hk_status_release(status);
}

void hki_task_fail_with(hki_task *task, const hk_status *status)
{
    hki_lock_acquire(&task->failure_lock);
    const hk_status *old = task->input_failure;
    task->input_failure = status;
    hki_lock_release(&task->failure_lock);
    atomic_store_explicit(&task->unusual, true, memory_order_relaxed);
    hk_status_release(old);
}

static bool has_failed(const hki_task *task)
{
    return hki_task_is_unusual(task) && (task->failure || task->input_failure);
}

void hki_task_fail_for_input(hki_task *task, const hk_status *status)
{
    hki_task_fail_with(task, status);
    hki_lock_acquire(&task->failure_lock);
    const hk_status *own = task->failure;
    task->failure = NULL;
    hki_lock_release(&task->failure_lock);
    hk_status_release(own);
}

/* Nearly always nothing at all is failed; then even the variables need not be looked at. */
static bool any_failed(const hki_task *task)
{
    return atomic_load_explicit(&task->runtime->failed_vars, memory_order_relaxed) > 0;
}

const hk_status *hki_task_input_failure(const hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    const hk_status *first = NULL;
    for (int i = 0; any_failed(task) && i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        if (!(access->mode & HKI_READ))
            continue;
        const hk_status *status = hki_var_failure(access->var, access->begin, access->end);
        const hk_status *earlier = hki_status_earlier(first, status);
        hk_status_release(earlier == first ? status : first);
        first = earlier;
    }
    return first;
}

bool hki_task_start(hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    atomic_store_explicit(&task->state, HKI_TASK_STARTED, memory_order_relaxed);
    const hk_status *first = any_failed(task) ? hki_task_input_failure(task) : NULL;
    if (!first && atomic_load_explicit(&task->runtime->stopping, memory_order_relaxed))
        first = hk_status_retain(task->runtime->cancelled);
    if (first) {
        hki_task_fail_with(task, first);
        return false;
    }
    hki_this_thread.task_depth++;
    bool prepared = !spec->class->prepare || spec->class->prepare(task, task->payload);
    hki_this_thread.task_depth--;
    task->started = prepared;
    return prepared;
}

void hki_task_run_piece(hki_task *task, int64_t piece)
{
    hki_runtime *runtime = task->runtime;
    if (atomic_load_explicit(&runtime->stopping, memory_order_relaxed)) {
        hki_task_fail_with(task, hk_status_retain(runtime->cancelled));
        return;
    }
    if (!task->spec.class->run)
        return;
    hki_this_thread.task_depth++;
    task->spec.class->run(task, task->payload, piece);
    hki_this_thread.task_depth--;
}

void hki_task_run_join(hki_task *task)
{
    if (!task->spec.class->join || has_failed(task))
        return;
    hki_this_thread.task_depth++;
    task->spec.class->join(task, task->payload);
    hki_this_thread.task_depth--;
}

/* Notes what failed and what is whole again. */
static void settle(hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    bool failed = has_failed(task);
    if (!failed && atomic_load_explicit(&task->runtime->failed_vars, memory_order_relaxed) == 0)
        return;
    const hk_status *failure = task->failure ? task->failure : task->input_failure;
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        if (!(access->mode & HKI_WRITE))
            continue;
        if (failure && !(access->mode & HKI_KEEP))
            hki_var_fail(access->var, access->begin, access->end, failure,
                         !task->started && !(access->mode & HKI_FRESH));
        else if (!failure && access->mode & HKI_HEAL)
            hki_var_heal(access->var, access->begin, access->end);
    }
    if (task->failure)
        hki_runtime_note_failure(task->runtime, task->failure);
}

/* Gives ready tasks to whoever waits for them or to their queues; keeps one where that is allowed. */
hki_task *hki_task_dispatch(hki_executor *executor, hki_task *ready)
{
    hki_task *kept = NULL;
    while (ready) {
        hki_task *task = ready;
        ready = task->queue_next;
        if (task->is_wait) {
            /* The slot may be another's by the time of the wake: slots stay, and who sleeps looks. */
            if (atomic_exchange(&task->signalled, HKI_SIGNALLED) == HKI_SLEEPING)
                hki_futex_wake(&task->signalled, 1);
            continue;
        }
        atomic_store_explicit(&task->state, HKI_TASK_READY, memory_order_relaxed);
        hki_queue *queue = hki_task_queue(task);
        if (executor->chain && !kept && queue->park == executor->queue->park)
            kept = task;
        else
            hki_queue_push(queue, task);
    }
    return kept;
}

hki_task *hki_task_complete(hki_executor *executor, hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    const hki_task_spec *spec = &task->spec;
    if (runtime->accelerated) {
        hki_ahead_await(task);
        if (!hki_task_queue(task)->is_accelerator)
            task->end_ns = hki_clock_ns();
    }
    settle(task);
    hki_task *next = NULL;
    if (!runtime->serial)
        next = hki_task_dispatch(executor, hki_task_open_gates(task));
    if (spec->class->finish) {
        hki_this_thread.task_depth++;
        spec->class->finish(task, task->payload);
        hki_this_thread.task_depth--;
    }
    hki_queue *queue = hki_task_queue(task);
    unsigned epoch = task->epoch;
    if (runtime->accelerated)
        hki_ahead_end(task);
    hki_slot_put(executor, task);
    if (epoch != HKI_UNCOUNTED)
        hki_queue_count(queue, executor, epoch);
    return next;
}

/* ---- issuing ------------------------------------------------------------------------------------------ */

static inline hki_task *begin(hki_task *task)
{
    task->spec.piece_count = 1;
    task->spec.expected_ns = INT64_MAX;
    task->spec.versions = NULL;
    task->spec.collective = false;
    task->spec.queue = HKI_QUEUE_COMPUTE;
    task->spec.cost = (hki_cost){0};
    task->spec.source = hki_source_get();
    return task;
}

static __attribute__((noinline)) hki_task *begin_slow(hki_runtime *runtime, size_t payload_bytes,
                                                      int access_count, uint64_t output_bytes)
{
    hki_task *task = hki_slot_get(runtime, access_count, payload_bytes, output_bytes,
                                  !runtime->serial && !hki_in_task());
    return task ? begin(task) : NULL;
}

hki_task *hki_task_begin(hki_runtime *runtime, size_t payload_bytes, int access_count,
                         uint64_t output_bytes)
{
    hki_thread *self = &hki_this_thread;
    assert(self->task_depth < LEAF_DEPTH); /* a leaf issues nothing: it has the issue lock */
    hki_task *task = hki_slot_take_kept(self, runtime, access_count, payload_bytes, output_bytes);
    return HKI_USUALLY(task) ? begin(task)
                             : begin_slow(runtime, payload_bytes, access_count, output_bytes);
}

void *hki_task_payload(hki_task *task)
{
    return task->payload;
}

hki_task_spec *hki_task_get_spec(hki_task *task)
{
    return &task->spec;
}

uint64_t hki_task_sequence(const hki_task *task)
{
    return atomic_load_explicit(&((hki_task *)task)->sequence, memory_order_relaxed);
}

static void note_issued_locked(hki_runtime *runtime, const hki_task *task)
{
    uint64_t issued = atomic_load_explicit(&runtime->issued_tasks, memory_order_relaxed);
    atomic_store_explicit(&runtime->issued_tasks, issued + 1, memory_order_relaxed);
    runtime->issued_ns += hki_task_backlog_ns(task);
}

/* Only from when the first task asks: before, variables need not be touched here, whose lines of memory are the workers'. */
static void count_writes_locked(hki_runtime *runtime, const hki_task_spec *spec)
{
    if (HKI_USUALLY(!runtime->counts_writes && !spec->versions))
        return;
    runtime->counts_writes = true;
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        if (spec->versions)
            spec->versions[i] = access->var->version;
        access->var->version += (access->mode & HKI_WRITE) != 0;
    }
}

static uint64_t submit_serial(hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    bool nested = hki_in_task(); /* then this thread holds the lock already */
    if (!nested)
        hki_lock_acquire(&runtime->serial_lock);
    uint64_t sequence = ++runtime->sequence;
    atomic_store_explicit(&task->sequence, sequence, memory_order_relaxed);
    hki_biased_acquire(&runtime->issue_lock);
    note_issued_locked(runtime, task);
    count_writes_locked(runtime, &task->spec);
    hki_tracing_issue(task);
    hki_biased_release(&runtime->issue_lock);
    hki_tracing_ready(task);
    hki_execute_foreign(hki_task_queue(task), &(hki_claim){task, -1}, 1);
    if (!nested)
        hki_lock_release(&runtime->serial_lock);
    return sequence;
}

/* Nothing is in its way. */
static bool is_free_locked(const hki_task_spec *spec)
{
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        if (!HKI_USUALLY(hki_var_is_untouched(access->var)) &&
            !hki_var_is_free_locked(access->var, access->begin, access->end,
                                    access->mode & HKI_WRITE))
            return false;
    }
    return true;
}

/* The usual case of hki_task_start: no failure to look for. */
static bool may_start(const hki_runtime *runtime)
{
    return atomic_load_explicit(&((hki_runtime *)runtime)->failed_vars, memory_order_relaxed) ==
               0 &&
           !atomic_load_explicit(&((hki_runtime *)runtime)->stopping, memory_order_relaxed);
}

/* Runs a task that is in nobody's list. */
static inline void run_unregistered(hki_thread *self, const hki_runtime *runtime, hki_task *task)
{
    const hki_task_class *class = task->spec.class;
    self->task_depth += LEAF_DEPTH;
    const bool usual = HKI_USUALLY(may_start(runtime));
    task->started =
        usual ? !class->prepare || class->prepare(task, task->payload) : hki_task_start(task);
    if (task->started) {
        if (class->run)
            class->run(task, task->payload, 0);
        if (class->join && !has_failed(task))
            class->join(task, task->payload);
    }
    if (!HKI_USUALLY(usual) || has_failed(task))
        settle(task);
    if (class->finish)
        class->finish(task, task->payload);
    self->task_depth -= LEAF_DEPTH;
}

/* Nobody else ever learns of such a task: it has no gates, is in no queue and in no count of unfinished ones. */
static void run_at_once_locked(hki_thread *self, hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    run_unregistered(self, runtime, task);
    hki_slot_clean(task);
    hki_slot_keep_locked(self, runtime, task);
}

void hki_task_run_in_turn(hki_executor *executor, hki_task *task)
{
    hki_queue *queue = hki_task_queue(task);
    unsigned epoch = task->epoch;
    run_unregistered(&hki_this_thread, queue->runtime, task);
    hki_slot_put(executor, task);
    hki_queue_count(queue, executor, epoch);
}

/* True: nothing is in its way. */
static bool register_locked(hki_task *task)
{
    hki_registration registration;
    unsigned times = 0;
    hki_order_keep_locked(task->runtime);
    while ((registration = hki_task_register(task)) == HKI_NOT_REGISTERED)
        hki_relax_or_yield(&times); /* finishing takes no issue lock, so this ends */
    return registration == HKI_REGISTERED_READY;
}

static uint64_t take_sequence_locked(hki_thread *self, hki_runtime *runtime, hki_task *task)
{
    const uint64_t sequence = ++runtime->sequence;
    self->last_sequence = sequence;
    atomic_store_explicit(&task->sequence, sequence, memory_order_relaxed);
    return sequence;
}

/* Who is looking for work finds it in the ring. Nobody is woken just to register what may have to wait; what may run in its
 * turn needs no registering. */
static bool is_for_ring(hki_queue *queue, const hki_task *task)
{
    hki_order *order = task->runtime->ordering;
    return order && !task->spec.collective &&
           (atomic_load_explicit(&order->attentive, memory_order_relaxed) > 0 ||
            (hki_task_takes_turns(task) &&
             (atomic_load_explicit(&queue->park->sleepers, memory_order_relaxed) > 0 ||
              hki_relief_rests(order))));
}

/* Issues a task that has its place in the order of calls; small: it had better run here as soon as it is ready. Releases the
 * issue lock. Once published, the slot may be recycled at any time. */
static __attribute__((noinline)) void issue_locked(hki_queue *queue, hki_task *task, bool small,
                                                   bool is_put)
{
    hki_runtime *runtime = task->runtime;
    const int access_count = task->spec.access_count;
    atomic_store_explicit(&task->state, HKI_TASK_WAITING, memory_order_relaxed);
    note_issued_locked(runtime, task);
    task->epoch = (uint8_t)queue->epoch;
    _Atomic(uint64_t) *issued = &queue->issued[queue->epoch];
    atomic_store_explicit(issued, atomic_load_explicit(issued, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    hki_tracing_issue(task);
    is_put = is_put && hki_order_put_locked(runtime->ordering, task);
    bool ready = !is_put && register_locked(task);
    if (ready) {
        hki_tracing_ready(task);
        atomic_store_explicit(&task->state, HKI_TASK_READY, memory_order_relaxed);
        if (small)
            runtime->inline_calls++;
    }
    hki_slot_refill_locked(runtime, access_count);
    hki_biased_release(&runtime->issue_lock);
    if (is_put)
        hki_order_notify(runtime->ordering, queue);
    else if (ready && small)
        hki_execute_foreign(queue, &(hki_claim){task, -1}, 1);
    else if (ready)
        hki_queue_push(queue, task);
    if ((ready || is_put) && atomic_load(&runtime->ended))
        hki_cancel_all(runtime);
}

/* A leaf that nobody else need learn of, wherever it runs. */
static bool is_brief_leaf(const hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    return spec->expected_ns <= HKI_DIRECT_NS && spec->class->leaf && spec->piece_count == 1 &&
           !spec->collective && !hki_tracing(task->runtime);
}

static bool is_plain_leaf(const hki_task *task)
{
    return HKI_USUALLY(task->runtime->is_plain) && is_brief_leaf(task);
}

/* It runs here, at once where nothing is in its way, which takes less than others would take who had to do without it
 * meanwhile. */
static inline uint64_t submit_brief(hki_thread *self, hki_queue *queue, hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    hki_biased_acquire(&runtime->issue_lock);
    hki_order_keep_locked(runtime);
    const uint64_t sequence = take_sequence_locked(self, runtime, task);
    count_writes_locked(runtime, &task->spec);
    if (HKI_USUALLY(is_free_locked(&task->spec))) {
        run_at_once_locked(self, task);
        queue->at_once++;
        hki_biased_release(&runtime->issue_lock);
    } else {
        if (runtime->accelerated)
            hki_ahead_begin(task);
        issue_locked(queue, task, true, false);
    }
    return sequence;
}

/* Whatever kind of task it is. */
static __attribute__((noinline)) uint64_t submit_any(hki_task *task, bool as_ever)
{
    hki_thread *self = &hki_this_thread;
    hki_runtime *runtime = task->runtime;
    if (runtime->serial)
        return self->last_sequence = submit_serial(task);
    const hki_task_spec *spec = &task->spec;
    hki_queue *queue = hki_task_queue(task);
    const hki_where where = as_ever && is_plain_leaf(task)
                                ? hki_turn_where(self, runtime, spec->expected_ns)
                                : HKI_ANYWHERE;
    if (where == HKI_IN_CALLER)
        return submit_brief(self, queue, task);
    const bool small = where == HKI_ANYWHERE && !queue->is_accelerator && spec->piece_count == 1 &&
                       !spec->collective &&
                       (hki_waits_anyway(self, queue, spec) ||
                        hki_runs_in_caller(queue, spec->expected_ns,
                                           runtime->ordering && hki_task_takes_turns(task)));
    const bool is_put = !small && is_for_ring(queue, task);
    if (small && runtime->accelerated && is_brief_leaf(task))
        return submit_brief(self, queue, task);
    if (runtime->accelerated)
        hki_ahead_begin(task);
    hki_biased_acquire(&runtime->issue_lock);
    if (!is_put)
        hki_order_keep_locked(runtime);
    const uint64_t sequence = take_sequence_locked(self, runtime, task);
    count_writes_locked(runtime, spec);
    issue_locked(queue, task, small, is_put);
    return sequence;
}

uint64_t hki_task_submit(hki_task *task)
{
    hki_thread *self = &hki_this_thread;
    const bool as_ever = hki_environment_is_default(); /* asked early: the answer takes a while */
    hki_queue *queue = hki_task_queue(task);
    self->submitted_count++;
    /* What remains of plain leaves takes turns. */
    if (!is_plain_leaf(task) || !HKI_USUALLY(as_ever) ||
        (!HKI_USUALLY(hki_runs_in_caller_surely(queue, task->spec.expected_ns, true)) &&
         !hki_turn_stays_in_caller(self, task->runtime, task->spec.expected_ns)))
        return submit_any(task, as_ever);
    return submit_brief(self, queue, task);
}
