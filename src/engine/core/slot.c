#include "engine/core/slot.h"

#include "base/integer.h"
#include "engine/core/stage.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_SLOTS = HKI_FREE_SLOTS,
    CHUNK_GATES = 128,
    BLOCK_BYTES = 2 << 20 /* where the chunks come from; the system gives what is used of it */
};

/* Zeroed memory for slots or gates; NULL: none left. One cache line in front of each block links them. */
static void *chunk_get_locked(hki_runtime *runtime, size_t bytes)
{
    if ((size_t)(runtime->block_end - runtime->block_rest) < bytes) {
        char *block = aligned_alloc(HKI_CACHE_LINE, BLOCK_BYTES);
        if (!block)
            return NULL;
        *(void **)(void *)block = runtime->blocks;
        runtime->blocks = block;
        runtime->block_rest = block + HKI_CACHE_LINE;
        runtime->block_end = block + BLOCK_BYTES;
    }
    char *chunk = runtime->block_rest;
    runtime->block_rest += bytes;
    return memset(chunk, 0, bytes);
}

void hki_slots_refill_locked(hki_runtime *runtime)
{
    int count = 0;
    if (!runtime->free_tasks)
        runtime->free_tasks =
            atomic_exchange_explicit(&runtime->returned_tasks, NULL, memory_order_acquire);
    for (hki_task *first;
         (first = runtime->free_tasks) && count + first->returned.count < HKI_FREE_SLOTS;) {
        hki_task *next = runtime->free_tasks = first->queue_next;
        for (size_t i = 0; next && i < sizeof next->returned; i += HKI_CACHE_LINE)
            hki_prefetch_write((char *)&next->returned + i);
        if (next)
            hki_prefetch_write(&next->queue_next);
        for (int i = 0; i < first->returned.count; i++)
            runtime->free_slots[count++] = first->returned.slots[i];
        runtime->free_slots[count++] = first;
    }
    if (!count) {
        const size_t bytes = runtime->accelerated ? sizeof(hki_task) : offsetof(hki_task, marks);
        char *slots = chunk_get_locked(runtime, CHUNK_SLOTS * bytes);
        for (; slots && count < CHUNK_SLOTS; count++) {
            hki_task *slot = (void *)(slots + (size_t)count * bytes);
            slot->next_piece = -1;
            slot->runtime = runtime;
            runtime->free_slots[count] = slot;
        }
    }
    runtime->free_slot_count = runtime->fetched_slots = count;
    while (runtime->fetched_slots > 0 && runtime->fetched_slots > count - HKI_FETCHED_SLOTS)
        hki_slot_fetch_locked(runtime);
}

/* New ones, linked; NULL: no memory. */
static __attribute__((noinline)) hki_gate *gates_create_locked(hki_runtime *runtime)
{
    size_t bytes = runtime->accelerated ? sizeof(hki_staged_gate) : sizeof(hki_gate);
    char *chunk = chunk_get_locked(runtime, CHUNK_GATES * bytes);
    hki_gate *gates = NULL;
    for (size_t i = 0; chunk && i < CHUNK_GATES; i++) {
        hki_gate *gate = (void *)(chunk + i * bytes);
        gate->next = gates;
        gates = gate;
    }
    return gates;
}

/* Fresh gates for so many accesses; false: no memory, and the task has as many as there were. */
static bool reserve_locked(hki_runtime *runtime, hki_task *task, int count)
{
    while (task->reserve_count < count) {
        if (!runtime->spare_gates)
            runtime->spare_gates =
                atomic_exchange_explicit(&runtime->returned_gates, NULL, memory_order_acquire);
        if (!runtime->spare_gates)
            runtime->spare_gates = gates_create_locked(runtime);
        hki_gate *gate = runtime->spare_gates;
        if (!gate)
            return false;
        runtime->spare_gates = gate->next;
        gate->next = task->reserve;
        task->reserve = gate;
        task->reserve_count++;
    }
    return true;
}

_Thread_local hki_thread hki_this_thread;

/* ---- taking and giving back ---------------------------------------------------------------------------------------- */

bool hki_slot_widen_locked(hki_task *task, int access_count, size_t payload_bytes)
{
    size_t accesses_bytes = 0;
    if (access_count > HKI_TASK_INLINE_ACCESSES) /* and the gates behind: hki_task_registered */
        accesses_bytes =
            (size_t)access_count * (sizeof(hki_access) + sizeof(hki_gate *)) / 64 * 64 + 64;
    const size_t bytes =
        accesses_bytes + (payload_bytes > HKI_TASK_PAYLOAD_BYTES ? payload_bytes : 0);
    if (!task->runtime->serial && !reserve_locked(task->runtime, task, access_count))
        return false;
    if (!bytes)
        return true;
    task->overflow = aligned_alloc(64, hki_round_up_bytes(bytes, 64));
    if (task->overflow && accesses_bytes)
        task->spec.accesses = task->overflow;
    if (task->overflow && payload_bytes > HKI_TASK_PAYLOAD_BYTES)
        task->payload = (char *)task->overflow + accesses_bytes;
    atomic_store_explicit(&task->unusual, task->overflow != NULL, memory_order_relaxed);
    return task->overflow;
}

void hki_slot_give_back(hki_slot_returns *returns)
{
    if (!returns->count)
        return;
    hki_task *first = returns->slots[0];
    hki_runtime *runtime = first->runtime;
    first->returned.count = returns->count - 1;
    for (int i = 1; i < returns->count; i++)
        first->returned.slots[i - 1] = returns->slots[i];
    hki_task *head = atomic_load_explicit(&runtime->returned_tasks, memory_order_relaxed);
    do
        first->queue_next = head;
    while (!atomic_compare_exchange_weak_explicit(&runtime->returned_tasks, &head, first,
                                                  memory_order_release, memory_order_relaxed));
    returns->count = 0;
}

void hki_slot_clean_unusual(hki_task *task)
{
    hk_status_release(task->failure);
    hk_status_release(task->input_failure);
    task->failure = task->input_failure = NULL;
    free(task->overflow);
    task->overflow = NULL;
    atomic_store_explicit(&task->signalled, 0, memory_order_relaxed);
    atomic_store_explicit(&task->met_subnormals, false, memory_order_relaxed);
    atomic_store_explicit(&task->unusual, false, memory_order_relaxed);
}
