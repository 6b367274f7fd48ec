/* The Fourier transforms of the array API standard's extension, and what goes with them: all are made of `fourier`. */
#include "op/fft/fourier.h"
#include "op/reduce/line.h"
#include "op/reduce/reduce.h"
#include "op/shape/fill.h"
#include "op/shape/join.h"

#include <hocket/array.h>
#include <inttypes.h>
#include <math.h>

/* ---- options ------------------------------------------------------------------------------------------------ */

#define FFT_ARGUMENTS(F, op)                                                                       \
    F(op, INT, n, "", "length of the transform, to which lines are cut or filled up; 0: as it is") \
    F(op, INT, axis, "", "a negative one counts from the last")                                    \
    F(op, INT, norm, "", "an hk_fft_norm")
HKI_ARGUMENTS(fft, FFT_ARGUMENTS)

#define FFTN_ARGUMENTS(F, op)                                                                      \
    F(op, DIMS, sizes, "", "lengths along the axes, as n of hk_fft; hk_shape(): as they are")      \
    F(op, DIMS, axes, "", "the axes; hk_shape(): the last ones, as many as sizes, or all")         \
    F(op, INT, norm, "", "an hk_fft_norm")
HKI_ARGUMENTS(fftn, FFTN_ARGUMENTS)

/* What sets the operators apart; hk_op.data. */
typedef enum fft_kind {
    OF_COMPLEX, /* complex to complex */
    OF_REAL,    /* real to half of a symmetric spectrum */
    TO_REAL     /* the other way */
} fft_kind;
typedef struct transform_rule {
    fft_kind kind;
    int sign;
    hk_fft_norm full; /* the norm by which it is divided by n */
} transform_rule;

static bool check_norm(hki_call *call, int64_t norm)
{
    return (norm >= HK_FFT_BACKWARD && norm <= HK_FFT_FORWARD) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "norm is %" PRId64 ", but must be an hk_fft_norm, 0 to 2", norm);
}

/* What a real transform takes, and others of real numbers give. */
static bool check_kind(hki_call *call, fft_kind kind)
{
    const hk_dtype dtype = call->inputs[0]->dtype;
    return kind != OF_REAL || hki_dtype_is_real(dtype) ||
           hki_call_refuse(call, HK_UNSUPPORTED,
                           "x is %s, but %s is of real numbers, float32 or float64; hk_fft is of "
                           "complex ones",
                           hk_dtype_name(dtype), call->op->name);
}

static hk_dtype result_dtype(fft_kind kind, hk_dtype x)
{
    const bool is_wide = hki_dtype_of_parts(x) == HK_F64;
    return kind == TO_REAL ? (is_wide ? HK_F64 : HK_F32) : is_wide ? HK_C128 : HK_C64;
}

/* The length that 0 stands for. */
static int64_t length_of(fft_kind kind, int64_t n, int64_t size)
{
    return n ? n : kind == TO_REAL ? 2 * (size - 1) : size;
}

static int64_t result_size(fft_kind kind, int64_t n)
{
    return kind == OF_REAL ? n / 2 + 1 : n;
}

static bool check_length(hki_call *call, const char *name, int64_t given, fft_kind kind,
                         int64_t size)
{
    const int64_t n = length_of(kind, given, size);
    if (n >= 1 && n <= (int64_t)1 << 48)
        return true;
    if (given)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "%s is %" PRId64
                               ", but must be from 1 to 2^48, or 0 for the size of "
                               "the axis",
                               name, given);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "an axis has %" PRId64
                           " elements, which makes a transform of length %" PRId64
                           "; give a length of 1 or more",
                           size, n);
}

static double scale_of(const transform_rule *rule, int64_t norm, double n)
{
    return norm == HK_FFT_ORTHO ? 1 / sqrt(n) : norm == (int64_t)rule->full ? 1 / n : 1;
}

static hk_array *transformed(const transform_rule *rule, hk_array *x, int axis, int64_t n,
                             int64_t norm)
{
    n = length_of(rule->kind, n, x->shape.dims[axis]);
    const hki_fourier_options of = {.axis = axis,
                                    .n = n,
                                    .out = result_size(rule->kind, n),
                                    .sign = rule->sign,
                                    .weights = rule->kind == TO_REAL ? HKI_FOURIER_WEIGH_IN
                                                                     : HKI_FOURIER_PLAIN,
                                    .scale = scale_of(rule, norm, (double)n),
                                    .is_real = rule->kind == TO_REAL};
    /* Of a half of a spectrum what is behind its middle does not count. */
    const int64_t half = n / 2 + 1;
    if (rule->kind == TO_REAL && x->shape.dims[axis] > half)
        x = (hk_slice)(x, axis, 0, half);
    return hki_op_call1(&hki_op_fourier, x, &of);
}

/* ---- along one axis ---------------------------------------------------------------------------------------------- */

static bool infer(hki_call *call)
{
    const hki_fft_options *o = call->options;
    const transform_rule *rule = call->op->data;
    const hki_shape_view *x = call->inputs[0];
    int64_t axis = o->axis;
    if (!hki_call_take_axis(call, "axis", &axis, x->shape.ndim) || !check_norm(call, o->norm) ||
        !check_kind(call, rule->kind) ||
        !check_length(call, "n", o->n, rule->kind, x->shape.dims[axis]))
        return false;
    call->out_shape[0] = x->shape;
    call->out_shape[0].dims[axis] =
        result_size(rule->kind, length_of(rule->kind, o->n, x->shape.dims[axis]));
    call->out_dtype[0] = result_dtype(rule->kind, x->dtype);
    return true;
}

static hk_array *compose(const hki_call *call)
{
    const hki_fft_options *o = call->options;
    hk_array *x = call->arrays[0];
    const int axis = hki_axis_from_front(o->axis, x->shape.ndim);
    return transformed(call->op->data, x, axis, o->n, o->norm);
}

#define FFT(op, rule_kind, rule_sign, rule_full, formula_text, text)                               \
    static const transform_rule op##_rule = {rule_kind, rule_sign, rule_full};                     \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        .params = fft_params,                                                                      \
        .options_bytes = sizeof(hki_fft_options),                                                  \
        .signature = "x",                                                                          \
        .doc = text,                                                                               \
        .formula = formula_text,                                                                   \
        .dtypes = HKI_INEXACT,                                                                     \
        .host_only = true,                                                                         \
        .infer = infer,                                                                            \
        .compose = compose,                                                                        \
        .untested = "fourier_test.c tests it",                                                     \
        .data = &op##_rule,                                                                        \
    }
FFT(fft, OF_COMPLEX, -1, HK_FFT_FORWARD, "y[k] = sum of x[j] e ** (-2 pi i j k / n)",
    "Discrete Fourier transforms of lines along an axis; a real x counts as complex. Computed in "
    "double "
    "precision, in time n log n for all lengths.");
FFT(ifft, OF_COMPLEX, 1, HK_FFT_BACKWARD, "y[k] = sum of x[j] e ** (2 pi i j k / n) / n",
    "The reverse of hk_fft.");
FFT(rfft, OF_REAL, -1, HK_FFT_FORWARD, NULL,
    "The first n / 2 + 1 elements of hk_fft of a real x: the others are their conjugates.");
FFT(irfft, TO_REAL, 1, HK_FFT_BACKWARD, NULL,
    "The reverse of hk_rfft, real: x has the first n / 2 + 1 elements of a spectrum. n is 2 (size "
    "- 1) by "
    "default; give odd ones.");
FFT(hfft, TO_REAL, -1, HK_FFT_FORWARD, NULL,
    "hk_fft of a signal with a real spectrum: x has its first n / 2 + 1 elements. n is 2 (size - "
    "1) by "
    "default; give odd ones.");
FFT(ihfft, OF_REAL, 1, HK_FFT_BACKWARD, NULL,
    "The reverse of hk_hfft: the first n / 2 + 1 elements of hk_ifft of a real x.");

/* ---- along several ------------------------------------------------------------------------------------------------- */

typedef struct fft_axes {
    int count, axis[HK_MAX_NDIM];
    int64_t n[HK_MAX_NDIM];
} fft_axes;

/* Axes from the front, of options that have been checked but for the axes. */
static fft_axes axes_of(const hki_fftn_options *o, int ndim)
{
    fft_axes self = {.count = o->axes.ndim ? o->axes.ndim : o->sizes.ndim ? o->sizes.ndim : ndim};
    for (int i = 0; i < self.count; i++) {
        self.axis[i] =
            o->axes.ndim ? hki_axis_from_front(o->axes.dims[i], ndim) : ndim - self.count + i;
        self.n[i] = o->sizes.ndim ? o->sizes.dims[i] : 0;
    }
    return self;
}

static bool check_axes(hki_call *call, const hki_fftn_options *o, int ndim)
{
    unsigned mask;
    const hki_sum_options axes = {.axes = o->axes};
    if (o->sizes.ndim < 0 || o->sizes.ndim > HK_MAX_NDIM)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "sizes holds %d sizes; it may hold 0 … %d", o->sizes.ndim,
                               HK_MAX_NDIM);
    if (!hki_reduce_mask(call, &axes, ndim, &mask))
        return false;
    if (o->axes.ndim && o->sizes.ndim && o->axes.ndim != o->sizes.ndim)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "sizes holds %d sizes, axes %d axes: they must be as many",
                               o->sizes.ndim, o->axes.ndim);
    return o->sizes.ndim <= ndim ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT, "sizes holds %d sizes, but x has %d axes",
                           o->sizes.ndim, ndim);
}

/* Of all but the last axis: complex ones. */
static fft_kind kind_of(const transform_rule *rule, const fft_axes *axes, int i)
{
    return i == axes->count - 1 ? rule->kind : OF_COMPLEX;
}

static bool infer_n(hki_call *call)
{
    const hki_fftn_options *o = call->options;
    const transform_rule *rule = call->op->data;
    const hki_shape_view *x = call->inputs[0];
    hk_dims *out = &call->out_shape[0];
    if (!check_axes(call, o, x->shape.ndim) || !check_norm(call, o->norm) ||
        !check_kind(call, rule->kind))
        return false;
    const fft_axes axes = axes_of(o, x->shape.ndim);
    if (axes.count == 0 && rule->kind != OF_COMPLEX)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "x has no axes, but %s needs one",
                               call->op->name);
    *out = x->shape;
    for (int i = 0; i < axes.count; i++) {
        const fft_kind kind = kind_of(rule, &axes, i);
        const int64_t size = x->shape.dims[axes.axis[i]];
        if (!check_length(call, "a size", axes.n[i], kind, size))
            return false;
        out->dims[axes.axis[i]] = result_size(kind, length_of(kind, axes.n[i], size));
    }
    call->out_dtype[0] = result_dtype(rule->kind, x->dtype);
    return true;
}

/* A real transform goes first, one to real numbers last; it is that of the last axis. */
static hk_array *compose_n(const hki_call *call)
{
    const hki_fftn_options *o = call->options;
    const transform_rule *rule = call->op->data;
    const transform_rule plain = {OF_COMPLEX, rule->sign, rule->full};
    hk_array *x = call->arrays[0];
    const fft_axes axes = axes_of(o, x->shape.ndim);
    const bool is_first = rule->kind == OF_REAL;
    if (axes.count == 0)
        return hki_op_call1(&hki_op_cast, x, &(const hk_dtype){call->out_dtype[0]});
    for (int i = 0; i < axes.count; i++) {
        const int at = is_first ? axes.count - 1 - i : i;
        x = transformed(at == axes.count - 1 ? rule : &plain, x, axes.axis[at], axes.n[at],
                        o->norm);
    }
    return x;
}

#define FFTN(op, rule_kind, rule_sign, rule_full, text)                                            \
    static const transform_rule op##_rule = {rule_kind, rule_sign, rule_full};                     \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        .params = fftn_params,                                                                     \
        .options_bytes = sizeof(hki_fftn_options),                                                 \
        .signature = "x",                                                                          \
        .doc = text,                                                                               \
        .dtypes = HKI_INEXACT,                                                                     \
        .host_only = true,                                                                         \
        .infer = infer_n,                                                                          \
        .compose = compose_n,                                                                      \
        .untested = "fourier_test.c tests it",                                                     \
        .data = &op##_rule,                                                                        \
    }
FFTN(fftn, OF_COMPLEX, -1, HK_FFT_FORWARD, "hk_fft along several axes, one after the other.");
FFTN(ifftn, OF_COMPLEX, 1, HK_FFT_BACKWARD, "The reverse of hk_fftn.");
FFTN(rfftn, OF_REAL, -1, HK_FFT_FORWARD,
     "hk_rfft along the last one of several axes, then hk_fft along the others.");
FFTN(irfftn, TO_REAL, 1, HK_FFT_BACKWARD,
     "The reverse of hk_rfftn: the last size is 2 (size - 1) by default; give odd ones.");

/* ---- frequencies ----------------------------------------------------------------------------------------------------- */

#define FREQUENCY_ARGUMENTS(F, op)                                                                 \
    F(op, INT, n, "", "length of the transform")                                                   \
    F(op, F64, distance, "", "between samples, such as 1")                                         \
    F(op, DTYPE, dtype, "", "dtype of the result, of floats")
HKI_ARGUMENTS(fftfreq, FREQUENCY_ARGUMENTS)
#define rfftfreq_params fftfreq_params
typedef hki_fftfreq_options hki_rfftfreq_options;

static bool infer_frequency(hki_call *call)
{
    const hki_fftfreq_options *o = call->options;
    const bool is_half = call->op == &hki_op_rfftfreq;
    if (o->n < 1 || o->n > (int64_t)1 << 48)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "n is %" PRId64 ", but must be from 1 to 2^48", o->n);
    if (!hki_dtype_is_real(o->dtype))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "dtype is %s, but must be of floats",
                               hk_dtype_name(o->dtype));
    call->out_shape[0] = (hk_dims){.ndim = 1, .dims = {is_half ? o->n / 2 + 1 : o->n}};
    call->out_dtype[0] = o->dtype;
    return true;
}

static hk_array *counted(const hki_call *call, double first, double end)
{
    const hki_arange_options range = {first, end, 1, HK_F64};
    return hki_op_call(&hki_op_arange, NULL, 0, &range, (hk_device){call->device}, NULL);
}

static hk_array *frequency_compose(const hki_call *call)
{
    const hki_fftfreq_options *o = call->options;
    const double n = (double)o->n, half = floor((n - 1) / 2) + 1;
    const double unit = n * o->distance;
    hk_array *places;
    if (call->op == &hki_op_rfftfreq)
        places = counted(call, 0, floor(n / 2) + 1);
    else
        places = hki_concat((hk_array *const[]){counted(call, 0, half), counted(call, half - n, 0)},
                            2, 0);
    hk_array *y = hki_op_call1(&hki_op_divide_scalar, places, &unit);
    return hki_op_call1(&hki_op_cast, y, &(const hk_dtype){o->dtype});
}

static void frequency_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_fftfreq_options *o = call->options;
    (void)in;
    for (int64_t i = 0; i < call->out_shape[0].dims[0]; i++) {
        const bool is_negative = call->op == &hki_op_fftfreq && 2 * i >= o->n + o->n % 2;
        out[0][i] = (double)(is_negative ? i - o->n : i) / ((double)o->n * o->distance);
    }
}

static const hki_sample fftfreq_samples[] = {
    {HKI_GIVEN(fftfreq, 8, 1, HK_F32)},
    {HKI_GIVEN(fftfreq, 7, 0.25, HK_F64)},
    {HKI_GIVEN(fftfreq, 1, 2, HK_F64)},
    {HKI_GIVEN(fftfreq, 2, 1, HK_F32)},
};
#define FREQUENCY(op, text)                                                                        \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        HKI_OP_PARAMS(op),                                                                         \
        HKI_OP_SAMPLES(fftfreq_samples),                                                           \
        .signature = "",                                                                           \
        .doc = text,                                                                               \
        .infer = infer_frequency,                                                                  \
        .compose = frequency_compose,                                                              \
        .reference = frequency_reference,                                                          \
        .tolerance_f32 = 1e-6,                                                                     \
        .no_grad_why = "it has no inputs",                                                         \
    }
FREQUENCY(
    fftfreq,
    "Frequencies of the elements of hk_fft, in cycles per unit of the distance: positive ones, "
    "then negative ones.");
FREQUENCY(rfftfreq, "Frequencies of the elements of hk_rfft, in cycles per unit of the distance.");

/* ---- shifts ------------------------------------------------------------------------------------------------------------ */

#define SHIFT_ARGUMENTS(F, op) F(op, DIMS, axes, "", "the axes; hk_shape(): all")
HKI_ARGUMENTS(fftshift, SHIFT_ARGUMENTS)
#define ifftshift_params fftshift_params
typedef hki_fftshift_options hki_ifftshift_options;

static bool infer_shift(hki_call *call)
{
    const hki_sum_options axes = {.axes = ((const hki_fftshift_options *)call->options)->axes};
    unsigned mask;
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return hki_reduce_mask(call, &axes, call->out_shape[0].ndim, &mask);
}

/* By how many entries an axis is rolled. */
static int64_t shift_of(const hki_call *call, int axis)
{
    const int64_t size = call->out_shape[0].dims[axis];
    return call->op == &hki_op_fftshift ? size / 2 : -(size / 2);
}

static unsigned shift_mask(const hki_call *call)
{
    const hki_sum_options axes = {.axes = ((const hki_fftshift_options *)call->options)->axes};
    return hki_reduce_mask_of(&axes, call->out_shape[0].ndim);
}

static hk_array *shift_compose(const hki_call *call)
{
    hk_array *x = call->arrays[0];
    const unsigned mask = shift_mask(call);
    bool is_new = false;
    for (int axis = 0; axis < call->out_shape[0].ndim; axis++) {
        const int64_t roll[] = {shift_of(call, axis), axis};
        if (mask >> axis & 1) {
            x = hki_op_call1(&hki_op_roll, x, roll);
            is_new = true;
        }
    }
    return is_new ? x : hki_op_call1(&hki_op_copy, x, NULL);
}

static void shift_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *shape = &call->out_shape[0];
    const unsigned mask = shift_mask(call);
    for (int64_t i = 0; i < call->inputs[0]->size; i++) {
        int64_t rest = i, to = 0, stride = 1;
        for (int axis = shape->ndim - 1; axis >= 0; axis--) {
            const int64_t size = shape->dims[axis],
                          by = mask >> axis & 1 ? shift_of(call, axis) : 0;
            to += (rest % size + by + size) % size * stride;
            rest /= size;
            stride *= size;
        }
        out[0][to] = in[0][i];
    }
}

static const hki_sample shift_samples[] = {
    {.inputs = {HKI_SHAPE(8)}, HKI_GIVEN(fftshift, .axes = HKI_SHAPE_0D)},
    {.inputs = {HKI_SHAPE(5, 4)}, HKI_GIVEN(fftshift, .axes = HKI_SHAPE_0D)},
    {.inputs = {HKI_SHAPE(5, 4)}, HKI_GIVEN(fftshift, .axes = HKI_SHAPE(-2))},
    {.inputs = {HKI_SHAPE(0, 3)}, HKI_GIVEN(fftshift, .axes = HKI_SHAPE(1))},
    {.inputs = {HKI_SHAPE_0D}, HKI_GIVEN(fftshift, .axes = HKI_SHAPE_0D)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 3, 4)},
     HKI_GIVEN(fftshift, .axes = HKI_SHAPE(0, 2))},
};
#define SHIFT(op, text)                                                                            \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        HKI_OP_PARAMS(op),                                                                         \
        HKI_OP_SAMPLES(shift_samples),                                                             \
        .signature = "x",                                                                          \
        .doc = text,                                                                               \
        .dtypes = HKI_ANY_DTYPE,                                                                   \
        .infer = infer_shift,                                                                      \
        .compose = shift_compose,                                                                  \
        .reference = shift_reference,                                                              \
    }
SHIFT(fftshift, "Axes rolled by half their size, so that frequency 0 comes to the middle.");
SHIFT(ifftshift, "The reverse of hk_fftshift.");
