/* NCCL for sums among the GPUs of one process; between processes: emulated_nccl_ranks.c. See emulated_libraries.h. Each rank
 * of a group's sums is a kernel of its GPU, which is resident until all others have come, so that kernels in different orders
 * on two GPUs wait for ever, and those of a GPU that is lost are waited for until the others' communicators are aborted. A GPU has room
 * for one such kernel. Elements are added in another order from chunk to chunk, as they are around a ring. */
#include "emulation/emulated_nccl.h"

#include "emulation/emulated_libraries.h"
#include "emulation/emulated_runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHUNK = 32, MAX_CALLS = 4096, NAP_NS = 20000, BUFFER_BYTES = 4 << 20 };

/* The calls of a group; they are of one communicator's ranks, as many of each. */
typedef struct call {
    const void *from;
    void *to;
    size_t size;
    ncclDataType_t type;
    ncclComm_t comm;
    cudaStream_t stream;
} call;

static _Thread_local struct {
    int depth, count;
    call calls[MAX_CALLS];
    ncclResult_t result;
} group;

ncclResult_t ncclGetVersion(int *version)
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclSuccess           ? "no error"
           : result == ncclInvalidArgument ? "invalid argument"
           : result == ncclInvalidUsage    ? "invalid usage"
                                           : "unhandled cuda error";
}

/* Memory for buffers, which stays, as that of the real one does for as long as there is a communicator. */
static bool has_buffers(const int *gpus, int count)
{
    int gpu = 0;
    bool has_all = cudaGetDevice(&gpu) == cudaSuccess;
    for (int i = 0; i < count && has_all; i++) {
        void *buffer;
        has_all = cudaSetDevice(gpus[i]) == cudaSuccess &&
                  cudaMalloc(&buffer, BUFFER_BYTES) == cudaSuccess;
    }
    cudaSetDevice(gpu);
    return has_all;
}

/* Kernels that a lost GPU has skipped let go of nothing: all of it stays to the end, one behind another. */
static ncclComm_t newest;

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int count, const int *gpus)
{
    if (count < 1 || count > MAX_RANKS)
        return ncclInvalidArgument;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if (gpus[i] == gpus[j])
                return ncclInvalidUsage;
    if (!has_buffers(gpus, count))
        return ncclUnhandledCudaError;
    ncclComm_t *ranks = calloc((size_t)count, sizeof *ranks);
    if (!ranks)
        abort();
    for (int i = 0; i < count; i++) {
        comms[i] = ranks[i] = calloc(1, sizeof **ranks);
        if (!ranks[i])
            abort();
        *ranks[i] = (struct ncclComm){
            .rank = i, .count = count, .gpu = gpus[i], .ranks = ranks, .older = newest};
        newest = ranks[i];
    }
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (comm->between)
        return emulated_ranks_close(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (!comm->between)
        atomic_store(&comm->is_aborted, true);
    return ncclCommDestroy(comm);
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

size_t emulated_nccl_bytes(ncclDataType_t type)
{
    return type == ncclFloat64 || type == ncclInt64 || type == ncclUint64 ? 8
           : type == ncclUint8                                            ? 1
                                                                          : 4;
}

#define SUM(name, T)                                                                               \
    static void sum_##name(const emulated_nccl_sum *self)                                          \
    {                                                                                              \
        for (size_t i = 0; i < self->size; i++) {                                                  \
            const int first = (int)(i / CHUNK % (size_t)self->count);                              \
            T value = ((const T *)self->from[first])[i];                                           \
            for (int r = 1; r < self->count; r++)                                                  \
                value = (T)(value + ((const T *)self->from[(first + r) % self->count])[i]);        \
            for (int r = 0; r < self->count; r++)                                                  \
                ((T *)self->to[r])[i] = value;                                                     \
        }                                                                                          \
    }

SUM(f32, float)
SUM(f64, double)
SUM(u8, uint8_t)
SUM(u32, uint32_t)
SUM(u64, uint64_t)

void emulated_nccl_add(const emulated_nccl_sum *self)
{
    switch ((int)self->type) {
    case ncclFloat32:
        sum_f32(self);
        break;
    case ncclFloat64:
        sum_f64(self);
        break;
    case ncclUint8:
        sum_u8(self);
        break;
    case ncclInt32:
    case ncclUint32:
        sum_u32(self);
        break;
    default:
        sum_u64(self);
        break;
    }
}

/* Where the ranks of a group's sums meet. */
typedef struct meeting {
    struct meeting *older;
    pthread_mutex_t lock;
    int arrived;
    bool is_done;
    int count; /* sums */
    emulated_nccl_sum sums[];
} meeting;

/* A rank's kernel: addresses among its arguments are exchanged when it is launched. */
typedef struct kernel {
    meeting *where;
    ncclComm_t comm;
    int64_t count;
    struct {
        const void *from;
        void *to;
    } own[];
} kernel;

static _Atomic(meeting *) last_meeting;
static atomic_int residents[MAX_RANKS]; /* by GPU */

static bool is_over(meeting *self, ncclComm_t comm)
{
    pthread_mutex_lock(&self->lock);
    const bool is_done = self->is_done;
    pthread_mutex_unlock(&self->lock);
    return is_done || atomic_load(&comm->is_aborted);
}

static void arrive(meeting *self, const kernel *its)
{
    pthread_mutex_lock(&self->lock);
    for (int i = 0; i < self->count; i++) {
        self->sums[i].from[its->comm->rank] = its->own[i].from;
        self->sums[i].to[its->comm->rank] = its->own[i].to;
    }
    if (++self->arrived == its->comm->count) {
        for (int i = 0; i < self->count; i++)
            emulated_nccl_add(&self->sums[i]);
        self->is_done = true;
    }
    pthread_mutex_unlock(&self->lock);
}

static void run(void *argument)
{
    const kernel *self = argument;
    const struct timespec nap = {.tv_nsec = NAP_NS};
    atomic_int *resident = &residents[self->comm->gpu];
    int none = 0;
    while (!atomic_compare_exchange_strong(resident, &none, 1)) {
        none = 0;
        nanosleep(&nap, NULL);
    }
    if (!atomic_load(&self->comm->is_aborted))
        arrive(self->where, self);
    while (!is_over(self->where, self->comm))
        nanosleep(&nap, NULL);
    atomic_store(resident, 0);
}

/* The calls of rank r that are launched as one kernel. */
static cudaError_t launch(meeting *where, ncclComm_t comm, cudaStream_t stream)
{
    const size_t bytes = sizeof(kernel) + (size_t)where->count * sizeof(((kernel *)0)->own[0]);
    kernel *self = calloc(1, bytes);
    if (!self)
        abort();
    *self = (kernel){.where = where, .comm = comm, .count = where->count};
    for (int i = 0, at = 0; i < group.count; i++)
        if (group.calls[i].comm == comm) {
            self->own[at].from = group.calls[i].from;
            self->own[at++].to = group.calls[i].to;
        }
    const cudaError_t error = cudaSetDevice(comm->gpu) == cudaSuccess
                                  ? hki_emulated_enqueue(stream, "ncclAllReduce", run, self, bytes)
                                  : cudaErrorUnknown;
    free(self);
    return error;
}

/* As many sums of each rank, alike in their order. */
static bool is_complete(int count)
{
    const call *calls = group.calls;
    int of_rank[MAX_RANKS] = {0};
    for (int i = 0; i < group.count; i++) {
        if (calls[i].comm->ranks != calls[0].comm->ranks)
            return false;
        const int nth = of_rank[calls[i].comm->rank]++;
        for (int j = 0, other = 0; j < i; j++)
            if (calls[j].comm == calls[0].comm && other++ == nth &&
                (calls[j].type != calls[i].type || calls[j].size != calls[i].size))
                return false;
    }
    for (int r = 0; r < calls[0].comm->count; r++)
        if (of_rank[r] != count)
            return false;
    return true;
}

static ncclResult_t run_group(void)
{
    const call *calls = group.calls;
    const int ranks = calls[0].comm->count, count = group.count / ranks;
    bool done = true;
    int gpu = 0;
    if (!is_complete(count))
        return ncclInvalidUsage; /* the real one hangs */
    meeting *where = calloc(1, sizeof *where + (size_t)count * sizeof where->sums[0]);
    if (!where)
        abort();
    pthread_mutex_init(&where->lock, NULL);
    where->count = count;
    where->older = atomic_exchange(&last_meeting, where);
    for (int i = 0, at = 0; i < group.count; i++)
        if (calls[i].comm == calls[0].comm)
            where->sums[at++] =
                (emulated_nccl_sum){.count = ranks, .type = calls[i].type, .size = calls[i].size};
    cudaGetDevice(&gpu);
    for (int r = 0; r < ranks; r++) {
        int first = 0;
        while (calls[first].comm->rank != r)
            first++;
        done = launch(where, calls[first].comm, calls[first].stream) == cudaSuccess && done;
    }
    cudaSetDevice(gpu);
    return done ? ncclSuccess : ncclUnhandledCudaError;
}

/* nccl.h says nothing of their arguments, which is no prototype in C. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

ncclResult_t ncclGroupStart(void)
{
    if (group.depth++ == 0) {
        group.count = 0;
        group.result = ncclSuccess;
        emulated_ranks_begin_group();
    }
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (group.depth == 0)
        return ncclInvalidUsage;
    if (--group.depth > 0)
        return group.result;
    const ncclResult_t ranks = emulated_ranks_end_group();
    if (group.count == 0)
        return group.result != ncclSuccess ? group.result : ranks;
    return group.result != ncclSuccess ? group.result : run_group();
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t size, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    const size_t bytes = size * emulated_nccl_bytes(type);
    ncclResult_t result = ncclSuccess;
    if (comm->between)
        return emulated_ranks_sum(from, to, size, type, op, comm, stream);
    if (group.depth == 0 && comm->count > 1)
        return ncclInvalidUsage; /* the real one hangs */
    if (op != ncclSum || group.count == MAX_CALLS ||
        !emulated_is_good(from, bytes, emulated_nccl_bytes(type)) ||
        !emulated_is_good(to, bytes, emulated_nccl_bytes(type)))
        result = ncclInvalidArgument;
    else
        group.calls[group.count++] = (call){from, to, size, type, comm, stream};
    if (group.result == ncclSuccess)
        group.result = result;
    return result;
}

const emulated_function emulated_nccl_functions[] = {
    HKI_NCCL_FUNCTIONS(EMULATED_FUNCTION){NULL, NULL}};
