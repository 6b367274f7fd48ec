#define ROW_TYPE  uint8_t
#define ROW_TABLE hki_cuda_rows_u8
#include "op/elementwise/cuda_rows.cuh"
