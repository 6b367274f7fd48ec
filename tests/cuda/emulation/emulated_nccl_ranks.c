/* NCCL between processes of one machine: a communicator is a piece of shared memory with a place for a few bytes from each
 * rank to each. What a group has begun is one entry of its stream, which moves all of it a bit at a time.
 *
 * Communicators that do not block are all that there is, and they make those mistakes show which the real ones forgive: nothing
 * is ready when it is first asked for; what a group has begun gets into its stream only when it is asked for; what is called
 * meanwhile is refused; a message that is received with another size ends the process, for the real one hangs or mixes bytes.
 *
 * HOCKET_EMULATED_NCCL_STOPS=N, HOCKET_EMULATED_NCCL_DIES=N: the process stops, or is killed, amid its Nth entry. */
#include "emulation/emulated_nccl.h"

#include "emulation/emulated_libraries.h"
#include "emulation/emulated_runtime.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    PLACE_BYTES = 8192,
    POLLS = 2, /* until something is ready */
    NAP_NS = 20000,
    MAX_CALLS = 4096 /* of a group */
};

/* From one rank to another. */
typedef struct place {
    _Alignas(64) _Atomic(uint32_t) is_full;
    size_t total, bytes; /* of the message, of what is here */
    char data[PLACE_BYTES];
} place;

typedef struct shared {
    _Atomic(int) attached;
    place places[MAX_RANKS * MAX_RANKS]; /* [from * MAX_RANKS + to] */
} shared;

typedef struct call {
    const void *from; /* NULL: it is received */
    void *to;         /* NULL: it is sent; neither NULL: a sum */
    size_t bytes;
    ncclDataType_t type;
    int peer;
    cudaStream_t stream;
} call;

typedef struct emulated_ranks {
    atomic_int refs; /* the communicator, and each entry in a stream */
    _Atomic(bool) is_aborted;
    int rank, count;
    shared *memory;
    int fd;      /* of who has made it; else -1 */
    int polls;   /* until it is ready */
    call *calls; /* of a group that has ended, in no stream yet */
    int call_count;
} emulated_ranks;

/* The name of a communicator: a file that a process has open. */
typedef struct name {
    int32_t pid, fd;
} name;

static _Thread_local struct {
    int count, depth;
    ncclComm_t comm; /* NULL: none */
    ncclResult_t result;
    call calls[MAX_CALLS];
} group;

static void release(emulated_ranks *self)
{
    if (atomic_fetch_sub(&self->refs, 1) != 1)
        return;
    munmap(self->memory, sizeof *self->memory);
    if (self->fd >= 0)
        close(self->fd);
    free(self->calls);
    free(self);
}

/* ---- joining ---------------------------------------------------------------------------------------------- */

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    const int fd = memfd_create("hocket-nccl", MFD_CLOEXEC);
    memset(id, 0xA5, sizeof *id);
    if (fd < 0 || ftruncate(fd, sizeof(shared)) != 0)
        return ncclSystemError;
    memcpy(id, &(name){(int32_t)getpid(), fd}, sizeof(name));
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int count, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    name its;
    char path[64];
    int gpu = 0;
    memcpy(&its, &id, sizeof its);
    *comm = NULL;
    if (count < 1 || count > MAX_RANKS || rank < 0 || rank >= count || !config ||
        config->blocking != 0 || cudaGetDevice(&gpu) != cudaSuccess)
        return ncclInvalidArgument;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", its.pid, its.fd);
    const bool is_mine = its.pid == getpid();
    const int fd = is_mine ? its.fd : open(path, O_RDWR | O_CLOEXEC);
    shared *memory =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0 && !is_mine)
        close(fd);
    if (memory == MAP_FAILED)
        return ncclSystemError;
    emulated_ranks *self = calloc(1, sizeof *self);
    *comm = calloc(1, sizeof **comm);
    if (!self || !*comm)
        abort();
    *self = (emulated_ranks){
        .rank = rank, .count = count, .memory = memory, .fd = is_mine ? fd : -1, .polls = POLLS};
    atomic_init(&self->refs, 1);
    **comm = (struct ncclComm){.rank = rank, .count = count, .gpu = gpu, .between = self};
    atomic_fetch_add(&memory->attached, 1);
    return ncclInProgress;
}

ncclResult_t emulated_ranks_close(ncclComm_t comm)
{
    atomic_store(&comm->between->is_aborted, true);
    release(comm->between);
    free(comm);
    return ncclSuccess;
}

/* ---- in a stream -------------------------------------------------------------------------------------------- */

typedef struct half {
    bool is_send;
    int peer;
    char *data;
    size_t bytes, at;
    bool is_over;
} half;

static bool send_some(emulated_ranks *self, half *its)
{
    place *to = &self->memory->places[self->rank * MAX_RANKS + its->peer];
    if (atomic_load(&to->is_full))
        return false;
    to->total = its->bytes;
    to->bytes = its->bytes - its->at < PLACE_BYTES ? its->bytes - its->at : PLACE_BYTES;
    memcpy(to->data, its->data + its->at, to->bytes);
    its->at += to->bytes;
    its->is_over = its->at == its->bytes;
    atomic_store(&to->is_full, 1);
    return true;
}

static bool receive_some(emulated_ranks *self, half *its)
{
    place *from = &self->memory->places[its->peer * MAX_RANKS + self->rank];
    if (!atomic_load(&from->is_full))
        return false;
    if (from->total != its->bytes) {
        fprintf(stderr, "emulated NCCL: rank %d receives %zu bytes, but rank %d sends %zu\n",
                self->rank, its->bytes, its->peer, from->total);
        abort();
    }
    memcpy(its->data + its->at, from->data, from->bytes);
    its->at += from->bytes;
    its->is_over = its->at == its->bytes;
    atomic_store(&from->is_full, 0);
    return true;
}

static void may_stop(void)
{
    static _Atomic(int) entries;
    const int number = atomic_fetch_add(&entries, 1) + 1;
    const char *stops = getenv("HOCKET_EMULATED_NCCL_STOPS");
    const char *dies = getenv("HOCKET_EMULATED_NCCL_DIES");
    if (stops && number == atoi(stops))
        raise(SIGSTOP);
    if (dies && number == atoi(dies))
        raise(SIGKILL);
}

/* All halves, each direction to each peer in order. */
static void move(emulated_ranks *self, half *halves, int count)
{
    bool has_stopped = false;
    for (int left = count; left > 0 && !atomic_load(&self->is_aborted);) {
        bool blocked[2][MAX_RANKS] = {{false}}, any = false;
        left = 0;
        for (int i = 0; i < count; i++) {
            half *its = &halves[i];
            if (its->is_over)
                continue;
            left++;
            if (blocked[its->is_send][its->peer])
                continue;
            any = (its->is_send ? send_some : receive_some)(self, its) || any;
            blocked[its->is_send][its->peer] = true;
        }
        if (!has_stopped)
            may_stop();
        has_stopped = true;
        if (!any && left)
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}

static void sum(emulated_ranks *self, const call *its)
{
    half halves[2 * MAX_RANKS];
    int count = 0;
    char *rows = malloc((size_t)self->count * its->bytes + 1);
    emulated_nccl_sum all = {.count = self->count,
                             .type = its->type,
                             .size = its->bytes / emulated_nccl_bytes(its->type)};
    if (!rows)
        abort();
    memcpy(rows + (size_t)self->rank * its->bytes, its->from, its->bytes);
    for (int r = 0; r < self->count; r++) {
        char *row = rows + (size_t)r * its->bytes;
        all.from[r] = row;
        all.to[r] = its->to;
        if (r == self->rank)
            continue;
        halves[count++] = (half){.is_send = true,
                                 .peer = r,
                                 .data = rows + (size_t)self->rank * its->bytes,
                                 .bytes = its->bytes};
        halves[count++] = (half){.peer = r, .data = row, .bytes = its->bytes};
    }
    move(self, halves, count);
    if (!atomic_load(&self->is_aborted))
        emulated_nccl_add(&all);
    free(rows);
}

typedef struct entry {
    emulated_ranks *ranks;
    int count;
    call calls[];
} entry;

static void run(void *argument)
{
    const entry *self = argument;
    half *halves = calloc((size_t)self->count, sizeof *halves);
    int count = 0;
    if (!halves)
        abort();
    for (int i = 0; i < self->count; i++) {
        const call *its = &self->calls[i];
        if (its->from && its->to)
            sum(self->ranks, its);
        else
            halves[count++] = (half){.is_send = its->from != NULL,
                                     .peer = its->peer,
                                     .data = its->from ? (char *)(uintptr_t)its->from : its->to,
                                     .bytes = its->bytes};
    }
    move(self->ranks, halves, count);
    free(halves);
    release(self->ranks);
}

static ncclResult_t enqueue(emulated_ranks *self)
{
    const size_t bytes = sizeof(entry) + (size_t)self->call_count * sizeof(call);
    entry *its = calloc(1, bytes);
    if (!its)
        abort();
    its->ranks = self;
    its->count = self->call_count;
    memcpy(its->calls, self->calls, (size_t)self->call_count * sizeof(call));
    atomic_fetch_add(&self->refs, 1);
    const cudaError_t error =
        hki_emulated_enqueue(self->calls[0].stream, "nccl between processes", run, its, bytes);
    if (error != cudaSuccess)
        release(self);
    free(its);
    self->call_count = 0;
    return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state)
{
    emulated_ranks *self = comm->between;
    *state = ncclSuccess;
    if (!self)
        return ncclSuccess;
    if (atomic_load(&self->memory->attached) < self->count ||
        (self->polls > 0 && self->polls-- > 0))
        *state = ncclInProgress;
    else if (self->call_count > 0)
        *state = enqueue(self);
    return ncclSuccess;
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

void emulated_ranks_begin_group(void)
{
    group.depth = 1;
    group.count = 0;
    group.comm = NULL;
    group.result = ncclSuccess;
}

ncclResult_t emulated_ranks_end_group(void)
{
    group.depth = 0;
    if (group.result != ncclSuccess || group.count == 0)
        return group.result;
    emulated_ranks *self = group.comm->between;
    free(self->calls);
    self->calls = malloc((size_t)group.count * sizeof *self->calls);
    if (!self->calls)
        abort();
    memcpy(self->calls, group.calls, (size_t)group.count * sizeof *self->calls);
    self->call_count = group.count;
    self->polls = POLLS;
    return ncclInProgress;
}

/* An error is that of the whole group. */
static ncclResult_t add(ncclComm_t comm, call its)
{
    const bool is_alone = group.depth == 0;
    const emulated_ranks *self = comm->between;
    ncclResult_t result = ncclSuccess;
    if (is_alone)
        emulated_ranks_begin_group();
    const void *data = its.from ? its.from : its.to;
    const size_t alignment = its.from && its.to ? emulated_nccl_bytes(its.type) : 1;
    if (!self || self->polls > 0 || self->call_count > 0 || (group.comm && group.comm != comm) ||
        (group.count > 0 && group.calls[0].stream != its.stream))
        result = ncclInvalidUsage;
    else if (group.count == MAX_CALLS || its.peer < 0 || its.peer >= comm->count ||
             !emulated_is_good(data, its.bytes, alignment) ||
             (its.to && !emulated_is_good(its.to, its.bytes, alignment)))
        result = ncclInvalidArgument;
    if (result == ncclSuccess) {
        group.comm = comm;
        group.calls[group.count++] = its;
    } else if (group.result == ncclSuccess) {
        group.result = result;
    }
    return is_alone ? emulated_ranks_end_group() : result;
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    return add(comm, (call){.from = from,
                            .bytes = count * emulated_nccl_bytes(type),
                            .type = type,
                            .peer = peer,
                            .stream = stream});
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return add(comm, (call){.to = to,
                            .bytes = count * emulated_nccl_bytes(type),
                            .type = type,
                            .peer = peer,
                            .stream = stream});
}

ncclResult_t emulated_ranks_sum(const void *from, void *to, size_t size, ncclDataType_t type,
                                ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    if (op != ncclSum)
        return ncclInvalidArgument;
    return add(comm, (call){.from = from,
                            .to = to,
                            .bytes = size * emulated_nccl_bytes(type),
                            .type = type,
                            .stream = stream});
}
