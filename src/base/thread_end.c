#include "base/thread_end.h"

#include <pthread.h>

bool hki_thread_end_watch(hki_thread_end *end)
{
    uint64_t key = atomic_load_explicit(&end->key, memory_order_acquire);
    if (!key) {
        pthread_key_t made;
        if (pthread_key_create(&made, end->function))
            return false;
        if (atomic_compare_exchange_strong(&end->key, &key, (uint64_t)made + 1))
            key = (uint64_t)made + 1;
        else
            pthread_key_delete(made);
    }
    return !pthread_setspecific((pthread_key_t)(key - 1), end);
}
