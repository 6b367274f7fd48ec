/* Holds: a range of bytes that the program itself reads or writes for a while, by a wait that does not end. Calls that conflict
 * with it stay behind it. In the serial engine, where calls run at once, it holds nothing back. Thread-safe. */
#include "engine/sched/ring.h"
#include "engine/wait/wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_VISITS = 1024 };

struct hki_range_hold {
    hki_range_hold *next;
    hki_task *task;       /* NULL: it has ended, or is the serial engine's */
    hki_runtime *runtime; /* counted */
    const void *thread;
    hk_source source;
};

/* ---- who waits for whom -------------------------------------------------------------------------------- */

/* In place of a task: any thread's wait. */
static const char any_wait;
#define ANY_WAIT ((const hki_task *)(const void *)&any_wait)

static bool is_meant(const hki_task *it, const hki_task *task, const hki_device *device)
{
    return task == ANY_WAIT ? it->is_wait
           : task           ? it == task
                            : !it->is_wait && (!device || it->spec.device == device);
}

/* What is behind a hold cannot start, so that lists of those who wait for it only grow. Expects that the thread keeps order. */
static bool reaches(hki_task *from, const hki_task *task, const hki_device *device, int *visits)
{
    hki_gate **gates = hki_task_registered(from);
    for (int i = 0; i < from->registered_count; i++) {
        hki_wait_node *node = atomic_load_explicit(&gates[i]->waiters, memory_order_acquire);
        for (; node && node != HKI_GATE_OPEN && ++*visits < MAX_VISITS; node = node->next)
            if (is_meant(node->task, task, device) || reaches(node->task, task, device, visits))
                return true;
    }
    return false;
}

const hk_status *hki_holds_block(hki_runtime *runtime, const hki_task *task,
                                 const hki_device *device)
{
    const hk_status *status = NULL;
    hki_lock_acquire(&runtime->holds_lock);
    for (hki_range_hold *hold = runtime->holds; hold && !status; hold = hold->next) {
        int visits = 0;
        if (!hold->task || hold->thread != &hki_this_thread)
            continue;
        hki_ring_acquire(runtime);
        const bool found = reaches(hold->task, task, device, &visits);
        hki_biased_release(&runtime->issue_lock);
        if (!found)
            continue;
        const hki_status_facts facts = {
            .operation = "data_borrow", .file = hold->source.file, .line = hold->source.line};
        status = hki_status_create(HK_WOULD_DEADLOCK, &facts,
                                   "what is waited for comes behind data that this thread has "
                                   "borrowed; hk_data_return it first");
    }
    hki_lock_release(&runtime->holds_lock);
    return status;
}

bool hki_task_is_awaited(hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    int visits = 0;
    if (runtime->serial)
        return hki_runtime_is_awaited(runtime);
    if (atomic_load_explicit(&runtime->drains, memory_order_relaxed))
        return true;
    hki_ring_acquire(runtime);
    const bool found = reaches(task, ANY_WAIT, NULL, &visits);
    hki_biased_release(&runtime->issue_lock);
    return found;
}

/* ---- beginning and ending ------------------------------------------------------------------------------ */

const hk_status *hki_range_hold_begin(const hki_waiting *what, bool writes, hki_range_hold **result)
{
    hki_runtime *runtime = what->var->runtime;
    *result = NULL;
    if (!hki_runtime_alive(runtime))
        return hki_runtime_gone(runtime);
    if (hki_in_task())
        return hki_would_deadlock("data_borrow");
    hki_range_hold *hold = malloc(sizeof *hold);
    if (!hold)
        return hk_status_retain(hki_status_no_memory());
    *hold = (hki_range_hold){
        .runtime = runtime, .thread = &hki_this_thread, .source = hki_source_get()};
    const hk_status *status =
        runtime->serial ? hki_wait_with(what) : hki_wait_hold(what, writes, &hold->task);
    if (!hk_ok(status)) {
        free(hold);
        return status;
    }
    if (runtime->serial && writes)
        hki_wait_note_write(what);
    hki_runtime_retain(runtime);
    hki_lock_acquire(&runtime->holds_lock);
    hold->next = runtime->holds;
    runtime->holds = hold;
    hki_lock_release(&runtime->holds_lock);
    *result = hold;
    return status;
}

void hki_range_hold_end(hki_range_hold *hold)
{
    hki_runtime *runtime = hold->runtime;
    if (!hki_runtime_is_here(runtime)) { /* a parent's is left alone */
        free(hold);
        return;
    }
    hki_lock_acquire(&runtime->holds_lock);
    hki_range_hold **link = &runtime->holds;
    while (*link != hold)
        link = &(*link)->next;
    *link = hold->next;
    hki_lock_release(&runtime->holds_lock);
    if (hold->task)
        hki_wait_end(hold->task);
    hki_runtime_release(runtime);
    free(hold);
}

static hki_task *take_task(hki_runtime *runtime, hk_source *source)
{
    hki_task *task = NULL;
    hki_lock_acquire(&runtime->holds_lock);
    for (hki_range_hold *hold = runtime->holds; hold && !task; hold = hold->next)
        if (hold->task) {
            task = hold->task;
            *source = hold->source;
            hold->task = NULL;
        }
    hki_lock_release(&runtime->holds_lock);
    return task;
}

void hki_holds_end_all(hki_runtime *runtime)
{
    hk_source source;
    for (hki_task *task; (task = take_task(runtime, &source)); hki_wait_end(task))
        fprintf(stderr, "hocket: data that was borrowed at %s:%d had not been returned\n",
                source.file ? source.file : "?", source.line);
}
