/* Within the plug-in: a tensor for kernels, in C and CUDA C++. */
#ifndef HOCKET_OP_CUDA_TENSOR_H
#define HOCKET_OP_CUDA_TENSOR_H

#include "base/dtype.h"

#include <hocket/array.h>

typedef struct hki_cuda_tensor {
    void *data; /* of the device; element 0 */
    hk_dtype dtype;
    int ndim; /* -1: left out */
    int64_t size;
    bool is_contiguous;
    int64_t dims[HK_MAX_NDIM], strides[HK_MAX_NDIM]; /* strides in elements; 0 where broadcast */
} hki_cuda_tensor;

static inline int hki_cuda_item_bytes(hk_dtype dtype)
{
    return (int)hki_dtype_bytes(dtype);
}

#endif
