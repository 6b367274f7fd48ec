/* A microsecond or two of a task, shared with threads that spin anyway: they see it in the line that they look at, and
 * nobody is woken. One task at a time shares; the others do alone what they have. */
#include "engine/engine_internal.h"

/* Lies on the stack of the thread that shares. */
struct hki_sharing {
    hki_queue *queue;
    void (*run)(void *argument, int64_t part);
    void *argument;
    int64_t count;
    _Atomic(int64_t) taken;
    atomic_int helpers; /* the last that they touch here */
};

static void await_none(atomic_int *count)
{
    for (unsigned times = 0; atomic_load(count) > 0;)
        hki_relax_or_yield(&times);
}

/* Whoever takes the last part says that there is nothing left. */
static void take_parts(hki_runtime *runtime, hki_sharing *sharing)
{
    int64_t part;
    while ((part = atomic_fetch_add_explicit(&sharing->taken, 1, memory_order_relaxed)) <
           sharing->count) {
        hki_sharing *expected = sharing;
        if (part + 1 == sharing->count)
            atomic_compare_exchange_strong(&runtime->sharing, &expected, NULL);
        sharing->run(sharing->argument, part);
    }
}

void hki_task_share(hki_task *task, int64_t count, void (*run)(void *argument, int64_t part),
                    void *argument)
{
    hki_runtime *runtime = task->runtime;
    hki_sharing own = {
        .queue = hki_task_queue(task), .run = run, .argument = argument, .count = count};
    hki_sharing *none = NULL;
    const bool is_open =
        count > 1 && !runtime->serial &&
        atomic_load_explicit(&own.queue->budget->free_cores, memory_order_relaxed) > 0 &&
        atomic_compare_exchange_strong(&runtime->sharing, &none, &own);
    take_parts(runtime, &own);
    if (!is_open)
        return;
    /* Nobody finds it any more. Who has found it, but is not yet counted in it, is counted in sharing_visitors. */
    await_none(&runtime->sharing_visitors);
    await_none(&own.helpers);
}

void hki_sharing_join(hki_runtime *runtime)
{
    if (!hki_environment_is_default()) /* a caller's: results would be others */
        return;
    atomic_fetch_add(&runtime->sharing_visitors, 1);
    hki_sharing *sharing = atomic_load(&runtime->sharing);
    if (sharing)
        atomic_fetch_add(&sharing->helpers, 1);
    atomic_fetch_sub(&runtime->sharing_visitors, 1);
    if (!sharing)
        return;
    hki_queue *queue = sharing->queue;
    if (hki_budget_try_acquire(queue->budget)) {
        take_parts(runtime, sharing);
        hki_budget_release(queue);
    }
    atomic_fetch_sub(&sharing->helpers, 1);
}
