/* Memory of a GPU, under the library's pools of devices, which keep what is freed: so these are called seldom. They are
 * called by any thread, which keeps the context that it has. */
#include "device/cuda/cuda_internal.h"

/* Handed out once the device is lost, so that a task gets to where it is told that. Nobody uses it. */
static void *no_memory(void)
{
    static _Alignas(256) char nothing;
    return &nothing;
}

/* ---- the GPU's pool ------------------------------------------------------------------------------------------------ */

/* Of the process: parts of one GPU share what is freed. The default pool is others', who may have set it up otherwise. */
static struct {
    pthread_mutex_t lock;
    struct {
        cudaMemPool_t pool;
        int users;
    } gpus[HKI_CUDA_MAX_GPUS];
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* It gives nothing back to the system but when it is told to: each synchronisation would, and the next miss would have to
 * map it again. It never makes the stream of arrays' memory wait for one that computes, to have what that one frees: who
 * allocates waits for the former, possibly with a lock. */
static cudaMemPool_t pool_create(int gpu)
{
    const struct cudaMemPoolProps props = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = gpu}};
    cudaMemPool_t pool = NULL;
    uint64_t threshold = UINT64_MAX;
    int waits = 0;
    if (cudaMemPoolCreate(&pool, &props) != cudaSuccess ||
        cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold) != cudaSuccess ||
        cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &waits) !=
            cudaSuccess) {
        cudaGetLastError();
        if (pool)
            cudaMemPoolDestroy(pool);
        pool = NULL;
    }
    return pool;
}

cudaMemPool_t hki_cuda_pool_open(int gpu)
{
    cudaMemPool_t pool = NULL;
    if (gpu >= HKI_CUDA_MAX_GPUS)
        return NULL;
    pthread_mutex_lock(&process.lock);
    if (!process.gpus[gpu].pool)
        process.gpus[gpu].pool = pool_create(gpu);
    pool = process.gpus[gpu].pool;
    process.gpus[gpu].users += pool != NULL;
    pthread_mutex_unlock(&process.lock);
    return pool;
}

void hki_cuda_pool_close(int gpu)
{
    pthread_mutex_lock(&process.lock);
    if (--process.gpus[gpu].users == 0) {
        cudaMemPoolDestroy(process.gpus[gpu].pool);
        process.gpus[gpu].pool = NULL;
    }
    pthread_mutex_unlock(&process.lock);
}

void hki_cuda_trim(hki_cuda_device *self)
{
    self->host->memory_pool_trim(self->device->memory);
    if (hki_cuda_enter(self) && self->pool && cudaStreamSynchronize(self->memory) == cudaSuccess)
        cudaMemPoolTrimTo(self->pool, 0);
    cudaGetLastError();
}

/* What is freed in other streams is there once these have got there. Where memory is short, and only there, what the pool
 * keeps goes back to the GPU: it may lie in pieces that are too small. From the end of the stream on, which nothing else
 * runs in, all streams may use the memory. */
static cudaError_t pool_allocate(hki_cuda_device *self, void **data, size_t bytes)
{
    cudaError_t error = cudaMallocFromPoolAsync(data, bytes, self->pool, self->memory);
    if (error == cudaErrorMemoryAllocation && cudaStreamSynchronize(self->memory) == cudaSuccess) {
        cudaMemPoolTrimTo(self->pool, 0);
        error = cudaMallocFromPoolAsync(data, bytes, self->pool, self->memory);
    }
    return error == cudaSuccess ? cudaStreamSynchronize(self->memory) : error;
}

/* ---- arrays and pinned memory --------------------------------------------------------------------------------------- */

void *hki_cuda_allocate(hki_device *device, size_t bytes)
{
    hki_cuda_device *self = hki_cuda_device_of(device);
    CUcontext before;
    void *data = NULL;
    if (!hki_cuda_visit(self, &before)) {
        data = no_memory();
    } else if (self->pool) {
        cudaError_t error = pool_allocate(self, &data, bytes);
        if (error != cudaSuccess &&
            (error == cudaErrorMemoryAllocation || hki_cuda_survives(self, error, "memory")))
            data = NULL;
        else if (error != cudaSuccess)
            data = no_memory();
    } else if (cudaMalloc(&data, bytes) != cudaSuccess) {
        data = NULL;
    }
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
        if (self->pool)
            cudaFreeAsync(data, self->memory);
        else
            cudaFree(data);
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
    hki_cuda_leave(self, before);
    return data;
}

void hki_cuda_release_pinned(hki_device *device, void *data, size_t bytes)
{
    (void)bytes;
    hki_cuda_device *self = hki_cuda_device_of(device);
    CUcontext before;
    hki_cuda_visit(self, &before); /* memory of the host goes when the device is lost, too */
    if (!hki_cuda_is_over())
        cudaFreeHost(data);
    hki_cuda_leave(self, before);
}
