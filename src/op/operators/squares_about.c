/* squares_about: the mean of squared distances from a mean, in one pass over x, where what is summed lies side by side. The bytes are those
 * of subtract, square and mean, or sum and multiply: kernels/reduce has the loops and their order. */
#include "op/operators/squares_about.h"

#include "base/integer.h"
#include "op/call/plan.h"
#include "op/kernels/elementwise/elementwise.h"
#include "op/kernels/reduce/reduce_kernel.h"
#include "op/operators/copy.h"

typedef hki_var_options hki_squares_about_options;
HKI_OPTIONS_TABLE(squares_about, VAR_OPTIONS)

/* Whether the last axes go, and none else, of which elements lie side by side, in one piece. */
static bool has_lines(const hk_array *x, const hki_var_options *options)
{
    const hki_sum_options sums = hki_over(&options->axes, true);
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

hk_array *hki_variance_about(hk_array *x, hk_array *mean, const hki_var_options *options,
                             double count)
{
    const hki_sum_options last = hki_over(&options->axes, options->keepdims);
    if (!x->failed && !mean->failed && x->storage->device->class->kernels == HKI_CPU &&
        (x->dtype == HK_F32 || x->dtype == HK_F64) && has_lines(x, options))
        return hki_op_call2(&hki_op_squares_about, x, mean, options);
    hk_array *squares =
        hki_op_call1(&hki_op_square, hki_op_call2(&hki_op_subtract, x, mean, NULL), NULL);
    if (options->correction == 0)
        return hki_op_call1(&hki_op_mean, squares, &last);
    return hki_op_call1(&hki_op_multiply_scalar, hki_op_call1(&hki_op_sum, squares, &last),
                        &(const hki_scalar_options){hki_variance_share(options, count)});
}

static bool squares_about_infer(hki_call *call)
{
    const hki_var_options *options = call->options;
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

#define LINES(T)                                                                                   \
    for (int64_t k = begin; k < end; k++) {                                                        \
        const double about =                                                                       \
            (double)((const T *)mean                                                               \
                         ->data)[hki_reduce_offset(&of_mean.kept, of_mean.kept.out_strides, k)];   \
        const T *from =                                                                            \
            (const T *)x->data + hki_reduce_offset(&of_y.kept, of_y.kept.in_strides, k);           \
        const double sum = hki_reduce_squares_about(x->dtype, from, about, of_y.gone.count).f;     \
        ((T *)y->data)[hki_reduce_offset(&of_y.kept, of_y.kept.out_strides, k)] =                  \
            options->correction == 0 ? (T)(sum / count)                                            \
                                     : (T)sum * (T)hki_variance_share(options, count);             \
    }

static void squares_about_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin,
                              int64_t end)
{
    const hki_var_options *options = call->options;
    const hki_tensor *x = &call->in[0], *mean = &call->in[1], *y = &call->out[0];
    const hki_sum_options sums = hki_over(&options->axes, true);
    const unsigned mask = hki_reduce_mask_of(&sums, x->ndim);
    const hki_reduce_geometry of_y = geometry_of(x, y, mask, options->keepdims),
                              of_mean = geometry_of(x, mean, mask, true);
    const double count = (double)of_y.gone.count;
    (void)piece;
    if (x->dtype == HK_F32)
        LINES(float)
    else
        LINES(double)
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
    .no_grad_why = "var and var_mean have gradients",
    .untested = "var, which calls it, tests it",
};
