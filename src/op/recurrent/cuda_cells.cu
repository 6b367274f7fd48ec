#include "op/recurrent/cuda_cells.h"

#include "op/recurrent/cuda_cell.cuh"

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

#define LAUNCH(name, kernel)                                                                       \
    void hki_cuda_launch_##name(hki_cuda_stream *stream, bool f64, const hki_cuda_cell *cell)      \
    {                                                                                              \
        if (f64)                                                                                   \
            HKI_LAUNCH(stream, grid_of(stream, cell), THREADS, kernel<double>, *cell);             \
        else                                                                                       \
            HKI_LAUNCH(stream, grid_of(stream, cell), THREADS, kernel<float>, *cell);              \
    }

LAUNCH(lstm, lstm)
LAUNCH(lstm_backward, lstm_backward)
LAUNCH(gru, gru)
LAUNCH(gru_backward, gru_backward)
