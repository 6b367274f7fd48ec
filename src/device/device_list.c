/* What is made of devices of all kinds, and the text of which there are. */
#include "device/device_list.h"
#include "base/quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ----------------------------------------------------------------------------------------------------------- */

/* "cpu:0", "sim:0 to sim:3" behind `before`; nothing when there are none. Returns the length. */
static size_t list_kind(char *text, size_t bytes, const char *before, const char *kind, int count)
{
    int used = 0;
    text[0] = '\0';
    if (count == 1)
        used = snprintf(text, bytes, "%s%s:0", before, kind);
    else if (count > 1)
        used = snprintf(text, bytes, "%s%s:0 to %s:%d", before, kind, kind, count - 1);
    return (size_t)used;
}

/* " and cuda:0, cuda:2/0, …" */
static void list_cuda(hki_device *const *devices, int count, char *text, size_t bytes)
{
    const char *before = " and ";
    size_t used = 0;
    for (int i = 0; i < count && used < bytes; i++)
        if (!strcmp(devices[i]->class->kind_name, "cuda")) {
            int written = snprintf(text + used, bytes - used, "%s%s", before, devices[i]->name);
            used += written > 0 ? (size_t)written : bytes;
            before = ", ";
        }
}

/* Why there is no device of that name, which begins with "cuda". */
static void explain_cuda(const hki_cuda_setup *cuda, const char *name, char *text, size_t bytes)
{
    const hki_cuda_machine *machine = &cuda->found.machine;
    const int own = hki_cuda_own_count(&cuda->choice, machine->gpu_count);
    int gpu = -1;
    if (*cuda->found.problem)
        snprintf(text, bytes, ": %s", cuda->found.problem);
    else if (sscanf(name, "cuda:%d", &gpu) != 1 || gpu < 0)
        snprintf(text, bytes, ": GPUs are named cuda:0, cuda:1, ...");
    else if (cuda->choice.ranks > 0 && gpu >= own)
        snprintf(
            text, bytes,
            ": %d ranks share this machine's %d GPUs, of which this one has %d, from GPU %d on, as "
            "cuda:0 ...; HOCKET_CUDA=all gives each all",
            cuda->choice.ranks, machine->gpu_count, own, cuda->choice.first);
    else if (gpu >= machine->gpu_count)
        snprintf(text, bytes, ": this machine has %d GPU%s that CUDA shows", machine->gpu_count,
                 machine->gpu_count == 1 ? "" : "s");
    else if (*machine->gpus[gpu].problem)
        snprintf(text, bytes, ": GPU %d: %s", gpu, machine->gpus[gpu].problem);
    else if (cuda->choice.parts[gpu] != 1)
        snprintf(text, bytes, ": %s %s GPU %d", cuda->choice.origin,
                 cuda->choice.parts[gpu] ? "splits" : "leaves out", gpu);
}

const hk_status *hki_device_not_found(hki_device *const *devices, int count,
                                      const hki_cuda_setup *cuda, const char *name)
{
    const hki_status_facts facts = {.operation = "device_named"};
    int counts[HKI_DEVICE_KIND_COUNT] = {0};
    for (int i = 0; i < count; i++)
        counts[devices[i]->class->kind]++;
    char there[256], why[720] = "";
    const char *hint = "";
    size_t used = list_kind(there, sizeof there, "", "cpu", counts[HKI_CPU]);
    used += list_kind(there + used, sizeof there - used, " and ", "sim", counts[HKI_SIM]);
    list_cuda(devices, count, there + used, sizeof there - used);
    if (!strncmp(name, "cuda", 4))
        explain_cuda(cuda, name, why, sizeof why);
    else if (!strncmp(name, "sim:", 4))
        hint = " (simulated devices: hk_runtime_init, or HOCKET_SIM)";
    else if (counts[HKI_CPU] == 1)
        hint = " (to split the cores into more: hk_runtime_init, or HOCKET_CPUS)";
    return hki_status_create(HK_NOT_FOUND, &facts, "there is no device \"%s\"%s; there %s %s%s",
                             hki_quote(name, 100).text, why, count == 1 ? "is" : "are", there,
                             hint);
}

/* ---- life ----------------------------------------------------------------------------------------------------------- */

hki_device *hki_device_create(const char *name, int number)
{
    hki_device *device = calloc(1, sizeof *device);
    if (!device)
        return NULL;
    device->status = hki_status_ok();
    if (number < 0)
        snprintf(device->name, sizeof device->name, "%s", name);
    else
        snprintf(device->name, sizeof device->name, "%s%d", name, number);
    return device;
}

void hki_device_destroy(hki_device *device)
{
    hki_memory_pool_destroy(device->memory);
    hki_memory_pool_destroy(device->pinned);
    if (device->class && device->class->deinit)
        device->class->deinit(device);
    hk_status_release(device->status);
    free(device);
}

bool hki_pinned_pools_create(hki_device *const *devices, int count)
{
    hki_device *giver = NULL;
    for (int i = 0; i < count; i++) {
        const hki_device_class *class = devices[i]->class;
        if (class->allocate_pinned &&
            (!giver || (giver->class->is_modelled && !class->is_modelled)))
            giver = devices[i];
    }
    for (int i = 0; giver && i < count; i++) {
        hki_device *device = devices[i];
        if (hki_device_is_host(device) && !(device->pinned = hki_memory_pool_create_pinned(giver)))
            return false;
    }
    return true;
}
