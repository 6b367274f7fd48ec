#include "base/biased_lock.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* To take the bias away costs some microseconds, as much as a thousand acquisitions gain; who is disturbed again and again
 * gets it ever later. */
enum { FIRST_STREAK = 1024, MOST_REVOCATIONS = 12 };

_Thread_local uint32_t hki_thread_number = UINT32_MAX;

static bool have_barrier;

static void prepare(void)
{
    const int needed = MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    const long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    have_barrier = commands > 0 && (commands & needed) == needed &&
                   syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void hki_biased_lock_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
}

static uint32_t thread_number(void)
{
    static _Atomic(uint32_t) numbers;
    if (hki_thread_number == UINT32_MAX)
        hki_thread_number = atomic_fetch_add(&numbers, 1) + 1;
    return hki_thread_number;
}

/* From now on the owner finds that it is none. Expects `lock`. */
static void revoke_locked(hki_biased_lock *lock)
{
    if (!atomic_load_explicit(&lock->owner, memory_order_relaxed))
        return;
    atomic_store(&lock->owner, 0);
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    lock->revocations += lock->revocations < MOST_REVOCATIONS;
}

static bool is_inside(hki_biased_lock *lock)
{
    return atomic_load_explicit(&lock->inside, memory_order_acquire);
}

void hki_biased_acquire_slow(hki_biased_lock *lock)
{
    hki_lock_acquire(&lock->lock);
    revoke_locked(lock);
    for (unsigned times = 0; is_inside(lock);)
        hki_relax_or_yield(&times);
    lock->is_by_bias = false;
}

bool hki_biased_try(hki_biased_lock *lock)
{
    if (hki_biased_enter(lock))
        return true;
    if (!hki_lock_try(&lock->lock))
        return false;
    revoke_locked(lock);
    if (is_inside(lock)) { /* who comes next waits for that */
        hki_lock_release(&lock->lock);
        return false;
    }
    lock->is_by_bias = false;
    return true;
}

void hki_biased_release_slow(hki_biased_lock *lock)
{
    const uint32_t self = thread_number();
    lock->streak = lock->latest == self ? lock->streak + 1 : 0;
    lock->latest = self;
    if (have_barrier && lock->streak >= (uint32_t)FIRST_STREAK << lock->revocations) {
        lock->streak = 0;
        lock->is_by_bias = true;
        atomic_store_explicit(&lock->owner, self, memory_order_relaxed);
    }
    hki_lock_release(&lock->lock);
}
