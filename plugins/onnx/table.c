/* From an operator's name to its row. */
#include "rows.h"

#include <stdio.h>
#include <string.h>

static const onnx_row *const families[] = {
    onnx_rows_attention, onnx_rows_control,   onnx_rows_conv,   onnx_rows_elementwise,
    onnx_rows_image,     onnx_rows_index,     onnx_rows_loss,   onnx_rows_matmul,
    onnx_rows_norm,      onnx_rows_pad,       onnx_rows_pool,   onnx_rows_quantized,
    onnx_rows_random,    onnx_rows_recurrent, onnx_rows_reduce, onnx_rows_sequence,
    onnx_rows_shape,     onnx_rows_signal,    onnx_rows_sort,   onnx_rows_text,
};

const onnx_row *onnx_row_find(const char *domain, const char *name)
{
    char whole[256];
    const int length = snprintf(whole, sizeof whole, "%s%s%s", domain, *domain ? ":" : "", name);
    if (length < 0 || (size_t)length >= sizeof whole)
        return NULL;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        for (const onnx_row *row = families[i]; row->name; row++)
            if (!strcmp(row->name, whole))
                return row;
    return NULL;
}
