/* What variances and deviations are made of. The mean is never one rounded number alone: of x far from 0, rounding it would lose what
 * the elements differ by. squares_about is one pass over x, where what is summed lies side by side; elsewhere centred takes a mean in two parts
 * away, and deviation makes the result of the sum of squares, in double. kernels/reduce has the loops and their order. */
#include "op/operators/squares_about.h"

#include "base/integer.h"
#include "op/call/plan.h"
#include "op/kernels/elementwise/elementwise.h"
#include "op/kernels/reduce/reduce_kernel.h"
#include "op/operators/copy.h"
#include "op/operators/elementwise_gradient.h"

#include <math.h>

#define SPREAD_OPTIONS(F, op)                                                                      \
    VAR_OPTIONS(F, op)                                                                             \
    F(op, BOOL, is_root, "false", "the root of the variance")
#define DEVIATION_ARGUMENTS(F, op)                                                                 \
    F(op, F64, divisor, "", "what the sums are divided by")                                        \
    F(op, BOOL, is_root, "", "then comes the root")                                                \
    F(op, DTYPE, dtype, "", "dtype of the result")
HKI_OPTIONS(squares_about, SPREAD_OPTIONS)
HKI_ARGUMENTS(deviation, DEVIATION_ARGUMENTS)

static bool is_cpu(const hk_array *x)
{
    return x->storage->device->class->kernels == HKI_CPU;
}

/* Whether the last axes go, and none else, of which elements lie side by side, in one piece. */
static bool has_lines(const hk_array *x, const hki_var_options *options)
{
    const hki_sum_options sums = hki_over(&options->axes, true);
    if (!is_cpu(x) || (x->dtype != HK_F32 && x->dtype != HK_F64))
        return false;
    const unsigned mask = hki_reduce_mask_of(&sums, x->shape.ndim);
    const int64_t no_strides[HK_MAX_NDIM] = {0};
    hki_reduce_geometry geometry;
    for (int i = 0; i < x->shape.ndim; i++)
        if (mask >> i & 1 ? i == 0 : i > 0 && mask >> (i - 1) & 1)
            return false;
    hki_reduce_geometry_init(&geometry, x->shape.ndim, x->shape.dims, x->strides, mask, no_strides);
    return !geometry.rows && !geometry.parts && geometry.kept.count > 0 &&
           geometry.gone.ndim == 1 && geometry.gone.in_strides[0] == 1 &&
           geometry.gone.count > HKI_REDUCE_SHORT;
}

static hk_array *cast(hk_array *x, hk_dtype dtype)
{
    return hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){.dtype = dtype});
}

static hk_array *subtract(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_subtract, x, y, NULL);
}

hk_array *hki_centred(hk_array *x, const hk_dims *axes)
{
    const hki_sum_options kept = hki_over(axes, true);
    if (x->failed)
        return x;
    if (!is_cpu(x)) {
        hk_array *distance = subtract(x, hki_op_call1(&hki_op_mean, x, &kept));
        return subtract(distance, hki_op_call1(&hki_op_mean, distance, &kept));
    }
    hk_array *mean = hki_op_call1(&hki_op_mean_wide, x, &kept), *high = cast(mean, x->dtype);
    if (x->dtype == HK_F64)
        return subtract(x, high);
    hk_array *low = cast(subtract(mean, cast(high, HK_F64)), x->dtype);
    return hki_op_call3(&hki_op_centred, x, high, low, NULL);
}

hk_array *hki_variance(hk_array *x, hk_array *mean, const hki_var_options *options, double count,
                       bool is_root)
{
    const hki_sum_options kept = hki_over(&options->axes, true),
                          last = hki_over(&options->axes, options->keepdims);
    if (x->failed)
        return x;
    if (has_lines(x, options)) {
        const hki_squares_about_options about = {options->axes, options->keepdims,
                                                 options->correction, is_root};
        mean = mean ? mean : hki_op_call1(&hki_op_mean, x, &kept);
        return hki_op_call2(&hki_op_squares_about, x, mean, &about);
    }
    hk_array *distance = hki_centred(x, &options->axes);
    const hki_deviation_options made = {hki_variance_divisor(options, count), is_root, x->dtype};
    if (is_cpu(x))
        return hki_op_call1(&hki_op_deviation, hki_op_call1(&hki_op_squares_wide, distance, &last),
                            &made);
    hk_array *squares =
        hki_op_call1(&hki_op_sum, hki_op_call1(&hki_op_square, distance, NULL), &last);
    hk_array *variance = hki_op_call_number(&hki_op_multiply_scalar, squares, 1 / made.divisor);
    return is_root ? hki_op_call1(&hki_op_sqrt, variance, NULL) : variance;
}

static double deviation_of(double squares, double divisor, bool is_root)
{
    return is_root ? sqrt(squares / divisor) : squares / divisor;
}

/* ---- squares_about --------------------------------------------------------------------------------------- */

static bool squares_about_infer(hki_call *call)
{
    const hki_squares_about_options *options = call->options;
    const hki_shape_view *x = call->inputs[0];
    const hki_sum_options sums = hki_over(&options->axes, options->keepdims);
    unsigned mask;
    if (!hki_reduce_mask(call, &sums, x->shape.ndim, &mask))
        return false;
    call->out_shape[0] = hki_reduce_shape(&x->shape, mask, options->keepdims);
    call->out_dtype[0] = x->dtype;
    return true;
}

static void squares_about_plan(const hki_call *call, hki_plan *plan)
{
    int64_t count = 0;
    hki_dims_size(&call->out_shape[0], &count);
    plan->work_ns = 0.25 * (double)call->inputs[0]->size;
    plan->extent = count;
    plan->grain = 1;
}

/* The kept elements of x, with their places in `to`, which has kept its axes or has not. */
static hki_reduce_geometry geometry_of(const hki_tensor *x, const hki_tensor *to, unsigned mask,
                                       bool keepdims)
{
    hki_reduce_geometry geometry;
    int64_t strides[HK_MAX_NDIM];
    hki_reduce_spread(x->ndim, mask, keepdims, to->strides, strides);
    hki_reduce_geometry_init(&geometry, x->ndim, x->dims, x->strides, mask, strides);
    return geometry;
}

/* From the sum of squares about one number: where that is no precise mean, or squares are no floats, what they should have been. */
#define SQUARES(name, T, LEAST, MOST)                                                              \
    static double squares_##name(const T *x, double about, int64_t count, double sum)              \
    {                                                                                              \
        const bool is_far = about * about * (double)count > 16 * sum;                              \
        double rest = 0;                                                                           \
        if (!(sum > (LEAST) && sum < (MOST))) {                                                    \
            sum = 0;                                                                               \
            for (int64_t i = 0; i < count; i++)                                                    \
                sum += ((double)x[i] - about) * ((double)x[i] - about);                            \
        }                                                                                          \
        for (int64_t i = 0; is_far && i < count; i++)                                              \
            rest += (double)x[i] - about;                                                          \
        sum -= rest * rest / (double)count;                                                        \
        return sum < 0 ? 0 : sum;                                                                  \
    }
SQUARES(f32, float, 1e-24, 1e36)
SQUARES(f64, double, 0, (double)INFINITY)

#define LINES(T, name)                                                                             \
    for (int64_t k = begin; k < end; k++) {                                                        \
        const double about =                                                                       \
            (double)((const T *)mean                                                               \
                         ->data)[hki_reduce_offset(&of_mean.kept, of_mean.kept.out_strides, k)];   \
        const T *from =                                                                            \
            (const T *)x->data + hki_reduce_offset(&of_y.kept, of_y.kept.in_strides, k);           \
        const int64_t count = of_y.gone.count;                                                     \
        const double sum = squares_##name(                                                         \
            from, about, count, hki_reduce_squares_about(x->dtype, from, about, count).f);         \
        ((T *)y->data)[hki_reduce_offset(&of_y.kept, of_y.kept.out_strides, k)] =                  \
            (T)deviation_of(sum, divisor, options->is_root);                                       \
    }

static void squares_about_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin,
                              int64_t end)
{
    const hki_squares_about_options *options = call->options;
    const hki_tensor *x = &call->in[0], *mean = &call->in[1], *y = &call->out[0];
    const hki_sum_options sums = hki_over(&options->axes, true);
    const unsigned mask = hki_reduce_mask_of(&sums, x->ndim);
    const hki_reduce_geometry of_y = geometry_of(x, y, mask, options->keepdims),
                              of_mean = geometry_of(x, mean, mask, true);
    const double left = (double)of_y.gone.count - options->correction,
                 divisor = left > 0 ? left : 0;
    (void)piece;
    if (x->dtype == HK_F32)
        LINES(float, f32)
    else
        LINES(double, f64)
}

const hk_op hki_op_squares_about = {
    HKI_OP_NAMED(squares_about),
    HKI_OP_PARAMS(squares_about),
    .signature = "x, mean",
    .doc = "Mean of squared distances from means that kept their axes, over axes, whose elements "
           "lie side by side.",
    .dtypes = 1u << HK_F32 | 1u << HK_F64,
    .internal = true,
    .host_only = true,
    .infallible = true,
    .infer = squares_about_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = squares_about_plan,
    .kernel = {[HKI_CPU] = squares_about_cpu},
    .batch = hki_batch_all,
    .no_grad_why = "var, std and var_mean have gradients",
    .untested = "var, which calls it, tests it",
};

/* ---- centred --------------------------------------------------------------------------------------------- */

#define CENTRED(name, T)                                                                           \
    static int64_t centred_##name(const hki_run *run)                                              \
    {                                                                                              \
        const T *x = (const T *)run->in[0], *high = (const T *)run->in[1],                         \
                *low = (const T *)run->in[2];                                                      \
        const int64_t xs = run->in_step[0] / (int64_t)sizeof(T);                                   \
        const int64_t hs = run->in_step[1] / (int64_t)sizeof(T);                                   \
        const int64_t ls = run->in_step[2] / (int64_t)sizeof(T);                                   \
        const int64_t ys = run->out_step / (int64_t)sizeof(T);                                     \
        T *y = (T *)run->out;                                                                      \
        if (xs == 1 && ys == 1 && hs == 0 && ls == 0)                                              \
            for (int64_t i = 0; i < run->n; i++)                                                   \
                y[i] = x[i] - *high - *low;                                                        \
        else                                                                                       \
            for (int64_t i = 0; i < run->n; i++)                                                   \
                y[i * ys] = x[i * xs] - high[i * hs] - low[i * ls];                                \
        return -1;                                                                                 \
    }
CENTRED(f32, float)
CENTRED(f64, double)

static void centred_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    hki_walk(call, begin, end, NULL, call->out[0].dtype == HK_F32 ? centred_f32 : centred_f64);
}

static void centred_plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 0.3);
}

static void centred_grad(hki_grad_call *call)
{
    if (call->wanted[0])
        call->dx[0] = call->dy;
    for (int i = 1; i < 3; i++)
        if (call->wanted[i]) {
            hki_set_summed(call, i, call->dy);
            call->dx[i] = hki_op_call1(&hki_op_negative, call->dx[i], NULL);
        }
}

const hk_op hki_op_centred = {
    HKI_OP_NAMED(centred),
    .signature = "x, high, low",
    .doc = "x less the two parts of a mean, which are broadcast to it.",
    .dtypes = HKI_FLOATS,
    .internal = true,
    .host_only = true,
    .infallible = true,
    .infer = hki_infer_same,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = centred_plan,
    .kernel = {[HKI_CPU] = centred_cpu},
    .batch = hki_batch_elementwise,
    .grad = centred_grad,
    .untested = "var, which calls it, tests it",
};

/* ---- deviation ------------------------------------------------------------------------------------------- */

static bool deviation_infer(hki_call *call)
{
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = ((const hki_deviation_options *)call->options)->dtype;
    return true;
}

static int64_t deviations(const hki_run *run)
{
    const hki_deviation_options *options = run->given;
    for (int64_t i = 0; i < run->n; i++) {
        const double squares = *(const double *)(const void *)(run->in[0] + i * run->in_step[0]);
        const double made = deviation_of(squares, options->divisor, options->is_root);
        void *to = run->out + i * run->out_step;
        if (options->dtype == HK_F32)
            *(float *)to = (float)made;
        else
            *(double *)to = made;
    }
    return -1;
}

static void deviation_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    hki_walk(call, begin, end, call->options, deviations);
}

static void deviation_plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 2);
}

const hk_op hki_op_deviation = {
    HKI_OP_NAMED(deviation),
    HKI_OP_PARAMS(deviation),
    .signature = "squares",
    .doc = "Variance, or its root, of the sum of squared distances, as another dtype of floats.",
    .dtypes = 1u << HK_F64,
    .internal = true,
    .host_only = true,
    .infallible = true,
    .infer = deviation_infer,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = deviation_plan,
    .kernel = {[HKI_CPU] = deviation_cpu},
    .batch = hki_batch_elementwise,
    .no_grad_why = "var, std and var_mean have gradients",
    .untested = "var, which calls it, tests it",
};
