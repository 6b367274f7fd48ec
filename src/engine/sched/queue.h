/* The ready tasks of a device, and the threads that take them. Thread-safe, but for what a comment says. */
#ifndef HOCKET_ENGINE_SCHED_QUEUE_H
#define HOCKET_ENGINE_SCHED_QUEUE_H

#include "engine/sched/executor.h"

#include <hocket/runtime.h>

typedef struct hki_worker {
    pthread_t thread;
    int index; /* of the queue's workers */
    int slot;  /* of the scheduler's counters; not an accelerator's, whose tasks others finish */
    int processor;
    hki_queue *queue;
} hki_worker;

/* An accelerator's part of a queue: accel/accelerator.h. */
typedef struct hki_flights hki_flights;
typedef struct hki_suspects hki_suspects;
typedef struct hki_launchers hki_launchers;

struct hki_queue {
    hki_runtime *runtime;
    hki_device *device;
    hki_queue_kind kind;
    bool is_accelerator; /* its worker, or a launcher, launches; the clock completes */
    /* Itself; or, of CPU devices that share a core, the queue of the first of them: that one has the worker, and all that is
     * ready for any of them is in it. */
    hki_queue *home;
    hki_park park;
    _Atomic(int32_t) free_cores; /* that it does not keep busy; of an accelerator 0 */
    /* A thread issues long tasks, or runs them while it waits, and does not sleep. */
    _Atomic(bool) has_issuer;
    /* 1 + the processor of a thread that has a core of it, and waits there; 0: there is none. */
    _Atomic(int32_t) helper;
    int number; /* in runtime->queues */
    _Alignas(HKI_CACHE_LINE) hki_lock lock;
    struct {
        hki_task *first, *last;
        /* That was put in order, or the one before it; NULL: look from the first on. */
        hki_task *latest;
    } lists[2];                  /* [0]: of a rank above 0, taken first; [1]: the rest */
    _Atomic(uint32_t) listed[2]; /* entries in the lists; queue lock for writing, like the next */
    _Atomic(int64_t) backlog_ns; /* of the lists */
    /* Ticks: when the device had unfinished calls last; when its workers looked elsewhere for pieces in vain. */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) unfinished_ticks, failed_steal_ticks;
    /* Tasks issued by epoch (issue lock) and finished (by executor). */
    _Alignas(HKI_CACHE_LINE) unsigned epoch;
    _Atomic(uint64_t) issued[2];
    _Atomic(uint64_t) finished_elsewhere[2]; /* of those, by threads that are no workers */
    uint64_t at_once;                        /* tasks that ran under the issue lock: in no epoch */
    hki_lock flip_lock;                      /* held by the thread that waits for the device */
    int worker_count, running_count;         /* the latter has a thread */
    /* Of accelerators: who launches from it, NULL: its worker; called instead of waking one; the serial engine's way to let
     * a task take its time. */
    hki_launchers *launchers;
    void (*notify)(hki_queue *queue);
    void (*pace)(hki_task *task, int64_t ready_ns, int64_t host_ns);
    /* Tasks launched and not completed; of the thread that launches, one at a time: when the latest of them ends where that
     * is known, and how long launching it took; what one takes (smoothed); and what hk_device_get_stats tells. */
    hki_flights *flights;
    hki_suspects *suspects; /* what may turn out failed; NULL: nothing can */
    _Atomic(uint32_t) in_flight;
    _Atomic(bool) launching; /* a launcher is at it */
    _Atomic(bool) is_told;   /* it may have something for one */
    _Atomic(int64_t) launched_end_ns;
    uint64_t launch_ticks;
    _Atomic(int64_t) pace_ns;
    hki_lock stats_lock;
    hk_queue_stats stats;
    hki_worker workers[];
};

/* What a task adds to a backlog: work that would be worth waking another worker for. */
static inline int64_t hki_task_backlog_ns(const hki_task *task)
{
    int64_t ns = task->spec.expected_ns;
    return task->spec.piece_count > 1 || ns > HKI_LONG_TASK_NS ? HKI_LONG_TASK_NS : ns;
}

/* Only one thread at a time changes it. */
static inline void hki_backlog_add(_Atomic(int64_t) *sum_ns, int64_t ns)
{
    atomic_store_explicit(sum_ns, atomic_load_explicit(sum_ns, memory_order_relaxed) + ns,
                          memory_order_relaxed);
}

/* What the task, or a piece of it, is expected to take. */
static inline int64_t hki_task_piece_ns(const hki_task *task)
{
    return task->spec.piece_count > 1 ? task->spec.expected_ns / task->spec.piece_count
                                      : task->spec.expected_ns;
}

/* Higher ones go first: reductions between devices before all others. */
static inline int hki_task_rank(const hki_task *task)
{
    return task->spec.collective ? UINT8_MAX + 1 : task->spec.priority;
}

/* Where a task waits that is ready. */
static inline hki_queue *hki_task_home(const hki_task *task)
{
    return hki_task_queue(task)->home;
}

/* All below is about queues that are their own home. What is ready. */
void hki_queue_push(hki_task *task);
/* To the front: what is to go on at once, and a started task whose pieces 1 … are to be claimed. */
void hki_queue_push_first(hki_task *task);
bool hki_queue_is_ready(hki_queue *queue);
/* Something of a rank above 0 is ready. */
bool hki_queue_is_urgent(hki_queue *queue);
/* A worker of any CPU device is looking for work, or will in a moment. */
bool hki_workers_are_attentive(const hki_runtime *runtime);
/* Something is ready, or to be ordered, and no worker is looking for work. */
bool hki_queue_wants_help(hki_queue *queue);
/* A worker of the queue that has a core would find something to do. */
bool hki_queue_has_work(hki_queue *queue);
/* Takes a task or piece: a ready one first, then from the ring. None in whose way one is that is expected to take more than
 * most_ns. In an executor that is not NULL it runs short ones of the ring, too. */
hki_claim hki_queue_pop(hki_queue *queue, hki_executor *executor, int64_t most_ns);
/* Takes a piece of a task that has started: of this one, which may have ended; NULL: of one that is lendable (steal.h). */
hki_claim hki_queue_take_piece(hki_queue *queue, const hki_task *of);

/* Wakes a worker of the queue, or calls back the one that rests. */
void hki_queue_wake(hki_queue *queue);
/* The same, unless one is looking already, or will look again in a moment, being at a short task: waking costs more than
 * that. A worker that finds much to do wakes the next. */
void hki_queue_notify(hki_queue *queue);
/* One of its cores, if one is free; free again. */
bool hki_queue_acquire_core(hki_queue *queue);
void hki_queue_release_core(hki_queue *queue);

/* Of any queue. */
uint64_t hki_queue_finished(hki_queue *queue, unsigned epoch);
/* Calls on the devices that have this home have not finished. */
bool hki_has_unfinished(const hki_queue *home);

/* A worker's thread. */
void *hki_worker_main(void *worker);

#endif
