/* Calling an operator by its name in the table. */
#include "op/op.h"

#include <hocket/call.h>

/* The operator, and its inputs with NULL for those left out; NULL: refused in *call. */
static const hk_op *find(const char *name, hk_array *const *inputs, int input_count,
                         const void *options, hk_array *padded[HKI_MAX_INPUTS], hki_call *call)
{
    const hk_op *op = name ? hki_op_find(name) : NULL;
    call->code = HK_OK;
    if (!op || op->internal) {
        hki_call_refuse(call, HK_NOT_FOUND, "no operator is called \"%s\"", name ? name : "");
        return NULL;
    }
    int required, count = hki_op_input_count(op, &required);
    if (op->variadic && input_count < 1)
        hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s takes 1 input at least, not %d", op->name,
                        input_count);
    else if (!op->variadic && (input_count < required || input_count > count))
        hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s takes %d inputs (%s), not %d", op->name,
                        count, op->signature, input_count);
    else if (!options && op->params && op->params[0].required)
        hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s needs options: %s has no default", op->name,
                        op->params[0].name);
    for (int i = 0; i < HKI_MAX_INPUTS; i++)
        padded[i] = i < input_count && !op->variadic ? inputs[i] : NULL;
    return call->code == HK_OK ? op : NULL;
}

hk_array *(hk_call)(const char *name, hk_array *const *inputs, int input_count, const void *options,
                    hk_device device)
{
    hki_call call;
    hk_array *padded[HKI_MAX_INPUTS];
    const hk_op *op = find(name, inputs, input_count, options, padded, &call);
    if (!op)
        return hki_array_create_failed(device.handle, "call", inputs, input_count, call.code, "%s",
                                       call.message);
    return op->variadic
               ? hki_op_call(op, inputs, input_count, options, device, NULL)
               : hki_op_call(op, padded, hki_op_input_count(op, NULL), options, device, NULL);
}

void(hk_call_into)(const char *name, hk_array *out, hk_array *const *inputs, int input_count,
                   const void *options)
{
    hki_call call;
    hk_array *padded[HKI_MAX_INPUTS];
    const hk_op *op = find(name, inputs, input_count, options, padded, &call);
    if (op && op->variadic)
        hki_op_call_into(op, inputs, input_count, options, out);
    else if (op)
        hki_op_call_into(op, padded, hki_op_input_count(op, NULL), options, out);
    else
        hki_array_fail_in_place(out, "call_into", inputs, input_count, call.code, "%s",
                                call.message);
}

HKI_AT(hk_array *, hk_call,
       (hk_source at, const char *name, hk_array *const *inputs, int input_count,
        const void *options, hk_device device),
       (name, inputs, input_count, options, device))
HKI_AT_VOID(hk_call_into,
            (hk_source at, const char *name, hk_array *out, hk_array *const *inputs,
             int input_count, const void *options),
            (name, out, inputs, input_count, options))
