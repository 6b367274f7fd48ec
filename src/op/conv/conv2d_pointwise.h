/* Convolutions with windows of one element, without padding: all three passes are products of matrices (product_kernel.h), whose
   columns are the pixels of a sample, or of a few small ones beside each other. Nothing is transposed to lanes. Conventions are
   those of conv2d_kernel.h, which takes this way where it fits.

   Bytes of a result depend on its window, the weights and the instruction set alone. Gradients of weights go on from pixel to
   pixel, and from sample to sample of a run. */
#ifndef HOCKET_OP_KERNELS_CONV2D_POINTWISE_H
#define HOCKET_OP_KERNELS_CONV2D_POINTWISE_H

#include "op/conv/conv2d_kernel.h"

/* Whether it is to be done this way: geometry->method says so, or leaves it to the rule. */
bool hki_conv2d_pointwise_fits(const hki_conv2d_geometry *geometry);
/* Samples that are done at a time. */
int64_t hki_conv2d_pointwise_group(const hki_conv2d_geometry *geometry);
size_t hki_conv2d_pointwise_scratch_bytes(const hki_conv2d_geometry *geometry, hki_conv2d_pass pass,
                                          bool f64);

/* Of samples [begin, end), of float32 or float64. */
void hki_conv2d_pointwise_forward(const hki_conv2d_geometry *geometry, bool f64, const void *x,
                                  const void *weight, const void *bias, void *y, int64_t begin,
                                  int64_t end, void *scratch);
void hki_conv2d_pointwise_data(const hki_conv2d_geometry *geometry, bool f64, const void *dy,
                               const void *weight, void *dx, int64_t begin, int64_t end,
                               void *scratch);
/* dbias may be NULL. */
void hki_conv2d_pointwise_weight(const hki_conv2d_geometry *geometry, bool f64, const void *x,
                                 const void *dy, void *dweight, void *dbias, int64_t begin,
                                 int64_t end, void *scratch);

#endif
