/* Copies between memories. What the host has in memory that is not pinned goes through pinned memory by a function of
 * the host that runs in the stream's order: it is read when what was launched before has ended, never earlier, and
 * written before what is launched next begins; meanwhile no thread waits. (A copy that CUDA is given such memory for may
 * read it at once, and may hold up the thread that asks for it until then.) */
#include "device/cuda/cuda_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    STAGING_BYTES = 1 << 20,
    NAP_NS = 20000, /* the host moves so many bytes in a few of these */
};

typedef enum move_state { MOVE_WAITS, MOVE_RUNS, MOVE_OVER } move_state;

struct hki_cuda_move {
    hki_cuda_move *next;
    void *to;
    const void *from;
    size_t bytes;
    _Atomic(move_state) state;
};

static bool is_pinned(const void *data)
{
    struct cudaPointerAttributes attributes;
    bool known = cudaPointerGetAttributes(&attributes, data) == cudaSuccess;
    if (!known)
        cudaGetLastError();
    return known && attributes.type != cudaMemoryTypeUnregistered;
}

/* ---- what the host moves ------------------------------------------------------------------------------------------ */

/* In a thread of CUDA's. */
static void CUDART_CB move_bytes(void *argument)
{
    hki_cuda_move *self = argument;
    move_state state = MOVE_WAITS;
    if (!atomic_compare_exchange_strong_explicit(&self->state, &state, MOVE_RUNS,
                                                 memory_order_acquire, memory_order_relaxed))
        return;
    memcpy(self->to, self->from, self->bytes);
    atomic_store_explicit(&self->state, MOVE_OVER, memory_order_release);
}

void hki_cuda_moves_stop(const hki_cuda_slot *slot)
{
    for (hki_cuda_move *each = slot->moves; each; each = each->next) {
        move_state state = MOVE_WAITS;
        if (atomic_compare_exchange_strong_explicit(&each->state, &state, MOVE_OVER,
                                                    memory_order_acquire, memory_order_acquire))
            continue;
        while (atomic_load_explicit(&each->state, memory_order_acquire) != MOVE_OVER) {
            struct timespec nap = {0, NAP_NS};
            nanosleep(&nap, NULL);
        }
    }
}

void hki_cuda_moves_release(hki_cuda_slot *slot)
{
    while (slot->moves) {
        hki_cuda_move *first = slot->moves;
        slot->moves = first->next;
        free(first);
    }
}

void hki_cuda_staging_release(hki_cuda_stream *stream)
{
    if (stream->staging)
        cudaFreeHost(stream->staging);
    stream->staging = NULL;
}

static bool move(hki_cuda_stream *stream, void *to, const void *from, size_t bytes)
{
    hki_cuda_slot *slot = stream->current;
    hki_cuda_move *self = malloc(sizeof *self);
    if (!self)
        return hki_cuda_ok(stream, cudaErrorMemoryAllocation, "a copy within the host's memory");
    *self = (hki_cuda_move){.next = slot->moves, .to = to, .from = from, .bytes = bytes};
    if (!hki_cuda_ok(stream, cudaLaunchHostFunc(stream->handle, move_bytes, self),
                     "cudaLaunchHostFunc")) {
        free(self);
        return false;
    }
    slot->moves = self;
    return true;
}

/* Memory of STAGING_BYTES that only this stream uses, so that its order is all that is needed. */
static void *staging(hki_cuda_stream *stream)
{
    if (!stream->staging &&
        !hki_cuda_ok(stream, cudaHostAlloc(&stream->staging, STAGING_BYTES, cudaHostAllocPortable),
                     "pinned memory to copy through"))
        stream->staging = NULL;
    return stream->staging;
}

/* ---- copies ------------------------------------------------------------------------------------------------------- */

static bool copy(hki_cuda_stream *stream, void *to, const void *from, size_t bytes,
                 enum cudaMemcpyKind kind)
{
    return hki_cuda_ok(stream, cudaMemcpyAsync(to, from, bytes, kind, stream->handle), "a copy");
}

void hki_cuda_copy_from_host(hki_device *device, void *to, const void *from, size_t bytes)
{
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, HKI_QUEUE_COPY_IN);
    if (!stream)
        return;
    if (is_pinned(from)) {
        copy(stream, to, from, bytes, cudaMemcpyHostToDevice);
        return;
    }
    char *between = staging(stream);
    bool good = between;
    for (size_t at = 0, size; at < bytes && good; at += size) {
        size = bytes - at < STAGING_BYTES ? bytes - at : STAGING_BYTES;
        good = move(stream, between, (const char *)from + at, size) &&
               copy(stream, (char *)to + at, between, size, cudaMemcpyHostToDevice);
    }
}

void hki_cuda_copy_to_host(hki_device *device, void *to, const void *from, size_t bytes)
{
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, HKI_QUEUE_COPY_OUT);
    if (!stream)
        return;
    if (is_pinned(to)) {
        copy(stream, to, from, bytes, cudaMemcpyDeviceToHost);
        return;
    }
    char *between = staging(stream);
    bool good = between;
    for (size_t at = 0, size; at < bytes && good; at += size) {
        size = bytes - at < STAGING_BYTES ? bytes - at : STAGING_BYTES;
        good = copy(stream, between, (const char *)from + at, size, cudaMemcpyDeviceToHost) &&
               move(stream, (char *)to + at, between, size);
    }
}

/* All GPUs of the plug-in: CUDA takes a way through the host where there is none between them. */
bool hki_cuda_is_linked(hki_device *device, hki_device *peer)
{
    (void)device;
    return peer->class && (peer->class->kind == HKI_CPU || peer->class->kind == HKI_CUDA);
}

void hki_cuda_copy_to_peer(hki_device *device, hki_device *peer, void *to, const void *from,
                           size_t bytes)
{
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, HKI_QUEUE_COPY_OUT);
    hki_cuda_device *self = hki_cuda_device_of(device), *other = hki_cuda_device_of(peer);
    if (!stream)
        return;
    if (self->gpu == other->gpu)
        copy(stream, to, from, bytes, cudaMemcpyDeviceToDevice);
    else
        hki_cuda_ok(stream,
                    cudaMemcpyPeerAsync(to, other->gpu, from, self->gpu, bytes, stream->handle),
                    "a copy between GPUs");
}
