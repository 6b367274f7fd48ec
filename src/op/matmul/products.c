/* Products that are made of others: outer, vecdot, tensordot; and sums and differences of what lies at even distances: matrix_trace,
 * diff. */
#include "op/reduce/reduce.h"
#include "op/reduce/sum_products.h"
#include "op/shape/copy.h"
#include "op/shape/reshape.h"
#include "op/shape/view_op.h"

#include <inttypes.h>

static bool check_promotion(hki_call *call)
{
    const hk_dtype x = call->inputs[0]->dtype, y = call->inputs[1]->dtype;
    return hk_dtype_promote(x, y, &call->out_dtype[0]) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "x is %s and y %s: no dtype of one kind holds both; use hk_cast",
                           hk_dtype_name(x), hk_dtype_name(y));
}

static hk_array *as_result(const hki_call *call, hk_array *x)
{
    return hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){call->out_dtype[0]});
}

static hk_array *summed(hk_array *x, int64_t axis)
{
    const hki_sum_options over = {.axes = {.ndim = 1, .dims = {axis}}};
    return hki_op_call1(&hki_op_sum, x, &over);
}

/* ---- outer ---------------------------------------------------------------------------------------------- */

static bool outer_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0], *y = call->inputs[1];
    if (x->shape.ndim != 1 || y->shape.ndim != 1)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x has %d axes and y %d: both must be vectors, of one axis",
                               x->shape.ndim, y->shape.ndim);
    call->out_shape[0] = (hk_dims){.ndim = 2, .dims = {x->size, y->size}};
    return check_promotion(call);
}

static hk_array *outer_compose(const hki_call *call)
{
    hk_array *column = hki_op_call1(&hki_op_expand_dims, call->arrays[0], &(const int64_t){-1});
    return hki_op_call2(&hki_op_multiply, column, call->arrays[1], NULL);
}

static void outer_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const int64_t columns = call->inputs[1]->size;
    for (int64_t i = 0; i < call->inputs[0]->size * columns; i++)
        out[0][i] = in[0][i / columns] * in[1][i % columns];
}

static const hki_sample outer_samples[] = {
    {.inputs = {HKI_SHAPE(4), HKI_SHAPE(3)}},
    {.inputs = {HKI_SHAPE(0), HKI_SHAPE(3)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5), HKI_SHAPE(2)}},
};
const hk_op hki_op_outer = {
    HKI_OP_NAMED(outer),
    HKI_OP_SAMPLES(outer_samples),
    .signature = "x, y",
    .doc = "The products of each element of the vector x with each of the vector y, as a matrix.",
    .formula = "result[i][j] = x[i] y[j]",
    .dtypes = HKI_NUMBERS | HKI_COMPLEX,
    .infer = outer_infer,
    .compose = outer_compose,
    .reference = outer_reference,
    .tolerance_f32 = 1e-6,
};

/* ---- vecdot --------------------------------------------------------------------------------------------- */

static bool vecdot_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0], *y = call->inputs[1];
    const int nx = x->shape.ndim, ny = y->shape.ndim;
    char a[224], b[224];
    if (nx < 1 || ny < 1)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x has %d axes and y %d: vectors have one at least", nx, ny);
    hki_shape_view_describe(x, a, sizeof a);
    hki_shape_view_describe(y, b, sizeof b);
    if (x->shape.dims[nx - 1] != y->shape.dims[ny - 1])
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x is %s and y %s: their last axes must have one size", a, b);
    if (!hki_dims_broadcast(&x->shape, &y->shape, &call->out_shape[0]))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x is %s and y %s: aligned at the last axis, sizes must be equal "
                               "or 1",
                               a, b);
    call->out_shape[0].ndim--;
    if (!check_promotion(call))
        return false;
    call->out_dtype[0] = hki_sum_dtype(call->out_dtype[0]);
    return true;
}

static hk_array *vecdot_compose(const hki_call *call)
{
    hk_array *x = call->arrays[0];
    if (hki_dtype_is_complex(x->dtype))
        x = hki_op_call1(&hki_op_conj, x, NULL);
    return hki_sum_products(x, call->arrays[1]);
}

/* Of samples with as many axes. */
static void vecdot_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_shape_view *x = call->inputs[0], *y = call->inputs[1];
    const int64_t size = x->shape.dims[x->shape.ndim - 1];
    int64_t count = 0;
    hki_dims_size(&call->out_shape[0], &count);
    for (int64_t i = 0; i < count; i++) {
        const int64_t a = x->size == size ? 0 : i, b = y->size == size ? 0 : i;
        out[0][i] = 0;
        for (int64_t j = 0; j < size; j++)
            out[0][i] += in[0][a * size + j] * in[1][b * size + j];
    }
}

static const hki_sample vecdot_samples[] = {
    {.inputs = {HKI_SHAPE(7), HKI_SHAPE(7)}},
    {.inputs = {HKI_SHAPE(4, 5), HKI_SHAPE(4, 5)}},
    {.inputs = {HKI_SHAPE(4, 5), HKI_SHAPE(5)}},
    {.inputs = {HKI_SHAPE(3, 0), HKI_SHAPE(3, 0)}},
    {.inputs = {HKI_SHAPE(61), HKI_SHAPE(61)}},
    {.inputs = {HKI_SHAPE(3, 37), HKI_SHAPE(3, 37)}},
    {.inputs = {HKI_SHAPE(3, 33), HKI_SHAPE(33)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(3, 4), HKI_SHAPE(1, 4)}},
};
const hk_op hki_op_vecdot = {
    HKI_OP_NAMED(vecdot),
    HKI_OP_SAMPLES(vecdot_samples),
    .signature = "x, y",
    .doc = "Dot products of vectors, which lie along the last axes; the other axes are broadcast. "
           "Integers as in hk_sum; complex x are conjugated.",
    .formula = "sum of x y along the last axis",
    .dtypes = HKI_NUMBERS | HKI_COMPLEX,
    .infer = vecdot_infer,
    .compose = vecdot_compose,
    .reference = vecdot_reference,
    .tolerance_f32 = 1e-5,
};

/* ---- tensordot ------------------------------------------------------------------------------------------- */

#define TENSORDOT_ARGUMENTS(F, op)                                                                 \
    F(op, INT, axes, "", "how many of the last axes of x and of the first ones of y go")
HKI_ARGUMENTS(tensordot, TENSORDOT_ARGUMENTS)

static bool tensordot_infer(hki_call *call)
{
    const int64_t axes = ((const hki_tensordot_options *)call->options)->axes;
    const hk_dims *x = &call->inputs[0]->shape, *y = &call->inputs[1]->shape;
    hk_dims *out = &call->out_shape[0];
    if (axes < 0 || axes > x->ndim || axes > y->ndim)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "axes is %" PRId64 ", but x has %d axes and y %d", axes, x->ndim,
                               y->ndim);
    const int left = x->ndim - (int)axes;
    for (int i = 0; i < axes; i++)
        if (x->dims[left + i] != y->dims[i])
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   "axis %d of x has %" PRId64 " entries, axis %d of y %" PRId64
                                   ": they must be as many",
                                   left + i, x->dims[left + i], i, y->dims[i]);
    if (x->ndim + y->ndim - 2 * axes > HK_MAX_NDIM)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "the result would have %" PRId64 " axes; %d are the most",
                               x->ndim + y->ndim - 2 * axes, HK_MAX_NDIM);
    out->ndim = 0;
    for (int i = 0; i < left; i++)
        out->dims[out->ndim++] = x->dims[i];
    for (int i = (int)axes; i < y->ndim; i++)
        out->dims[out->ndim++] = y->dims[i];
    return check_promotion(call);
}

static hk_array *as_matrix(hk_array *x, int split, hk_dtype dtype)
{
    hki_reshape_options two = {.shape = {.ndim = 2, .dims = {1, 1}}};
    for (int i = 0; i < x->shape.ndim; i++)
        two.shape.dims[i >= split] *= x->shape.dims[i];
    x = hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){dtype});
    return hki_op_call1(&hki_op_reshape, x, &two);
}

static hk_array *tensordot_compose(const hki_call *call)
{
    const int axes = (int)((const hki_tensordot_options *)call->options)->axes;
    const hk_dtype dtype = call->out_dtype[0];
    hk_array *x = call->arrays[0];
    hk_array *product = hki_op_call2(&hki_op_matmul, as_matrix(x, x->shape.ndim - axes, dtype),
                                     as_matrix(call->arrays[1], axes, dtype), NULL);
    return as_result(call, hki_op_call1(&hki_op_reshape, product,
                                        &(const hki_reshape_options){call->out_shape[0]}));
}

static void tensordot_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const int axes = (int)((const hki_tensordot_options *)call->options)->axes;
    const hk_dims *y = &call->inputs[1]->shape;
    int64_t inner = 1, columns = 1, count = 0;
    for (int i = 0; i < y->ndim; i++)
        *(i < axes ? &inner : &columns) *= y->dims[i];
    hki_dims_size(&call->out_shape[0], &count);
    for (int64_t i = 0; i < count; i++) {
        out[0][i] = 0;
        for (int64_t k = 0; k < inner; k++)
            out[0][i] += in[0][i / columns * inner + k] * in[1][k * columns + i % columns];
    }
}

static const hki_sample tensordot_samples[] = {
    {.inputs = {HKI_SHAPE(3, 4), HKI_SHAPE(4, 2)}, HKI_GIVEN(tensordot, 1)},
    {.inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(3, 4, 5)}, HKI_GIVEN(tensordot, 2)},
    {.inputs = {HKI_SHAPE(3), HKI_SHAPE(2)}, HKI_GIVEN(tensordot, 0)},
    {.inputs = {HKI_SHAPE(3, 2), HKI_SHAPE(3, 2)}, HKI_GIVEN(tensordot, 2)},
    {.inputs = {HKI_SHAPE(2, 0), HKI_SHAPE(0, 3)}, HKI_GIVEN(tensordot, 1)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(4, 3)},
     HKI_GIVEN(tensordot, 1)},
};
const hk_op hki_op_tensordot = {
    HKI_OP_NAMED(tensordot),
    HKI_OP_PARAMS(tensordot),
    HKI_OP_SAMPLES(tensordot_samples),
    .signature = "x, y",
    .doc = "Sums of products over the last axes of x and the first ones of y; hk_permute_dims "
           "brings others there. 0 axes: all products.",
    .dtypes = HKI_INEXACT | 1u << HK_I32 | 1u << HK_I64,
    .infer = tensordot_infer,
    .compose = tensordot_compose,
    .reference = tensordot_reference,
    .tolerance_f32 = 1e-5,
};

/* ---- trace ------------------------------------------------------------------------------------------------ */

#define TRACE_ARGUMENTS(F, op)                                                                     \
    F(op, INT, offset, "", "0: the main diagonal; above it where positive, below where negative")
HKI_ARGUMENTS(matrix_trace, TRACE_ARGUMENTS)

static bool matrix_trace_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0];
    if (x->shape.ndim < 2)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x has %d axes; matrices have two at least", x->shape.ndim);
    call->out_shape[0] = x->shape;
    call->out_shape[0].ndim -= 2;
    call->out_dtype[0] = hki_sum_dtype(x->dtype);
    return true;
}

static hk_array *matrix_trace_compose(const hki_call *call)
{
    return summed(hki_op_call1(&hki_op_diagonal, call->arrays[0], call->options), -1);
}

static void matrix_trace_reference(const hki_call *call, const double *const *in,
                                   double *const *out)
{
    const hki_shape_view *x = call->inputs[0];
    const int64_t offset = ((const hki_matrix_trace_options *)call->options)->offset;
    const int64_t *size = &x->shape.dims[x->shape.ndim - 2];
    int64_t count = 0;
    hki_dims_size(&call->out_shape[0], &count);
    for (int64_t i = 0; i < count; i++) {
        out[0][i] = 0;
        for (int64_t row = 0; row < size[0]; row++)
            if (row + offset >= 0 && row + offset < size[1])
                out[0][i] += in[0][(i * size[0] + row) * size[1] + row + offset];
    }
}

static const hki_sample matrix_trace_samples[] = {
    {.inputs = {HKI_SHAPE(4, 4)}, HKI_GIVEN(matrix_trace, 0)},
    {.inputs = {HKI_SHAPE(2, 3, 5)}, HKI_GIVEN(matrix_trace, 1)},
    {.inputs = {HKI_SHAPE(5, 3)}, HKI_GIVEN(matrix_trace, -2)},
    {.inputs = {HKI_SHAPE(2, 0, 3)}, HKI_GIVEN(matrix_trace, 0)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 4, 3)}, HKI_GIVEN(matrix_trace, 0)},
};
const hk_op hki_op_matrix_trace = {
    HKI_OP_NAMED(matrix_trace),
    HKI_OP_PARAMS(matrix_trace),
    HKI_OP_SAMPLES(matrix_trace_samples),
    .signature = "x",
    .doc = "Sums of the diagonals of matrices in the last two axes. Integers as in hk_sum.",
    .dtypes = HKI_ANY_DTYPE,
    .infer = matrix_trace_infer,
    .compose = matrix_trace_compose,
    .reference = matrix_trace_reference,
    .tolerance_f32 = 1e-6,
};

/* ---- diff -------------------------------------------------------------------------------------------------- */

#define DIFF_ARGUMENTS(F, op) F(op, INT, axis, "", "a negative one counts from the last")
HKI_ARGUMENTS(diff, DIFF_ARGUMENTS)

static bool diff_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0];
    int64_t axis = ((const hki_diff_options *)call->options)->axis;
    if (!hki_call_take_axis(call, "axis", &axis, x->shape.ndim))
        return false;
    call->out_shape[0] = x->shape;
    call->out_shape[0].dims[axis] -= x->shape.dims[axis] > 0;
    call->out_dtype[0] = x->dtype;
    return true;
}

static hk_array *diff_compose(const hki_call *call)
{
    hk_array *x = call->arrays[0];
    const int axis =
        hki_axis_from_front(((const hki_diff_options *)call->options)->axis, x->shape.ndim);
    const int64_t size = x->shape.dims[axis], from = size > 0;
    return hki_op_call2(&hki_op_subtract, (hk_slice)(x, axis, from, size),
                        (hk_slice)(x, axis, 0, size - from), NULL);
}

static void diff_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *shape = &call->out_shape[0];
    const int axis =
        hki_axis_from_front(((const hki_diff_options *)call->options)->axis, shape->ndim);
    int64_t inner = 1, count = 0;
    for (int i = axis + 1; i < shape->ndim; i++)
        inner *= shape->dims[i];
    hki_dims_size(shape, &count);
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = i + i / inner / shape->dims[axis] * inner;
        out[0][i] = in[0][at + inner] - in[0][at];
    }
}

static const hki_sample diff_samples[] = {
    {.inputs = {HKI_SHAPE(7)}, HKI_GIVEN(diff, 0)},
    {.inputs = {HKI_SHAPE(4, 3)}, HKI_GIVEN(diff, -1)},
    {.inputs = {HKI_SHAPE(2, 4, 3)}, HKI_GIVEN(diff, 1)},
    {.inputs = {HKI_SHAPE(3, 1)}, HKI_GIVEN(diff, 1)},
    {.inputs = {HKI_SHAPE(3, 0)}, HKI_GIVEN(diff, 1)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 4)}, HKI_GIVEN(diff, 0)},
};
const hk_op hki_op_diff = {
    HKI_OP_NAMED(diff),
    HKI_OP_PARAMS(diff),
    HKI_OP_SAMPLES(diff_samples),
    .signature = "x",
    .doc = "What each element along an axis is more than the one before: one less than x has.",
    .dtypes = HKI_NUMBERS | HKI_COMPLEX,
    .infer = diff_infer,
    .compose = diff_compose,
    .reference = diff_reference,
    .tolerance_f32 = 1e-6,
};
