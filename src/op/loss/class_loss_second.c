/* The gradient of class_loss's gradient. Of a row, with p = softmax(x), its target t, and s, what the elements of t add up to,
 * that gradient is dy (s p - t), or -dy t where x holds logarithms. By dy it is its own factor, and by x the gradient of p. */
#include "op/loss/class_loss.h"
#include "op/op.h"
#include "op/reduce/reduce.h"
#include "op/softmax_norm/softmax.h"

enum {
    X = HKI_CLASS_LOSS_X,
    LABELS = HKI_CLASS_LOSS_LABELS,
    WEIGHT = HKI_CLASS_LOSS_WEIGHT,
    DY = HKI_CLASS_LOSS_DY
};

static hk_array *multiply(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_multiply, x, y, NULL);
}

static hk_array *sum_of_rows(hk_array *x, bool keepdims)
{
    const hki_sum_options rows = {.axes = HKI_SHAPE(1), .keepdims = keepdims};
    return hki_op_call1(&hki_op_sum, x, &rows);
}

static hk_array *as_column(hk_array *x)
{
    return hki_op_call1(&hki_op_expand_dims, x, &(const int64_t){1});
}

/* s of each row: the loss of logarithms that are all -1. */
static hk_array *weights_of_rows(const hki_grad_call *call)
{
    hki_class_loss_options as = *(const hki_class_loss_options *)call->options;
    hk_array *ones = hki_op_call1(&hki_op_ones_like, call->inputs[X], NULL);
    hk_array *const inputs[] = {hki_op_call1(&hki_op_negative, ones, NULL), call->inputs[LABELS],
                                call->inputs[WEIGHT]};
    as.are_logs = true;
    return hki_op_call(&hki_op_class_loss, inputs, 3, &as, (hk_device){NULL}, NULL);
}

/* x, but 0 in rows that count nothing, whatever stands there. */
static hk_array *where_counts(const hki_grad_call *call, hk_array *weights, hk_array *x)
{
    hk_array *counts = hki_op_call2(&hki_op_logical_and, weights, call->inputs[DY], NULL);
    return hki_op_call3(&hki_op_where, as_column(counts), x,
                        hki_op_call1(&hki_op_zeros_like, x, NULL), NULL);
}

static hk_array *by_x(const hki_grad_call *call)
{
    const hki_softmax_options along = {.axis = 1};
    hk_array *weights = weights_of_rows(call);
    hk_array *p = hki_op_call1(&hki_op_softmax, call->inputs[X], &along);
    hk_array *dp = multiply(call->dy, as_column(multiply(call->inputs[DY], weights)));
    hk_array *mean = sum_of_rows(multiply(p, dp), true);
    return where_counts(call, weights, multiply(p, hki_op_call2(&hki_op_subtract, dp, mean, NULL)));
}

static hk_array *by_dy(const hki_grad_call *call)
{
    hk_array *const inputs[] = {call->inputs[X], call->inputs[LABELS], call->inputs[WEIGHT],
                                hki_op_call1(&hki_op_ones_like, call->inputs[DY], NULL)};
    hk_array *factor = hki_op_call(call->op, inputs, 4, call->options, (hk_device){NULL}, NULL);
    return sum_of_rows(multiply(call->dy, factor), false);
}

void hki_class_loss_second(hki_grad_call *call)
{
    const bool are_logs = ((const hki_class_loss_options *)call->options)->are_logs;
    if (call->wanted[X] && !are_logs)
        call->dx[X] = by_x(call);
    if (call->wanted[DY])
        call->dx[DY] = by_dy(call);
}
