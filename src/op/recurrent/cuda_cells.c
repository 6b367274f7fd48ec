/* lstm_cell, gru_cell and their gradients. */
#include "op/recurrent/cuda_cells.h"

#include "op/cuda/cuda_calls.h"

typedef void (*launch_fn)(hki_cuda_stream *stream, bool f64, const hki_cuda_cell *cell);

/* state: the input whose columns are units. */
static void run(const hki_kernel_call *call, hki_cuda_stream *stream, int state, launch_fn launch)
{
    const int64_t *dims = call->in[state].dims;
    hki_cuda_cell cell = {.rows = dims[0], .units = dims[1]};
    if (cell.rows * cell.units == 0)
        return;
    for (int i = 0; i < call->input_count; i++) {
        const hki_tensor *x = &call->in[i];
        if (x->ndim >= 0)
            cell.in[i] = (hki_cuda_cell_input){x->data, x->strides[0], x->strides[1]};
    }
    for (int i = 0; i < call->output_count; i++)
        cell.out[i] = call->out[i].data;
    launch(stream, call->out[0].dtype == HK_F64, &cell);
}

void hki_cuda_call_lstm(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    run(call, stream, 2, hki_cuda_launch_lstm);
}

void hki_cuda_call_lstm_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    run(call, stream, 1, hki_cuda_launch_lstm_backward);
}

void hki_cuda_call_gru(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    run(call, stream, 2, hki_cuda_launch_gru);
}

void hki_cuda_call_gru_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    run(call, stream, 1, hki_cuda_launch_gru_backward);
}
