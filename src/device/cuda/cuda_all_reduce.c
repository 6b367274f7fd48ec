/* Sums over GPUs by NCCL, where the program asks for it. Not the default, because NCCL adds in an order that follows the
 * machine's links: the same bytes on every run of one machine, but not those of the list's order, which all other kinds
 * of devices give. The library's own sums move as many bytes over each link; NCCL takes fewer steps.
 *
 * One communicator for each list of GPUs and one stream for each GPU, of the process, not of a device: two sums that
 * share GPUs must be in the same order on all of them, or each could wait for the other's half. They are, whichever
 * queues' threads launch them: a sum is put into the streams of all its GPUs under one lock, and these streams run
 * nothing else. A sum that waits for kernels of a queue waits for such as were launched before it, so that nothing goes
 * round in a circle. Communicators and streams are made when they are first used, which blocks the queue's thread for a
 * second or so, and live as long as the process. */
#include "device/cuda/cuda_internal.h"
#include "device/cuda/cuda_libraries.h"

#include <string.h>

enum { LISTS_MAX = 16 };

/* Of one GPU. */
typedef struct lane {
    cudaStream_t stream; /* NULL before it is first used */
    cudaEvent_t done;
} lane;

typedef struct communicator {
    int count;
    int gpus[HKI_CUDA_MAX_GPUS];
    ncclComm_t ranks[HKI_CUDA_MAX_GPUS];
} communicator;

/* What the process has for NCCL. */
static struct {
    pthread_mutex_t lock;
    lane lanes[HKI_CUDA_MAX_GPUS];
    communicator lists[LISTS_MAX];
    int list_count;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool hki_cuda_has_all_reduce(hki_device *const *devices, int count, hk_dtype dtype)
{
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
    }
    return hki_cuda_nccl() != NULL;
}

/* ---- what the process has: under the lock --------------------------------------------------------------- */

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

/* NULL after noting an error. */
static const communicator *communicator_of(const hki_nccl *library, hki_cuda_stream *stream,
                                           const int *gpus, int count)
{
    for (int i = 0; i < process.list_count; i++) {
        const communicator *self = &process.lists[i];
        if (self->count == count && !memcmp(self->gpus, gpus, (size_t)count * sizeof *gpus))
            return self;
    }
    if (process.list_count == LISTS_MAX) {
        hki_cuda_note(stream, "all_reduce by NCCL", "more than 16 different lists of GPUs");
        return NULL;
    }
    communicator *self = &process.lists[process.list_count];
    if (!HKI_LIBRARY_CALL(nccl, library, stream, ncclCommInitAll, self->ranks, count, gpus))
        return NULL;
    hki_cuda_stream_has_loaded(stream);
    self->count = count;
    memcpy(self->gpus, gpus, (size_t)count * sizeof *gpus);
    process.list_count++;
    return self;
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

static void sum(const hki_nccl *library, hki_cuda_stream *stream, const communicator *ranks,
                hk_dtype dtype, void *const *arrays, size_t size)
{
    bool good = hki_nccl_ok(library, stream, library->ncclGroupStart(), "ncclGroupStart");
    if (!good)
        return;
    for (int i = 0; i < ranks->count && good; i++)
        good = HKI_LIBRARY_CALL(nccl, library, stream, ncclAllReduce, arrays[i], arrays[i], size,
                                hki_nccl_type(dtype), ncclSum, ranks->ranks[i],
                                process.lanes[ranks->gpus[i]].stream);
    hki_nccl_ok(library, stream, library->ncclGroupEnd(), "ncclGroupEnd");
}

void hki_cuda_all_reduce(hki_device *const *devices, int count, hk_dtype dtype, void *const *arrays,
                         size_t size)
{
    const hki_nccl *library = hki_cuda_nccl();
    hki_cuda_stream *stream = hki_cuda_stream_begin(devices[0], HKI_QUEUE_REDUCE);
    int gpus[HKI_CUDA_MAX_GPUS];
    if (!stream)
        return;
    for (int i = 0; i < count; i++)
        gpus[i] = hki_cuda_device_of(devices[i])->gpu;
    pthread_mutex_lock(&process.lock);
    const communicator *ranks = communicator_of(library, stream, gpus, count);
    if (ranks && fork_lanes(stream, gpus[0], gpus, count)) {
        sum(library, stream, ranks, dtype, arrays, size);
        join_lanes(stream, gpus, count);
    }
    pthread_mutex_unlock(&process.lock);
    hki_cuda_ok(stream, cudaSetDevice(gpus[0]), "cudaSetDevice");
}
