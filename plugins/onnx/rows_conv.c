#include "rows.h"

const onnx_row onnx_rows_conv[] = {{NULL, NULL, 0}};
