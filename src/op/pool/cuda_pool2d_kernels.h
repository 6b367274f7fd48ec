/* Kernels of pooling over contiguous planes of float32 or float64: meaning and order of sums as in
 * op/pool/pool2d_kernel.h. Gradients are gathered, each element of dx from the windows that it is in, so that nothing
 * is added by chance. C and CUDA C++. */
#ifndef HOCKET_OP_CUDA_POOL2D_KERNELS_H
#define HOCKET_OP_CUDA_POOL2D_KERNELS_H

#include "device/cuda/cuda_stream.h"
#include "op/pool/pool2d_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

void hki_cuda_pool_max(hki_cuda_stream *stream, bool f64, const hki_pool2d_geometry *geometry,
                       int64_t planes, const void *x, void *y);
void hki_cuda_pool_max_backward(hki_cuda_stream *stream, bool f64,
                                const hki_pool2d_geometry *geometry, int64_t planes, const void *x,
                                const void *dy, void *dx);
/* y: elements of v. */
void hki_cuda_pool_max_pick(hki_cuda_stream *stream, bool f64, const hki_pool2d_geometry *geometry,
                            int64_t planes, const void *x, const void *v, void *y);
void hki_cuda_pool_average(hki_cuda_stream *stream, bool f64, const hki_pool2d_geometry *geometry,
                           int64_t planes, const void *x, void *y);
void hki_cuda_pool_average_backward(hki_cuda_stream *stream, bool f64,
                                    const hki_pool2d_geometry *geometry, int64_t planes,
                                    const void *dy, void *dx);

#ifdef __cplusplus
}
#endif

#endif
