/* Calling an operator by its name in the table, or by its handle. */
#include "op/op.h"

#include <hocket/call.h>
#include <hocket/operator.h>

/* A call that is looked at before it is made. */
typedef struct named_call {
    hk_array *const *inputs; /* as the operator takes them */
    int input_count;
    hk_array *padded[HKI_MAX_INPUTS]; /* NULL for those left out */
    hki_call refusal;
} named_call;

/* False: it is refused. */
static bool check(named_call *self, const hk_op *op, hk_array *const *inputs, int input_count,
                  const void *options)
{
    int required;
    self->input_count = op->variadic ? input_count : hki_op_input_count(op, &required);
    if (op->variadic && input_count < 1)
        return hki_call_refuse(&self->refusal, HK_INVALID_ARGUMENT,
                               "%s takes 1 input at least, not %d", op->name, input_count);
    if (!op->variadic && (input_count < required || input_count > self->input_count))
        return hki_call_refuse(&self->refusal, HK_INVALID_ARGUMENT,
                               "%s takes %d inputs (%s), not %d", op->name, self->input_count,
                               op->signature, input_count);
    if (!options && op->params && op->params[0].required)
        return hki_call_refuse(&self->refusal, HK_INVALID_ARGUMENT,
                               "%s needs options: %s has no default", op->name, op->params[0].name);
    if (!inputs && input_count)
        return hki_call_refuse(&self->refusal, HK_INVALID_ARGUMENT, "argument inputs is NULL");
    for (int i = 0; i < HKI_MAX_INPUTS; i++)
        self->padded[i] = i < input_count && !op->variadic ? inputs[i] : NULL;
    self->inputs = op->variadic ? inputs : self->padded;
    return true;
}

/* name: NULL where a handle was asked for. */
static void refuse_unknown(hki_call *refusal, const char *name)
{
    if (name)
        hki_call_refuse(refusal, HK_NOT_FOUND, "no operator is called \"%s\"", name);
    else
        hki_call_refuse(refusal, HK_INVALID_ARGUMENT,
                        "argument op is NULL, which hk_operator_find gives where it finds none");
}

static hk_array *call(const hk_op *op, const char *name, hk_array *const *inputs, int input_count,
                      const void *options, hk_device device)
{
    named_call self;
    if (!op)
        refuse_unknown(&self.refusal, name);
    else if (check(&self, op, inputs, input_count, options))
        return hki_op_call(op, self.inputs, self.input_count, options, device, NULL);
    return hki_array_create_failed(device.handle, "call", inputs, inputs ? input_count : 0,
                                   self.refusal.code, "%s", self.refusal.message);
}

/* outputs: room for output_count, each of which is set. */
static void call_all(const hk_op *op, const char *name, hk_array *const *inputs, int input_count,
                     const void *options, hk_device device, hk_array **outputs, int output_count)
{
    named_call self;
    if (!outputs || output_count < 1)
        return;
    if (!op) {
        refuse_unknown(&self.refusal, name);
    } else if (output_count != hki_op_output_count(op)) {
        hki_call_refuse(&self.refusal, HK_INVALID_ARGUMENT, "%s gives %d results (%s), not %d",
                        op->name, hki_op_output_count(op), op->outputs ? op->outputs : "y",
                        output_count);
    } else if (check(&self, op, inputs, input_count, options)) {
        hki_op_call_all(op, self.inputs, self.input_count, options, device, outputs, output_count);
        return;
    }
    for (int i = 0; i < output_count; i++) /* the first one's record is that of all */
        outputs[i] = hki_array_create_failed(device.handle, "call", i ? outputs : inputs,
                                             i        ? 1
                                             : inputs ? input_count
                                                      : 0,
                                             self.refusal.code, "%s", self.refusal.message);
}

static void call_into(const hk_op *op, const char *name, hk_array *out, hk_array *const *inputs,
                      int input_count, const void *options)
{
    named_call self;
    if (!op)
        refuse_unknown(&self.refusal, name);
    if (op && check(&self, op, inputs, input_count, options))
        hki_op_call_into(op, self.inputs, self.input_count, options, out);
    else
        hki_array_fail_in_place(out, "call_into", inputs, inputs ? input_count : 0,
                                self.refusal.code, "%s", self.refusal.message);
}

hk_array *(hk_call)(const char *name, hk_array *const *inputs, int input_count, const void *options,
                    hk_device device)
{
    return call(hk_operator_find(name), name ? name : "", inputs, input_count, options, device);
}

void(hk_call_into)(const char *name, hk_array *out, hk_array *const *inputs, int input_count,
                   const void *options)
{
    call_into(hk_operator_find(name), name ? name : "", out, inputs, input_count, options);
}

void(hk_call_all)(const char *name, hk_array *const *inputs, int input_count, const void *options,
                  hk_device device, hk_array **outputs, int output_count)
{
    call_all(hk_operator_find(name), name ? name : "", inputs, input_count, options, device,
             outputs, output_count);
}

hk_array *(hk_operator_call)(const hk_operator *op, hk_array *const *inputs, int input_count,
                             const void *options, hk_device device)
{
    return call(op, NULL, inputs, input_count, options, device);
}

void(hk_operator_call_into)(const hk_operator *op, hk_array *out, hk_array *const *inputs,
                            int input_count, const void *options)
{
    call_into(op, NULL, out, inputs, input_count, options);
}

void(hk_operator_call_all)(const hk_operator *op, hk_array *const *inputs, int input_count,
                           const void *options, hk_device device, hk_array **outputs,
                           int output_count)
{
    call_all(op, NULL, inputs, input_count, options, device, outputs, output_count);
}
