/* Batch normalisation: each channel shifted and scaled to mean 0 and variance 1 over the batch, then by gamma
 * and beta. The loops are in batch_norm_kernel.h. */
#include "op/softmax_norm/batch_norm.h"
#include "base/option.h"
#include "base/source.h"
#include "op/op.h"
#include "op/softmax_norm/moving_average.h"

#include <hocket/call.h>
#include <math.h>

HKI_OPTIONS_TABLE(batch_norm, BATCH_NORM_OPTIONS)
HKI_ARGUMENTS_TABLE(batch_norm_backward, BATCH_NORM_BACKWARD_ARGUMENTS)

enum { X, GAMMA, BETA, MEAN, VARIANCE };          /* inputs */
enum { READ = 1 << X | 1 << GAMMA };              /* by each gradient */
enum { BACK_X, BACK_DY, BACK_GAMMA, BACK_SAVED }; /* inputs of the gradient */
enum { STATISTICS = 4 };                          /* rows of what is saved */

/* ---- shapes -------------------------------------------------------------------------------------------- */

/* One value for each channel of x. */
static bool check_channels(hki_call *call, const char *name, const hki_shape_view *values)
{
    const hki_shape_view *x = call->inputs[X];
    char text[256], x_text[256];
    if (values->dtype != x->dtype)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s is %s, x is %s; hk_cast converts",
                               name, hk_dtype_name(values->dtype), hk_dtype_name(x->dtype));
    if (values->shape.ndim == 1 && values->shape.dims[0] == x->shape.dims[1])
        return true;
    hki_dims_describe(&values->shape, text, sizeof text);
    hki_dims_describe(&x->shape, x_text, sizeof x_text);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "%s is %s, but must be (%lld,): one for each channel of x %s", name,
                           text, (long long)x->shape.dims[1], x_text);
}

static bool forward_infer(hki_call *call)
{
    static const char *const names[] = {"x", "gamma", "beta", "mean", "variance"};
    const hki_shape_view *x = call->inputs[X], *mean = call->inputs[MEAN];
    const double eps = ((const hki_batch_norm_options *)call->options)->eps;
    char text[256];
    hki_dims_describe(&x->shape, text, sizeof text);
    if (x->shape.ndim < 2)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x is %s, but needs 2 axes or more: samples, channels, …", text);
    if (!mean != !call->inputs[VARIANCE])
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "%s is left out, %s is not: give both, or neither for the batch's",
                               mean ? "variance" : "mean", mean ? "mean" : "variance");
    for (int i = GAMMA; i <= (mean ? VARIANCE : BETA); i++)
        if (!check_channels(call, names[i], call->inputs[i]))
            return false;
    if (!isfinite(eps) || eps < 0)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "eps is %g, but must be finite and not below 0", eps);
    hki_batch_norm_shape shape = hki_batch_norm_shape_of(x->shape.ndim, x->shape.dims);
    if (!mean && shape.channels > 0 && shape.samples * shape.inner < 2)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x %s has %lld elements for each channel, but the statistics of a "
                               "batch need 2; give mean and variance",
                               text, (long long)(shape.samples * shape.inner));
    call->out_shape[0] = x->shape;
    call->out_shape[1] = (hk_dims){.ndim = 2, .dims = {STATISTICS, shape.channels}};
    call->out_dtype[0] = call->out_dtype[1] = x->dtype;
    return true;
}

/* An internal operator: what batch_norm has accepted needs no text for people. */
static bool backward_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[BACK_X], *dy = call->inputs[BACK_DY];
    call->out_shape[0] = x->shape;
    call->out_shape[1] = (hk_dims){.ndim = 2, .dims = {2, x->shape.dims[1]}};
    call->out_dtype[0] = call->out_dtype[1] = x->dtype;
    return (hki_dims_equal(&x->shape, &dy->shape) && x->dtype == dy->dtype &&
            call->inputs[BACK_SAVED]->shape.dims[0] == STATISTICS) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT, "dy does not belong to x");
}

/* ---- pieces and kernels ---------------------------------------------------------------------------------- */

static void plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *x = call->inputs[X];
    hki_batch_norm_shape shape = hki_batch_norm_shape_of(x->shape.ndim, x->shape.dims);
    const double elements = (double)(shape.samples * shape.inner) * (double)shape.channels;
    plan->extent = shape.channels;
    plan->grain = hki_batch_norm_block_channels(&shape);
    plan->work_ns = 100 + elements * (x->dtype == HK_F32 ? 0.6 : 1.2);
    plan->flops = 8 * elements;
}

#define KERNELS(DT, T)                                                                             \
    static void forward_##DT(const hki_kernel_call *call, const hki_batch_norm_shape *shape,       \
                             int64_t begin, int64_t end)                                           \
    {                                                                                              \
        const hki_tensor *in = call->in;                                                           \
        hki_batch_norm_forward_##DT(                                                               \
            shape, hki_batch_norm_eps(call->options), in[X].data, in[GAMMA].data, in[BETA].data,   \
            in[MEAN].data, in[VARIANCE].data, call->out[0].data, call->out[1].data, begin, end);   \
    }                                                                                              \
    static void backward_##DT(const hki_kernel_call *call, const hki_batch_norm_shape *shape,      \
                              int64_t begin, int64_t end)                                          \
    {                                                                                              \
        const hki_batch_norm_backward_options *options = call->options;                            \
        const hki_tensor *in = call->in;                                                           \
        hki_batch_norm_backward_##DT(shape, options->given, in[BACK_X].data, in[BACK_DY].data,     \
                                     in[BACK_GAMMA].data, in[BACK_SAVED].data, call->out[0].data,  \
                                     call->out[1].data, begin, end);                               \
    }

KERNELS(f32, float)
KERNELS(f64, double)

static void forward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    hki_batch_norm_shape shape = hki_batch_norm_shape_of(call->in[X].ndim, call->in[X].dims);
    (void)piece;
    (call->in[X].dtype == HK_F32 ? forward_f32 : forward_f64)(call, &shape, begin, end);
}

static void backward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    hki_batch_norm_shape shape = hki_batch_norm_shape_of(call->in[X].ndim, call->in[X].dims);
    (void)piece;
    (call->in[X].dtype == HK_F32 ? backward_f32 : backward_f64)(call, &shape, begin, end);
}

/* ---- gradient ------------------------------------------------------------------------------------------ */

static void forward_grad(hki_grad_call *call)
{
    hk_array *const inputs[] = {call->inputs[X], call->dy, call->inputs[GAMMA], call->saved};
    const hki_batch_norm_backward_options options = {.given = call->input_shape[MEAN].ndim >= 0,
                                                     .eps = hki_batch_norm_eps(call->options)};
    hk_array *sums = NULL;
    hk_array *dx =
        hki_op_call(&hki_op_batch_norm_backward, inputs, 4, &options, (hk_device){NULL}, &sums);
    if (call->wanted[X])
        call->dx[X] = dx;
    for (int i = GAMMA; i <= BETA; i++)
        if (call->wanted[i]) /* without sums both have failed */
            call->dx[i] = sums ? (hk_index)(sums, 0, i - GAMMA) : dx;
}

/* ---- training -------------------------------------------------------------------------------------------- */

hk_array *(hk_batch_norm_train)(hk_array *x, hk_array *gamma, hk_array *beta, hk_array *mean,
                                hk_array *variance, const hk_batch_norm_train_options *options)
{
    HKI_TAKE_OPTIONS(hk_batch_norm_train_options, options);
    static const char operation[] = "batch_norm_train";
    const double momentum = hki_option_or(options ? options->momentum : 0, 0.1);
    const hki_batch_norm_options forward = {.eps = options ? options->eps : 0};
    hk_array *const inputs[] = {x, gamma, beta, NULL, NULL};
    hk_array *const averages[] = {mean, variance};
    hk_array *saved = NULL;
    hk_array *y = hki_op_call(&hki_op_batch_norm, inputs, 5, &forward, (hk_device){NULL}, &saved);
    const bool updates = saved && momentum >= 0 && momentum <= 1;
    for (int i = 0; i < 2; i++) {
        hk_array *average = averages[i];
        if (!updates) {
            if (y->failed)
                hki_array_fail_in_place(average, operation, &y, 1, HK_INVALID_ARGUMENT,
                                        "the batch could not be normalised");
            else
                hki_array_fail_in_place(average, operation, NULL, 0, HK_INVALID_ARGUMENT,
                                        "momentum is %g, but must be in [0, 1]", momentum);
            continue;
        }
        const double count = (double)hk_size(x) / (double)x->shape.dims[1];
        const hki_moving_average_options update = {.weight = momentum,
                                                   .factor = i == 0 ? 1 : count / (count - 1)};
        hk_array *batch = (hk_index)(saved, 0, 2 * i);
        hki_op_call_into(&hki_op_moving_average, (hk_array *const[]){average, batch}, 2, &update,
                         average);
        hk_array_release(hk_take(batch)); /* which, without a scope, nobody else does */
    }
    if (saved)
        hk_array_release(hk_take(saved));
    return y;
}

/* ---- conformance ----------------------------------------------------------------------------------------- */

static int64_t element(const hki_batch_norm_shape *shape, int64_t n, int64_t c, int64_t i)
{
    return (n * shape->channels + c) * shape->inner + i;
}

static void forward_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *dims = &call->inputs[X]->shape;
    const hki_batch_norm_shape shape = hki_batch_norm_shape_of(dims->ndim, dims->dims);
    const double count = (double)(shape.samples * shape.inner);
    for (int64_t c = 0; c < shape.channels; c++) {
        double mean = in[MEAN] ? in[MEAN][c] : 0, variance = in[MEAN] ? in[VARIANCE][c] : 0;
        for (int64_t n = 0; !in[MEAN] && n < shape.samples; n++)
            for (int64_t i = 0; i < shape.inner; i++)
                mean += in[X][element(&shape, n, c, i)] / count;
        for (int64_t n = 0; !in[MEAN] && n < shape.samples; n++)
            for (int64_t i = 0; i < shape.inner; i++)
                variance += pow(in[X][element(&shape, n, c, i)] - mean, 2) / count;
        double inverse = 1 / sqrt(variance + hki_batch_norm_eps(call->options));
        for (int64_t n = 0; n < shape.samples; n++)
            for (int64_t i = 0; i < shape.inner; i++) {
                int64_t at = element(&shape, n, c, i);
                out[0][at] = (in[X][at] - mean) * inverse * in[GAMMA][c] + in[BETA][c];
            }
        out[1][c] = mean;
        out[1][shape.channels + c] = inverse;
        out[1][2 * shape.channels + c] = variance;
        out[1][3 * shape.channels + c] = 0;
    }
}

static void backward_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *dims = &call->inputs[X]->shape;
    const hki_batch_norm_shape shape = hki_batch_norm_shape_of(dims->ndim, dims->dims);
    const bool given = ((const hki_batch_norm_backward_options *)call->options)->given;
    const double count = (double)(shape.samples * shape.inner);
    for (int64_t c = 0; c < shape.channels; c++) {
        const double mean = in[BACK_SAVED][c] + in[BACK_SAVED][3 * shape.channels + c],
                     inverse = in[BACK_SAVED][shape.channels + c];
        double gamma_sum = 0, beta_sum = 0;
        for (int64_t n = 0; n < shape.samples; n++)
            for (int64_t i = 0; i < shape.inner; i++) {
                int64_t at = element(&shape, n, c, i);
                gamma_sum += in[BACK_DY][at] * (in[BACK_X][at] - mean) * inverse;
                beta_sum += in[BACK_DY][at];
            }
        for (int64_t n = 0; n < shape.samples; n++)
            for (int64_t i = 0; i < shape.inner; i++) {
                int64_t at = element(&shape, n, c, i);
                double normalised = (in[BACK_X][at] - mean) * inverse;
                double centred =
                    in[BACK_DY][at] - (given ? 0 : (beta_sum + normalised * gamma_sum) / count);
                out[0][at] = in[BACK_GAMMA][c] * inverse * centred;
            }
        out[1][c] = gamma_sum;
        out[1][shape.channels + c] = beta_sum;
    }
}

/* Tiles are of 512 positions: 600 channels of one, and one of 576, take more than one. */
static const hki_sample forward_samples[] = {
    {.inputs = {HKI_SHAPE(3, 2, 4, 5), HKI_SHAPE(2), HKI_SHAPE(2), HKI_SHAPE_NONE, HKI_SHAPE_NONE}},
    {.inputs = {HKI_SHAPE(4, 600), HKI_SHAPE(600), HKI_SHAPE(600), HKI_SHAPE_NONE, HKI_SHAPE_NONE},
     .options = &(const hki_batch_norm_options){.eps = 0.5}},
    {.inputs = {HKI_SHAPE(2, 3, 24, 24), HKI_SHAPE(3), HKI_SHAPE(3), HKI_SHAPE_NONE,
                HKI_SHAPE_NONE},
     .low = 9,
     .high = 11},
    {.inputs = {HKI_SHAPE(3, 40, 17), HKI_SHAPE(40), HKI_SHAPE(40), HKI_SHAPE_NONE,
                HKI_SHAPE_NONE}},
    {.inputs = {HKI_SHAPE(3, 0, 4), HKI_SHAPE(0), HKI_SHAPE(0), HKI_SHAPE_NONE, HKI_SHAPE_NONE}},
    {.inputs = {HKI_SHAPE(3, 2, 4, 5), HKI_SHAPE(2), HKI_SHAPE(2), HKI_SHAPE(2), HKI_SHAPE(2)},
     .low = 0.5,
     .high = 2},
    {.inputs = {HKI_SHAPE(1, 2), HKI_SHAPE(2), HKI_SHAPE(2), HKI_SHAPE(2), HKI_SHAPE(2)},
     .low = 0.5,
     .high = 2},
    {.inputs = {HKI_SHAPE(0, 2, 3), HKI_SHAPE(2), HKI_SHAPE(2), HKI_SHAPE(2), HKI_SHAPE(2)},
     .low = 0.5,
     .high = 2},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(3, 2, 4, 5), HKI_SHAPE(2), HKI_SHAPE(2), HKI_SHAPE_NONE, HKI_SHAPE_NONE}},
};

static const hki_sample backward_samples[] = {
    {.inputs = {HKI_SHAPE(3, 2, 4, 5), HKI_SHAPE(3, 2, 4, 5), HKI_SHAPE(2), HKI_SHAPE(4, 2)}},
    {.inputs = {HKI_SHAPE(2, 3, 24, 24), HKI_SHAPE(2, 3, 24, 24), HKI_SHAPE(3), HKI_SHAPE(4, 3)}},
    {.inputs = {HKI_SHAPE(2, 600), HKI_SHAPE(2, 600), HKI_SHAPE(600), HKI_SHAPE(4, 600)},
     .options = &(const hki_batch_norm_backward_options){.given = true}},
    {.inputs = {HKI_SHAPE(0, 2), HKI_SHAPE(0, 2), HKI_SHAPE(2), HKI_SHAPE(4, 2)},
     .options = &(const hki_batch_norm_backward_options){.given = true}},
};

const hk_op hki_op_batch_norm = {
    HKI_OP_NAMED(batch_norm),
    HKI_OP_PARAMS(batch_norm),
    HKI_OP_SAMPLES(forward_samples),
    .signature = "x, gamma, beta, mean?, variance?",
    .doc = "Each channel of x (n,channels,…) normalised, then scaled by gamma and shifted by beta "
           "(channels), all of one dtype. Without mean and variance, by those of the batch: over "
           "all axes but the channels', of 2 elements or more, the variance biased; the gradient "
           "goes through them. With both, (channels), as at inference, by these, which get no "
           "gradient. hk_batch_norm_train keeps moving averages of the batch's for that.",
    .formula = "y = (x - mean) / sqrt(variance + eps) * gamma + beta",
    .dtypes = HKI_FLOATS,
    .output_count = 2,
    .contiguous = true,
    .infer = forward_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = plan,
    .kernel = {[HKI_CPU] = forward_cpu},
    .grad = forward_grad,
    .grad_reads = {[X] = READ, [GAMMA] = READ, [BETA] = READ},
    .no_grad_inputs = 1u << MEAN | 1u << VARIANCE,
    .reference = forward_reference,
    .tolerance_f32 = 1e-5,
};

const hk_op hki_op_batch_norm_backward = {
    HKI_OP_NAMED(batch_norm_backward),
    HKI_OP_PARAMS(batch_norm_backward),
    HKI_OP_SAMPLES(backward_samples),
    .signature = "x, dy, gamma, saved",
    .doc = "Gradients of batch_norm with respect to x, and to gamma and beta.",
    .dtypes = HKI_FLOATS,
    .output_count = 2,
    .contiguous = true,
    .internal = true,
    .infer = backward_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = plan,
    .kernel = {[HKI_CPU] = backward_cpu},
    .outputs = "dx, sums",
    .grad = hki_batch_norm_second,
    .grad_reads = {15, 15, 15},
    .no_grad_inputs = 1u << BACK_SAVED,
    .gradient_untested = "what is saved depends on x",
    .reference = backward_reference,
    .tolerance_f32 = 1e-5,
};
