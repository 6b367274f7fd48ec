/* One step of recurrent cells and its gradients. The arithmetic is that of cell_loops.h, which
 * also names the parts of sums and of what is kept. */
#include "op/cuda/cuda_calls.h"
#include "op/recurrent/cuda_cell.cuh"

/* A matrix of which row i, column j is i * row + j * column elements on; NULL: of zeros. */
struct hki_cuda_cell_input {
    const void *data;
    int64_t row, column;
};

enum { HKI_CUDA_CELL_INPUTS = 5, HKI_CUDA_CELL_OUTPUTS = 3 };

/* Inputs and outputs of lstm_cell and so on, in their order: each row has parts of `units`
 * columns. Outputs are contiguous. */
struct hki_cuda_cell {
    int64_t rows, units; /* at least 1 */
    hki_cuda_cell_input in[HKI_CUDA_CELL_INPUTS];
    void *out[HKI_CUDA_CELL_OUTPUTS];
};

enum { THREADS = 256 };

/* One unit of a row. */
template <class T> struct unit {
    const hki_cuda_cell &cell;
    int64_t row, column;

    /* Part k of an input; -0, which leaves what it is added to as it is, of one that is left out. */
    __device__ T in(int input, int k = 0) const
    {
        const hki_cuda_cell_input &x = cell.in[input];
        if (!x.data)
            return (T)-0.0;
        return static_cast<const T *>(x.data)[row * x.row + (k * cell.units + column) * x.column];
    }
    /* Part k of `parts` of an output. */
    __device__ void put(int output, int k, int parts, T value) const
    {
        static_cast<T *>(cell.out[output])[(row * parts + k) * cell.units + column] = value;
    }
};

/* Calls visit(unit) for those of this thread. */
template <class T, class F> HKI_DEVICE void each_unit(const hki_cuda_cell &cell, F visit)
{
    const int64_t rows_each = HKI_THREAD_COUNT / cell.units,
                  columns_each = HKI_THREAD_COUNT % cell.units;
    int64_t row = HKI_THREAD_INDEX / cell.units, column = HKI_THREAD_INDEX % cell.units;
    while (row < cell.rows) {
        visit(unit<T>{cell, row, column});
        row += rows_each;
        column += columns_each;
        if (column >= cell.units) {
            column -= cell.units;
            row++;
        }
    }
}

/* Parts 0 and on of an input. */
template <class T, int N> HKI_DEVICE void read_parts(const unit<T> &u, int input, T (&parts)[N])
{
    for (int k = 0; k < N; k++)
        parts[k] = u.in(input, k);
}

template <class T, int N>
HKI_DEVICE void put_parts(const unit<T> &u, int output, const T (&parts)[N])
{
    for (int k = 0; k < N; k++)
        u.put(output, k, N, parts[k]);
}

/* ---- LSTM ---------------------------------------------------------------------------------------------- */

/* x, h, c; y, next, kept */
template <class T> HKI_KERNEL void HKI_BOUNDS(THREADS) lstm(const hki_cuda_cell cell)
{
    each_unit<T>(cell, [](const unit<T> &u) {
        T x[HKI_LSTM_SUMS], h[HKI_LSTM_SUMS], kept[HKI_LSTM_KEPT], y, next;
        read_parts(u, 0, x);
        read_parts(u, 1, h);
        hki_cell_lstm(x, h, u.in(2), &y, &next, kept);
        u.put(0, 0, 1, y);
        u.put(1, 0, 1, next);
        put_parts(u, 2, kept);
    });
}

/* kept, c, dy, dnext, dkept; ds, dc */
template <class T> HKI_KERNEL void HKI_BOUNDS(THREADS) lstm_backward(const hki_cuda_cell cell)
{
    each_unit<T>(cell, [](const unit<T> &u) {
        T kept[HKI_LSTM_KEPT], dkept[HKI_LSTM_KEPT], ds[HKI_LSTM_SUMS], dc;
        read_parts(u, 0, kept);
        read_parts(u, 4, dkept);
        hki_cell_lstm_back(kept, u.in(1), u.in(2), u.in(3), dkept, ds, &dc);
        put_parts(u, 0, ds);
        u.put(1, 0, 1, dc);
    });
}

/* ---- GRU ----------------------------------------------------------------------------------------------- */

/* x, h, state; y, kept */
template <class T> HKI_KERNEL void HKI_BOUNDS(THREADS) gru(const hki_cuda_cell cell)
{
    each_unit<T>(cell, [](const unit<T> &u) {
        T x[HKI_GRU_SUMS], h[HKI_GRU_SUMS], kept[HKI_GRU_KEPT], y;
        read_parts(u, 0, x);
        read_parts(u, 1, h);
        hki_cell_gru(x, h, u.in(2), &y, kept);
        u.put(0, 0, 1, y);
        put_parts(u, 1, kept);
    });
}

/* kept, state, dy, dkept; dx, dh, dstate */
template <class T> HKI_KERNEL void HKI_BOUNDS(THREADS) gru_backward(const hki_cuda_cell cell)
{
    each_unit<T>(cell, [](const unit<T> &u) {
        T kept[HKI_GRU_KEPT], dkept[HKI_GRU_KEPT], dx[HKI_GRU_SUMS], dh[HKI_GRU_SUMS], dstate;
        read_parts(u, 0, kept);
        read_parts(u, 3, dkept);
        hki_cell_gru_back(kept, u.in(1), u.in(2), dkept, dx, dh, &dstate);
        put_parts(u, 0, dx);
        put_parts(u, 1, dh);
        u.put(2, 0, 1, dstate);
    });
}

/* ---- launches ------------------------------------------------------------------------------------------ */

static unsigned grid_of(hki_cuda_stream *stream, const hki_cuda_cell *cell)
{
    return hki_cuda_grid(cell->rows * cell->units, THREADS,
                         hki_cuda_stream_multiprocessors(stream));
}

/* state: the input whose columns are units. */
static hki_cuda_cell cell_of(const hki_kernel_call *call, int state)
{
    hki_cuda_cell cell = {};
    cell.rows = call->in[state].dims[0];
    cell.units = call->in[state].dims[1];
    for (int i = 0; i < call->input_count; i++) {
        const hki_tensor &x = call->in[i];
        if (x.ndim >= 0)
            cell.in[i] = {x.data, x.strides[0], x.strides[1]};
    }
    for (int i = 0; i < call->output_count; i++)
        cell.out[i] = call->out[i].data;
    return cell;
}

#define CALL(kernel, state)                                                                        \
    void hki_cuda_call_##kernel(const hki_kernel_call *call, hki_cuda_stream *stream)              \
    {                                                                                              \
        const hki_cuda_cell cell = cell_of(call, state);                                           \
        if (cell.rows * cell.units == 0)                                                           \
            return;                                                                                \
        if (call->out[0].dtype == HK_F64)                                                          \
            HKI_LAUNCH(stream, grid_of(stream, &cell), THREADS, kernel<double>, cell);             \
        else                                                                                       \
            HKI_LAUNCH(stream, grid_of(stream, &cell), THREADS, kernel<float>, cell);              \
    }

CALL(lstm, 2)
CALL(lstm_backward, 1)
CALL(gru, 2)
CALL(gru_backward, 1)
