/* What GPUs there are. Initialises the driver; makes no context. */
#include "device/cuda/cuda_device.h"

#include <stdio.h>
#include <string.h>

enum { MIN_MAJOR = 8 }; /* what the plug-in has code for: cmake/cuda.cmake */

static void probe_gpu(hki_cuda_gpu *gpu, int index)
{
    struct cudaDeviceProp properties;
    cudaError_t error = cudaGetDeviceProperties(&properties, index);
    if (error != cudaSuccess) {
        snprintf(gpu->problem, sizeof gpu->problem, "%s", cudaGetErrorString(error));
        return;
    }
    snprintf(gpu->name, sizeof gpu->name, "%.*s", (int)sizeof gpu->name - 1, properties.name);
    gpu->memory_bytes = properties.totalGlobalMem;
    gpu->major = properties.major;
    gpu->minor = properties.minor;
    gpu->multiprocessors = properties.multiProcessorCount;
    if (properties.major < MIN_MAJOR)
        snprintf(gpu->problem, sizeof gpu->problem,
                 "its compute capability is %d.%d; %d.0 or more is needed", properties.major,
                 properties.minor, MIN_MAJOR);
}

static void explain(hki_cuda_machine *machine, cudaError_t error)
{
    const char *hint = "";
    if (error == cudaErrorInsufficientDriver && !machine->driver_version)
        hint = "; there is no driver: libcuda.so.1 was not found";
    else if (error == cudaErrorInsufficientDriver)
        hint = "; a newer driver is needed";
    else if (error == cudaErrorInitializationError)
        hint = "; a process forked from one that has used CUDA cannot use it";
    snprintf(machine->problem, sizeof machine->problem, "CUDA cannot be used: %s%s",
             cudaGetErrorString(error), hint);
}

void hki_cuda_probe(hki_cuda_machine *machine)
{
    *machine = (hki_cuda_machine){.gpu_count = 0};
    if (hki_cuda_is_over()) {
        snprintf(machine->problem, sizeof machine->problem,
                 "CUDA cannot be used: the process ends");
        return;
    }
    cudaRuntimeGetVersion(&machine->runtime_version);
    if (cudaDriverGetVersion(&machine->driver_version) != cudaSuccess)
        machine->driver_version = 0;
    cudaError_t error = cudaGetDeviceCount(&machine->gpu_count);
    hki_cuda_watch_exit(); /* behind what CUDA has registered just now */
    if (error != cudaSuccess) {
        machine->gpu_count = 0;
        explain(machine, error);
    }
    if (machine->gpu_count > HKI_CUDA_MAX_GPUS)
        machine->gpu_count = HKI_CUDA_MAX_GPUS;
    for (int i = 0; i < machine->gpu_count; i++)
        probe_gpu(&machine->gpus[i], i);
    cudaGetLastError();
}
