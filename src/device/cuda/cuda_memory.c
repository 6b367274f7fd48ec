/* Memory of a GPU, under the library's pool, which keeps what is freed: so these are called seldom. They are called by
 * any thread, which keeps the context that it has. */
#include "device/cuda/cuda_internal.h"

/* Handed out once the device is lost, so that a task gets to where it is told that. Nobody uses it. */
static void *no_memory(void)
{
    static _Alignas(256) char nothing;
    return &nothing;
}

void *hki_cuda_allocate(hki_device *device, size_t bytes)
{
    hki_cuda_device *self = hki_cuda_device_of(device);
    CUcontext before;
    void *data = NULL;
    if (!hki_cuda_visit(self, &before)) {
        data = no_memory();
    } else if (self->has_pools) {
        pthread_mutex_lock(&self->lock);
        cudaError_t error = cudaMallocAsync(&data, bytes, self->memory);
        /* What has just been freed may count as taken until the host has seen the end of it. */
        if (error == cudaErrorMemoryAllocation &&
            cudaStreamSynchronize(self->memory) == cudaSuccess)
            error = cudaMallocAsync(&data, bytes, self->memory);
        /* Nothing but this runs there: it takes no longer than the call. From then on all streams may use it. */
        if (error == cudaSuccess)
            error = cudaStreamSynchronize(self->memory);
        pthread_mutex_unlock(&self->lock);
        if (error != cudaSuccess &&
            (error == cudaErrorMemoryAllocation || hki_cuda_survives(self, error, "memory")))
            data = NULL;
        else if (error != cudaSuccess)
            data = no_memory();
    } else if (cudaMalloc(&data, bytes) != cudaSuccess) {
        data = NULL;
    }
    cudaGetLastError();
    hki_cuda_leave(self, before);
    return data;
}

/* Whatever has used it is done: storages count the tasks that do. */
void hki_cuda_release(hki_device *device, void *data, size_t bytes)
{
    (void)bytes;
    hki_cuda_device *self = hki_cuda_device_of(device);
    CUcontext before;
    if (data == no_memory())
        return;
    if (hki_cuda_visit(self, &before)) {
        if (self->has_pools)
            cudaFreeAsync(data, self->memory);
        else
            cudaFree(data);
        cudaGetLastError(); /* which the next launch of this thread would take for its own */
    }
    hki_cuda_leave(self, before);
}

void *hki_cuda_allocate_pinned(hki_device *device, size_t bytes)
{
    hki_cuda_device *self = hki_cuda_device_of(device);
    CUcontext before;
    void *data = NULL;
    if (!hki_cuda_visit(self, &before) ||
        cudaHostAlloc(&data, bytes, cudaHostAllocPortable) != cudaSuccess)
        data = NULL;
    cudaGetLastError();
    hki_cuda_leave(self, before);
    return data;
}

void hki_cuda_release_pinned(hki_device *device, void *data, size_t bytes)
{
    (void)bytes;
    hki_cuda_device *self = hki_cuda_device_of(device);
    CUcontext before;
    hki_cuda_visit(self, &before); /* memory of the host goes when the device is lost, too */
    cudaFreeHost(data);
    cudaGetLastError();
    hki_cuda_leave(self, before);
}
