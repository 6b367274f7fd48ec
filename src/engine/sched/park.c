#include "engine/sched/park.h"

void hki_park_wake(hki_park *park)
{
    if (hki_park_has_sleepers(park) && !atomic_load(&park->waking) &&
        !atomic_exchange(&park->waking, true))
        hki_futex_bump(&park->wake_word, 1);
}

bool hki_park_sleep(hki_park *park, bool (*found)(void *what), void *what, hki_nap *nap)
{
    atomic_fetch_add(&park->sleepers, 1);
    const uint32_t seen = atomic_load(&park->wake_word);
    nap->was_last = hki_park_leave(park);
    /* Before it looks, here and below: a waker that finds this still set has left something to see. */
    atomic_store(&park->waking, false);
    const bool has_found = found(what);
    const bool looks_again = !nap->shares_core && (nap->others_work || !nap->was_last);
    if (!has_found)
        hki_futex_wait(&park->wake_word, seen, looks_again ? HKI_LOOK_AGAIN_NS : -1);
    hki_park_attend(park);
    atomic_fetch_sub(&park->sleepers, 1);
    atomic_store(&park->waking, false);
    return has_found;
}
