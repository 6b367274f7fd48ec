/* Convolution of one image or a few, float32, forward, with weights that have been packed once: windows are the rows of a product,
   output channels its columns, so that they lie in the lanes, however few pixels there are. Conventions are those of
   conv2d_kernel.h.

   A unit is a row of results of a sample, or, where there are few, some of its output channels: unit u of hki_conv2d_rows_units.
   Bytes of a result are a pure function of its window, of the weights and of the instruction set; products of a window are added
   up pixel by pixel, and not channel by channel as elsewhere. */
#ifndef HOCKET_OP_KERNELS_CONV2D_ROWS_H
#define HOCKET_OP_KERNELS_CONV2D_ROWS_H

#include "op/conv/conv2d_kernel.h"

/* Whether it pays: a rule of shapes. */
bool hki_conv2d_rows_fit(const hki_conv2d_geometry *geometry);
int64_t hki_conv2d_rows_units(const hki_conv2d_geometry *geometry);

/* Of packed weights; of the workspace for packing; for so many units. Multiples of 64. */
size_t hki_conv2d_rows_packed_bytes(const hki_conv2d_geometry *geometry);
size_t hki_conv2d_rows_pack_scratch_bytes(const hki_conv2d_geometry *geometry);
size_t hki_conv2d_rows_scratch_bytes(const hki_conv2d_geometry *geometry, int64_t units);

void hki_conv2d_rows_pack(const hki_conv2d_geometry *geometry, const float *weight, void *packed,
                          void *scratch);
/* y of units [begin, end); bias may be NULL. */
void hki_conv2d_rows(const hki_conv2d_geometry *geometry, const float *x, const void *packed,
                     const float *bias, float *y, int64_t begin, int64_t end, void *scratch);

#endif
