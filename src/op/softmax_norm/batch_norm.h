/* Options and shapes of batch normalisation: what its kernels for all kinds of devices ask of a call. */
#ifndef HOCKET_OP_BATCH_NORM_H
#define HOCKET_OP_BATCH_NORM_H

#include "base/option.h"
#include "op/kernel.h"
#include "op/softmax_norm/batch_norm_kernel.h"

#define BATCH_NORM_OPTIONS(F, op)                                                                  \
    F(op, F64, eps, "1e-5", "added to the variance, so that nothing is divided by 0")
/* A bool of its own: what was saved does not tell where the statistics come from. */
#define BATCH_NORM_BACKWARD_ARGUMENTS(F, op)                                                       \
    F(op, BOOL, given, "", "the statistics were given, and do not depend on x")                    \
    F(op, F64, eps, "", "what batch_norm added to the variance")
HKI_OPTIONS_STRUCT(batch_norm, BATCH_NORM_OPTIONS)
HKI_OPTIONS_STRUCT(batch_norm_backward, BATCH_NORM_BACKWARD_ARGUMENTS)

static inline double hki_batch_norm_eps(const void *options)
{
    double eps = ((const hki_batch_norm_options *)options)->eps;
    return hki_option_or(eps, 1e-5);
}

/* The gradient of batch_norm_backward, of which what is saved is a part of x: batch_norm_second.c. */
void hki_batch_norm_second(hki_grad_call *call);

/* Axes after the channels' are one. */
static inline hki_batch_norm_shape hki_batch_norm_shape_of(int ndim, const int64_t *dims)
{
    hki_batch_norm_shape shape = {dims[0], dims[1], 1};
    for (int i = 2; i < ndim; i++)
        shape.inner *= dims[i];
    return shape;
}

#endif
