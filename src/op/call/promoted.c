/* Elementwise calls of several dtypes on GPUs: conversions are calls of their own there. */
#include "op/call/call.h"
#include "op/shape/copy.h"

/* inputs: those of the call, in the innermost scope where they are converted. */
static void convert(const hki_call *call, hk_array *inputs[HKI_MAX_INPUTS])
{
    const int first = hki_call_first_value(call);
    hki_cast_options to = {.dtype = call->inputs[first]->dtype};
    /* Where there is none, the call of some that were converted says so. */
    for (int i = first + 1; i < call->input_count; i++)
        hk_dtype_promote(to.dtype, call->inputs[i]->dtype, &to.dtype);
    for (int i = 0; i < call->input_count; i++) {
        hk_array *x = call->arrays[i];
        inputs[i] = i < first || x->dtype == to.dtype ? x : hki_op_call1(&hki_op_cast, x, &to);
    }
}

hk_array *hki_promoted_call(const hki_call *call, hk_array *out)
{
    hk_array *inputs[HKI_MAX_INPUTS], *result = NULL;
    {
        HK_SCOPE;
        convert(call, inputs);
        if (out)
            hki_op_call_into(call->op, inputs, call->input_count, call->options, out);
        else
            result = hk_take(hki_op_call(call->op, inputs, call->input_count, call->options,
                                         (hk_device){NULL}, NULL));
    }
    return out ? out : hki_scope_add(result);
}
