/* The ring that tasks of CPU devices wait in to be run by the scoreboard or registered. */
#include "engine/sched/ring.h"

#include "base/integer.h"
#include "engine/sched/scoreboard.h"
#include "engine/sched/tracing.h"

hki_ring *hki_ring_create(hki_runtime *runtime)
{
    hki_ring *self = hki_zeroed_lines(sizeof *self);
    if (self)
        self->runtime = runtime;
    return self;
}

bool hki_ring_put_locked(hki_ring *ring, hki_task *task)
{
    uint64_t put = atomic_load_explicit(&ring->put, memory_order_relaxed);
    if (put - ring->seen_taken == HKI_RING_TASKS) {
        ring->seen_taken = atomic_load_explicit(&ring->taken, memory_order_acquire);
        if (put - ring->seen_taken == HKI_RING_TASKS)
            return false;
    }
    hki_backlog_add(&ring->put_ns, hki_task_backlog_ns(task));
    ring->entries[put % HKI_RING_TASKS] = task;
    hki_prefetch_write(&ring->entries[(put + 16) % HKI_RING_TASKS]);
    atomic_store(&ring->put, put + 1);
    return true;
}

int64_t hki_ring_backlog_ns(hki_ring *ring)
{
    return atomic_load_explicit(&ring->put_ns, memory_order_relaxed) -
           atomic_load_explicit(&ring->taken_ns, memory_order_relaxed);
}

bool hki_ring_is_for(hki_ring *ring, hki_queue *queue)
{
    hki_runtime *runtime = ring->runtime;
    if (hki_ring_is_empty(ring))
        return false;
    if (runtime->scheduler->home_count == 1 || atomic_load(&runtime->ended))
        return true;
    /* Asked again and again, it would take the lines that say so from the threads that issue and finish calls. */
    const uint64_t now = hki_ticks();
    if (now - atomic_load_explicit(&queue->unfinished_ticks, memory_order_relaxed) <
        HKI_LONG_TASK_TICKS)
        return true;
    const bool is_for = hki_has_unfinished(queue);
    if (is_for)
        atomic_store_explicit(&queue->unfinished_ticks, now, memory_order_relaxed);
    return is_for;
}

/* ---- taking -------------------------------------------------------------------------------------------------------- */

/* A thread that takes tasks off the ring, and what has come of it. */
typedef struct taker {
    const hki_queue *queue; /* NULL: it has the issue lock, and registers all */
    hki_executor *executor; /* NULL: it runs nothing by the scoreboard */
    int64_t most_ns;
    hki_task *claimed; /* is ready */
    hki_task *first_ready,
        **ready_end; /* for queues, in the order of calls, linked through queue_next */
} taker;

static void push_ready(const taker *self)
{
    for (hki_task *task = self->first_ready, *next; task; task = next) {
        next = task->queue_next;
        hki_queue_push(task);
    }
}

/* False: it stays in the ring for now. */
static bool register_task(taker *self, hki_task *task)
{
    const hki_registration registration = hki_task_register(task);
    if (registration == HKI_NOT_REGISTERED)
        return false;
    if (registration != HKI_REGISTERED_READY)
        return true;
    hki_tracing_ready(task);
    if (hki_task_home(task) == self->queue) {
        self->claimed = task;
    } else {
        task->queue_next = NULL;
        *self->ready_end = task;
        self->ready_end = &task->queue_next;
    }
    return true;
}

/* Whether the task at this position is taken off; then it may be gone. */
static bool take_one(taker *self, hki_task *task, uint64_t position)
{
    hki_executor *executor = self->executor;
    if (hki_task_home(task) == self->queue && hki_task_piece_ns(task) > self->most_ns)
        return false;
    /* A thread that helps leaves these to workers: once one has gates, all that follow from it need some, too. */
    if (!executor && self->queue && hki_task_is_short(task) && !atomic_load(&task->runtime->ended))
        return false;
    switch (executor ? hki_scoreboard_try(executor, task, position) : HKI_SCORED_NOT) {
    case HKI_SCORED_STALLED:
        return false;
    case HKI_SCORED_RUN:
        executor->instants++;
        return true;
    case HKI_SCORED_TAKEN:
        return true;
    case HKI_SCORED_NOT:
        break;
    }
    return !(executor && (executor->batch_count || executor->only_short)) &&
           register_task(self, task);
}

static bool has_enough(const taker *self)
{
    return (self->executor && self->executor->batch_count && hki_batch_is_full(self->executor)) ||
           self->claimed;
}

static int take_locked(hki_ring *ring, taker *self)
{
    enum { FETCH_AHEAD = 8 };
    const uint64_t put = atomic_load_explicit(&ring->put, memory_order_acquire);
    const uint64_t first = atomic_load_explicit(&ring->taken, memory_order_relaxed);
    const uint64_t end = self->queue && put - first > HKI_TAKEN ? first + HKI_TAKEN : put;
    uint64_t next = first, fetched = first;
    int64_t taken_ns = 0;
    while (next != end && !has_enough(self)) {
        for (; fetched != put && fetched - next <= FETCH_AHEAD; fetched++)
            hki_task_prefetch(ring->entries[fetched % HKI_RING_TASKS]);
        hki_task *task = ring->entries[next % HKI_RING_TASKS];
        const int64_t ns = hki_task_backlog_ns(task);
        if (!take_one(self, task, next + 1))
            break;
        next++;
        taken_ns += ns;
    }
    if (next != first) {
        hki_backlog_add(&ring->taken_ns, taken_ns);
        atomic_store(&ring->taken, next);
    }
    return (int)(next - first);
}

static int take(hki_ring *ring, taker *self)
{
    self->ready_end = &self->first_ready;
    hki_lock_acquire(&ring->lock);
    const int count = take_locked(ring, self);
    hki_lock_release(&ring->lock);
    push_ready(self);
    return count;
}

int hki_ring_take(hki_ring *ring, hki_queue *queue, hki_executor *executor, int64_t most_ns,
                  hki_claim *claim)
{
    taker self = {.queue = queue, .executor = executor, .most_ns = most_ns};
    const int count = take(ring, &self);
    claim->task = self.claimed;
    return count;
}

void hki_ring_drain_locked(hki_ring *ring)
{
    /* What cannot be registered for want of memory, or because of short tasks without gates, can be when others have
     * finished. */
    for (unsigned times = 0;; hki_relax_or_yield(&times)) {
        taker self = {0};
        take(ring, &self);
        if (hki_ring_is_empty(ring))
            return;
    }
}
