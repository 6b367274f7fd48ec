/* Devices whose tasks end by a clock of their own. One thread for each queue launches what is ready; one thread for
 * all of them, the clock, asks the devices and completes each task when its device has done it, so that a long launch
 * never holds up an end. Of what goes before, a task knows when it ended by the devices' clocks, not by this
 * machine's: being woken late does not add up. */
#include "engine/engine_internal.h"

#include <fenv.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

enum {
    TOLERANCE_NS = 100000, /* waking up is not being late: see hk_queue_stats */
    NAP_NS = 100000,       /* between looks for a core that no CPU device uses */
    TIMER_SLACK_NS = 1000
};

typedef struct flight {
    hki_task *task;
    hki_queue *queue;
    hki_ticket ticket;
    hki_run_point point;
    int64_t look_ns; /* when to ask the device again */
} flight;

struct hki_clock {
    pthread_t thread;
    bool started;
    _Atomic(bool) stopping;
    _Atomic(uint32_t) wake_word;
    hki_lock lock; /* the rest */
    int64_t sleeps_until_ns;
    int count;
    flight flights[]; /* HKI_IN_FLIGHT for each queue */
};

int64_t hki_thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

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

/* ---- the clock -------------------------------------------------------------------------------------------- */

static void wake(hki_clock *clock)
{
    atomic_fetch_add(&clock->wake_word, 1);
    hki_futex_wake(&clock->wake_word, 1);
}

static void clock_add(hki_runtime *runtime, flight added)
{
    hki_clock *clock = runtime->clock;
    added.look_ns =
        hki_clock_ns() + added.queue->device->class->poll(added.queue->device, &added.ticket);
    hki_lock_acquire(&clock->lock);
    bool sooner = added.look_ns < clock->sleeps_until_ns;
    clock->flights[clock->count++] = added;
    hki_lock_release(&clock->lock);
    if (sooner)
        wake(clock);
}

/* Takes out the flight that has ended first, of those that have; false: none has. *next_ns: when to look again. */
static bool clock_take(hki_clock *clock, bool all, flight *taken, int64_t *next_ns)
{
    int found = -1;
    *next_ns = INT64_MAX;
    hki_lock_acquire(&clock->lock);
    int64_t now = hki_clock_ns();
    for (int i = 0; i < clock->count; i++) {
        flight *self = &clock->flights[i];
        const hki_device *device = self->queue->device;
        int64_t wait_ns = 0;
        if (!all && self->look_ns > now) {
            wait_ns = self->look_ns - now;
        } else if (!all) {
            wait_ns = device->class->poll(self->queue->device, &self->ticket);
            self->look_ns = now + wait_ns;
        }
        if (wait_ns > 0) {
            if (self->look_ns < *next_ns)
                *next_ns = self->look_ns;
        } else if (found < 0 || self->ticket.end_ns < clock->flights[found].ticket.end_ns) {
            found = i;
        }
    }
    if (found >= 0) {
        *taken = clock->flights[found];
        clock->flights[found] = clock->flights[--clock->count];
        *next_ns = 0;
    }
    clock->sleeps_until_ns = *next_ns;
    hki_lock_release(&clock->lock);
    return found >= 0;
}

static void complete(hki_executor *executor, const flight *self)
{
    hki_queue *queue = self->queue;
    note_end(queue, self->task, &self->ticket);
    hki_tracing_end(&self->point, self->task);
    self->task->end_ns = self->ticket.end_ns;
    hki_task_complete(executor, self->task);
    atomic_fetch_sub(&queue->in_flight, 1);
    hki_queue_wake(queue);
}

static void *clock_main(void *argument)
{
    hki_runtime *runtime = argument;
    hki_clock *clock = runtime->clock;
    hki_executor executor;
    flight ended;
    hki_executor_init(&executor, NULL, 1, false); /* accelerators have one worker */
    fesetenv(FE_DFL_ENV);
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
    for (;;) {
        uint32_t seen = atomic_load(&clock->wake_word);
        bool stopping = atomic_load(&clock->stopping);
        bool hurry = stopping || atomic_load(&runtime->stopping);
        int64_t next_ns;
        bool any = false;
        while (clock_take(clock, hurry, &ended, &next_ns)) {
            complete(&executor, &ended);
            any = true;
        }
        if (any) {
            hki_executor_flush(&executor);
            hki_progress(runtime);
        }
        if (stopping)
            return NULL;
        int64_t left_ns = next_ns == INT64_MAX ? -1 : next_ns - hki_clock_ns();
        if (next_ns == INT64_MAX || left_ns > 0)
            hki_futex_wait(&clock->wake_word, seen, left_ns);
    }
}

bool hki_clock_start(hki_runtime *runtime)
{
    size_t flights = (size_t)runtime->queue_count * HKI_IN_FLIGHT;
    hki_clock *clock = calloc(1, sizeof *clock + flights * sizeof *clock->flights);
    if (!clock)
        return false;
    clock->sleeps_until_ns = INT64_MAX;
    runtime->clock = clock;
    clock->started = !pthread_create(&clock->thread, NULL, clock_main, runtime);
    return clock->started;
}

void hki_clock_hurry(hki_runtime *runtime)
{
    if (runtime->clock)
        wake(runtime->clock);
}

void hki_clock_stop(hki_runtime *runtime)
{
    hki_clock *clock = runtime->clock;
    if (!clock)
        return;
    atomic_store(&clock->stopping, true);
    wake(clock);
    if (clock->started)
        pthread_join(clock->thread, NULL);
    runtime->clock = NULL;
    free(clock);
}

/* ---- cores to launch on --------------------------------------------------------------------------------------- */

/* A core, perhaps of a CPU device: *budget, else NULL. Blocks until there is one; false: the runtime is ending. */
static bool core_acquire(hki_runtime *runtime, hki_budget **budget)
{
    hki_launch_cores *cores = &runtime->launch_cores;
    *budget = NULL;
    while (cores->count > 0) {
        uint32_t free = atomic_load(&cores->free);
        while (free > 0)
            if (atomic_compare_exchange_weak(&cores->free, &free, free - 1))
                return true;
        if (atomic_load(&runtime->ended))
            return false;
        atomic_fetch_add(&cores->waiting, 1);
        hki_futex_wait(&cores->free, 0, HKI_LOOK_AGAIN_NS);
        atomic_fetch_sub(&cores->waiting, 1);
    }
    for (;;) {
        for (int i = runtime->budget_count - 1; i >= 0; i--)
            if (hki_budget_try_acquire(&runtime->budgets[i])) {
                *budget = &runtime->budgets[i];
                return true;
            }
        if (atomic_load(&runtime->ended))
            return false;
        struct timespec nap = {0, NAP_NS};
        nanosleep(&nap, NULL);
    }
}

static void core_release(hki_runtime *runtime, hki_budget *budget)
{
    hki_launch_cores *cores = &runtime->launch_cores;
    if (!budget) {
        atomic_fetch_add(&cores->free, 1);
        if (atomic_load(&cores->waiting) > 0)
            hki_futex_wake(&cores->free, 1);
        return;
    }
    atomic_fetch_add(&budget->free_cores, 1);
    for (int i = 0; i < runtime->queue_count; i++)
        if (runtime->queues[i]->budget == budget && hki_queue_is_ready(runtime->queues[i]))
            hki_queue_notify(runtime->queues[i]);
}

/* ---- launching ------------------------------------------------------------------------------------------------- */

static void launch(hki_executor *executor, hki_task *task)
{
    hki_queue *queue = executor->queue;
    hki_device *device = queue->device;
    const hki_task_spec *spec = &task->spec;
    int64_t ready_ns = atomic_load_explicit(&task->ready_ns, memory_order_relaxed);
    hki_run_point point = hki_tracing_begin(task);
    if (!hki_task_start(task)) {
        hki_tracing_end(&point, task);
        task->end_ns = ready_ns;
        hki_task_complete(executor, task);
        hki_executor_flush(executor);
        hki_queue_counted(queue, executor);
        hki_progress(queue->runtime);
        return;
    }
    int64_t begin_ns = hki_thread_ns();
    for (int64_t piece = 0; piece < spec->piece_count; piece++)
        hki_task_run_piece(task, piece);
    hki_task_run_join(task);
    flight launched = {.task = task, .queue = queue, .point = point};
    device->class->launched(device, queue->kind, &spec->cost, ready_ns, hki_thread_ns() - begin_ns,
                            &launched.ticket);
    atomic_fetch_add(&queue->in_flight, 1);
    clock_add(queue->runtime, launched);
}

static bool may_launch(hki_queue *queue)
{
    return atomic_load(&queue->in_flight) < HKI_IN_FLIGHT && hki_queue_is_ready(queue);
}

/* Returns with a task to launch, or false because the runtime is ending. */
static bool wait_for_task(hki_queue *queue)
{
    hki_runtime *runtime = queue->runtime;
    while (!may_launch(queue)) {
        atomic_fetch_add(&queue->sleepers, 1);
        uint32_t seen = atomic_load(&queue->wake_word);
        bool ended = atomic_load(&runtime->ended);
        if (!ended && !may_launch(queue))
            hki_futex_wait(&queue->wake_word, seen, -1);
        atomic_fetch_sub(&queue->sleepers, 1);
        if (ended)
            return false;
    }
    return !atomic_load(&runtime->ended);
}

void *hki_accelerator_main(void *argument)
{
    hki_worker *worker = argument;
    hki_queue *queue = worker->queue;
    hki_runtime *runtime = queue->runtime;
    hki_executor executor;
    hki_executor_init(&executor, queue, worker->slot, false);
    hki_budget *budget;
    fesetenv(FE_DFL_ENV);
    hki_tracing_name_worker(worker);
    if (runtime->launch_cores.count > 0)
        hki_cpu_pin_any(runtime->launch_cores.processors, runtime->launch_cores.count);
    while (wait_for_task(queue) && core_acquire(runtime, &budget)) {
        hki_claim claim = {NULL, -1};
        if (hki_queue_pop(queue, NULL, HKI_LONG_TASK_NS, &claim, 1))
            launch(&executor, claim.task);
        core_release(runtime, budget);
    }
    return NULL;
}

void hki_accelerator_pace(hki_task *task, int64_t ready_ns, int64_t host_ns)
{
    hki_queue *queue = hki_task_queue(task);
    hki_device *device = queue->device;
    hki_ticket ticket = {0};
    device->class->launched(device, queue->kind, &task->spec.cost, ready_ns, host_ns, &ticket);
    for (int64_t left_ns; (left_ns = device->class->poll(device, &ticket)) > 0;) {
        struct timespec nap = {left_ns / 1000000000, left_ns % 1000000000};
        nanosleep(&nap, NULL);
    }
    task->end_ns = ticket.end_ns;
    note_end(queue, task, &ticket);
}
