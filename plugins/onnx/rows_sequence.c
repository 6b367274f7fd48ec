#include "rows.h"

const onnx_row onnx_rows_sequence[] = {{NULL, NULL, 0}};
