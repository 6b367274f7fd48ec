/* Parking: where the workers of a device, or of devices that share its cores, spin and sleep until there is something to do.
 * Thread-safe.
 *
 * A worker is *attentive* while it looks for work, or is at something short after which it looks again: then nobody need
 * be woken. It is not while it sleeps, nor at a long task. A worker that sleeps while others have cores looks again in a
 * millisecond, since a task may take longer than was expected of it. */
#ifndef HOCKET_ENGINE_SCHED_PARK_H
#define HOCKET_ENGINE_SCHED_PARK_H

#include "base/sync.h"
#include "engine/policy/tuning.h"

typedef struct hki_park {
    _Alignas(HKI_CACHE_LINE) _Atomic(uint32_t) spinners, sleepers, wake_word;
    _Atomic(bool) waking;             /* one has been woken, and looks when it gets its core */
    _Atomic(uint32_t) *all_attentive; /* those of all parks of the runtime */
    /* In a line of its own: issuing threads look at it each time, and it changes seldom. */
    _Alignas(HKI_CACHE_LINE) _Atomic(uint32_t) attentive;
} hki_park;

static inline void hki_park_attend(hki_park *park)
{
    atomic_fetch_add(&park->attentive, 1);
    atomic_fetch_add(park->all_attentive, 1);
}

/* True: no other worker of the park is attentive now. */
static inline bool hki_park_leave(hki_park *park)
{
    atomic_fetch_sub(park->all_attentive, 1);
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

/* How a worker sleeps. */
typedef struct hki_nap {
    bool shares_core; /* only one runs at a time: then it never looks again by itself */
    bool others_work; /* others have cores */
    bool was_last;    /* set: no other was attentive */
} hki_nap;

/* Sleeps until woken, unless `found(what)` says, after everybody can see that this one is asleep, that there is something
 * to do; returns what that said. The worker is attentive before and after. */
bool hki_park_sleep(hki_park *park, bool (*found)(void *what), void *what, hki_nap *nap);

#endif
