/* Channels by NCCL: see device/channel.h. Communicators that do not block: NCCL joins processes, and makes the ways between
 * them, in threads of its own, and is asked how far it has got. So who calls can give up when a rank is lost.
 *
 * Each channel has a stream where nothing else runs. A task's event is recorded when NCCL has put all of it there. Nothing that
 * computes waits for such a stream on the GPU: the host has seen its tasks end first. So ranks may begin tasks of several channels in
 * different orders, as long as the GPU has room for all of them: hence the limit. */
#include "device/channel.h"
#include "device/cuda/cuda_internal.h"
#include "device/cuda/cuda_libraries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHANNELS = 4 }; /* of the process */

_Static_assert(HKI_CHANNEL_NAME_BYTES == NCCL_UNIQUE_ID_BYTES, "it is NCCL's");

struct hki_channel_task {
    hki_channel_task *next; /* of the channel */
    cudaEvent_t end;
    bool is_marked; /* the event has been recorded */
};

struct hki_channel {
    hki_cuda_device *its;
    const hki_nccl *library;
    ncclComm_t communicator;
    cudaStream_t stream;
    hki_channel_task *tasks;
};

static int channel_count; /* of the one thread */

static bool is_there(void)
{
    return hki_cuda_nccl() != NULL;
}

/* ---- errors ------------------------------------------------------------------------------------------------------- */

static bool enter(hki_cuda_device *self, char *why)
{
    if (hki_cuda_enter(self))
        return true;
    snprintf(why, HKI_CHANNEL_WHY, "%s is lost: %.200s", self->device->name, self->lost_text);
    return false;
}

/* What has been begun is no error. */
static bool is_good(const hki_nccl *library, ncclResult_t result, const char *what, char *why)
{
    if (result == ncclSuccess || result == ncclInProgress)
        return true;
    snprintf(why, HKI_CHANNEL_WHY, "%s: %s", what, library->ncclGetErrorString(result));
    return false;
}

static bool is_done(cudaError_t error, const char *what, char *why)
{
    if (error == cudaSuccess)
        return true;
    cudaGetLastError(); /* which the next launch of this thread would take for its own */
    snprintf(why, HKI_CHANNEL_WHY, "%s: %s (%s)", what, cudaGetErrorString(error),
             cudaGetErrorName(error));
    return false;
}

#define IS_GOOD(library, why, function, ...)                                                       \
    is_good(library, (library)->function(__VA_ARGS__), #function, why)
#define IS_DONE(why, function, ...) is_done(function(__VA_ARGS__), #function, why)

/* ---- opening ------------------------------------------------------------------------------------------------------ */

static const hki_nccl *library_of(char *why)
{
    const hki_nccl *library = hki_cuda_nccl();
    if (!library)
        snprintf(why, HKI_CHANNEL_WHY, "NCCL has not been found: see hocket doctor");
    return library;
}

static bool make_name(hki_device *device, void *name, char *why)
{
    const hki_nccl *library = library_of(why);
    return library && enter(hki_cuda_device_of(device), why) &&
           IS_GOOD(library, why, ncclGetUniqueId, name);
}

static void close_channel(hki_channel *self)
{
    char why[HKI_CHANNEL_WHY];
    const bool is_current = enter(self->its, why), is_over = hki_cuda_is_over();
    /* One that is closed in good order has nothing under way any more. */
    if (self->communicator && !is_over)
        self->library->ncclCommAbort(self->communicator);
    while (self->tasks) {
        hki_channel_task *task = self->tasks;
        self->tasks = task->next;
        if (!is_over)
            cudaEventDestroy(task->end);
        free(task);
    }
    if (self->stream && !is_over)
        cudaStreamDestroy(self->stream);
    if (is_current)
        cudaGetLastError();
    channel_count--;
    free(self);
}

static bool join(hki_channel *self, const void *name, int size, int rank, char *why)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    int least, greatest;
    memcpy(&id, name, sizeof id);
    config.blocking = 0;
    hki_cuda_trim(self->its); /* NCCL's buffers are none of the pool's */
    return IS_DONE(why, cudaDeviceGetStreamPriorityRange, &least, &greatest) &&
           IS_DONE(why, cudaStreamCreateWithPriority, &self->stream, cudaStreamNonBlocking,
                   greatest) &&
           IS_GOOD(self->library, why, ncclCommInitRankConfig, &self->communicator, size, id, rank,
                   &config);
}

static hki_channel *open_channel(hki_device *device, const void *name, int size, int rank,
                                 char *why)
{
    const hki_nccl *library = library_of(why);
    hki_cuda_device *its = hki_cuda_device_of(device);
    if (!library || !enter(its, why))
        return NULL;
    if (channel_count == MOST_CHANNELS) {
        snprintf(why, HKI_CHANNEL_WHY, "there are %d channels already", MOST_CHANNELS);
        return NULL;
    }
    hki_channel *self = calloc(1, sizeof *self);
    if (!self) {
        snprintf(why, HKI_CHANNEL_WHY, "out of host memory");
        return NULL;
    }
    self->its = its;
    self->library = library;
    channel_count++;
    its->host->runtime_end_first();
    if (join(self, name, size, rank, why))
        return self;
    close_channel(self);
    return NULL;
}

static hki_channel_state poll_channel(hki_channel *self, char *why)
{
    ncclResult_t state = ncclSuccess;
    if (!enter(self->its, why) ||
        !IS_GOOD(self->library, why, ncclCommGetAsyncError, self->communicator, &state) ||
        !is_good(self->library, state, "NCCL", why))
        return HKI_CHANNEL_FAILED;
    return state == ncclInProgress ? HKI_CHANNEL_BUSY : HKI_CHANNEL_DONE;
}

/* ---- tasks --------------------------------------------------------------------------------------------------------- */

static hki_channel_task *add_task(hki_channel *self, char *why)
{
    hki_channel_task *task = calloc(1, sizeof *task), **end = &self->tasks;
    if (!task) {
        snprintf(why, HKI_CHANNEL_WHY, "out of host memory");
        return NULL;
    }
    if (!IS_DONE(why, cudaEventCreateWithFlags, &task->end, cudaEventDisableTiming)) {
        free(task);
        return NULL;
    }
    while (*end)
        end = &(*end)->next;
    *end = task;
    return task;
}

static void remove_task(hki_channel *self, hki_channel_task *task)
{
    hki_channel_task **at = &self->tasks;
    while (*at != task)
        at = &(*at)->next;
    *at = task->next;
    cudaEventDestroy(task->end);
    free(task);
}

static bool copy_own(hki_channel *self, const hki_channel_part *parts, int count, char *why)
{
    for (int i = 0; i < count; i++)
        if (parts[i].from && parts[i].to &&
            !IS_DONE(why, cudaMemcpyAsync, parts[i].to, parts[i].from, parts[i].bytes,
                     cudaMemcpyDeviceToDevice, self->stream))
            return false;
    return true;
}

static bool move_part(hki_channel *self, const hki_channel_part *part, char *why)
{
    if (part->from && part->to)
        return true;
    return part->from ? IS_GOOD(self->library, why, ncclSend, part->from, part->bytes, ncclUint8,
                                part->peer, self->communicator, self->stream)
                      : IS_GOOD(self->library, why, ncclRecv, part->to, part->bytes, ncclUint8,
                                part->peer, self->communicator, self->stream);
}

/* All in one group, so that no part waits for another one. */
static hki_channel_task *move(hki_channel *self, const hki_channel_part *parts, int count,
                              char *why)
{
    const hki_nccl *library = self->library;
    if (!enter(self->its, why) || !copy_own(self, parts, count, why) ||
        !is_good(library, library->ncclGroupStart(), "ncclGroupStart", why))
        return NULL;
    bool good = true;
    for (int i = 0; i < count && good; i++)
        good = move_part(self, &parts[i], why);
    const ncclResult_t end = library->ncclGroupEnd();
    return good && is_good(library, end, "ncclGroupEnd", why) ? add_task(self, why) : NULL;
}

static hki_channel_task *sum(hki_channel *self, hk_dtype dtype, void *data, size_t size, char *why)
{
    return enter(self->its, why) &&
                   IS_GOOD(self->library, why, ncclAllReduce, data, data, size,
                           hki_nccl_type(dtype), ncclSum, self->communicator, self->stream)
               ? add_task(self, why)
               : NULL;
}

static hki_channel_state ask(hki_channel *self, hki_channel_task *task, char *why)
{
    const hki_channel_state state = poll_channel(self, why); /* also of what others do */
    if (state == HKI_CHANNEL_FAILED || (state == HKI_CHANNEL_BUSY && !task->is_marked))
        return state;
    if (!task->is_marked && !IS_DONE(why, cudaEventRecord, task->end, self->stream))
        return HKI_CHANNEL_FAILED;
    task->is_marked = true;
    const cudaError_t error = cudaEventQuery(task->end);
    if (error == cudaErrorNotReady) {
        cudaGetLastError(); /* which it is, too */
        return HKI_CHANNEL_BUSY;
    }
    return is_done(error, "cudaEventQuery", why) ? HKI_CHANNEL_DONE : HKI_CHANNEL_FAILED;
}

static hki_channel_state poll_task(hki_channel *self, hki_channel_task *task, char *why)
{
    const hki_channel_state state = ask(self, task, why);
    if (state != HKI_CHANNEL_BUSY)
        remove_task(self, task);
    return state;
}

/* ---- without a channel ---------------------------------------------------------------------------------------------- */

static bool copy(hki_device *device, void *to, const void *from, size_t bytes, char *why)
{
    cudaStream_t stream = NULL;
    bool good = enter(hki_cuda_device_of(device), why) &&
                IS_DONE(why, cudaStreamCreateWithFlags, &stream, cudaStreamNonBlocking) &&
                IS_DONE(why, cudaMemcpyAsync, to, from, bytes, cudaMemcpyDefault, stream);
    if (stream)
        good = IS_DONE(why, cudaStreamSynchronize, stream) && good;
    if (stream)
        cudaStreamDestroy(stream);
    return good;
}

const hki_channel_class hki_cuda_channel_class = {.is_there = is_there,
                                                  .make_name = make_name,
                                                  .open = open_channel,
                                                  .poll = poll_channel,
                                                  .move = move,
                                                  .sum = sum,
                                                  .poll_task = poll_task,
                                                  .close = close_channel,
                                                  .copy = copy};
