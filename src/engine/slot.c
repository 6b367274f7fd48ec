/* Where tasks and gates live: slots in chunks, which last as long as the runtime, and go from hand to hand. */
#include "engine/accelerator.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_SLOTS = 32, CHUNK_GATES = 128, RETURN_BATCH = 32 };

static void *chunk_get(hki_runtime *runtime, size_t bytes)
{
    /* One cache line in front links the chunks. */
    char *chunk = aligned_alloc(HKI_CACHE_LINE, HKI_CACHE_LINE + bytes);
    if (!chunk)
        return NULL;
    memset(chunk, 0, HKI_CACHE_LINE + bytes);
    *(void **)(void *)chunk = runtime->chunks;
    runtime->chunks = chunk;
    return chunk + HKI_CACHE_LINE;
}

static hki_task *free_slot_locked(hki_runtime *runtime)
{
    if (!runtime->free_tasks)
        runtime->free_tasks =
            atomic_exchange_explicit(&runtime->returned_tasks, NULL, memory_order_acquire);
    if (!runtime->free_tasks) {
        hki_task *slots = chunk_get(runtime, CHUNK_SLOTS * sizeof *slots);
        for (int i = 0; slots && i < CHUNK_SLOTS; i++) {
            slots[i].next_piece = -1;
            slots[i].runtime = runtime;
            slots[i].queue_next = runtime->free_tasks;
            runtime->free_tasks = &slots[i];
        }
    }
    hki_task *task = runtime->free_tasks;
    if (task) {
        runtime->free_tasks = task->queue_next;
        if (task->queue_next) /* it comes from another core */
            __builtin_prefetch(&task->queue_next->queue_next, 1);
    }
    return task;
}

/* Fresh gates for so many accesses; false: no memory, and the task has as many as there were. */
static bool reserve_locked(hki_runtime *runtime, hki_task *task, int count)
{
    while (task->reserve_count < count) {
        if (!runtime->free_gates)
            runtime->free_gates =
                atomic_exchange_explicit(&runtime->returned_gates, NULL, memory_order_acquire);
        if (!runtime->free_gates) {
            size_t bytes = runtime->accelerated ? sizeof(hki_staged_gate) : sizeof(hki_gate);
            char *gates = chunk_get(runtime, CHUNK_GATES * bytes);
            for (size_t i = 0; gates && i < CHUNK_GATES; i++) {
                hki_gate *fresh = (void *)(gates + i * bytes);
                fresh->next = runtime->free_gates;
                runtime->free_gates = fresh;
            }
        }
        hki_gate *gate = runtime->free_gates;
        if (!gate)
            return false;
        runtime->free_gates = gate->next;
        __builtin_prefetch(gate->next, 1);
        gate->next = task->reserve;
        task->reserve = gate;
        task->reserve_count++;
    }
    return true;
}

void hki_slot_refill_locked(hki_runtime *runtime, int access_count)
{
    if (atomic_load_explicit(&runtime->spare_task, memory_order_relaxed) ||
        (!runtime->free_tasks &&
         !atomic_load_explicit(&runtime->returned_tasks, memory_order_relaxed)))
        return;
    hki_task *task = free_slot_locked(runtime);
    hki_task_prefetch(task);
    __builtin_prefetch(&task->spec.source, 1);
    __builtin_prefetch(&task->reserve, 1);
    __builtin_prefetch(task->inline_accesses, 1);
    reserve_locked(runtime, task, access_count);
    hki_slot_spare_locked(task);
}

void hki_slot_spare_locked(hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    /* Only who has the lock puts one there. */
    if (!atomic_load_explicit(&runtime->spare_task, memory_order_relaxed)) {
        atomic_store_explicit(&runtime->spare_task, task, memory_order_release);
    } else {
        task->queue_next = runtime->free_tasks;
        runtime->free_tasks = task;
    }
}

static void slot_init(hki_task *task, int access_count)
{
    task->payload = task->inline_payload;
    task->spec.accesses = task->inline_accesses;
    task->spec.access_count = access_count;
    task->registered_count = task->wait_count = 0;
    task->epoch = HKI_UNCOUNTED;
    task->is_wait = task->started = false;
    atomic_store_explicit(&task->pending, HKI_ISSUING, memory_order_relaxed);
}

/* The window is known to have room where the caller has the spare slot. */
static __attribute__((noinline)) hki_task *slot_get_slow(hki_runtime *runtime, hki_task *spare,
                                                         int access_count, size_t payload_bytes,
                                                         uint64_t output_bytes, bool may_wait)
{
    void *overflow = NULL;
    size_t accesses_bytes = 0;
    if (access_count > HKI_TASK_INLINE_ACCESSES) /* twice the accesses: see hki_task_register */
        accesses_bytes =
            (size_t)access_count * (2 * sizeof(hki_access) + sizeof(hki_gate *)) / 64 * 64 + 64;
    size_t overflow_bytes =
        accesses_bytes + (payload_bytes > HKI_TASK_PAYLOAD_BYTES ? payload_bytes : 0);
    if (overflow_bytes && !(overflow = aligned_alloc(64, (overflow_bytes + 63) / 64 * 64)))
        return NULL;
    hki_lock_acquire(&runtime->issue_lock);
    while (!spare && may_wait && hki_window_full_locked(runtime, output_bytes)) {
        hki_lock_release(&runtime->issue_lock);
        hki_window_wait(runtime, output_bytes);
        hki_lock_acquire(&runtime->issue_lock);
        may_wait = hki_runtime_alive(runtime);
    }
    hki_task *task = spare ? spare : free_slot_locked(runtime);
    if (task && !runtime->serial && !reserve_locked(runtime, task, access_count)) {
        hki_slot_spare_locked(task);
        task = NULL;
    }
    hki_lock_release(&runtime->issue_lock);
    if (!task) {
        free(overflow);
        return NULL;
    }
    slot_init(task, access_count);
    task->overflow = overflow;
    atomic_store_explicit(&task->unusual, overflow != NULL, memory_order_relaxed);
    if (accesses_bytes)
        task->spec.accesses = overflow;
    if (payload_bytes > HKI_TASK_PAYLOAD_BYTES)
        task->payload = (char *)overflow + accesses_bytes;
    return task;
}

hki_task *hki_slot_get(hki_runtime *runtime, int access_count, size_t payload_bytes,
                       uint64_t output_bytes, bool may_wait)
{
    /* Usually there is a spare one with all that is asked for. */
    hki_task *task = NULL;
    if (access_count <= HKI_TASK_INLINE_ACCESSES && payload_bytes <= HKI_TASK_PAYLOAD_BYTES &&
        !hki_window_may_be_full(runtime, output_bytes))
        task = atomic_exchange_explicit(&runtime->spare_task, NULL, memory_order_acquire);
    if (!task || task->reserve_count < access_count)
        return slot_get_slow(runtime, task, access_count, payload_bytes, output_bytes, may_wait);
    slot_init(task, access_count);
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

void hki_slot_clean(hki_task *task)
{
    if (task->spec.piece_count > 1)
        task->next_piece = -1;
    if (!hki_task_is_unusual(task))
        return;
    hk_status_release(task->failure);
    hk_status_release(task->input_failure);
    task->failure = task->input_failure = NULL;
    free(task->overflow);
    task->overflow = NULL;
    atomic_store_explicit(&task->signalled, 0, memory_order_relaxed);
    atomic_store_explicit(&task->unusual, false, memory_order_relaxed);
}

void hki_slot_put(hki_executor *executor, hki_task *task)
{
    hki_slot_clean(task);
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
