/* Operators of sequences (n, channels, length), which those of images do: a sequence is an image of one row. */
#ifndef HOCKET_OP_ONE_ROW_H
#define HOCKET_OP_ONE_ROW_H

#include "op/op.h"

typedef struct hki_one_row {
    const hk_op *op;     /* of images */
    const void *options; /* its own */
    unsigned sequences;  /* bit i: input i gets an axis of one row; the others are passed on */
} hki_one_row;

/* For hk_op.infer, .compose and .reference of such an operator. */
bool hki_one_row_infer(hki_call *call, const hki_one_row *as);
hk_array *hki_one_row_compose(const hki_call *call, const hki_one_row *as);
void hki_one_row_reference(const hki_call *call, const hki_one_row *as, const double *const *in,
                           double *const *out);

#endif
