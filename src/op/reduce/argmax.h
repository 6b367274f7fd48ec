/* Options of argmax, for other kernels of it. */
#ifndef HOCKET_OP_ARGMAX_H
#define HOCKET_OP_ARGMAX_H

#include "op/kernel.h"

#define ARGMAX_ARGUMENTS(F, op) F(op, INT, axis, "", "the axis to search along, which disappears")
HKI_OPTIONS_STRUCT(argmax, ARGMAX_ARGUMENTS)

#endif
