/* Within the plug-in: the GPU's kernels of the operator table. C only: a call's structures are not for C++, so that a
 * kernel is a function in a .cu file that takes plain values (cuda_tensor.h), declared in a header beside it, and a C
 * function here that calls it with what the call has. */
#ifndef HOCKET_OP_CUDA_KERNELS_H
#define HOCKET_OP_CUDA_KERNELS_H

#include "device/cuda/cuda_stream.h"
#include "op/cuda/cuda_tensor.h"
#include "op/op.h"

#include <string.h>

/* Launches the whole call; never waits. Tensors are as CPU kernels get them, any strides unless the operator is
 * `contiguous`; partials are NULL. Sums have a fixed order: the same bytes on every run. */
typedef void (*hki_cuda_kernel_fn)(const hki_kernel_call *call, hki_cuda_stream *stream);

/* By hki_op_id; NULL: none, and the call fails with HK_UNSUPPORTED. */
extern const hki_cuda_kernel_fn hki_cuda_kernels[HKI_OP_COUNT];

/* The tensor without what only the host needs. Left out: data NULL, ndim -1. */
static inline hki_cuda_tensor hki_cuda_tensor_of(const hki_tensor *tensor)
{
    hki_cuda_tensor self = {.ndim = tensor->ndim};
    if (tensor->ndim < 0)
        return self;
    self.data = tensor->data;
    self.dtype = tensor->dtype;
    self.size = tensor->size;
    self.is_contiguous = tensor->is_contiguous;
    memcpy(self.dims, tensor->dims, sizeof self.dims);
    memcpy(self.strides, tensor->strides, sizeof self.strides);
    return self;
}

#endif
