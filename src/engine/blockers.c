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

/* Drains the queues of the device, or all. */
static const hk_status *drain(hki_runtime *runtime, const hki_device *device)
{
    hki_blocking blocking = {0};
    bool over = true;
    const hk_status *blocked = hki_holds_block(runtime, NULL, device);
    if (blocked)
        return hki_status_lend(blocked);
    hki_wait_point point = hki_tracing_wait(runtime);
    if (runtime->serial) {
        hki_lock_acquire(&runtime->serial_lock);
        over = hki_promises_await_locked(runtime, NULL, &blocking);
        hki_lock_release(&runtime->serial_lock);
    }
    for (int i = 0; over && !runtime->serial && i < runtime->queue_count; i++)
        if (!device || runtime->queues[i]->device == device)
            over = hki_queue_drain(runtime->queues[i], &blocking);
    hki_tracing_waited(&point, device ? HKI_TRACE_WAIT_DEVICE : HKI_TRACE_WAIT_ALL,
                       device ? device->index : -1);
    hki_blocking_end(&blocking);
    return over ? snapshot(runtime)
                : hki_status_lend(hki_interrupted(device ? "wait_device" : "wait_all"));
}

const hk_status *hk_wait_all(void)
{
    if (hki_in_task() || hki_is_draining())
        return hki_status_lend(hki_would_deadlock("wait_all"));
    HKI_HOLD(runtime);
    runtime = hki_runtime_current_retained();
    /* Without one nothing has been issued. */
    return runtime ? drain(runtime, NULL) : hki_status_lend(hki_status_ok());
}

const hk_status *hk_wait_device(hk_device device)
{
    if (hki_in_task() || hki_is_draining())
        return hki_status_lend(hki_would_deadlock("wait_device"));
    HKI_HOLD(held);
    hki_device *handle = hki_device_hold(device, &held);
    if (!handle->class)
        return hk_device_status((hk_device){handle});
    hki_runtime *runtime = handle->runtime;
    if (!hki_runtime_alive(runtime))
        return hki_status_lend(hki_runtime_gone(runtime));
    return drain(runtime, handle);
}
