#define ROW_TYPE  double
#define ROW_TABLE hki_cuda_rows_f64
#define ROW_REAL
#include "op/cuda/cuda_rows.cuh"
