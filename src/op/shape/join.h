/* Arrays one behind the other, for operators that are made of it. */
#ifndef HOCKET_OP_JOIN_H
#define HOCKET_OP_JOIN_H

#include "op/op.h"

/* As hk_concat; on the tape. In the current scope, with what is made on the way. */
hk_array *hki_concat(hk_array *const *inputs, int count, int64_t axis);

/* The failed result of a function of any number of inputs (NULL ones are skipped), by the code and message of `why`, or by what
 * failed before. It is on the tape, so that gradients of it fail. `operation` is static text. */
hk_array *hki_refuse_many(const char *operation, hk_array *const *inputs, int count,
                          const hki_call *why);

#endif
