/* The plug-in's entry point: what the device's class needs kernels for is added to it here. */
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_libraries.h"
#include "op/cuda/run_call.h"

#include <hocket/version.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Set once, by the first open; what opens the plug-in later is the same library. */
static struct {
    pthread_once_t once;
    _Atomic(const hki_cuda_host *) host;
    hki_device_class class;
} opened = {.once = PTHREAD_ONCE_INIT};

static void make_class(void)
{
    opened.class = hki_cuda_device_class;
    opened.class.run_call = hki_cuda_run_call;
    opened.class.run_own = hki_cuda_run_own;
    opened.class.copy_tensor = hki_cuda_run_copy;
    opened.class.sum = hki_cuda_run_sum;
    opened.class.can_fuse = hki_cuda_can_fuse;
    opened.class.run_fused = hki_cuda_run_fused;
    opened.class.may_report = hki_cuda_may_report;
    opened.class.can_spare = hki_cuda_can_spare;
}

static bool device_init(hki_device *device, int gpu, const hki_cuda_options *options, char *problem,
                        size_t bytes)
{
    return hki_cuda_device_init(device, &opened.class, gpu, options, atomic_load(&opened.host),
                                problem, bytes);
}

/* Whether library and plug-in were built from the same headers. */
static bool is_of_this_build(const hki_cuda_host *host)
{
    return host->abi == HKI_CUDA_ABI && strcmp(host->version, HK_VERSION_STRING) == 0 &&
           host->device_bytes == sizeof(hki_device) &&
           host->class_bytes == sizeof(hki_device_class) &&
           host->kernel_call_bytes == sizeof(hki_kernel_call) && host->op_count == HKI_OP_COUNT;
}

HK_API const hki_cuda_plugin *hki_cuda_plugin_open(const hki_cuda_host *host);
const hki_cuda_plugin *hki_cuda_plugin_open(const hki_cuda_host *host)
{
    static const hki_cuda_plugin plugin = {.abi = HKI_CUDA_ABI,
                                           .probe = hki_cuda_probe,
                                           .describe_libraries = hki_cuda_libraries_describe,
                                           .device_init = device_init};
    if (!is_of_this_build(host))
        return NULL;
    pthread_once(&opened.once, make_class);
    atomic_store(&opened.host, host);
    return &plugin;
}
