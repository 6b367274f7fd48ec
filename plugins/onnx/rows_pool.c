#include "rows.h"

const onnx_row onnx_rows_pool[] = {{NULL, NULL, 0}};
