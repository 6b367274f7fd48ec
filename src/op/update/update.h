/* What the operators of update.def have in common. */
#ifndef HOCKET_OP_UPDATE_H
#define HOCKET_OP_UPDATE_H

#include "op/kernel.h"

#define UPDATE_OPTIONS(F, op)                                                                      \
    F(op, F64, batch, "0", "how many samples the gradient was summed over")                        \
    F(op, F64, weight_decay, "0", "penalty")                                                       \
    F(op, F64, beta1, "0", "of the first average, momentum, or rho")                               \
    F(op, F64, beta2, "0", "of the second average")                                                \
    F(op, F64, epsilon, "0", "what divisors are kept from 0 by")                                   \
    F(op, BOOL, nesterov, "false", "Nesterov's momentum")

HKI_OPTIONS_STRUCT(update, UPDATE_OPTIONS)

/* Options of optimisers that not all methods have: see METHOD in update.def. Of methods that have momentum or rho, it is what beta1 is for
 * others. */
enum { HKI_HAS_MOMENTUM = 1, HKI_HAS_BETAS = 2, HKI_HAS_RHO = 4, HKI_HAS_EPSILON = 8 };

/* Of an update's coefficients, an array of float64: what changes from step to step, so that captured steps read it anew. */
enum { HKI_UPDATE_LR, HKI_UPDATE_STEP, HKI_UPDATE_COEFFICIENTS };

/* Arrays of state of x's shape that the update keeps, packed into its input 2. */
int hki_update_slots(const hk_op *op);

#endif
