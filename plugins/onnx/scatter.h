/* Elements put into an array where several may fall on one place, joined there. */
#ifndef HOCKET_ONNX_SCATTER_H
#define HOCKET_ONNX_SCATTER_H

#include "onnx.h"

typedef enum onnx_join { ONNX_SET, ONNX_ADD, ONNX_MULTIPLY, ONNX_LARGER, ONNX_SMALLER } onnx_join;

/* The attribute reduction; false after refusing. */
bool onnx_join_of(onnx_call *call, onnx_join *join);
/* x (rows,width), and to row places[i] of it row i of updates (count,width) joined, in their order.
 * places (count) are int64. A place that is none fails the result, when it is computed. */
hk_array *onnx_scatter_rows(hk_array *x, hk_array *places, hk_array *updates, onnx_join join);

#endif
