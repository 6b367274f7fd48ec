/* What operators of complex numbers share: parts, and gradients. */
#ifndef HOCKET_OP_COMPLEX_H
#define HOCKET_OP_COMPLEX_H

#include "op/op.h"

/* For gradients: dy in the dtype of what it is the gradient of. What is real gets the real part of a complex one: its
 * imaginary part cannot change. In the current scope. */
hk_array *hki_gradient_as(hk_array *dy, hk_dtype dtype);

/* The result of the operator that hk_op.data points to, which is linear with real coefficients, of the real and of the imaginary
 * parts, which go by themselves. For hk_op.compose. */
hk_array *hki_compose_by_parts(const hki_call *call);

/* Gradients here follow the convention of PyTorch (docs: "Autograd for Complex Numbers"): of a real loss, dL/d re + i dL/d im. So that of
 * a function with a derivative f' is dy conj(f'), and a step against it makes the loss smaller. */

#endif
