/* Where tasks and gates live: slots in chunks, which last as long as the runtime, and go from hand to hand. */
#ifndef HOCKET_ENGINE_CORE_SLOT_H
#define HOCKET_ENGINE_CORE_SLOT_H

#include "engine/core/runtime.h"

/* What a thread has of its own. One address of it is enough for all. */
typedef struct hki_thread {
    int task_depth; /* > 0 while it runs a task, see task.c */
    uint64_t last_sequence, submitted_count;
    uint8_t priority; /* of what it issues */
    uint32_t floats;  /* of a call that runs here without a task: to be left with */
} hki_thread;

extern _Thread_local hki_thread hki_this_thread;

/* Slots to be given back together. Externally synchronised. */
typedef struct hki_slot_returns {
    int count;
    hki_task *slots[HKI_RETURN_BATCH + 1];
} hki_slot_returns;

void hki_slot_clean_unusual(hki_task *task);

/* Drops what the task holds, its records and memory, and leaves the slot as a fresh one. */
static inline void hki_slot_clean(hki_task *task)
{
    if (hki_task_is_unusual(task))
        hki_slot_clean_unusual(task);
}

/* True: there are enough to be given back. */
static inline bool hki_slot_put(hki_slot_returns *returns, hki_task *task)
{
    hki_slot_clean(task);
    returns->slots[returns->count++] = task;
    return returns->count > HKI_RETURN_BATCH;
}

void hki_slot_give_back(hki_slot_returns *returns);

/* Begins to fetch one more free slot, which may come from another core: what issuing a task touches besides what running it
 * does is in this core's second cache at best. Expects the issue lock, and that not all have been fetched. */
static inline void hki_slot_fetch_locked(hki_runtime *runtime)
{
    const hki_task *task = runtime->free_slots[--runtime->fetched_slots];
    hki_task_prefetch(task);
    hki_prefetch_write(&task->reserve);
    hki_prefetch_write(&task->spec.versions);
    hki_prefetch_write(&task->spec.cost.is_pageable);
}

/* Takes those that came back, as many as there is room for, or makes new ones. Expects the issue lock. */
void hki_slots_refill_locked(hki_runtime *runtime);

/* NULL: no memory. Expects the issue lock. */
static inline hki_task *hki_slot_pop_locked(hki_runtime *runtime)
{
    if (!HKI_USUALLY(runtime->free_slot_count > 0))
        hki_slots_refill_locked(runtime);
    const int last = runtime->free_slot_count - 1;
    if (last < 0)
        return NULL;
    if (runtime->fetched_slots > last - HKI_FETCHED_SLOTS && runtime->fetched_slots > 0)
        hki_slot_fetch_locked(runtime);
    runtime->free_slot_count = last;
    return runtime->free_slots[last];
}

/* A clean one that nobody else knows of. Expects the issue lock. */
static inline void hki_slot_put_back_locked(hki_runtime *runtime, hki_task *task)
{
    const uint32_t by_bias = runtime->issue_lock.by_bias;
    if (HKI_USUALLY(by_bias && !runtime->kept_slots[by_bias - 1]))
        runtime->kept_slots[by_bias - 1] = task;
    else if (HKI_USUALLY(runtime->free_slot_count < HKI_FREE_SLOTS))
        runtime->free_slots[runtime->free_slot_count++] = task;
    else
        hki_slot_give_back(&(hki_slot_returns){.count = 1, .slots = {task}});
}

/* Room for more than most tasks have, in gates and in memory of its own. False: no memory. Expects the issue lock. */
bool hki_slot_widen_locked(hki_task *task, int access_count, size_t payload_bytes);

/* It has room and gates for so much. */
static inline bool hki_slot_suits(const hki_task *task, int access_count, size_t payload_bytes)
{
    return access_count <= HKI_TASK_INLINE_ACCESSES && payload_bytes <= HKI_TASK_PAYLOAD_BYTES &&
           task->reserve_count >= access_count;
}

/* What a task may find changed by the one before. */
static inline void hki_slot_begin(hki_task *task, int access_count)
{
    task->payload = task->inline_payload;
    task->spec.accesses = task->inline_accesses;
    task->spec.access_count = access_count;
    task->epoch = HKI_UNCOUNTED;
    task->is_wait = task->started = false;
}

/* NULL: no memory. Does not block. */
static inline hki_task *hki_slot_get(hki_runtime *runtime, int access_count, size_t payload_bytes)
{
    const int place = hki_biased_place(&runtime->issue_lock);
    hki_task *task = place >= 0 ? runtime->kept_slots[place] : NULL;
    if (HKI_USUALLY(task && hki_slot_suits(task, access_count, payload_bytes))) {
        runtime->kept_slots[place] = NULL;
        hki_slot_begin(task, access_count);
        return task;
    }
    hki_biased_acquire(&runtime->issue_lock);
    task = hki_slot_pop_locked(runtime);
    if (HKI_USUALLY(task)) {
        hki_slot_begin(task, access_count);
        if (!HKI_USUALLY(hki_slot_suits(task, access_count, payload_bytes)) &&
            !hki_slot_widen_locked(task, access_count, payload_bytes)) {
            hki_slot_put_back_locked(runtime, task);
            task = NULL;
        }
    }
    hki_biased_release(&runtime->issue_lock);
    return task;
}

/* Starts, runs, settles and finishes a leaf that is in nobody's list. Inline, since it is all that a short call costs beside its
 * work. */
static inline void hki_task_run_whole(hki_runtime *runtime, hki_task *task)
{
    hki_thread *self = &hki_this_thread;
    const hki_task_class *class = task->spec.class;
    const bool is_usual = /* no failure to look for: see hki_task_start */
        HKI_USUALLY(atomic_load_explicit(&runtime->failed_vars, memory_order_relaxed) == 0);
    self->task_depth += HKI_LEAF_DEPTH;
    task->started =
        is_usual ? !class->prepare || class->prepare(task, task->payload) : hki_task_start(task);
    if (task->started && class->run)
        class->run(task, task->payload, 0);
    if (task->started && class->join)
        hki_task_run_join(task);
    hki_task_note_subnormals(task);
    if (!HKI_USUALLY(is_usual) || hki_task_is_unusual(task))
        hki_task_settle(task);
    if (class->finish)
        class->finish(task, task->payload);
    self->task_depth -= HKI_LEAF_DEPTH;
}

#endif
