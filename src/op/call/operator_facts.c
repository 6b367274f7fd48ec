/* What programs are told of operators. */
#include "op/op.h"

#include "base/fill_struct.h"

#include <hocket/operator.h>

_Static_assert((int)HK_PARAM_BOOL == HKI_PARAM_BOOL && (int)HK_PARAM_INT == HKI_PARAM_INT &&
                   (int)HK_PARAM_INT2 == HKI_PARAM_INT2 && (int)HK_PARAM_F64 == HKI_PARAM_F64 &&
                   (int)HK_PARAM_DTYPE == HKI_PARAM_DTYPE && (int)HK_PARAM_DIMS == HKI_PARAM_DIMS &&
                   (int)HK_PARAM_U64 == HKI_PARAM_U64 && (int)HK_PARAM_INT3 == HKI_PARAM_INT3,
               "the same types under both names");

const hk_operator *hk_operator_find(const char *name)
{
    const hk_op *op = name ? hki_op_find(name) : NULL;
    return op && !op->internal ? op : NULL;
}

int hk_operator_count(void)
{
    int count = 0;
    for (int i = 0; i < hki_op_count; i++)
        count += !hki_ops[i]->internal;
    return count;
}

const hk_operator *hk_operator_at(int index)
{
    for (int i = 0; i < hki_op_count; i++)
        if (!hki_ops[i]->internal && index-- == 0)
            return hki_ops[i];
    return NULL;
}

static int param_count(const hk_op *op)
{
    int count = 0;
    while (op->params && op->params[count].name)
        count++;
    return count;
}

void hk_operator_read_facts(const hk_operator *op, hk_operator_facts *facts)
{
    hk_operator_facts own = {0};
    if (op) {
        own = (hk_operator_facts){.name = op->name,
                                  .doc = op->doc,
                                  .signature = op->signature,
                                  .param_count = param_count(op),
                                  .options_bytes = op->options_bytes,
                                  .dtypes = hki_op_dtypes(op),
                                  .is_elementwise = op->elementwise,
                                  .has_gradient = hki_op_has_gradient(op),
                                  .is_variadic = op->variadic != NULL,
                                  .output_count = hki_op_output_count(op),
                                  .outputs = op->outputs ? op->outputs : "y"};
        own.input_count = hki_op_input_count(op, &own.required_input_count);
        own.takes_device = own.input_count == 0 || op->any_device;
    }
    hki_fill_struct(facts, &own, sizeof own);
}

void hk_operator_read_param(const hk_operator *op, int index, hk_operator_param *param)
{
    hk_operator_param own = {0};
    if (op && index >= 0 && index < param_count(op)) {
        const hki_param *from = &op->params[index];
        own = (hk_operator_param){.name = from->name,
                                  .doc = from->doc,
                                  .default_text = from->default_text ? from->default_text : "",
                                  .offset = from->offset,
                                  .type = (hk_param_type)from->type,
                                  .is_required = from->required};
    }
    hki_fill_struct(param, &own, sizeof own);
}
