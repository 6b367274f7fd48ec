/* What the library gives to its plug-in for NVIDIA GPUs. */
#include "base/sync.h"
#include "device/cuda/cuda_plugin.h"
#include "op/op.h"

#include <hocket/version.h>

static int64_t clock_ns(void)
{
    return hki_clock_ns();
}

const hki_cuda_host hki_cuda_host_table = {
    .abi = HKI_CUDA_ABI,
    .version = HK_VERSION_STRING,
    .device_bytes = sizeof(hki_device),
    .class_bytes = sizeof(hki_device_class),
    .kernel_call_bytes = sizeof(hki_kernel_call),
    .op_count = HKI_OP_COUNT,
    .task_fail = hki_task_fail,
    .task_sequence = hki_task_sequence,
    .clock_ns = clock_ns,
    .dtype_bytes = hk_dtype_bytes,
    .memory_pool_trim = hki_memory_pool_trim,
    .is_recording = hki_runtime_is_recording,
    .runtime_end_first = hki_runtime_end_first,
};
