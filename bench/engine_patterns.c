#include "engine_patterns.h"

#include "bench_util.h"
#include "engine/engine.h"

#include <hocket/runtime.h>
#include <string.h>

enum { MAX_WIDTH = 64, READERS = 64 };

static engine_call chain_at(long i)
{
    (void)i;
    return (engine_call){.write = 0, .reads = {0}, .read_count = 1};
}

static engine_call independent_at(long i)
{
    return (engine_call){.write = (int)(i % MAX_WIDTH)};
}

static engine_call fresh_at(long i)
{
    (void)i;
    return (engine_call){.write = -1, .reads = {0}, .read_count = 1};
}

static engine_call stencil_at(long i, int width)
{
    int x = (int)(i % width), from = (int)(i / width % 2) * width, to = width - from;
    return (engine_call){
        .write = to + x,
        .reads = {from + x, from + (x + 1) % width, from + (x + width - 1) % width},
        .read_count = 3};
}

static engine_call stencil8_at(long i)
{
    return stencil_at(i, 8);
}

static engine_call stencil64_at(long i)
{
    return stencil_at(i, 64);
}

static engine_call fan_at(long i)
{
    long step = i % (READERS + 1);
    if (step == 0)
        return (engine_call){.write = 0};
    return (engine_call){.write = (int)step, .reads = {0}, .read_count = 1};
}

const engine_pattern engine_patterns[ENGINE_PATTERNS] = {
    {"chain", 1, chain_at},
    {"independent", MAX_WIDTH, independent_at},
    {"y=x+1", 1, fresh_at},
    {"stencil 8", 16, stencil8_at},
    {"stencil 64", 128, stencil64_at},
    {"fan-out 64", READERS + 1, fan_at},
};

static void nothing_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
}

static void fresh_finish(hki_task *task, void *payload)
{
    hki_var *var;
    (void)task;
    memcpy(&var, payload, sizeof var);
    if (var) {
        hki_var_deinit(var);
        free(var);
    }
}

static const hki_task_class nothing = {.leaf = true, .run = nothing_run, .finish = fresh_finish};

static void issue_all(const engine_pattern *pattern, hki_runtime *runtime, hki_var *data,
                      long tasks)
{
    hki_device *device = hk_device_default().handle;
    for (long i = 0; i < tasks; i++) {
        engine_call c = pattern->at(i);
        hki_var *fresh = NULL, *target;
        if (c.write < 0) {
            fresh = malloc(sizeof *fresh);
            hki_var_init(fresh, runtime);
        }
        target = fresh ? fresh : &data[c.write];
        hki_task *task = hki_task_begin(runtime, sizeof fresh, 1 + c.read_count, 0);
        memcpy(hki_task_payload(task), &fresh, sizeof fresh);
        hki_task_spec *spec = hki_task_get_spec(task);
        spec->class = &nothing;
        spec->device = device;
        spec->operation = "nothing";
        spec->expected_ns = 1;
        spec->accesses[0] = (hki_access){target, 0, 8, HKI_WRITE | HKI_HEAL};
        for (int j = 0; j < c.read_count; j++)
            spec->accesses[1 + j] = (hki_access){&data[c.reads[j]], 0, 8, HKI_READ};
        hki_task_submit(task);
    }
}

void engine_pattern_time(const engine_pattern *pattern, int workers, bool in_caller, long tasks,
                         uint64_t trace_bytes, double *round_ns, int rounds)
{
    static hki_var data[ENGINE_PATTERN_DATA];
    hk_runtime_init(
        &(hk_runtime_options){.cpu_cores = workers, .inline_ns = in_caller ? 4000 : -1});
    hki_runtime *runtime = hki_runtime_default();
    for (int i = 0; i < pattern->data; i++)
        hki_var_init(&data[i], runtime);
    for (int round = 0; round < rounds; round++) {
        if (trace_bytes)
            hk_status_release(hki_runtime_trace_begin(runtime, trace_bytes));
        double start = bench_seconds();
        issue_all(pattern, runtime, data, tasks);
        hk_wait_all();
        round_ns[round] = (bench_seconds() - start) / (double)tasks * 1e9;
        hki_runtime_trace_end(runtime);
    }
    for (int i = 0; i < pattern->data; i++)
        hki_var_deinit(&data[i]);
    hk_runtime_deinit();
}
