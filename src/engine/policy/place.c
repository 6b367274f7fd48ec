/* Handing a task over costs the way to a worker and back, which differs by machine; but from what size on that pays does not
 * differ by much, so the limits are constants. */
#include "engine/policy/place.h"

#include "device/cpu/cpu_topology.h"

/* What a thread's tasks of late were like. */
typedef struct history {
    const hki_var *latest_var; /* that the latest task writes which might not have run here */
    uint64_t waited_count;     /* hki_thread.submitted_count when it waited last */
    uint32_t lone_waits;       /* in a row, each after one task and for what it writes */
    int chain_length; /* tasks in a row that needed the one before; HKI_CHAIN_LENGTH at most */
} history;

static _Thread_local history this_thread;

void hki_placement_init(hki_placement *self, int64_t inline_ns)
{
    int processors[HKI_MAX_CORES];
    const bool is_alone = hki_cpu_cores(processors) == 1; /* a worker has no core of its own */
    self->is_fixed = inline_ns != 0;
    self->inline_ns = inline_ns ? inline_ns : is_alone ? HKI_ONE_CORE_NS : HKI_HERE_NS;
    self->inline_short_ns = inline_ns ? inline_ns : is_alone ? HKI_ONE_CORE_NS : HKI_HERE_SHORT_NS;
}

void hki_place_note_wait(const hki_var *var)
{
    history *self = &this_thread;
    const uint64_t submitted = hki_this_thread.submitted_count;
    const uint64_t tasks = submitted - self->waited_count;
    self->waited_count = submitted;
    if (tasks == 1 && (!var || var == self->latest_var))
        self->lone_waits++;
    else if (tasks > 0)
        self->lone_waits = 0;
}

/* Notes what the thread is submitting. */
static void note_task(history *self, const hki_task_spec *spec)
{
    const hki_var *written = NULL;
    bool needs_latest = false;
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        needs_latest = needs_latest || access->var == self->latest_var;
        if (access->mode & HKI_WRITE && !written)
            written = access->var;
    }
    if (!needs_latest)
        self->chain_length = 0;
    else if (self->chain_length < HKI_CHAIN_LENGTH)
        self->chain_length++;
    self->latest_var = written;
}

/* It has waited for the one task that it had submitted time after time, and is going to wait for this one, too: then it had
 * better run it itself, in a cache that has seen the others. Only what takes no longer than waking a worker does, or, where
 * a worker has no core beside the thread or takes pieces beside it, ten times as long. A program that does not wait any more
 * is held up by one such task. */
static bool waits_for_each(const history *self, const hki_task *task)
{
    const bool is_alone = task->runtime->scheduler->core_count == 1;
    const bool is_shared = task->spec.piece_count > 1;
    return self->lone_waits >= HKI_SYNC_WAITS &&
           task->spec.expected_ns <= (is_alone || is_shared ? HKI_HELP_NS : HKI_SPIN_NS) &&
           hki_this_thread.submitted_count == self->waited_count + 1;
}

/* ---- the answer ------------------------------------------------------------------------------------------------------ */

/* A worker that is looking for work finds it in the ring. Nobody is woken just to register what may have to wait; what is
 * short needs no registering. */
static hki_place place_for_worker(hki_queue *queue, const hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    if (!runtime->ring || task->spec.collective || task->spec.priority)
        return HKI_PLACE_QUEUE;
    const bool may_wake = hki_task_is_short(task) &&
                          (hki_park_has_sleepers(&queue->home->park) || hki_lease_rests(runtime));
    return may_wake || hki_workers_are_attentive(runtime) ? HKI_PLACE_RING : HKI_PLACE_QUEUE;
}

hki_place hki_place_slow(const hki_task *task, bool is_usual_environment)
{
    hki_runtime *runtime = task->runtime;
    const hki_placement *self = runtime->placement;
    history *issuer = &this_thread;
    const hki_task_spec *spec = &task->spec;
    hki_queue *queue = hki_task_queue(task);
    if (queue->is_accelerator || spec->collective)
        return place_for_worker(queue, task);
    const bool is_short = runtime->ring && hki_task_is_short(task);
    const hki_place here =
        hki_is_brief(task) && is_usual_environment ? HKI_PLACE_AT_ONCE : HKI_PLACE_HERE;
    note_task(issuer, spec);
    if (!self->is_fixed && waits_for_each(issuer, task))
        return here;
    if (spec->piece_count > 1)
        return place_for_worker(queue, task);
    if (spec->expected_ns <= (is_short ? self->inline_short_ns : self->inline_ns))
        return here;
    /* A worker is of no use for a chain, and takes longer for it. */
    if (!self->is_fixed && is_short && spec->expected_ns <= self->inline_ns &&
        issuer->chain_length == HKI_CHAIN_LENGTH && !hki_in_task())
        return here;
    return place_for_worker(queue, task);
}
