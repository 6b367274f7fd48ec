/* Products of what cuBLASLt does not take, integers first of all, and where it is not there. C and CUDA C++. */
#ifndef HOCKET_OP_CUDA_MATRIX_KERNELS_H
#define HOCKET_OP_CUDA_MATRIX_KERNELS_H

#include "device/cuda/cuda_stream.h"

#include <hocket/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Batches of matrices; strides in elements, 0 where they are broadcast. */
typedef struct hki_cuda_matrices {
    const void *data;
    int64_t rows, columns, row_stride, column_stride;
    int64_t batch_strides[HK_MAX_NDIM];
} hki_cuda_matrices;

typedef struct hki_cuda_batch {
    int ndim; /* 0: one entry */
    int zero; /* no gap: the emulation takes what lies in one for an address */
    int64_t count;
    int64_t dims[HK_MAX_NDIM];
} hki_cuda_batch;

/* c = a b for each entry of the batch, c without gaps; of float32, float64, int32 or int64, which wraps around. Each
 * element is a sum in the order of k. */
void hki_cuda_multiply(hki_cuda_stream *stream, hk_dtype dtype, const hki_cuda_batch *batch,
                       const hki_cuda_matrices *a, const hki_cuda_matrices *b, void *c);

/* sum[i] = the sum of x[0][i], x[1][i], … in this order, in double; of float32 or float64, `size` elements each. */
void hki_cuda_sum_matrices(hki_cuda_stream *stream, bool f64, int64_t count, int64_t size,
                           const void *x, void *sum);

#ifdef __cplusplus
}
#endif

#endif
