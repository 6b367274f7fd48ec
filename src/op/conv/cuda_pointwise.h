/* Within the plug-in: convolutions of single elements, of stride 1 and without padding, as a product of matrices for each
 * sample: cuDNN's algorithms for them take several times as long. */
#ifndef HOCKET_OP_CUDA_POINTWISE_H
#define HOCKET_OP_CUDA_POINTWISE_H

#include "device/cuda/cuda_stream.h"
#include "op/conv/conv2d_kernel.h"

#include <hocket/array.h>

/* Whether the functions below serve: only where there is cuBLASLt. */
bool hki_cuda_is_pointwise(const hki_conv2d_geometry *g, int64_t groups);

/* y, without the bias; dx; of float32 or float64. */
void hki_cuda_pointwise(hki_cuda_stream *stream, hk_dtype dtype, const hki_conv2d_geometry *g,
                        const void *x, const void *weight, void *y);
void hki_cuda_pointwise_data(hki_cuda_stream *stream, hk_dtype dtype, const hki_conv2d_geometry *g,
                             const void *dy, const void *weight, void *dx);
/* False: there is no room for the gradients of single samples, whose sum in order it is. */
bool hki_cuda_pointwise_weight(hki_cuda_stream *stream, hk_dtype dtype,
                               const hki_conv2d_geometry *g, const void *x, const void *dy,
                               void *dweight);

#endif
