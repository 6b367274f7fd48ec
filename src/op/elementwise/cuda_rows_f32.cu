#define ROW_TYPE  float
#define ROW_TABLE hki_cuda_rows_f32
#define ROW_REAL
#include "op/elementwise/cuda_rows.cuh"
#include "op/elementwise/cuda_fused.cuh"
