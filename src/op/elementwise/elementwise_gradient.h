/* What gradients of elementwise operators share. */
#ifndef HOCKET_OP_ELEMENTWISE_GRADIENT_H
#define HOCKET_OP_ELEMENTWISE_GRADIENT_H

#include "op/op.h"

/* Sets dx[index] to a gradient of the output's shape and dtype, summed to the input's. */
void hki_set_summed(hki_grad_call *call, int index, hk_array *full);

/* The gradient of an operator that is the gradient of a row, of dy and what is kept: elementwise_second.c. */
void hki_gradient_of_row_gradient(hki_grad_call *call);

#endif
