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

/* Of the workers of each core: how many tasks they have finished. Who has the core writes it. */
typedef struct hki_counter {
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) first_turn; /* see turn.c; UINT64_MAX: none */
    _Alignas(
        HKI_CACHE_LINE) _Atomic(uint64_t) finished; /* in all: told when slots are given back */
    hki_finished *by_queue;                         /* by the queue's number, at once */
} hki_counter;

typedef struct hki_launchers hki_launchers; /* see launcher.c */

typedef struct hki_worker {
    pthread_t thread;
    bool running;
    int index; /* of the queue's workers */
    int slot;  /* of runtime->counters; -1: an accelerator's, whose tasks others finish */
    int processor;
    hki_queue *queue;
} hki_worker;

struct hki_queue {
    hki_runtime *runtime;
    hki_device *device;
    hki_queue_kind kind;
    bool
        is_accelerator; /* its one worker, or a launcher, launches tasks, and the clock completes them */
    hki_budget *budget;
    /* Where its workers wait: spinners and so on are those of this queue, the first one of those that share cores. */
    hki_queue *park;
    hki_launchers *launchers; /* who launches from it; NULL: its workers */
    int number;               /* in runtime->queues */
    _Alignas(HKI_CACHE_LINE) hki_lock lock;
    struct {
        hki_task *first, *last;
        hki_task
            *latest; /* that was put in order, or who was before it; NULL: look from the first on */
    } lists[2];      /* [0]: reductions between devices, taken first; [1]: the rest */
    _Atomic(uint32_t) listed[2]; /* entries in the lists */
    _Atomic(int64_t) backlog_ns; /* of the lists; queue lock for writing */
    struct {
        _Alignas(
            HKI_CACHE_LINE) _Atomic(hki_task *) newest; /* a stack, linked through queue_next */
    } inboxes[2];
    _Alignas(HKI_CACHE_LINE) _Atomic(uint32_t) spinners, sleepers, wake_word;
    _Atomic(uint64_t) concerned_ticks; /* when the ring concerned its device last */
    _Atomic(uint64_t)
        barren_ticks; /* when its workers looked for pieces of other devices in vain */
    /* One of a CPU device has been woken and is going to look when it gets its core: no need to wake it again. */
    _Atomic(bool) waking;
    /* Workers that look for work, or will within a moment. Who issues looks at it each time; it changes seldom. */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint32_t) attentive;
    _Atomic(bool) watched; /* all of these cores sleep, and one looks again in a millisecond */
    /* Tasks issued by epoch (issue lock) and finished (by executor). */
    _Alignas(HKI_CACHE_LINE) unsigned epoch;
    _Atomic(uint64_t) issued[2];
    _Atomic(uint64_t) finished_elsewhere[2]; /* of those, by threads that are no workers */
    uint64_t at_once;                        /* tasks that ran under the issue lock: in no epoch */
    pthread_mutex_t flip_lock;               /* held by who waits for the device */
    int worker_count;
    hki_worker *workers;
    /* An accelerator's: tasks launched and not completed (clock.c); of who launches, one thread at a time: when the latest of
     * them ends where that is known, and how long launching it took; what one takes (smoothed); and what hk_device_get_stats
     * tells. */
    struct hki_flights *flights;
    _Atomic(uint32_t) in_flight;
    _Atomic(bool) launching; /* a launcher is at it */
    _Atomic(int64_t) launched_end_ns;
    uint64_t launch_ticks;
    _Atomic(int64_t) pace_ns;
    hki_lock stats_lock;
    hk_queue_stats stats;
};

/* Short tasks that are taken together. */
typedef struct hki_task_batch {
    hki_claim *claims;
    int count, limit;
    int64_t ns, most_ns;
} hki_task_batch;

/* A long one is taken alone. */
static inline bool hki_task_batch_has_room(const hki_task_batch *taken, const hki_task *task)
{
    return taken->count < taken->limit && taken->ns < HKI_BATCH_NS &&
           hki_task_backlog_ns(task) <= (taken->count == 0 ? taken->most_ns : HKI_BATCH_NS);
}

static inline void hki_task_batch_add(hki_task_batch *taken, hki_claim claim)
{
    taken->ns += hki_task_backlog_ns(claim.task);
    taken->claims[taken->count++] = claim;
}

/* What is ready. */
void hki_queue_push(hki_queue *queue, hki_task *task);
bool hki_queue_is_ready(hki_queue *queue);
/* Something is ready, or to be ordered, and no worker is looking for work. */
bool hki_queue_wants_help(hki_queue *queue);
/* A reduction between devices is ready. */
bool hki_queue_is_urgent(hki_queue *queue);
/* To the front: what is to go on at once, and a started task whose pieces 1 … are to be claimed. */
void hki_queue_push_first(hki_queue *queue, hki_task *task);
/* Takes a task or piece, or several short tasks, at most count: ready ones first, then from the ring. None in whose way one
 * is that is expected to take more than most_ns, unless that is HKI_LONG_TASK_NS. Returns how many. May run what is shorter
 * than taking it, in an executor that is not NULL. */
int hki_queue_pop(hki_queue *queue, hki_executor *executor, int64_t most_ns, hki_claim *claims,
                  int count);
/* Takes this very task, or a piece of it, if it is still in the queue. */
hki_claim hki_queue_take(hki_queue *queue, hki_task *task, uint64_t sequence);
/* Takes a piece of a task that has started, and is lendable (lending.h). */
hki_claim hki_queue_take_piece(hki_queue *queue);
bool hki_budget_try_acquire(hki_budget *budget);
/* A worker of the queue that has a core would find something to do. */
bool hki_queue_has_work(hki_queue *queue);
/* The same for one that is at work, told faster: what is in the ring may have nothing to do with its device. */
bool hki_queue_has_more(hki_queue *queue);
void hki_budget_release(hki_queue *queue);
void hki_queue_notify(hki_queue *queue);
/* Both, of a queue with launchers: something may be launched. */
void hki_launchers_notify(hki_queue *queue);
void hki_queue_wake(hki_queue *queue);
/* A task of the epoch has finished. Who waits for all of them is woken, where it sleeps, when the executor runs out of
 * tasks: by hki_progress, and, of a worker, hki_queue_counted before that. */
void hki_queue_count(hki_queue *queue, hki_executor *executor, unsigned epoch);
/* What a worker has counted goes before all that it looks at from now on. */
void hki_queue_counted(hki_executor *executor);
uint64_t hki_queue_finished(hki_queue *queue, unsigned epoch);
/* Of all queues and epochs, as told: up to 32 less for each worker. */
uint64_t hki_finished_tasks(hki_runtime *runtime);
/* The same as counted, which takes longer with many devices. */
uint64_t hki_counted_tasks(hki_runtime *runtime);

/* ---- workers (worker.c) -------------------------------------------------------------------------------------------- */

void *hki_worker_main(void *worker);
/* Once the runtime is ending: whoever still issues a task, or makes one ready, finishes it, cancelled, in place. */
void hki_cancel_all(hki_runtime *runtime);
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
