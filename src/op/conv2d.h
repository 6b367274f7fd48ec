/* What chains ask of a convolution. */
#ifndef HOCKET_OP_CONV2D_H
#define HOCKET_OP_CONV2D_H

#include "op/kernels/conv2d_kernel.h"
#include "op/op.h"

/* Of a call of conv2d, conv2d_backward_data or conv2d_backward_weight, from its inputs. */
hki_conv2d_geometry hki_conv2d_geometry_of(const hk_op *op, const hki_tensor *in,
                                           const void *options);

#endif
