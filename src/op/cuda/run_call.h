/* Within the plug-in: the slots of hki_device_class that launch kernels. */
#ifndef HOCKET_OP_CUDA_RUN_CALL_H
#define HOCKET_OP_CUDA_RUN_CALL_H

#include "op/op.h"

void hki_cuda_run_call(hki_device *device, const hki_kernel_call *call);
void hki_cuda_run_own(hki_device *device, size_t workspace_bytes, hki_launch_fn *launch,
                      void *argument);
void hki_cuda_run_copy(hki_device *device, const hki_tensor *from, const hki_tensor *to);
void hki_cuda_run_sum(hki_device *device, hk_dtype dtype, const void *const *inputs,
                      int input_count, void *const *outputs, int output_count, size_t size);

/* See hki_device_class.can_fuse and .run_fused: cuda_fused.c. */
bool hki_cuda_can_fuse(const hki_kernel_call *call);
void hki_cuda_run_fused(hki_device *device, const hki_kernel_call *const *calls,
                        const bool *are_kept, const uint64_t *spares, int count);

/* See hki_device_class.may_report and .can_spare. */
bool hki_cuda_may_report(const hki_kernel_call *call);
bool hki_cuda_can_spare(const hki_kernel_call *call);

#endif
