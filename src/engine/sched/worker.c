/* The threads of a device: take what is ready, run it, look again; spin a little, then sleep. */
#include "engine/sched/queue.h"
#include "engine/sched/scoreboard.h"
#include "engine/sched/steal.h"
#include "engine/sched/tracing.h"

#include <sched.h>

/* To its device's cores, not to one of them: the thread that issues calls is on some core, too, and a worker woken there would
 * take it from that thread while another is free. */
static void pin(const hki_queue *queue, int but)
{
    int processors[HKI_MAX_CORES], count = 0;
    for (int i = 0; i < queue->worker_count; i++)
        if (queue->workers[i].processor != but)
            processors[count++] = queue->workers[i].processor;
    if (count > 0)
        hki_cpu_pin(processors, count);
}

/* From the processor of a thread that runs pieces while it waits: the kernel lets both take turns for long while another is
 * idle. As that thread has a core, no more workers are at work than there are others. */
static void step_aside(const hki_queue *queue)
{
    const int helper = atomic_load_explicit(&queue->helper, memory_order_relaxed) - 1;
    if (helper < 0 || helper != sched_getcpu())
        return;
    pin(queue, helper);
    pin(queue, -1);
}

/* A worker at a long task is not attentive: others must be woken for what comes meanwhile. */
static hki_task *execute_attentively(hki_executor *executor, hki_claim claim)
{
    hki_queue *queue = executor->queue;
    const hki_task_spec *spec = &claim.task->spec;
    const bool is_long = spec->piece_count > 1 || spec->expected_ns > HKI_LONG_TASK_NS;
    if (is_long) {
        step_aside(queue);
        hki_park_leave(&queue->park);
        if (hki_queue_has_work(queue))
            hki_queue_notify(queue);
    }
    hki_task *next = hki_execute(executor, claim);
    if (is_long)
        hki_park_attend(&queue->park);
    return next;
}

/* Takes what is ready next, pieces in other queues, too. */
static hki_claim take(hki_executor *executor)
{
    hki_queue *queue = executor->queue;
    do {
        if (hki_lease_is_due(queue))
            return (hki_claim){NULL, -1};
        const hki_claim claim = hki_queue_pop(queue, executor, INT64_MAX);
        if (claim.task)
            return claim;
    } while (hki_queue_has_work(queue));
    return hki_steal_piece(queue);
}

/* Runs what was taken, and what becomes ready by that. */
static void run(hki_executor *executor, hki_claim claim)
{
    hki_task *next;
    for (int successors = 0; (next = execute_attentively(executor, claim)); successors++) {
        /* A successor is hot; but neither a reduction that others wait for, nor the rest of the queue may wait for a long
         * chain of them. */
        const bool is_too_many = successors == HKI_SUCCESSORS;
        if (is_too_many || hki_queue_is_urgent(executor->queue)) {
            (is_too_many || hki_task_rank(next) > 0 ? hki_queue_push : hki_queue_push_first)(next);
            return;
        }
        claim = (hki_claim){next, -1};
    }
}

/* Until nothing is ready. */
static void work(hki_executor *executor)
{
    for (hki_claim claim; (claim = take(executor)).task;)
        run(executor, claim);
    hki_slot_give_back(&executor->returns);
    hki_progress(executor->queue->runtime);
}

/* ---- waiting --------------------------------------------------------------------------------------------------------- */

/* True when there is something to do and a core to do it on, which it then holds. */
static bool try_begin(hki_queue *queue)
{
    return (hki_queue_has_work(queue) || hki_steal_may_find(queue)) &&
           hki_queue_acquire_core(queue);
}

/* A thread that issues long tasks is on some core, too, and runs pieces while it waits: the last worker does not spin beside it, nor
 * one that finds all cores taken. */
static bool is_too_many(hki_queue *queue, uint32_t other_spinners)
{
    return atomic_load_explicit(&queue->has_issuer, memory_order_relaxed) &&
           (atomic_load(&queue->free_cores) <= 0 ||
            (other_spinners > 0 && other_spinners + 1 == (uint32_t)queue->worker_count));
}

static bool spin_for_work(hki_queue *queue)
{
    const int64_t until = hki_clock_ns() + queue->runtime->scheduler->spin_ns;
    const uint32_t others = atomic_fetch_add(&queue->park.spinners, 1);
    bool found = false;
    do
        for (int i = 0; !(found = try_begin(queue)) && i < 32; i++)
            hki_relax();
    while (!found && !is_too_many(queue, others) && hki_clock_ns() < until);
    atomic_fetch_sub(&queue->park.spinners, 1);
    return found;
}

typedef struct look {
    hki_queue *queue;
    bool ended, has_core;
} look;

static bool look_again(void *what)
{
    look *self = what;
    self->ended = atomic_load(&self->queue->runtime->ended);
    self->has_core = !self->ended && try_begin(self->queue);
    return self->ended || self->has_core;
}

/* Returns with a core, or because the runtime is ending. The worker is attentive but while it sleeps. */
static bool wait_for_work(hki_queue *queue)
{
    for (bool rested = false;;) {
        if (hki_lease_is_due(queue) && hki_lease_rest(queue))
            rested = true;
        bool has_core = spin_for_work(queue);
        look its = {.queue = queue};
        if (!has_core) {
            hki_park_sleep(&queue->park, look_again, &its);
            rested = true;
            has_core = its.has_core;
        }
        if (has_core && rested)
            hki_park_be_watched(&queue->park);
        if (has_core || its.ended)
            return has_core;
    }
}

void *hki_worker_main(void *argument)
{
    hki_worker *worker = argument;
    hki_queue *queue = worker->queue;
    hki_executor executor = {.queue = queue,
                             .finished_tasks =
                                 hki_finished_by(queue->runtime->scheduler, worker->slot),
                             .slot = worker->slot};
    hki_tracing_name_worker(worker);
    hki_floats_begin();
    pin(queue, -1);
    hki_park_attend(&queue->park);
    while (wait_for_work(queue)) {
        work(&executor);
        hki_queue_release_core(queue);
    }
    return NULL;
}
