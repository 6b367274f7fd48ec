/* What it costs to hand a task to a worker: a task that takes less had better run in the caller. With a worker that is
 * looking for work, that is the way there and back. Where all sleep, it is what the caller spends on waking one. Both
 * are measured when a call comes for which it matters, since they differ by machine tenfold. Where no worker answers,
 * because all are at something long or have lost their cores, nothing has been learnt: then it is tried again. */
#include "engine/engine_internal.h"

#include <stdlib.h>

enum {
    PROBES = 15,
    PROBES_NEEDED = 5,
    TRIES = 20, /* then it cannot be measured here: there may be one core for all */
    WAKING_PROBES = 3,
    PROBING_NS = 300000, /* each kind of probe, in all, at most */
    FALLING_ASLEEP_NS = 2 * HKI_SPIN_NS,
    LEAST_NS = HKI_DIRECT_NS,
    MOST_NS = HKI_LONG_TASK_NS,
    UNMEASURED_NS = 4000,                   /* while, or where, it cannot be measured */
    PAUSE_TICKS = 500 * HKI_LONG_TASK_TICKS /* before it is tried again: some 10 ms */
};

static void probe_finish(hki_task *task, void *payload)
{
    (void)payload;
    atomic_fetch_add_explicit(&task->runtime->probes_finished, 1, memory_order_release);
}

/* A task without a place in the order of calls. False: no memory. */
static bool probe_push(hki_queue *queue)
{
    static const hki_task_class probe_class = {.finish = probe_finish};
    hki_task *task = hki_slot_get(queue->runtime, 0, 0, 0, false);
    if (!task)
        return false;
    task->spec.class = &probe_class;
    task->spec.device = queue->device;
    task->spec.piece_count = 1;
    task->spec.expected_ns = 0;
    task->spec.collective = false;
    task->spec.queue = HKI_QUEUE_COMPUTE;
    queue->runtime->probes_pushed++;
    hki_queue_push(queue, task);
    return true;
}

static int compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* One of several, from the least on: a thread may lose its core at any moment. */
static int64_t pick(int64_t *took_ns, int count, int index, int64_t least_ns)
{
    if (count == 0)
        return UNMEASURED_NS;
    qsort(took_ns, (size_t)count, sizeof *took_ns, compare);
    int64_t ns = took_ns[index];
    return ns < least_ns ? least_ns : ns > MOST_NS ? MOST_NS : ns;
}

/* One that took too long may be in the queue still. */
static bool are_probes_finished(hki_runtime *runtime)
{
    return atomic_load_explicit(&runtime->probes_finished, memory_order_acquire) ==
           runtime->probes_pushed;
}

/* Pushes one probe and waits for it. False: it took too long, and finishes later, unnoticed. */
static bool probe(hki_queue *queue, int64_t until_ns, int64_t *push_ns, int64_t *round_ns)
{
    int64_t begin_ns = hki_clock_ns(), now_ns;
    if (!probe_push(queue))
        return false;
    *push_ns = hki_clock_ns() - begin_ns;
    do
        now_ns = hki_clock_ns();
    while (!are_probes_finished(queue->runtime) && now_ns < until_ns);
    *round_ns = now_ns - begin_ns;
    return now_ns < until_ns;
}

/* How long one takes at most that runs in the caller though it could run beside many others. Below HKI_SHORT_TURN_NS none runs
 * beside another. */
static int64_t turn_ns(int64_t way_ns)
{
    const int64_t ns = way_ns / HKI_TURN_DIVISOR;
    return ns < HKI_SHORT_TURN_NS ? HKI_SHORT_TURN_NS : ns;
}

/* Leaves things as they are where the workers do not answer. */
static void measure(hki_queue *queue)
{
    hki_runtime *runtime = queue->runtime;
    int64_t rounds_ns[PROBES], wakes_ns[WAKING_PROBES], push_ns, round_ns;
    int rounds = 0, wakes = 0;
    int64_t until_ns = hki_clock_ns() + PROBING_NS;
    for (int i = 0; i < PROBES && probe(queue, until_ns, &push_ns, &round_ns); i++)
        if (i > 0) /* the first may have had to wake a worker */
            rounds_ns[rounds++] = round_ns;
    if (rounds < PROBES_NEEDED)
        return;
    until_ns = hki_clock_ns() + PROBING_NS;
    for (int i = 0; i < WAKING_PROBES && hki_clock_ns() < until_ns; i++) {
        struct timespec nap = {0, FALLING_ASLEEP_NS};
        nanosleep(&nap, NULL);
        bool asleep = atomic_load(&queue->park->attentive) == 0;
        if (!probe(queue, until_ns, &push_ns, &round_ns))
            break;
        if (asleep)
            wakes_ns[wakes++] = push_ns;
    }
    const int64_t way_ns = pick(rounds_ns, rounds, rounds / 4, 0);
    const int64_t inline_ns = way_ns < LEAST_NS ? LEAST_NS : way_ns;
    atomic_store_explicit(&runtime->inline_asleep_ns, pick(wakes_ns, wakes, 0, inline_ns),
                          memory_order_relaxed);
    atomic_store_explicit(&runtime->inline_turn_ns, turn_ns(way_ns), memory_order_release);
    atomic_store_explicit(&runtime->inline_ns, inline_ns, memory_order_release);
}

/* While all workers sleep: calls that follow each other closely run here for as long as it takes to wake one, more or
 * less; what comes then is worth one. Threads that meet here may each see the other's burst: no harm. */
static bool is_burst_short(hki_runtime *runtime)
{
    uint64_t now = hki_ticks();
    uint64_t last = atomic_exchange_explicit(&runtime->burst_last, now, memory_order_relaxed);
    if (now - last > HKI_LONG_TASK_TICKS)
        atomic_store_explicit(&runtime->burst_begin, now, memory_order_relaxed);
    return now - atomic_load_explicit(&runtime->burst_begin, memory_order_relaxed) <=
           HKI_LONG_TASK_TICKS;
}

/* One thread at a time measures; not in a task, which may have the only core; not into a recording; not while a probe
 * shows that no worker has come since the last time. */
static void measure_if_due(hki_queue *queue)
{
    hki_runtime *runtime = queue->runtime;
    uint64_t now = hki_ticks();
    bool expected = false;
    if (now < atomic_load_explicit(&runtime->probe_ticks, memory_order_relaxed) || hki_in_task() ||
        hki_tracing(runtime) ||
        !atomic_compare_exchange_strong(&runtime->is_probing, &expected, true))
        return;
    if (are_probes_finished(runtime) &&
        !atomic_load_explicit(&runtime->inline_ns, memory_order_relaxed)) {
        measure(queue);
        if (++runtime->probe_tries == TRIES &&
            !atomic_load_explicit(&runtime->inline_ns, memory_order_relaxed)) {
            atomic_store_explicit(&runtime->inline_asleep_ns, UNMEASURED_NS, memory_order_relaxed);
            atomic_store_explicit(&runtime->inline_turn_ns, UNMEASURED_NS, memory_order_release);
            atomic_store_explicit(&runtime->inline_ns, UNMEASURED_NS, memory_order_release);
        }
    }
    atomic_store_explicit(&runtime->probe_ticks, hki_ticks() + PAUSE_TICKS, memory_order_relaxed);
    atomic_store(&runtime->is_probing, false);
}

bool hki_runs_in_caller_slow(hki_queue *queue, int64_t expected_ns, bool takes_turns)
{
    hki_runtime *runtime = queue->runtime;
    const _Atomic(int64_t) *limit = takes_turns ? &runtime->inline_turn_ns : &runtime->inline_ns;
    int64_t limit_ns = atomic_load_explicit(limit, memory_order_acquire);
    if (!limit_ns) {
        measure_if_due(queue);
        limit_ns = atomic_load_explicit(limit, memory_order_acquire);
        if (!limit_ns)
            return expected_ns <= UNMEASURED_NS;
    }
    if (expected_ns <= limit_ns)
        return true;
    /* What waits in the ring would have to be registered first, and all that follows from it. */
    if (takes_turns && !hki_order_is_empty(runtime->ordering))
        return false;
    return expected_ns <= atomic_load_explicit(&runtime->inline_asleep_ns, memory_order_relaxed) &&
           atomic_load_explicit(&queue->park->attentive, memory_order_relaxed) == 0 &&
           is_burst_short(runtime);
}

/* Waits until what was issued has finished, while tasks finish; half a millisecond at most. What runs in the caller would have
 * to be registered otherwise, and all that follows from it. */
static bool await_quiet(hki_runtime *runtime)
{
    enum { ALL_NS = 10 * HKI_SPIN_NS, PATIENCE_NS = 2 * HKI_SPIN_NS };
    const uint64_t issued = atomic_load_explicit(&runtime->issued_tasks, memory_order_relaxed);
    const int64_t begin_ns = hki_clock_ns();
    int64_t now_ns = begin_ns, latest_ns = begin_ns;
    uint64_t finished = hki_finished_tasks(runtime);
    while (finished < issued && now_ns - begin_ns < ALL_NS && now_ns - latest_ns < PATIENCE_NS) {
        sched_yield(); /* a worker may need the core */
        const uint64_t before = finished;
        finished = hki_finished_tasks(runtime);
        now_ns = hki_clock_ns();
        latest_ns = finished == before ? latest_ns : now_ns;
    }
    return finished >= issued;
}

static uint64_t reach_of(hki_order *order)
{
    return atomic_load_explicit(&order->reach, memory_order_relaxed);
}

/* How long a task may take that runs in the caller, by how far tasks are from what they depend on: a worker more is of no use
 * for a chain, and of little use for a few chains side by side. */
static int64_t turn_limit_ns(hki_runtime *runtime, uint64_t reach)
{
    enum { CHAIN = 2, WIDE = HKI_BATCH_TASKS };
    const int64_t wide_ns = atomic_load_explicit(&runtime->inline_turn_ns, memory_order_relaxed);
    return reach >= WIDE   ? wide_ns
           : reach > CHAIN ? 2 * wide_ns
                           : atomic_load_explicit(&runtime->inline_ns, memory_order_relaxed);
}

/* How far that is is what those are told by that run in their turn on workers (turn.c): so some are handed over now and then,
 * the less often the longer it has not changed. */
hki_where hki_turn_where(hki_thread *self, hki_runtime *runtime, int64_t expected_ns)
{
    enum { LOOK = HKI_TURN_LOOK, LEAST_PERIOD = 16 * LOOK, MOST_PERIOD = 16 * LEAST_PERIOD };
    hki_order *order = runtime->ordering;
    const int64_t most_ns = atomic_load_explicit(&runtime->inline_ns, memory_order_relaxed);
    if (runtime->is_told || most_ns <= 0 || expected_ns > most_ns || hki_in_task())
        return HKI_ANYWHERE;
    const int64_t wide_ns = turn_limit_ns(runtime, HKI_MOST_REACH);
    if (expected_ns <= wide_ns) /* whatever they depend on */
        return HKI_IN_CALLER;
    if (self->turn_number != runtime->number) {
        self->turn_number = runtime->number;
        self->turn_calls = 0;
        self->turn_limit_ns = 0;
    }
    const uint32_t call = self->turn_calls++;
    const bool are_handed_over = self->turn_limit_ns && self->turn_limit_ns < expected_ns;
    if (call == 0 && !are_handed_over)
        atomic_store_explicit(&order->reach, HKI_MOST_REACH, memory_order_relaxed);
    if (call == LOOK) {
        /* While they are handed over, and from what workers see are to be, there is nothing to wait for. */
        int64_t limit_ns = turn_limit_ns(runtime, reach_of(order));
        const bool is_known = (are_handed_over && limit_ns < expected_ns) || await_quiet(runtime);
        limit_ns = is_known ? turn_limit_ns(runtime, reach_of(order)) : wide_ns;
        if (!is_known || limit_ns != self->turn_limit_ns)
            self->turn_period = LEAST_PERIOD;
        else if (self->turn_period < MOST_PERIOD)
            self->turn_period *= 2;
        self->turn_limit_ns = limit_ns;
    }
    if (call < LOOK)
        return HKI_IN_WORKER;
    if (call == self->turn_period)
        self->turn_calls = 0;
    return expected_ns <= self->turn_limit_ns ? HKI_IN_CALLER : HKI_ANYWHERE;
}
