/* What a CUDA device does, in one table. */
#include "device/cuda/cuda_internal.h"

/* Another part of the same GPU, whose memory is the same. */
static bool cuda_can_access(hki_device *device, hki_device *peer)
{
    return peer->class && peer->class->kind == HKI_CUDA &&
           hki_cuda_gpu_of(device) == hki_cuda_gpu_of(peer);
}

const hki_device_class hki_cuda_device_class = {
    .kind = HKI_CUDA,
    .kind_name = "cuda",
    .kernels = HKI_CUDA,
    .memory_option = "cuda_memory_bytes (HOCKET_CUDA_MEMORY)",
    .sums_aside = true,
    .launch_ahead = HKI_CUDA_SLOTS / 2,
    .allocate = hki_cuda_allocate,
    .release = hki_cuda_release,
    .allocate_pinned = hki_cuda_allocate_pinned,
    .release_pinned = hki_cuda_release_pinned,
    .copy_from_host = hki_cuda_copy_from_host,
    .copy_to_host = hki_cuda_copy_to_host,
    .copy_to_peer = hki_cuda_copy_to_peer,
    .is_linked = hki_cuda_is_linked,
    .can_access = cuda_can_access,
    .launched = hki_cuda_launched,
    .poll = hki_cuda_poll,
    .wait_for = hki_cuda_wait_for,
    .settle = hki_cuda_settle,
    .has_all_reduce = hki_cuda_has_all_reduce,
    .all_reduce = hki_cuda_all_reduce,
    .recorder = &hki_cuda_recorder_class,
    .channel = &hki_cuda_channel_class,
    .guard = hki_cuda_guard_task,
    .release_flags = hki_cuda_release_flags,
    .last_method = hki_cuda_last_method,
    .deinit = hki_cuda_deinit,
};
