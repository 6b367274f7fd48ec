/* The table of operators: a row each, by families. Adding one is a row, and its function, in its
 * family's file. */
#ifndef HOCKET_ONNX_ROWS_H
#define HOCKET_ONNX_ROWS_H

#include "onnx.h"

/* Each ends with a row without a name. */
extern const onnx_row onnx_rows_attention[], onnx_rows_control[], onnx_rows_conv[],
    onnx_rows_elementwise[], onnx_rows_image[], onnx_rows_index[], onnx_rows_loss[],
    onnx_rows_matmul[], onnx_rows_norm[], onnx_rows_pad[], onnx_rows_pool[], onnx_rows_quantized[],
    onnx_rows_random[], onnx_rows_recurrent[], onnx_rows_reduce[], onnx_rows_sequence[],
    onnx_rows_shape[], onnx_rows_signal[], onnx_rows_sort[], onnx_rows_text[];

#endif
