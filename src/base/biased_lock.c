#include "base/biased_lock.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    STREAK = 32, /* so often in a row a thread has to have the lock to become the owner again, */
    FIRST_STREAK = 1024, /* and so often for the first time: there are not places for everybody */
    /* An owner keeps the bias for so long: what the lock guards has to follow to the other's cache, which takes a microsecond
     * or two. */
    TENURE_TICKS = 30000,
    ASK_TICKS = 6000, /* an owner that uses the lock has seen by then that it is wanted */
    LOOK = 8,         /* releases for each look at the clock, which takes half as long as a call */
    /* To take the bias away by force costs some microseconds, ten on a virtual machine. Then nobody gets it for some 200 us,
     * and for ever longer where none is ever given up. */
    PAUSE_TICKS = 300000, /* the half of that */
    MOST_FORCED = 10,
    PATIENCE = 100000,     /* looks at a thread that may have lost its core */
    NAP_NS = 50000,        /* before each later one */
    DRAINED_NS = 10000000, /* by then a processor has written what a thread wrote before */
    BACK_OFF_TICKS = 8000, /* some microseconds, see acquire_lock */
    CONTENDED_TICKS = 60000
};

#define NO_NUMBER (UINT32_MAX >> HKI_BIAS_PLACE_BITS)

_Thread_local uint32_t hki_thread_number = UINT32_MAX;
/* When this thread last found one of these locks taken, and when it last gave up a bias. */
static _Thread_local uint64_t contended_ticks, gave_up_ticks;

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

static bool is_inside(hki_biased_lock *lock)
{
    for (uint32_t i = 0; i < lock->place_count; i++)
        if (atomic_load_explicit(&lock->inside[i], memory_order_acquire))
            return true;
    return false;
}

/* From now on the owner finds that it is none. Expects `lock`. */
static void take_away_locked(hki_biased_lock *lock)
{
    if (!atomic_exchange(&lock->owner, 0))
        return;
    lock->revoked_ticks = hki_ticks();
    lock->forced += lock->forced < MOST_FORCED;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0)) {
        atomic_store(&have_barrier, false); /* forbidden meanwhile: never again */
        hki_sleep_ns(DRAINED_NS);
    }
}

/* Asks the owner to give up, and takes the bias away if that does not come by. False: it came by, and keeps the bias for the
 * rest of its time, which only who may wait waits for. Expects `lock`. */
static bool revoke_locked(hki_biased_lock *lock, bool may_wait)
{
    if (!atomic_load_explicit(&lock->owner, memory_order_acquire)) /* may have been given up */
        return true;
    atomic_store_explicit(&lock->seen, false, memory_order_relaxed);
    atomic_store_explicit(&lock->wanted, true, memory_order_release);
    const uint64_t begin = hki_ticks();
    uint64_t most_ticks = ASK_TICKS;
    bool seen = false;
    while (atomic_load_explicit(&lock->wanted, memory_order_acquire) &&
           hki_ticks() - begin < most_ticks) {
        hki_relax();
        seen = seen || atomic_load_explicit(&lock->seen, memory_order_relaxed);
        if (seen && may_wait)
            most_ticks = TENURE_TICKS + 2 * ASK_TICKS;
    }
    hki_end_of_watch();
    const bool given_up = !atomic_load_explicit(&lock->wanted, memory_order_acquire);
    atomic_store_explicit(&lock->wanted, false, memory_order_relaxed);
    if (!given_up && seen && !may_wait)
        return false;
    lock->forced = given_up ? 0 : lock->forced;
    take_away_locked(lock); /* if need be: the owner may have answered an earlier question, late */
    return true;
}

/* The owner, which has just released it. Others may have it now. */
void hki_biased_give_up(hki_biased_lock *lock)
{
    static _Thread_local unsigned looks;
    if (atomic_load_explicit(&lock->seen, memory_order_relaxed) && ++looks % LOOK)
        return;
    uint32_t owner = atomic_load_explicit(&lock->owner, memory_order_relaxed);
    if (owner >> HKI_BIAS_PLACE_BITS != hki_thread_number)
        return;
    const uint64_t now = hki_ticks();
    if (now - atomic_load_explicit(&lock->granted_ticks, memory_order_relaxed) < TENURE_TICKS) {
        if (!atomic_load_explicit(&lock->seen, memory_order_relaxed))
            atomic_store_explicit(&lock->seen, true, memory_order_relaxed);
        return;
    }
    if (atomic_compare_exchange_strong(&lock->owner, &owner, 0)) {
        gave_up_ticks = now;
        atomic_store_explicit(&lock->wanted, false, memory_order_release);
    }
}

static void back_off(uint64_t since_ticks)
{
    while (hki_ticks() - since_ticks < BACK_OFF_TICKS)
        hki_relax();
}

/* Threads that issue all the time meet again and again. Who met another a moment ago leaves that one the lock for a while:
 * else they take turns call by call, and what the lock guards goes to and fro between their caches, which takes three times
 * as long as the calls. */
static void acquire_lock(hki_biased_lock *lock)
{
    if (gave_up_ticks) {
        back_off(gave_up_ticks);
        gave_up_ticks = 0;
    }
    if (hki_lock_try(&lock->lock))
        return;
    const uint64_t begin = hki_ticks();
    if (begin - contended_ticks < CONTENDED_TICKS)
        back_off(begin);
    contended_ticks = begin;
    /* Who waits for an owner has `lock` most of the time: a thread that slept would come in vain again and again. Whoever
     * has it, or runs what is issued under it, may be without a core meanwhile. */
    for (const uint64_t until = hki_ticks() + 2 * TENURE_TICKS; hki_ticks() < until;) {
        for (int i = 0; i < 16; i++)
            hki_relax();
        if (hki_lock_try(&lock->lock))
            return;
        sched_yield();
    }
    hki_lock_acquire(&lock->lock);
}

void hki_biased_acquire_slow(hki_biased_lock *lock)
{
    acquire_lock(lock);
    revoke_locked(lock, true);
    for (unsigned times = 0; is_inside(lock);)
        if (times < PATIENCE)
            hki_relax_or_yield(&times);
        else
            hki_sleep_ns(NAP_NS);
    lock->by_bias = 0;
}

bool hki_biased_try(hki_biased_lock *lock)
{
    if (hki_biased_enter(lock))
        return true;
    if (!hki_lock_try(&lock->lock))
        return false;
    if (!revoke_locked(lock, false) || is_inside(lock)) { /* who comes next waits for that */
        hki_lock_release(&lock->lock);
        return false;
    }
    lock->by_bias = 0;
    return true;
}

/* The thread's; place_count: it has none yet. */
static uint32_t find_place_locked(const hki_biased_lock *lock, uint32_t self)
{
    uint32_t place = 0;
    while (place < lock->place_count && lock->places[place] != self)
        place++;
    return place;
}

/* The thread, which has `lock`, had better be the owner. */
static bool may_grant_locked(const hki_biased_lock *lock)
{
    const uint64_t pause_ticks = lock->forced ? (uint64_t)PAUSE_TICKS << lock->forced : 0;
    return hki_ticks() - lock->revoked_ticks >= pause_ticks &&
           atomic_load_explicit(&have_barrier, memory_order_relaxed);
}

static void grant_locked(hki_biased_lock *lock, uint32_t self, uint32_t place)
{
    if (place == lock->place_count)
        lock->places[lock->place_count++] = self;
    lock->streak = 0;
    lock->by_bias = 1 + place;
    atomic_store_explicit(&lock->granted_ticks, hki_ticks(), memory_order_relaxed);
    atomic_store_explicit(&lock->owner, self << HKI_BIAS_PLACE_BITS | place, memory_order_relaxed);
}

void hki_biased_release_slow(hki_biased_lock *lock)
{
    const uint32_t self = thread_number();
    lock->streak = lock->latest == self ? lock->streak + 1 : 0;
    lock->latest = self;
    if (lock->streak > 0 && lock->streak % STREAK == 0 && self != NO_NUMBER) {
        const uint32_t place = find_place_locked(lock, self);
        if ((place < lock->place_count ||
             (place < HKI_BIAS_PLACES && lock->streak >= FIRST_STREAK)) &&
            may_grant_locked(lock))
            grant_locked(lock, self, place);
    }
    hki_lock_release(&lock->lock);
}
