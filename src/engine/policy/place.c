/* Handing a task over takes the way to a worker that looks for work, and back. That is measured, since it differs by machine
 * tenfold. Where no worker answers, because all are at something long or have lost their cores, it is tried again later. */
#include "engine/policy/place.h"

#include "base/integer.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum {
    PROBES = 15,
    PROBES_NEEDED = 5,
    TRIES = 20,          /* then it cannot be measured here: there may be one core for all */
    PROBING_NS = 300000, /* in all, at most */
    MOST_NS = HKI_LONG_TASK_NS,
    UNMEASURED_NS = 4000,                    /* while, or where, it cannot be measured */
    PAUSE_TICKS = 500 * HKI_LONG_TASK_TICKS, /* before it is tried again: some 10 ms */
    CHAIN_PAUSE = 4096 /* tasks before a thread's tasks may count as a chain again */
};

_Thread_local hki_issuer hki_this_issuer;

hki_placement *hki_placement_create(int64_t inline_ns)
{
    hki_placement *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->is_fixed = inline_ns != 0;
    atomic_store(&self->inline_ns, inline_ns);
    atomic_store(&self->inline_short_ns, inline_ns);
    return self;
}

/* ---- measuring ------------------------------------------------------------------------------------------------------- */

static void probe_finish(hki_task *task, void *payload)
{
    (void)payload;
    atomic_fetch_add_explicit(&task->runtime->placement->probes_finished, 1, memory_order_release);
}

/* A task without a place in the order of calls. False: no memory. */
static bool probe_push(hki_queue *queue)
{
    static const hki_task_class probe_class = {.finish = probe_finish};
    hki_task *task = hki_slot_get(queue->runtime, 0, 0);
    if (!task)
        return false;
    task->spec.class = &probe_class;
    task->spec.device = queue->device;
    task->spec.piece_count = 1;
    task->spec.expected_ns = 0;
    task->spec.collective = false;
    task->spec.queue = HKI_QUEUE_COMPUTE;
    queue->runtime->placement->probes_pushed++;
    hki_queue_push(queue, task);
    return true;
}

/* One that took too long may be in the queue still. */
static bool are_probes_finished(hki_placement *self)
{
    return atomic_load_explicit(&self->probes_finished, memory_order_acquire) ==
           self->probes_pushed;
}

/* Pushes one probe and waits for it: how long that took; -1: too long, and it finishes later, unnoticed. */
static int64_t probe(hki_queue *queue, int64_t until_ns)
{
    const int64_t begin_ns = hki_clock_ns();
    int64_t now_ns;
    if (!probe_push(queue))
        return -1;
    do
        now_ns = hki_clock_ns();
    while (!are_probes_finished(queue->runtime->placement) && now_ns < until_ns);
    return now_ns < until_ns ? now_ns - begin_ns : -1;
}

static int compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* A quarter from the least on, for a thread may lose its core at any moment; 0: the workers do not answer. */
static int64_t measure(hki_queue *queue)
{
    int64_t took_ns[PROBES], ns;
    const int64_t until_ns = hki_clock_ns() + PROBING_NS;
    int count = 0;
    for (int i = 0; i < PROBES && (ns = probe(queue, until_ns)) >= 0; i++)
        if (i > 0) /* the first may have had to wake a worker */
            took_ns[count++] = ns;
    if (count < PROBES_NEEDED)
        return 0;
    qsort(took_ns, (size_t)count, sizeof *took_ns, compare);
    ns = took_ns[count / 4];
    return ns < 1 ? 1 : ns > MOST_NS ? MOST_NS : ns;
}

static void set_limits(hki_placement *self, int64_t inline_ns, int64_t short_ns)
{
    atomic_store_explicit(&self->inline_short_ns, short_ns, memory_order_release);
    atomic_store_explicit(&self->inline_ns, inline_ns, memory_order_release);
}

static void try_to_measure(hki_queue *queue)
{
    hki_placement *self = queue->runtime->placement;
    if (!are_probes_finished(self) || atomic_load_explicit(&self->inline_ns, memory_order_relaxed))
        return;
    const int64_t way_ns = measure(queue);
    if (way_ns) /* tasks below HKI_INSTANT_NS do not run beside each other */
        set_limits(self, hki_max(way_ns, HKI_DIRECT_NS),
                   hki_max(way_ns / HKI_PLACE_DIVISOR, HKI_INSTANT_NS));
    else if (++self->probe_tries == TRIES)
        set_limits(self, UNMEASURED_NS, UNMEASURED_NS);
}

/* One thread at a time measures; not in a task, which may have the only core; not into a recording; not while a probe
 * shows that no worker has come since the last time. */
static void measure_if_due(hki_queue *queue)
{
    hki_runtime *runtime = queue->runtime;
    hki_placement *self = runtime->placement;
    bool expected = false;
    if (hki_ticks() < atomic_load_explicit(&self->probe_ticks, memory_order_relaxed) ||
        hki_in_task() || hki_tracing(runtime) ||
        !atomic_compare_exchange_strong(&self->is_probing, &expected, true))
        return;
    try_to_measure(queue);
    atomic_store_explicit(&self->probe_ticks, hki_ticks() + PAUSE_TICKS, memory_order_relaxed);
    atomic_store(&self->is_probing, false);
}

static int64_t limit_ns(hki_queue *queue, bool is_short)
{
    hki_placement *self = queue->runtime->placement;
    _Atomic(int64_t) *limit = is_short ? &self->inline_short_ns : &self->inline_ns;
    int64_t ns = atomic_load_explicit(limit, memory_order_acquire);
    if (!ns) {
        measure_if_due(queue);
        ns = atomic_load_explicit(limit, memory_order_acquire);
    }
    return ns ? ns : UNMEASURED_NS;
}

/* ---- what a thread's tasks are like ---------------------------------------------------------------------------------- */

void hki_place_note_wait(const hki_var *var)
{
    hki_issuer *self = &hki_this_issuer;
    const uint64_t submitted = hki_this_thread.submitted_count;
    const uint64_t tasks = submitted - self->waited_count;
    self->waited_count = submitted;
    if (tasks == 1 && (!var || var == self->latest_var))
        self->lone_waits++;
    else if (tasks > 0)
        self->lone_waits = 0;
}

/* Notes what the thread is submitting. */
static void note_task(hki_issuer *self, const hki_task_spec *spec)
{
    const hki_var *written = NULL;
    bool needs_latest = false;
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        needs_latest = needs_latest || access->var == self->latest_var;
        if (access->mode & HKI_WRITE && !written)
            written = access->var;
    }
    if (self->chain_length < 0 || needs_latest)
        self->chain_length += self->chain_length < HKI_CHAIN_LENGTH;
    else
        self->chain_length = 0;
    self->latest_var = written;
}

/* It has waited for the one task that it had submitted time after time, and is going to wait for this one, too: then it had
 * better run it itself, in a cache that has seen the others. Only what takes no longer than waking a worker does; a program
 * that does not wait any more is held up by one such task. */
static bool waits_for_each(const hki_issuer *self, const hki_task_spec *spec)
{
    return self->lone_waits >= HKI_SYNC_WAITS && spec->expected_ns <= HKI_SPIN_NS &&
           hki_this_thread.submitted_count == self->waited_count + 1;
}

/* Until what was issued has finished, while tasks finish; half a millisecond at most. */
static bool await_quiet(hki_runtime *runtime)
{
    enum { ALL_NS = 10 * HKI_SPIN_NS, PATIENCE_NS = 2 * HKI_SPIN_NS };
    const uint64_t issued = atomic_load_explicit(&runtime->issued_tasks, memory_order_relaxed);
    const int64_t begin_ns = hki_clock_ns();
    int64_t now_ns = begin_ns, latest_ns = begin_ns;
    uint64_t finished = hki_counted_tasks(runtime);
    while (finished < issued && now_ns - begin_ns < ALL_NS && now_ns - latest_ns < PATIENCE_NS) {
        sched_yield(); /* a worker may need the core */
        const uint64_t before = finished;
        finished = hki_counted_tasks(runtime);
        now_ns = hki_clock_ns();
        latest_ns = finished == before ? latest_ns : now_ns;
    }
    return finished >= issued;
}

/* A worker is of no use for a chain, and takes longer for it. What has been handed over must have finished, for what runs
 * here would have to be registered otherwise, and all that follows from it. */
static bool is_chain(hki_issuer *self, hki_runtime *runtime)
{
    if (self->chain_length < HKI_CHAIN_LENGTH || hki_in_task())
        return false;
    if (hki_ring_is_empty(runtime->ring) || await_quiet(runtime))
        return true;
    self->chain_length = -CHAIN_PAUSE;
    return false;
}

/* ---- the answer ------------------------------------------------------------------------------------------------------ */

/* A worker that is looking for work finds it in the ring. Nobody is woken just to register what may have to wait; what is
 * short needs no registering. */
static hki_place place_for_worker(hki_queue *queue, const hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    if (!runtime->ring || task->spec.collective)
        return HKI_PLACE_QUEUE;
    const bool is_awake =
        atomic_load_explicit(&runtime->scheduler->attentive, memory_order_relaxed) > 0;
    const bool may_wake =
        hki_task_is_short(task) && (hki_park_has_sleepers(queue->park) || hki_lease_rests(runtime));
    return is_awake || may_wake ? HKI_PLACE_RING : HKI_PLACE_QUEUE;
}

hki_place hki_place_slow(const hki_task *task, bool is_usual_environment)
{
    hki_runtime *runtime = task->runtime;
    hki_issuer *issuer = &hki_this_issuer;
    const hki_task_spec *spec = &task->spec;
    hki_queue *queue = hki_task_queue(task);
    if (queue->is_accelerator || spec->piece_count > 1 || spec->collective)
        return place_for_worker(queue, task);
    const bool is_short = runtime->ring && hki_task_is_short(task);
    const hki_place here =
        hki_is_brief(task) && is_usual_environment ? HKI_PLACE_AT_ONCE : HKI_PLACE_HERE;
    const bool is_fixed = runtime->placement->is_fixed;
    note_task(issuer, spec);
    if (!is_fixed && waits_for_each(issuer, spec))
        return here;
    if (spec->expected_ns > HKI_LONG_TASK_NS && !is_fixed)
        return place_for_worker(queue, task);
    if (spec->expected_ns <= limit_ns(queue, is_short))
        return here;
    if (!is_fixed && is_short && spec->expected_ns <= limit_ns(queue, false) &&
        is_chain(issuer, runtime))
        return here;
    return place_for_worker(queue, task);
}
