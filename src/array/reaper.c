#include "array/reaper.h"

#include "base/sync.h"

#include <pthread.h>
#include <signal.h>

static _Atomic(hki_storage *) newest;
static _Atomic(uint32_t) wake_word;
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(bool) is_started;

/* In the order in which they came. */
static hki_storage *reversed(hki_storage *list)
{
    hki_storage *oldest = NULL;
    while (list) {
        hki_storage *next = list->foreign.next;
        list->foreign.next = oldest;
        oldest = list;
        list = next;
    }
    return oldest;
}

static void *reap(void *argument)
{
    (void)argument;
    for (;;) {
        const uint32_t seen = atomic_load(&wake_word);
        hki_storage *storage = reversed(atomic_exchange(&newest, NULL));
        if (!storage)
            hki_futex_wait(&wake_word, seen, -1);
        while (storage) {
            hki_storage *next = storage->foreign.next;
            storage->foreign.free(storage->foreign.context);
            hki_storage_release_name(storage);
            storage = next;
        }
    }
    return NULL;
}

/* The child has neither the thread nor a say about the parent's memory. */
static void child_forget(void)
{
    atomic_store(&newest, NULL);
    atomic_store(&is_started, false);
    start_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static bool start_locked(void)
{
    static bool watches_forks;
    pthread_t thread;
    sigset_t all, before;
    if (!watches_forks)
        watches_forks = !pthread_atfork(NULL, NULL, child_forget);
    sigfillset(&all); /* signals go to the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool is_there = watches_forks && !pthread_create(&thread, NULL, reap, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_there)
        pthread_detach(thread);
    return is_there;
}

bool hki_reaper_start(void)
{
    if (atomic_load_explicit(&is_started, memory_order_acquire))
        return true;
    pthread_mutex_lock(&start_lock);
    if (!atomic_load(&is_started) && start_locked())
        atomic_store_explicit(&is_started, true, memory_order_release);
    pthread_mutex_unlock(&start_lock);
    return atomic_load(&is_started);
}

void hki_reaper_take(hki_storage *storage)
{
    hki_storage *head = atomic_load_explicit(&newest, memory_order_relaxed);
    do
        storage->foreign.next = head;
    while (!atomic_compare_exchange_weak(&newest, &head, storage));
    atomic_fetch_add(&wake_word, 1);
    hki_futex_wake(&wake_word, 1);
}
