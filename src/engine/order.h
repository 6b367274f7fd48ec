/* How workers of CPU devices keep the order of calls for the threads that issue them. Tasks that go to a worker wait in one
 * ring for all CPU devices, in the order in which they were issued. A worker that is looking for work, and whose device has
 * calls that have not finished, takes them from it and runs them in their turn (turn.c), where they are short, whatever
 * device they are for, or else registers them. So variables and gates stay in the caches of those who run tasks. */
#ifndef HOCKET_ENGINE_ORDER_H
#define HOCKET_ENGINE_ORDER_H

#include "engine/queue.h"

/* Put under the issue lock; taken under the order's. */
typedef struct hki_ring {
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) put; /* so many were */
    _Atomic(int64_t) put_ns;                        /* their backlog */
    uint64_t seen_taken;                            /* issue lock */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) taken;
    _Atomic(int64_t) taken_ns;
    uintptr_t entries[HKI_RING_TASKS]; /* tasks with their shape */
} hki_ring;

/* See relief.h. */
enum { HKI_RELIEF_AWAKE = 0, HKI_RELIEF_RESTING = 1, HKI_RELIEF_CALLED = 2 };

typedef struct hki_relief {
    _Alignas(
        HKI_CACHE_LINE) _Atomic(uint64_t) until; /* ticks; 0: no thread works in a worker's place */
    _Atomic(uint64_t) since;                     /* ticks: when it began to */
    _Atomic(int) processor;                      /* where it was then, */
    _Atomic(uint32_t) state; /* of the worker that rests: the futex it sleeps on */
    _Atomic(bool) taken;     /* a thread has the counters that are for this */
} hki_relief;

struct hki_order {
    _Alignas(HKI_CACHE_LINE) hki_lock lock;
    uint64_t held_ticks;     /* since when a short task is held for its turn; 0: none is; lock */
    _Atomic(uint64_t) reach; /* see turn.c; lock for writing but by hki_turn_where */
    hki_runtime *runtime;
    _Alignas(HKI_CACHE_LINE) _Atomic(uint32_t) attentive; /* workers, of all devices */
    hki_relief relief;
    hki_ring ring;
};

/* Nothing is to be taken. */
static inline bool hki_order_is_empty(hki_order *order)
{
    return atomic_load_explicit(&order->ring.taken, memory_order_acquire) ==
           atomic_load_explicit(&order->ring.put, memory_order_acquire);
}

/* Puts a task into the ring, for who calls hki_order_notify when he has released the issue lock, which this expects.
 * False: no room. */
bool hki_order_put_locked(hki_order *order, hki_task *task);
/* Something is in the ring for this queue: wakes a worker of its own if none is going to look. */
void hki_order_notify(hki_order *order, hki_queue *queue);
/* Something is to be taken by who has a core of the queue's device: not where all calls on that have finished, 20 us ago and
 * more. What is in the ring has nothing to do with it then, and may turn out to be long. */
bool hki_order_concerns(hki_order *order, hki_queue *queue);
/* Few tasks are registered that have not finished: time to register more, so that what gets ready is known. */
bool hki_order_is_near(hki_order *order);
/* Takes tasks off the ring, for who has a core of the queue's device and runs nothing. A worker, `executor`, takes those for
 * its batch that run in their turn, or runs them at once; others are registered: what is ready then is taken, or goes to its
 * own queue. Returns how many it took off. */
int hki_order_take(hki_order *order, hki_queue *queue, hki_executor *executor,
                   hki_task_batch *taken);
/* Tasks of the ring are, of late, further from those that they depend on than there are cores. */
bool hki_order_is_wide(const hki_order *order);
/* Registers what is in the ring. False: no memory for all of it, or tasks that run in their turn are in the way. Expects the
 * issue lock. */
bool hki_order_all_locked(hki_order *order);
/* There is more in the ring than those who are awake can do soon: wakes a worker of the queue, or of a device that waits. */
void hki_order_share(hki_order *order, hki_queue *queue);

/* ---- tasks that run in their turn (turn.c) ------------------------------------------------------------------------- */

typedef enum hki_turn {
    HKI_TURN_NEVER, /* it is not such a task, or waits for one that is registered */
    HKI_TURN_RUN,   /* it has run */
    HKI_TURN_TAKEN, /* into the executor's batch */
    HKI_TURN_STALLED /* something that another executor's batch runs is in its way: executor->stalled_on */
} hki_turn;

/* For a task of the ring at this position. Expects that the thread keeps order by the order's lock. */
hki_turn hki_turn_try(hki_executor *executor, hki_task *task, uint64_t position);
bool hki_turns_are_enough(const hki_executor *executor);
/* Runs the batch; nobody may hold the order's lock for this thread. */
void hki_turns_run(hki_executor *executor);
/* Spins while that is in the way, for a few microseconds at most. True: it is not any more. */
bool hki_turns_await(hki_executor *executor);
/* After so few that it took longer to look for them than to run them: lets some more come, for a microsecond or two. */
void hki_turns_gather(int taken);

#endif
