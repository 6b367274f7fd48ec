/* What becomes of a task: how it starts, runs, fails and settles. Who runs it where is for the rooms above. */
#include "engine/core/slot.h"

static _Thread_local const hki_blame *task_blame;

bool hki_in_task(void)
{
    return hki_this_thread.task_depth > 0;
}

/* ---- running -------------------------------------------------------------------------------------------- */

void hki_task_blame(const hki_blame *blame)
{
    task_blame = blame;
}

bool hki_task_has_failed(hki_task *task)
{
    const hk_status *failure = hki_task_failure(task);
    hk_status_release(failure);
    return failure;
}

const hk_status *hki_task_failure(hki_task *task)
{
    hki_lock_acquire(&task->failure_lock);
    const hk_status *failure = task->failure ? task->failure : task->input_failure;
    hk_status_retain(failure);
    hki_lock_release(&task->failure_lock);
    return failure;
}

static const hk_status *record_va(const hki_task *task, const hki_blame *blame, hk_code code,
                                  const char *format, va_list args)
{
    const hki_blame own = {task->spec.operation, task->spec.source, task->spec.class->describe,
                           task->payload};
    char inputs[512] = "";
    blame = blame ? blame : task_blame ? task_blame : &own;
    if (blame->describe)
        blame->describe(blame->what, inputs, sizeof inputs);
    const hki_status_facts facts = {.operation = blame->operation,
                                    .device = task->spec.device->name,
                                    .inputs = inputs,
                                    .file = blame->source.file,
                                    .line = blame->source.line,
                                    .sequence = hki_task_sequence(task)};
    return hki_status_create_va(code, &facts, format, args);
}

const hk_status *hki_task_record(const hki_task *task, const hki_blame *blame, hk_code code,
                                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const hk_status *status = record_va(task, blame, code, format, args);
    va_end(args);
    return status;
}

void hki_task_fail(hki_task *task, int64_t piece, hk_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const hk_status *status = record_va(task, NULL, code, format, args);
    va_end(args);
    hki_lock_acquire(&task->failure_lock);
    if (!task->failure || piece < task->failure_piece) {
        const hk_status *old = task->failure;
        task->failure = status;
        task->failure_piece = piece;
        status = old;
    }
    hki_lock_release(&task->failure_lock);
    atomic_store_explicit(&task->unusual, true, memory_order_relaxed);
    hk_status_release(status);
}

/* `which` of its failures is now this one, or none. */
static void set_failure(hki_task *task, const hk_status **which, const hk_status *status)
{
    hki_lock_acquire(&task->failure_lock);
    const hk_status *old = *which;
    *which = status;
    hki_lock_release(&task->failure_lock);
    atomic_store_explicit(&task->unusual, true, memory_order_relaxed);
    hk_status_release(old);
}

void hki_task_fail_with(hki_task *task, const hk_status *status)
{
    set_failure(task, &task->input_failure, status);
}

void hki_task_fail_for_input(hki_task *task, const hk_status *status)
{
    set_failure(task, &task->input_failure, status);
    set_failure(task, &task->failure, NULL);
}

static bool has_failed(const hki_task *task)
{
    return hki_task_is_unusual(task) && (task->failure || task->input_failure);
}

/* Nearly always nothing at all is failed; then even the variables need not be looked at. */
static bool any_failed(const hki_task *task)
{
    return atomic_load_explicit(&task->runtime->failed_vars, memory_order_relaxed) > 0;
}

const hk_status *hki_task_input_failure(const hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    const hk_status *first = NULL;
    for (int i = 0; any_failed(task) && i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        if (!(access->mode & HKI_READ))
            continue;
        const hk_status *status = hki_var_failure(access->var, hki_access_range(access));
        const hk_status *earlier = hki_status_earlier(first, status);
        hk_status_release(earlier == first ? status : first);
        first = earlier;
    }
    return first;
}

bool hki_task_start(hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    const hk_status *first = any_failed(task) ? hki_task_input_failure(task) : NULL;
    if (!first && hki_is_stopping(task->runtime))
        first = hk_status_retain(task->runtime->cancelled);
    if (first) {
        hki_task_fail_with(task, first);
        if (!spec->class->takes_failed || hki_is_stopping(task->runtime))
            return false;
    }
    hki_this_thread.task_depth++;
    bool prepared = !spec->class->prepare || spec->class->prepare(task, task->payload);
    hki_this_thread.task_depth--;
    task->started = prepared;
    return prepared;
}

void hki_task_run_piece(hki_task *task, int64_t piece)
{
    hki_runtime *runtime = task->runtime;
    if (hki_is_stopping(runtime)) {
        hki_task_fail_with(task, hk_status_retain(runtime->cancelled));
        return;
    }
    if (!task->spec.class->run)
        return;
    hki_this_thread.task_depth++;
    task->spec.class->run(task, task->payload, piece);
    hki_this_thread.task_depth--;
    hki_task_note_subnormals(task);
}

void hki_task_meet_subnormals(hki_task *task)
{
    hki_floats_forget();
    if (atomic_exchange_explicit(&task->met_subnormals, true, memory_order_relaxed))
        return;
    atomic_store_explicit(&task->unusual, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&task->runtime->subnormal_tasks, 1, memory_order_relaxed);
}

void hki_task_run_join(hki_task *task)
{
    if (!task->spec.class->join || has_failed(task))
        return;
    hki_this_thread.task_depth++;
    task->spec.class->join(task, task->payload);
    hki_this_thread.task_depth--;
    hki_task_note_subnormals(task);
}

void hki_task_settle_part(const hki_access *access, const hk_status *failure, bool is_intact)
{
    if (failure)
        hki_var_fail(access->var, hki_access_range(access), failure, is_intact);
    else if (access->mode & HKI_HEAL)
        hki_var_end_failures(access->var, hki_access_range(access), false);
}

static void settle_accesses(const hki_task_spec *spec, const hk_status *failure, bool is_intact)
{
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        if (access->mode & HKI_WRITE && !(failure && access->mode & HKI_KEEP))
            hki_task_settle_part(access, failure, is_intact && !(access->mode & HKI_FRESH));
    }
}

void hki_task_settle(hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    const hk_status *failure = !has_failed(task) ? NULL
                               : task->failure   ? task->failure
                                                 : task->input_failure;
    const bool heals = any_failed(task);
    if (spec->class->settle && task->started) /* of several calls, each of which fails by itself */
        spec->class->settle(task->payload, failure, task->is_spared, heals);
    else if (failure || heals)
        settle_accesses(spec, failure, !task->started || task->is_spared);
    if (failure && task->failure)
        hki_runtime_note_failure(task->runtime, task->failure);
}

void hki_task_finish(hki_task *task)
{
    if (!task->spec.class->finish)
        return;
    hki_this_thread.task_depth++;
    task->spec.class->finish(task, task->payload);
    hki_this_thread.task_depth--;
}

/* ---- what the submitter sees -------------------------------------------------------------------------------------- */

void *hki_task_payload(hki_task *task)
{
    return task->payload;
}

hki_task_spec *hki_task_get_spec(hki_task *task)
{
    return &task->spec;
}

intptr_t hki_task_shift(const hki_task *task)
{
    return task->shift;
}

bool hki_task_is_late(const hki_task *task)
{
    return task->is_late;
}

uint64_t hki_task_sequence(const hki_task *task)
{
    return atomic_load_explicit(&((hki_task *)task)->sequence, memory_order_relaxed);
}
