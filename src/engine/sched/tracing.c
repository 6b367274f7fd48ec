/* Trace points of the engine: what is noted when a task is issued, becomes ready and runs, when a thread
 * waits, and what the counters stand at. Called only while the runtime records. */
#include "engine/sched/tracing.h"

enum {
    MAX_OPERANDS = 16,
    SAMPLE_TICKS = 300000 /* counters are noted about every 100 µs at most */
};

/* ---- counters ------------------------------------------------------------------------------------------- */

static void note_counter(hki_trace *trace, hki_trace_counter counter, int device, int64_t value)
{
    const hki_trace_counter_record record = {
        .counter = (uint16_t)counter, .device = (uint16_t)device, .value = value};
    hki_trace_put(trace, HKI_TRACE_COUNTER, &record, sizeof record);
}

static void note_run_ahead(hki_runtime *runtime, hki_trace *trace)
{
    /* A serial engine does not count what has finished: nothing is left unfinished. */
    uint64_t calls = runtime->serial ? 0 : hki_unfinished_tasks(runtime);
    int64_t bytes = atomic_load_explicit(&runtime->held_bytes, memory_order_relaxed);
    note_counter(trace, HKI_TRACE_RUN_AHEAD_CALLS, 0, (int64_t)calls);
    note_counter(trace, HKI_TRACE_RUN_AHEAD_BYTES, 0, bytes);
}

static void note_counters(hki_runtime *runtime, hki_trace *trace)
{
    note_run_ahead(runtime, trace);
    for (int i = 0; i < runtime->device_count; i++)
        note_counter(trace, HKI_TRACE_MEMORY_BYTES, i,
                     (int64_t)hki_memory_pool_get(runtime->devices[i]->memory).used_bytes);
}

/* True when it is time for counters again. Two threads that ask at once may both be told so: no harm. */
static bool is_due(_Atomic(uint64_t) *sampled_ticks, uint64_t ticks)
{
    if (ticks - atomic_load_explicit(sampled_ticks, memory_order_relaxed) < SAMPLE_TICKS)
        return false;
    atomic_store_explicit(sampled_ticks, ticks, memory_order_relaxed);
    return true;
}

/* ---- recording -------------------------------------------------------------------------------------------- */

const hk_status *hki_runtime_trace_begin(hki_runtime *runtime, uint64_t limit_bytes)
{
    const hki_status_facts facts = {.operation = "trace_start"};
    const hk_status *error = NULL;
    if (!hki_runtime_alive(runtime))
        return hki_runtime_gone(runtime);
    hki_lock_acquire(&runtime->trace_lock);
    if (hki_tracing(runtime)) {
        error = hki_status_create(HK_INVALID_ARGUMENT, &facts,
                                  "a recording is under way; end it with hk_trace_stop first");
    } else if (!runtime->trace_memory && !(runtime->trace_memory = hki_trace_create(limit_bytes))) {
        error = hki_status_create(HK_OUT_OF_MEMORY, &facts, "no host memory to record with");
    } else {
        hki_trace_set_limit(runtime->trace_memory, limit_bytes);
        hki_trace_begin(runtime->trace_memory);
        note_counters(runtime, runtime->trace_memory);
        atomic_store_explicit(&runtime->trace, runtime->trace_memory, memory_order_release);
    }
    hki_lock_release(&runtime->trace_lock);
    return error;
}

hki_trace *hki_runtime_trace_end(hki_runtime *runtime)
{
    hki_lock_acquire(&runtime->trace_lock);
    hki_trace *trace = hki_tracing(runtime);
    if (trace) {
        note_counters(runtime, trace);
        atomic_store_explicit(&runtime->trace, NULL, memory_order_relaxed);
        hki_trace_end(trace);
    }
    hki_lock_release(&runtime->trace_lock);
    return trace;
}

bool hki_runtime_is_recording(hki_runtime *runtime)
{
    return hki_tracing(runtime) != NULL;
}

void hki_tracing_name_worker(const hki_worker *worker)
{
    static const char *const kinds[HKI_QUEUE_KIND_COUNT] = {"compute", "copy in", "copy out",
                                                            "reduce"};
    const hki_queue *queue = worker->queue;
    char name[32];
    if (queue->is_accelerator)
        snprintf(name, sizeof name, "%.16s %s", queue->device->name, kinds[queue->kind]);
    else
        snprintf(name, sizeof name, "%.16s core %d", queue->device->name, worker->index);
    hki_trace_name_thread(name, queue->device->index, (int)queue->kind, worker->index);
}

/* What it launches is drawn where its devices are, by their clocks. */
void hki_tracing_name_launcher(int index)
{
    char name[32];
    snprintf(name, sizeof name, "launcher %d", index);
    hki_trace_name_thread(name, -1, 0, index);
}

/* ---- tasks ------------------------------------------------------------------------------------------------ */

static void note_issue(hki_trace *trace, const hki_task *task)
{
    const hki_task_spec *spec = &task->spec;
    hki_trace_operand operands[MAX_OPERANDS];
    int operand_count = 0;
    if (spec->class->operands)
        operand_count = spec->class->operands(task->payload, operands, MAX_OPERANDS);
    if (operand_count > MAX_OPERANDS)
        operand_count = MAX_OPERANDS;
    hki_trace_issue_record *record =
        hki_trace_reserve_issue(trace, spec->access_count, operands, operand_count);
    if (!record)
        return;
    record->sequence = hki_task_sequence(task);
    record->operation = spec->operation;
    record->file = spec->source.file;
    record->line = spec->source.line;
    record->device = spec->device->index < 0 ? UINT16_MAX : (uint16_t)spec->device->index;
    record->queue = spec->queue;
    record->is_collective = spec->collective;
    record->is_backward = hki_trace_is_backward();
    record->is_update = spec->updates;
    record->piece_count = spec->piece_count < UINT32_MAX ? (uint32_t)spec->piece_count : UINT32_MAX;
    hki_trace_access *access = (void *)record->body;
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *from = &spec->accesses[i];
        *access++ = (hki_trace_access){(uintptr_t)from->var, from->begin, from->end, from->mode,
                                       from->pitch};
    }
    record->head.ticks = hki_ticks();
    uint64_t ticks = record->head.ticks;
    hki_trace_commit(trace, record);
    if (is_due(&task->runtime->scheduler->run_ahead_sampled, ticks))
        note_run_ahead(task->runtime, trace);
}

void hki_tracing_issue_locked(const hki_task *task)
{
    hki_trace *trace = hki_tracing(task->runtime);
    if (trace)
        note_issue(trace, task);
}

hki_run_point hki_tracing_begin(const hki_task *task)
{
    hki_run_point point = {.trace = hki_tracing(task->runtime)};
    if (point.trace) {
        point.sequence = hki_task_sequence(task);
        point.begin_ticks = hki_ticks();
    }
    return point;
}

static unsigned flags_of(const hki_task *task)
{
    return atomic_load_explicit(&((hki_task *)task)->met_subnormals, memory_order_relaxed)
               ? HKI_TRACE_SUBNORMAL
               : 0;
}

static hki_trace_run_record *note_run(const hki_run_point *point, int64_t piece, unsigned flags)
{
    const hki_trace_run_record record = {.head.flags = (uint16_t)flags,
                                         .sequence = point->sequence,
                                         .begin_ticks = point->begin_ticks,
                                         .piece = piece};
    return hki_trace_put(point->trace, HKI_TRACE_RUN, &record, sizeof record);
}

void hki_tracing_piece(hki_run_point *point, const hki_task *task, int64_t piece)
{
    if (!point->trace || task->spec.piece_count == 1)
        return;
    point->record = note_run(point, piece, flags_of(task));
    point->has_noted = true;
    point->begin_ticks = hki_ticks(); /* the next one may follow here */
}

void hki_tracing_end(const hki_run_point *point, const hki_task *task)
{
    hki_runtime *runtime = task->runtime;
    if (!point->trace)
        return;
    unsigned flags = HKI_TRACE_LAST | flags_of(task);
    if (task->failure || task->input_failure)
        flags |= HKI_TRACE_FAILED;
    if (task->input_failure && !task->started)
        flags |= HKI_TRACE_SKIPPED;
    uint64_t ticks = hki_ticks();
    if (!point->has_noted)
        note_run(point, 0, flags);
    else if (point->record)
        hki_trace_amend(point->trace, point->record, ticks, flags);
    if (is_due(&runtime->scheduler->counters_sampled, ticks))
        note_counters(runtime, point->trace);
}

/* ---- waiting ------------------------------------------------------------------------------------------------ */

hki_wait_point hki_tracing_wait(hki_runtime *runtime)
{
    hki_wait_point point = {.trace = hki_tracing(runtime), .runtime = runtime};
    if (!point.trace)
        return point;
    point.begin_ticks = hki_ticks();
    hki_biased_acquire(&runtime->issue_lock);
    point.sequence = runtime->sequence;
    hki_biased_release(&runtime->issue_lock);
    return point;
}

void hki_tracing_waited(const hki_wait_point *point, hki_trace_wait_kind kind, int device)
{
    if (!point->trace)
        return;
    const hk_source source = hki_source_get();
    const hki_trace_wait_record record = {.begin_ticks = point->begin_ticks,
                                          .sequence = point->sequence,
                                          .file = source.file,
                                          .line = source.line,
                                          .wait_kind = (uint8_t)kind,
                                          .device_plus_1 = (uint8_t)(device + 1)};
    hki_trace_put(point->trace, HKI_TRACE_WAIT, &record, sizeof record);
    /* Reading values out may happen often; after the others the window has emptied. */
    if (kind != HKI_TRACE_WAIT_ARRAY ||
        is_due(&point->runtime->scheduler->counters_sampled, point->begin_ticks))
        note_counters(point->runtime, point->trace);
}
