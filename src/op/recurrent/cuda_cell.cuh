/* Within the plug-in: what one unit of a recurrent cell does in a step, and its gradients, by values. The arithmetic is that of
 * cell_loops.h, which also names the parts of sums and of what is kept. Contraction has to be off. */
#ifndef HOCKET_OP_CUDA_CELL_CUH
#define HOCKET_OP_CUDA_CELL_CUH

#include "device/cuda/cuda_launch.cuh"
#include "op/elementwise/scalar_math.h"
#include "op/recurrent/cell_loops.h"

HKI_DEVICE float hki_cell_gate(float x)
{
    return hki_sigmoid_f32(x);
}
HKI_DEVICE double hki_cell_gate(double x)
{
    return hki_sigmoid_f64(x);
}
HKI_DEVICE float hki_cell_squash(float x)
{
    return hki_tanh_f32(x);
}
HKI_DEVICE double hki_cell_squash(double x)
{
    return hki_tanh_f64(x);
}

/* dy sigmoid'(x) and dy tanh'(x), by what these gave. */
template <class T> HKI_DEVICE T hki_cell_gate_back(T y, T dy)
{
    return dy * (y * (1 - y));
}
template <class T> HKI_DEVICE T hki_cell_squash_back(T y, T dy)
{
    return dy * (1 - y * y);
}

/* x, h: the sums of inputs and of the state; c: the cell before. */
template <class T>
HKI_DEVICE void hki_cell_lstm(const T (&x)[HKI_LSTM_SUMS], const T (&h)[HKI_LSTM_SUMS], T c, T *y,
                              T *next, T (&kept)[HKI_LSTM_KEPT])
{
    const T in = hki_cell_gate(x[0] + h[0]), forget = hki_cell_gate(x[1] + h[1]);
    const T candidate = hki_cell_squash(x[2] + h[2]), out = hki_cell_gate(x[3] + h[3]);
    *next = forget * c + in * candidate;
    const T squashed = hki_cell_squash(*next);
    *y = out * squashed;
    kept[0] = in;
    kept[1] = forget;
    kept[2] = candidate;
    kept[3] = out;
    kept[4] = squashed;
}

/* dc: of the cell before. */
template <class T>
HKI_DEVICE void hki_cell_lstm_back(const T (&kept)[HKI_LSTM_KEPT], T c, T dy, T dnext,
                                   const T (&dkept)[HKI_LSTM_KEPT], T (&ds)[HKI_LSTM_SUMS], T *dc)
{
    const T in = kept[0], forget = kept[1], candidate = kept[2], out = kept[3], squashed = kept[4];
    const T dcell = hki_cell_squash_back(squashed, dy * out + dkept[4]) + dnext;
    ds[0] = hki_cell_gate_back(in, dcell * candidate + dkept[0]);
    ds[1] = hki_cell_gate_back(forget, dcell * c + dkept[1]);
    ds[2] = hki_cell_squash_back(candidate, dcell * in + dkept[2]);
    ds[3] = hki_cell_gate_back(out, dy * squashed + dkept[3]);
    *dc = dcell * forget;
}

template <class T>
HKI_DEVICE void hki_cell_gru(const T (&x)[HKI_GRU_SUMS], const T (&h)[HKI_GRU_SUMS], T state, T *y,
                             T (&kept)[HKI_GRU_KEPT])
{
    const T reset = hki_cell_gate(x[0] + h[0]), update = hki_cell_gate(x[1] + h[1]);
    const T candidate = hki_cell_squash(reset * h[2] + x[2]);
    *y = candidate + update * (state - candidate);
    kept[0] = reset;
    kept[1] = update;
    kept[2] = candidate;
    kept[3] = h[2];
}

/* dx, dh: of the sums; dstate: of the state before, without what goes by the sums. */
template <class T>
HKI_DEVICE void hki_cell_gru_back(const T (&kept)[HKI_GRU_KEPT], T state, T dy,
                                  const T (&dkept)[HKI_GRU_KEPT], T (&dx)[HKI_GRU_SUMS],
                                  T (&dh)[HKI_GRU_SUMS], T *dstate)
{
    const T reset = kept[0], update = kept[1], candidate = kept[2];
    dx[2] = hki_cell_squash_back(candidate, dy * (1 - update) + dkept[2]);
    dx[0] = dh[0] = hki_cell_gate_back(reset, dx[2] * kept[3] + dkept[0]);
    dx[1] = dh[1] = hki_cell_gate_back(update, dy * (state - candidate) + dkept[1]);
    dh[2] = dx[2] * reset + dkept[3];
    *dstate = dy * update;
}

#endif
