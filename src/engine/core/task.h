/* A task: its slot, how it is run, and what becomes of its failure. Externally synchronised, as its members say. */
#ifndef HOCKET_ENGINE_CORE_TASK_H
#define HOCKET_ENGINE_CORE_TASK_H

#include "base/floats.h"
#include "engine/core/gate.h"

#include <stddef.h>

enum { HKI_SIGNALLED = 1, HKI_SLEEPING = 2, HKI_LEFT = 3 };

/* In `pending` while a task is being issued: more than it could ever wait for, so that it cannot get ready before. */
#define HKI_ISSUING ((uint32_t)1 << 31)

enum { HKI_UNCOUNTED = 2 }; /* an epoch */

enum {
    HKI_LEAF_DEPTH = 1 << 16
}; /* what a leaf that may run under a lock adds to hki_thread.task_depth */

/* Laid out so that few lines of memory come from another core when it runs there. A task without gates takes the
 * one of `payload` with the first part of the spec, and those of its accesses and payload that are in use. One that is
 * registered takes two more: that of `pending`, which also has its place behind its first gate and its own first gates, and
 * that of `reserve`. The rest is as a fresh slot has it unless `unusual` says otherwise. */
struct hki_task {
    _Alignas(HKI_CACHE_LINE) const hk_status *failure; /* its own; counted; failure_lock */
    const hk_status *input_failure;                    /* counted; failure_lock */
    hki_wait_node waits[HKI_TASK_INLINE_WAITS];        /* used from the last one on */
    _Atomic(uint32_t) pending;                         /* gates not yet open; see HKI_ISSUING */
    int registered_count;                              /* 0 while it is not registered */
    hki_task *queue_next;                              /* queue lock; also links free slots */
    hki_gate *inline_registered[HKI_TASK_INLINE_ACCESSES];

    /* From being registered: fresh gates, and how many; in how many of `waits` it is. */
    _Alignas(HKI_CACHE_LINE) hki_gate *reserve;
    int reserve_count, wait_count;
    /* Where hki_task_register goes on, if it is to be called again. */
    int registered_accesses;
    uint32_t registered_waits;
    uint64_t awaited_writer; /* its number: the latest one that it waits for; 0: none */
    hki_runtime *runtime;
    _Atomic(uint64_t) sequence;

    _Alignas(HKI_CACHE_LINE) void *payload;
    _Atomic(bool) unusual;   /* it has failed, waits, met subnormals, or has memory of its own */
    uint8_t epoch;           /* of its queue's counters, or HKI_UNCOUNTED */
    bool is_wait;            /* runs in a waiting thread, which `signalled` tells */
    bool started;            /* the kernel began: a failure leaves torn bytes */
    bool is_half_registered; /* hki_task_register is to be called again */
    hki_task_spec spec;
    void *overflow; /* memory behind accesses and gates when they are many, and a large payload */

    _Atomic(int64_t) pieces_left;
    int64_t next_piece; /* -1 before it starts; queue lock once published */
    int64_t failure_piece;
    hki_lock failure_lock;
    _Atomic(uint32_t)
        signalled; /* to a waiting thread: 1; 2 while that thread sleeps on it; 3: it has left */
    /* Where there are accelerators: the latest end of what it waited for, or its issue; its own end. */
    _Atomic(int64_t) ready_ns;
    int64_t end_ns;
    hki_task *queue_previous; /* queue lock */
    /* Where there are accelerators: may be launched ahead; has told its gates that it is launched. `pending` counts gates
     * whose tasks are not launched then, pending_ends those whose tasks have not ended; `counted` has a bit for each of
     * `waits` that pending no longer counts. It is launched behind the marks, of other queues. */
    bool is_ahead, is_launched;
    _Atomic(bool) met_subnormals;
    bool
        is_spared; /* its inputs turned out failed, and its device has left what it overwrites as it was */
    _Atomic(uint32_t) pending_ends;
    _Atomic(uint64_t) counted;
    hki_lock marks_lock;
    int mark_count;
    bool is_late;          /* see hki_task_is_late */
    intptr_t shift;        /* see hki_task_shift */
    struct hki_hint *hint; /* what it will need: accel/wanted.c; NULL: nothing is known */
    struct hki_work
        *late;      /* what it was to write in the host's memory: accel/held.c; NULL: nothing */
    hki_gate *held; /* the gate that stays closed for that; NULL: none */
    struct hki_work *instead; /* of the copy in whose place that is read; NULL: there is none */
    _Alignas(HKI_CACHE_LINE) hki_access inline_accesses[HKI_TASK_INLINE_ACCESSES];
    union {
        char inline_payload[HKI_TASK_PAYLOAD_BYTES];
        struct { /* of a free one that is given back together with others */
            int count;
            hki_task *slots[HKI_RETURN_BATCH];
        } returned;
    };
    hki_mark marks[HKI_TASK_MARKS]; /* from here on slots end where there are no accelerators */
    hki_wait_node more_waits[HKI_TASK_WAITS - HKI_TASK_INLINE_WAITS];
};

_Static_assert(offsetof(hki_task, pending) % HKI_CACHE_LINE == sizeof(hki_wait_node) &&
                   (offsetof(hki_task, spec) + offsetof(hki_task_spec, versions)) %
                           HKI_CACHE_LINE ==
                       0 &&
                   offsetof(hki_task, inline_payload) % HKI_CACHE_LINE == 0 &&
                   offsetof(hki_task, marks) % HKI_CACHE_LINE == 0,
               "see the comment on hki_task");

/* The gates that it is counted in: registered_count of them. */
static inline hki_gate **hki_task_registered(hki_task *task)
{
    if (task->spec.access_count <= HKI_TASK_INLINE_ACCESSES)
        return task->inline_registered;
    return (hki_gate **)(void *)(task->spec.accesses + task->spec.access_count);
}

static inline bool hki_task_is_unusual(const hki_task *task)
{
    return atomic_load_explicit(&((hki_task *)task)->unusual, memory_order_relaxed);
}

static inline hki_queue *hki_task_queue(const hki_task *task)
{
    return task->spec.device->queues[task->spec.queue];
}

/* Begins to fetch what issuing or running most tasks touches, for writing even where it is only read: a line that two cores
 * share has to be taken from the other before its next use is written, a line that moves has not. */
static inline void hki_task_prefetch(const hki_task *task)
{
    hki_prefetch_write(&task->payload);
    hki_prefetch_write(&task->inline_accesses[0]);
    hki_prefetch_write(&task->inline_accesses[HKI_CACHE_LINE / sizeof(hki_access)]);
    hki_prefetch_write(task->inline_payload);
}

/* ---- from begin to end (task.c) ------------------------------------------------------------------------------------- */

/* Checks inputs and prepares. False: it failed, and is to be completed without running. */
bool hki_task_start(hki_task *task);
void hki_task_run_piece(hki_task *task, int64_t piece);
void hki_task_run_join(hki_task *task);
void hki_task_meet_subnormals(hki_task *task);
/* After a part of it has run in this thread: counts the task once, if a kernel had a subnormal operand. */
static inline void hki_task_note_subnormals(hki_task *task)
{
    if (!HKI_USUALLY(!hki_floats_met_subnormal()))
        hki_task_meet_subnormals(task);
}
/* Notes what failed and what is whole again: before its gates open. */
void hki_task_settle(hki_task *task);
/* Drops what the payload holds. */
void hki_task_finish(hki_task *task);
/* The earliest failure of what the task reads, counted; NULL: none. */
const hk_status *hki_task_input_failure(const hki_task *task);
/* Its inputs turned out failed, by this record (taken): whatever else happened to it does not count. */
void hki_task_fail_for_input(hki_task *task, const hk_status *status);

/* ---- failures (failure.c) ------------------------------------------------------------------------------------------ */

/* The earliest failure in the range, counted; NULL: none. */
const hk_status *hki_var_failure(hki_var *var, hki_range range);
/* Fails the range; intact: the bytes are still the old ones. */
void hki_var_fail(hki_var *var, hki_range range, const hk_status *status, bool intact);
void hki_var_failures_deinit(hki_var *var);

#endif
