/* Kernels over the channels of contiguous arrays [samples][channels][inner], of float32 or float64: batch normalisation,
 * the gradient of a bias, and those of the scales and shifts of other normalisations. Sums are in double, of parts that are a pure function of the shape, and added in the order of parts: the same
 * bytes on every run and GPU. C and CUDA C++. */
#ifndef HOCKET_OP_CUDA_CHANNEL_KERNELS_H
#define HOCKET_OP_CUDA_CHANNEL_KERNELS_H

#include "device/cuda/cuda_stream.h"
#include "op/softmax_norm/batch_norm_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Workspace of the functions that take one. */
size_t hki_cuda_channel_workspace_bytes(const hki_batch_norm_shape *shape);

/* sums[channel] = the sum of x over samples and inner */
void hki_cuda_sum_channels(hki_cuda_stream *stream, bool f64, const hki_batch_norm_shape *shape,
                           const void *x, void *sums, void *workspace);

/* gradients [2][channels]: the sums over samples and inner of dy times x normalised, then of dy.
 * statistics [samples][groups][3]: the mean, the inverse deviation, and the rest of the mean, of
 * each group of a sample's channels. */
void hki_cuda_weigh_channels(hki_cuda_stream *stream, bool f64, const hki_batch_norm_shape *shape,
                             int64_t groups, const void *x, const void *dy, const void *statistics,
                             void *gradients, void *workspace);

/* As hki_batch_norm_forward_* and _backward_*, of all channels. Where mean and variance are given, no workspace is
 * needed for forward. */
void hki_cuda_normalise(hki_cuda_stream *stream, bool f64, const hki_batch_norm_shape *shape,
                        double eps, const void *x, const void *gamma, const void *beta,
                        const void *given_mean, const void *given_variance, void *y,
                        void *statistics, void *workspace);
void hki_cuda_normalise_backward(hki_cuda_stream *stream, bool f64,
                                 const hki_batch_norm_shape *shape, bool given, const void *x,
                                 const void *dy, const void *gamma, const void *statistics,
                                 void *dx, void *sums, void *workspace);

#ifdef __cplusplus
}
#endif

#endif
