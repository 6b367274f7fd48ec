#include "engine/sched/lease.h"

#include "engine/sched/ring.h"
#include "engine/sched/scoreboard.h"
#include "engine/sched/tracing.h"

#include <sched.h>

static hki_lease *lease_of(const hki_runtime *runtime)
{
    return &runtime->scheduler->lease;
}

/* Else nothing is short. */
static bool is_possible(const hki_runtime *runtime)
{
    return runtime->ring && runtime->scheduler->home_count == 1 &&
           runtime->scheduler->core_count > 1 && !hki_tracing(runtime);
}

/* ---- the thread that issues ------------------------------------------------------------------------------------------ */

/* The worker that shares its processor with this thread had better be the one that rests, but has to get it to see that. */
static void begin(hki_lease *lease)
{
    const uint64_t now = hki_ticks();
    const bool was_on = atomic_load_explicit(&lease->until, memory_order_relaxed) > now;
    atomic_store_explicit(&lease->processor, sched_getcpu(), memory_order_relaxed);
    if (!was_on)
        atomic_store_explicit(&lease->since, now, memory_order_relaxed);
    atomic_store(&lease->until, now + HKI_LEASE_TICKS);
    if (atomic_load(&lease->state) == HKI_LEASE_NONE)
        sched_yield();
}

/* False: what comes next is for workers, or waits for what others do not finish in time. */
static bool work(hki_executor *executor, bool (*is_enough)(const void *), const void *what)
{
    hki_runtime *runtime = executor->queue->runtime;
    hki_claim none; /* it takes nothing that has gates */
    bool goes_on = true, has_begun = false, enough;
    while (!(enough = is_enough(what)) && goes_on) {
        const int count = hki_ring_take(runtime->ring, executor->queue, executor, INT64_MAX, &none);
        if (executor->batch_count)
            hki_batch_run(executor);
        else
            goes_on = count > 0;
        /* Only a thread that has found something to do sends a worker to rest. */
        if (count > 0 && !has_begun)
            begin(lease_of(runtime));
        has_begun = has_begun || count > 0;
    }
    return enough;
}

static bool work_as_worker(hki_runtime *runtime, bool (*is_enough)(const void *), const void *what)
{
    hki_lease *lease = lease_of(runtime);
    bool taken = false;
    if (!atomic_compare_exchange_strong(&lease->taken, &taken, true))
        return false;
    const int slot = runtime->scheduler->core_count; /* beyond those of workers */
    hki_executor executor = {.queue = runtime->queues[0],
                             .finished_tasks = hki_finished_by(runtime->scheduler, slot),
                             .slot = slot,
                             .only_short = true};
    const bool enough = work(&executor, is_enough, what);
    hki_slot_give_back(&executor.returns);
    atomic_store(&lease->taken, false);
    hki_progress(runtime);
    return enough;
}

bool hki_lease_before_wait(hki_runtime *runtime, hki_lease_use use, bool (*is_enough)(const void *),
                           const void *what)
{
    hki_lease *lease = lease_of(runtime);
    const bool is_usable = use != HKI_LEASE_LEAVE && is_possible(runtime) && !hki_in_task();
    if (is_usable && use == HKI_LEASE_WORK && hki_floats_are_usual()) {
        const uint32_t floats = hki_floats_enter();
        const bool enough = work_as_worker(runtime, is_enough, what);
        hki_floats_leave(floats);
        if (enough)
            return true;
    }
    if (is_usable && use == HKI_LEASE_SPARE)
        begin(lease);
    else if ((use == HKI_LEASE_LEAVE || !hki_ring_is_empty(runtime->ring)) &&
             !atomic_load_explicit(&lease->taken, memory_order_relaxed)) /* by another thread */
        hki_lease_recall(runtime);
    return false;
}

bool hki_lease_is_on(const hki_runtime *runtime)
{
    return atomic_load_explicit(&lease_of(runtime)->until, memory_order_relaxed) != 0;
}

void hki_lease_recall(hki_runtime *runtime)
{
    hki_lease *lease = lease_of(runtime);
    uint32_t state = HKI_LEASE_RESTING;
    if (!hki_lease_is_on(runtime))
        return;
    atomic_store(&lease->until, 0);
    if (atomic_compare_exchange_strong(&lease->state, &state, HKI_LEASE_RECALLED))
        hki_futex_wake(&lease->state, 1);
}

bool hki_lease_rests(const hki_runtime *runtime)
{
    return atomic_load(&lease_of(runtime)->state) != HKI_LEASE_NONE;
}

/* ---- the worker that rests ------------------------------------------------------------------------------------------- */

bool hki_lease_is_due(hki_queue *queue)
{
    hki_runtime *runtime = queue->runtime;
    hki_lease *lease = lease_of(runtime);
    if (!hki_lease_is_on(runtime))
        return false;
    const uint64_t now = hki_ticks();
    if (now >= atomic_load_explicit(&lease->until, memory_order_relaxed)) {
        hki_lease_recall(runtime);
        return false;
    }
    return atomic_load_explicit(&lease->state, memory_order_relaxed) == HKI_LEASE_NONE &&
           atomic_load_explicit(&queue->park.attentive, memory_order_relaxed) > 1 &&
           !hki_queue_is_ready(queue) &&
           (sched_getcpu() == atomic_load_explicit(&lease->processor, memory_order_relaxed) ||
            now - atomic_load_explicit(&lease->since, memory_order_relaxed) >
                HKI_LEASE_CHOICE_TICKS);
}

/* The one that is awake may be at something that takes longer than expected. */
static bool still_rests(hki_queue *queue)
{
    hki_lease *lease = lease_of(queue->runtime);
    return atomic_load(&lease->state) == HKI_LEASE_RESTING &&
           !atomic_load(&queue->runtime->ended) && !hki_queue_is_ready(queue) &&
           hki_ticks() < atomic_load(&lease->until);
}

bool hki_lease_rest(hki_queue *queue)
{
    hki_lease *lease = lease_of(queue->runtime);
    uint32_t state = HKI_LEASE_NONE;
    if (!atomic_compare_exchange_strong(&lease->state, &state, HKI_LEASE_RESTING))
        return false;
    /* A thread that has put something into the ring may have relied on this one alone. */
    if (!hki_park_leave(&queue->park))
        while (still_rests(queue))
            hki_futex_wait(&lease->state, HKI_LEASE_RESTING, HKI_LOOK_AGAIN_NS);
    hki_park_attend(&queue->park);
    atomic_store(&lease->state, HKI_LEASE_NONE);
    return true;
}
