/* Means and norms whose sums leave the range of what gathers them, which is rare. */
#ifndef HOCKET_OP_REDUCE_SCALED_H
#define HOCKET_OP_REDUCE_SCALED_H

#include "op/kernels/reduce/reduce_kernel.h"

/* The mean, or the norm, of what gives kept element k: of elements that are first divided by the
 * largest one. `otherwise` where that is 0 or not finite. x: of float32 or float64. */
double hki_reduce_scaled(const hki_tensor *x, const hki_reduce_geometry *geometry, int64_t k,
                         bool is_mean, double otherwise);

#endif
