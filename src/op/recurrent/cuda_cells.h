/* Within the plug-in: one step of recurrent cells and its gradients, in C and CUDA C++. The arithmetic is that of
 * cell_loops.h, which also names the parts of sums and of what is kept. */
#ifndef HOCKET_OP_CUDA_CELLS_H
#define HOCKET_OP_CUDA_CELLS_H

#include "device/cuda/cuda_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A matrix of which row i, column j is i * row + j * column elements on; NULL: of zeros. */
typedef struct hki_cuda_cell_input {
    const void *data;
    int64_t row, column;
} hki_cuda_cell_input;

enum { HKI_CUDA_CELL_INPUTS = 5, HKI_CUDA_CELL_OUTPUTS = 3 };

/* Inputs and outputs of lstm_cell and so on, in their order: each row has parts of `units` columns. Outputs are
 * contiguous. */
typedef struct hki_cuda_cell {
    int64_t rows, units; /* at least 1 */
    hki_cuda_cell_input in[HKI_CUDA_CELL_INPUTS];
    void *out[HKI_CUDA_CELL_OUTPUTS];
} hki_cuda_cell;

void hki_cuda_launch_lstm(hki_cuda_stream *stream, bool f64, const hki_cuda_cell *cell);
void hki_cuda_launch_lstm_backward(hki_cuda_stream *stream, bool f64, const hki_cuda_cell *cell);
void hki_cuda_launch_gru(hki_cuda_stream *stream, bool f64, const hki_cuda_cell *cell);
void hki_cuda_launch_gru_backward(hki_cuda_stream *stream, bool f64, const hki_cuda_cell *cell);

#ifdef __cplusplus
}
#endif

#endif
