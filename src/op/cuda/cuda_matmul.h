/* Within the plug-in: products of matrices by cuBLASLt, or by own kernels where that is not there or does not take them. */
#ifndef HOCKET_OP_CUDA_MATMUL_H
#define HOCKET_OP_CUDA_MATMUL_H

#include "device/cuda/cuda_stream.h"
#include "op/cuda/cuda_matrix_kernels.h"
#include "op/op.h"

/* c, without gaps, is a b for each entry of the batch. */
typedef struct hki_cuda_multiplication {
    hk_dtype dtype; /* of a and b */
    hki_cuda_batch batch;
    hki_cuda_matrices a, b;
    const hki_tensor *bias; /* one for each column of c, or NULL */
    void *
        c; /* NULL: it is made in the stream's workspace, at its beginning, and this is set; NULL again: there is no memory */
    size_t reserved_bytes; /* of that workspace: the caller's, with room for such a c */
} hki_cuda_multiplication;

/* *self is changed. Takes the stream's workspace behind what is reserved: a and b may not lie there. */
void hki_cuda_multiply_matrices(hki_cuda_stream *stream, hki_cuda_multiplication *self);

#endif
