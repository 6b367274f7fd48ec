/* Sums over GPUs by NCCL. It adds in an order that follows the machine's links: the same bytes on
 * every run of one machine, but not those of the list's order, which all other kinds of devices
 * give. The library's own sums move as many bytes over each link; NCCL takes fewer steps.
 *
 * One communicator for each list of GPUs and one stream for each GPU, of the process, not of a
 * device: two sums that share GPUs must be in the same order on all of them, or each could wait for
 * the other's half. They are, whichever queues' threads launch them: a sum is put into the streams
 * of all its GPUs under one lock, and these streams run nothing else. A sum that waits for kernels
 * of a queue waits for such as were launched before it, so that nothing goes round in a circle.
 * Communicators and streams are made when they are first used, which blocks the queue's thread for
 * a second or so, and live as long as the process.
 *
 * Where NCCL cannot start, copies serve, and a line on stderr says why. While a sum is under way,
 * who polls its task asks whether a GPU of it has been lost, or NCCL has an error of its own: then
 * the communicator is aborted, so that the other GPUs are free again, the sums under way fail, and
 * later ones go by copies. */
#include "base/dtype.h"
#include "device/cuda/cuda_internal.h"
#include "device/cuda/cuda_libraries.h"

#include <stdio.h>
#include <string.h>

enum {
    LISTS_MAX = 16,
    CHUNK_BYTES = 4 << 20, /* of a copy that serves in NCCL's place */
    WATCH_NS = 1000000     /* between two looks at the GPUs of a sum */
};

/* Of one GPU. */
typedef struct lane {
    cudaStream_t stream; /* NULL before it is first used */
    cudaEvent_t done;
} lane;

typedef struct communicator {
    int count;
    int gpus[HKI_CUDA_MAX_GPUS];
    ncclComm_t ranks[HKI_CUDA_MAX_GPUS];
    bool is_dead; /* it could not be made, or has been aborted, */
    char why[HKI_CUDA_SUM_WHY];
    int64_t watched_ns; /* when it was last looked at while a sum was under way */
} communicator;

/* What the process has for NCCL. */
static struct {
    pthread_mutex_t lock;
    lane lanes[HKI_CUDA_MAX_GPUS];
    communicator lists[LISTS_MAX];
    int list_count;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- what the process has: under the lock --------------------------------------------------------------- */

/* NULL: there is none yet. */
static communicator *find_communicator(const int *gpus, int count)
{
    for (int i = 0; i < process.list_count; i++) {
        communicator *self = &process.lists[i];
        if (self->count == count && !memcmp(self->gpus, gpus, (size_t)count * sizeof *gpus))
            return self;
    }
    return NULL;
}

static void give_up(communicator *self, const char *what, const char *why)
{
    snprintf(self->why, sizeof self->why, "%s%s", what, why);
    self->is_dead = true;
    fprintf(stderr,
            "hocket: NCCL is not used any more for sums over these %d GPUs, but copies: %s\n",
            self->count, self->why);
}

/* NULL: there are too many. It may be dead. */
static communicator *communicator_of(const hki_nccl *library, hki_cuda_stream *stream,
                                     hki_device *const *devices, const int *gpus, int count)
{
    communicator *self = find_communicator(gpus, count);
    if (self || process.list_count == LISTS_MAX)
        return self;
    self = &process.lists[process.list_count++];
    self->count = count;
    memcpy(self->gpus, gpus, (size_t)count * sizeof *gpus);
    for (int i = 0; i < count; i++) /* NCCL's buffers are none of the pools' */
        hki_cuda_trim(hki_cuda_device_of(devices[i]));
    const ncclResult_t result = library->ncclCommInitAll(self->ranks, count, gpus);
    hki_cuda_stream_has_loaded(stream);
    if (result != ncclSuccess)
        give_up(self, "ncclCommInitAll: ", library->ncclGetErrorString(result));
    cudaGetLastError();
    return self;
}

/* Its kernels end, whatever they wait for. */
static void abort_communicator(const hki_nccl *library, communicator *self, const char *why)
{
    give_up(self, "", why);
    for (int i = 0; i < self->count; i++)
        library->ncclCommAbort(self->ranks[i]);
    cudaGetLastError();
}

/* The GPU's stream, before all that computes; NULL after noting an error. Makes the GPU the current one. */
static const lane *lane_of(hki_cuda_stream *stream, int gpu)
{
    lane *self = &process.lanes[gpu];
    int least, greatest;
    if (!hki_cuda_ok(stream, cudaSetDevice(gpu), "cudaSetDevice"))
        return NULL;
    if (self->stream)
        return self;
    if (!hki_cuda_ok(stream, cudaDeviceGetStreamPriorityRange(&least, &greatest),
                     "cudaDeviceGetStreamPriorityRange") ||
        (!self->done &&
         !hki_cuda_ok(stream, cudaEventCreateWithFlags(&self->done, cudaEventDisableTiming),
                      "an event of NCCL's stream")) ||
        !hki_cuda_ok(stream,
                     cudaStreamCreateWithPriority(&self->stream, cudaStreamNonBlocking, greatest),
                     "a stream for NCCL"))
        return NULL;
    return self;
}

/* ---- whether -------------------------------------------------------------------------------------------- */

bool hki_cuda_has_all_reduce(hki_device *const *devices, int count, hk_dtype dtype)
{
    int gpus[HKI_CUDA_MAX_GPUS];
    unsigned seen = 0;
    if (dtype == HK_BOOL || dtype == HK_I16 || dtype == HK_U16 || count < 2 ||
        count > HKI_CUDA_MAX_GPUS)
        return false;
    for (int i = 0; i < count; i++) {
        const hki_cuda_device *self = hki_cuda_device_of(devices[i]);
        /* Parts of one GPU sum in place. */
        if (!self->options.use_nccl || seen >> self->gpu & 1)
            return false;
        seen |= 1u << self->gpu;
        gpus[i] = self->gpu;
    }
    for (int i = 0; i < count; i++)
        if (hki_cuda_device_of(devices[i])->closed_peers & seen)
            return false;
    if (!hki_cuda_nccl())
        return false;
    pthread_mutex_lock(&process.lock);
    const communicator *known = find_communicator(gpus, count);
    const bool can = known ? !known->is_dead : process.list_count < LISTS_MAX;
    pthread_mutex_unlock(&process.lock);
    return can;
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

/* All GPUs' streams wait for what comes before the task in its own. */
static bool fork_lanes(hki_cuda_stream *stream, int own_gpu, const int *gpus, int count)
{
    const lane *own = lane_of(stream, own_gpu);
    if (!own || !hki_cuda_ok(stream, cudaEventRecord(own->done, hki_cuda_stream_handle(stream)),
                             "cudaEventRecord"))
        return false;
    for (int i = 0; i < count; i++) {
        const lane *its = lane_of(stream, gpus[i]);
        if (!its || !hki_cuda_ok(stream, cudaStreamWaitEvent(its->stream, own->done, 0),
                                 "cudaStreamWaitEvent"))
            return false;
    }
    return true;
}

/* The task's stream waits for all GPUs'. */
static void join_lanes(hki_cuda_stream *stream, const int *gpus, int count)
{
    for (int i = 0; i < count; i++) {
        const lane *its = lane_of(stream, gpus[i]);
        if (!its ||
            !hki_cuda_ok(stream, cudaEventRecord(its->done, its->stream), "cudaEventRecord") ||
            !hki_cuda_ok(stream, cudaStreamWaitEvent(hki_cuda_stream_handle(stream), its->done, 0),
                         "cudaStreamWaitEvent"))
            return;
    }
}

/* array i of device d is arrays[i * ranks->count + d]. */
static ncclResult_t sum(const hki_nccl *library, const communicator *ranks, hk_dtype dtype,
                        void *const *arrays, const size_t *sizes, int array_count)
{
    ncclResult_t result = library->ncclGroupStart();
    if (result != ncclSuccess)
        return result;
    for (int i = 0; i < array_count * ranks->count && result == ncclSuccess; i++) {
        const int rank = i % ranks->count;
        result = library->ncclAllReduce(arrays[i], arrays[i], sizes[i / ranks->count],
                                        hki_nccl_type(dtype), ncclSum, ranks->ranks[rank],
                                        process.lanes[ranks->gpus[rank]].stream);
    }
    const ncclResult_t ended = library->ncclGroupEnd();
    return result != ncclSuccess ? result : ended;
}

/* In NCCL's place, by the first GPU: all is there, and nobody else uses it. */
static void sum_by_copies(hki_cuda_stream *stream, hki_device *const *devices, int count,
                          hk_dtype dtype, void *const *arrays, size_t size)
{
    const size_t element = hki_dtype_bytes(dtype), most = CHUNK_BYTES / element,
                 chunk = size < most ? size : most;
    const int own = hki_cuda_device_of(devices[0])->gpu;
    char *workspace = hki_cuda_workspace(stream, (size_t)(count - 1) * chunk * element);
    for (size_t at = 0; workspace && at < size; at += chunk) {
        const size_t now = size - at < chunk ? size - at : chunk, bytes = now * element;
        const void *inputs[HKI_CUDA_MAX_GPUS];
        void *output = (char *)arrays[0] + at * element;
        inputs[0] = output;
        for (int i = 1; i < count; i++) {
            char *here = workspace + (size_t)(i - 1) * chunk * element;
            inputs[i] = here;
            hki_cuda_ok(stream,
                        cudaMemcpyPeerAsync(here, own, (char *)arrays[i] + at * element,
                                            hki_cuda_device_of(devices[i])->gpu, bytes,
                                            hki_cuda_stream_handle(stream)),
                        "cudaMemcpyPeerAsync");
        }
        devices[0]->class->sum(devices[0], dtype, inputs, count, &output, 1, now);
        for (int i = 1; i < count; i++)
            hki_cuda_ok(stream,
                        cudaMemcpyPeerAsync((char *)arrays[i] + at * element,
                                            hki_cuda_device_of(devices[i])->gpu, output, own, bytes,
                                            hki_cuda_stream_handle(stream)),
                        "cudaMemcpyPeerAsync");
    }
}

/* Under the lock. False: NCCL is not to be had, and nothing has been launched. */
static bool sum_by_library(const hki_nccl *library, hki_cuda_stream *stream,
                           hki_device *const *devices, const int *gpus, int count, hk_dtype dtype,
                           void *const *arrays, const size_t *sizes, int array_count)
{
    communicator *ranks = communicator_of(library, stream, devices, gpus, count);
    if (!ranks || ranks->is_dead)
        return false;
    if (!fork_lanes(stream, gpus[0], gpus, count))
        return true;
    const ncclResult_t result = sum(library, ranks, dtype, arrays, sizes, array_count);
    if (result != ncclSuccess) {
        hki_cuda_note(stream, "a sum by NCCL", library->ncclGetErrorString(result));
        abort_communicator(library, ranks, library->ncclGetErrorString(result));
    }
    join_lanes(stream, gpus, count);
    stream->current->sum = (int)(ranks - process.lists) + 1;
    return true;
}

void hki_cuda_all_reduce(hki_device *const *devices, int count, hk_dtype dtype, void *const *arrays,
                         const size_t *sizes, int array_count)
{
    const hki_nccl *library = hki_cuda_nccl();
    hki_cuda_stream *stream = hki_cuda_stream_begin(devices[0], HKI_QUEUE_REDUCE);
    int gpus[HKI_CUDA_MAX_GPUS];
    if (!stream)
        return;
    for (int i = 0; i < count; i++) {
        hki_cuda_device *its = hki_cuda_device_of(devices[i]);
        gpus[i] = its->gpu;
        if (hki_cuda_enter(its))
            continue;
        hki_cuda_note(stream, its->device->name, "it is lost");
        hki_cuda_enter(stream->its);
        return;
    }
    pthread_mutex_lock(&process.lock);
    const bool is_done =
        sum_by_library(library, stream, devices, gpus, count, dtype, arrays, sizes, array_count);
    pthread_mutex_unlock(&process.lock);
    hki_cuda_enter(stream->its);
    for (int i = 0; i < array_count && !is_done; i++)
        sum_by_copies(stream, devices, count, dtype, arrays + i * count, sizes[i]);
}

/* ---- while they are under way ---------------------------------------------------------------------------- */

/* Perhaps nobody has asked that GPU for anything since. */
static bool is_lost(int gpu)
{
    if (hki_cuda_lost_since(gpu) || cudaSetDevice(gpu) != cudaSuccess)
        return true;
    const cudaError_t error = cudaStreamQuery(process.lanes[gpu].stream);
    cudaGetLastError();
    return error != cudaSuccess && error != cudaErrorNotReady;
}

/* NULL: it is well. */
static const char *find_fault(const hki_nccl *library, const communicator *self, char *text,
                              size_t bytes)
{
    for (int i = 0; i < self->count; i++) {
        ncclResult_t state = ncclSuccess;
        if (is_lost(self->gpus[i])) {
            snprintf(text, bytes, "GPU %d was lost amid a sum", self->gpus[i]);
            return text;
        }
        library->ncclCommGetAsyncError(self->ranks[i], &state);
        if (state != ncclSuccess && state != ncclInProgress)
            return library->ncclGetErrorString(state);
    }
    return NULL;
}

void hki_cuda_watch_sum(int which, bool is_urgent)
{
    char text[HKI_CUDA_SUM_WHY];
    const hki_nccl *library = hki_cuda_nccl();
    int gpu = 0;
    if (hki_cuda_is_over())
        return;
    pthread_mutex_lock(&process.lock);
    communicator *self = &process.lists[which - 1];
    const int64_t now = hki_clock_ns();
    if (!self->is_dead && (is_urgent || now - self->watched_ns > WATCH_NS)) {
        self->watched_ns = now;
        cudaGetDevice(&gpu);
        const char *fault = find_fault(library, self, text, sizeof text);
        if (fault)
            abort_communicator(library, self, fault);
        cudaSetDevice(gpu);
    }
    pthread_mutex_unlock(&process.lock);
}

bool hki_cuda_sum_failed(int which, char *why)
{
    pthread_mutex_lock(&process.lock);
    const communicator *self = &process.lists[which - 1];
    const bool has_failed = self->is_dead;
    if (has_failed)
        memcpy(why, self->why, HKI_CUDA_SUM_WHY);
    pthread_mutex_unlock(&process.lock);
    return has_failed;
}
