/* Convolutions of whole numbers, exactly: windows become the columns of a matrix. */
#ifndef HOCKET_ONNX_EXACT_CONV_H
#define HOCKET_ONNX_EXACT_CONV_H

#include "onnx.h"

/* x (n,channels,…) and w (outputs,channels/groups,…), float64 arrays of whole numbers, by the node's attributes of convolutions; zeros stand
 * around x. float64 (n,outputs,…); NULL after refusing. */
hk_array *onnx_exact_conv(onnx_call *call, hk_array *x, hk_array *w);

#endif
