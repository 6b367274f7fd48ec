/* The threads that launch for simulated devices. What these compute, they compute while it is launched, in cores of this
 * machine: so there are as many threads as cores, whatever the number of devices, and any of them takes any queue that
 * has something to launch. One that finds much to do wakes the next. */
#include "engine/accel/put_off.h"

#include "engine/core/stage.h"

#include <stdlib.h>

enum {
    NAP_NS = 100000, /* between looks for a core that no CPU device uses */
    NAPS = 20,
    BRIEF_TICKS = 6000, /* a launch that takes no longer does not count */
    LONG_COPY_BYTES = 100000
};

typedef struct launcher {
    pthread_t thread;
    hki_launchers *of;
    int index;
    int next;          /* where it goes on looking */
    int64_t waited_ns; /* when it had waited for a core in vain */
    uint64_t at_work;  /* ticks of launches since it last woke another */
} launcher;

struct hki_launchers {
    hki_runtime *runtime;
    _Atomic(int) told_count; /* of queues that may have something to launch */
    hki_park park;
    int count; /* of threads that run */
    launcher threads[];
};

/* ---- cores ---------------------------------------------------------------------------------------------------- */

/* A core, perhaps of a CPU device: *lender, else NULL. Blocks until there is one, or for a while: a CPU device that has much
 * to do keeps its cores, and so they are shared with that as the system shares them. False: the runtime is ending. */
static bool core_acquire(launcher *self, hki_queue **lender)
{
    hki_runtime *runtime = self->of->runtime;
    *lender = NULL;
    if (runtime->scheduler->launch_cores.count > 0) /* there is one for each launcher */
        return true;
    /* It goes on without for as long as it has waited. */
    const bool is_patient = hki_clock_ns() - self->waited_ns >= (int64_t)NAPS * NAP_NS;
    for (int naps = 0; naps < NAPS; naps++) {
        for (int i = runtime->scheduler->home_count - 1; i >= 0; i--)
            if (hki_queue_acquire_core(runtime->queues[i])) {
                *lender = runtime->queues[i];
                return true;
            }
        if (atomic_load(&runtime->ended))
            return false;
        if (!is_patient)
            return true;
        hki_sleep_ns(NAP_NS);
    }
    self->waited_ns = hki_clock_ns();
    return true;
}

/* ---- what there is to launch ---------------------------------------------------------------------------------- */

static void notify(hki_queue *queue)
{
    hki_launchers *self = queue->launchers;
    if (atomic_load(&queue->is_told) || atomic_exchange(&queue->is_told, true))
        return;
    atomic_fetch_add(&self->told_count, 1);
    if (!hki_park_is_attended(&self->park))
        hki_park_wake(&self->park);
}

static bool is_any_ready(hki_launchers *self)
{
    return atomic_load(&self->told_count) > 0;
}

static hki_put_offs *put_offs_of(const hki_launchers *self)
{
    return self->runtime->accelerators->put_offs;
}

/* Of what has been put off something is wanted, or another thread is at it, and has pieces to give
 * away. */
static bool has_works(const hki_launchers *self)
{
    hki_put_offs *put_offs = put_offs_of(self);
    return put_offs && (atomic_load(&put_offs->open_count) > 0 ||
                        hki_works_await_rest(put_offs, (int)self->park.threads));
}

/* After this somebody looks whether there is something to launch: it may have been told to who launches at the moment. */
static void queue_leave(hki_queue *queue)
{
    atomic_store(&queue->launching, false);
    if (hki_accelerator_may_launch(queue))
        notify(queue);
}

/* A queue with something to launch, which nobody else launches from until it is left; NULL: there is none. Each queue has its
 * turn. It is told of again where something is pushed from now on. */
static hki_queue *queue_take(launcher *self)
{
    const hki_runtime *runtime = self->of->runtime;
    while (is_any_ready(self->of)) {
        hki_queue *queue = runtime->queues[self->next];
        self->next = (self->next + 1) % runtime->queue_count;
        if (!atomic_load(&queue->is_told) || !atomic_exchange(&queue->is_told, false))
            continue;
        atomic_fetch_sub(&self->of->told_count, 1);
        if (atomic_exchange(&queue->launching, true))
            continue; /* who is at it looks again */
        if (hki_accelerator_may_launch(queue))
            return queue;
        queue_leave(queue);
    }
    return NULL;
}

/* ---- the threads ---------------------------------------------------------------------------------------------- */

/* Or never will be. */
static bool is_ready(void *launchers)
{
    hki_launchers *self = launchers;
    return atomic_load(&self->runtime->ended) || is_any_ready(self) || has_works(self);
}

/* False: the runtime is ending. */
static bool wait_for_queue(hki_launchers *self)
{
    bool rested = false;
    for (; !is_ready(self); rested = true)
        hki_park_sleep(&self->park, is_ready, self);
    if (rested)
        hki_park_be_watched(&self->park);
    return !atomic_load(&self->runtime->ended);
}

/* Others look for what comes meanwhile, where that may take long; and are called where launches have come to more than
 * calling them takes. True: see hki_accelerator_launch. */
static bool launch(launcher *self, hki_executor *executor, hki_queue *queue)
{
    hki_launchers *all = self->of;
    hki_task *task = hki_queue_pop(queue, NULL, INT64_MAX).task;
    if (!task)
        return false;
    const bool is_long = queue->launch_ticks > HKI_LONG_TASK_TICKS ||
                         task->spec.expected_ns > HKI_LONG_TASK_NS ||
                         task->spec.cost.copy_bytes > LONG_COPY_BYTES;
    if (is_long) {
        hki_park_leave(&all->park);
        if (is_any_ready(all))
            hki_park_wake(&all->park);
    }
    const uint64_t begin = hki_ticks();
    const bool has_ended = hki_accelerator_launch(executor, queue, task);
    queue->launch_ticks = hki_ticks() - begin;
    if (is_long)
        hki_park_attend(&all->park);
    if (queue->launch_ticks > BRIEF_TICKS)
        self->at_work += queue->launch_ticks;
    if (self->at_work > HKI_LONG_TASK_TICKS) {
        self->at_work = 0;
        if (is_any_ready(all))
            hki_park_wake(&all->park);
    }
    return has_ended;
}

static void *launcher_main(void *argument)
{
    launcher *self = argument;
    hki_launchers *all = self->of;
    hki_runtime *runtime = all->runtime;
    hki_executor executor = {0};
    hki_queue *lender;
    hki_tracing_name_launcher(self->index);
    hki_accelerator_pin(runtime);
    hki_park_attend(&all->park);
    while (wait_for_queue(all)) {
        if (!core_acquire(self, &lender))
            break;
        hki_queue *queue = queue_take(self);
        if (queue) {
            bool has_ended = launch(self, &executor, queue);
            queue_leave(queue);
            if (has_ended)
                hki_clock_help(&executor, runtime);
        } else if (!hki_works_help(put_offs_of(all))) {
            hki_works_compute_at_rest(put_offs_of(all), (int)all->park.threads);
        }
        if (lender)
            hki_queue_release_core(lender); /* CPU devices come first */
    }
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

static bool is_ours(const hki_queue *queue)
{
    return queue->is_accelerator && queue->worker_count == 0;
}

bool hki_launchers_start(hki_runtime *runtime)
{
    const int cores = runtime->scheduler->launch_cores.count
                          ? runtime->scheduler->launch_cores.count
                          : runtime->scheduler->core_count;
    int queues = 0;
    for (int i = 0; i < runtime->queue_count; i++)
        queues += is_ours(runtime->queues[i]);
    if (!queues)
        return true;
    const int count = queues < cores ? queues : cores;
    hki_launchers *self = runtime->accelerators->launchers =
        hki_zeroed_lines(sizeof *self + (size_t)count * sizeof *self->threads);
    if (!self)
        return false;
    self->runtime = runtime;
    self->park.threads = (uint32_t)count;
    if (put_offs_of(self))
        put_offs_of(self)->park = &self->park;
    for (int i = 0; i < runtime->queue_count; i++)
        if (is_ours(runtime->queues[i])) {
            runtime->queues[i]->launchers = self;
            runtime->queues[i]->notify = notify;
        }
    bool started = true;
    for (int i = 0; i < count && started; i++) {
        launcher *it = &self->threads[i];
        *it = (launcher){.of = self, .index = i};
        started = !pthread_create(&it->thread, NULL, launcher_main, it);
        self->count += started;
    }
    return started;
}

void hki_launchers_stop(hki_runtime *runtime)
{
    hki_launchers *self = runtime->accelerators->launchers;
    if (!self)
        return;
    hki_futex_bump(&self->park.wake_word, INT32_MAX);
    for (; self->count > 0; self->count--)
        pthread_join(self->threads[self->count - 1].thread, NULL);
}
