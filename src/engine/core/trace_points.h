/* The trace points that core needs: nothing but a look where nothing is recorded. The others are in sched/tracing.h. */
#ifndef HOCKET_ENGINE_CORE_TRACE_POINTS_H
#define HOCKET_ENGINE_CORE_TRACE_POINTS_H

#include "engine/core/runtime.h"

/* Where to record; NULL: nothing is recorded. */
static inline hki_trace *hki_tracing(const hki_runtime *runtime)
{
    return atomic_load_explicit(&((hki_runtime *)runtime)->trace, memory_order_acquire);
}

/* Before anybody else can start the task. */
static inline void hki_tracing_ready(const hki_task *task)
{
    hki_trace *trace = hki_tracing(task->runtime);
    if (trace && !task->is_wait)
        hki_trace_task_event(trace, HKI_TRACE_READY, hki_task_sequence(task));
}

static inline void hki_tracing_var(const hki_var *var)
{
    hki_trace *trace = var->runtime ? hki_tracing(var->runtime) : NULL;
    if (trace)
        hki_trace_task_event(trace, HKI_TRACE_VAR, (uintptr_t)var);
}

#endif
