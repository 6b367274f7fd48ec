/* Arrays one behind the other, for operators that are made of it. */
#ifndef HOCKET_OP_JOIN_H
#define HOCKET_OP_JOIN_H

#include "op/op.h"

/* As hk_concat; on the tape. In the current scope, with what is made on the way. */
hk_array *hki_concat(hk_array *const *inputs, int count, int64_t axis);

#endif
