/* What accesses of a range wait for, and how a task is registered to wait. */
#ifndef HOCKET_ENGINE_CORE_GATE_H
#define HOCKET_ENGINE_CORE_GATE_H

#include "base/sync.h"
#include "engine/core/limits.h"
#include "engine/engine.h"

typedef struct hki_queue hki_queue; /* sched/queue.h */

/* A task's place in the list of those who wait for a gate. */
typedef struct hki_wait_node {
    struct hki_wait_node *next;
    hki_task *task;
} hki_wait_node;

/* One line of memory each. Something that later accesses of a range wait for: one writer, or all readers of the same
 * range since the last write. It opens when count reaches 0; a gate of readers counts one more until a writer closes
 * it to new readers. Whoever opens it touches it last when exchanging `waiters`. */
struct hki_gate {
    _Alignas(HKI_CACHE_LINE) _Atomic(hki_wait_node *) waiters; /* HKI_GATE_OPEN once open */
    atomic_uint count;
    /* Issue lock: */
    bool is_write, closed; /* closed: no more readers join, as no other writer does */
    hki_range range;
    hki_gate *next;
    uint64_t task_sequence; /* of the latest to register */
};

/* How far a queue has got. */
typedef struct hki_mark {
    hki_queue *queue;
    uint64_t position; /* see hki_ticket */
    int64_t end_ns;    /* 0: not known yet */
    bool collective;   /* a reduction between devices, or one before it that is waited for, too */
    bool is_doubtful;  /* it, or one before it, may turn out failed */
} hki_mark;

extern hki_wait_node hki_gate_open_mark;
#define HKI_GATE_OPEN (&hki_gate_open_mark)

static inline bool hki_gate_is_open(hki_gate *gate)
{
    return atomic_load_explicit(&gate->waiters, memory_order_acquire) == HKI_GATE_OPEN;
}

/* ---- order --------------------------------------------------------------------------------------------------------- */

typedef enum hki_registration {
    HKI_REGISTERED_READY, /* it waits for nothing */
    HKI_REGISTERED_WAITS, /* it gets ready when the last gate opens that it waits for: perhaps it has run by now */
    HKI_NOT_REGISTERED /* no memory, or short tasks without gates are in the way, for microseconds: to be called again
                        * later, before any other task is registered */
} hki_registration;

/* Registers the accesses of a task. Expects that the thread keeps order. */
hki_registration hki_task_register(hki_task *task);
/* Tasks without gates have the variable in use, as sched/scoreboard.c notes there. Expects that the thread keeps order. */
bool hki_var_is_scored_locked(hki_var *var, bool writes);
/* Writes of the range that were issued up to this sequence number are registered and unfinished. The same. */
bool hki_gates_hold_locked(const hki_var *var, hki_range range, uint64_t sequence);
/* No unfinished access of the range by a registered task is in the way of one that comes now. Gates that nobody is counted in
 * any more go. The same. */
bool hki_gates_are_open_locked(hki_var *var, hki_range range, bool writes);

/* The same of any task. */
static inline bool hki_access_is_free_locked(const hki_access *access)
{
    hki_var *var = access->var;
    return HKI_USUALLY(!((uintptr_t)var->gates | var->scored_read | var->scored_write)) ||
           (!hki_var_is_scored_locked(var, access->mode & HKI_WRITE) &&
            hki_gates_are_open_locked(var, hki_access_range(access), access->mode & HKI_WRITE));
}

/* Opens a gate that has been held; puts successors that are ready before `ready`. */
hki_task *hki_gate_open_held(hki_gate *gate, hki_task *ready);
/* Leaves all gates; puts successors that are ready before `ready`, linked through queue_next. */
hki_task *hki_task_open_gates(hki_task *task, hki_task *ready);
/* Of a task's own places in lists: which one; -1: one beyond those. */
int hki_wait_node_index(const hki_wait_node *node);
/* True for the last one. Where only one is left, nobody else changes the count: then that is told without writing. */
static inline bool hki_count_down(atomic_uint *count)
{
    return atomic_load_explicit(count, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(count, 1, memory_order_acq_rel) == 1;
}

#endif
