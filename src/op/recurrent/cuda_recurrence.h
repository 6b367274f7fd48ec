/* Within the plug-in: one step of a recurrent layer for all rows of a batch, and its gradients, a launch each: the product of the
 * state with the weights, and what the cell does with it, in C and CUDA C++. Arithmetic of cells: cuda_cell.cuh. */
#ifndef HOCKET_OP_CUDA_RECURRENCE_H
#define HOCKET_OP_CUDA_RECURRENCE_H

#include "device/cuda/cuda_stream.h"
#include "op/recurrent/recurrence_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows without gaps, of which row i begins i * row elements on; data NULL: not there. */
typedef struct hki_cuda_step_rows {
    void *data;
    int64_t row;
} hki_cuda_step_rows;

/* A product of rows with rows of weights, which are without gaps: both have `depth` elements; 0: it is 0. */
typedef struct hki_cuda_step_product {
    int64_t rows, units, depth; /* rows, units: at least 1 */
    hki_cuda_step_rows left;
    const void *weight; /* (parts units, depth) */
} hki_cuda_step_product;

/* left: h before the step; state: of LSTM c before it, of GRU h; x: the sums of inputs. Of `c` and `kept` as the kind has them. */
typedef struct hki_cuda_recurrence_step {
    hki_cuda_step_product from_h;
    const void *bias;
    hki_cuda_step_rows x, state, h, c, kept;
} hki_cuda_recurrence_step;

/* left: the gradients of the sums in the step behind; not there: it is the last one. weight: transposed. dh0 and dc0: (rows, units);
 * dc0 is carried from step to step, of a GRU dh0 as well: what goes to the state without the weights. kept not there: all
 * steps are done, and dh0 is to become the gradient. Others as in recurrence.h. */
typedef struct hki_cuda_recurrence_back_step {
    hki_cuda_step_product from_sums;
    hki_cuda_step_rows kept, state, dh, dc, dkept, dx, dsums;
    void *dh0, *dc0;
} hki_cuda_recurrence_back_step;

void hki_cuda_launch_recurrence(hki_cuda_stream *stream, hki_recurrence_kind kind, bool f64,
                                const hki_cuda_recurrence_step *step);
void hki_cuda_launch_recurrence_backward(hki_cuda_stream *stream, hki_recurrence_kind kind,
                                         bool f64, const hki_cuda_recurrence_back_step *step);

#ifdef __cplusplus
}
#endif

#endif
