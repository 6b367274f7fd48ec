/* Within the plug-in: matrix products by cuBLASLt. What it says about a problem is kept for each stream, and each plan
 * gives the same bytes on every run: partial sums are added in one order, and which algorithm it is depends on the
 * problem and the GPU alone. For that, alignments count up to 16 bytes only, which is what the place of an array in its
 * memory is good for, wherever that lies.
 *
 * Used by the stream's thread. */
#ifndef HOCKET_DEVICE_CUDA_PRODUCTS_H
#define HOCKET_DEVICE_CUDA_PRODUCTS_H

#include "device/cuda/cuda_stream.h"

#include <hocket/base.h>

/* Of row-major matrices: c = a b + bias, where a is m x k, b is k x n, c is m x n without gaps, and bias has n elements,
 * added to each row; in elements. No size is 0. A key of a cache: without gaps. */
typedef struct hki_cuda_product {
    int64_t m, n, k;
    int64_t a_leading, b_leading; /* from row to row, or from column to column where transposed */
    int64_t batch_count, a_batch_stride, b_batch_stride, c_batch_stride; /* strides 0: the same */
    int32_t
        dtype; /* of a and b, an hk_dtype of floats: c and bias are float32 for halves, else the same */
    int32_t has_bias;
    int32_t a_transposed, b_transposed;
    int32_t a_alignment, b_alignment, c_alignment, bias_alignment; /* hki_cuda_alignment_of */
} hki_cuda_product;

/* The largest power of two, at most 16, that divides `bits`: an address, or several of them and of strides in bytes,
 * joined by |. */
static inline int32_t hki_cuda_alignment_of(uintptr_t bits)
{
    return (int32_t)((bits | 16) & -(bits | 16));
}

typedef struct hki_cuda_product_plan hki_cuda_product_plan;

/* How to do it, borrowed until the next call of this function. NULL: cuBLASLt is not there, or refuses it by any status
 * (without a bias it may do it still); or there was an error, which has been noted: then *failed. */
hki_cuda_product_plan *hki_cuda_product_plan_for(hki_cuda_stream *stream,
                                                 const hki_cuda_product *product, bool *failed);
size_t hki_cuda_product_workspace_bytes(const hki_cuda_product_plan *plan);
/* Launches it. The workspace is 256-byte aligned. False: cuBLASLt refuses it after all, by any status, and the plan is not
 * given again: *falls_back; or after noting an error. */
bool hki_cuda_product_launch(hki_cuda_stream *stream, hki_cuda_product_plan *plan, const void *a,
                             const void *b, const void *bias, void *c, void *workspace,
                             bool *falls_back);

#endif
