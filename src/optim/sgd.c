#include "autograd/tape.h"
#include "base/source.h"
#include "base/text.h"
#include "op/update/sgd_update.h"

#include <hocket/optim.h>

static const char *why_without_gradient(const hk_array *param)
{
    if (!param)
        return "is NULL";
    if (!param->failed && param->dtype != HK_F32 && param->dtype != HK_F64)
        return "is no float32 or float64, which parameters must be: hk_cast converts";
    return "has no gradient: hk_attach_grad gives it one";
}

void(hk_sgd)(hk_array *const *params, int count, const hk_sgd_options *options)
{
    HKI_TAKE_OPTIONS(hk_sgd_options, options);
    static const char operation[] = "sgd";
    if (count < 0 || (count > 0 && !params) || !options) {
        hki_array_fail_in_place(NULL, operation, params, params && count > 0 ? count : 0,
                                HK_INVALID_ARGUMENT,
                                "count is %d, params %s and options %s; none may be missing", count,
                                hki_given(params), hki_given(options));
        return;
    }
    HK_PAUSE;
    const hki_sgd_update_options update = {
        .lr = options->lr, .batch = options->batch, .weight_decay = options->weight_decay};
    for (int i = 0; i < count; i++) {
        hk_array *grad = hki_grad_get(params[i]);
        if (grad)
            hki_op_call_into(&hki_op_sgd_update, (hk_array *const[]){params[i], grad}, 2, &update,
                             params[i]);
        else
            hki_array_fail_in_place(params[i], operation, params[i] ? &params[i] : NULL,
                                    params[i] ? 1 : 0, HK_INVALID_ARGUMENT, "parameter %d %s", i,
                                    why_without_gradient(params[i]));
    }
}
