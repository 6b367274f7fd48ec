/* Convolution of one sample, forward: its windows become columns of a matrix, which BLAS multiplies by the
   weights as they are. For so little work that rearranging weights would take a large part of it. Conventions
   are those of conv2d_kernel.h.

   A unit is a part of one sample's output channels: unit u of samples * hki_conv2d_columns_parts. Its bytes
   are a pure function of the geometry and the instruction set. */
#ifndef HOCKET_OP_KERNELS_CONV2D_COLUMNS_H
#define HOCKET_OP_KERNELS_CONV2D_COLUMNS_H

#include "op/kernels/conv2d/conv2d_kernel.h"

/* Whether it is to be done this way: the matrix of a sample fits the cache, and geometry->method says so, or leaves it to
 * the rule: a batch of one. */
bool hki_conv2d_columns_fit(const hki_conv2d_geometry *geometry, bool f64);
int64_t hki_conv2d_columns_parts(const hki_conv2d_geometry *geometry);
size_t hki_conv2d_columns_scratch_bytes(const hki_conv2d_geometry *geometry, bool f64);

/* y of units [begin, end); bias may be NULL. False, with nothing promised of y, where hki_gemm has no
   memory. */
bool hki_conv2d_columns_f32(const hki_conv2d_geometry *geometry, const float *x,
                            const float *weight, const float *bias, float *y, int64_t begin,
                            int64_t end, void *scratch);
bool hki_conv2d_columns_f64(const hki_conv2d_geometry *geometry, const double *x,
                            const double *weight, const double *bias, double *y, int64_t begin,
                            int64_t end, void *scratch);

#endif
