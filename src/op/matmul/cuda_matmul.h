/* Within the plug-in: products of matrices by cuBLASLt, or by own kernels where that is not there or does not take them. */
#ifndef HOCKET_OP_CUDA_MATMUL_H
#define HOCKET_OP_CUDA_MATMUL_H

#include "device/cuda/cuda_stream.h"
#include "op/matmul/cuda_matrix_kernels.h"
#include "op/op.h"

/* c, without gaps, is a b for each entry of the batch. */
typedef struct hki_cuda_multiplication {
    hk_dtype dtype; /* of a and b */
    hki_cuda_batch batch;
    hki_cuda_matrices a, b;
    const hki_tensor *bias; /* one for each column of c, or NULL */
    void *c;
    size_t
        c_bytes; /* not 0: c is made at the beginning of the stream's workspace; NULL: no memory */
} hki_cuda_multiplication;

/* *self is changed. Takes the stream's workspace, in which a and b may not lie. */
void hki_cuda_multiply_matrices(hki_cuda_stream *stream, hki_cuda_multiplication *self);

/* x weight^T + bias, without gaps, in the stream's workspace (hki_cuda_workspace): until that is asked for again. Of float32 or float64.
 * NULL after noting why, or where there is nothing to make. */
void *hki_cuda_linear_in_workspace(hki_cuda_stream *stream, const hki_tensor *x,
                                   const hki_tensor *weight, const hki_tensor *bias);

#endif
