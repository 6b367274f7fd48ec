/* Copies between memories. What the host has in memory that is not pinned is read at once or later, as CUDA likes, and the
 * thread that asks for the copy may be held up until it is done. Tasks of such copies are launched when all that they wait
 * for has ended (hki_ahead_begin), so that either is right. A function of the host in the stream's order, moving the bytes
 * to pinned memory, would hold up no thread, but calling it takes CUDA longer than a small copy takes. */
#include "device/cuda/cuda_internal.h"

static void copy(hki_cuda_stream *stream, void *to, const void *from, size_t bytes,
                 enum cudaMemcpyKind kind)
{
    hki_cuda_ok(stream, cudaMemcpyAsync(to, from, bytes, kind, stream->handle), "a copy");
}

void hki_cuda_copy_from_host(hki_device *device, void *to, const void *from, size_t bytes)
{
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, HKI_QUEUE_COPY_IN);
    if (stream)
        copy(stream, to, from, bytes, cudaMemcpyHostToDevice);
}

void hki_cuda_copy_to_host(hki_device *device, void *to, const void *from, size_t bytes)
{
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, HKI_QUEUE_COPY_OUT);
    if (stream)
        copy(stream, to, from, bytes, cudaMemcpyDeviceToHost);
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
