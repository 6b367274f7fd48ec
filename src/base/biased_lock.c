#include "base/biased_lock.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    /* To take the bias away costs some microseconds, as much as a thousand acquisitions gain; who is disturbed again and
     * again gets it ever later. */
    FIRST_STREAK = 1024,
    MOST_REVOCATIONS = 12,
    PATIENCE = 100000,     /* looks at a thread that may have lost its core */
    NAP_NS = 50000,        /* before each later one */
    DRAINED_NS = 10000000, /* by then a processor has written what a thread wrote before */
    BACK_OFF_TICKS = 8000, /* some microseconds, see acquire_contended */
    CONTENDED_TICKS = 60000
};

#define NO_NUMBER (UINT32_MAX >> HKI_BIAS_PLACE_BITS)

_Static_assert(sizeof(hki_biased_lock) <= 64, "see hki_biased_lock");

_Thread_local uint32_t hki_thread_number = UINT32_MAX;

static atomic_bool have_barrier;

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

/* From 1; one that is the same for all once they do not fit beside a place any more. */
static uint32_t thread_number(void)
{
    static _Atomic(uint64_t) numbers;
    if (hki_thread_number == UINT32_MAX) {
        const uint64_t number = atomic_fetch_add(&numbers, 1) + 1;
        hki_thread_number = number < NO_NUMBER ? (uint32_t)number : NO_NUMBER;
    }
    return hki_thread_number;
}

static void nap(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* From now on the owner finds that it is none. Expects `lock`. */
static void revoke_locked(hki_biased_lock *lock)
{
    if (!atomic_load_explicit(&lock->owner, memory_order_relaxed))
        return;
    atomic_store(&lock->owner, 0);
    lock->revocations += lock->revocations < MOST_REVOCATIONS;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0)) {
        atomic_store(&have_barrier, false); /* forbidden meanwhile: never again */
        nap(DRAINED_NS);
    }
}

static bool is_inside(hki_biased_lock *lock)
{
    for (uint32_t i = 0; i < lock->place_count; i++)
        if (atomic_load_explicit(&lock->inside[i], memory_order_acquire))
            return true;
    return false;
}

/* Threads that issue all the time meet again and again. Who met another a moment ago leaves that one the lock for a while:
 * else they take turns call by call, and what the lock guards goes to and fro between their caches, which takes three times
 * as long as the calls. */
static void acquire_contended(hki_biased_lock *lock)
{
    static _Thread_local uint64_t latest_ticks;
    const uint64_t begin = hki_ticks();
    if (begin - latest_ticks < CONTENDED_TICKS)
        while (hki_ticks() - begin < BACK_OFF_TICKS)
            hki_relax();
    latest_ticks = begin;
    hki_lock_acquire(&lock->lock);
}

void hki_biased_acquire_slow(hki_biased_lock *lock)
{
    if (!hki_lock_try(&lock->lock))
        acquire_contended(lock);
    revoke_locked(lock);
    for (unsigned times = 0; is_inside(lock);)
        if (times < PATIENCE)
            hki_relax_or_yield(&times);
        else
            nap(NAP_NS);
    lock->by_bias = 0;
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
    lock->by_bias = 0;
    return true;
}

/* The thread's, which it may get now. HKI_BIAS_PLACES: there is none left. */
static uint32_t find_place_locked(hki_biased_lock *lock, uint32_t self)
{
    uint32_t place = 0;
    while (place < lock->place_count && lock->places[place] != self)
        place++;
    if (place == lock->place_count && place < HKI_BIAS_PLACES)
        lock->places[lock->place_count++] = self;
    return place;
}

void hki_biased_release_slow(hki_biased_lock *lock)
{
    const uint32_t self = thread_number();
    lock->streak = lock->latest == self ? lock->streak + 1 : 0;
    lock->latest = self;
    if (lock->streak >= (uint32_t)FIRST_STREAK << lock->revocations && self != NO_NUMBER &&
        atomic_load_explicit(&have_barrier, memory_order_relaxed)) {
        const uint32_t place = find_place_locked(lock, self);
        lock->streak = 0;
        if (place < HKI_BIAS_PLACES) {
            lock->by_bias = 1 + place;
            atomic_store_explicit(&lock->owner, self << HKI_BIAS_PLACE_BITS | place,
                                  memory_order_relaxed);
        }
    }
    hki_lock_release(&lock->lock);
}
