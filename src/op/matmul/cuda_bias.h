/* Within the plug-in: a bias for each output of a layer. */
#ifndef HOCKET_OP_CUDA_BIAS_H
#define HOCKET_OP_CUDA_BIAS_H

#include "device/cuda/cuda_stream.h"

/* y[i][j][k] += bias[j * stride] for all i, j, k below `dims`; y without gaps; float32 or float64. */
void hki_cuda_add_bias(hki_cuda_stream *stream, hk_dtype dtype, void *y, const int64_t dims[3],
                       const void *bias, int64_t stride);

#endif
