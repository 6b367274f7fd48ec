/* NCCL for sums among the GPUs of one process; between processes: emulated_nccl_ranks.c. See emulated_libraries.h. A group's
 * sums begin when all of its streams have got there, and no stream goes on before they are done. Elements are added in
 * another order from chunk to chunk, as they are around a ring. */
#include "emulation/emulated_nccl.h"

#include "emulation/emulated_libraries.h"
#include "emulation/emulated_runtime.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 32 };

/* The calls of a group; they are of one communicator's ranks, each once. */
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
    call calls[MAX_RANKS];
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

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int count, const int *gpus)
{
    if (count < 1 || count > MAX_RANKS)
        return ncclInvalidArgument;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if (gpus[i] == gpus[j])
                return ncclInvalidUsage;
    ncclComm_t *ranks = calloc((size_t)count, sizeof *ranks);
    int *alive = calloc(1, sizeof *alive);
    if (!ranks || !alive)
        abort();
    *alive = count;
    for (int i = 0; i < count; i++) {
        comms[i] = ranks[i] = calloc(1, sizeof **ranks);
        if (!ranks[i])
            abort();
        *ranks[i] = (struct ncclComm){
            .rank = i, .count = count, .gpu = gpus[i], .ranks = ranks, .alive = alive};
    }
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (comm->between)
        return emulated_ranks_close(comm);
    if (--*comm->alive == 0) {
        free(comm->ranks);
        free(comm->alive);
    }
    free(comm);
    return ncclSuccess;
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

static void run(void *argument)
{
    emulated_nccl_add(argument);
}

/* Makes a stream of one GPU wait for what another's has got so far. */
static bool follow(const call *after, const call *before)
{
    cudaEvent_t event;
    bool done = cudaSetDevice(before->comm->gpu) == cudaSuccess &&
                cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess;
    if (!done)
        return false;
    done = cudaEventRecord(event, before->stream) == cudaSuccess &&
           cudaSetDevice(after->comm->gpu) == cudaSuccess &&
           cudaStreamWaitEvent(after->stream, event, 0) == cudaSuccess;
    cudaEventDestroy(event);
    return done;
}

static ncclResult_t run_group(void)
{
    const call *calls = group.calls, *first = &calls[0];
    emulated_nccl_sum self = {.count = group.count, .type = first->type, .size = first->size};
    int gpu = 0;
    bool done = true;
    if (group.count != first->comm->count)
        return ncclInvalidUsage; /* the real one hangs */
    for (int i = 0; i < group.count; i++) {
        const call *its = &calls[i];
        if (its->comm->ranks != first->comm->ranks || its->type != first->type ||
            its->size != first->size || self.from[its->comm->rank])
            return ncclInvalidUsage;
        self.from[its->comm->rank] = its->from;
        self.to[its->comm->rank] = its->to;
    }
    cudaGetDevice(&gpu);
    for (int i = 1; i < group.count; i++)
        done = follow(first, &calls[i]) && done;
    done = done && cudaSetDevice(first->comm->gpu) == cudaSuccess &&
           hki_emulated_enqueue(first->stream, "ncclAllReduce", run, &self, sizeof self) ==
               cudaSuccess;
    for (int i = 1; i < group.count; i++)
        done = follow(&calls[i], first) && done;
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
    if (op != ncclSum || group.count == MAX_RANKS ||
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
