/* Options of the operator that keeps moving averages. */
#ifndef HOCKET_OP_MOVING_AVERAGE_H
#define HOCKET_OP_MOVING_AVERAGE_H

#include "op/kernel.h"

#define MOVING_AVERAGE_ARGUMENTS(F, op)                                                            \
    F(op, F64, weight, "", "weight of the sample, in [0, 1]")                                      \
    F(op, F64, factor, "", "what the sample is multiplied by")

HKI_OPTIONS_STRUCT(moving_average, MOVING_AVERAGE_ARGUMENTS)

#endif
