/* The tasks of one device. An issuing thread puts what is ready at once, or what workers are to register, into a ring;
 * whoever makes a task ready later pushes it to an inbox without a lock. Workers take from both, a batch at a time, under
 * a lock of their own, so that a line of memory is handed between cores once per batch, not once per task. */
#include "engine/engine_internal.h"

/* Only one thread at a time changes it. */
static void add_ns(_Atomic(int64_t) *sum, int64_t ns)
{
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + ns,
                          memory_order_relaxed);
}

static int64_t backlog_of_queue(hki_queue *queue)
{
    return atomic_load_explicit(&queue->backlog_ns, memory_order_relaxed) +
           atomic_load_explicit(&queue->ring.put_ns, memory_order_relaxed) -
           atomic_load_explicit(&queue->ring.taken_ns, memory_order_relaxed);
}

/* Puts the task behind `previous`, which is in the list; NULL: first. */
static void link_behind(hki_queue *queue, hki_task *previous, hki_task *task)
{
    int index = task->spec.collective ? 0 : 1;
    task->queue_previous = previous;
    task->queue_next = previous ? previous->queue_next : queue->lists[index].first;
    if (previous)
        previous->queue_next = task;
    else
        queue->lists[index].first = task;
    if (task->queue_next)
        task->queue_next->queue_previous = task;
    else
        queue->lists[index].last = task;
    add_ns(&queue->backlog_ns, hki_task_backlog_ns(task));
    hki_lending_count(task, 1);
    atomic_store_explicit(&task->queued_in, queue, memory_order_relaxed);
}

/* What was issued first goes first, about. Then no more memory is taken than the program's order needs: what fetches the
 * data of later steps is ready before the rest of this one. And reductions between devices, of which it holds exactly, get
 * ready from the last layer to the first, while a program names its parameters, and so sums their gradients, in the order
 * in which the next step needs them. */
static void link_in_order(hki_queue *queue, hki_task *task)
{
    enum { LOOKS = 64 };
    const int index = task->spec.collective ? 0 : 1;
    const uint64_t sequence = hki_task_sequence(task);
    hki_task *previous = queue->lists[index].last;
    if (previous && hki_task_sequence(previous) > sequence) {
        /* Most come in the order in which they were issued: behind the latest, then. */
        previous = queue->lists[index].latest;
        if (previous && hki_task_sequence(previous) > sequence)
            previous = NULL;
        hki_task *next = previous ? previous->queue_next : queue->lists[index].first;
        for (int i = 0; (index == 0 || i < LOOKS) && hki_task_sequence(next) < sequence; i++) {
            previous = next;
            next = next->queue_next;
        }
    }
    link_behind(queue, previous, task);
    queue->lists[index].latest = task;
}

static void unlink_task(hki_queue *queue, hki_task *task)
{
    int index = task->spec.collective ? 0 : 1;
    if (queue->lists[index].latest == task)
        queue->lists[index].latest = task->queue_previous;
    if (task->queue_previous)
        task->queue_previous->queue_next = task->queue_next;
    else
        queue->lists[index].first = task->queue_next;
    if (task->queue_next)
        task->queue_next->queue_previous = task->queue_previous;
    else
        queue->lists[index].last = task->queue_previous;
    add_ns(&queue->backlog_ns, -hki_task_backlog_ns(task));
    hki_lending_count(task, -1);
    atomic_store_explicit(&task->queued_in, NULL, memory_order_relaxed);
    atomic_fetch_sub_explicit(&queue->listed[index], 1, memory_order_relaxed);
}

bool hki_queue_is_ready(hki_queue *queue)
{
    return atomic_load(&queue->listed[1]) > 0 || atomic_load(&queue->inboxes[1].newest) ||
           atomic_load(&queue->ring.put) != atomic_load(&queue->ring.taken) ||
           hki_queue_is_urgent(queue);
}

bool hki_queue_is_urgent(hki_queue *queue)
{
    return atomic_load(&queue->listed[0]) > 0 || atomic_load(&queue->inboxes[0].newest);
}

bool hki_queue_wants_help(hki_queue *queue)
{
    return hki_queue_is_ready(queue) && atomic_load(&queue->park->attentive) == 0;
}

void hki_queue_wake(hki_queue *queue)
{
    hki_queue *park = queue->park;
    if (atomic_load(&park->sleepers) > 0 &&
        (park->is_accelerator ||
         (!atomic_load(&park->waking) && !atomic_exchange(&park->waking, true)))) {
        atomic_fetch_add(&park->wake_word, 1);
        hki_futex_wake(&park->wake_word, 1);
    }
}

/* Wakes a worker unless one is looking already, or will look again in a moment, being at a short task:
 * waking costs more than that. Whoever finds much to do wakes the next. */
void hki_queue_notify(hki_queue *queue)
{
    if (queue->budget && queue->budget->shared)
        atomic_fetch_or(&queue->budget->ready, (uint64_t)1 << queue->number);
    if (atomic_load(&queue->park->attentive) == 0)
        hki_queue_wake(queue);
}

void hki_queue_push(hki_queue *queue, hki_task *task)
{
    _Atomic(hki_task *) *inbox = &queue->inboxes[task->spec.collective ? 0 : 1].newest;
    hki_task *newest = atomic_load_explicit(inbox, memory_order_relaxed);
    do
        task->queue_next = newest;
    while (!atomic_compare_exchange_weak(inbox, &newest, task));
    hki_queue_notify(queue);
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

bool hki_queue_put_locked(hki_queue *queue, hki_task *task)
{
    hki_ring *ring = &queue->ring;
    uint64_t put = atomic_load_explicit(&ring->put, memory_order_relaxed);
    if (task->spec.collective)
        return false;
    if (put - ring->seen_taken == HKI_RING_TASKS) {
        ring->seen_taken = atomic_load_explicit(&ring->taken, memory_order_acquire);
        if (put - ring->seen_taken == HKI_RING_TASKS)
            return false;
    }
    add_ns(&ring->put_ns, hki_task_backlog_ns(task));
    const unsigned shape = hki_task_shape(task);
    queue->runtime->shape = shape;
    ring->entries[put % HKI_RING_TASKS] = (uintptr_t)task | shape;
    hki_prefetch_write(&ring->entries[(put + 16) % HKI_RING_TASKS]);
    atomic_store(&ring->put, put + 1);
    return true;
}

/* Moves what is in the ring to the lists. */
static void drain_ring_locked(hki_queue *queue)
{
    hki_ring *ring = &queue->ring;
    uint64_t put = atomic_load_explicit(&ring->put, memory_order_acquire);
    uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);
    /* Counted before it is taken out: a worker about to sleep must see one or the other. */
    atomic_fetch_add(&queue->listed[1], (uint32_t)(put - taken));
    for (; taken != put; taken++) {
        hki_task *task = task_in_ring(ring, taken);
        add_ns(&ring->taken_ns, hki_task_backlog_ns(task));
        link_in_order(queue, task);
    }
    atomic_store(&ring->taken, taken);
}

/* Moves what has come in to the lists, in the order in which it came. */
static void drain_locked(hki_queue *queue, int index)
{
    if (!atomic_load_explicit(&queue->inboxes[index].newest, memory_order_relaxed))
        return;
    atomic_fetch_add(&queue->listed[index], 1); /* before it is taken out, as above */
    hki_task *newest = atomic_exchange(&queue->inboxes[index].newest, NULL), *oldest = NULL;
    uint32_t count = 0;
    while (newest) {
        hki_task *before = newest->queue_next;
        newest->queue_next = oldest;
        oldest = newest;
        newest = before;
        count++;
    }
    while (oldest) {
        hki_task *after = oldest->queue_next;
        link_in_order(queue, oldest);
        oldest = after;
    }
    atomic_fetch_add(&queue->listed[index], count - 1);
}

void hki_queue_push_first(hki_queue *queue, hki_task *task)
{
    hki_lock_acquire(&queue->lock);
    link_behind(queue, NULL, task);
    atomic_fetch_add(&queue->listed[task->spec.collective ? 0 : 1], 1);
    hki_lock_release(&queue->lock);
    hki_queue_notify(queue);
}

/* The whole task, or the next piece of one that has started. */
static hki_claim claim_locked(hki_queue *queue, hki_task *task)
{
    int64_t piece = task->next_piece;
    if (piece < 0) {
        unlink_task(queue, task);
    } else {
        task->next_piece++;
        if (task->next_piece == task->spec.piece_count)
            unlink_task(queue, task);
    }
    return (hki_claim){task, piece};
}

/* Short tasks that are taken together. */
typedef struct batch {
    hki_claim *claims;
    int count, limit;
    int64_t ns, most_ns;
} batch;

/* A long one is taken alone. */
static bool has_room(const batch *taken, const hki_task *task)
{
    return taken->count < taken->limit && taken->ns < HKI_BATCH_NS &&
           hki_task_backlog_ns(task) <= (taken->count == 0 ? taken->most_ns : HKI_BATCH_NS);
}

static void take_listed_locked(hki_queue *queue, batch *taken)
{
    for (;;) {
        hki_task *task = queue->lists[0].first ? queue->lists[0].first : queue->lists[1].first;
        if (!task || !has_room(taken, task))
            return;
        taken->ns += hki_task_backlog_ns(task);
        taken->claims[taken->count++] = claim_locked(queue, task);
    }
}

static void take_from_ring_locked(hki_queue *queue, batch *taken)
{
    hki_ring *ring = &queue->ring;
    uint64_t put = atomic_load_explicit(&ring->put, memory_order_acquire);
    uint64_t first = atomic_load_explicit(&ring->taken, memory_order_relaxed), next = first;
    uint64_t most = (uint64_t)(taken->limit - taken->count);
    if (put - first > most)
        put = first + most;
    for (uint64_t i = first; i != put; i++) /* they come from another core: all at once */
        prefetch_in_ring(ring, i);
    for (; next != put; next++) {
        hki_task *task = task_in_ring(ring, next);
        if (!has_room(taken, task))
            break;
        taken->ns += hki_task_backlog_ns(task);
        add_ns(&ring->taken_ns, hki_task_backlog_ns(task));
        taken->claims[taken->count++] = (hki_claim){task, -1};
    }
    if (next != first)
        atomic_store_explicit(&ring->taken, next, memory_order_release);
}

/* A task that is so short that it would run in its turn, but for another that some worker has just taken, had better wait
 * for that one: once one is registered, all that follow from it are, and two workers with all of them need longer than
 * one that runs them in turn. For a moment only: what is in the way may be long. */
static bool is_held_locked(hki_queue *queue, const hki_task *task)
{
    const uint64_t now = hki_ticks();
    if (!task->spec.class->leaf || task->spec.expected_ns > HKI_HELD_NS)
        return false;
    if (!queue->held_ticks)
        queue->held_ticks = now;
    if (now - queue->held_ticks < HKI_HOLD_TICKS)
        return true;
    queue->held_ticks = 0; /* once some have been registered, the next one may wait again */
    return false;
}

/* Takes tasks off the ring. A worker, `executor`, takes those for its batch that run in their turn, or runs them at once;
 * others are registered: what is ready then is taken, or listed where `taken` is NULL. Returns how many it took off. */
static int order_from_ring_locked(hki_queue *queue, hki_executor *executor, batch *taken)
{
    enum { FETCH_AHEAD = 8 };
    hki_ring *ring = &queue->ring;
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
        if (taken && !has_room(taken, task))
            break;
        /* Who helps leaves these to workers: once one is registered, all that follow from it are. */
        if (!executor && taken && hki_task_takes_turns(task) &&
            !atomic_load(&queue->runtime->ended))
            break;
        const hki_turn turn = executor ? hki_turn_try(executor, task, next + 1) : HKI_TURN_NEVER;
        if (turn == HKI_TURN_STALLED ||
            (turn == HKI_TURN_NEVER && executor && executor->batch_count))
            break;
        if (turn == HKI_TURN_RUN) {
            turns_ns += ns;
            executor->turns++;
            queue->held_ticks = 0;
        } else if (turn == HKI_TURN_TAKEN) {
            enough = hki_turns_are_enough(executor);
            queue->held_ticks = 0;
        } else if (executor && registered == 0 && is_held_locked(queue, task)) {
            break;
        } else {
            hki_registration registration = hki_task_register(task);
            if (registration == HKI_NOT_REGISTERED)
                break;
            registered++;
            if (registration == HKI_REGISTERED_READY) {
                hki_tracing_ready(task);
                atomic_store_explicit(&task->state, HKI_TASK_READY, memory_order_relaxed);
                if (taken) {
                    taken->ns += ns;
                    taken->claims[taken->count++] = (hki_claim){task, -1};
                } else {
                    /* Counted before it is taken out: see drain_ring_locked. */
                    atomic_fetch_add(&queue->listed[1], 1);
                    link_in_order(queue, task);
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

bool hki_queue_order_locked(hki_queue *queue)
{
    hki_lock_acquire(&queue->lock);
    order_from_ring_locked(queue, NULL, NULL);
    hki_lock_release(&queue->lock);
    return hki_ring_is_empty(&queue->ring);
}

void hki_order_wait_locked(hki_runtime *runtime)
{
    /* What cannot be registered for want of memory, or because of tasks that run in their turn, can be when others have
     * finished. */
    for (unsigned times = 0; !hki_queue_order_locked(runtime->ordering);)
        hki_relax_or_yield(&times);
}

/* Registered tasks that have not finished. */
static uint64_t registered_ahead(hki_queue *queue)
{
    const hki_ring *ring = &queue->ring;
    uint64_t waiting = atomic_load_explicit(&ring->put, memory_order_relaxed) -
                       atomic_load_explicit(&ring->taken, memory_order_relaxed);
    return atomic_load_explicit(&queue->runtime->issued_tasks, memory_order_relaxed) - waiting -
           hki_queue_finished(queue, 0) - hki_queue_finished(queue, 1);
}

int hki_queue_pop(hki_queue *queue, hki_executor *executor, int64_t most_ns, hki_claim *claims,
                  int count)
{
    const bool orders = queue == queue->runtime->ordering;
    batch taken = {.claims = claims, .limit = count, .most_ns = most_ns};
    int ordered = 0;
    bool again = false; /* something has changed that was in the way */
    do {
        if (executor && atomic_load_explicit(&queue->runtime->window_wanted, memory_order_relaxed))
            hki_window_make_room(queue->runtime);
        hki_lock_acquire(&queue->lock);
        drain_locked(queue, 0);
        drain_locked(queue, 1);
        take_listed_locked(queue, &taken);
        if (!orders)
            take_from_ring_locked(queue, &taken);
        else if (taken.count == 0 || registered_ahead(queue) < HKI_LOOKAHEAD)
            ordered = order_from_ring_locked(queue, executor, &taken);
        hki_lock_release(&queue->lock);
        again = ordered > 0;
        if (backlog_of_queue(queue) >= HKI_LONG_TASK_NS &&
            !(queue->budget && queue->budget->shared) && atomic_load(&queue->park->spinners) == 0)
            hki_queue_wake(queue);
        if (executor && executor->batch_count)
            hki_turns_run(executor);
        else if (executor && executor->stalled_on)
            again = hki_turns_await(executor);
        else if (executor && executor->turns > 0 && taken.count == 0)
            hki_turns_gather(ordered);
    } while (taken.count == 0 && again && !hki_ring_is_empty(&queue->ring));
    return taken.count;
}

hki_claim hki_queue_take(hki_queue *queue, hki_task *task, uint64_t sequence)
{
    hki_claim claim = {NULL, -1};
    hki_lock_acquire(&queue->lock);
    drain_locked(queue, 0);
    drain_locked(queue, 1);
    if (queue != queue->runtime->ordering)
        drain_ring_locked(queue);
    /* Being in this queue while its lock is held keeps the slot from being anything else. */
    if (atomic_load_explicit(&task->queued_in, memory_order_relaxed) == queue &&
        atomic_load_explicit(&task->sequence, memory_order_relaxed) == sequence)
        claim = claim_locked(queue, task);
    bool more = queue->lists[0].first || queue->lists[1].first;
    hki_lock_release(&queue->lock);
    if (more)
        hki_queue_notify(queue);
    return claim;
}

hki_claim hki_queue_take_piece(hki_queue *queue)
{
    enum { LOOKS = 2 * HKI_BATCH_TASKS }; /* put first: but a worker may give others back */
    hki_claim claim = {NULL, -1};
    hki_lock_acquire(&queue->lock);
    for (int i = 0; i < 2; i++) {
        hki_task *task = queue->lists[i].first;
        for (int j = 0; task && !claim.task && j < LOOKS; j++, task = task->queue_next)
            if (task->next_piece > 0 && hki_is_lendable(task))
                claim = claim_locked(queue, task);
    }
    hki_lock_release(&queue->lock);
    return claim;
}

void hki_queue_cancel(hki_queue *queue)
{
    hki_claim claim;
    do
        while (hki_queue_pop(queue, NULL, HKI_LONG_TASK_NS, &claim, 1))
            hki_execute_foreign(queue, &claim, 1);
    while (!hki_ring_is_empty(&queue->ring));
}

bool hki_budget_try_acquire(hki_budget *budget)
{
    int32_t cores = atomic_load(&budget->free_cores);
    while (cores > 0)
        if (atomic_compare_exchange_weak(&budget->free_cores, &cores, cores - 1))
            return true;
    return false;
}

void hki_budget_release(hki_queue *queue)
{
    atomic_fetch_add(&queue->budget->free_cores, 1);
    if (hki_queue_has_work(queue) && atomic_load(&queue->park->attentive) == 0)
        hki_queue_wake(queue);
}

bool hki_queue_has_work(hki_queue *queue)
{
    return queue->budget->shared ? atomic_load(&queue->budget->ready) != 0
                                 : hki_queue_is_ready(queue);
}

uint64_t hki_queue_finished(hki_queue *queue, unsigned epoch)
{
    uint64_t finished = 0;
    for (int i = 0; i <= queue->worker_count; i++)
        finished += atomic_load(&queue->counters[i].finished[epoch]);
    return finished;
}

void hki_queue_count(hki_queue *queue, const hki_executor *executor, unsigned epoch)
{
    const bool own = executor->queue == queue; /* nobody else writes it */
    _Atomic(uint64_t) *finished =
        &queue->counters[own ? executor->slot : queue->worker_count].finished[epoch];
    if (!own)
        atomic_fetch_add(finished, 1);
    else
        atomic_store_explicit(finished, atomic_load_explicit(finished, memory_order_relaxed) + 1,
                              memory_order_release);
}

void hki_queue_counted(hki_queue *queue, const hki_executor *executor)
{
    for (unsigned epoch = 0; epoch < 2; epoch++)
        atomic_fetch_add(&queue->counters[executor->slot].finished[epoch], 0);
}
