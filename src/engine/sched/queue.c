/* The ready tasks of one device, or of those that share a core. */
#include "engine/sched/ring.h"
#include "engine/sched/scoreboard.h"
#include "engine/sched/steal.h"

/* Which list: of what goes first, or of the rest. */
static int list_of(const hki_task *task)
{
    return hki_task_rank(task) > 0 ? 0 : 1;
}

static bool goes_before(const hki_task *a, const hki_task *b)
{
    const int left = hki_task_rank(a), right = hki_task_rank(b);
    return left != right ? left > right : hki_task_sequence(a) < hki_task_sequence(b);
}

/* Puts the task behind `previous`, which is in the list; NULL: first. */
static void link_behind(hki_queue *queue, hki_task *previous, hki_task *task)
{
    const int index = list_of(task);
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
    hki_backlog_add(&queue->backlog_ns, hki_task_backlog_ns(task));
    hki_steal_count(task, 1);
    /* Before whoever adds it looks for sleepers: a worker about to sleep sees it, or is seen. */
    atomic_fetch_add(&queue->listed[index], 1);
}

/* Of one rank, what was issued first goes first, about. Then no more memory is taken than the program's order needs: what fetches the
 * data of later steps is ready before the rest of this one. And reductions between devices, of which it holds exactly, get
 * ready from the last layer to the first, while a program names its parameters, and so sums their gradients, in the order
 * in which the next step needs them. */
static void link_in_order(hki_queue *queue, hki_task *task)
{
    enum { LOOKS = 64 };
    const int index = list_of(task);
    hki_task *previous = queue->lists[index].last;
    if (previous && goes_before(task, previous)) {
        /* Most come in the order in which they were issued: behind the latest, then. */
        previous = queue->lists[index].latest;
        if (previous && goes_before(task, previous))
            previous = NULL;
        hki_task *next = previous ? previous->queue_next : queue->lists[index].first;
        for (int i = 0; (index == 0 || i < LOOKS) && goes_before(next, task); i++) {
            previous = next;
            next = next->queue_next;
        }
    }
    link_behind(queue, previous, task);
    queue->lists[index].latest = task;
}

static void unlink_task(hki_queue *queue, hki_task *task)
{
    const int index = list_of(task);
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
    hki_backlog_add(&queue->backlog_ns, -hki_task_backlog_ns(task));
    hki_steal_count(task, -1);
    atomic_fetch_sub_explicit(&queue->listed[index], 1, memory_order_relaxed);
}

bool hki_queue_is_ready(hki_queue *queue)
{
    return atomic_load(&queue->listed[1]) > 0 || hki_queue_is_urgent(queue);
}

bool hki_queue_is_urgent(hki_queue *queue)
{
    return atomic_load(&queue->listed[0]) > 0;
}

bool hki_workers_are_attentive(const hki_runtime *runtime)
{
    bool found = false;
    for (int i = 0; i < runtime->scheduler->home_count && !found; i++)
        found = hki_park_is_attended(&runtime->queues[i]->park);
    return found;
}

bool hki_queue_wants_help(hki_queue *queue)
{
    hki_runtime *runtime = queue->runtime;
    return (hki_queue_is_ready(queue) && !hki_park_is_attended(&queue->park)) ||
           (!hki_ring_is_empty(runtime->ring) && !hki_workers_are_attentive(runtime));
}

/* A worker that is woken while all cores are taken sleeps again, and has meanwhile held up a thread on one of them. Who gives a
 * core back looks whether there is something to do. */
static bool has_core_for_another(const hki_queue *queue)
{
    return queue->is_accelerator || atomic_load(&queue->free_cores) > 0;
}

void hki_queue_wake(hki_queue *queue)
{
    if (queue->notify)
        queue->notify(queue);
    else if (!has_core_for_another(queue))
        return;
    else if (hki_park_has_sleepers(&queue->park))
        hki_park_wake(&queue->park);
    else
        hki_lease_recall(queue->runtime);
}

void hki_queue_notify(hki_queue *queue)
{
    if (!hki_park_is_attended(&queue->park))
        hki_queue_wake(queue);
}

void hki_queue_push(hki_task *task)
{
    hki_queue *queue = hki_task_home(task);
    if (task->spec.piece_count > 1 && !hki_in_task())
        atomic_store_explicit(&queue->has_issuer, true, memory_order_relaxed);
    hki_lock_acquire(&queue->lock);
    link_in_order(queue, task);
    hki_lock_release(&queue->lock);
    hki_queue_notify(queue);
}

void hki_queue_push_first(hki_task *task)
{
    hki_queue *queue = hki_task_home(task);
    hki_lock_acquire(&queue->lock);
    link_behind(queue, NULL, task);
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

static hki_claim take_listed(hki_queue *queue, int64_t most_ns)
{
    hki_claim claim = {NULL, -1};
    if (!hki_queue_is_ready(queue))
        return claim;
    hki_lock_acquire(&queue->lock);
    hki_task *task = queue->lists[0].first ? queue->lists[0].first : queue->lists[1].first;
    if (task && hki_task_piece_ns(task) <= most_ns)
        claim = claim_locked(queue, task);
    hki_lock_release(&queue->lock);
    return claim;
}

/* Moves on with what the executor has taken off the ring. True: it has taken something. */
static bool run_batch(hki_executor *executor, int from_ring, bool has_others)
{
    if (executor->batch_count)
        hki_batch_run(executor);
    else if (executor->is_stalled)
        sched_yield(); /* whoever runs what is in the way may have lost its core, to this thread perhaps */
    else if (executor->instants > 0 && !has_others)
        hki_batch_gather(from_ring); /* each look takes a line of memory from the issuing thread */
    executor->is_stalled = false;
    executor->instants = 0;
    return from_ring > 0;
}

hki_claim hki_queue_pop(hki_queue *queue, hki_executor *executor, int64_t most_ns)
{
    hki_ring *ring = queue->runtime->ring;
    hki_claim claim;
    bool again;
    do {
        int from_ring = 0;
        claim = take_listed(queue, most_ns);
        if (ring && !claim.task)
            from_ring = hki_ring_take(ring, queue, executor, most_ns, &claim);
        hki_steal_call(queue);
        again = executor ? run_batch(executor, from_ring, claim.task) : from_ring > 0;
    } while (!claim.task && again && !hki_ring_is_empty(ring) &&
             !(executor && hki_lease_is_due(queue)));
    return claim;
}

hki_claim hki_queue_take_piece(hki_queue *queue, const hki_task *of)
{
    enum { LOOKS = 2 * HKI_BATCH_TASKS }; /* put first: but a worker may give others back */
    hki_claim claim = {NULL, -1};
    hki_lock_acquire(&queue->lock);
    for (int i = 0; i < 2; i++) {
        hki_task *task = queue->lists[i].first;
        for (int j = 0; task && !claim.task && j < LOOKS; j++, task = task->queue_next)
            if (task->next_piece > 0 && (of ? task == of : hki_is_lendable(task)))
                claim = claim_locked(queue, task);
    }
    hki_lock_release(&queue->lock);
    return claim;
}

bool hki_queue_acquire_core(hki_queue *queue)
{
    int32_t cores = atomic_load(&queue->free_cores);
    while (cores > 0)
        if (atomic_compare_exchange_weak(&queue->free_cores, &cores, cores - 1))
            return true;
    return false;
}

void hki_queue_release_core(hki_queue *queue)
{
    atomic_fetch_add(&queue->free_cores, 1);
    if (hki_queue_has_work(queue))
        hki_queue_notify(queue);
}

bool hki_queue_has_work(hki_queue *queue)
{
    hki_ring *ring = queue->runtime->ring;
    return hki_queue_is_ready(queue) || (ring && hki_ring_is_for(ring, queue));
}
