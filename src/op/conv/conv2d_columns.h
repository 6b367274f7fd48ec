/* Convolution of a few samples, forward: the product of the weights, as they lie, with the windows of a sample as columns
   (product_kernel.h), of which only a panel at a time is made. Conventions are those of conv2d_kernel.h.

   A unit is a part of one sample's results: of its pixels where there are many, else of its output channels. It is unit u of
   hki_conv2d_columns_units; units beside each other are done as one. Bytes of a result are a pure function of its window, of
   the weights and of the instruction set. */
#ifndef HOCKET_OP_KERNELS_CONV2D_COLUMNS_H
#define HOCKET_OP_KERNELS_CONV2D_COLUMNS_H

#include "op/conv/conv2d_kernel.h"

/* Whether it is to be done this way: geometry->method says so, or leaves it to the rule, which takes it for a batch of one
 * where there are enough products for each element of a window that is copied. */
bool hki_conv2d_columns_fit(const hki_conv2d_geometry *geometry, bool f64);
int64_t hki_conv2d_columns_units(const hki_conv2d_geometry *geometry);
/* Of so many units at a time. */
size_t hki_conv2d_columns_scratch_bytes(const hki_conv2d_geometry *geometry, bool f64,
                                        int64_t units);

/* y of units [begin, end), of float32 or float64; bias may be NULL. */
void hki_conv2d_columns(const hki_conv2d_geometry *geometry, bool f64, const void *x,
                        const void *weight, const void *bias, void *y, int64_t begin, int64_t end,
                        void *scratch);

#endif
