/* Parking: where threads that have the same to do spin and sleep until there is something. Thread-safe.
 *
 * A worker is *attentive* while it looks for work, or is at something short after which it looks again: then nobody need
 * be woken. It is not while it sleeps, nor at a long task. A worker that sleeps while others do not looks again in a
 * millisecond, since a task may take longer than was expected of it. */
#ifndef HOCKET_ENGINE_SCHED_PARK_H
#define HOCKET_ENGINE_SCHED_PARK_H

#include "base/sync.h"
#include "engine/policy/tuning.h"

typedef struct hki_park {
    _Alignas(HKI_CACHE_LINE) _Atomic(uint32_t) spinners, sleepers, wake_word;
    _Atomic(uint32_t) watchers; /* of the sleepers, those that look again in a while */
    _Atomic(bool) waking;       /* one has been woken, and looks when it gets its core */
    uint32_t threads;           /* that park here */
    /* In a line of its own: issuing threads look at it each time, and it changes seldom. */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint32_t) attentive;
} hki_park;

static inline void hki_park_attend(hki_park *park)
{
    atomic_fetch_add(&park->attentive, 1);
}

/* True: no other worker of the park is attentive now. */
static inline bool hki_park_leave(hki_park *park)
{
    return atomic_fetch_sub(&park->attentive, 1) == 1;
}

static inline bool hki_park_is_attended(hki_park *park)
{
    return atomic_load(&park->attentive) > 0;
}

static inline bool hki_park_has_sleepers(hki_park *park)
{
    return atomic_load(&park->sleepers) > 0;
}

/* Wakes one that sleeps, unless one has been woken and has not looked yet. */
void hki_park_wake(hki_park *park);

/* Sleeps until woken, unless `found(what)` says, after everybody can see that this one is asleep, that there is something
 * to do. The thread is attentive before and after. */
void hki_park_sleep(hki_park *park, bool (*found)(void *what), void *what);
/* The thread has slept, and has something to do, which may turn out long: sees to it that one of those who sleep looks again. */
void hki_park_be_watched(hki_park *park);

#endif
