/* Locks, parking and time: the few primitives that the engine stands on. All thread-safe. */
#ifndef HOCKET_BASE_SYNC_H
#define HOCKET_BASE_SYNC_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { HKI_CACHE_LINE = 64 };

/* Sleeps while *word == expected, at most timeout_ns (negative: no limit). May wake early. */
void hki_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, int64_t timeout_ns);
void hki_futex_wake(_Atomic(uint32_t) *word, int count);
/* The word changes, and so many that sleep until then wake up. */
void hki_futex_bump(_Atomic(uint32_t) *word, int count);
/* Sleeps so long, or less. Like the two above no cancellation point: a thread may have a lock or a task meanwhile. */
void hki_sleep_ns(int64_t ns);

/* Zeroed memory in cache lines that nothing else is in; the caller frees it. NULL: there is none. */
void *hki_zeroed_lines(size_t bytes);

/* Processor time of this thread. */
int64_t hki_thread_ns(void);

/* For the few conditions on the way of every call: the compiler lays the usual way out straight. */
#define HKI_USUALLY(condition) __builtin_expect(!!(condition), 1)

/* A mutex of one word, short in the uncontended case, that spins a little before it sleeps. */
typedef struct hki_lock {
    _Atomic(uint32_t) state; /* 0 free, 1 held, 2 held and somebody may sleep */
} hki_lock;

void hki_lock_acquire_slow(hki_lock *lock);

static inline void hki_lock_acquire(hki_lock *lock)
{
    uint32_t expected = 0;
    if (!atomic_compare_exchange_strong_explicit(&lock->state, &expected, 1, memory_order_acquire,
                                                 memory_order_relaxed))
        hki_lock_acquire_slow(lock);
}

static inline void hki_lock_release(hki_lock *lock)
{
    if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2)
        hki_futex_wake(&lock->state, 1);
}

/* Begins to fetch a line of memory that is going to be written, and so takes it from all other cores: one that was fetched for
 * reading takes as long again when it is written. (Compilers make an instruction of that only where they are told that
 * there is one; all processors of 64 bits take it, some as an empty one.) Any address will do. */
static inline void hki_prefetch_write(const void *address)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw (%0)" : : "r"(address));
#else
    __builtin_prefetch(address, 1);
#endif
}

/* Tells the processor that this is a spin loop. */
static inline void hki_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Behind a loop that watches what another thread writes: without it the processor guesses now and then that the loop ends,
 * begins with what follows, and so takes lines of memory that the other thread is writing; twice as long for that one. */
static inline void hki_end_of_watch(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_lfence();
#elif defined(__aarch64__)
    __asm__ volatile("isb" : : : "memory");
#endif
}

/* In a loop that waits for another thread, for a moment unless that one has lost its core: then it may have this one.
 * *times: 0 at first. */
static inline void hki_relax_or_yield(unsigned *times)
{
    if (++*times % 256)
        hki_relax();
    else
        sched_yield();
}

bool hki_lock_try(hki_lock *lock);

/* A cheap time stamp, in units of very roughly a third of a nanosecond, of one core. */
static inline uint64_t hki_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 3 * ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
#endif
}

/* Monotonic time. */
static inline int64_t hki_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
