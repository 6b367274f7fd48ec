/* Tasks from slot to slot: begin, submit, start, complete. */
#include "engine/engine_internal.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_SLOTS = 32, CHUNK_GATES = 128, RETURN_BATCH = 32 };

static _Thread_local int task_depth; /* > 0 while this thread runs a task */
static _Thread_local const hki_blame *task_blame;
static _Thread_local uint64_t last_sequence, submitted_count;

bool hki_in_task(void)
{
    return task_depth > 0;
}

void hki_sequence_note(uint64_t sequence)
{
    last_sequence = sequence;
}

uint64_t hki_last_sequence(void)
{
    return last_sequence;
}

uint64_t hki_submitted_count(void)
{
    return submitted_count;
}

/* ---- slots ------------------------------------------------------------------------------------------ */

static void *chunk_get(hki_runtime *runtime, size_t bytes)
{
    /* One cache line in front links the chunks, which live as long as the runtime. */
    char *chunk = aligned_alloc(HKI_CACHE_LINE, HKI_CACHE_LINE + bytes);
    if (!chunk)
        return NULL;
    memset(chunk, 0, HKI_CACHE_LINE + bytes);
    *(void **)(void *)chunk = runtime->chunks;
    runtime->chunks = chunk;
    return chunk + HKI_CACHE_LINE;
}

static hki_task *slot_get_locked(hki_runtime *runtime)
{
    if (!runtime->free_tasks)
        runtime->free_tasks =
            atomic_exchange_explicit(&runtime->returned_tasks, NULL, memory_order_acquire);
    if (!runtime->free_tasks) {
        hki_task *slots = chunk_get(runtime, CHUNK_SLOTS * sizeof *slots);
        for (int i = 0; slots && i < CHUNK_SLOTS; i++) {
            slots[i].queue_next = runtime->free_tasks;
            runtime->free_tasks = &slots[i];
        }
    }
    hki_task *task = runtime->free_tasks;
    if (task)
        runtime->free_tasks = task->queue_next;
    return task;
}

static bool gates_get_locked(hki_runtime *runtime, hki_task *task, int count)
{
    task->reserve = NULL;
    for (int i = 0; i < count; i++) {
        if (!runtime->free_gates)
            runtime->free_gates =
                atomic_exchange_explicit(&runtime->returned_gates, NULL, memory_order_acquire);
        if (!runtime->free_gates) {
            hki_gate *gates = chunk_get(runtime, CHUNK_GATES * sizeof *gates);
            for (int j = 0; gates && j < CHUNK_GATES; j++) {
                gates[j].next = runtime->free_gates;
                runtime->free_gates = &gates[j];
            }
        }
        hki_gate *gate = runtime->free_gates;
        if (!gate) {
            hki_gates_free_locked(runtime, task->reserve);
            return false;
        }
        runtime->free_gates = gate->next;
        gate->next = task->reserve;
        task->reserve = gate;
    }
    return true;
}

hki_task *hki_task_slot_get(hki_runtime *runtime, int access_count, size_t payload_bytes,
                            uint64_t output_bytes, bool may_wait)
{
    void *overflow = NULL;
    char *payload = NULL;
    size_t accesses_bytes = 0;
    if (access_count > HKI_TASK_INLINE_ACCESSES) /* twice the accesses: see hki_task_register */
        accesses_bytes =
            (size_t)access_count * (2 * sizeof(hki_access) + sizeof(hki_gate *)) / 64 * 64 + 64;
    size_t overflow_bytes =
        accesses_bytes + (payload_bytes > HKI_TASK_PAYLOAD_BYTES ? payload_bytes : 0);
    if (overflow_bytes && !(overflow = aligned_alloc(64, (overflow_bytes + 63) / 64 * 64)))
        return NULL;
    hki_lock_acquire(&runtime->issue_lock);
    while (may_wait && hki_window_full_locked(runtime, output_bytes)) {
        hki_lock_release(&runtime->issue_lock);
        hki_window_wait(runtime, output_bytes);
        hki_lock_acquire(&runtime->issue_lock);
        may_wait = hki_runtime_alive(runtime);
    }
    hki_task *task = slot_get_locked(runtime);
    if (task && !gates_get_locked(runtime, task, runtime->serial ? 0 : access_count)) {
        task->queue_next = runtime->free_tasks;
        runtime->free_tasks = task;
        task = NULL;
    }
    hki_lock_release(&runtime->issue_lock);
    if (!task) {
        free(overflow);
        return NULL;
    }
    task->runtime = runtime;
    task->overflow = overflow;
    if (accesses_bytes) {
        task->spec.accesses = overflow;
        task->registered = (hki_gate **)(void *)(task->spec.accesses + 2 * access_count);
    } else {
        task->spec.accesses = task->inline_accesses;
        task->registered = task->inline_registered;
    }
    if (payload_bytes > HKI_TASK_PAYLOAD_BYTES)
        payload = (char *)overflow + accesses_bytes;
    task->payload = payload ? payload : task->inline_payload;
    task->spec.access_count = access_count;
    task->registered_count = task->wait_count = 0;
    task->next_piece = -1;
    task->counted = task->is_wait = task->started = false;
    atomic_store_explicit(&task->signalled, 0, memory_order_relaxed);
    task->failure = task->input_failure = NULL;
    atomic_store_explicit(&task->pending, 1, memory_order_relaxed);
    atomic_store_explicit(&task->queued_in, NULL, memory_order_relaxed);
    return task;
}

void hki_executor_flush(hki_executor *executor)
{
    if (!executor->finished_first)
        return;
    hki_runtime *runtime = executor->finished_first->runtime;
    hki_task *head = atomic_load_explicit(&runtime->returned_tasks, memory_order_relaxed);
    do
        executor->finished_last->queue_next = head;
    while (!atomic_compare_exchange_weak_explicit(&runtime->returned_tasks, &head,
                                                  executor->finished_first, memory_order_release,
                                                  memory_order_relaxed));
    executor->finished_first = executor->finished_last = NULL;
    executor->finished_count = 0;
}

void hki_task_slot_put(hki_executor *executor, hki_task *task)
{
    hk_status_release(task->failure);
    hk_status_release(task->input_failure);
    free(task->overflow);
    atomic_store_explicit(&task->state, HKI_TASK_FREE, memory_order_relaxed);
    task->queue_next = NULL;
    if (executor->finished_last)
        executor->finished_last->queue_next = task;
    else
        executor->finished_first = task;
    executor->finished_last = task;
    if (++executor->finished_count == RETURN_BATCH)
        hki_executor_flush(executor);
}

/* ---- issuing ------------------------------------------------------------------------------------------ */

hki_task *hki_task_begin(hki_runtime *runtime, size_t payload_bytes, int access_count,
                         uint64_t output_bytes)
{
    hki_task *task = hki_task_slot_get(runtime, access_count, payload_bytes, output_bytes,
                                       !runtime->serial && !hki_in_task());
    if (task) {
        task->spec.piece_count = 1;
        task->spec.expected_ns = INT64_MAX;
        task->spec.collective = false;
        task->spec.queue = HKI_QUEUE_COMPUTE;
        task->spec.cost = (hki_cost){0};
        task->spec.source = hki_source_get();
    }
    return task;
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

static uint64_t submit_serial(hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    bool nested = hki_in_task(); /* then this thread holds the lock already */
    if (!nested)
        hki_lock_acquire(&runtime->serial_lock);
    uint64_t sequence = ++runtime->sequence;
    atomic_store_explicit(&task->sequence, sequence, memory_order_relaxed);
    hki_lock_acquire(&runtime->issue_lock);
    runtime->issued_tasks++;
    hki_tracing_issue(task);
    hki_lock_release(&runtime->issue_lock);
    hki_tracing_ready(task);
    hki_execute_foreign(hki_task_queue(task), (hki_claim){task, -1});
    if (!nested)
        hki_lock_release(&runtime->serial_lock);
    return sequence;
}

uint64_t hki_task_submit(hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    submitted_count++;
    if (runtime->serial)
        return last_sequence = submit_serial(task);
    const hki_task_spec *spec = &task->spec;
    hki_queue *queue = hki_task_queue(task);
    /* Read now: once published, the slot may be recycled at any time. */
    bool small = !queue->is_accelerator && spec->piece_count == 1 && !spec->collective &&
                 spec->expected_ns <= runtime->inline_ns;
    if (runtime->accelerated)
        atomic_store_explicit(&task->ready_ns, hki_clock_ns(), memory_order_relaxed);
    hki_lock_acquire(&runtime->issue_lock);
    uint64_t sequence = ++runtime->sequence;
    atomic_store_explicit(&task->sequence, sequence, memory_order_relaxed);
    atomic_store_explicit(&task->state, HKI_TASK_WAITING, memory_order_relaxed);
    runtime->issued_tasks++;
    task->epoch = queue->epoch;
    task->counted = true;
    queue->issued[queue->epoch]++;
    hki_tracing_issue(task);
    hki_task_register(task);
    bool ready = atomic_fetch_sub_explicit(&task->pending, 1, memory_order_acq_rel) == 1;
    if (ready && small)
        runtime->inline_calls++;
    hki_lock_release(&runtime->issue_lock);
    last_sequence = sequence;
    if (ready) {
        hki_tracing_ready(task);
        atomic_store_explicit(&task->state, HKI_TASK_READY, memory_order_relaxed);
        if (small)
            hki_execute_foreign(queue, (hki_claim){task, -1});
        else
            hki_queue_push(queue, task);
        if (atomic_load(&runtime->ended))
            hki_queue_cancel(queue);
    }
    return sequence;
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
    hk_status_release(status);
}

void hki_task_fail_with(hki_task *task, const hk_status *status)
{
    hki_lock_acquire(&task->failure_lock);
    const hk_status *old = task->input_failure;
    task->input_failure = status;
    hki_lock_release(&task->failure_lock);
    hk_status_release(old);
}

bool hki_task_start(hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    atomic_store_explicit(&task->state, HKI_TASK_STARTED, memory_order_relaxed);
    const hk_status *first = NULL;
    /* Nearly always nothing at all is failed; then even the variables need not be looked at. */
    bool any = atomic_load_explicit(&task->runtime->failed_vars, memory_order_relaxed) > 0;
    for (int i = 0; any && i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        if (!(access->mode & HKI_READ))
            continue;
        const hk_status *status = hki_var_failure(access->var, access->begin, access->end);
        const hk_status *earlier = hki_status_earlier(first, status);
        hk_status_release(earlier == first ? status : first);
        first = earlier;
    }
    if (!first && atomic_load_explicit(&task->runtime->stopping, memory_order_relaxed))
        first = hk_status_retain(task->runtime->cancelled);
    if (first) {
        hki_task_fail_with(task, first);
        return false;
    }
    task_depth++;
    bool prepared = !spec->class->prepare || spec->class->prepare(task, task->payload);
    task_depth--;
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
    task_depth++;
    task->spec.class->run(task, task->payload, piece);
    task_depth--;
}

void hki_task_run_join(hki_task *task)
{
    if (!task->spec.class->join || task->failure || task->input_failure)
        return;
    task_depth++;
    task->spec.class->join(task, task->payload);
    task_depth--;
}

static void settle_writes(hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    const hk_status *failure = task->failure ? task->failure : task->input_failure;
    if (!failure && atomic_load_explicit(&task->runtime->failed_vars, memory_order_relaxed) == 0)
        return;
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
        if (executor->chain && !kept && queue == executor->queue)
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
    if (runtime->accelerated && !hki_task_queue(task)->is_accelerator)
        task->end_ns = hki_clock_ns();
    settle_writes(task);
    if (task->failure)
        hki_runtime_note_failure(runtime, task->failure);
    hki_task *next = NULL;
    if (!runtime->serial)
        next = hki_task_dispatch(executor, hki_task_open_gates(task));
    if (spec->class->finish) {
        task_depth++;
        spec->class->finish(task, task->payload);
        task_depth--;
    }
    hki_queue *queue = hki_task_queue(task);
    unsigned epoch = task->epoch;
    bool counted = task->counted;
    hki_task_slot_put(executor, task);
    if (counted) /* who sleeps until all is finished is woken when the executor has run out of tasks */
        atomic_fetch_add(&queue->counters[executor->slot].finished[epoch], 1);
    return next;
}
