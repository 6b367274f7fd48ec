/* Devices whose tasks end by a clock of their own: one thread at a time launches what is ready in a queue; where they end
 * is in clock.c. Of what goes before, a task knows when it ended by the devices' clocks, not by this machine's: being
 * woken late does not add up. */
#include "engine/accel/accelerator.h"

#include "engine/accel/put_off.h"
#include "engine/core/stage.h"

#include <stdlib.h>

enum { TOLERANCE_NS = 100000 /* waking up is not being late: see hk_queue_stats */ };

/* The device has done the task. */
static void note_end(hki_queue *queue, const hki_task *task, const hki_ticket *ticket)
{
    int64_t late_ns = hki_clock_ns() - ticket->end_ns - TOLERANCE_NS;
    hki_trace *trace = hki_tracing(queue->runtime);
    if (trace)
        hki_trace_model(trace, hki_task_sequence(task), ticket->begin_ns, ticket->end_ns);
    hki_lock_acquire(&queue->stats_lock);
    hk_queue_stats *stats = &queue->stats;
    stats->calls++;
    stats->busy_ns += ticket->end_ns - ticket->begin_ns;
    stats->bytes += (uint64_t)task->spec.cost.copy_bytes;
    if (ticket->end_ns > stats->last_end_ns)
        stats->last_end_ns = ticket->end_ns;
    if (late_ns > stats->late_ns)
        stats->late_ns = late_ns;
    hki_lock_release(&queue->stats_lock);
}

/* A call of the task has failed while the device was at it. */
static void fail_call(hki_task *task, const hki_ticket *ticket, hk_code code, const char *message)
{
    const hki_task_class *class = task->spec.class;
    hki_blame blame;
    if (class->blame && ticket->call >= 0) {
        class->blame(task->payload, ticket->call, &blame);
        hki_task_blame(&blame);
    }
    hki_task_fail(task, INT64_MAX, code, "%s", message); /* unless launching it failed */
    hki_task_blame(NULL);
}

void hki_accelerator_settle(hki_queue *queue, hki_task *task, hki_ticket *ticket)
{
    hki_device *device = queue->device;
    hk_code code = HK_OK;
    char message[512] = "";
    if (task->spec.class->note_reports)
        task->spec.class->note_reports(task, task->payload, ticket);
    bool is_good = !device->class->settle ||
                   device->class->settle(device, ticket, &code, message, sizeof message);
    /* What it waited for had not ended when it was launched. Whatever it made of failed inputs, their failure is its. */
    const hk_status *input = task->is_ahead ? hki_task_input_failure(task) : NULL;
    if (input) {
        /* As if it had not been launched. */
        task->is_spared = ticket->suspects && hk_status_code(input) != HK_DEVICE_LOST;
        hki_task_fail_for_input(task, input);
    } else if (!is_good)
        fail_call(task, ticket, code, message);
    task->end_ns = ticket->end_ns;
    note_end(queue, task, ticket);
}

static bool can_spare(const hki_task *task)
{
    const hki_task_class *class = task->spec.class;
    return class->can_spare && class->can_spare(&task->spec, task->payload);
}

/* Whether a task of the queue had better be launched behind the mark than wait for its end. It holds up all that comes
 * after it in its own queue, so the mark must be about to be reached. Where what was launched may turn out failed, only what
 * spares what it overwrites follows, in the same queue. Of a queue for computing, where the rest of the
 * backward pass goes meanwhile, reductions between devices follow nothing, and nobody follows one whose end is not known:
 * it may stand behind others, each of which waits for copies. */
static bool had_better_follow(const hki_task *task, const hki_queue *queue, const hki_mark *mark)
{
    if (mark->is_doubtful && (mark->queue != queue || !can_spare(task)))
        return false;
    if (mark->queue == queue)
        return true;
    if (mark->queue->device->class != queue->device->class)
        return false;
    if (queue->kind == HKI_QUEUE_COMPUTE &&
        (task->spec.collective || (mark->collective && mark->end_ns == 0)))
        return false;
    return mark->end_ns == 0 || mark->end_ns - hki_clock_ns() < HKI_AHEAD_NS;
}

/* ---- launching ------------------------------------------------------------------------------------------------- */

/* Makes the queue's next task begin after what the task is launched behind. */
static void wait_for_marks(hki_queue *queue, const hki_task *task)
{
    for (int i = 0; i < task->mark_count; i++) {
        const hki_mark *mark = &task->marks[i];
        const hki_ticket ticket = {.device = mark->queue->device,
                                   .queue = mark->queue->kind,
                                   .position = mark->position,
                                   .end_ns = mark->end_ns};
        queue->device->class->wait_for(queue->device, queue->kind, &ticket);
    }
}

/* An input is failed as far as is known, but what is to overwrite it may be under way: whether it is so is known when
 * that has ended. */
static void await_failed_inputs(hki_task *task)
{
    const hk_status *failure = task->is_ahead ? hki_task_input_failure(task) : NULL;
    if (failure)
        hki_stage_await(task);
    hk_status_release(failure);
}

/* Lets others be launched behind the task, unless it has failed or still may. */
static void let_follow(hki_executor *executor, hki_task *task, const hki_ticket *ticket)
{
    hki_queue *queue = hki_task_queue(task);
    const hki_mark mark = {queue, ticket->position, ticket->end_ns, task->spec.collective,
                           ticket->suspects || ticket->is_flagged};
    const bool has_room = hki_suspects_note(queue, task, ticket);
    const bool may_follow = has_room && (!ticket->fault || ticket->is_flagged);
    if (!may_follow)
        atomic_fetch_add_explicit(&queue->runtime->accelerators->held_up, 1, memory_order_relaxed);
    if (!queue->device->class->wait_for || !ticket->position || !may_follow ||
        (hki_task_is_unusual(task) && hki_task_has_failed(task)))
        return;
    hki_task_dispatch(executor, hki_stage_launch(task, &mark));
}

/* has_met: what it reads is there. */
static void run_now(hki_task *task, bool has_met)
{
    if (has_met && hki_put_off_meet(task, true)) {
        for (int64_t piece = 0; piece < task->spec.piece_count; piece++)
            hki_task_run_piece(task, piece);
        hki_task_run_join(task);
    }
    hki_put_off_leave(task);
}

bool hki_accelerator_launch(hki_executor *executor, hki_queue *queue, hki_task *task)
{
    hki_device *device = queue->device;
    const hki_task_spec *spec = &task->spec;
    hki_run_point point = hki_tracing_begin(task);
    const uint64_t suspects = hki_suspects_find(queue, task);
    await_failed_inputs(task);
    wait_for_marks(queue, task);
    const bool puts_off = hki_put_off_may(task);
    int64_t ready_ns = atomic_load_explicit(&task->ready_ns, memory_order_relaxed);
    const bool has_met = puts_off || hki_put_off_meet(task, false);
    if (!hki_task_start(task)) {
        hki_put_off_abandon(task);
        hki_put_off_leave(task);
        hki_tracing_end(&point, task);
        task->end_ns = ready_ns;
        hki_task_complete(executor, task);
        hki_suspects_settle(queue, &(hki_ticket){.suspects = suspects}, true);
        hki_slot_give_back(&executor->returns);
        hki_progress(queue->runtime);
        return false;
    }
    const bool is_prechecked =
        spec->class->is_prechecked && spec->class->is_prechecked(spec, task->payload);
    if (device->class->guard && queue->kind == HKI_QUEUE_COMPUTE)
        device->class->guard(device, suspects, is_prechecked);
    int64_t begin_ns = device->times_host ? hki_thread_ns() : 0;
    if (puts_off)
        hki_put_off_add(task);
    else
        run_now(task, has_met);
    hki_flight launched = {.task = task,
                           .ticket = {.device = device, .queue = queue->kind},
                           .point = point,
                           .launched_ns = hki_clock_ns()};
    int64_t host_ns = device->times_host ? hki_thread_ns() - begin_ns : 0;
    launched.ticket.is_prechecked = is_prechecked;
    launched.ticket.is_awaited = !hki_queue_is_ready(queue) || hki_stage_is_awaited(task);
    device->class->launched(device, queue->kind, &spec->cost, ready_ns, host_ns, &launched.ticket);
    launched.ticket.suspects = suspects;
    atomic_store_explicit(&queue->launched_end_ns, launched.ticket.end_ns, memory_order_relaxed);
    atomic_fetch_add(&queue->in_flight, 1);
    let_follow(executor, task, &launched.ticket);
    return hki_clock_add(queue, &launched);
}

/* More launched tasks than that cover what launching takes are of no use: they would only hold memory, and come before
 * what becomes ready meanwhile. */
bool hki_accelerator_may_launch(hki_queue *queue)
{
    if (!hki_queue_is_ready(queue))
        return false;
    uint32_t count = atomic_load(&queue->in_flight);
    if (count < HKI_IN_FLIGHT)
        return true;
    int most = queue->device->class->launch_ahead;
    if ((int)count >= (most < HKI_MAX_AHEAD ? most : HKI_MAX_AHEAD))
        return false;
    int64_t left_ns = count * atomic_load_explicit(&queue->pace_ns, memory_order_relaxed);
    int64_t end_ns = atomic_load_explicit(&queue->launched_end_ns, memory_order_relaxed);
    if (end_ns)
        left_ns = end_ns - hki_clock_ns();
    return left_ns < HKI_AHEAD_NS;
}

/* ---- the thread of a queue, where launching only gives a device work ------------------------------------------- */

/* Or there never will be. */
static bool may_launch(void *queue)
{
    return atomic_load(&((hki_queue *)queue)->runtime->ended) || hki_accelerator_may_launch(queue);
}

/* Returns with something to launch, or false because the runtime is ending. A little patience spares the next call waking this
 * thread. */
static bool wait_for_task(hki_queue *queue)
{
    const int64_t until = hki_clock_ns() + queue->runtime->scheduler->spin_ns;
    while (!may_launch(queue))
        if (hki_clock_ns() < until)
            hki_relax();
        else
            hki_park_sleep(&queue->park, may_launch, queue);
    return !atomic_load(&queue->runtime->ended);
}

void hki_accelerator_pin(const hki_runtime *runtime)
{
    const hki_launch_cores *cores = &runtime->scheduler->launch_cores;
    hki_floats_begin();
    if (cores->count > 0)
        hki_cpu_pin(cores->processors, cores->count);
}

void *hki_accelerator_main(void *argument)
{
    hki_worker *worker = argument;
    hki_queue *queue = worker->queue;
    hki_runtime *runtime = queue->runtime;
    hki_executor executor = {0};
    hki_tracing_name_worker(worker);
    hki_accelerator_pin(runtime);
    hki_park_attend(&queue->park);
    while (wait_for_task(queue)) {
        hki_task *task = hki_queue_pop(queue, NULL, INT64_MAX).task;
        if (task && hki_accelerator_launch(&executor, queue, task))
            hki_clock_help(&executor, runtime);
    }
    return NULL;
}

/* The serial engine's: the task has run in this thread; sleeps until its device has done it. */
static void pace(hki_task *task, int64_t ready_ns, int64_t host_ns)
{
    hki_queue *queue = hki_task_queue(task);
    hki_device *device = queue->device;
    hki_ticket ticket = {.device = device, .queue = queue->kind};
    device->class->launched(device, queue->kind, &task->spec.cost, ready_ns, host_ns, &ticket);
    for (int64_t left_ns; (left_ns = device->class->poll(device, &ticket)) > 0;)
        hki_sleep_ns(left_ns);
    hki_accelerator_settle(queue, task, &ticket);
    hki_suspects_note(queue, task, &ticket);
    hki_suspects_settle(queue, &ticket, true);
}

/* ---- life ----------------------------------------------------------------------------------------------------------- */

bool hki_accelerators_create(hki_runtime *runtime)
{
    if (!runtime->accelerated)
        return true;
    runtime->accelerators = calloc(1, sizeof *runtime->accelerators);
    runtime->may_follow = had_better_follow;
    bool created = runtime->accelerators;
    for (int i = 0; i < runtime->queue_count && created; i++) {
        hki_queue *queue = runtime->queues[i];
        if (!queue->is_accelerator)
            continue;
        /* Versions tell of which copies the host knows the values. */
        runtime->counts_writes |= queue->device->class->wait_for != NULL;
        queue->pace = pace;
        created = hki_flights_create(queue) && hki_suspects_create(queue);
    }
    for (int i = 0; i < runtime->device_count && created; i++)
        if (hki_device_puts_off(runtime->devices[i]) && !runtime->serial &&
            !runtime->accelerators->put_offs)
            created = (runtime->accelerators->put_offs = hki_put_offs_create(runtime));
    if (runtime->accelerators && runtime->accelerators->put_offs) {
        runtime->note_issue = hki_put_off_issue;
        runtime->hold = hki_put_off_hold;
        runtime->ask = hki_put_off_ask;
    }
    return created;
}

bool hki_accelerators_start(hki_runtime *runtime)
{
    return !runtime->accelerators || (hki_clock_start(runtime) && hki_launchers_start(runtime));
}

void hki_accelerators_stop(hki_runtime *runtime)
{
    if (!runtime->accelerators)
        return;
    hki_launchers_stop(runtime);
    hki_clock_stop(runtime);
    if (runtime->accelerators->put_offs)
        hki_put_offs_stop(runtime->accelerators->put_offs);
}

void hki_accelerators_destroy(hki_runtime *runtime)
{
    if (!runtime->accelerators)
        return;
    free(runtime->accelerators->launchers);
    hki_put_offs_destroy(runtime->accelerators->put_offs);
    free(runtime->accelerators);
}
