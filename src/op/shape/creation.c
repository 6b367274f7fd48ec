/* Arrays of a pattern: sequence, eye, linspace, those like another one, one_hot, and the triangles
 * of matrices. All are made of constants, counting, comparisons and choices. */
#include "op/elementwise/elementwise.h"
#include "op/shape/copy.h"
#include "op/shape/fill.h"
#include "op/shape/view_op.h"

#include <inttypes.h>
#include <math.h>

static hk_array *constant(const hki_call *call, hk_dims shape, double value, hk_dtype dtype)
{
    const hki_full_options full = {.shape = shape, .value = value, .dtype = dtype};
    return hki_op_call(&hki_op_full, NULL, 0, &full, (hk_device){call->device}, NULL);
}

/* first, first + 1, … */
static hk_array *counting(const hki_call *call, int64_t first, int64_t count, hk_dtype dtype)
{
    const hki_arange_options range = {(double)first, (double)(first + count), 1, dtype};
    return hki_op_call(&hki_op_arange, NULL, 0, &range, (hk_device){call->device}, NULL);
}

static hk_array *as_column(hk_array *x)
{
    return hki_op_call1(&hki_op_expand_dims, x, &(const int64_t){-1});
}

static hk_array *as_dtype(hk_array *x, hk_dtype dtype)
{
    return hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){dtype});
}

/* Sizes that are exact as doubles, and that no sum takes beyond int64. */
static bool is_moderate(int64_t value)
{
    return value >= -((int64_t)1 << 53) && value <= (int64_t)1 << 53;
}

/* The diagonal that an offset means; beyond the matrix all are the same. */
static int64_t diagonal_of(int64_t offset, int64_t rows, int64_t columns)
{
    return offset < -rows ? -rows : offset > columns ? columns : offset;
}

/* ---- sequence ------------------------------------------------------------------------------------------- */

#define SEQUENCE_ARGUMENTS(F, op)                                                                  \
    F(op, INT, first, "", "the first element")                                                     \
    F(op, INT, step, "", "from one element to the next")                                           \
    F(op, INT, count, "", "how many they are")                                                     \
    F(op, DTYPE, dtype, "", "dtype of the result, of real numbers")
HKI_ARGUMENTS(sequence, SEQUENCE_ARGUMENTS)

/* False: beyond int64. The way there may be longer than int64. */
static bool last_of_sequence(const hki_sequence_options *o, int64_t *last)
{
    const uint64_t first = (uint64_t)o->first, step = (uint64_t)o->step,
                   room = o->step < 0 ? first - (uint64_t)INT64_MIN : (uint64_t)INT64_MAX - first;
    uint64_t way = 0;
    if (__builtin_mul_overflow((uint64_t)o->count - 1, o->step < 0 ? -step : step, &way) ||
        way > room)
        return false;
    *last = (int64_t)(o->step < 0 ? first - way : first + way);
    return true;
}

static bool sequence_infer(hki_call *call)
{
    const hki_sequence_options *o = call->options;
    int64_t last = 0;
    call->out_shape[0] = (hk_dims){.ndim = 1, .dims = {o->count}};
    call->out_dtype[0] = o->dtype;
    if (o->count < 0 || !is_moderate(o->count))
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "count is %" PRId64 ", but must be from 0 to 2^53", o->count);
    if (o->dtype == HK_BOOL || hk_dtype_bytes(o->dtype) == 0 || hki_dtype_is_complex(o->dtype))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "the dtype must be of real numbers");
    if (o->count == 0 ||
        (last_of_sequence(o, &last) &&
         (hki_dtype_is_real(o->dtype) || (hk_number_fits(hk_number_of_int(o->first), o->dtype) &&
                                          hk_number_fits(hk_number_of_int(last), o->dtype)))))
        return true;
    return hki_call_refuse(call, HK_OUT_OF_RANGE,
                           "%s does not have all of %" PRId64 " numbers from %" PRId64
                           " by %" PRId64,
                           hk_dtype_name(o->dtype), o->count, o->first, o->step);
}

static hk_array *whole_constant(const hki_call *call, int64_t value)
{
    return (hk_scalar)(hk_number_of_int(value), HK_I64, (hk_device){call->device});
}

/* Modulo 2^64, in which the way may be longer than int64. */
static hk_array *sequence_compose(const hki_call *call)
{
    const hki_sequence_options *o = call->options;
    hk_array *y = counting(call, 0, o->count, HK_I64);
    if (o->step != 1)
        y = hki_op_call2(&hki_op_multiply, y, whole_constant(call, o->step), NULL);
    if (o->first != 0)
        y = hki_op_call2(&hki_op_add, y, whole_constant(call, o->first), NULL);
    return as_dtype(y, o->dtype);
}

static void sequence_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_sequence_options *o = call->options;
    (void)in;
    for (int64_t i = 0; i < o->count; i++)
        out[0][i] = (double)(o->first + i * o->step);
}

static const hki_sample sequence_samples[] = {
    {HKI_GIVEN(sequence, 0, 1, 5, HK_F32)},   {HKI_GIVEN(sequence, 3, -2, 7, HK_F64)},
    {HKI_GIVEN(sequence, -4, 3, 4, HK_I32)},  {HKI_GIVEN(sequence, 250, 5, 2, HK_U8)},
    {HKI_GIVEN(sequence, 100, 7, 0, HK_I64)}, {HKI_GIVEN(sequence, 9, 0, 3, HK_I64)},
};
const hk_op hki_op_sequence = {
    HKI_OP_NAMED(sequence),
    HKI_OP_PARAMS(sequence),
    HKI_OP_SAMPLES(sequence_samples),
    .signature = "",
    .doc = "first, first + step, …: so many whole numbers, exact where hk_arange's doubles are "
           "not; floats "
           "are rounded once. uint64 above INT64_MAX: add a number to it.",
    .infer = sequence_infer,
    .compose = sequence_compose,
    .reference = sequence_reference,
    .no_grad_why = "it has no inputs",
};

/* ---- eye ------------------------------------------------------------------------------------------------ */

#define EYE_ARGUMENTS(F, op)                                                                       \
    F(op, INT, rows, "", "of the matrix")                                                          \
    F(op, INT, columns, "", "of the matrix")                                                       \
    F(op, INT, offset, "", "0: the main diagonal; above it where positive, below where negative")  \
    F(op, DTYPE, dtype, "", "dtype of the result")
HKI_ARGUMENTS(eye, EYE_ARGUMENTS)

static bool eye_infer(hki_call *call)
{
    const hki_eye_options *o = call->options;
    if (o->rows < 0 || o->columns < 0 || !is_moderate(o->rows) || !is_moderate(o->columns))
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "a matrix of %" PRId64 " rows and %" PRId64 " columns cannot be",
                               o->rows, o->columns);
    call->out_shape[0] = (hk_dims){.ndim = 2, .dims = {o->rows, o->columns}};
    call->out_dtype[0] = o->dtype;
    return hki_call_check_dtype(call, o->dtype);
}

static hk_array *eye_compose(const hki_call *call)
{
    const hki_eye_options *o = call->options;
    const int64_t offset = diagonal_of(o->offset, o->rows, o->columns);
    hk_array *place = as_column(counting(call, offset, o->rows, HK_I64));
    return as_dtype(hki_op_call2(&hki_op_equal, place, counting(call, 0, o->columns, HK_I64), NULL),
                    o->dtype);
}

static void eye_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_eye_options *o = call->options;
    (void)in;
    for (int64_t i = 0; i < o->rows * o->columns; i++)
        out[0][i] = i % o->columns == i / o->columns + diagonal_of(o->offset, o->rows, o->columns);
}

static const hki_sample eye_samples[] = {
    {HKI_GIVEN(eye, 3, 3, 0, HK_F32)},         {HKI_GIVEN(eye, 3, 5, 1, HK_F64)},
    {HKI_GIVEN(eye, 4, 2, -2, HK_I32)},        {HKI_GIVEN(eye, 2, 2, 9, HK_U8)},
    {HKI_GIVEN(eye, 0, 3, 0, HK_F32)},         {HKI_GIVEN(eye, 3, 3, 0, HK_BOOL)},
    {HKI_GIVEN(eye, 2, 3, INT64_MAX, HK_F32)}, {HKI_GIVEN(eye, 2, 3, INT64_MIN, HK_I64)},
};
const hk_op hki_op_eye = {
    HKI_OP_NAMED(eye),
    HKI_OP_PARAMS(eye),
    HKI_OP_SAMPLES(eye_samples),
    .signature = "",
    .doc = "A matrix of ones on a diagonal, and of zeros elsewhere.",
    .infer = eye_infer,
    .compose = eye_compose,
    .reference = eye_reference,
    .no_grad_why = "it has no inputs",
};

/* ---- linspace -------------------------------------------------------------------------------------------- */

#define LINSPACE_ARGUMENTS(F, op)                                                                  \
    F(op, F64, start, "", "the first element")                                                     \
    F(op, F64, stop, "", "where the elements end")                                                 \
    F(op, INT, count, "", "how many they are")                                                     \
    F(op, BOOL, endpoint, "", "true: stop is the last element; false: it would be the next one")   \
    F(op, DTYPE, dtype, "", "dtype of the result, of floats")
HKI_ARGUMENTS(linspace, LINSPACE_ARGUMENTS)

static bool linspace_infer(hki_call *call)
{
    const hki_linspace_options *o = call->options;
    if (o->count < 0 || !is_moderate(o->count))
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "count is %" PRId64 ", but must be from 0 to 2^53", o->count);
    if (!isfinite(o->stop - o->start))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "start is %g and stop %g: both and their distance must be finite",
                               o->start, o->stop);
    if (!hki_dtype_is_real(o->dtype))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "dtype is %s, but must be of floats; hk_cast converts",
                               hk_dtype_name(o->dtype));
    call->out_shape[0] = (hk_dims){.ndim = 1, .dims = {o->count}};
    call->out_dtype[0] = o->dtype;
    return true;
}

static double linspace_step(const hki_linspace_options *o)
{
    const int64_t steps = o->count - o->endpoint;
    return steps > 0 ? (o->stop - o->start) / (double)steps : 0;
}

/* The last one is stop itself, whatever rounding makes of the way to it. */
static hk_array *linspace_compose(const hki_call *call)
{
    const hki_linspace_options *o = call->options;
    const hk_dims scalar = {.ndim = 0};
    hk_array *index = counting(call, 0, o->count, HK_F64);
    hk_array *y = hki_op_call2(&hki_op_multiply, index,
                               constant(call, scalar, linspace_step(o), HK_F64), NULL);
    y = hki_op_call2(&hki_op_add, y, constant(call, scalar, o->start, HK_F64), NULL);
    if (o->endpoint && o->count > 1) {
        hk_array *last = constant(call, scalar, (double)(o->count - 1), HK_F64);
        y = hki_op_call3(&hki_op_where, hki_op_call2(&hki_op_equal, index, last, NULL),
                         constant(call, scalar, o->stop, HK_F64), y, NULL);
    }
    return as_dtype(y, o->dtype);
}

static void linspace_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_linspace_options *o = call->options;
    (void)in;
    const int64_t count = o->count;
    for (int64_t i = 0; i < count; i++)
        out[0][i] = o->start + (double)i * linspace_step(o);
    if (o->endpoint && count > 1)
        out[0][count - 1] = o->stop;
}

static const hki_sample linspace_samples[] = {
    {HKI_GIVEN(linspace, 0, 1, 5, true, HK_F32)},
    {HKI_GIVEN(linspace, 2, -3, 7, false, HK_F64)},
    {HKI_GIVEN(linspace, 0.1, 0.7, 4, true, HK_F64)},
    {HKI_GIVEN(linspace, 3, 5, 1, true, HK_F32)},
    {HKI_GIVEN(linspace, 3, 5, 0, true, HK_F32)},
};
const hk_op hki_op_linspace = {
    HKI_OP_NAMED(linspace),
    HKI_OP_PARAMS(linspace),
    HKI_OP_SAMPLES(linspace_samples),
    .signature = "",
    .doc = "Numbers from start to stop at even distances.",
    .infer = linspace_infer,
    .compose = linspace_compose,
    .reference = linspace_reference,
    .tolerance_f32 = 1e-6,
    .no_grad_why = "it has no inputs",
};

/* ---- like another one --------------------------------------------------------------------------------------- */

#define FULL_LIKE_ARGUMENTS(F, op)                                                                 \
    F(op, F64, value, "", "what every element is; of integers beyond 2^53 hk_scalar is exact")
HKI_ARGUMENTS(full_like, FULL_LIKE_ARGUMENTS)

static bool full_like_infer(hki_call *call)
{
    const double value = ((const hki_full_like_options *)call->options)->value;
    const hk_dtype dtype = call->inputs[0]->dtype;
    int64_t stored;
    hki_infer_same(call);
    return !hki_dtype_is_integer(dtype) ||
           (value == trunc(value) && hki_dtype_store(dtype, &stored, value)) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s does not have the value %g",
                           hk_dtype_name(dtype), value);
}

static hk_array *full_like_compose(const hki_call *call)
{
    return constant(call, call->out_shape[0], ((const hki_full_like_options *)call->options)->value,
                    call->out_dtype[0]);
}

static void full_like_reference(const hki_call *call, const double *const *in, double *const *out)
{
    (void)in;
    for (int64_t i = 0; i < call->inputs[0]->size; i++)
        out[0][i] = ((const hki_full_like_options *)call->options)->value;
}

static hk_array *zeros_like_compose(const hki_call *call)
{
    return constant(call, call->out_shape[0], 0, call->out_dtype[0]);
}

static void zeros_like_reference(const hki_call *call, const double *const *in, double *const *out)
{
    (void)in;
    for (int64_t i = 0; i < call->inputs[0]->size; i++)
        out[0][i] = 0;
}

static const hki_sample full_like_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3)}, HKI_GIVEN(full_like, 1)},
    {.inputs = {HKI_SHAPE_0D}, HKI_GIVEN(full_like, 1)},
    {.inputs = {HKI_SHAPE(0, 3)}, HKI_GIVEN(full_like, 1)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(3, 4)}, HKI_GIVEN(full_like, 1)},
};
static const hki_sample zeros_like_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3)}},
    {.inputs = {HKI_SHAPE_0D}},
    {.inputs = {HKI_SHAPE(0, 3)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(3, 4)}},
};

#define LIKE(op, text)                                                                             \
    HKI_OP_NAMED(op), HKI_OP_SAMPLES(op##_samples),                                                \
        .signature = "x", .doc = text, .dtypes = HKI_ANY_DTYPE, .shape_only = true,                \
        .compose = op##_compose, .reference = op##_reference, .no_grad_inputs = 1,                 \
        .no_grad_why = "it does not depend on the values of x"
const hk_op hki_op_full_like = {
    LIKE(full_like, "One number, of x's shape and dtype, on its device."), HKI_OP_PARAMS(full_like),
    .infer = full_like_infer};
const hk_op hki_op_zeros_like = {LIKE(zeros_like, "Zeros of x's shape and dtype, on its device."),
                                 .infer = hki_infer_same};

/* ---- one_hot --------------------------------------------------------------------------------------------------- */

#define ONE_HOT_ARGUMENTS(F, op)                                                                   \
    F(op, INT, classes, "", "size of the new axis")                                                \
    F(op, DTYPE, dtype, "", "dtype of the result")
HKI_ARGUMENTS(one_hot, ONE_HOT_ARGUMENTS)

static bool one_hot_infer(hki_call *call)
{
    const hki_one_hot_options *o = call->options;
    const hki_shape_view *x = call->inputs[0];
    if (x->shape.ndim == HK_MAX_NDIM)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x has %d axes already, the most that there may be", HK_MAX_NDIM);
    if (o->classes < 0 || !is_moderate(o->classes))
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "classes is %" PRId64 ", but must be from 0 to 2^53", o->classes);
    call->out_shape[0] = x->shape;
    call->out_shape[0].dims[call->out_shape[0].ndim++] = o->classes;
    call->out_dtype[0] = o->dtype;
    return hki_call_check_dtype(call, o->dtype);
}

static hk_array *one_hot_compose(const hki_call *call)
{
    const hki_one_hot_options *o = call->options;
    hk_array *label = as_column(as_dtype(call->arrays[0], HK_I64));
    return as_dtype(hki_op_call2(&hki_op_equal, label, counting(call, 0, o->classes, HK_I64), NULL),
                    o->dtype);
}

static void one_hot_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const int64_t classes = ((const hki_one_hot_options *)call->options)->classes;
    for (int64_t i = 0; i < call->inputs[0]->size * classes; i++)
        out[0][i] = in[0][i / classes] == (double)(i % classes);
}

static const hki_sample one_hot_samples[] = {
    {.inputs = {HKI_SHAPE(7)}, .low = 0, .high = 0.5, HKI_GIVEN(one_hot, 5, HK_F32)},
    {.inputs = {HKI_SHAPE_0D}, .low = 0, .high = 0.3, HKI_GIVEN(one_hot, 3, HK_F64)},
    {.inputs = {HKI_SHAPE(2, 3)}, .low = -0.3, .high = 0.9, HKI_GIVEN(one_hot, 4, HK_BOOL)},
    {.inputs = {HKI_SHAPE(0)}, HKI_GIVEN(one_hot, 4, HK_I64)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(3, 4)}, HKI_GIVEN(one_hot, 2, HK_F32)},
};
const hk_op hki_op_one_hot = {
    HKI_OP_NAMED(one_hot),
    HKI_OP_PARAMS(one_hot),
    HKI_OP_SAMPLES(one_hot_samples),
    .signature = "x",
    .doc = "A new last axis with 1 at the place that each integer of x names, and 0 elsewhere: all "
           "zeros where x is negative or not below classes.",
    .dtypes = HKI_INTEGERS,
    .infer = one_hot_infer,
    .compose = one_hot_compose,
    .reference = one_hot_reference,
    .no_grad_why = "x is of integers",
};

/* ---- tril and triu ------------------------------------------------------------------------------------------------ */

#define TRIL_ARGUMENTS(F, op)                                                                      \
    F(op, INT, offset, "", "0: the main diagonal; above it where positive, below where negative")
HKI_ARGUMENTS(tril, TRIL_ARGUMENTS)
#define triu_params tril_params

static bool triangle_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0];
    call->out_shape[0] = x->shape;
    call->out_dtype[0] = x->dtype;
    return x->shape.ndim >= 2 ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT, "x has %d axes; matrices have two at least",
                           x->shape.ndim);
}

/* on_side: greater_equal of the diagonal's columns keeps what lies below. */
static hk_array *triangle(const hki_call *call, hk_array *x, const hk_op *on_side, int64_t offset,
                          double other)
{
    const int64_t *size = &x->shape.dims[x->shape.ndim - 2];
    offset = diagonal_of(offset, size[0], size[1]);
    hk_array *diagonal = as_column(counting(call, offset, size[0], HK_I64));
    hk_array *kept = hki_op_call2(on_side, diagonal, counting(call, 0, size[1], HK_I64), NULL);
    return hki_op_call3(&hki_op_where, kept, x,
                        constant(call, (hk_dims){.ndim = 0}, other, x->dtype), NULL);
}

hk_array *hki_lower_triangle(const hki_call *call, hk_array *x, double other)
{
    return triangle(call, x, &hki_op_greater_equal, 0, other);
}

static hk_array *tril_compose(const hki_call *call)
{
    const hki_tril_options *o = call->options;
    return triangle(call, call->arrays[0], &hki_op_greater_equal, o->offset, 0);
}

static hk_array *triu_compose(const hki_call *call)
{
    const hki_tril_options *o = call->options;
    return triangle(call, call->arrays[0], &hki_op_less_equal, o->offset, 0);
}

static void triangle_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_shape_view *x = call->inputs[0];
    const int64_t *size = &x->shape.dims[x->shape.ndim - 2];
    const int64_t offset =
        diagonal_of(((const hki_tril_options *)call->options)->offset, size[0], size[1]);
    for (int64_t i = 0; i < x->size; i++) {
        const int64_t diagonal = i / size[1] % size[0] + offset, column = i % size[1];
        out[0][i] =
            (call->op == &hki_op_tril ? column <= diagonal : column >= diagonal) ? in[0][i] : 0;
    }
}

static const hki_sample triangle_samples[] = {
    {.inputs = {HKI_SHAPE(4, 4)}, HKI_GIVEN(tril, 0)},
    {.inputs = {HKI_SHAPE(3, 5)}, HKI_GIVEN(tril, 1)},
    {.inputs = {HKI_SHAPE(2, 4, 3)}, HKI_GIVEN(tril, -2)},
    {.inputs = {HKI_SHAPE(2, 0, 3)}, HKI_GIVEN(tril, 0)},
    {.inputs = {HKI_SHAPE(2, 3)}, HKI_GIVEN(tril, INT64_MAX)},
    {.inputs = {HKI_SHAPE(2, 3)}, HKI_GIVEN(tril, INT64_MIN)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 4, 3)}, HKI_GIVEN(tril, 0)},
};

#define TRIANGLE(op, text)                                                                         \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        .params = op##_params,                                                                     \
        .options_bytes = sizeof(hki_tril_options),                                                 \
        HKI_OP_SAMPLES(triangle_samples),                                                          \
        .signature = "x",                                                                          \
        .doc = text,                                                                               \
        .dtypes = HKI_ANY_DTYPE,                                                                   \
        .infer = triangle_infer,                                                                   \
        .compose = op##_compose,                                                                   \
        .reference = triangle_reference,                                                           \
    }
TRIANGLE(tril, "Matrices in the last two axes, with zeros above a diagonal.");
TRIANGLE(triu, "Matrices in the last two axes, with zeros below a diagonal.");
