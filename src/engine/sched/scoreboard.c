#include "engine/sched/scoreboard.h"

#include "engine/core/score.h"
#include "engine/sched/tracing.h"

_Static_assert((int)HKI_MAX_CORES < (int)HKI_ANY_WORKER, "see hki_score_note");

/* A task that names a variable twice finds itself there. */
static void note_distance(hki_ring *ring, uint64_t noted, uint64_t position)
{
    const uint64_t before = noted >> HKI_WORKER_BITS;
    if (before && before != position &&
        position - before < atomic_load_explicit(&ring->distance, memory_order_relaxed))
        atomic_store_explicit(&ring->distance, position - before, memory_order_relaxed);
}

/* Whether it may be taken as far as other batches go. */
static bool is_passed(hki_executor *executor, const hki_task *task)
{
    const hki_runtime *runtime = executor->queue->runtime;
    const hki_task_spec *spec = &task->spec;
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        const hki_var *var = access->var;
        executor->is_stalled = hki_score_is_pending(runtime, var->scored_write, executor->slot) ||
                               (access->mode & HKI_WRITE &&
                                hki_score_is_pending(runtime, var->scored_read, executor->slot));
        if (executor->is_stalled)
            return false;
    }
    return true;
}

static bool has_gates_in_the_way(const hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        if (access->var->gates && !hki_gates_are_open_locked(access->var, hki_access_range(access),
                                                             access->mode & HKI_WRITE))
            return true;
    }
    return false;
}

/* The first of a batch. */
static void begin_batch(hki_ring *ring, hki_score *score, uint64_t position)
{
    const uint64_t distance = atomic_load_explicit(&ring->distance, memory_order_relaxed);
    if (distance < HKI_MOST_DISTANCE)
        atomic_store_explicit(&ring->distance, distance + 1, memory_order_relaxed);
    atomic_store_explicit(&score->first, position, memory_order_relaxed);
}

static void take(hki_executor *executor, hki_task *task, uint64_t position)
{
    hki_runtime *runtime = executor->queue->runtime;
    hki_ring *ring = runtime->ring;
    const hki_task_spec *spec = &task->spec;
    if (executor->batch_count == 0)
        begin_batch(ring, &runtime->scores[executor->slot], position);
    const uint64_t own = hki_score_note(position, executor->slot),
                   anybody = hki_score_note(position, HKI_ANY_WORKER);
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        hki_var *var = access->var;
        note_distance(ring, var->scored_write, position);
        if (access->mode & HKI_WRITE) {
            note_distance(ring, var->scored_read, position);
            var->scored_write = own;
        } else {
            const bool others = hki_score_is_pending(runtime, var->scored_read, executor->slot);
            var->scored_read = others ? anybody : own;
        }
    }
    executor->batch[executor->batch_count++] = task;
    executor->batch_ns += spec->expected_ns;
}

static void run(hki_executor *executor, hki_task *task)
{
    hki_task_run_whole(executor->queue->runtime, task);
    hki_executor_put(executor, task);
}

hki_scored hki_scoreboard_try(hki_executor *executor, hki_task *task, uint64_t position)
{
    /* One that is registered in part, because batches were in the way, has gates that others wait for. */
    if (!hki_task_is_short(task) || task->is_half_registered ||
        hki_tracing(executor->queue->runtime))
        return HKI_SCORED_NOT;
    if (!is_passed(executor, task))
        return HKI_SCORED_STALLED;
    if (has_gates_in_the_way(task))
        return HKI_SCORED_NOT;
    if (executor->batch_count > 0 || task->spec.expected_ns > HKI_INSTANT_NS) {
        take(executor, task, position);
        return HKI_SCORED_TAKEN;
    }
    run(executor, task);
    return HKI_SCORED_RUN;
}

bool hki_batch_is_full(const hki_executor *executor)
{
    const hki_runtime *runtime = executor->queue->runtime;
    const uint64_t workers = (uint64_t)runtime->scheduler->core_count;
    /* Where each waits for the one before there is nothing to share. */
    const uint64_t distance = atomic_load_explicit(&runtime->ring->distance, memory_order_relaxed);
    const uint64_t share = distance == 1 ? HKI_BATCH_TASKS : (distance + workers - 1) / workers;
    return executor->batch_count == HKI_BATCH_TASKS || (uint64_t)executor->batch_count >= share ||
           executor->batch_ns >= HKI_BATCH_NS;
}

void hki_batch_run(hki_executor *executor)
{
    hki_score *score = &executor->queue->runtime->scores[executor->slot];
    uint64_t position = atomic_load_explicit(&score->first, memory_order_relaxed);
    const int count = executor->batch_count;
    for (int i = 0; i < count; i++) {
        run(executor, executor->batch[i]);
        atomic_store_explicit(&score->first, i + 1 < count ? ++position : UINT64_MAX,
                              memory_order_release);
    }
    executor->batch_count = 0;
    executor->batch_ns = 0;
}

void hki_batch_gather(int taken)
{
    if (taken == 0 || taken >= HKI_BATCH_TASKS)
        return;
    for (const uint64_t begin = hki_ticks(); hki_ticks() - begin < HKI_GATHER_TICKS;)
        hki_relax();
}
