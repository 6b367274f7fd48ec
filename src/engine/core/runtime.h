/* The runtime: what everything in the engine hangs off. Here is what tasks and their order need; each room above has a part
 * of its own, which it alone looks into. */
#ifndef HOCKET_ENGINE_CORE_RUNTIME_H
#define HOCKET_ENGINE_CORE_RUNTIME_H

#include "base/biased_lock.h"
#include "base/choices.h"
#include "engine/core/task.h"

#include <pthread.h>

/* The parts of the rooms above; each is made and destroyed with the runtime. */
typedef struct hki_score hki_score;               /* core/score.h */
typedef struct hki_scheduler hki_scheduler;       /* sched/scheduler.h */
typedef struct hki_ring hki_ring;                 /* sched/ring.h */
typedef struct hki_placement hki_placement;       /* policy/place.h */
typedef struct hki_throttle hki_throttle;         /* policy/throttle.h */
typedef struct hki_accelerators hki_accelerators; /* accel/accelerator.h */

struct hki_runtime {
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) refs;

    /* Read everywhere, written seldom. */
    _Alignas(HKI_CACHE_LINE) unsigned generation; /* of forks */
    _Atomic(bool) ended, stopping, ending;        /* in the order ending, stopping, ended */
    bool serial, accelerated; /* accelerated: has devices whose tasks end by a clock of their own */
    _Atomic(int) failed_vars; /* variables with failed ranges, and one more while it is stopping */
    _Atomic(hki_trace *) trace; /* NULL: nothing is recorded */
    /* In which workers order tasks, see hki_ring_acquire; NULL: the thread that issues them does. */
    hki_ring *ring;
    hki_scheduler *scheduler;
    hki_score *scores; /* one for each core of the CPU devices, and one for lease.c */
    int score_count;
    hki_placement *placement;
    hki_throttle *throttle;
    hki_accelerators *accelerators; /* NULL: none */
    const hk_status *config_error;  /* NULL: none */
    hki_choices *choices;           /* NULL only with a config_error */
    const hk_status *cancelled;
    struct hki_cuda_setup *cuda;
    void (*destroy)(hki_runtime *runtime); /* when nobody counts it any more */
    /* Whether a task of the queue had better be launched behind the mark than wait for its end: accel/accelerator.c. */
    bool (*may_follow)(const hki_task *task, const hki_queue *queue, const hki_mark *mark);
    /* A task of such a runtime is being issued: accel/wanted.c; NULL: nobody wants to know. */
    void (*note_issue)(hki_task *task);
    /* The task has ended, but what it was to write is put off: sets task->held. A task waits for
     * such a gate of the variable. */
    void (*hold)(hki_task *task);
    void (*ask)(hki_var *var);
    int device_count, queue_count;
    hki_device *devices[HKI_MAX_DEVICES];
    hki_queue *queues[HKI_MAX_DEVICES * HKI_QUEUE_KIND_COUNT]; /* of all devices */

    /* Issue lock: */
    _Alignas(HKI_CACHE_LINE) hki_biased_lock issue_lock;
    uint64_t sequence;
    bool counts_writes;   /* somebody has asked for versions: core/watch.h */
    hki_task *free_tasks; /* each with others: see hki_task.returned */
    hki_task *free_slots[HKI_FREE_SLOTS];
    int free_slot_count, fetched_slots; /* the second: those from here on are in the caches */
    hki_gate *spare_gates;
    _Atomic(uint64_t) issued_tasks; /* written under the lock */
    _Atomic(int64_t) recent_ns;     /* what HKI_RECENT_TASKS are expected to take, of late */
    uint64_t inline_calls, direct_calls;
    void *blocks; /* memory of slots and gates */
    char *block_rest, *block_end;
    /* By place in the lock: a free slot of the thread whose place it is, which alone looks there; NULL: none. */
    hki_task *kept_slots[HKI_BIAS_PLACES];

    _Alignas(HKI_CACHE_LINE) _Atomic(hki_task *) returned_tasks;
    _Atomic(hki_gate *) returned_gates;

    /* Bytes that only unfinished tasks hold, and the most of them. */
    _Alignas(HKI_CACHE_LINE) _Atomic(int64_t) held_bytes;
    _Atomic(int64_t) peak_held_bytes;

    _Alignas(HKI_CACHE_LINE) hki_lock serial_lock;
    _Atomic(uint32_t) promise_ends; /* that the serial engine has seen */
    hki_task *promised;             /* the serial engine's tasks that are promises; serial lock */
    _Atomic(int) drains;            /* threads that wait for all of a queue */
    _Atomic(int) promise_count;     /* see hki_runtime_count_promises */

    hki_lock failures_lock;         /* root failures, and every variable's list */
    const hk_status *first_failure; /* earliest issued, counted */
    uint64_t failure_count;

    _Atomic(uint64_t) subnormal_tasks; /* that met subnormal numbers */

    hki_lock holds_lock; /* before the issue lock */
    struct hki_range_hold *holds;

    hki_lock trace_lock;     /* for beginning and ending a recording */
    hki_trace *trace_memory; /* NULL until the first recording */

    hki_lock devices_lock;
    int failed_device_count;
    hki_device *failed_devices[HKI_MAX_FAILED_DEVICES];
};

/* ---- life (lifetime.c) ---------------------------------------------------------------------------------------------- */

/* The process's runtime, what guards it, and forks. The public face of this is in engine.h. */
extern pthread_mutex_t hki_default_lock;
extern _Atomic(hki_runtime *) hki_default_runtime;

/* From zeros; with one count. */
void hki_runtime_init(hki_runtime *runtime);
/* What core keeps of it goes. */
void hki_runtime_deinit(hki_runtime *runtime);
/* Sets handlers of fork: once. */
void hki_fork_watch(void);

static inline bool hki_is_stopping(const hki_runtime *runtime)
{
    return atomic_load_explicit(&((hki_runtime *)runtime)->stopping, memory_order_relaxed);
}

/* ---- trace points: nothing but a look where nothing is recorded; the others are in sched/tracing.h ----------------- */

/* Where to record; NULL: nothing is recorded. */
static inline hki_trace *hki_tracing(const hki_runtime *runtime)
{
    return atomic_load_explicit(&((hki_runtime *)runtime)->trace, memory_order_acquire);
}

/* Before anybody else can start the task. */
static inline void hki_tracing_ready(const hki_task *task)
{
    hki_trace *trace = hki_tracing(task->runtime);
    if (trace && !task->is_wait)
        hki_trace_task_event(trace, HKI_TRACE_READY, hki_task_sequence(task));
}

static inline void hki_tracing_var(const hki_var *var)
{
    hki_trace *trace = var->runtime ? hki_tracing(var->runtime) : NULL;
    if (trace)
        hki_trace_task_event(trace, HKI_TRACE_VAR, (uintptr_t)var);
}

#endif
