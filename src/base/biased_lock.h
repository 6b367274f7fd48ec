/* A lock for what one thread does again and again while others hardly ever come: biased locking (Kawachiya, Koseki and
 * Onodera, OOPSLA 2002), with a barrier in all threads (membarrier(2), Linux 4.14) where the bias is taken away. Acquiring
 * and releasing take no instruction that waits for what was written before, which is most of what a lock costs on some
 * processors. */
#ifndef HOCKET_BASE_BIASED_LOCK_H
#define HOCKET_BASE_BIASED_LOCK_H

#include "base/sync.h"

/* All zero: free, biased to nobody. */
typedef struct hki_biased_lock {
    _Atomic(uint32_t)
        owner; /* the thread it is biased to, which alone does without `lock`; 0: none */
    _Atomic(uint32_t)
        inside;      /* that one has it, or is about to see that it is not the owner any more */
    bool is_by_bias; /* who has it has it that way */
    uint32_t latest, streak; /* who had `lock` last, and how often in a row */
    uint32_t revocations;
    hki_lock lock;
} hki_biased_lock;

extern _Thread_local uint32_t hki_thread_number; /* UINT32_MAX: none yet */

/* Once, before anybody acquires such a lock: without, or where the system has no such barrier, none is ever biased. Fast
 * while the process has one thread; else it may take some ten milliseconds. */
void hki_biased_lock_prepare(void);

void hki_biased_acquire_slow(hki_biased_lock *lock);
void hki_biased_release_slow(hki_biased_lock *lock);
/* Never blocks for longer than the barrier takes. */
bool hki_biased_try(hki_biased_lock *lock);

static inline bool hki_biased_enter(hki_biased_lock *lock)
{
    const uint32_t self = hki_thread_number;
    if (!HKI_USUALLY(atomic_load_explicit(&lock->owner, memory_order_relaxed) == self))
        return false;
    atomic_store_explicit(&lock->inside, 1, memory_order_relaxed);
    /* The processor may swap these two; who takes the bias away has all threads make a barrier in between. */
    atomic_signal_fence(memory_order_seq_cst);
    if (HKI_USUALLY(atomic_load_explicit(&lock->owner, memory_order_acquire) == self))
        return true;
    atomic_store_explicit(&lock->inside, 0, memory_order_release);
    return false;
}

static inline void hki_biased_acquire(hki_biased_lock *lock)
{
    if (!hki_biased_enter(lock))
        hki_biased_acquire_slow(lock);
}

static inline void hki_biased_release(hki_biased_lock *lock)
{
    if (HKI_USUALLY(lock->is_by_bias))
        atomic_store_explicit(&lock->inside, 0, memory_order_release);
    else
        hki_biased_release_slow(lock);
}

#endif
