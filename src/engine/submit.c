/* From a call to its task: begin, and submit. */
#include "engine/core/stage.h"
#include "engine/core/watch.h"
#include "engine/policy/place.h"
#include "engine/policy/throttle.h"
#include "engine/wait/help.h"
#include "engine/wait/wait.h"

#include <assert.h>

/* ---- beginning --------------------------------------------------------------------------------------------------------- */

hki_task *hki_task_begin(hki_runtime *runtime, size_t payload_bytes, int access_count,
                         uint64_t output_bytes)
{
    /* A leaf issues nothing: it has the issue lock. */
    assert(hki_this_thread.task_depth < HKI_LEAF_DEPTH);
    if (!HKI_USUALLY(hki_throttle_is_clear(runtime, output_bytes)) && !runtime->serial &&
        !hki_in_task())
        hki_wait_to_issue(runtime, output_bytes);
    hki_task *task = hki_slot_get(runtime, access_count, payload_bytes);
    if (!HKI_USUALLY(task))
        return NULL;
    task->spec.piece_count = 1;
    task->spec.expected_ns = INT64_MAX;
    task->spec.versions = NULL;
    task->spec.collective = false;
    task->spec.updates = false;
    task->spec.priority = hki_this_thread.priority;
    task->spec.queue = HKI_QUEUE_COMPUTE;
    task->spec.cost = (hki_cost){0};
    task->spec.source = hki_source_get();
    return task;
}

uint8_t hki_priority_of(int priority)
{
    return (uint8_t)(priority < 0 ? 0 : priority > UINT8_MAX ? UINT8_MAX : priority);
}

int hk_priority_set(int priority)
{
    const int before = hki_this_thread.priority;
    hki_this_thread.priority = hki_priority_of(priority);
    return before;
}

void hk_priority_scope_end(hk_priority_scope *scope)
{
    hk_priority_set(scope->before);
}

/* ---- submitting -------------------------------------------------------------------------------------------------------- */

/* Under the lock nobody else does. */
static void count_locked(_Atomic(uint64_t) *count)
{
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static void note_issued_locked(hki_runtime *runtime, const hki_task *task)
{
    count_locked(&runtime->issued_tasks);
    const int64_t recent_ns = atomic_load_explicit(&runtime->recent_ns, memory_order_relaxed);
    hki_backlog_add(&runtime->recent_ns, hki_task_backlog_ns(task) - recent_ns / HKI_RECENT_TASKS);
}

/* Only from when somebody asks: before, variables need not be touched here, whose lines of memory are the workers'. */
static inline void note_writes_locked(hki_runtime *runtime, hki_task *task, uint64_t sequence)
{
    if (HKI_USUALLY(!runtime->counts_writes && !task->spec.versions))
        return;
    runtime->counts_writes = true;
    hki_writes_note_locked(&task->spec, sequence);
    if (runtime->note_issue)
        runtime->note_issue(task);
}

static uint64_t take_sequence_locked(hki_runtime *runtime, hki_task *task)
{
    const uint64_t sequence = ++runtime->sequence;
    hki_this_thread.last_sequence = sequence;
    atomic_store_explicit(&task->sequence, sequence, memory_order_relaxed);
    return sequence;
}

/* False: interrupted. */
static bool await_promises_locked(const hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    hki_blocking blocking = {0};
    bool over = true;
    for (int i = 0; i < task->spec.access_count && runtime->promised && over; i++)
        if (hki_promise_is_open_locked(runtime, &task->spec.accesses[i])) {
            over = hki_promises_await_locked(runtime, &task->spec.accesses[i], &blocking);
            i = -1; /* others may have issued meanwhile */
        }
    hki_promises_complete_locked(runtime);
    hki_blocking_end(&blocking);
    return over;
}

/* It has not begun, so that what it would write is intact. Takes the record. */
static void cancel(hki_task *task, const hk_status *why)
{
    hki_executor executor = {0};
    hki_task_fail_with(task, why);
    hki_task_complete(&executor, task);
    hki_slot_give_back(&executor.returns);
}

static uint64_t submit_serial(hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    bool nested = hki_in_task(); /* then this thread holds the lock already */
    if (!nested)
        hki_lock_acquire(&runtime->serial_lock);
    const bool may_run = nested || await_promises_locked(task);
    hki_biased_acquire(&runtime->issue_lock);
    const uint64_t sequence = take_sequence_locked(runtime, task);
    note_issued_locked(runtime, task);
    note_writes_locked(runtime, task, sequence);
    hki_tracing_issue_locked(task);
    hki_biased_release(&runtime->issue_lock);
    hki_tracing_ready(task);
    if (may_run)
        hki_execute_foreign((hki_claim){task, -1});
    else
        cancel(task, hki_interrupted(task->spec.operation));
    if (!nested)
        hki_lock_release(&runtime->serial_lock);
    hki_this_thread.last_sequence = sequence; /* again: the task may have submitted others here */
    return sequence;
}

/* Nothing is in its way. */
static bool is_free_locked(const hki_task_spec *spec)
{
    for (int i = 0; i < spec->access_count; i++)
        if (!hki_access_is_free_locked(&spec->accesses[i]))
            return false;
    return true;
}

/* True: nothing is in its way. */
static bool register_locked(hki_task *task)
{
    hki_registration registration;
    unsigned times = 0;
    hki_ring_keep_order_locked(task->runtime);
    while ((registration = hki_task_register(task)) == HKI_NOT_REGISTERED)
        hki_relax_or_yield(&times); /* finishing takes no issue lock, so this ends */
    return registration == HKI_REGISTERED_READY;
}

/* Nobody else ever learns of such a task: it has no gates, is in no queue and in no count of unfinished ones. */
static inline void run_at_once_locked(hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    const uint32_t floats = hki_floats_enter();
    hki_task_run_whole(runtime, task);
    hki_floats_leave(floats);
    hki_slot_clean(task);
    hki_slot_put_back_locked(runtime, task);
    hki_task_queue(task)->at_once++;
}

/* Issues a task that has its place in the order of calls. Releases the issue lock. Once published, the slot may be recycled
 * at any time. */
static __attribute__((noinline)) void issue_locked(hki_task *task, hki_place place)
{
    hki_runtime *runtime = task->runtime;
    hki_queue *queue = hki_task_queue(task);
    const bool is_here = place <= HKI_PLACE_HERE;
    note_issued_locked(runtime, task);
    task->epoch = (uint8_t)queue->epoch;
    count_locked(&queue->issued[queue->epoch]);
    hki_tracing_issue_locked(task);
    const bool is_put = place == HKI_PLACE_RING && hki_ring_put_locked(runtime->ring, task);
    const bool is_ready = !is_put && register_locked(task);
    if (is_ready) {
        hki_tracing_ready(task);
        runtime->inline_calls += is_here;
    }
    hki_biased_release(&runtime->issue_lock);
    if (is_put)
        hki_queue_notify(queue->home);
    else if (is_ready && is_here && hki_is_divided(task))
        hki_help_with(task);
    else if (is_ready && is_here)
        hki_execute_foreign((hki_claim){task, -1});
    else if (is_ready)
        hki_queue_push(task);
    if ((is_ready || is_put) && atomic_load(&runtime->ended))
        hki_cancel_all(runtime);
}

uint64_t hki_task_submit(hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    hki_this_thread.submitted_count++;
    if (!HKI_USUALLY(!runtime->serial))
        return submit_serial(task);
    const hki_place place = hki_place_task(task);
    if (!HKI_USUALLY(!runtime->accelerated))
        hki_stage_begin(task);
    hki_biased_acquire(&runtime->issue_lock);
    if (place != HKI_PLACE_RING)
        hki_ring_keep_order_locked(runtime);
    const uint64_t sequence = take_sequence_locked(runtime, task);
    note_writes_locked(runtime, task, sequence);
    if (place == HKI_PLACE_AT_ONCE && HKI_USUALLY(is_free_locked(&task->spec))) {
        run_at_once_locked(task);
        hki_biased_release(&runtime->issue_lock);
    } else {
        issue_locked(task, place);
    }
    return sequence;
}

uint64_t hki_last_sequence(void)
{
    return hki_this_thread.last_sequence;
}

uint64_t hki_submitted_count(void)
{
    return hki_this_thread.submitted_count;
}
