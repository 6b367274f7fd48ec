#include "rows.h"

const onnx_row onnx_rows_index[] = {{NULL, NULL, 0}};
