/* What a runtime is made of: devices with their queues and cores. */
#include "engine/setup.h"
#include "base/hooks.h"

#include "base/integer.h"
#include "base/rank_launcher.h"
#include "base/text.h"
#include "device/device_list.h"
#include "engine/accel/accelerator.h"
#include "engine/sched/ring.h"

#include <stdlib.h>
#include <string.h>

/* ---- queues ------------------------------------------------------------------------------------------------- */

/* A queue with this many workers, in the runtime's list; NULL: no memory. */
static hki_queue *queue_create(hki_device *device, hki_queue_kind kind, int worker_count)
{
    hki_runtime *runtime = device->runtime;
    hki_queue *queue =
        hki_zeroed_lines(sizeof *queue + (size_t)worker_count * sizeof *queue->workers);
    if (!queue)
        return NULL;
    *queue = (hki_queue){.runtime = runtime,
                         .device = device,
                         .kind = kind,
                         .is_accelerator = device->class->launched,
                         .home = queue,
                         .number = runtime->queue_count,
                         .park.threads = (uint32_t)worker_count,
                         .worker_count = worker_count};
    for (int i = 0; i < worker_count; i++)
        queue->workers[i] = (hki_worker){.index = i, .queue = queue};
    runtime->queues[runtime->queue_count++] = queue;
    return queue;
}

/* ---- devices ------------------------------------------------------------------------------------------------ */

/* NULL: no memory. */
static hki_device *device_create(hki_runtime *runtime, const char *kind, int number)
{
    hki_device *device = hki_device_create(kind, number);
    if (device) {
        device->runtime = runtime;
        device->index = runtime->device_count;
        runtime->devices[runtime->device_count++] = device;
    }
    return device;
}

void hki_devices_destroy(hki_runtime *runtime)
{
    for (int i = 0; i < runtime->queue_count; i++) {
        free(runtime->queues[i]->flights);
        free(runtime->queues[i]->suspects);
        free(runtime->queues[i]);
    }
    /* CPU devices have been made first: pinned memory goes before the accelerator that gave it. */
    for (int i = 0; i < runtime->device_count; i++)
        hki_device_destroy(runtime->devices[i]);
    for (int i = 0; i < runtime->failed_device_count; i++)
        hki_device_destroy(runtime->failed_devices[i]);
}

/* Devices get neighbouring cores, the first ones one more where they do not divide evenly; those beyond the number of cores
 * share them with the first ones. */
static bool cpu_devices_create(hki_runtime *runtime, const hki_runtime_config *config,
                               const int *processors, int cores)
{
    const int devices = (int)config->cpu_devices, homes = devices < cores ? devices : cores;
    int begin = 0;
    runtime->scheduler->core_count = cores;
    runtime->scheduler->home_count = homes;
    for (int i = 0; i < devices; i++) {
        const bool is_home = i < homes;
        const int count = cores / homes + (i < cores % homes);
        hki_device *device = device_create(runtime, "cpu:", i);
        if (!device)
            return false;
        device->class = &hki_cpu_device_class;
        device->core_count = count;
        device->memory = hki_memory_pool_create(device, (uint64_t)config->memory_bytes);
        hki_queue *queue = queue_create(device, HKI_QUEUE_COMPUTE, is_home ? count : 0);
        for (int j = 0; j < HKI_QUEUE_KIND_COUNT; j++)
            device->queues[j] = queue;
        if (!device->memory || !queue)
            return false;
        queue->home = runtime->queues[i % homes];
        atomic_store(&queue->free_cores, queue->worker_count);
        for (int j = 0; j < queue->worker_count; j++, begin++) {
            queue->workers[j].slot = begin;
            queue->workers[j].processor = processors[begin];
        }
    }
    return true;
}

/* Its memory and queues: each of these with a thread of its own, where launching may block it, or takes no core worth
 * counting; false: no memory. */
static bool accelerator_complete(hki_device *device, uint64_t memory_bytes)
{
    const int workers = !device->class->is_modelled;
    bool created = (device->memory = hki_memory_pool_create(device, memory_bytes));
    for (int k = 0; k < HKI_QUEUE_KIND_COUNT && created; k++)
        created = (device->queues[k] = queue_create(device, (hki_queue_kind)k, workers));
    device->runtime->accelerated = true;
    return created;
}

static bool sim_devices_create(hki_runtime *runtime, const hki_runtime_config *config)
{
    int number = 0;
    for (int i = 0; i < config->sim_count; i++)
        for (int j = 0; j < config->sims[i].count; j++) {
            hki_device *device = device_create(runtime, "sim:", number++);
            if (!device || !hki_sim_init(device, &config->sims[i]) ||
                !accelerator_complete(device, config->sims[i].memory_bytes))
                return false;
        }
    return true;
}

/* A GPU that cannot be one leaves out its devices, and says so in what is known of it. */
static bool cuda_device_create(hki_runtime *runtime, const hki_runtime_config *config, int gpu,
                               int part)
{
    hki_cuda_found *found = &runtime->cuda->found;
    hki_cuda_gpu *its = &found->machine.gpus[gpu];
    const hki_cuda_options options = {.memory_bytes = (uint64_t)config->cuda_memory_bytes,
                                      .allow_tf32 = config->cuda_tf32,
                                      .use_nccl = config->cuda_nccl};
    char name[32];
    if (runtime->device_count == HKI_MAX_DEVICES) {
        snprintf(its->problem, sizeof its->problem, "there are %d devices already",
                 HKI_MAX_DEVICES);
        return true;
    }
    const hki_cuda_choice *choice = &runtime->cuda->choice;
    hki_cuda_device_name(name, sizeof name, gpu - choice->first, part, choice->parts[gpu]);
    hki_device *device = device_create(runtime, name, -1);
    if (!device)
        return false;
    if (!found->plugin->device_init(device, gpu, &options, its->problem, sizeof its->problem)) {
        device->class = NULL;
        hki_device_destroy(device);
        runtime->device_count--;
        return true;
    }
    const size_t used = strlen(device->description);
    if (choice->ranks > 0)
        hki_format(device->description + used, sizeof device->description - used,
                   ", GPU %d of this machine", gpu);
    return accelerator_complete(device, options.memory_bytes);
}

static bool cuda_devices_create(hki_runtime *runtime, const hki_runtime_config *config)
{
    hki_cuda_setup *cuda = runtime->cuda = calloc(1, sizeof *cuda);
    if (!cuda)
        return false;
    cuda->choice = config->cuda;
    hki_cuda_look(hki_hooks.cuda_host, &cuda->choice, &cuda->found);
    const hki_launcher launcher = hki_launcher_get();
    hki_cuda_share(&cuda->choice, cuda->found.machine.gpu_count, &launcher);
    cuda->is_crowded =
        cuda->choice.ranks > cuda->found.machine.gpu_count && launcher.local_rank == 0;
    bool created = true;
    for (int gpu = 0; gpu < cuda->found.machine.gpu_count; gpu++)
        for (int part = 0; part < cuda->choice.parts[gpu] && created; part++)
            if (!*cuda->found.machine.gpus[gpu].problem)
                created = cuda_device_create(runtime, config, gpu, part);
    return created;
}

/* Ranks of one machine divide its cores, unless the launcher or the program has. */
static int own_cores(int *processors, const hki_runtime_config *config)
{
    const hki_launcher launcher = hki_launcher_get();
    int first, count = hki_cpu_cores(processors);
    if (launcher.local_size < 2 || launcher.binds || config->cpu_cores || getenv("HOCKET_CPUS"))
        return count;
    count = hki_launcher_share(&launcher, count, &first);
    memmove(processors, processors + first, (size_t)count * sizeof *processors);
    return count;
}

bool hki_devices_create(hki_runtime *runtime, const hki_runtime_config *config)
{
    int processors[HKI_MAX_CORES];
    int all = own_cores(processors, config), cores = all;
    if (config->cpu_cores && config->cpu_cores < cores)
        cores = (int)config->cpu_cores;
    runtime->scheduler->spin_ns = all > 1 ? HKI_SPIN_NS : 0;
    hki_launch_cores *rest = &runtime->scheduler->launch_cores;
    rest->count = all - cores;
    memcpy(rest->processors, processors + cores, (size_t)rest->count * sizeof *processors);
    if (!cpu_devices_create(runtime, config, processors, cores) ||
        !sim_devices_create(runtime, config) || !cuda_devices_create(runtime, config) ||
        !hki_pinned_pools_create(runtime->devices, runtime->device_count) ||
        !hki_scheduler_complete(runtime) || !hki_accelerators_create(runtime))
        return false;
    /* Who launches for an accelerator waits for marks, not for gates alone: there, issuing threads keep the order. */
    const bool has_ring = !runtime->serial && !runtime->accelerated;
    return !has_ring || (runtime->ring = hki_ring_create(runtime));
}
