/* A thread that issues short calls, and is so far ahead that it had better wait for some of them, works at them itself, in
 * the place of a worker, which rests meanwhile: three threads on two cores would take turns, and what this one has just
 * written is in its own core's cache. Tasks of 100 to 400 ns take three quarters of the time.
 *
 * The worker comes back when that thread has not been at it for a while, or waits, or as soon as there is something that
 * waking a worker is worth: so no more than a fraction of a millisecond of one core is lost where things change. Only with
 * one CPU device, of two cores or more. */
#ifndef HOCKET_ENGINE_RELIEF_H
#define HOCKET_ENGINE_RELIEF_H

#include "engine/engine_runtime.h"
#include "engine/order.h"

/* Works until is_enough(what). False: it was not to, or cannot any more, since what comes next is for workers: then the
 * thread had better wait. For a thread that holds no lock. It takes no core of the device's: the worker's is left to it. */
bool hki_relief_work(hki_runtime *runtime, bool (*is_enough)(const void *what), const void *what);

void hki_relief_end_slow(hki_order *order);
bool hki_relief_is_due_slow(hki_queue *queue);

static inline bool hki_relief_is_on(const hki_order *order)
{
    return order && atomic_load_explicit(&order->relief.until, memory_order_relaxed) != 0;
}

/* The worker that rests, if one does, had better come back. */
static inline void hki_relief_end(hki_runtime *runtime)
{
    if (hki_relief_is_on(runtime->ordering))
        hki_relief_end_slow(runtime->ordering);
}

/* The same where this thread is about to wait: not if another one is at work so. */
static inline void hki_relief_leave(hki_runtime *runtime)
{
    if (hki_relief_is_on(runtime->ordering) &&
        !atomic_load_explicit(&runtime->ordering->relief.taken, memory_order_relaxed))
        hki_relief_end_slow(runtime->ordering);
}

/* A worker rests, or is about to come back: who would wake one may rely on it. */
static inline bool hki_relief_rests(hki_order *order)
{
    return atomic_load(&order->relief.state) != HKI_RELIEF_AWAKE;
}

/* For a worker that has nothing at hand: it had better rest, by hki_relief_rest. */
static inline bool hki_relief_is_due(hki_queue *queue)
{
    return hki_relief_is_on(queue->runtime->ordering) && hki_relief_is_due_slow(queue);
}

/* Rests; false: another worker does. The worker is not attentive meanwhile. */
bool hki_relief_rest(hki_queue *queue);

#endif
