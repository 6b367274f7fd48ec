/* Clipping of gradients, and adding them up, by calls like a program's own. */
#include "autograd/tape.h"
#include "base/text.h"
#include "op/op.h"
#include "op/shape/copy.h"

#include <hocket/hocket.h>
#include <math.h>

/* A failed array of this scope, or NULL where each parameter has a gradient, and all have one dtype. */
static hk_array *refuse_params(const char *operation, hk_array *const *params, int count)
{
    if (count < 1 || !params)
        return hki_array_create_failed(
            NULL, operation, NULL, 0, HK_INVALID_ARGUMENT,
            "count is %d and params %s; one parameter is needed at least", count,
            hki_given(params));
    for (int i = 0; i < count; i++) {
        const hk_array *grad = hki_grad_get(params[i]), *first = hki_grad_get(params[0]);
        if (!grad)
            return hki_array_create_failed(
                NULL, operation, NULL, 0, HK_INVALID_ARGUMENT, "parameter %d %s", i,
                params[i] ? "has no gradient: hk_attach_grad gives it one" : "is NULL");
        if (!grad->failed && !first->failed && grad->dtype != first->dtype)
            return hki_array_create_failed(
                NULL, operation, NULL, 0, HK_INVALID_ARGUMENT,
                "the gradient of parameter %d is %s, that of parameter 0 %s; all must be the same",
                i, hk_dtype_name(grad->dtype), hk_dtype_name(first->dtype));
    }
    return NULL;
}

/* The length of all gradients as one vector, on the first one's device: by norms, whose squares leave no range. */
static hk_array *norm_of(hk_array *const *params, int count)
{
    const hk_device device = hk_array_device(hki_grad_get(params[0]));
    hk_array *length = NULL;
    for (int i = 0; i < count; i++) {
        hk_array *grad = hki_grad_get(params[i]);
        hk_array *own = hki_op_call_wide(&hki_op_norm, &grad, 1, NULL, grad->dtype);
        hk_array *here = (hk_to_device)(own, device);
        length = length ? (hk_hypot)(length, here) : here;
    }
    return length;
}

hk_array *(hk_clip_grad_norm)(hk_array *const *params, int count, double norm)
{
    static const char operation[] = "clip_grad_norm";
    HK_PAUSE;
    hk_array *refused = refuse_params(operation, params, count);
    if (refused)
        return refused;
    if (!(norm > 0) || !isfinite(norm))
        return hki_array_create_failed(NULL, operation, NULL, 0, HK_INVALID_ARGUMENT,
                                       "norm is %g, but must be finite and above 0", norm);
    hk_array *total;
    {
        HK_SCOPE;
        total = hk_take(norm_of(params, count));
        /* At most 1, which leaves gradients as they are; a norm of 0 gives infinity first. */
        hk_array *limit = hki_op_call_number(&hki_op_multiply_scalar,
                                             hki_op_call1(&hki_op_ones_like, total, NULL), norm);
        hk_array *factor = hki_op_call_number(&hki_op_minimum_scalar, (hk_divide)(limit, total), 1);
        for (int i = 0; i < count; i++) {
            hk_array *grad = hki_grad_get(params[i]);
            (hk_multiply_into)(grad, grad, (hk_to_device)(factor, hk_array_device(grad)));
        }
    }
    return hki_scope_add(total);
}

void(hk_clip_grad_value)(hk_array *const *params, int count, double limit)
{
    static const char operation[] = "clip_grad_value";
    HK_PAUSE;
    HK_SCOPE;
    if (refuse_params(operation, params, count))
        return;
    if (!(limit >= 0)) {
        hki_array_fail_in_place(NULL, operation, NULL, 0, HK_INVALID_ARGUMENT,
                                "limit is %g, but must be 0 or above", limit);
        return;
    }
    for (int i = 0; i < count; i++) {
        hk_array *grad = hki_grad_get(params[i]);
        hki_op_call_number_into(&hki_op_maximum_scalar, grad, -limit, grad);
        hki_op_call_number_into(&hki_op_minimum_scalar, grad, limit, grad);
    }
}

void(hk_accumulate_grads)(hk_array *const *params, int count)
{
    for (int i = 0; params && i < count; i++)
        (hk_attach_grad)(params[i], HK_GRAD_ADD);
}
