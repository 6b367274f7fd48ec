/* Shared by call.c and call_task.c: issuing what a call has been checked to be. */
#ifndef HOCKET_OP_CALL_H
#define HOCKET_OP_CALL_H

#include "op/op.h"

/* How the task reads and writes, where the kernel cannot take the arrays as they are. It is one task all
 * the same: a call reads and writes all that it does at one place in the order of calls. */
typedef struct hki_call_staging {
    unsigned copy_inputs; /* bit i: the kernel gets a contiguous copy of input i */
    bool copy_output;     /* the kernel writes a contiguous array, which is copied to output 0 */
} hki_call_staging;

/* What the task of a call is made of but for its operands: by hki_call_issue, or when a noted call is done again. */
typedef struct hki_call_parts {
    const hk_op *op;
    const char *operation;
    hki_device *device;
    const void *options; /* copied; never NULL when op->options_bytes > 0 */
    const hki_plan *plan;
    int64_t piece_count;
    hki_call_staging staging;
    int input_count, output_count;
} hki_call_parts;

/* Begins the task; all inputs are left out so far, and no output is set. new_bytes: of outputs that have just been
 * made. May block like hki_task_begin. NULL when host memory is short. */
hki_task *hki_call_task_begin(const hki_call_parts *parts, uint64_t new_bytes);
/* Where the tensor of operand `index` (inputs, then outputs) belongs: to be filled as by hki_tensor_init, */
hki_tensor *hki_call_task_tensor(hki_task *task, int index);
/* and then told to the engine, with its span: takes a use of its storage. mode: as for tasks. hki_task_submit comes
 * after the last one. */
void hki_call_task_access(hki_task *task, const hki_tensor *tensor, const hki_span *span,
                          unsigned mode);

/* Issues the task of a call whose infer has succeeded, and whose arrays are all alive. is_new: the call has just made
 * the outputs. False when host memory is short: nothing was issued. */
bool hki_call_issue(const hki_call *call, hk_array *const *outputs, bool is_new,
                    hki_call_staging staging);

/* As hki_op_call_into with the one input x, without asking the tape; `operation` is its name in
 * records and traces. */
void hki_call_into_unasked(const hk_op *op, const char *operation, hk_array *x, const void *options,
                           hk_array *out);
/* The first input that has values: before them is the condition of `where`. */
static inline int hki_call_first_value(const hki_call *call)
{
    return call->op->id == HKI_OP_ID_where ? 1 : 0;
}

/* GPUs' kernels of rows take one dtype. Whether the values of a call there have several. */
static inline bool hki_call_mixes(const hki_call *call)
{
    if (!call->op->elementwise || !call->device ||
        !hki_device_class_has_own_kernels(call->device->class))
        return false;
    bool mixes = false;
    for (int i = hki_call_first_value(call); i < call->input_count; i++) {
        if (!call->inputs[i])
            return false;
        mixes |= call->inputs[i]->dtype != call->inputs[call->input_count - 1]->dtype;
    }
    return mixes;
}

/* Whether calls of this kind may run without a task where they are small. */
bool hki_call_may_be_direct(const hki_call *call);
/* Runs a call that makes an output of so few bytes that it needs no task, in this thread, at its place in the order of calls.
 * False: it is not that small, or not now; it is to be issued as usual. */
bool hki_call_run_direct(const hki_call *call, uint64_t bytes, hk_array *output);
/* The kernel of such a call: operator, options, extent and tensors are set, and the memory of all of them is there;
 * data and the rest are set here. Expects hki_direct_begin. */
void hki_kernel_run_here(hki_kernel_call *call);

#endif
