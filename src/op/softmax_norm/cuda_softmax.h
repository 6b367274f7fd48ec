/* Within the plug-in: softmax and what is built on it, in C and CUDA C++. Arrays are contiguous; exponentials are those of
 * the processor's kernels, their sums are in double, in an order that follows from the shapes. */
#ifndef HOCKET_OP_CUDA_SOFTMAX_H
#define HOCKET_OP_CUDA_SOFTMAX_H

#include "device/cuda/cuda_stream.h"

#include <hocket/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of `count` lines of `size` elements each, which lie `inner` apart: line i begins at i / inner * size * inner + i % inner.
 * All at least 1. dtype: float32 or float64. */
void hki_cuda_launch_softmax(hki_cuda_stream *stream, hk_dtype dtype, bool log_of, const void *x,
                             void *y, int64_t count, int64_t size, int64_t inner);

/* Of `count` contiguous lines: dx = y (dy - sum(y dy)), with y softmax's result. */
void hki_cuda_launch_softmax_gradient(hki_cuda_stream *stream, hk_dtype dtype, const void *y,
                                      const void *dy, void *dx, int64_t count, int64_t size);

/* rows x classes logits, a label for each row; rows and classes at least 1. A label that is no class is reported: the
 * index is that of the row. dy NULL: y becomes the losses of the rows, else their gradients. */
void hki_cuda_launch_cross_entropy(hki_cuda_stream *stream, hk_dtype dtype, const void *x,
                                   const void *labels, hk_dtype label_dtype, const void *dy,
                                   void *y, int64_t rows, int64_t classes, hki_cuda_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
