#include "engine/wait/help.h"

#include <sched.h>

enum {
    BUSY_SPIN_NS = 5000, /* where no core is free: for tasks that end any moment */
    SPINS = 16
};

/* ---- running something ----------------------------------------------------------------------------------------------- */

static bool acquire(hki_queue *queue)
{
    if (!hki_queue_acquire_core(queue))
        return false;
    atomic_store_explicit(&queue->has_issuer, true, memory_order_relaxed);
    atomic_store_explicit(&queue->helper, 1 + sched_getcpu(), memory_order_relaxed);
    return true;
}

static void release(hki_queue *queue)
{
    atomic_store_explicit(&queue->helper, 0, memory_order_relaxed);
    hki_queue_release_core(queue);
}

void hki_help_with(hki_task *task)
{
    hki_queue *queue = hki_task_home(task);
    if (!acquire(queue)) {
        hki_queue_push(task);
        return;
    }
    hki_claim claim = {task, -1};
    do
        hki_execute_foreign(claim);
    while ((claim = hki_queue_take_piece(queue, task)).task);
    release(queue);
}

/* Runs what is ready in the queue and not expected to take more than most_ns, if nobody else is going to, and a core of the
 * device is free. The core is kept while there is something to run: a worker that got it in between would be a thread more than
 * there are cores, and stand in the way of one at work. */
static bool help_queue(hki_queue *queue, int64_t most_ns, hki_queue **kept)
{
    if (*kept != queue) {
        if (!hki_queue_wants_help(queue) || !acquire(queue))
            return false;
    }
    const hki_claim claim = hki_queue_pop(queue, NULL, most_ns);
    *kept = claim.task ? queue : NULL;
    if (claim.task) {
        atomic_fetch_add_explicit(&queue->runtime->scheduler->helped_calls, 1,
                                  memory_order_relaxed);
        hki_execute_foreign(claim);
        /* No worker will come for what has become ready by that. */
        if (atomic_load(&queue->runtime->ended))
            hki_cancel_all(queue->runtime);
    } else {
        release(queue);
    }
    return claim.task;
}

static bool help(hki_runtime *runtime, int64_t most_ns, hki_queue **kept)
{
    if (*kept && help_queue(*kept, most_ns, kept))
        return true;
    bool helped = false;
    for (int i = 0; i < runtime->scheduler->home_count && !helped; i++)
        helped = help_queue(runtime->queues[i], most_ns, kept);
    return helped;
}

/* ---- waiting --------------------------------------------------------------------------------------------------------- */

/* A thread that spins longer takes the core from a worker otherwise, and that worker's device behind all others. */
static bool may_spin(hki_runtime *runtime, int64_t so_far_ns)
{
    if (so_far_ns < BUSY_SPIN_NS || so_far_ns >= runtime->scheduler->spin_ns)
        return so_far_ns < runtime->scheduler->spin_ns;
    bool found = false;
    for (int i = 0; i < runtime->scheduler->home_count && !found; i++)
        found = atomic_load_explicit(&runtime->queues[i]->free_cores, memory_order_relaxed) > 0;
    return found;
}

static bool is_over(const void *help)
{
    const hki_help *self = help;
    return self->left(self->what) == 0;
}

static void sleep_once(const hki_help *self, int64_t left_ns)
{
    hki_scheduler *scheduler = self->runtime->scheduler;
    for (int i = 0; i < scheduler->home_count; i++)
        atomic_store_explicit(&self->runtime->queues[i]->has_issuer, false, memory_order_relaxed);
    if (self->wait) {
        uint32_t expected = 0;
        if (atomic_compare_exchange_strong(&self->wait->signalled, &expected, HKI_SLEEPING) ||
            expected == HKI_SLEEPING)
            hki_futex_wait(&self->wait->signalled, HKI_SLEEPING,
                           self->blocking && self->blocking->hooks ? HKI_LOOK_NS : -1);
        return;
    }
    atomic_fetch_add(&scheduler->sleepers, 1);
    const uint32_t seen = atomic_load(&scheduler->progress);
    if (!is_over(self)) /* a worker that never runs out of tasks does not wake us */
        hki_futex_wait(&scheduler->progress, seen,
                       left_ns < HKI_LOOK_AGAIN_NS ? left_ns : HKI_LOOK_AGAIN_NS);
    atomic_fetch_sub(&scheduler->sleepers, 1);
}

static void spin(const hki_help *self)
{
    for (int i = 0; i < SPINS && !(self->wait && is_over(self)); i++)
        hki_relax();
}

/* False: its patience has come to its end, or the blocking wait is to be left. */
static bool help_on(const hki_help *self, hki_queue **kept)
{
    hki_runtime *runtime = self->runtime;
    int64_t awake_since = hki_clock_ns(), latest = awake_since;
    uint64_t left, least = UINT64_MAX;
    while ((left = self->left(self->what)) > 0) {
        int64_t now = hki_clock_ns();
        if (hki_blocking_look(self->blocking, now))
            return false;
        if (self->most_ns >= 0 && help(runtime, self->most_ns, kept)) {
            awake_since = hki_clock_ns();
            continue;
        }
        if (left < least) {
            least = left;
            latest = now;
        }
        const int64_t left_ns = self->patience_ns - (now - latest);
        if (left_ns <= 0)
            return false;
        if (may_spin(runtime, now - awake_since))
            spin(self);
        else
            sleep_once(self, left_ns);
    }
    return true;
}

bool hki_help_until(const hki_help *self)
{
    hki_runtime *runtime = self->runtime;
    hki_queue *kept = NULL; /* whose core this thread has */
    if (self->blocking && self->patience_ns > 0 && hki_blocking_is_told() && !is_over(self))
        hki_blocking_begin(self->blocking);
    if (hki_lease_before_wait(runtime, self->lease, is_over, self))
        return true;
    /* The clock of accelerators, and the link to other processes, stay awake meanwhile. */
    atomic_fetch_add(&runtime->scheduler->waiters, 1);
    const bool is_done = help_on(self, &kept);
    atomic_fetch_sub(&runtime->scheduler->waiters, 1);
    if (kept)
        release(kept);
    return is_done;
}
