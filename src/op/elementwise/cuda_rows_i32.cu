#define ROW_TYPE  int32_t
#define ROW_TABLE hki_cuda_rows_i32
#include "op/elementwise/cuda_rows.cuh"
