/* Options of recurrence, for the layers that call it. */
#ifndef HOCKET_OP_RECURRENCE_H
#define HOCKET_OP_RECURRENCE_H

#include "op/op.h"
#include "op/recurrent/recurrence_kernel.h"

#define RECURRENCE_OPTIONS(F, op)                                                                  \
    F(op, INT, kind, "0", "an hki_recurrence_kind")                                                \
    F(op, BOOL, is_reversed, "false", "steps go from the last to the first")                       \
    F(op, BOOL, keeps, "false", "what gradients read is kept; else `kept` is empty")
HKI_OPTIONS_STRUCT(recurrence, RECURRENCE_OPTIONS)

#endif
