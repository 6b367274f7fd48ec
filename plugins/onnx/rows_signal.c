#include "rows.h"

const onnx_row onnx_rows_signal[] = {{NULL, NULL, 0}};
