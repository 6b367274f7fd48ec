/* The subscripts of einsum, taken apart. */
#ifndef HOCKET_OP_EINSUM_TERMS_H
#define HOCKET_OP_EINSUM_TERMS_H

#include "op/op.h"

/* An axis has a label: 0 to 51 for letters, in the order of their codes; from 52 on for those of an ellipsis, of which the last
 * is always the same one. */
enum { HKI_EINSUM_LETTERS = 52, HKI_EINSUM_LABELS = HKI_EINSUM_LETTERS + HK_MAX_NDIM };

/* What one part of the text names. */
typedef struct hki_einsum_term {
    int count;       /* of letters */
    int ellipsis_at; /* how many of them stand before it; -1: none */
    int8_t letters[HK_MAX_NDIM];
} hki_einsum_term;

/* An operand, or the result: a label for each axis. */
typedef struct hki_einsum_labels {
    int count;
    int8_t labels[HK_MAX_NDIM];
} hki_einsum_labels;

/* The labels of each operand, and of the result, by NumPy's rules. call: of so many inputs that have not failed; for messages.
 * False after hki_call_refuse. */
bool hki_einsum_parse(hki_call *call, const char *subscripts, hk_array *const *inputs, int count,
                      hki_einsum_labels *operands, hki_einsum_labels *result);

#endif
