/* Gradients of a step of a cell by calls that the tape notes: what the kernels do, with the same bytes. In the current scope. */
#ifndef HOCKET_OP_RECURRENT_CELL_H
#define HOCKET_OP_RECURRENT_CELL_H

#include "op/op.h"

/* What is kept of a step (n, parts units), the state before it (c of an LSTM, h of a GRU), and gradients of what the step gives, of
 * which any may be NULL: of h, of an LSTM's c, of what is kept. */
typedef struct hki_cell_back {
    hk_array *kept, *state, *dy, *dnext, *dkept;
} hki_cell_back;

/* results: of the sums of x and h, of c. */
void hki_lstm_back_recorded(const hki_cell_back *of, hk_array **results);
/* results: of the sums of x, of those of h, of the state. */
void hki_gru_back_recorded(const hki_cell_back *of, hk_array **results);

#endif
