/* Norms of vectors and matrices, made of reductions and singular values. */
#include "base/option.h"
#include "op/elementwise/elementwise.h"
#include "op/linalg/linalg.h"
#include "op/reduce/reduce.h"
#include "op/shape/copy.h"
#include "op/shape/fill.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static hk_array *absolute(hk_array *x)
{
    return hki_op_call1(&hki_op_abs, x, NULL);
}

/* Norms of complex numbers are those of their absolute values, but by singular values. */
static hk_array *real_values(hk_array *x)
{
    return hki_dtype_is_complex(x->dtype) ? absolute(x) : x;
}

/* ---- vector_norm ------------------------------------------------------------------------------------------ */

#define VECTOR_NORM_OPTIONS(F, op)                                                                 \
    F(op, F64, ord, "2", "p: 1, INFINITY, -INFINITY, any other; HK_ZERO: how many are not 0")      \
    F(op, DIMS, axes, "all axes", "axes to reduce")                                                \
    F(op, BOOL, keepdims, "false", "keep the reduced axes, with size 1")
HKI_OPTIONS(vector_norm, VECTOR_NORM_OPTIONS)

static double ord_of(const hki_call *call)
{
    return hki_option_or(((const hki_vector_norm_options *)call->options)->ord, 2);
}

static hki_sum_options over(const hki_call *call)
{
    const hki_vector_norm_options *options = call->options;
    return (hki_sum_options){.axes = options->axes, .keepdims = options->keepdims};
}

static bool vector_norm_infer(hki_call *call)
{
    const hki_vector_norm_options *options = call->options;
    const hki_shape_view *x = call->inputs[0];
    const hki_sum_options reduced = over(call);
    unsigned mask;
    int64_t size = 0;
    if (isnan(options->ord))
        return hki_call_refuse(call, HK_OUT_OF_RANGE, "ord is NaN, but must be a number");
    if (!hki_reduce_mask(call, &reduced, x->shape.ndim, &mask))
        return false;
    call->out_shape[0] = hki_reduce_shape(&x->shape, mask, options->keepdims);
    call->out_dtype[0] = hki_dtype_of_parts(x->dtype);
    return x->size > 0 || !isinf(options->ord) ||
           (hki_dims_size(&call->out_shape[0], &size) && size == 0) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "ord is %g, but among no elements none is the largest or smallest",
                           options->ord);
}

static hk_array *constant(const hk_array *x, double value)
{
    const hki_full_options options = {.value = value, .dtype = x->dtype};
    return hki_op_call(&hki_op_full, NULL, 0, &options, (hk_device){x->storage->device}, NULL);
}

static hk_array *is_zero(hk_array *x)
{
    return hki_op_call2(&hki_op_equal, x, constant(x, 0), NULL);
}

/* x, but `value` where the mask is set, where no gradient flows. */
static hk_array *replaced(hk_array *mask, hk_array *x, double value)
{
    return hki_op_call3(&hki_op_where, mask, constant(x, value), x, NULL);
}

/* What magnitudes are divided by, so that no power is too large or too small: the one that counts
 * most. The norm does not depend on it, and so it has no gradient. Not 0, nor infinite. */
static hk_array *scale_of(hk_array *magnitudes, double p, const hki_sum_options *axes)
{
    const hki_sum_options kept = {.axes = axes->axes, .keepdims = true};
    const bool is_f64 = magnitudes->dtype == HK_F64;
    const hki_range_options finite = {is_f64 ? DBL_MIN : (double)FLT_MIN,
                                      is_f64 ? DBL_MAX : (double)FLT_MAX};
    hk_array *ordered = p < 0 ? hki_op_call1(&hki_op_negative, magnitudes, NULL) : magnitudes;
    hk_array *most = hki_op_call1(&hki_op_exponent_offset, ordered, &kept);
    return hki_op_call1(&hki_op_clip, absolute(most), &finite);
}

/* A result of `axes` of a value that has kept them. */
static hk_array *as_result(hk_array *kept, const hki_sum_options *axes)
{
    return axes->keepdims ? kept : hki_op_call1(&hki_op_sum, kept, axes);
}

/* Slopes at 0 would not be finite: what is 0 goes another way. */
static hk_array *any_norm(hk_array *x, double p, const hki_sum_options *axes)
{
    const double nothing = p < 0 ? INFINITY : 0;
    if (x->failed)
        return x;
    if (x->size == 0) /* of nothing */
        return hki_op_call_number(&hki_op_add_scalar, hki_op_call1(&hki_op_sum, x, axes), nothing);
    hk_array *zeros = is_zero(x), *magnitudes = absolute(replaced(zeros, x, 1));
    hk_array *scale = scale_of(replaced(zeros, magnitudes, nothing), p, axes);
    hk_array *parts = replaced(zeros, hki_op_call2(&hki_op_divide, magnitudes, scale, NULL), 1);
    hk_array *powers = hki_op_call_number(&hki_op_power_scalar, parts, p);
    hk_array *sum = hki_op_call1(&hki_op_sum, replaced(zeros, powers, nothing), axes);
    zeros = is_zero(sum);
    hk_array *root = hki_op_call_number(&hki_op_power_scalar, replaced(zeros, sum, 1), 1 / p);
    root = hki_op_call2(&hki_op_multiply, root, as_result(scale, axes), NULL);
    return replaced(zeros, root, nothing);
}

static hk_array *vector_norm_compose(const hki_call *call)
{
    const double p = ord_of(call);
    const hki_sum_options axes = over(call);
    hk_array *x = real_values(call->arrays[0]);
    if (p == 2)
        return hki_op_call1(&hki_op_norm, x, &axes);
    if (p == 1)
        return hki_op_call1(&hki_op_sum, absolute(x), &axes);
    if (isinf(p))
        return hki_op_call1(p > 0 ? &hki_op_max : &hki_op_min, absolute(x), &axes);
    if (p != 0)
        return any_norm(x, p, &axes);
    /* Through where, so that the gradient is 0, not missing. */
    hk_array *zeros = is_zero(x);
    hk_array *ones =
        replaced(hki_op_call1(&hki_op_logical_not, zeros, NULL), replaced(zeros, x, 0), 1);
    return hki_op_call1(&hki_op_sum, ones, &axes);
}

/* Of the element of x with such a number: that of the result. */
static int64_t place_of(const hk_dims *shape, unsigned mask, int64_t i)
{
    int64_t place = 0, scale = 1;
    for (int axis = shape->ndim - 1; axis >= 0; axis--) {
        if (!(mask >> axis & 1)) {
            place += i % shape->dims[axis] * scale;
            scale *= shape->dims[axis];
        }
        i /= shape->dims[axis];
    }
    return place;
}

static void vector_norm_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const double p = ord_of(call);
    const hk_dims *shape = &call->inputs[0]->shape;
    const hki_sum_options axes = over(call);
    const unsigned mask = hki_reduce_mask_of(&axes, shape->ndim);
    int64_t size = 0;
    hki_dims_size(&call->out_shape[0], &size);
    for (int64_t i = 0; i < size; i++)
        out[0][i] = isinf(p) && p < 0 ? INFINITY : 0;
    for (int64_t i = 0; i < call->inputs[0]->size; i++) {
        double *at = &out[0][place_of(shape, mask, i)];
        const double value = fabs(in[0][i]);
        if (isinf(p))
            *at = p > 0 ? fmax(*at, value) : fmin(*at, value);
        else
            *at += p == 0 ? value != 0 : pow(value, p);
    }
    for (int64_t i = 0; i < size; i++)
        out[0][i] = isinf(p) || p == 0 ? out[0][i] : pow(out[0][i], 1 / p);
}

static const hki_sample vector_norm_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3)}, .options = &(const hki_vector_norm_options){2, {0}, false}},
    {.inputs = {HKI_SHAPE(4, 5)},
     .options = &(const hki_vector_norm_options){1, HKI_SHAPE(1), false}},
    {.inputs = {HKI_SHAPE(4, 5)},
     .options = &(const hki_vector_norm_options){INFINITY, HKI_SHAPE(0), true}},
    {.inputs = {HKI_SHAPE(4, 5)},
     .options = &(const hki_vector_norm_options){-INFINITY, HKI_SHAPE(-1), false}},
    {.inputs = {HKI_SHAPE(3, 2, 4)},
     .options = &(const hki_vector_norm_options){3, HKI_SHAPE(0, -1), true}},
    {.inputs = {HKI_SHAPE(7)}, .options = &(const hki_vector_norm_options){0.5, {0}, false}},
    {.inputs = {HKI_SHAPE(7)}, .options = &(const hki_vector_norm_options){-2, {0}, false}},
    {.inputs = {HKI_SHAPE(3, 4)},
     .options = &(const hki_vector_norm_options){HK_ZERO, HKI_SHAPE(0), false}},
    {.inputs = {HKI_SHAPE_0D}, .options = &(const hki_vector_norm_options){3, {0}, false}},
    {.inputs = {HKI_SHAPE(2, 0)},
     .options = &(const hki_vector_norm_options){3, HKI_SHAPE(1), false}},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(4, 3)},
     .options = &(const hki_vector_norm_options){2.5, HKI_SHAPE(0), false}},
};

const hk_op hki_op_vector_norm = {
    HKI_OP_NAMED(vector_norm),
    .refuses = true,
    HKI_OP_PARAMS(vector_norm),
    HKI_OP_SAMPLES(vector_norm_samples),
    .signature = "x",
    .doc = "The p-norm of vectors along axes. Where the norm is 0 its gradient is 0. Of complex "
           "vectors it is real.",
    .formula = "(sum of |x| ** ord over axes) ** (1 / ord)",
    .dtypes = HKI_INEXACT,
    .infer = vector_norm_infer,
    .compose = vector_norm_compose,
    .reference = vector_norm_reference,
    .tolerance_f32 = 1e-5,
};

/* ---- matrix_norm --------------------------------------------------------------------------------------------- */

#define MATRIX_NORM_OPTIONS(F, op)                                                                 \
    F(op, INT, ord, "HK_NORM_FRO", "an hk_norm_order")                                             \
    F(op, BOOL, keepdims, "false", "keep the two axes, with size 1")
HKI_OPTIONS(matrix_norm, MATRIX_NORM_OPTIONS)

static hk_norm_order order_of(const hki_call *call)
{
    return (hk_norm_order)((const hki_matrix_norm_options *)call->options)->ord;
}

static bool keeps_axes(const hki_call *call)
{
    return ((const hki_matrix_norm_options *)call->options)->keepdims;
}

/* The largest or smallest of none is no norm. */
static bool check_any(hki_call *call, const hki_stack *stack)
{
    const hk_norm_order order = order_of(call);
    const bool columns = order == HK_NORM_1 || order == HK_NORM_MINUS_1,
               rows = order == HK_NORM_INF || order == HK_NORM_MINUS_INF,
               both = order == HK_NORM_2 || order == HK_NORM_MINUS_2;
    if (stack->count == 0 ||
        ((stack->columns > 0 || !(columns || both)) && (stack->rows > 0 || !(rows || both))))
        return true;
    return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "x has matrices of %lld x %lld: among no %s none is the largest or "
                           "smallest",
                           (long long)stack->rows, (long long)stack->columns,
                           columns ? "columns"
                           : rows  ? "rows"
                                   : "singular values");
}

static bool matrix_norm_infer(hki_call *call)
{
    const int64_t order = ((const hki_matrix_norm_options *)call->options)->ord;
    if (order < 0 || order > HK_NORM_MINUS_INF)
        return hki_call_refuse(call, HK_OUT_OF_RANGE, "ord is %lld, but is none of hk_norm_order",
                               (long long)order);
    if (!(order == HK_NORM_NUC || order == HK_NORM_2 || order == HK_NORM_MINUS_2
              ? hki_linalg_check_small
              : hki_linalg_check)(call))
        return false;
    hk_dims *out = &call->out_shape[0];
    const hki_stack stack = hki_stack_of(out->ndim, out->dims);
    if (!check_any(call, &stack))
        return false;
    call->out_dtype[0] = hki_dtype_of_parts(call->inputs[0]->dtype);
    if (keeps_axes(call))
        out->dims[out->ndim - 2] = out->dims[out->ndim - 1] = 1;
    else
        out->ndim -= 2;
    return true;
}

static hk_array *along(const hk_op *op, hk_array *x, int64_t axis)
{
    const hki_sum_options options = {.axes = {.ndim = 1, .dims = {axis}}, .keepdims = true};
    return hki_op_call1(op, x, &options);
}

/* With both axes kept. */
static hk_array *norm_of_values(hk_array *x, const hk_op *op)
{
    hk_array *values = along(op, hki_op_call1(&hki_op_svdvals, x, NULL), -1);
    return hki_op_call1(&hki_op_expand_dims, values, &(const int64_t){-1});
}

static hk_array *norm_of_order(hk_array *x, hk_norm_order order)
{
    const hki_sum_options both = {.axes = {.ndim = 2, .dims = {-2, -1}}, .keepdims = true};
    const bool smallest =
        order == HK_NORM_MINUS_1 || order == HK_NORM_MINUS_2 || order == HK_NORM_MINUS_INF;
    const hk_op *extremum = smallest ? &hki_op_min : &hki_op_max;
    switch (order) {
    case HK_NORM_FRO:
        return hki_op_call1(&hki_op_norm, real_values(x), &both);
    case HK_NORM_NUC:
        return norm_of_values(x, &hki_op_sum);
    case HK_NORM_2:
    case HK_NORM_MINUS_2:
        return norm_of_values(x, extremum);
    case HK_NORM_1:
    case HK_NORM_MINUS_1:
        return along(extremum, along(&hki_op_sum, absolute(x), -2), -1);
    case HK_NORM_INF:
    case HK_NORM_MINUS_INF:
        break;
    }
    return along(extremum, along(&hki_op_sum, absolute(x), -1), -2);
}

static hk_array *matrix_norm_compose(const hki_call *call)
{
    hk_array *norm = norm_of_order(call->arrays[0], order_of(call));
    for (int i = 0; i < 2 && !keeps_axes(call); i++)
        norm = hki_op_call1(&hki_op_squeeze, norm, &(const int64_t){-1});
    return norm;
}

static double plain_norm(int64_t m, int64_t n, const double *x, hk_norm_order order)
{
    const bool by_rows = order == HK_NORM_INF || order == HK_NORM_MINUS_INF;
    const bool smallest = order == HK_NORM_MINUS_1 || order == HK_NORM_MINUS_INF;
    double norm = smallest ? INFINITY : 0;
    for (int64_t i = 0; i < (by_rows ? m : n); i++) {
        double sum = 0;
        for (int64_t j = 0; j < (by_rows ? n : m); j++)
            sum += fabs(by_rows ? x[i * n + j] : x[j * n + i]);
        norm = smallest ? fmin(norm, sum) : fmax(norm, sum);
    }
    return norm;
}

static double norm_by_values(int64_t m, int64_t n, const double *x, hk_norm_order order)
{
    const int64_t least = m < n ? m : n;
    double *a = hki_reference_copy(x, m * n), *values = calloc((size_t)least + 1, sizeof *values);
    double squares = 0, sum = 0;
    if (a && values)
        hki_reference_svdvals(m, n, a, values);
    for (int64_t i = 0; i < least && values; i++) {
        squares += values[i] * values[i];
        sum += values[i];
    }
    const double norm = order == HK_NORM_FRO    ? sqrt(squares)
                        : order == HK_NORM_NUC  ? sum
                        : !values || least == 0 ? 0
                        : order == HK_NORM_2    ? values[0]
                                                : values[least - 1];
    free(a);
    free(values);
    return norm;
}

static void matrix_norm_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *x = &call->inputs[0]->shape;
    const hki_stack stack = hki_stack_of(x->ndim, x->dims);
    const hk_norm_order order = order_of(call);
    for (int64_t i = 0; i < stack.count; i++)
        out[0][i] = (order <= HK_NORM_MINUS_2 ? norm_by_values : plain_norm)(
            stack.rows, stack.columns, in[0] + i * stack.rows * stack.columns, order);
}

#define NORM(...)                                                                                  \
    .options = &(const hki_matrix_norm_options)                                                    \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
static const hki_sample matrix_norm_samples[] = {
    {.inputs = {HKI_SHAPE(3, 4)}},
    {.inputs = {HKI_SHAPE(2, 3, 4)}, NORM(.ord = HK_NORM_NUC)},
    {.inputs = {HKI_SHAPE(3, 2, 2)}, NORM(.ord = HK_NORM_2, .keepdims = true)},
    {.inputs = {HKI_SHAPE(3, 4)}, NORM(.ord = HK_NORM_MINUS_2)},
    {.inputs = {HKI_SHAPE(2, 3, 4)}, NORM(.ord = HK_NORM_1)},
    {.inputs = {HKI_SHAPE(2, 3, 4)}, NORM(.ord = HK_NORM_MINUS_1)},
    {.inputs = {HKI_SHAPE(2, 3, 4)}, NORM(.ord = HK_NORM_INF, .keepdims = true)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(3, 4)}, NORM(.ord = HK_NORM_MINUS_INF)},
    {.inputs = {HKI_SHAPE(2, 0, 3)}, NORM(.ord = HK_NORM_NUC)},
};

const hk_op hki_op_matrix_norm = {
    HKI_OP_NAMED(matrix_norm),
    .refuses = true,
    HKI_OP_PARAMS(matrix_norm),
    HKI_OP_SAMPLES(matrix_norm_samples),
    .signature = "x",
    .doc = "Norms of matrices, which lie along the last two axes: Frobenius, nuclear, 1, 2, "
           "infinite, or the smallest in place of the largest. Of complex matrices they are real.",
    .dtypes = HKI_INEXACT,
    .host_only = true,
    .infer = matrix_norm_infer,
    .compose = matrix_norm_compose,
    .reference = matrix_norm_reference,
    .tolerance_f32 = 1e-5,
};
