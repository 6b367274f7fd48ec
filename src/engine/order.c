/* The ring that tasks of CPU devices wait in to be run in their turn or registered. */
#include "engine/engine_internal.h"

/* Only one thread at a time changes it. */
static void add_ns(_Atomic(int64_t) *sum, int64_t ns)
{
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + ns,
                          memory_order_relaxed);
}

static hki_task *task_in_ring(const hki_ring *ring, uint64_t position)
{
    return (hki_task *)(ring->entries[position % HKI_RING_TASKS] & ~(uintptr_t)HKI_SHAPE_BITS);
}

static void prefetch_in_ring(const hki_ring *ring, uint64_t position)
{
    hki_task_prefetch(task_in_ring(ring, position),
                      (unsigned)(ring->entries[position % HKI_RING_TASKS] & HKI_SHAPE_BITS));
}

bool hki_order_put_locked(hki_order *order, hki_task *task)
{
    hki_ring *ring = &order->ring;
    uint64_t put = atomic_load_explicit(&ring->put, memory_order_relaxed);
    if (put - ring->seen_taken == HKI_RING_TASKS) {
        ring->seen_taken = atomic_load_explicit(&ring->taken, memory_order_acquire);
        if (put - ring->seen_taken == HKI_RING_TASKS)
            return false;
    }
    add_ns(&ring->put_ns, hki_task_backlog_ns(task));
    const unsigned shape = hki_task_shape(task);
    task->runtime->shape = shape;
    ring->entries[put % HKI_RING_TASKS] = (uintptr_t)task | shape;
    hki_prefetch_write(&ring->entries[(put + 16) % HKI_RING_TASKS]);
    atomic_store(&ring->put, put + 1);
    return true;
}

void hki_order_notify(hki_order *order, hki_queue *queue)
{
    hki_queue *park = queue->park;
    if (atomic_load(&park->attentive) == 0 &&
        !(atomic_load(&park->watched) && atomic_load(&order->attentive) > 0))
        hki_queue_wake(queue);
}

void hki_order_share(hki_order *order, hki_queue *queue)
{
    const int64_t backlog_ns = atomic_load_explicit(&order->ring.put_ns, memory_order_relaxed) -
                               atomic_load_explicit(&order->ring.taken_ns, memory_order_relaxed);
    if (backlog_ns < HKI_LONG_TASK_NS || atomic_load(&queue->park->spinners) > 0)
        return;
    if (!queue->budget->shared && atomic_load(&queue->park->sleepers) > 0)
        hki_queue_wake(queue);
    else
        hki_lending_wake(queue);
}

/* ---- taking -------------------------------------------------------------------------------------------------------- */

/* A task that is so short that it would run in its turn, but for another that some worker has just taken, had better wait
 * for that one: once one is registered, all that follow from it are, and two workers with all of them need longer than
 * one that runs them in turn. For a moment only: what is in the way may be long. */
static bool is_held_locked(hki_order *order, const hki_task *task)
{
    const uint64_t now = hki_ticks();
    if (!task->spec.class->leaf || task->spec.expected_ns > HKI_HELD_NS)
        return false;
    if (!order->held_ticks)
        order->held_ticks = now;
    if (now - order->held_ticks < HKI_HOLD_TICKS)
        return true;
    order->held_ticks = 0; /* once some have been registered, the next one may wait again */
    return false;
}

/* Tasks that got ready, in the order of calls, linked through queue_next. */
typedef struct ready_list {
    hki_task *first, **end;
} ready_list;

static void push_ready(const ready_list *ready)
{
    for (hki_task *task = ready->first, *next; task; task = next) {
        next = task->queue_next;
        hki_queue_push(hki_task_queue(task), task);
    }
}

/* See hki_order_take. taken: NULL for who has the issue lock and registers all. */
static int take_locked(hki_order *order, const hki_queue *queue, hki_executor *executor,
                       hki_task_batch *taken, ready_list *ready)
{
    enum { FETCH_AHEAD = 8 };
    hki_ring *ring = &order->ring;
    const uint64_t put = atomic_load_explicit(&ring->put, memory_order_acquire);
    const uint64_t first = atomic_load_explicit(&ring->taken, memory_order_relaxed);
    const uint64_t end = taken && put - first > HKI_TURNS ? first + HKI_TURNS : put;
    uint64_t next = first, fetched = first;
    int64_t turns_ns = 0, taken_ns = 0;
    int registered = 0;
    bool enough = false;
    for (; next != end && !enough && turns_ns < HKI_TURNS_NS &&
           (!taken || registered < HKI_REGISTRATIONS);
         next++) {
        for (; fetched != put && fetched - next <= FETCH_AHEAD; fetched++)
            prefetch_in_ring(ring, fetched);
        hki_task *task = task_in_ring(ring, next);
        const int64_t ns = hki_task_backlog_ns(task);
        const bool own = taken && hki_task_queue(task) == queue;
        if (own && !hki_task_batch_has_room(taken, task))
            break;
        /* Who helps leaves these to workers: once one is registered, all that follow from it are. */
        if (!executor && taken && hki_task_takes_turns(task) && !atomic_load(&task->runtime->ended))
            break;
        const hki_turn turn = executor ? hki_turn_try(executor, task, next + 1) : HKI_TURN_NEVER;
        if (turn == HKI_TURN_STALLED ||
            (turn == HKI_TURN_NEVER && executor && (executor->batch_count || executor->only_turns)))
            break;
        if (turn == HKI_TURN_RUN) {
            turns_ns += ns;
            executor->turns++;
            order->held_ticks = 0;
        } else if (turn == HKI_TURN_TAKEN) {
            enough = hki_turns_are_enough(executor);
            order->held_ticks = 0;
        } else if (executor && registered == 0 && is_held_locked(order, task)) {
            break;
        } else {
            hki_registration registration = hki_task_register(task);
            if (registration == HKI_NOT_REGISTERED)
                break;
            registered++;
            if (registration == HKI_REGISTERED_READY) {
                hki_tracing_ready(task);
                atomic_store_explicit(&task->state, HKI_TASK_READY, memory_order_relaxed);
                if (own) {
                    hki_task_batch_add(taken, (hki_claim){task, -1});
                } else {
                    task->queue_next = NULL;
                    *ready->end = task;
                    ready->end = &task->queue_next;
                }
            }
        }
        taken_ns += ns;
    }
    if (next != first) {
        add_ns(&ring->taken_ns, taken_ns);
        atomic_store(&ring->taken, next);
    }
    return (int)(next - first);
}

bool hki_order_concerns(hki_order *order, hki_queue *queue)
{
    if (hki_order_is_empty(order))
        return false;
    if (order->runtime->budget_count == 1 || atomic_load(&order->runtime->ended))
        return true;
    /* Asked again and again, it would take the lines that say so from those who issue and finish calls. */
    const uint64_t now = hki_ticks();
    if (now - atomic_load_explicit(&queue->concerned_ticks, memory_order_relaxed) <
        HKI_LONG_TASK_TICKS)
        return true;
    const bool concerns = hki_has_unfinished(order->runtime, queue->budget);
    if (concerns)
        atomic_store_explicit(&queue->concerned_ticks, now, memory_order_relaxed);
    return concerns;
}

bool hki_order_is_near(hki_order *order)
{
    hki_runtime *runtime = order->runtime;
    const hki_ring *ring = &order->ring;
    const uint64_t waiting = atomic_load_explicit(&ring->put, memory_order_relaxed) -
                             atomic_load_explicit(&ring->taken, memory_order_relaxed);
    return atomic_load_explicit(&runtime->issued_tasks, memory_order_relaxed) - waiting -
               hki_finished_tasks(runtime) <
           HKI_LOOKAHEAD;
}

int hki_order_take(hki_order *order, hki_queue *queue, hki_executor *executor,
                   hki_task_batch *taken)
{
    ready_list ready = {.end = &ready.first};
    hki_lock_acquire(&order->lock);
    const int count = take_locked(order, queue, executor, taken, &ready);
    hki_lock_release(&order->lock);
    push_ready(&ready);
    return count;
}

bool hki_order_all_locked(hki_order *order)
{
    ready_list ready = {.end = &ready.first};
    hki_lock_acquire(&order->lock);
    take_locked(order, NULL, NULL, NULL, &ready);
    hki_lock_release(&order->lock);
    push_ready(&ready);
    return hki_order_is_empty(order);
}

void hki_order_wait_locked(hki_runtime *runtime)
{
    /* What cannot be registered for want of memory, or because of tasks that run in their turn, can be when others have
     * finished. */
    for (unsigned times = 0; !hki_order_all_locked(runtime->ordering);)
        hki_relax_or_yield(&times);
}
