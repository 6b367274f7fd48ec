/* Statistics over axes that other operators give between them: var, std, var_mean, logsumexp. */
#include "op/elementwise/elementwise.h"
#include "op/reduce/squares_about.h"
#include "op/shape/copy.h"

#include <math.h>
#include <stdlib.h>

HKI_OPTIONS_TABLE(var, VAR_OPTIONS)
HKI_OPTIONS(var_mean, VAR_OPTIONS)
HKI_OPTIONS(logsumexp, REDUCE_OPTIONS)

/* The shape of the result, for options that begin with axes and keepdims. */
static bool infer_over(hki_call *call, const hk_dims *axes, bool keepdims)
{
    const hki_shape_view *x = call->inputs[0];
    const hki_sum_options options = hki_over(axes, keepdims);
    unsigned mask;
    if (!hki_reduce_mask(call, &options, x->shape.ndim, &mask))
        return false;
    call->out_shape[0] = hki_reduce_shape(&x->shape, mask, keepdims);
    call->out_dtype[0] = hki_dtype_is_real(x->dtype) ? x->dtype : HK_F64;
    return true;
}

/* How many elements one of the result stands for. */
static double count_of(const hk_dims *shape, const hk_dims *axes)
{
    const hki_sum_options options = hki_over(axes, false);
    const unsigned mask = hki_reduce_mask_of(&options, shape->ndim);
    double count = 1;
    for (int i = 0; i < shape->ndim; i++)
        count *= mask >> i & 1 ? (double)shape->dims[i] : 1;
    return count;
}

/* y, which kept its reduced axes, as the result is to be. */
static hk_array *without_axes(hk_array *y, const hk_dims *shape)
{
    int64_t strides[HK_MAX_NDIM];
    hki_dims_strides(shape, strides);
    return hki_array_view(y, *shape, strides, y->offset);
}

static void plainly_each(const hki_call *call, const hk_dims *axes, const double *in, double *out,
                         double (*of)(const double *values, int64_t count, const void *options))
{
    const hki_shape_view *x = call->inputs[0];
    const hki_sum_options options = hki_over(axes, true);
    const unsigned mask = hki_reduce_mask_of(&options, x->shape.ndim);
    const int64_t count = (int64_t)count_of(&x->shape, axes);
    int64_t kept = 0;
    hki_dims_size(&call->out_shape[0], &kept);
    double *values = calloc((size_t)count + 1, sizeof *values);
    for (int64_t k = 0; k < kept && values; k++) {
        int64_t found = 0;
        for (int64_t i = 0; i < x->size; i++) {
            int64_t rest = i, place = 0, scale = 1;
            for (int axis = x->shape.ndim - 1; axis >= 0; axis--) {
                if (!(mask >> axis & 1)) {
                    place += rest % x->shape.dims[axis] * scale;
                    scale *= x->shape.dims[axis];
                }
                rest /= x->shape.dims[axis];
            }
            if (place == k)
                values[found++] = in[i];
        }
        out[k] = of(values, count, call->options);
    }
    free(values);
}

/* ---- var and std ----------------------------------------------------------------------------------------- */

static bool var_infer(hki_call *call)
{
    const hki_var_options *options = call->options;
    if (!isfinite(options->correction))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "correction is %g, but must be finite",
                               options->correction);
    return infer_over(call, &options->axes, options->keepdims);
}

static hk_array *as(hk_array *x, hk_dtype dtype)
{
    return x->failed || x->dtype == dtype
               ? x
               : hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){.dtype = dtype});
}

/* What x is computed as: halves as float32, what is none of floats as float64. */
static hk_dtype wide_dtype(hk_dtype dtype)
{
    return dtype == HK_F32 || 1u << dtype & HKI_HALVES ? HK_F32 : HK_F64;
}

static hk_array *as_wide(hk_array *x)
{
    return as(x, wide_dtype(x->dtype));
}

static hk_array *spread_compose(const hki_call *call, bool is_root)
{
    const hki_var_options *options = call->options;
    return as(hki_variance(as_wide(call->arrays[0]), NULL, options,
                           count_of(&call->inputs[0]->shape, &options->axes), is_root),
              call->out_dtype[0]);
}

static hk_array *var_compose(const hki_call *call)
{
    return spread_compose(call, false);
}

static hk_array *std_compose(const hki_call *call)
{
    return spread_compose(call, true);
}

/* y, times a number, for each element of x. */
static hk_array *stretched(const hki_grad_call *call, hk_array *y, double number)
{
    const hki_var_options *options = call->options;
    const hki_sum_options over_axes = hki_over(&options->axes, options->keepdims);
    return hki_reduce_stretch(hki_op_call_number(&hki_op_multiply_scalar, y, number),
                              &call->input_shape[0], &over_axes);
}

/* slope (x - mean) number / (count - correction), in the dtype that x is computed as. */
static hk_array *spread_slope(const hki_grad_call *call, hk_array *slope, double number)
{
    const hki_var_options *options = call->options;
    const double count = count_of(&call->input_shape[0], &options->axes);
    return hki_op_call2(&hki_op_multiply,
                        stretched(call, slope, number / hki_variance_divisor(options, count)),
                        hki_centred(as_wide(call->inputs[0]), &options->axes), NULL);
}

static void var_grad(hki_grad_call *call)
{
    call->dx[0] = as(spread_slope(call, as_wide(call->dy), 2), call->input_dtype[0]);
}

/* dy / divisor times (x - mean) / y, or 0 where the deviation is, as the gradient of norm is. The
 * second factor is about 1, however large or small x is. */
static void std_grad(hki_grad_call *call)
{
    hk_array *dy = as_wide(call->dy), *y = as_wide(call->output);
    hk_array *zero = hki_op_call1(&hki_op_zeros_like, dy, NULL);
    hk_array *is_zero = hki_op_call1(&hki_op_logical_not, y, NULL);
    hk_array *share = hki_op_call3(&hki_op_where, is_zero, zero, dy, NULL);
    hk_array *root = hki_op_call2(&hki_op_add, y, as(is_zero, y->dtype), NULL);
    const hki_var_options *options = call->options;
    const double count = count_of(&call->input_shape[0], &options->axes);
    hk_array *ratio =
        hki_op_call2(&hki_op_divide, hki_centred(as_wide(call->inputs[0]), &options->axes),
                     stretched(call, root, 1), NULL);
    call->dx[0] =
        as(hki_op_call2(&hki_op_multiply, ratio,
                        stretched(call, share, 1 / hki_variance_divisor(options, count)), NULL),
           call->input_dtype[0]);
}

static double var_of(const double *values, int64_t count, const void *options)
{
    const double divisor = (double)count - ((const hki_var_options *)options)->correction;
    double mean = 0, sum = 0;
    for (int64_t i = 0; i < count; i++)
        mean += values[i] / (double)count;
    for (int64_t i = 0; i < count; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return sum / (divisor > 0 ? divisor : 0);
}

static double std_of(const double *values, int64_t count, const void *options)
{
    return sqrt(var_of(values, count, options));
}

static void var_reference(const hki_call *call, const double *const *in, double *const *out)
{
    plainly_each(call, &((const hki_var_options *)call->options)->axes, in[0], out[0], var_of);
}

static void std_reference(const hki_call *call, const double *const *in, double *const *out)
{
    plainly_each(call, &((const hki_var_options *)call->options)->axes, in[0], out[0], std_of);
}

#define VAR(...)                                                                                   \
    &(const hki_var_options)                                                                       \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
static const hki_sample var_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3)}},
    {.inputs = {HKI_SHAPE(7, 5)}, .options = VAR(.axes = HKI_SHAPE(0), .correction = 1)},
    {.inputs = {HKI_SHAPE(3, 4, 5)}, .options = VAR(.axes = HKI_SHAPE(0, -1), .keepdims = true)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(6, 5)}, .options = VAR(.axes = HKI_SHAPE(1))},
    {.inputs = {HKI_SHAPE(4, 37)}, .options = VAR(.axes = HKI_SHAPE(-1), .correction = 1)},
    {.inputs = {HKI_SHAPE(0, 3)}, .options = VAR(.axes = HKI_SHAPE(1))},
};

/* ---- var_mean -------------------------------------------------------------------------------------------- */

static bool var_mean_infer(hki_call *call)
{
    if (!var_infer(call))
        return false;
    call->out_shape[1] = call->out_shape[0];
    call->out_dtype[1] = call->out_dtype[0];
    return true;
}

static hk_array *var_mean_compose(const hki_call *call)
{
    const hki_var_options *options = call->options;
    hk_array *x = as_wide(call->arrays[0]), *mean = hki_mean_about(x, options);
    call->more[0] =
        mean->failed ? mean : as(without_axes(mean, &call->out_shape[1]), call->out_dtype[1]);
    return as(
        hki_variance(x, mean, options, count_of(&call->inputs[0]->shape, &options->axes), false),
        call->out_dtype[0]);
}

static void var_mean_grad(hki_grad_call *call)
{
    const double count =
        count_of(&call->input_shape[0], &((const hki_var_options *)call->options)->axes);
    hk_array *of_variance = NULL, *of_mean = NULL;
    if (call->dys[0])
        of_variance = as(spread_slope(call, as_wide(call->dys[0]), 2), call->input_dtype[0]);
    if (call->dys[1])
        of_mean = stretched(call, call->dys[1], 1 / count);
    call->dx[0] = !of_mean       ? of_variance
                  : !of_variance ? of_mean
                                 : hki_op_call2(&hki_op_add, of_variance, of_mean, NULL);
}

static double mean_of(const double *values, int64_t count, const void *options)
{
    double sum = 0;
    (void)options;
    for (int64_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

static void var_mean_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_var_options *options = call->options;
    plainly_each(call, &options->axes, in[0], out[0], var_of);
    plainly_each(call, &options->axes, in[0], out[1], mean_of);
}

/* ---- logsumexp --------------------------------------------------------------------------------------------- */

static bool logsumexp_infer(hki_call *call)
{
    const hki_logsumexp_options *options = call->options;
    return infer_over(call, &options->axes, options->keepdims);
}

static hk_array *logsumexp_compose(const hki_call *call)
{
    const hki_logsumexp_options *options = call->options;
    const hki_sum_options kept = hki_over(&options->axes, true),
                          last = hki_over(&options->axes, options->keepdims);
    hk_array *x = call->arrays[0];
    if (x->size == 0) /* of nothing: 0 - inf, of which the gradient is that of the sum */
        return hki_op_call1(&hki_op_add_scalar, hki_op_call1(&hki_op_sum, x, &last),
                            &(const hki_scalar_options){-INFINITY});
    hk_array *offset = hki_op_call1(&hki_op_exponent_offset, x, &kept);
    hk_array *powers =
        hki_op_call1(&hki_op_exp, hki_op_call2(&hki_op_subtract, x, offset, NULL), NULL);
    hk_array *logs =
        hki_op_call_number(&hki_op_log_of_sum, hki_op_call1(&hki_op_sum, powers, &last), 0);
    return hki_op_call2(&hki_op_add, logs, without_axes(offset, &call->out_shape[0]), NULL);
}

static double logsumexp_of(const double *values, int64_t count, const void *options)
{
    double sum = 0;
    (void)options;
    for (int64_t i = 0; i < count; i++)
        sum += exp(values[i]);
    return log(sum);
}

static void logsumexp_reference(const hki_call *call, const double *const *in, double *const *out)
{
    plainly_each(call, &((const hki_logsumexp_options *)call->options)->axes, in[0], out[0],
                 logsumexp_of);
}

#define OVER(...)                                                                                  \
    &(const hki_logsumexp_options)                                                                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
static const hki_sample logsumexp_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3)}},
    {.inputs = {HKI_SHAPE_0D}},
    {.inputs = {HKI_SHAPE(7, 5)}, .options = OVER(.axes = HKI_SHAPE(0)), .low = -90, .high = 90},
    {.inputs = {HKI_SHAPE(3, 4, 5)}, .options = OVER(.axes = HKI_SHAPE(0, -1), .keepdims = true)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(6, 5)},
     .options = OVER(.axes = HKI_SHAPE(1))},
    {.inputs = {HKI_SHAPE(0, 3)}, .options = OVER(.axes = HKI_SHAPE(0))},
};

/* ---- the operators ------------------------------------------------------------------------------------------- */

const hk_op hki_op_var = {
    HKI_OP_NAMED(var),
    HKI_OP_PARAMS(var),
    HKI_OP_SAMPLES(var_samples),
    .signature = "x",
    .doc = "Variance along axes (all by default): squared distances from the mean, divided by how "
           "many they are less correction. Integers and bool give float64.",
    .formula = "y = sum of (x - mean)^2 over axes / (how many they are - correction)",
    .dtypes = HKI_ALL_DTYPES,
    .infer = var_infer,
    .compose = var_compose,
    .grad = var_grad,
    .grad_reads = {1},
    .reference = var_reference,
    .tolerance_f32 = 1e-5,
};

#define std_params var_params
const hk_op hki_op_std = {
    HKI_OP_NAMED(std),
    .params = std_params,
    .options_bytes = sizeof(hki_var_options),
    HKI_OP_SAMPLES(var_samples),
    .signature = "x",
    .doc = "Standard deviation along axes (all by default): the square root of hk_var, rounded "
           "after the root. The gradient is 0 where the deviation is.",
    .formula = "y = sqrt(sum of (x - mean)^2 over axes / (how many they are - correction))",
    .dtypes = HKI_ALL_DTYPES,
    .infer = var_infer,
    .compose = std_compose,
    .grad = std_grad,
    .grad_reads = {1 | HKI_READS_OUTPUT},
    .reference = std_reference,
    .tolerance_f32 = 1e-5,
};

const hk_op hki_op_var_mean = {
    HKI_OP_NAMED(var_mean),
    HKI_OP_PARAMS(var_mean),
    HKI_OP_SAMPLES(var_samples),
    .signature = "x",
    .outputs = "variance, mean",
    .output_count = 2,
    .doc = "Variance and mean along axes (all by default): hk_var, and the mean that it is about, "
           "which hk_mean gives. Integers and bool give float64.",
    .formula = "variance = sum of (x - mean)^2 over axes / (how many they are - correction)",
    .dtypes = HKI_ALL_DTYPES,
    .infer = var_mean_infer,
    .compose = var_mean_compose,
    .grad = var_mean_grad,
    .grad_reads = {1},
    .reference = var_mean_reference,
    .tolerance_f32 = 1e-5,
};

const hk_op hki_op_logsumexp = {
    HKI_OP_NAMED(logsumexp),
    HKI_OP_PARAMS(logsumexp),
    HKI_OP_SAMPLES(logsumexp_samples),
    .signature = "x",
    .doc = "Logarithm of the sum of exponentials along axes (all by default), without overflow; "
           "-inf for none. Where all are -inf the gradient is 0.",
    .formula = "y = ln(sum of e ** x over axes)",
    .dtypes = HKI_FLOATS,
    .infer = logsumexp_infer,
    .compose = logsumexp_compose,
    .reference = logsumexp_reference,
    .tolerance_f32 = 1e-5,
};
