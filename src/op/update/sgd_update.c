/* One step of stochastic gradient descent, all in one pass over parameter and gradient. */
#include "op/update/sgd_update.h"

#include "op/elementwise/elementwise.h"
#include "op/elementwise/share.h"

#include <math.h>

HKI_OPTIONS_TABLE(sgd_update, SGD_UPDATE_OPTIONS)

static bool is_valid(double value)
{
    return isfinite(value) && value >= 0;
}

static bool infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0], *grad = call->inputs[1];
    const hki_sgd_update_options *options = call->options;
    if (grad->dtype != x->dtype || !hki_dims_equal(&grad->shape, &x->shape)) {
        char has[224], wants[224];
        hki_shape_view_describe(grad, has, sizeof has);
        hki_shape_view_describe(x, wants, sizeof wants);
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "the gradient is %s, but must be %s like the parameter", has, wants);
    }
    if (!is_valid(options->lr) || !is_valid(options->batch) || !is_valid(options->weight_decay))
        return hki_call_refuse(
            call, HK_INVALID_ARGUMENT,
            "lr is %g, batch %g and weight_decay %g; each must be finite and not "
            "below 0",
            options->lr, options->batch, options->weight_decay);
    call->out_shape[0] = x->shape;
    call->out_dtype[0] = x->dtype;
    return true;
}

static void plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 0.4);
}

typedef struct coefficients {
    double step, decay;
} coefficients;

/* x - (step * grad + decay * x), usually in place. */
#define UPDATE(name, type)                                                                         \
    static int64_t name(const hki_run *run)                                                        \
    {                                                                                              \
        const coefficients *given = run->given;                                                    \
        const type step = (type)given->step, decay = (type)given->decay;                           \
        const int64_t dense = (int64_t)sizeof(type);                                               \
        if (run->out == run->in[0] && run->out != run->in[1] && run->out_step == dense &&          \
            run->in_step[1] == dense) {                                                            \
            type *restrict x = (type *)(void *)run->out;                                           \
            const type *restrict grad = (const type *)(const void *)run->in[1];                    \
            for (int64_t i = 0; i < run->n; i++)                                                   \
                x[i] -= HKI_SHARE(step, grad[i]) + HKI_SHARE(decay, x[i]);                         \
            return -1;                                                                             \
        }                                                                                          \
        const char *x = run->in[0], *grad = run->in[1];                                            \
        char *out = run->out;                                                                      \
        for (int64_t i = 0; i < run->n; i++) {                                                     \
            type old = *(const type *)(const void *)x;                                             \
            *(type *)(void *)out = old - (HKI_SHARE(step, *(const type *)(const void *)grad) +     \
                                          HKI_SHARE(decay, old));                                  \
            x += run->in_step[0];                                                                  \
            grad += run->in_step[1];                                                               \
            out += run->out_step;                                                                  \
        }                                                                                          \
        return -1;                                                                                 \
    }

UPDATE(update_f32, float)
UPDATE(update_f64, double)

static void kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    const hki_sgd_update_options *options = call->options;
    coefficients given = {options->lr / (options->batch > 0 ? options->batch : 1),
                          options->lr * options->weight_decay};
    hki_walk(call, begin, end, &given, call->out[0].dtype == HK_F32 ? update_f32 : update_f64);
}

static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_sgd_update_options *options = call->options;
    double batch = options->batch > 0 ? options->batch : 1;
    int64_t size = call->inputs[0]->size;
    for (int64_t i = 0; i < size; i++)
        out[0][i] = in[0][i] - options->lr * (in[1][i] / batch + options->weight_decay * in[0][i]);
}

static const hki_sample samples[] = {
    {.inputs = {HKI_SHAPE(2, 3), HKI_SHAPE(2, 3)},
     .options = &(const hki_sgd_update_options){.lr = 0.5}},
    {.inputs = {HKI_SHAPE_0D, HKI_SHAPE_0D},
     .options = &(const hki_sgd_update_options){.lr = 0.1, .batch = 8}},
    {.inputs = {HKI_SHAPE(0, 3), HKI_SHAPE(0, 3)}},
    {.inputs = {HKI_SHAPE(70, 1001), HKI_SHAPE(70, 1001)},
     .options = &(const hki_sgd_update_options){.lr = 0.2, .batch = 256, .weight_decay = 0.01}},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(4, 5, 6), HKI_SHAPE(4, 5, 6)},
     .options = &(const hki_sgd_update_options){.lr = 0.3, .weight_decay = 0.1}},
    {.kind = HKI_SAMPLE_ALIASED,
     .inputs = {HKI_SHAPE(7, 9), HKI_SHAPE(7, 9)},
     .options = &(const hki_sgd_update_options){.lr = 0.3}},
};

const hk_op hki_op_sgd_update = {
    HKI_OP_NAMED(sgd_update),
    HKI_OP_PARAMS(sgd_update),
    HKI_OP_SAMPLES(samples),
    .signature = "x, grad",
    .doc = "One step of stochastic gradient descent: x - lr * (grad / batch + weight_decay * x).",
    .formula = "x - lr * (grad / batch + weight_decay * x)",
    .dtypes = HKI_FLOATS,
    .elementwise = true,
    .internal = true,
    .updates = true,
    .infer = infer,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = plan,
    .kernel = {[HKI_CPU] = kernel},
    .no_grad_why = "it is what gradients are for",
    .reference = reference,
    .tolerance_f32 = 1e-6,
};
