#include "rows.h"

const onnx_row onnx_rows_attention[] = {{NULL, NULL, 0}};
