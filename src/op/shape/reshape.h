/* Options of reshape, for operators that call it. */
#ifndef HOCKET_OP_RESHAPE_H
#define HOCKET_OP_RESHAPE_H

#include "op/op.h"

#define HKI_RESHAPE_ARGUMENTS(F, op)                                                               \
    F(op, DIMS, shape, "", "as many elements as x has; one size may be -1: what is left")
HKI_OPTIONS_STRUCT(reshape, HKI_RESHAPE_ARGUMENTS)

#endif
