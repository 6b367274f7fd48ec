/* What kernels see of an array. Also for CUDA C++. */
#ifndef HOCKET_ARRAY_TENSOR_H
#define HOCKET_ARRAY_TENSOR_H

#include "base/dtype.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct hki_storage hki_storage;

/* Set when a task is prepared. */
typedef struct hki_tensor {
    void *data; /* of the first element, where kernels of the storage's device find it */
    hki_storage *storage;
    int64_t offset; /* elements */
    int64_t size;   /* elements */
    hk_dtype dtype;
    bool is_contiguous; /* C order, no gaps */
    int ndim;
    int64_t dims[HK_MAX_NDIM];
    int64_t strides[HK_MAX_NDIM]; /* elements */
} hki_tensor;

#endif
