/* Sums of products of small whole numbers, exactly, by the matrix products of floats. */
#ifndef HOCKET_ONNX_EXACT_H
#define HOCKET_ONNX_EXACT_H

#include "onnx.h"

/* a times b, two axes each or more, as hk_matmul: float32 arrays of whole numbers from -255 to 255.
 * int64. */
hk_array *onnx_exact_matmul(hk_array *a, hk_array *b);
/* x (n,channels,…) and w (outputs,channels/groups,…), such arrays, by the node's attributes of
 * convolutions; zeros stand around x. int64 (n,outputs,…); NULL after refusing. */
hk_array *onnx_exact_conv(onnx_call *call, hk_array *x, hk_array *w);

#endif
