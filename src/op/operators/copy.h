/* Options of the copying operators, for those who call them. */
#ifndef HOCKET_OP_COPY_H
#define HOCKET_OP_COPY_H

#include "op/op.h"

#define HKI_CAST_ARGUMENTS(F, op) F(op, DTYPE, dtype, "", "dtype of the result")
HKI_OPTIONS_STRUCT(cast, HKI_CAST_ARGUMENTS)
HKI_OPTIONS_STRUCT(assign, HKI_CAST_ARGUMENTS)

/* Copies elements [begin, end) of output 0 from input 0, broadcast to it, of the same dtype. */
void hki_copy_elements(const hki_kernel_call *call, int64_t begin, int64_t end);

#endif
