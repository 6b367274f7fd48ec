/* Own convolutions. C and CUDA C++. Those of cuda_conv2d_kernels.cu are for where cuDNN is not
 * there, has no algorithm, or is slower, as for few samples: any shape, each sum in an order
 * that follows from it, tiles in shared memory. Those of cuda_conv2d_few_kernels.cu are for
 * groups of few channels, depthwise above all: an element for each thread, or for each block
 * where it is a sum over samples. */
#ifndef HOCKET_OP_CUDA_CONV2D_KERNELS_H
#define HOCKET_OP_CUDA_CONV2D_KERNELS_H

#include "device/cuda/cuda_stream.h"
#include "op/conv/conv2d_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Contiguous arrays of float32 or float64 (f64); no size is 0; bias NULL: none. The geometry has the channels of all
 * groups. They may take the stream's workspace. */
void hki_cuda_convolve(hki_cuda_stream *stream, bool f64, const hki_conv2d_geometry *geometry,
                       int64_t groups, const void *x, const void *weight, const void *bias,
                       void *y);
void hki_cuda_convolve_data(hki_cuda_stream *stream, bool f64, const hki_conv2d_geometry *geometry,
                            int64_t groups, const void *dy, const void *weight, void *dx);
void hki_cuda_convolve_weight(hki_cuda_stream *stream, bool f64,
                              const hki_conv2d_geometry *geometry, int64_t groups, const void *x,
                              const void *dy, void *dweight);

/* The same, for groups of few channels. */
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
