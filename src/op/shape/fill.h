/* Options of the operators that make arrays from numbers, for those who call them. */
#ifndef HOCKET_OP_FILL_H
#define HOCKET_OP_FILL_H

#include "op/kernel.h"

#define HKI_FULL_ARGUMENTS(F, op)                                                                  \
    F(op, DIMS, shape, "", "shape of the result")                                                  \
    F(op, F64, value, "", "what every element is; of integers beyond 2^53 hk_scalar is exact")     \
    F(op, DTYPE, dtype, "", "dtype of the result")
HKI_OPTIONS_STRUCT(full, HKI_FULL_ARGUMENTS)

#define HKI_ZEROS_ARGUMENTS(F, op)                                                                 \
    F(op, DIMS, shape, "", "shape of the result")                                                  \
    F(op, DTYPE, dtype, "", "dtype of the result")
HKI_OPTIONS_STRUCT(zeros, HKI_ZEROS_ARGUMENTS)
HKI_OPTIONS_STRUCT(ones, HKI_ZEROS_ARGUMENTS)

#define HKI_ARANGE_ARGUMENTS(F, op)                                                                \
    F(op, F64, start, "", "the first element")                                                     \
    F(op, F64, stop, "", "where to stop, not included")                                            \
    F(op, F64, step, "", "from one element to the next, not 0")                                    \
    F(op, DTYPE, dtype, "", "dtype of the result")
HKI_OPTIONS_STRUCT(arange, HKI_ARANGE_ARGUMENTS)

/* Writes elements [begin, end) of output 0, in C order. */
void hki_fill(const hki_kernel_call *call, double value, int64_t begin, int64_t end);

/* Within a compose: the matrices in the last two axes of x, with `other` above the diagonal. */
hk_array *hki_lower_triangle(const hki_call *call, hk_array *x, double other);

#endif
