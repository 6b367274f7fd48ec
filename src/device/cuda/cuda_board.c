/* Boards: where kernels report, and who has which flag. A task whose kernels may report something takes a flag of its stream's
 * board, gives it back when it has been settled, and until then is named by it to those that are launched behind. */
#include "device/cuda/cuda_board.h"

#include "device/cuda/cuda_internal.h"

hki_cuda_fault *hki_cuda_board_create(hki_cuda_stream *stream, int count)
{
    hki_cuda_fault *board =
        hki_cuda_allocate(stream->its->device, ((size_t)count + 1) * sizeof *board);
    if (board)
        hki_cuda_launch_board(stream, board, count);
    else
        hki_cuda_ok(stream, cudaErrorMemoryAllocation, "memory for what kernels report");
    return board;
}

hki_cuda_fault *hki_cuda_stream_board(hki_cuda_stream *stream)
{
    if (!stream->board)
        stream->board = hki_cuda_board_create(stream, HKI_CUDA_FLAGS);
    return stream->board;
}

uint64_t hki_cuda_flags_take(hki_cuda_stream *stream, int count)
{
    uint64_t left = atomic_load_explicit(&stream->free_flags, memory_order_acquire), taken = 0;
    for (int i = 0; i < count; i++) {
        if (!left)
            return 0;
        taken |= left & -left;
        left &= left - 1;
    }
    atomic_fetch_and_explicit(&stream->free_flags, ~taken, memory_order_relaxed);
    const uint64_t raised =
        atomic_fetch_and_explicit(&stream->raised_flags, ~taken, memory_order_relaxed) & taken;
    if (raised)
        hki_cuda_launch_lower(stream, stream->board, raised);
    return taken;
}

void hki_cuda_board_publish(hki_cuda_stream *stream, hki_cuda_slot *slot)
{
    hki_cuda_publication own = {
        .board = stream->board, .to = slot->fault, .first = slot->board_index, .count = 1};
    hki_cuda_launch_publication(stream, &own);
}

void hki_cuda_guard_task(hki_device *device, uint64_t suspects, bool is_vetted)
{
    hki_cuda_device *self = hki_cuda_device_of(device);
    hki_cuda_stream *stream = &self->streams[HKI_QUEUE_COMPUTE];
    if (!hki_cuda_enter(self)) /* which makes the stream */
        return;
    stream->suspects = suspects;
    stream->is_vetted = is_vetted;
    stream->guard = hki_cuda_guard_of(stream->board, suspects);
}

void hki_cuda_release_flags(hki_device *device, uint64_t flags)
{
    hki_cuda_stream *stream = &hki_cuda_device_of(device)->streams[HKI_QUEUE_COMPUTE];
    atomic_fetch_or_explicit(&stream->free_flags, flags, memory_order_release);
}
