#include "engine_patterns.h"

#include "base/block.h"
#include "bench_util.h"
#include "engine/engine.h"
#include "spin.h"

#include <hocket/runtime.h>

struct engine_data {
    hki_runtime *runtime;
    long count;
    hki_var vars[];
};

typedef struct payload {
    hki_var *fresh; /* NULL: the task has no variable of its own */
    int64_t iterations;
    void (*body)(void *); /* those of body_class */
    void *argument;
} payload;

static void spin_run(hki_task *task, void *bytes, int64_t piece)
{
    (void)task, (void)piece;
    spin(((const payload *)bytes)->iterations);
}

static void body_run(hki_task *task, void *bytes, int64_t piece)
{
    const payload *self = bytes;
    (void)task, (void)piece;
    self->body(self->argument);
}

static void task_finish(hki_task *task, void *bytes)
{
    hki_var *fresh = ((const payload *)bytes)->fresh;
    (void)task;
    if (fresh) {
        hki_var_deinit(fresh);
        hki_block_put(fresh);
    }
}

static const hki_task_class spin_class = {
    .leaf = true, .enqueues = true, .run = spin_run, .finish = task_finish};
static const hki_task_class body_class = {.run = body_run, .finish = task_finish};

engine_data *engine_data_create(long count)
{
    engine_data *self = malloc(sizeof *self + (size_t)count * sizeof *self->vars);
    if (!self)
        return NULL;
    self->runtime = hki_runtime_default();
    self->count = count;
    for (long i = 0; i < count; i++)
        hki_var_init(&self->vars[i], self->runtime);
    return self;
}

void engine_data_destroy(engine_data *self)
{
    for (long i = 0; self && i < self->count; i++)
        hki_var_deinit(&self->vars[i]);
    free(self);
}

/* Inlined, so that a pattern's tasks cost what the engine costs. */
static inline void issue(engine_data *data, const task_call *call, hk_device device,
                         int64_t iterations, int64_t expected_ns, void (*body)(void *),
                         void *argument)
{
    hki_var *target, *fresh = NULL;
    if (call->write < 0) {
        target = fresh = hki_block_take(); /* as arrays do */
        hki_var_init(target, data->runtime);
    } else {
        target = &data->vars[call->write];
    }
    hki_task *task = hki_task_begin(data->runtime, sizeof(payload), 1 + call->read_count, 0);
    payload *content = hki_task_payload(task);
    content->fresh = fresh;
    content->iterations = iterations;
    content->body = body;
    content->argument = argument;
    hki_task_spec *spec = hki_task_get_spec(task);
    spec->class = body ? &body_class : &spin_class;
    spec->device = device.handle;
    spec->operation = "nothing";
    spec->expected_ns = expected_ns;
    spec->accesses[0] = (hki_access){target, 0, 8, HKI_WRITE | HKI_HEAL};
    for (int i = 0; i < call->read_count; i++)
        spec->accesses[1 + i] = (hki_access){&data->vars[call->reads[i]], 0, 8, HKI_READ};
    hki_task_submit(task);
}

void engine_issue(engine_data *data, const engine_call *call)
{
    issue(data, &call->call, call->device, call->iterations, call->expected_ns, call->body,
          call->argument);
}

void engine_issue_pattern(engine_data *data, const task_pattern *pattern, long tasks,
                          int64_t iterations, int64_t expected_ns)
{
    hk_device device = hk_device_default();
    for (long i = 0, j = 0; i < tasks; i++, j = j + 1 < pattern->period ? j + 1 : 0)
        issue(data, &pattern->calls[j], device, iterations, expected_ns, NULL, NULL);
}

void engine_pattern_time(int number, int workers, bool in_caller, long tasks, uint64_t trace_bytes,
                         double *round_ns, int rounds)
{
    task_pattern pattern;
    task_pattern_init(&pattern, number);
    hk_runtime_init(
        &(hk_runtime_options){.cpu_cores = workers, .inline_ns = in_caller ? 4000 : -1});
    engine_data *data = engine_data_create(TASK_DATA);
    for (int round = 0; data && round < rounds; round++) {
        if (trace_bytes)
            hk_status_release(hki_runtime_trace_begin(hki_runtime_default(), trace_bytes));
        double start = bench_seconds();
        engine_issue_pattern(data, &pattern, tasks, 0, 1);
        hk_wait_all();
        round_ns[round] = (bench_seconds() - start) / (double)tasks * 1e9;
        hki_runtime_trace_end(hki_runtime_default());
    }
    engine_data_destroy(data);
    hk_runtime_deinit();
}
