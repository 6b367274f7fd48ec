/* Within the plug-in: copies of transposed arrays, in C and CUDA C++. */
#ifndef HOCKET_OP_CUDA_TRANSPOSE_H
#define HOCKET_OP_CUDA_TRANSPOSE_H

#include "device/cuda/cuda_stream.h"
#include "op/cuda/cuda_walk.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HKI_CUDA_TRANSPOSE_SIDE = 32 };

/* Matrices, as many as `outer` has elements: operand 0 has columns side by side, operand 1 rows. Tiles of
 * HKI_CUDA_TRANSPOSE_SIDE rows and columns go through shared memory, so that both sides are read and written along
 * memory. */
typedef struct hki_cuda_transpose {
    hki_cuda_path outer;
    uint32_t rows, columns;
    int64_t row_step,
        column_step; /* bytes: of operand 0 from row to row, of operand 1 from column to column */
    hki_cuda_divider row_tiles, column_tiles; /* of a matrix */
    uint32_t tiles;                           /* of all matrices */
} hki_cuda_transpose;

/* Takes a copy of operand 1 to operand 0 apart, which fits into a path. False, where it is not one of matrices, or of too
 * small ones. */
bool hki_cuda_transpose_init(hki_cuda_transpose *transpose, const hki_cuda_walk *walk,
                             int item_bytes);
void hki_cuda_launch_transpose(hki_cuda_stream *stream, const hki_cuda_transpose *transpose,
                               int item_bytes);

#ifdef __cplusplus
}
#endif

#endif
