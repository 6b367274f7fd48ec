/* A lock for what one thread does again and again while others hardly ever come: biased locking (Kawachiya, Koseki and
 * Onodera, OOPSLA 2002), with a barrier in all threads (membarrier(2), Linux 4.14) where the bias is taken away. Acquiring
 * and releasing take no instruction that waits for what was written before, which is most of what a lock costs on some
 * processors. Who has it may not acquire it again, nor try to. */
#ifndef HOCKET_BASE_BIASED_LOCK_H
#define HOCKET_BASE_BIASED_LOCK_H

#include "base/sanitizer.h"
#include "base/sync.h"

#include <assert.h>

enum { HKI_BIAS_PLACE_BITS = 2, HKI_BIAS_PLACES = 1 << HKI_BIAS_PLACE_BITS };

/* All zero: free, biased to nobody. A line of memory. */
typedef struct hki_biased_lock {
    /* The number of the thread it is biased to, which alone does without `lock`, over its place; 0: none. */
    _Atomic(uint32_t) owner;
    /* By place: the thread of that place has it, or is about to see that it is not the owner any more. A place belongs to
     * one thread for good, since that one may stop for any time between asking who the owner is and writing here: what it
     * writes then must not be taken for another's. */
    _Atomic(uint32_t) inside[HKI_BIAS_PLACES];
    uint32_t by_bias; /* who has it has it by bias: 1 + its place; 0: has `lock` */
    uint32_t places[HKI_BIAS_PLACES], place_count; /* whose they are, by thread number */
    uint32_t latest, streak, revocations;          /* who had `lock` last, and how often in a row */
    hki_lock lock;
} hki_biased_lock;

extern _Thread_local uint32_t hki_thread_number; /* UINT32_MAX: none yet */

/* Once, before anybody acquires such a lock: without, or where the system has no such barrier, none is ever biased. Fast
 * while the process has one thread; else it may take some ten milliseconds. */
void hki_biased_lock_prepare(void);

void hki_biased_acquire_slow(hki_biased_lock *lock);
void hki_biased_release_slow(hki_biased_lock *lock);
/* Does not wait for who has it. */
bool hki_biased_try(hki_biased_lock *lock);

static inline bool hki_biased_enter(hki_biased_lock *lock)
{
    const uint32_t owner = atomic_load_explicit(&lock->owner, memory_order_relaxed);
    if (!HKI_USUALLY(owner >> HKI_BIAS_PLACE_BITS == hki_thread_number))
        return false;
    _Atomic(uint32_t) *inside = &lock->inside[owner % HKI_BIAS_PLACES];
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

static inline void hki_biased_acquire(hki_biased_lock *lock)
{
    if (!hki_biased_enter(lock))
        hki_biased_acquire_slow(lock);
}

static inline void hki_biased_release(hki_biased_lock *lock)
{
    const uint32_t by_bias = lock->by_bias;
    if (HKI_USUALLY(by_bias))
        atomic_store_explicit(&lock->inside[by_bias - 1], 0, memory_order_release);
    else
        hki_biased_release_slow(lock);
}

#endif
