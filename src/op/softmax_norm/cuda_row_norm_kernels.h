/* Kernels of layer norm, RMS norm and group norm over the rows of contiguous arrays, of float32 or float64, as
 * row_norm_kernel.h describes them. A block's threads share out rows by cuda_geometry.h; sums are in double, in an order that
 * follows from the shape. C and CUDA C++. The gradients of gamma and beta are sums over channels: cuda_channel_kernels.h. */
#ifndef HOCKET_OP_CUDA_ROW_NORM_KERNELS_H
#define HOCKET_OP_CUDA_ROW_NORM_KERNELS_H

#include "device/cuda/cuda_stream.h"
#include "op/softmax_norm/row_norm_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As hki_row_norm_forward_* and _backward_*, of all rows; rows and size at least 1. */
void hki_cuda_row_norm(hki_cuda_stream *stream, bool f64, const hki_row_norm_shape *shape,
                       double eps, const void *x, const void *gamma, const void *beta, void *y,
                       void *statistics);
void hki_cuda_row_norm_backward(hki_cuda_stream *stream, bool f64, const hki_row_norm_shape *shape,
                                const void *x, const void *dy, const void *gamma,
                                const void *statistics, void *dx);

#ifdef __cplusplus
}
#endif

#endif
