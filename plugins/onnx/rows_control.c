#include "rows.h"

const onnx_row onnx_rows_control[] = {{NULL, NULL, 0}};
