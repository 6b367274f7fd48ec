/* Pooling of windows of any size, a plane in each lane of a vector: for pool2d_kernel.c, whose conventions hold. */
#ifndef HOCKET_OP_KERNELS_POOL2D_LANES_H
#define HOCKET_OP_KERNELS_POOL2D_LANES_H

#include "op/pool/pool2d_kernel.h"

#include <stddef.h>

/* What a call is given: elements are double if f64, else float; averages are meant if `average`, else the largest. */
typedef struct hki_pool2d_lanes {
    const hki_pool2d_geometry *g;
    bool f64, average;
    int64_t begin, end; /* planes */
    void *scratch;      /* hki_pool2d_lanes_bytes of it, 64-byte aligned */
} hki_pool2d_lanes;

/* Of the gradient, or of the pass forward. */
size_t hki_pool2d_lanes_bytes(const hki_pool2d_geometry *g, bool backward, bool f64);
void hki_pool2d_lanes_forward(const hki_pool2d_lanes *call, const void *x, void *y);
/* x is not read for averages. */
void hki_pool2d_lanes_backward(const hki_pool2d_lanes *call, const void *x, const void *dy,
                               void *dx);

#endif
