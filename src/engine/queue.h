/* The ready tasks of a device, and the threads that take them. */
#ifndef HOCKET_ENGINE_QUEUE_H
#define HOCKET_ENGINE_QUEUE_H

#include "engine/task.h"

#include <hocket/runtime.h>
#include <pthread.h>

typedef struct hki_claim {
    hki_task *task; /* NULL: nothing there */
    int64_t piece;  /* -1: the whole task, not started */
} hki_claim;

/* Cores that a device, or several devices that share them, may keep busy at a time. */
typedef struct hki_budget {
    _Atomic(int32_t) free_cores;
    bool
        shared; /* by devices of one core each: any of their workers runs what is ready in any of their queues */
    /* Of those that share it: queues that may have something to do, a bit each by their place in runtime->queues, and
     * whose turn it is then. */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) ready;
    _Atomic(uint32_t) turn;
} hki_budget;

typedef struct hki_counter {
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) finished[2]; /* by epoch */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) first_turn;  /* see turn.c; UINT64_MAX: none */
} hki_counter;

typedef struct hki_worker {
    pthread_t thread;
    bool running;
    int slot, processor;
    hki_queue *queue;
} hki_worker;

/* Tasks in the order in which they were issued. The issuing thread puts them, under the issue lock; whoever has the
 * queue's lock takes them. Those of runtime->ordering are still to be registered, all others are ready. */
typedef struct hki_ring {
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) put; /* so many were */
    _Atomic(int64_t) put_ns;                        /* their backlog */
    uint64_t seen_taken;                            /* issue lock */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) taken;
    _Atomic(int64_t) taken_ns;
    uintptr_t entries[HKI_RING_TASKS]; /* tasks with their shape */
} hki_ring;

/* Nothing is to be taken. */
static inline bool hki_ring_is_empty(hki_ring *ring)
{
    return atomic_load_explicit(&ring->taken, memory_order_acquire) ==
           atomic_load_explicit(&ring->put, memory_order_acquire);
}

struct hki_queue {
    hki_runtime *runtime;
    hki_device *device;
    hki_queue_kind kind;
    bool
        is_accelerator; /* its one worker launches tasks, and the clock completes them: accelerator.c */
    hki_budget *budget;
    /* Where its workers wait: spinners and so on are those of this queue, the first one of those that share cores. */
    hki_queue *park;
    int number; /* in runtime->queues */
    _Alignas(HKI_CACHE_LINE) hki_lock lock;
    struct {
        hki_task *first, *last;
        hki_task
            *latest; /* that was put in order, or who was before it; NULL: look from the first on */
    } lists[2];      /* [0]: reductions between devices, taken first; [1]: the rest */
    _Atomic(uint32_t) listed[2]; /* entries in the lists */
    _Atomic(int64_t) backlog_ns; /* of the lists; queue lock for writing */
    uint64_t
        held_ticks; /* since when a short task of the ring is held for its turn; 0: none is; queue lock */
    uint64_t reach; /* see turn.c; queue lock */
    struct {
        _Alignas(
            HKI_CACHE_LINE) _Atomic(hki_task *) newest; /* a stack, linked through queue_next */
    } inboxes[2];
    hki_ring ring;
    _Alignas(HKI_CACHE_LINE) _Atomic(uint32_t) spinners, sleepers, wake_word;
    _Atomic(uint32_t) attentive; /* workers that look for work, or will within a moment */
    /* One of a CPU device has been woken and is going to look when it gets its core: no need to wake it again. */
    _Atomic(bool) waking;
    /* Tasks issued by epoch (issue lock) and finished (by executor). */
    _Alignas(HKI_CACHE_LINE) unsigned epoch;
    _Atomic(uint64_t) issued[2];
    uint64_t at_once;          /* tasks that ran under the issue lock: in no epoch */
    pthread_mutex_t flip_lock; /* held by who waits for the device */
    int worker_count;
    hki_worker *workers;
    /* An accelerator's: tasks launched and not completed (clock.c), when the latest of them ends where that is known (its
     * worker's), what one takes (smoothed); and what hk_device_get_stats tells. */
    struct hki_flights *flights;
    _Atomic(uint32_t) in_flight;
    int64_t launched_end_ns;
    _Atomic(int64_t) pace_ns;
    hki_lock stats_lock;
    hk_queue_stats stats;
    hki_counter *counters; /* worker_count + 1: the last is for all other threads */
};

void hki_queue_push(hki_queue *queue, hki_task *task);
/* Puts a task into the ring, for who calls hki_queue_notify when he has released the issue lock, which this expects.
 * False: no room. */
bool hki_queue_put_locked(hki_queue *queue, hki_task *task);
/* Registers what is in the ring. False: no memory for all of it. Expects the issue lock. */
bool hki_queue_order_locked(hki_queue *queue);
bool hki_queue_is_ready(hki_queue *queue);
/* Something is ready, and no worker is looking for work. */
bool hki_queue_wants_help(hki_queue *queue);
/* A reduction between devices is ready. */
bool hki_queue_is_urgent(hki_queue *queue);
/* To the front: what is to go on at once, and a started task whose pieces 1 … are to be claimed. */
void hki_queue_push_first(hki_queue *queue, hki_task *task);
/* Takes a task or piece, or several short tasks, at most count; none in whose way one is that is expected to take more
 * than most_ns, unless that is HKI_LONG_TASK_NS. Returns how many. May run what is shorter than taking it, in an executor
 * that is not NULL. */
int hki_queue_pop(hki_queue *queue, hki_executor *executor, int64_t most_ns, hki_claim *claims,
                  int count);
/* Takes this very task, or a piece of it, if it is still in the queue. */
hki_claim hki_queue_take(hki_queue *queue, hki_task *task, uint64_t sequence);
/* Takes a piece of a task that has started, and is lendable (lending.h). */
hki_claim hki_queue_take_piece(hki_queue *queue);
/* After the workers have ended: whoever still issues a task finishes it, cancelled, in place. */
void hki_queue_cancel(hki_queue *queue);
bool hki_budget_try_acquire(hki_budget *budget);
/* A worker of the queue that has a core would find something to do. */
bool hki_queue_has_work(hki_queue *queue);
void hki_budget_release(hki_queue *queue);
void hki_queue_notify(hki_queue *queue);
void hki_queue_wake(hki_queue *queue);
/* A task of the epoch has finished. Who waits for all of them is woken, where it sleeps, when the executor runs out of
 * tasks: by hki_progress, and, of a worker, hki_queue_counted before that. */
void hki_queue_count(hki_queue *queue, const hki_executor *executor, unsigned epoch);
/* What a worker has counted goes before all that it looks at from now on. */
void hki_queue_counted(hki_queue *queue, const hki_executor *executor);
uint64_t hki_queue_finished(hki_queue *queue, unsigned epoch);

/* ---- workers (worker.c) -------------------------------------------------------------------------------------------- */

/* ---- tasks that run in their turn (turn.c) ------------------------------------------------------------------------- */

typedef enum hki_turn {
    HKI_TURN_NEVER, /* it is not such a task, or waits for one that is registered */
    HKI_TURN_RUN,   /* it has run */
    HKI_TURN_TAKEN, /* into the executor's batch */
    HKI_TURN_STALLED /* something that another executor's batch runs is in its way: executor->stalled_on */
} hki_turn;

/* For a task of the ring, the executor's queue's, at this position. Expects that the thread keeps order by the queue's
 * lock. */
hki_turn hki_turn_try(hki_executor *executor, hki_task *task, uint64_t position);
bool hki_turns_are_enough(const hki_executor *executor);
/* Runs the batch; nobody may hold the queue's lock for this thread. */
void hki_turns_run(hki_executor *executor);
/* Spins while that is in the way, for a few microseconds at most. True: it is not any more. */
bool hki_turns_await(hki_executor *executor);
/* After so few that it took longer to look for them than to run them: lets some more come, for a microsecond or two. */
void hki_turns_gather(int taken);

void *hki_worker_main(void *worker);
/* Every task sees the same floating-point environment, whatever the caller's thread has set. True: it is that. */
static inline bool hki_environment_is_default(void)
{
#if defined(__x86_64__)
    enum { CONTROL_BITS = 0xffc0, DEFAULT_CONTROL = 0x1f80 };
    return (__builtin_ia32_stmxcsr() & CONTROL_BITS) == DEFAULT_CONTROL;
#else
    return false;
#endif
}

/* Makes it this thread's latest: see hki_last_sequence. */
void hki_sequence_note(uint64_t sequence);
/* Runs what was claimed; returns a successor to run next when the executor chains. */
hki_task *hki_execute(hki_executor *executor, hki_claim claim);
/* Runs what was claimed from the queue in a thread that is no worker. */
void hki_execute_foreign(hki_queue *queue, const hki_claim *claims, int count);

#endif
