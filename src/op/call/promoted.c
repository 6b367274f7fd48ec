/* Elementwise calls of several dtypes on GPUs: conversions are calls of their own there. */
#include "op/call/call.h"
#include "op/operators/copy.h"

/* The first input that has values: that of `where` before them is a condition. */
static int first_value(const hki_call *call)
{
    return call->op->id == HKI_OP_ID_where ? 1 : 0;
}

bool hki_call_mixes(const hki_call *call)
{
    if (!call->op->elementwise || !call->device || call->device->class->kernels != HKI_CUDA)
        return false;
    bool mixes = false;
    for (int i = first_value(call); i < call->input_count; i++) {
        if (!call->inputs[i])
            return false;
        mixes |= call->inputs[i]->dtype != call->inputs[call->input_count - 1]->dtype;
    }
    return mixes;
}

/* inputs: those of the call, in the innermost scope where they are converted. */
static void convert(const hki_call *call, hk_array *inputs[HKI_MAX_INPUTS])
{
    const int first = first_value(call);
    hki_cast_options to = {.dtype = call->inputs[first]->dtype};
    /* Where there is none, the call of some that were converted says so. */
    for (int i = first + 1; i < call->input_count; i++)
        hk_dtype_promote(to.dtype, call->inputs[i]->dtype, &to.dtype);
    for (int i = 0; i < call->input_count; i++) {
        hk_array *x = call->arrays[i];
        inputs[i] = i < first || x->dtype == to.dtype ? x : hki_op_call1(&hki_op_cast, x, &to);
    }
}

hk_array *hki_call_promoted(const hki_call *call)
{
    hk_array *inputs[HKI_MAX_INPUTS], *result;
    {
        HK_SCOPE;
        convert(call, inputs);
        result = hk_take(hki_op_call(call->op, inputs, call->input_count, call->options,
                                     (hk_device){NULL}, NULL));
    }
    return hki_scope_add(result);
}

void hki_call_promoted_into(const hki_call *call, hk_array *out)
{
    hk_array *inputs[HKI_MAX_INPUTS];
    HK_SCOPE;
    convert(call, inputs);
    hki_op_call_into(call->op, inputs, call->input_count, call->options, out);
}
