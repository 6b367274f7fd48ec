/* Batch normalisation on one core: raw contiguous arrays [samples][channels][inner]. Every function is
   reentrant, allocates nothing, and works on the channels [begin, end) of the whole arrays (pointers
   are to channel 0), a few at a time, so that what several passes read stays in the cache.

   statistics are [4][channels]: mean, 1 / sqrt(variance + eps), variance (biased), and what rounding the
   mean lost: elements go by both parts of it. Sums are in double,
   over samples first, then over a channel's positions: a channel's bytes are a pure function of the
   shape and the instruction set, and do not depend on the range it is in. Source: Ioffe and Szegedy,
   "Batch Normalization", 2015. */
#ifndef HOCKET_OP_KERNELS_BATCH_NORM_KERNEL_H
#define HOCKET_OP_KERNELS_BATCH_NORM_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hki_batch_norm_shape {
    int64_t samples, channels, inner;
} hki_batch_norm_shape;

/* A piece should be a multiple of this many channels. At least 1. */
int64_t hki_batch_norm_block_channels(const hki_batch_norm_shape *shape);

/* y = (x - mean) / sqrt(variance + eps) * gamma + beta, and the statistics: the batch's, of samples * inner
 * >= 1 elements, where given_mean is NULL; else those of given_mean and given_variance, [channels]. */
void hki_batch_norm_forward_f32(const hki_batch_norm_shape *shape, double eps, const float *x,
                                const float *gamma, const float *beta, const float *given_mean,
                                const float *given_variance, float *y, float *statistics,
                                int64_t begin, int64_t end);
void hki_batch_norm_forward_f64(const hki_batch_norm_shape *shape, double eps, const double *x,
                                const double *gamma, const double *beta, const double *given_mean,
                                const double *given_variance, double *y, double *statistics,
                                int64_t begin, int64_t end);

/* Overwrites dx of those channels, and of sums, [2][channels], the gradients of gamma and of beta. given:
 * the statistics do not depend on x. */
void hki_batch_norm_backward_f32(const hki_batch_norm_shape *shape, bool given, const float *x,
                                 const float *dy, const float *gamma, const float *statistics,
                                 float *dx, float *sums, int64_t begin, int64_t end);
void hki_batch_norm_backward_f64(const hki_batch_norm_shape *shape, bool given, const double *x,
                                 const double *dy, const double *gamma, const double *statistics,
                                 double *dx, double *sums, int64_t begin, int64_t end);

#endif
