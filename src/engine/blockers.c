/* Waiting for everything, and for a device: what a program calls. */
#include "engine/sched/tracing.h"
#include "engine/wait/wait.h"

#include <hocket/runtime.h>

static const hk_status *snapshot(hki_runtime *runtime)
{
    if (runtime->config_error)
        return hki_status_lend(hk_status_retain(runtime->config_error));
    hki_lock_acquire(&runtime->failures_lock);
    const hk_status *first = hk_status_retain(runtime->first_failure);
    uint64_t count = runtime->failure_count;
    hki_lock_release(&runtime->failures_lock);
    if (!first)
        return hki_status_lend(hki_status_ok());
    const hk_status *status = hki_status_with_count(first, count);
    hk_status_release(first);
    return hki_status_lend(status);
}

const hk_status *hk_wait_all(void)
{
    if (hki_in_task())
        return hki_status_lend(hki_would_deadlock("wait_all"));
    hki_runtime *runtime = hki_runtime_current_retained();
    if (!runtime) /* nothing has been issued */
        return hki_status_lend(hki_status_ok());
    hki_wait_point point = hki_tracing_wait(runtime);
    for (int i = 0; !runtime->serial && i < runtime->queue_count; i++)
        hki_queue_drain(runtime->queues[i]);
    hki_tracing_waited(&point, HKI_TRACE_WAIT_ALL, -1);
    const hk_status *status = snapshot(runtime);
    hki_runtime_release(runtime);
    return status;
}

const hk_status *hk_wait_device(hk_device device)
{
    if (hki_in_task())
        return hki_status_lend(hki_would_deadlock("wait_device"));
    HKI_HOLD(held);
    hki_device *handle = hki_device_hold(device, &held);
    if (!handle->class)
        return hk_device_status((hk_device){handle});
    hki_runtime *runtime = handle->runtime;
    if (!hki_runtime_alive(runtime))
        return hki_status_lend(hki_runtime_gone(runtime));
    hki_wait_point point = hki_tracing_wait(runtime);
    for (int i = 0; !runtime->serial && i < runtime->queue_count; i++)
        if (runtime->queues[i]->device == handle)
            hki_queue_drain(runtime->queues[i]);
    hki_tracing_waited(&point, HKI_TRACE_WAIT_DEVICE, handle->index);
    return snapshot(runtime);
}
