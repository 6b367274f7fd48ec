#include "engine/sched/park.h"

void hki_park_wake(hki_park *park)
{
    if (hki_park_has_sleepers(park) && !atomic_load(&park->waking) &&
        !atomic_exchange(&park->waking, true))
        hki_futex_bump(&park->wake_word, 1);
}

void hki_park_sleep(hki_park *park, bool (*found)(void *what), void *what)
{
    const bool looks_again = atomic_fetch_add(&park->sleepers, 1) + 1 < park->threads;
    const uint32_t seen = atomic_load(&park->wake_word);
    hki_park_leave(park);
    atomic_fetch_add(&park->watchers, looks_again);
    /* Before it looks, here and below: a waker that finds this still set has left something to see. */
    atomic_store(&park->waking, false);
    if (!found(what))
        hki_futex_wait(&park->wake_word, seen, looks_again ? HKI_LOOK_AGAIN_NS : -1);
    atomic_fetch_sub(&park->watchers, looks_again);
    hki_park_attend(park);
    atomic_fetch_sub(&park->sleepers, 1);
    atomic_store(&park->waking, false);
}

void hki_park_be_watched(hki_park *park)
{
    if (atomic_load(&park->watchers) == 0)
        hki_park_wake(park);
}
