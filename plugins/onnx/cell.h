/* The cell of an LSTM in one call, where no gradient is wanted: a step has few numbers, and many
 * calls. */
#ifndef HOCKET_ONNX_CELL_H
#define HOCKET_ONNX_CELL_H

#include "onnx.h"

/* Whether it can be used: on CPUs, of float32, and not while recording. */
bool onnx_has_cell(onnx_call *call, hk_dtype dtype);
/* from_x and from_h (n, 4 hidden), whose sum is i, o, f, c before the activations, which are
 * sigmoids and tanh; c (n, hidden). Gives (2, n, hidden): the next hidden state and c. */
hk_array *onnx_lstm_cell(hk_array *from_x, hk_array *from_h, hk_array *c);

#endif
