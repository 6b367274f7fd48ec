/* Shared by call.c and call_task.c: issuing what a call has been checked to be. */
#ifndef HOCKET_OP_CALL_H
#define HOCKET_OP_CALL_H

#include "op/op.h"

/* Issues the task of a call whose infer has succeeded, reading `inputs` (call->inputs, or copies of
 * them) and writing `outputs`, all of them alive. new_bytes: of outputs that the call has just made.
 * False when host memory is short: nothing was issued. */
bool hki_call_issue(const hki_call *call, hk_array *const *inputs, hk_array *const *outputs,
                    uint64_t new_bytes);

#endif
