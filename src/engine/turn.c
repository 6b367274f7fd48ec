/* Tasks that run in their turn: short ones, which no gates are made for. A worker takes a batch of them from the ring, in
 * order, and notes in each variable that it has: what follows and conflicts waits until that task has run, which is soon.
 * So several workers run such tasks side by side, and each variable costs one line of memory. The shortest of all are run
 * by one worker, while the others wait for the ring: to take them elsewhere would take longer.
 *
 * What is noted is a position in the ring, counted from 1, and the number of the worker: it is still to run, or running,
 * while the worker's first_turn, the position of the first such task of its batch, is not beyond. Of several that read a
 * variable the latest is noted, and ANY worker for all. hki_order.reach is how far a task is, of late, from the nearest
 * before it that it depends on. */
#include "engine/engine_internal.h"

#include <sched.h>

enum { ANY = 0xffff, WORKER_BITS = 16 };

_Static_assert((int)HKI_MAX_CORES < (int)ANY, "see hki_var.turn_read");

static uint64_t note(uint64_t position, int worker)
{
    return position << WORKER_BITS | (unsigned)worker;
}

/* By another worker than `but` (-1: by any). */
static bool is_running(const hki_order *order, uint64_t noted, int but)
{
    if (!noted)
        return false;
    const hki_counter *counters = order->runtime->counters;
    const uint64_t position = noted >> WORKER_BITS;
    const int worker = (int)(noted & ANY);
    const int begin = worker == ANY ? 0 : worker,
              end = worker == ANY ? order->runtime->counter_count : worker + 1;
    for (int i = begin; i < end; i++)
        if (i != but &&
            atomic_load_explicit(&counters[i].first_turn, memory_order_acquire) <= position)
            return true;
    return false;
}

bool hki_var_is_in_turn_locked(hki_var *var, bool writes)
{
    const hki_order *order = var->runtime->ordering;
    if (!is_running(order, var->turn_written, -1))
        var->turn_written = 0;
    if (!is_running(order, var->turn_read, -1))
        var->turn_read = 0;
    return var->turn_written || (writes && var->turn_read);
}

/* A task that names a variable twice finds itself there. */
static void note_distance(hki_order *order, uint64_t noted, uint64_t position)
{
    const uint64_t before = noted >> WORKER_BITS;
    if (before && before != position &&
        position - before < atomic_load_explicit(&order->reach, memory_order_relaxed))
        atomic_store_explicit(&order->reach, position - before, memory_order_relaxed);
}

/* Whether it may be taken as far as other batches go. */
static bool is_passed(hki_executor *executor, const hki_task *task)
{
    hki_order *order = executor->queue->runtime->ordering;
    const hki_task_spec *spec = &task->spec;
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        const hki_var *var = access->var;
        executor->stalled_on = 0;
        if (is_running(order, var->turn_written, executor->slot))
            executor->stalled_on = var->turn_written;
        else if (access->mode & HKI_WRITE && is_running(order, var->turn_read, executor->slot))
            executor->stalled_on = var->turn_read;
        if (executor->stalled_on)
            return false;
    }
    return true;
}

static bool has_gates_in_the_way(const hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        if (access->var->gates && !hki_gates_are_open_locked(access->var, access->begin,
                                                             access->end, access->mode & HKI_WRITE))
            return true;
    }
    return false;
}

static void take(hki_executor *executor, hki_task *task, uint64_t position)
{
    hki_order *order = executor->queue->runtime->ordering;
    const hki_task_spec *spec = &task->spec;
    if (executor->batch_count == 0) {
        const uint64_t reach = atomic_load_explicit(&order->reach, memory_order_relaxed);
        if (reach < HKI_MOST_REACH)
            atomic_store_explicit(&order->reach, reach + 1, memory_order_relaxed);
        atomic_store_explicit(&order->runtime->counters[executor->slot].first_turn, position,
                              memory_order_relaxed);
    }
    const uint64_t own = note(position, executor->slot);
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        hki_var *var = access->var;
        note_distance(order, var->turn_written, position);
        if (access->mode & HKI_WRITE) {
            note_distance(order, var->turn_read, position);
            var->turn_written = own;
        } else {
            var->turn_read =
                is_running(order, var->turn_read, executor->slot) ? note(position, ANY) : own;
        }
    }
    executor->batch[executor->batch_count++] = task;
    executor->batch_ns += spec->expected_ns;
}

hki_turn hki_turn_try(hki_executor *executor, hki_task *task, uint64_t position)
{
    const hki_task_spec *spec = &task->spec;
    /* One that is registered in part, because batches were in the way, has gates that others wait for. */
    if (!hki_task_takes_turns(task) || task->is_half_registered ||
        hki_tracing(executor->queue->runtime))
        return HKI_TURN_NEVER;
    if (!is_passed(executor, task))
        return HKI_TURN_STALLED;
    if (has_gates_in_the_way(task))
        return HKI_TURN_NEVER;
    if (executor->batch_count > 0 || spec->expected_ns > HKI_SHORT_TURN_NS) {
        take(executor, task, position);
        return HKI_TURN_TAKEN;
    }
    hki_task_run_in_turn(executor, task);
    return HKI_TURN_RUN;
}

bool hki_turns_are_enough(const hki_executor *executor)
{
    hki_order *order = executor->queue->runtime->ordering;
    const uint64_t workers = (uint64_t)order->runtime->core_count;
    /* Where each waits for the one before there is nothing to share. */
    const uint64_t reach = atomic_load_explicit(&order->reach, memory_order_relaxed);
    uint64_t share = reach == 1 ? HKI_BATCH_TASKS : (reach + workers - 1) / workers;
    return executor->batch_count == HKI_BATCH_TASKS || (uint64_t)executor->batch_count >= share ||
           executor->batch_ns >= HKI_BATCH_NS;
}

bool hki_order_is_wide(const hki_order *order)
{
    return order && atomic_load_explicit(&order->reach, memory_order_relaxed) >
                        (uint64_t)order->runtime->core_count;
}

void hki_turns_run(hki_executor *executor)
{
    _Atomic(uint64_t) *first_turn = &executor->queue->runtime->counters[executor->slot].first_turn;
    uint64_t position = atomic_load_explicit(first_turn, memory_order_relaxed);
    const int count = executor->batch_count;
    for (int i = 0; i < count; i++) {
        hki_task_run_in_turn(executor, executor->batch[i]);
        atomic_store_explicit(first_turn, i + 1 < count ? ++position : UINT64_MAX,
                              memory_order_release);
    }
    executor->batch_count = 0;
    executor->batch_ns = 0;
}

void hki_turns_gather(int taken)
{
    if (taken == 0 || taken >= HKI_BATCH_TASKS)
        return;
    for (const uint64_t begin = hki_ticks(); hki_ticks() - begin < HKI_GATHER_TICKS;)
        hki_relax();
}

bool hki_turns_await(hki_executor *executor)
{
    const hki_order *order = executor->queue->runtime->ordering;
    const uint64_t noted = executor->stalled_on, begin = hki_ticks();
    bool running;
    executor->stalled_on = 0;
    while ((running = is_running(order, noted, executor->slot)) &&
           hki_ticks() - begin < HKI_HOLD_TICKS)
        hki_relax();
    /* Who runs it may have lost its core, to this thread perhaps. */
    if (running)
        sched_yield();
    return !running;
}
