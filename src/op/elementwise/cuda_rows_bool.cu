#define ROW_TYPE  truth
#define ROW_TABLE hki_cuda_rows_bool
#define ROW_BOOL
#include "op/elementwise/cuda_rows.cuh"
