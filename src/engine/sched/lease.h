/* Borrowed cores. A thread that issues short calls, and is so far ahead that it had better wait for some of them, works at them
 * itself on the core of a worker, which rests meanwhile: three threads on two cores would take turns, and what this one has
 * just written is in its own core's cache. Or, where one worker alone is faster than two that wait for each other, the thread
 * just waits, and the core is its own.
 *
 * The worker gets its core back when that thread has not been at it for a while, or waits, or as soon as there is something
 * that waking a worker is worth: so no more than a fraction of a millisecond of one core is lost where things change. Only with
 * one CPU device, of two cores or more. Thread-safe. */
#ifndef HOCKET_ENGINE_SCHED_LEASE_H
#define HOCKET_ENGINE_SCHED_LEASE_H

#include "engine/core/slot.h"

enum { HKI_LEASE_NONE = 0, HKI_LEASE_RESTING = 1, HKI_LEASE_RECALLED = 2 };

/* What a thread that waits makes of a worker's core. */
typedef enum hki_lease_use {
    HKI_LEASE_LEAVE, /* leaves it to the worker, which is called back */
    HKI_LEASE_SPARE, /* one worker rests */
    HKI_LEASE_WORK   /* the same, and the thread works */
} hki_lease_use;

typedef struct hki_lease {
    /* Ticks: until when a thread has a worker's core, 0: none has; since when. */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) until;
    _Atomic(uint64_t) since;
    _Atomic(int) processor;  /* where it was then */
    _Atomic(uint32_t) state; /* of the worker that rests: the futex it sleeps on */
    _Atomic(bool) taken;     /* a thread has the counters that are for this */
} hki_lease;

/* For a thread that is about to wait until is_enough(what), and holds no lock. True: it has worked until then; else it has to
 * wait, for it was not to work, or what comes next is for workers. It takes no core of the device's: the worker's is left
 * to it. */
bool hki_lease_before_wait(hki_runtime *runtime, hki_lease_use use,
                           bool (*is_enough)(const void *what), const void *what);
/* The worker that rests, if one does, had better come back. */
void hki_lease_recall(hki_runtime *runtime);
bool hki_lease_is_on(const hki_runtime *runtime);
/* A worker rests, or is about to come back: the thread that would wake one may rely on it. */
bool hki_lease_rests(const hki_runtime *runtime);
/* For a worker that has nothing at hand: it had better rest, by hki_lease_rest. */
bool hki_lease_is_due(hki_queue *queue);
/* Rests; false: another worker does. The worker is not attentive meanwhile. */
bool hki_lease_rest(hki_queue *queue);

#endif
