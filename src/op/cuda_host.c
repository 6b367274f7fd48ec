/* What the library gives to its plug-in for NVIDIA GPUs. */
#include "device/cuda/cuda_plugin.h"
#include "op/op.h"

#include <hocket/version.h>

const hki_cuda_host hki_cuda_host_table = {
    .abi = HKI_CUDA_ABI,
    .version = HK_VERSION_STRING,
    .device_bytes = sizeof(hki_device),
    .class_bytes = sizeof(hki_device_class),
    .kernel_call_bytes = sizeof(hki_kernel_call),
    .op_count = HKI_OP_COUNT,
    .task_fail = hki_task_fail,
    .dtype_store = hki_dtype_store,
    .memory_pool_trim = hki_memory_pool_trim,
    .is_recording = hki_runtime_is_recording,
    .runtime_end_first = hki_runtime_end_first,
    .runtime_choices = hki_runtime_choices,
    .choices_find = hki_choices_find,
    .choices_is_measuring = hki_choices_is_measuring,
    .choices_note = hki_choices_note,
};
