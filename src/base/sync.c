#include "base/sync.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void hki_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, int64_t timeout_ns)
{
    struct timespec timeout = {(time_t)(timeout_ns / 1000000000), (long)(timeout_ns % 1000000000)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout_ns < 0 ? NULL : &timeout, NULL,
            0);
}

void hki_futex_wake(_Atomic(uint32_t) *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

void hki_futex_bump(_Atomic(uint32_t) *word, int count)
{
    atomic_fetch_add(word, 1);
    hki_futex_wake(word, count);
}

void *hki_zeroed_lines(size_t bytes)
{
    bytes = (bytes + HKI_CACHE_LINE - 1) / HKI_CACHE_LINE * HKI_CACHE_LINE;
    void *memory = aligned_alloc(HKI_CACHE_LINE, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

int64_t hki_thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void hki_sleep_ns(int64_t ns)
{
    const struct timespec nap = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    syscall(SYS_nanosleep, &nap, NULL);
}

bool hki_lock_try(hki_lock *lock)
{
    uint32_t expected = 0;
    return atomic_compare_exchange_strong_explicit(&lock->state, &expected, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

void hki_lock_acquire_slow(hki_lock *lock)
{
    /* The holder is done within a microsecond unless it lost its core: spin somewhat longer, then sleep. Looks ever less
     * often, since each look takes the line from a holder that, as likely as not, is going to acquire the lock again. */
    for (int pauses = 1; pauses <= 64; pauses *= 2) {
        uint32_t expected = 0;
        for (int i = 0; i < pauses; i++)
            hki_relax();
        if (atomic_load_explicit(&lock->state, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_weak_explicit(&lock->state, &expected, 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return;
    }
    while (atomic_exchange_explicit(&lock->state, 2, memory_order_acquire) != 0)
        hki_futex_wait(&lock->state, 2, -1);
}
