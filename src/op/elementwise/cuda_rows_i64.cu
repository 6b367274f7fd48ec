#define ROW_TYPE  int64_t
#define ROW_TABLE hki_cuda_rows_i64
#include "op/elementwise/cuda_rows.cuh"
