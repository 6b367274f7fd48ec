#include "op/cuda/cuda_cells.h"

#include "device/cuda/cuda_launch.cuh"
#include "op/kernels/elementwise/scalar_math.h"
#include "op/kernels/recurrent/cell_loops.h"

enum { THREADS = 256 };

HKI_DEVICE float gate(float x)
{
    return hki_sigmoid_f32(x);
}
HKI_DEVICE double gate(double x)
{
    return hki_sigmoid_f64(x);
}
HKI_DEVICE float squash(float x)
{
    return hki_tanh_f32(x);
}
HKI_DEVICE double squash(double x)
{
    return hki_tanh_f64(x);
}

/* dy sigmoid'(x) and dy tanh'(x), by what these gave. */
template <class T> HKI_DEVICE T gate_back(T y, T dy)
{
    return dy * (y * (1 - y));
}
template <class T> HKI_DEVICE T squash_back(T y, T dy)
{
    return dy * (1 - y * y);
}

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

/* ---- LSTM ---------------------------------------------------------------------------------------------- */

/* x, h, c; y, next, kept */
template <class T> HKI_KERNEL void HKI_BOUNDS(THREADS) lstm(const hki_cuda_cell cell)
{
    each_unit<T>(cell, [](const unit<T> &u) {
        const T in = gate(u.in(0, 0) + u.in(1, 0)), forget = gate(u.in(0, 1) + u.in(1, 1));
        const T candidate = squash(u.in(0, 2) + u.in(1, 2)), out = gate(u.in(0, 3) + u.in(1, 3));
        const T next = forget * u.in(2) + in * candidate, squashed = squash(next);
        const T kept[HKI_LSTM_KEPT] = {in, forget, candidate, out, squashed};
        u.put(0, 0, 1, out * squashed);
        u.put(1, 0, 1, next);
        for (int k = 0; k < HKI_LSTM_KEPT; k++)
            u.put(2, k, HKI_LSTM_KEPT, kept[k]);
    });
}

/* kept, c, dy, dnext, dkept; ds, dc */
template <class T> HKI_KERNEL void HKI_BOUNDS(THREADS) lstm_backward(const hki_cuda_cell cell)
{
    each_unit<T>(cell, [](const unit<T> &u) {
        const T in = u.in(0, 0), forget = u.in(0, 1), candidate = u.in(0, 2), out = u.in(0, 3);
        const T squashed = u.in(0, 4), dy = u.in(2);
        const T dcell = squash_back(squashed, dy * out + u.in(4, 4)) + u.in(3);
        const T ds[HKI_LSTM_SUMS] = {gate_back(in, dcell * candidate + u.in(4, 0)),
                                     gate_back(forget, dcell * u.in(1) + u.in(4, 1)),
                                     squash_back(candidate, dcell * in + u.in(4, 2)),
                                     gate_back(out, dy * squashed + u.in(4, 3))};
        for (int k = 0; k < HKI_LSTM_SUMS; k++)
            u.put(0, k, HKI_LSTM_SUMS, ds[k]);
        u.put(1, 0, 1, dcell * forget);
    });
}

/* ---- GRU ----------------------------------------------------------------------------------------------- */

/* x, h, state; y, kept */
template <class T> HKI_KERNEL void HKI_BOUNDS(THREADS) gru(const hki_cuda_cell cell)
{
    each_unit<T>(cell, [](const unit<T> &u) {
        const T reset = gate(u.in(0, 0) + u.in(1, 0)), update = gate(u.in(0, 1) + u.in(1, 1));
        const T of_h = u.in(1, 2), candidate = squash(reset * of_h + u.in(0, 2));
        const T kept[HKI_GRU_KEPT] = {reset, update, candidate, of_h};
        u.put(0, 0, 1, candidate + update * (u.in(2) - candidate));
        for (int k = 0; k < HKI_GRU_KEPT; k++)
            u.put(1, k, HKI_GRU_KEPT, kept[k]);
    });
}

/* kept, state, dy, dkept; dx, dh, dstate */
template <class T> HKI_KERNEL void HKI_BOUNDS(THREADS) gru_backward(const hki_cuda_cell cell)
{
    each_unit<T>(cell, [](const unit<T> &u) {
        const T reset = u.in(0, 0), update = u.in(0, 1), candidate = u.in(0, 2), dy = u.in(2);
        const T dcandidate = squash_back(candidate, dy * (1 - update) + u.in(3, 2));
        const T dreset = gate_back(reset, dcandidate * u.in(0, 3) + u.in(3, 0));
        const T dupdate = gate_back(update, dy * (u.in(1) - candidate) + u.in(3, 1));
        const T dx[HKI_GRU_SUMS] = {dreset, dupdate, dcandidate};
        const T dh[HKI_GRU_SUMS] = {dreset, dupdate, dcandidate * reset + u.in(3, 3)};
        for (int k = 0; k < HKI_GRU_SUMS; k++) {
            u.put(0, k, HKI_GRU_SUMS, dx[k]);
            u.put(1, k, HKI_GRU_SUMS, dh[k]);
        }
        u.put(2, 0, 1, dy * update);
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
