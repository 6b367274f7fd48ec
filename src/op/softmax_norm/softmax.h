/* Options of softmax and log_softmax, for other kernels of theirs. */
#ifndef HOCKET_OP_SOFTMAX_H
#define HOCKET_OP_SOFTMAX_H

#include "op/kernel.h"

#define SOFTMAX_ARGUMENTS(F, op)                                                                   \
    F(op, INT, axis, "", "the axis along which the result adds up to 1")
HKI_OPTIONS_STRUCT(softmax, SOFTMAX_ARGUMENTS)
typedef hki_softmax_options hki_log_softmax_options;

#endif
