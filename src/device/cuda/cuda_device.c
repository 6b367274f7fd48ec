#include "base/text.h"
#include "device/cuda/cuda_internal.h"
#include "device/cuda/cuda_libraries.h"

#include "base/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BASE_NS = 1000000000 };

/* ---- the process ends --------------------------------------------------------------------------------------------- */

static _Atomic(bool) is_over;

static void note_exit(void)
{
    atomic_store_explicit(&is_over, true, memory_order_release);
}

static void watch_exit(void)
{
    atexit(note_exit);
}

void hki_cuda_watch_exit(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_exit);
}

bool hki_cuda_is_over(void)
{
    return atomic_load_explicit(&is_over, memory_order_acquire);
}

/* ---- losing --------------------------------------------------------------------------------------------------------- */

static _Atomic(int64_t) lost_ns[HKI_CUDA_MAX_GPUS]; /* of the process */

int64_t hki_cuda_lost_since(int gpu)
{
    return atomic_load_explicit(&lost_ns[gpu], memory_order_acquire);
}

static void lose_locked(hki_cuda_device *self, const char *text)
{
    if (hki_cuda_is_lost(self))
        return;
    if (!hki_cuda_is_over())
        atomic_store_explicit(&lost_ns[self->gpu], hki_clock_ns(), memory_order_release);
    snprintf(self->lost_text, sizeof self->lost_text, "%s", text);
    atomic_store_explicit(&self->state, HKI_CUDA_LOST, memory_order_release);
}

void hki_cuda_lose(hki_cuda_device *self, const char *format, ...)
{
    char text[sizeof self->lost_text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&self->lock);
    lose_locked(self, text);
    pthread_mutex_unlock(&self->lock);
}

/* CUDA does not say of an error whether it is the call's own or means that nothing works any more, and then returns it
 * from every call. So another one is made. */
bool hki_cuda_survives(hki_cuda_device *self, cudaError_t error, const char *what)
{
    cudaGetLastError();
    cudaError_t again = cudaStreamQuery(self->memory);
    cudaGetLastError();
    if (again == cudaSuccess || again == cudaErrorNotReady)
        return true;
    hki_cuda_lose(self, "%s (%s), at %s", cudaGetErrorString(error), cudaGetErrorName(error), what);
    return false;
}

/* ---- making --------------------------------------------------------------------------------------------------------- */

/* An event and the host's time at which the GPU reaches it, to within the few microseconds that it takes to ask. */
static cudaError_t base_record(hki_cuda_device *self, int index)
{
    cudaEvent_t event = self->bases[index].event;
    cudaError_t error = cudaEventRecord(event, self->memory);
    if (error == cudaSuccess)
        error = cudaEventSynchronize(event);
    atomic_store_explicit(&self->bases[index].ns, hki_clock_ns(), memory_order_relaxed);
    return error;
}

void hki_cuda_take_base(hki_cuda_device *self)
{
    pthread_mutex_lock(&self->lock);
    int index = atomic_load_explicit(&self->base, memory_order_relaxed);
    int64_t age_ns =
        hki_clock_ns() - atomic_load_explicit(&self->bases[index].ns, memory_order_relaxed);
    int next = (index + 1) % HKI_CUDA_BASES;
    if (age_ns > BASE_NS && base_record(self, next) == cudaSuccess)
        atomic_store_explicit(&self->base, next, memory_order_relaxed);
    pthread_mutex_unlock(&self->lock);
}

/* Copies between this GPU and others take the way between them where there is one, not that through the host. */
static void open_to_peers(hki_cuda_device *self)
{
    int count = 0, can = 0;
    if (!self->pool || cudaGetDeviceCount(&count) != cudaSuccess)
        count = 0;
    for (int peer = 0; peer < count; peer++) {
        const struct cudaMemAccessDesc access = {
            .location = {.type = cudaMemLocationTypeDevice, .id = peer},
            .flags = cudaMemAccessFlagsProtReadWrite};
        if (peer != self->gpu && cudaDeviceCanAccessPeer(&can, peer, self->gpu) == cudaSuccess &&
            can && cudaMemPoolSetAccess(self->pool, &access, 1) != cudaSuccess)
            self->closed_peers |= 1U << peer; /* copies find another way; NCCL does not */
    }
    cudaGetLastError();
}

static cudaError_t make(hki_cuda_device *self, const char **what)
{
    int has_pools = 0;
    *what = "a context";
    cudaError_t error = cudaSetDevice(self->gpu);
    if (error == cudaSuccess)
        error = cudaFree(NULL); /* makes the context, where it is not made yet */
    if (error != cudaSuccess)
        return error;
    if (self->get_context)
        self->get_context(&self->context);
    if (cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, self->gpu) !=
        cudaSuccess)
        cudaGetLastError();
    self->pool = has_pools ? hki_cuda_pool_open(self->gpu) : NULL;
    open_to_peers(self);
    *what = "streams and events";
    error = cudaStreamCreateWithFlags(&self->memory, cudaStreamNonBlocking);
    for (int i = 0; i < HKI_CUDA_BASES && error == cudaSuccess; i++)
        error = cudaEventCreate(&self->bases[i].event);
    for (int i = 0; i < HKI_QUEUE_KIND_COUNT && error == cudaSuccess; i++)
        if (!hki_cuda_stream_init(&self->streams[i], self, (hki_queue_kind)i))
            error = cudaGetLastError();
    if (error == cudaSuccess)
        error = base_record(self, 0);
    *what = "pinned memory";
    if (error == cudaSuccess)
        error = cudaHostAlloc((void **)&self->faults, HKI_CUDA_SLOTS * sizeof *self->faults,
                              cudaHostAllocPortable);
    return error;
}

static void make_once(hki_cuda_device *self)
{
    const char *what;
    pthread_mutex_lock(&self->lock);
    if (atomic_load_explicit(&self->state, memory_order_relaxed) == HKI_CUDA_UNMADE) {
        cudaError_t error = make(self, &what);
        self->host->runtime_end_first();
        char text[sizeof self->lost_text];
        if (error == cudaSuccess) {
            atomic_store_explicit(&lost_ns[self->gpu], 0, memory_order_release);
            atomic_store_explicit(&self->state, HKI_CUDA_READY, memory_order_release);
        } else {
            snprintf(text, sizeof text, "GPU %d gives no %s: %s (%s)", self->gpu, what,
                     cudaGetErrorString(error), cudaGetErrorName(error));
            cudaGetLastError();
            lose_locked(self, text);
        }
    }
    pthread_mutex_unlock(&self->lock);
}

/* Asked several times for each task, mostly by threads that never have another: cheaper than to set the GPU again. */
static bool is_current(const hki_cuda_device *self)
{
    CUcontext now = NULL;
    return self->context && self->get_context(&now) == CUDA_SUCCESS && now == self->context;
}

bool hki_cuda_enter(hki_cuda_device *self)
{
    if (hki_cuda_is_over())
        hki_cuda_lose(self, "the process ends, and CUDA with it");
    if (atomic_load_explicit(&self->state, memory_order_acquire) == HKI_CUDA_UNMADE)
        make_once(self);
    if (hki_cuda_is_lost(self))
        return false;
    if (!is_current(self))
        cudaSetDevice(self->gpu);
    return true;
}

bool hki_cuda_visit(hki_cuda_device *self, CUcontext *before)
{
    if (hki_cuda_is_over() || !self->get_context || self->get_context(before) != CUDA_SUCCESS)
        *before = NULL;
    return hki_cuda_enter(self);
}

void hki_cuda_leave(const hki_cuda_device *self, CUcontext before)
{
    if (hki_cuda_is_over())
        return;
    cudaGetLastError(); /* which the next launch of this thread would take for its own */
    if (self->set_context)
        self->set_context(before);
}

void hki_cuda_deinit(hki_device *device)
{
    hki_cuda_device *self = device->state;
    CUcontext before;
    if (!self)
        return;
    if (atomic_load(&self->state) != HKI_CUDA_UNMADE && !hki_cuda_is_over()) {
        if (!hki_cuda_visit(self, &before)) /* lost: what the host has of it goes all the same */
            cudaSetDevice(self->gpu);
        for (int i = 0; i < HKI_QUEUE_KIND_COUNT; i++)
            hki_cuda_stream_deinit(&self->streams[i]);
        for (int i = 0; i < HKI_CUDA_BASES; i++)
            if (self->bases[i].event)
                cudaEventDestroy(self->bases[i].event);
        if (self->memory) {
            cudaStreamSynchronize(self->memory); /* what has been freed */
            cudaStreamDestroy(self->memory);
        }
        if (self->pool)
            hki_cuda_pool_close(self->gpu);
        if (self->faults)
            cudaFreeHost(self->faults);
        hki_cuda_leave(self, before);
    }
    pthread_mutex_destroy(&self->lock);
    free(self);
    device->state = NULL;
}

bool hki_cuda_device_init(hki_device *device, const hki_device_class *class, int gpu,
                          const hki_cuda_options *options, const hki_cuda_host *host, char *problem,
                          size_t bytes)
{
    struct cudaDeviceProp properties;
    cudaError_t error = cudaGetDeviceProperties(&properties, gpu);
    hki_cuda_device *self = error == cudaSuccess ? calloc(1, sizeof *self) : NULL;
    if (!self) {
        snprintf(problem, bytes, "%s",
                 error == cudaSuccess ? "no host memory" : cudaGetErrorString(error));
        return false;
    }
    self->host = host;
    self->device = device;
    self->gpu = gpu;
    self->options = *options;
    self->multiprocessors = properties.multiProcessorCount;
    self->capability = properties.major * 10 + properties.minor;
    void *get_context = hki_cuda_driver_function("cuCtxGetCurrent");
    void *set_context = hki_cuda_driver_function("cuCtxSetCurrent");
    memcpy(&self->get_context, &get_context, sizeof get_context);
    memcpy(&self->set_context, &set_context, sizeof set_context);
    pthread_mutex_init(&self->lock, NULL);
    device->class = class;
    device->state = self;
    hki_format(device->description, sizeof device->description,
               "%.100s, %.1f GiB, compute capability %d.%d", properties.name,
               (double)properties.totalGlobalMem / (1 << 30), properties.major, properties.minor);
    return true;
}

const hki_cuda_host *hki_cuda_host_of(const hki_device *device)
{
    return hki_cuda_device_of(device)->host;
}

int hki_cuda_gpu_of(const hki_device *device)
{
    return hki_cuda_device_of(device)->gpu;
}
