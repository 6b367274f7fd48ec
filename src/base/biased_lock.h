/* A lock for what one thread does again and again while others hardly ever come: biased locking (Kawachiya, Koseki and
 * Onodera, OOPSLA 2002). Acquiring and releasing take no instruction that waits for what was written before, which is most
 * of what a lock costs on some processors. An owner gives the bias up when others ask for it; from one that does not come by
 * it is taken, by a barrier in all threads (membarrier(2), Linux 4.14). So threads that all use it all the time have it by
 * bias in turns, some microseconds each. Who has it may not acquire it again, nor try to. */
#ifndef HOCKET_BASE_BIASED_LOCK_H
#define HOCKET_BASE_BIASED_LOCK_H

#include "base/sanitizer.h"
#include "base/sync.h"

#include <assert.h>

enum { HKI_BIAS_PLACE_BITS = 4, HKI_BIAS_PLACES = 1 << HKI_BIAS_PLACE_BITS };

/* All zero: free, biased to nobody. */
typedef struct hki_biased_lock {
    /* The number of the thread it is biased to, which alone does without `lock`, over its place; 0: none. Set, and taken
     * away, by who has `lock`; given up by the owner. */
    _Atomic(uint32_t) owner;
    uint32_t by_bias; /* who has it has it by bias: 1 + its place; 0: has `lock` */
    /* By place: the thread of that place has it, or is about to see that it is not the owner any more. A place belongs to
     * one thread for good, since that one may stop for any time between asking who the owner is and writing here: what it
     * writes then must not be taken for another's. */
    _Atomic(uint8_t) inside[HKI_BIAS_PLACES];
    /* In a line of memory of their own, which the owner looks at whenever it releases, and others watch meanwhile: who has
     * `lock` waits for the owner to give the bias up; the owner, which has not had it for long, knows; since when it has. */
    _Alignas(HKI_CACHE_LINE) _Atomic(bool) wanted;
    _Atomic(bool) seen;
    _Atomic(uint64_t) granted_ticks;
    _Alignas(HKI_CACHE_LINE) hki_lock lock;
    uint32_t latest, streak;                       /* who had `lock` last, and how often in a row */
    uint32_t places[HKI_BIAS_PLACES], place_count; /* whose they are, by thread number */
    /* When the bias was last taken from a thread that did not give it up, and how often in a row that was. */
    uint64_t revoked_ticks;
    uint32_t forced;
} hki_biased_lock;

extern _Thread_local uint32_t hki_thread_number; /* UINT32_MAX: none yet */

/* Once, before anybody acquires such a lock: without, or where the system has no such barrier, none is ever biased. Fast
 * while the process has one thread; else it may take some ten milliseconds. */
void hki_biased_lock_prepare(void);

void hki_biased_acquire_slow(hki_biased_lock *lock);
void hki_biased_release_slow(hki_biased_lock *lock);
/* For hki_biased_release, where the owner has been asked. */
void hki_biased_give_up(hki_biased_lock *lock);
/* Does not wait for who has it, nor for an owner that goes on to use it. */
bool hki_biased_try(hki_biased_lock *lock);

static inline bool hki_biased_enter(hki_biased_lock *lock)
{
    const uint32_t owner = atomic_load_explicit(&lock->owner, memory_order_relaxed);
    if (!HKI_USUALLY(owner >> HKI_BIAS_PLACE_BITS == hki_thread_number))
        return false;
    _Atomic(uint8_t) *inside = &lock->inside[owner % HKI_BIAS_PLACES];
    assert(!HKI_SANITIZED || !atomic_load_explicit(inside, memory_order_relaxed));
    atomic_store_explicit(inside, 1, memory_order_relaxed);
    /* The processor may swap these two, but for the barrier that all threads make between the writing of another owner and
     * the reading of `inside`. */
    atomic_signal_fence(memory_order_seq_cst);
    if (HKI_USUALLY(atomic_load_explicit(&lock->owner, memory_order_acquire) == owner))
        return true;
    atomic_store_explicit(inside, 0, memory_order_release);
    return false;
}

/* The thread's own place; negative: it is not the owner. */
static inline int hki_biased_place(const hki_biased_lock *lock)
{
    const uint32_t owner =
        atomic_load_explicit(&((hki_biased_lock *)lock)->owner, memory_order_relaxed);
    return owner >> HKI_BIAS_PLACE_BITS == hki_thread_number ? (int)(owner % HKI_BIAS_PLACES) : -1;
}

static inline void hki_biased_acquire(hki_biased_lock *lock)
{
    if (!hki_biased_enter(lock))
        hki_biased_acquire_slow(lock);
}

static inline void hki_biased_release(hki_biased_lock *lock)
{
    const uint32_t by_bias = lock->by_bias;
    if (!HKI_USUALLY(by_bias)) {
        hki_biased_release_slow(lock);
        return;
    }
    atomic_store_explicit(&lock->inside[by_bias - 1], 0, memory_order_release);
    if (!HKI_USUALLY(!atomic_load_explicit(&lock->wanted, memory_order_relaxed)))
        hki_biased_give_up(lock);
}

#endif
