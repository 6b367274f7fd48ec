/* Devices by name. */
#include "base/cancel.h"
#include "base/fill_struct.h"
#include "base/hooks.h"
#include "base/text.h"
#include "device/device_list.h"
#include "engine/sched/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is handed out when not even a runtime could start. */
static hki_device no_runtime_device = {.index = -1, .name = "none"};

/* A failed device of that name, made once; when there are too many of them, the last one made. */
static hki_device *failed_device(hki_runtime *runtime, const char *name)
{
    hki_device *device = NULL;
    char short_name[sizeof device->name];
    hki_format(short_name, sizeof short_name, "%s", name);
    hki_lock_acquire(&runtime->devices_lock);
    int count = runtime->failed_device_count;
    for (int i = 0; i < count && !device; i++)
        if (!strcmp(runtime->failed_devices[i]->name, short_name))
            device = runtime->failed_devices[i];
    if (!device && count == HKI_MAX_FAILED_DEVICES)
        device = runtime->failed_devices[count - 1];
    if (!device && (device = hki_device_create(short_name, -1))) {
        device->runtime = runtime;
        device->index = -1;
        for (int i = 0; i < HKI_QUEUE_KIND_COUNT; i++) /* carry the tasks that spread the failure */
            device->queues[i] = runtime->queues[0];
        device->status = runtime->config_error
                             ? hk_status_retain(runtime->config_error)
                             : hki_device_not_found(runtime->devices, runtime->device_count,
                                                    runtime->cuda, name);
        runtime->failed_devices[runtime->failed_device_count++] = device;
    }
    hki_lock_release(&runtime->devices_lock);
    return device ? device : &no_runtime_device;
}

/* Once, by one rank of the machine: as fast as it may seem, it is not what was meant. */
static void tell_crowd(hki_cuda_setup *cuda)
{
    if (cuda && atomic_exchange(&cuda->is_crowded, false))
        fprintf(stderr,
                "hocket: %d ranks on this machine share %d GPU%s; between ranks on one GPU data go "
                "by way of the host\n",
                cuda->choice.ranks, cuda->found.machine.gpu_count,
                cuda->found.machine.gpu_count == 1 ? "" : "s");
}

static hki_device *named(hki_runtime *runtime, const char *name)
{
    if (!strncmp(name, "cuda:", 5))
        tell_crowd(runtime->cuda);
    for (int i = 0; !runtime->config_error && i < runtime->device_count; i++)
        if (!strcmp(runtime->devices[i]->name, name))
            return runtime->devices[i];
    return failed_device(runtime, name);
}

hk_device hk_device_named(const char *name)
{
    HKI_HOLD(runtime);
    runtime = hki_runtime_default_retained();
    return (hk_device){runtime ? named(runtime, name ? name : "(null)") : &no_runtime_device};
}

hk_device hk_device_default(void)
{
    HKI_HOLD(held);
    return (hk_device){hki_device_hold((hk_device){NULL}, &held)};
}

hki_device *hki_device_hold(hk_device device, hki_runtime **held)
{
    if (device.handle)
        return device.handle;
    *held = hki_runtime_default_retained();
    return *held ? named(*held, "cpu:0") : &no_runtime_device;
}

hki_device *hki_device_of_host(const hki_device *device)
{
    return device->runtime->devices[0];
}

int hk_device_count(void)
{
    HKI_HOLD(runtime);
    runtime = hki_runtime_default_retained();
    return runtime ? runtime->device_count : 0;
}

hk_device hk_device_at(int index)
{
    char name[32];
    HKI_HOLD(runtime);
    runtime = hki_runtime_default_retained();
    if (!runtime)
        return (hk_device){&no_runtime_device};
    if (!runtime->config_error && index >= 0 && index < runtime->device_count)
        return (hk_device){runtime->devices[index]};
    snprintf(name, sizeof name, "device %d", index);
    return (hk_device){failed_device(runtime, name)};
}

const char *hk_device_name(hk_device device)
{
    HKI_HOLD(held);
    return hki_device_hold(device, &held)->name;
}

int hk_device_cores(hk_device device)
{
    HKI_HOLD(held);
    return hki_device_hold(device, &held)->core_count;
}

const hk_status *hk_device_status(hk_device device)
{
    HKI_HOLD(held);
    const hki_device *handle = hki_device_hold(device, &held);
    const hk_status *status = handle->status;
    if (handle->runtime && !hki_runtime_alive(handle->runtime))
        return hki_status_lend(hki_runtime_gone(handle->runtime));
    if (!status)
        return hki_status_lend(
            hki_status_create(HK_OUT_OF_MEMORY, NULL, "no host memory to start the runtime"));
    return hki_status_lend(hk_status_retain(status));
}

void hk_device_read_memory(hk_device device, hk_device_memory *memory)
{
    HKI_HOLD(held);
    const hki_device *handle = hki_device_hold(device, &held);
    hk_device_memory own = {0};
    /* In the child of a fork, a thread that is not there may hold the lock of the parent's pool. */
    if (handle->memory && hki_runtime_alive(handle->runtime))
        own = hki_memory_pool_get(handle->memory);
    hki_fill_struct(memory, &own, sizeof own);
}

const char *hk_device_kind(hk_device device)
{
    HKI_HOLD(held);
    const hki_device *handle = hki_device_hold(device, &held);
    return handle->class ? handle->class->kind_name : "failed";
}

int hk_device_index(hk_device device)
{
    HKI_HOLD(held);
    return hki_device_hold(device, &held)->index;
}

int hk_device_ordinal(hk_device device)
{
    HKI_HOLD(held);
    const hki_device *handle = hki_device_hold(device, &held);
    const char *number = handle->class ? strchr(handle->name, ':') : NULL;
    return number ? atoi(number + 1) : -1;
}

bool hk_device_is_simulated(hk_device device)
{
    HKI_HOLD(held);
    const hki_device *handle = hki_device_hold(device, &held);
    return handle->class && handle->class->kind == HKI_SIM;
}

const char *hk_device_description(hk_device device)
{
    HKI_HOLD(held);
    return hki_device_hold(device, &held)->description;
}

const char *hk_cuda_describe(void)
{
    HKI_NO_CANCELLATION;
    HKI_HOLD(runtime);
    runtime = hki_runtime_default_retained();
    if (!runtime || !runtime->cuda)
        return "";
    hki_cuda_setup *cuda = runtime->cuda;
    hki_lock_acquire(&runtime->devices_lock);
    if (!*cuda->text) {
        if (!cuda->found.is_complete && !cuda->choice.is_off)
            hki_cuda_find(hki_hooks.cuda_host, &cuda->found);
        hki_cuda_found_describe(&cuda->found, &cuda->choice, cuda->text, sizeof cuda->text);
    }
    hki_lock_release(&runtime->devices_lock);
    return cuda->text;
}

static hk_queue_stats stats_of(hk_device device, hk_queue queue)
{
    HKI_HOLD(held);
    hki_device *handle = hki_device_hold(device, &held);
    hk_queue_stats stats = {0};
    if (!handle->class || !hki_runtime_alive(handle->runtime) ||
        (unsigned)queue >= HKI_QUEUE_KIND_COUNT)
        return stats;
    hki_queue *its = handle->queues[queue];
    if (!its->is_accelerator) {
        if (queue == HK_QUEUE_COMPUTE) {
            hki_biased_acquire(&handle->runtime->issue_lock);
            stats.calls = its->at_once;
            hki_biased_release(&handle->runtime->issue_lock);
            stats.calls += hki_queue_finished(its, 0) + hki_queue_finished(its, 1);
        }
        return stats;
    }
    hki_lock_acquire(&its->stats_lock);
    stats = its->stats;
    hki_lock_release(&its->stats_lock);
    return stats;
}

void hk_device_read_stats(hk_device device, hk_queue queue, hk_queue_stats *stats)
{
    const hk_queue_stats own = stats_of(device, queue);
    hki_fill_struct(stats, &own, sizeof own);
}

void hk_device_stats_clear(void)
{
    HKI_HOLD(runtime);
    runtime = hki_runtime_current_retained();
    for (int i = 0; runtime && i < runtime->queue_count; i++) {
        hki_queue *queue = runtime->queues[i];
        hki_lock_acquire(&queue->stats_lock);
        queue->stats.late_ns = 0;
        hki_lock_release(&queue->stats_lock);
    }
}

int64_t hk_clock_ns(void)
{
    return hki_clock_ns();
}
