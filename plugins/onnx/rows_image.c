#include "rows.h"

const onnx_row onnx_rows_image[] = {{NULL, NULL, 0}};
