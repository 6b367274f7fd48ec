/* Convolutions in groups of few channels, depthwise above all: an element for each thread, or for each block where it is a
 * sum over samples. Any shape, each sum in an order that follows from it. C and CUDA C++. */
#ifndef HOCKET_OP_CUDA_CONV2D_FEW_KERNELS_H
#define HOCKET_OP_CUDA_CONV2D_FEW_KERNELS_H

#include "device/cuda/cuda_stream.h"
#include "op/conv/conv2d_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As those of cuda_conv2d_kernels.h; bias NULL: none. */
void hki_cuda_convolve_few(hki_cuda_stream *stream, bool f64, const hki_conv2d_geometry *geometry,
                           int64_t groups, const void *x, const void *weight, const void *bias,
                           void *y);
void hki_cuda_convolve_few_data(hki_cuda_stream *stream, bool f64,
                                const hki_conv2d_geometry *geometry, int64_t groups, const void *dy,
                                const void *weight, void *dx);
void hki_cuda_convolve_few_weight(hki_cuda_stream *stream, bool f64,
                                  const hki_conv2d_geometry *geometry, int64_t groups,
                                  const void *x, const void *dy, void *dweight);

#ifdef __cplusplus
}
#endif

#endif
