/* Options of the copying operators, for those who call them. */
#ifndef HOCKET_OP_COPY_H
#define HOCKET_OP_COPY_H

#include "op/op.h"

#define HKI_CAST_ARGUMENTS(F, op) F(op, DTYPE, dtype, "", "dtype of the result")
HKI_OPTIONS_STRUCT(cast, HKI_CAST_ARGUMENTS)
HKI_OPTIONS_STRUCT(assign, HKI_CAST_ARGUMENTS)

/* As hki_op_call, for an operator that has no kernel for halves: of inputs that are halves it is
 * computed in float32, and its result is of `dtype` again. */
hk_array *hki_op_call_wide(const hk_op *op, hk_array *const *inputs, int input_count,
                           const void *options, hk_dtype dtype);

/* Copies elements [begin, end) of output 0 from input 0, broadcast to it, of the same dtype. */
void hki_copy_elements(const hki_kernel_call *call, int64_t begin, int64_t end);

#endif
