#include "engine/relief.h"

#include "engine/engine_internal.h"

#include <sched.h>

enum {
    RELIEF_TICKS = 15 * HKI_LONG_TASK_TICKS, /* some 300 us from when a thread begins to work so */
    CHOICE_TICKS =
        5 * HKI_LONG_TASK_TICKS, /* for so long a worker of the same processor had better rest */
    REST_NS = 1000000 /* a worker that rests looks after so long whether it still is to */
};

static bool is_possible(hki_runtime *runtime)
{
    return runtime->ordering && runtime->budget_count == 1 && runtime->core_count > 1 &&
           !hki_tracing(runtime); /* else nothing runs in its turn */
}

/* The worker that shares its processor with this thread had better be the one that rests, but has to get it to see that. */
static void begin(hki_relief *relief)
{
    const uint64_t now = hki_ticks();
    const bool was_on = atomic_load_explicit(&relief->until, memory_order_relaxed) > now;
    atomic_store_explicit(&relief->processor, sched_getcpu(), memory_order_relaxed);
    if (!was_on)
        atomic_store_explicit(&relief->since, now, memory_order_relaxed);
    atomic_store(&relief->until, now + RELIEF_TICKS);
    if (atomic_load(&relief->state) == HKI_RELIEF_AWAKE)
        sched_yield();
}

/* False: what comes next is none of its business, or waits for what others do not finish in time. */
static bool work(hki_executor *executor, bool (*is_enough)(const void *), const void *what)
{
    hki_order *order = executor->queue->runtime->ordering;
    hki_claim claim;
    bool goes_on = true, has_begun = false, enough;
    while (!(enough = is_enough(what)) && goes_on) {
        hki_task_batch none = {.claims = &claim, .limit = 1, .most_ns = HKI_LONG_TASK_NS};
        const int count = hki_order_take(order, executor->queue, executor, &none);
        if (executor->batch_count)
            hki_turns_run(executor);
        else
            goes_on = executor->stalled_on ? hki_turns_await(executor) : count > 0;
        /* Only who has found something to do sends a worker to rest. */
        if (count > 0 && !has_begun)
            begin(&order->relief);
        has_begun = has_begun || count > 0;
    }
    return enough;
}

bool hki_relief_work(hki_runtime *runtime, bool (*is_enough)(const void *), const void *what)
{
    if (!is_possible(runtime) || hki_in_task() || !hki_environment_is_default())
        return false;
    hki_relief *relief = &runtime->ordering->relief;
    bool taken = false;
    if (!atomic_compare_exchange_strong(&relief->taken, &taken, true))
        return false;
    hki_executor executor;
    hki_executor_init(&executor, runtime->queues[0], false);
    executor.only_turns = true;
    executor.slot = runtime->core_count; /* behind those of the workers */
    executor.finished_tasks = runtime->counters[executor.slot].by_queue;
    const bool enough = work(&executor, is_enough, what);
    hki_executor_flush(&executor);
    hki_queue_counted(&executor);
    atomic_store(&relief->taken, false);
    hki_progress(runtime);
    return enough;
}

void hki_relief_end_slow(hki_order *order)
{
    uint32_t state = HKI_RELIEF_RESTING;
    atomic_store(&order->relief.until, 0);
    if (atomic_compare_exchange_strong(&order->relief.state, &state, HKI_RELIEF_CALLED))
        hki_futex_wake(&order->relief.state, 1);
}

bool hki_relief_is_due_slow(hki_queue *queue)
{
    hki_order *order = queue->runtime->ordering;
    hki_relief *relief = &order->relief;
    const uint64_t now = hki_ticks();
    if (now >= atomic_load_explicit(&relief->until, memory_order_relaxed)) {
        hki_relief_end_slow(order);
        return false;
    }
    return atomic_load_explicit(&relief->state, memory_order_relaxed) == HKI_RELIEF_AWAKE &&
           atomic_load_explicit(&order->attentive, memory_order_relaxed) > 1 &&
           !hki_queue_is_ready(queue) &&
           (sched_getcpu() == atomic_load_explicit(&relief->processor, memory_order_relaxed) ||
            now - atomic_load_explicit(&relief->since, memory_order_relaxed) > CHOICE_TICKS);
}

/* The one that is awake may be at something that takes longer than expected. */
static bool still_rests(hki_queue *queue)
{
    hki_order *order = queue->runtime->ordering;
    return atomic_load(&order->relief.state) == HKI_RELIEF_RESTING &&
           !atomic_load(&order->runtime->ended) && !hki_queue_is_ready(queue) &&
           hki_ticks() < atomic_load(&order->relief.until);
}

bool hki_relief_rest(hki_queue *queue)
{
    hki_order *order = queue->runtime->ordering;
    uint32_t state = HKI_RELIEF_AWAKE;
    if (!atomic_compare_exchange_strong(&order->relief.state, &state, HKI_RELIEF_RESTING))
        return false;
    atomic_fetch_sub(&queue->park->attentive, 1);
    /* Who has put something into the ring may have relied on this one alone. */
    if (atomic_fetch_sub(&order->attentive, 1) > 1)
        while (still_rests(queue))
            hki_futex_wait(&order->relief.state, HKI_RELIEF_RESTING, REST_NS);
    atomic_fetch_add(&queue->park->attentive, 1);
    atomic_fetch_add(&order->attentive, 1);
    atomic_store(&order->relief.state, HKI_RELIEF_AWAKE);
    return true;
}
