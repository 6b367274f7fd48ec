/* What recurrence.c and its plain reference share: which input and output is what. */
#ifndef HOCKET_OP_RECURRENCE_REFERENCE_H
#define HOCKET_OP_RECURRENCE_REFERENCE_H

#include "op/recurrent/recurrence.h"

/* Inputs and outputs of recurrence; those of its gradient, which has dc and dkept behind BACK_H, as the outputs go. DOTHER: of the
 * sums of h of a GRU, and of c of an LSTM. */
enum { X, X_WEIGHT, X_BIAS, WEIGHT, BIAS, H0, C0, INPUTS };
enum { H, C, KEPT, OUTPUTS };
enum {
    BACK_KEPT,
    BACK_WEIGHT,
    BACK_PAST,
    BACK_FIRST,
    BACK_H,
    BACK_X_WEIGHT = BACK_H + OUTPUTS,
    BACK_INPUTS
};
enum { DSUMS, DOTHER, DH0, DX, BACK_OUTPUTS };

static inline hki_recurrence_kind hki_recurrence_kind_of(const void *options)
{
    return (hki_recurrence_kind)((const hki_recurrence_options *)options)->kind;
}

void hki_recurrence_reference(const hki_call *call, const double *const *in, double *const *out);
void hki_recurrence_back_reference(const hki_call *call, const double *const *in,
                                   double *const *out);

#endif
