/* The bytes that only unfinished tasks hold: what the run-ahead window bounds. */
#include "engine/core/runtime.h"

void hki_window_add(hki_runtime *runtime, uint64_t bytes)
{
    int64_t now = (int64_t)bytes + atomic_fetch_add_explicit(&runtime->held_bytes, (int64_t)bytes,
                                                             memory_order_relaxed);
    int64_t peak = atomic_load_explicit(&runtime->peak_held_bytes, memory_order_relaxed);
    while (now > peak &&
           !atomic_compare_exchange_weak_explicit(&runtime->peak_held_bytes, &peak, now,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

void hki_window_remove(hki_runtime *runtime, uint64_t bytes)
{
    atomic_fetch_sub(&runtime->held_bytes, (int64_t)bytes);
}
