#include "engine/policy/throttle.h"

/* ---- the run-ahead window -------------------------------------------------------------------------------------------- */

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

static uint64_t known_unfinished(hki_runtime *runtime)
{
    return atomic_load_explicit(&runtime->issued_tasks, memory_order_relaxed) -
           atomic_load_explicit(&runtime->throttle->known_finished, memory_order_relaxed);
}

static uint64_t unfinished(hki_runtime *runtime)
{
    atomic_store_explicit(&runtime->throttle->known_finished, hki_finished_tasks(runtime),
                          memory_order_relaxed);
    return known_unfinished(runtime);
}

bool hki_throttle_is_full(hki_runtime *runtime, uint64_t output_bytes, hki_room *room)
{
    const hki_throttle *self = runtime->throttle;
    const int64_t held = atomic_load_explicit(&runtime->held_bytes, memory_order_relaxed);
    const bool too_many_bytes = held > 0 && (uint64_t)held + output_bytes > self->run_ahead_bytes;
    const uint64_t enough = too_many_bytes ? 1 : self->run_ahead_calls;
    const uint64_t half = self->run_ahead_bytes / 2;
    /* Half empty: a thread that had to wait goes on only then, or every call behind a full window would be a sleep. */
    *room = (hki_room){runtime, self->run_ahead_calls / 2,
                       output_bytes < half ? (int64_t)(half - output_bytes) : 0};
    /* The counters of the threads that finish tasks are read only when the last known sum does not do. */
    return known_unfinished(runtime) >= enough && unfinished(runtime) >= enough;
}

uint64_t hki_throttle_left(const void *wanted)
{
    const hki_room *room = wanted;
    hki_runtime *runtime = room->runtime;
    const uint64_t count = unfinished(runtime);
    const bool has_room =
        count <= room->calls &&
        atomic_load_explicit(&runtime->held_bytes, memory_order_relaxed) <= room->held;
    return has_room || !hki_runtime_alive(runtime) ? 0 : count;
}

/* ---- the soft bound -------------------------------------------------------------------------------------------------- */

/* Unfinished calls whose slots and gates the caches hold, and with which no worker runs out of them. */
static uint64_t least_soft(const hki_runtime *runtime)
{
    const uint64_t batches = 2 * HKI_BATCH_TASKS * (uint64_t)runtime->scheduler->core_count;
    return batches > HKI_SOFT_TASKS ? batches : HKI_SOFT_TASKS;
}

void hki_throttle_set_soft(hki_runtime *runtime, uint64_t calls)
{
    hki_throttle *self = runtime->throttle;
    const uint64_t most = self->run_ahead_calls, least = least_soft(runtime);
    if (runtime->accelerated) /* its tasks are ahead anyway */
        calls = most;
    else if (calls < least)
        calls = least;
    atomic_store_explicit(&self->soft_calls, calls < most ? calls : most, memory_order_relaxed);
}

bool hki_throttle_is_far(hki_runtime *runtime, hki_room *room, hki_lease_use *use)
{
    const hki_throttle *self = runtime->throttle;
    const uint64_t soft = atomic_load_explicit(&self->soft_calls, memory_order_relaxed);
    if (soft == self->run_ahead_calls || known_unfinished(runtime) < soft)
        return false;
    const uint64_t least = least_soft(runtime), ahead = unfinished(runtime);
    const int64_t recent_ns = atomic_load_explicit(&runtime->recent_ns, memory_order_relaxed);
    const int64_t ns = ahead < least ? 0 : recent_ns / HKI_RECENT_TASKS;
    const int cores = runtime->scheduler->core_count;
    if (ns <= 0 || ns > HKI_SHORT_NS || ns > HKI_SOFT_NS * cores) {
        hki_throttle_set_soft(runtime, ahead < least ? least : ahead + least);
        return false;
    }
    const bool is_parallel =
        runtime->ring &&
        atomic_load_explicit(&runtime->ring->distance, memory_order_relaxed) > (uint64_t)cores;
    *use = ns > (is_parallel ? HKI_INSTANT_NS : HKI_ALONE_NS) ? HKI_LEASE_WORK : HKI_LEASE_SPARE;
    /* So little that the thread usually need not sleep until then: workers would run out of tasks meanwhile. */
    *room = (hki_room){runtime, least / 4 * 3, INT64_MAX};
    atomic_fetch_add_explicit(&runtime->throttle->worker_waits, 1, memory_order_relaxed);
    return true;
}
