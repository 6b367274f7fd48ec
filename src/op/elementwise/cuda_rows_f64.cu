#define ROW_TYPE  double
#define ROW_TABLE hki_cuda_rows_f64
#define ROW_REAL
#include "op/elementwise/cuda_rows.cuh"
