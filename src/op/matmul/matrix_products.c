/* Products that are made of others: matrix_power, cross, kron. */
#include "op/linalg/linalg.h"
#include "op/shape/copy.h"
#include "op/shape/fill.h"
#include "op/shape/reshape.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- matrix_power ----------------------------------------------------------------------------------------- */

#define MATRIX_POWER_ARGUMENTS(F, op) F(op, INT, n, "", "a negative one: powers of the inverse")
HKI_ARGUMENTS(matrix_power, MATRIX_POWER_ARGUMENTS)

static int64_t exponent_of(const hki_call *call)
{
    return ((const hki_matrix_power_options *)call->options)->n;
}

static bool matrix_power_infer(hki_call *call)
{
    return exponent_of(call) == INT64_MIN
               ? hki_call_refuse(call, HK_OUT_OF_RANGE, "n is %" PRId64 ", the least there is",
                                 INT64_MIN)
               : hki_linalg_check_square(call);
}

/* x to the 0: through where, so that its gradient is 0. */
static hk_array *identity_like(hk_array *x)
{
    const int64_t n = x->shape.dims[x->shape.ndim - 1];
    const struct {
        int64_t rows, columns, offset;
        hk_dtype dtype;
    } square = {n, n, 0, x->dtype};
    const hki_zeros_options flag = {.shape = {.ndim = 0}, .dtype = HK_BOOL};
    const hk_device device = {x->storage->device};
    hk_array *no = hki_op_call(&hki_op_zeros, NULL, 0, &flag, device, NULL);
    hk_array *eye = hki_op_call(&hki_op_eye, NULL, 0, &square, device, NULL);
    return hki_op_call3(&hki_op_where, no, x, eye, NULL);
}

/* Squares again and again, and multiplies those that n has bits of. */
static hk_array *matrix_power_compose(const hki_call *call)
{
    int64_t n = exponent_of(call);
    hk_array *x = call->arrays[0], *power = NULL;
    if (n == 0)
        return identity_like(x);
    if (n < 0) {
        n = -n;
        x = hki_op_call1(&hki_op_inv, x, NULL);
    }
    if (n == 1)
        return hki_op_call1(&hki_op_copy, x, NULL);
    for (; n > 0; n >>= 1) {
        if (n & 1)
            power = power ? hki_matrix_times(power, x) : x;
        if (n > 1)
            x = hki_matrix_times(x, x);
    }
    return power;
}

static void plain_product(int64_t n, const double *x, const double *y, double *to)
{
    for (int64_t i = 0; i < n * n; i++) {
        to[i] = 0;
        for (int64_t k = 0; k < n; k++)
            to[i] += x[i / n * n + k] * y[k * n + i % n];
    }
}

/* Of one matrix: product by product; x becomes its inverse where n is negative. */
static void plain_power(int64_t n, double *x, int64_t exponent, double *to)
{
    double *inverse = calloc((size_t)(n * n) + 1, sizeof *inverse);
    for (int64_t i = 0; i < n * n; i++)
        to[i] = i / n == i % n;
    if (exponent < 0 && inverse) {
        hki_reference_solve(n, x, n, to);
        for (int64_t i = 0; i < n * n; i++) {
            x[i] = to[i];
            to[i] = i / n == i % n;
        }
    }
    for (int64_t i = 0; i < (exponent < 0 ? -exponent : exponent) && inverse; i++) {
        plain_product(n, x, to, inverse);
        for (int64_t j = 0; j < n * n; j++)
            to[j] = inverse[j];
    }
    free(inverse);
}

static void matrix_power_reference(const hki_call *call, const double *const *in,
                                   double *const *out)
{
    const hk_dims *x = &call->inputs[0]->shape;
    const hki_stack stack = hki_stack_of(x->ndim, x->dims);
    const int64_t n = stack.rows;
    for (int64_t i = 0; i < stack.count; i++) {
        double *a = hki_reference_copy(in[0] + i * n * n, n * n);
        if (a)
            plain_power(n, a, exponent_of(call), out[0] + i * n * n);
        free(a);
    }
}

static const hki_sample matrix_power_samples[] = {
    {.inputs = {HKI_SHAPE(3, 3)}, HKI_GIVEN(matrix_power, 3)},
    {.inputs = {HKI_SHAPE(2, 3, 3)}, HKI_GIVEN(matrix_power, 0)},
    {.inputs = {HKI_SHAPE(2, 2, 2)}, HKI_GIVEN(matrix_power, 1)},
    {.inputs = {HKI_SHAPE(2, 3, 3)}, HKI_GIVEN(matrix_power, -2), .definite = true},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(4, 4)}, HKI_GIVEN(matrix_power, 6)},
    {.inputs = {HKI_SHAPE(0, 0)}, HKI_GIVEN(matrix_power, 5)},
};

const hk_op hki_op_matrix_power = {
    HKI_OP_NAMED(matrix_power),
    HKI_OP_PARAMS(matrix_power),
    HKI_OP_SAMPLES(matrix_power_samples),
    .signature = "x",
    .doc = "Square matrices, which lie along the last two axes, to the power of a whole number; 0 "
           "gives the identity. A negative power of a singular matrix fails the result.",
    .dtypes = HKI_INEXACT,
    .host_only = true,
    .infer = matrix_power_infer,
    .compose = matrix_power_compose,
    .reference = matrix_power_reference,
    .tolerance_f32 = 1e-4,
};

/* ---- cross ------------------------------------------------------------------------------------------------- */

static bool check_promotion(hki_call *call)
{
    const hk_dtype x = call->inputs[0]->dtype, y = call->inputs[1]->dtype;
    return hk_dtype_promote(x, y, &call->out_dtype[0]) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "x is %s and y %s: no dtype of one kind holds both; use hk_cast",
                           hk_dtype_name(x), hk_dtype_name(y));
}

#define CROSS_ARGUMENTS(F, op) F(op, INT, axis, "", "a negative one counts from the last")
HKI_ARGUMENTS(cross, CROSS_ARGUMENTS)

/* The axis counted from the last, -1 being that: the same for inputs of other numbers of axes. */
static bool cross_axis(hki_call *call, int64_t *axis)
{
    const hk_dims *x = &call->inputs[0]->shape, *y = &call->inputs[1]->shape;
    *axis = ((const hki_cross_options *)call->options)->axis;
    const int ndim = x->ndim > y->ndim ? x->ndim : y->ndim;
    if (*axis >= 0)
        *axis -= ndim;
    return (*axis >= -x->ndim && *axis >= -y->ndim && *axis < 0) ||
           hki_call_refuse(call, HK_OUT_OF_RANGE, "axis is %" PRId64 ", but x has %d axes and y %d",
                           ((const hki_cross_options *)call->options)->axis, x->ndim, y->ndim);
}

static bool cross_infer(hki_call *call)
{
    const hk_dims *x = &call->inputs[0]->shape, *y = &call->inputs[1]->shape;
    char x_text[224], y_text[224];
    int64_t axis;
    if (!cross_axis(call, &axis) || !check_promotion(call))
        return false;
    hki_shape_view_describe(call->inputs[0], x_text, sizeof x_text);
    hki_shape_view_describe(call->inputs[1], y_text, sizeof y_text);
    if (x->dims[x->ndim + axis] != 3 || y->dims[y->ndim + axis] != 3)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x is %s and y %s: both must have 3 entries along the axis", x_text,
                               y_text);
    return hki_dims_broadcast(x, y, &call->out_shape[0]) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "x is %s and y %s: aligned at the last axis, sizes must be equal or 1",
                           x_text, y_text);
}

static hk_array *turned(hk_array *x, int64_t by, int64_t axis)
{
    return hki_op_call1(&hki_op_roll, x, (const int64_t[]){by, axis});
}

/* Element i is x[i+1] y[i+2] - x[i+2] y[i+1], counted around. */
static hk_array *cross_compose(const hki_call *call)
{
    hki_call asked = *call;
    int64_t axis = -1;
    cross_axis(&asked, &axis);
    hk_array *x = call->arrays[0], *y = call->arrays[1];
    return hki_matrix_less(
        hki_op_call2(&hki_op_multiply, turned(x, -1, axis), turned(y, -2, axis), NULL),
        hki_op_call2(&hki_op_multiply, turned(x, -2, axis), turned(y, -1, axis), NULL));
}

/* Of samples of one shape, or with one vector as y, along the last axis. */
static void cross_reference(const hki_call *call, const double *const *in, double *const *out)
{
    hki_call asked = *call;
    int64_t axis = -1, inner = 1;
    cross_axis(&asked, &axis);
    const hk_dims *shape = &call->inputs[0]->shape;
    for (int64_t i = shape->ndim + axis + 1; i < shape->ndim; i++)
        inner *= shape->dims[i];
    for (int64_t i = 0; i < call->inputs[0]->size; i++) {
        const int64_t place = i / inner % 3, first = i - place * inner;
        const double *x = in[0] + first, *y = in[1] + (call->inputs[1]->size == 3 ? 0 : first);
        const int64_t next = (place + 1) % 3 * inner, last = (place + 2) % 3 * inner;
        out[0][i] = x[next] * y[last] - x[last] * y[next];
    }
}

static const hki_sample cross_samples[] = {
    {.inputs = {HKI_SHAPE(3), HKI_SHAPE(3)}, HKI_GIVEN(cross, 0)},
    {.inputs = {HKI_SHAPE(4, 3), HKI_SHAPE(4, 3)}, HKI_GIVEN(cross, -1)},
    {.inputs = {HKI_SHAPE(4, 3), HKI_SHAPE(3)}, HKI_GIVEN(cross, 1)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(2, 3, 4)},
     HKI_GIVEN(cross, -2)},
    {.inputs = {HKI_SHAPE(0, 3), HKI_SHAPE(0, 3)}, HKI_GIVEN(cross, 1)},
};

const hk_op hki_op_cross = {
    HKI_OP_NAMED(cross),
    HKI_OP_PARAMS(cross),
    HKI_OP_SAMPLES(cross_samples),
    .signature = "x, y",
    .doc = "Cross products of vectors of 3 elements, which lie along an axis of the result; the "
           "other axes are broadcast.",
    .dtypes = HKI_NUMBERS | HKI_COMPLEX,
    .infer = cross_infer,
    .compose = cross_compose,
    .reference = cross_reference,
    .tolerance_f32 = 1e-6,
};

/* ---- kron --------------------------------------------------------------------------------------------------- */

/* Axis `i` of so many, counted from the first; 1 where x has fewer. */
static int64_t size_at(const hk_dims *x, int i, int ndim)
{
    const int own = i - (ndim - x->ndim);
    return own >= 0 ? x->dims[own] : 1;
}

static bool kron_infer(hki_call *call)
{
    const hk_dims *x = &call->inputs[0]->shape, *y = &call->inputs[1]->shape;
    hk_dims *out = &call->out_shape[0];
    out->ndim = x->ndim > y->ndim ? x->ndim : y->ndim;
    if (2 * out->ndim > HK_MAX_NDIM)
        return hki_call_refuse(call, HK_UNSUPPORTED,
                               "x has %d axes and y %d; %d are the most that kron takes", x->ndim,
                               y->ndim, HK_MAX_NDIM / 2);
    for (int i = 0; i < out->ndim; i++)
        if (__builtin_mul_overflow(size_at(x, i, out->ndim), size_at(y, i, out->ndim),
                                   &out->dims[i]))
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   "axis %d of the result would have too many entries", i);
    return check_promotion(call);
}

/* The axes of x, with one of size 1 behind each, or before it. */
static hk_array *spaced(hk_array *x, int ndim, bool before)
{
    hki_reshape_options shape = {.shape = {.ndim = 2 * ndim}};
    for (int i = 0; i < ndim; i++) {
        shape.shape.dims[2 * i + before] = size_at(&x->shape, i, ndim);
        shape.shape.dims[2 * i + !before] = 1;
    }
    return hki_op_call1(&hki_op_reshape, x, &shape);
}

static hk_array *kron_compose(const hki_call *call)
{
    const int ndim = call->out_shape[0].ndim;
    hk_array *products = hki_op_call2(&hki_op_multiply, spaced(call->arrays[0], ndim, false),
                                      spaced(call->arrays[1], ndim, true), NULL);
    return hki_op_call1(&hki_op_reshape, products,
                        &(const hki_reshape_options){call->out_shape[0]});
}

static void kron_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *x = &call->inputs[0]->shape, *y = &call->inputs[1]->shape,
                  *to = &call->out_shape[0];
    int64_t size = 0;
    hki_dims_size(to, &size);
    for (int64_t i = 0; i < size; i++) {
        int64_t rest = i, left = 0, right = 0, left_scale = 1, right_scale = 1;
        for (int axis = to->ndim - 1; axis >= 0; axis--) {
            const int64_t inner = size_at(y, axis, to->ndim), place = rest % to->dims[axis];
            left += place / inner * left_scale;
            right += place % inner * right_scale;
            left_scale *= size_at(x, axis, to->ndim);
            right_scale *= inner;
            rest /= to->dims[axis];
        }
        out[0][i] = in[0][left] * in[1][right];
    }
}

static const hki_sample kron_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3), HKI_SHAPE(3, 2)}},
    {.inputs = {HKI_SHAPE(4), HKI_SHAPE(2, 3)}},
    {.inputs = {HKI_SHAPE(2, 2, 3), HKI_SHAPE(5)}},
    {.inputs = {HKI_SHAPE_0D, HKI_SHAPE(3)}},
    {.inputs = {HKI_SHAPE(0, 2), HKI_SHAPE(3, 2)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3), HKI_SHAPE(2, 2)}},
};

const hk_op hki_op_kron = {
    HKI_OP_NAMED(kron),
    HKI_OP_SAMPLES(kron_samples),
    .signature = "x, y",
    .doc =
        "Kronecker product: each element of x times all of y, as blocks. The one with fewer axes, "
        "4 at most, has axes of size 1 in front.",
    .dtypes = HKI_NUMBERS | HKI_COMPLEX,
    .infer = kron_infer,
    .compose = kron_compose,
    .reference = kron_reference,
    .tolerance_f32 = 1e-6,
};
