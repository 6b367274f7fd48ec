/* Options of the operator behind hk_sgd. */
#ifndef HOCKET_OP_SGD_UPDATE_H
#define HOCKET_OP_SGD_UPDATE_H

#include "op/kernel.h"

#define SGD_UPDATE_OPTIONS(F, op)                                                                  \
    F(op, F64, lr, "0", "learning rate")                                                           \
    F(op, F64, batch, "1", "how many samples the gradient was summed over")                        \
    F(op, F64, weight_decay, "0", "L2 penalty")

HKI_OPTIONS_STRUCT(sgd_update, SGD_UPDATE_OPTIONS)

#endif
