/* Images and sequences of another size: along each axis, one after the other, entries of x and their weights. */
#include "base/option.h"
#include "op/pool/places.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define INTERPOLATE_OPTIONS(F, op)                                                                 \
    F(op, DIMS, size, "by scale", "sizes of the result's axes behind samples and channels")        \
    F(op, F64, scale, "1",                                                                         \
      "where no size is given: that of the result for each of x, rounded down")                    \
    F(op, INT, mode, "HK_INTERPOLATE_NEAREST", "an hk_interpolation")                              \
    F(op, INT, coordinates, "HK_COORDINATES_HALF_PIXEL", "an hk_coordinates")
HKI_OPTIONS(interpolate, INTERPOLATE_OPTIONS)

enum { MOST_TAPS = 4 };

static double scale_of(const hki_interpolate_options *o)
{
    return hki_option_or(o->scale, 1);
}

static bool infer(hki_call *call)
{
    const hki_interpolate_options *o = call->options;
    const hki_shape_view *x = call->inputs[0];
    const int spatial = x->shape.ndim - 2;
    const double scale = scale_of(o);
    char text[256];
    hki_dims_describe(&x->shape, text, sizeof text);
    if (spatial < 1 || spatial > 3)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x is %s, but needs 3 to 5 axes: samples, channels, and 1 to 3 "
                               "that are resized",
                               text);
    if (o->mode < HK_INTERPOLATE_NEAREST || o->mode > HK_INTERPOLATE_CUBIC)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "mode is %" PRId64 ", but must be an hk_interpolation, 0 to 2",
                               o->mode);
    if (o->coordinates < HK_COORDINATES_HALF_PIXEL || o->coordinates > HK_COORDINATES_ASYMMETRIC)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "coordinates is %" PRId64 ", but must be an hk_coordinates, 0 to 2",
                               o->coordinates);
    if (o->size.ndim && o->size.ndim != spatial)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "size has %d numbers, but x %s has %d axes that are resized",
                               o->size.ndim, text, spatial);
    if (o->size.ndim && hki_option_is_set(o->scale))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "scale is %g and size is given, but only one of them may be", scale);
    if (!(scale > 0) || !isfinite(scale))
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "scale is %g, but must be positive and finite", scale);
    call->out_shape[0] = x->shape;
    call->out_dtype[0] = x->dtype;
    for (int i = 0; i < spatial; i++) {
        const int64_t from = x->shape.dims[2 + i];
        const double to = o->size.ndim ? (double)o->size.dims[i] : floor((double)from * scale);
        if (!(to >= 1 && to <= INT32_MAX))
            return hki_call_refuse(call, HK_OUT_OF_RANGE,
                                   "%s makes %g of axis %d of x %s, but must make 1 to %d",
                                   o->size.ndim ? "size" : "scale", to, 2 + i, text, INT32_MAX);
        if (from == 0)
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   "x is %s, but axis %d must have an entry", text, 2 + i);
        call->out_shape[0].dims[2 + i] = (int64_t)to;
    }
    return true;
}

/* ---- one axis ------------------------------------------------------------------------------------------ */

/* What entry i of an axis is made of: so many entries of x's, and their weights. */
typedef struct entry {
    int64_t at[MOST_TAPS];
    double weights[MOST_TAPS];
} entry;

static int taps_of(const hki_interpolate_options *o)
{
    return o->mode == HK_INTERPOLATE_NEAREST ? 1 : o->mode == HK_INTERPOLATE_LINEAR ? 2 : 4;
}

/* Keys's kernel at distance t. */
static double cubic(double t)
{
    const double a = HKI_CUBIC;
    t = fabs(t);
    return t <= 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : ((t - 5) * t + 8) * t * a - 4 * a;
}

static int64_t clamp(double at, int64_t size)
{
    return at < 0 ? 0 : at >= (double)size ? size - 1 : (int64_t)at;
}

/* In x, of one entry. */
static double step_of(const hki_interpolate_options *o, int64_t from, int64_t to)
{
    return o->size.ndim ? (double)from / (double)to : 1 / scale_of(o);
}

static entry entry_of(const hki_interpolate_options *o, int64_t from, int64_t to, int64_t i)
{
    const double step = step_of(o, from, to);
    const bool aligns = o->coordinates == HK_COORDINATES_ALIGN_CORNERS;
    const bool is_half = o->coordinates == HK_COORDINATES_HALF_PIXEL;
    double at = aligns    ? to > 1 ? (double)i * (double)(from - 1) / (double)(to - 1) : 0
                : is_half ? ((double)i + 0.5) * step - 0.5
                          : (double)i * step;
    entry e = {{0}, {1, 0, 0, 0}};
    if (o->mode == HK_INTERPOLATE_NEAREST) {
        e.at[0] = clamp(aligns    ? ceil(at - 0.5)
                        : is_half ? floor(((double)i + 0.5) * step)
                                  : floor(at),
                        from);
        return e;
    }
    if (o->mode == HK_INTERPOLATE_LINEAR)
        at = fmin(fmax(at, 0), (double)(from - 1));
    const double low = floor(at), along = at - low;
    if (o->mode == HK_INTERPOLATE_LINEAR) {
        for (int k = 0; k < 2; k++) {
            e.at[k] = clamp(low + k, from);
            e.weights[k] = k ? along : 1 - along;
        }
        return e;
    }
    for (int k = 0; k < MOST_TAPS; k++) {
        e.at[k] = clamp(low + k - 1, from);
        e.weights[k] = cubic(along + 1 - k);
    }
    return e;
}

static bool is_unchanged(const hki_interpolate_options *o, int64_t from, int64_t to)
{
    for (int64_t i = 0; i < to && from == to; i++) {
        const entry e = entry_of(o, from, to, i);
        for (int k = 0; k < taps_of(o); k++)
            if (e.weights[k] != 0 && (e.at[k] != i || e.weights[k] != 1))
                return false;
    }
    return from == to;
}

/* entry_of for all i, by operators, so that captured steps and GPUs can do it. */
static hk_array *resized(const hki_call *call, hk_array *x, int axis)
{
    const hki_interpolate_options *o = call->options;
    const int64_t from = x->shape.dims[axis], to = call->out_shape[0].dims[axis], along_axis = axis;
    const bool aligns = o->coordinates == HK_COORDINATES_ALIGN_CORNERS;
    const bool is_half = o->coordinates == HK_COORDINATES_HALF_PIXEL;
    const double step = step_of(o, from, to);
    const int taps = taps_of(o);
    const hk_dims column = {.ndim = x->shape.ndim - axis, .dims = {to, 1, 1, 1}};
    hk_array *at = hki_counted(call, to, HK_F64);
    if (aligns)
        at = hki_op_call_number(&hki_op_divide_scalar, hki_times(at, (double)(from - 1)),
                                to > 1 ? (double)(to - 1) : 1);
    else
        at = hki_times(is_half ? hki_plus(at, 0.5) : at, step);
    if (is_half && taps > 1)
        at = hki_plus(at, -0.5);
    if (taps == 2)
        at = hki_clipped(at, 0, (double)(from - 1));
    const bool is_rounded = taps == 1 && aligns;
    hk_array *low = hki_op_call1(is_rounded ? &hki_op_ceil : &hki_op_floor,
                                 is_rounded ? hki_plus(at, -0.5) : at, NULL);
    hk_array *along = taps > 1 ? hki_op_call2(&hki_op_subtract, at, low, NULL) : NULL, *y = NULL;
    for (int k = 0; k < taps; k++) {
        hk_array *places = hki_clipped(taps == 4 ? hki_plus(low, k - 1)
                                       : k       ? hki_plus(low, k)
                                                 : low,
                                       0, (double)(from - 1));
        hk_array *part = hki_op_call2(&hki_op_index_select, x, hki_as(places, HK_I64), &along_axis);
        if (taps > 1) {
            hk_array *weights = taps == 4 ? hki_cubic_tap(along, k)
                                : k       ? along
                                          : hki_less(1, along);
            part = hki_product(part, hki_shaped(hki_as(weights, x->dtype), column));
        }
        y = y ? hki_op_call2(&hki_op_add, y, part, NULL) : part;
    }
    return y;
}

static hk_array *compose(const hki_call *call)
{
    hk_array *x = call->arrays[0], *y = x;
    for (int axis = 2; axis < call->out_shape[0].ndim && !y->failed; axis++)
        if (!is_unchanged(call->options, y->shape.dims[axis], call->out_shape[0].dims[axis]))
            y = resized(call, y, axis);
    return y == x ? hki_op_call1(&hki_op_copy, x, NULL) : y;
}

/* All axes at once: the sum over the entries along each, 1 for axes that are not there. */
static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_interpolate_options *o = call->options;
    const hk_dims *x = &call->inputs[0]->shape, *y = &call->out_shape[0];
    const int spatial = x->ndim - 2, taps = taps_of(o);
    int64_t from[3] = {1, 1, 1}, to[3] = {1, 1, 1};
    for (int i = 0; i < spatial; i++) {
        from[3 - spatial + i] = x->dims[2 + i];
        to[3 - spatial + i] = y->dims[2 + i];
    }
    const int64_t planes = x->dims[0] * x->dims[1], pixels = to[0] * to[1] * to[2];
    for (int64_t i = 0; i < planes * pixels; i++) {
        const double *plane = in[0] + i / pixels * from[0] * from[1] * from[2];
        const int64_t at[3] = {i / to[2] / to[1] % to[0], i / to[2] % to[1], i % to[2]};
        entry e[3];
        for (int axis = 0; axis < 3; axis++)
            e[axis] = axis < 3 - spatial ? (entry){{0}, {1, 0, 0, 0}}
                                         : entry_of(o, from[axis], to[axis], at[axis]);
        double sum = 0;
        for (int k = 0; k < taps * taps * taps; k++) {
            const int a = k / taps / taps, b = k / taps % taps, c = k % taps;
            sum += e[0].weights[a] * e[1].weights[b] * e[2].weights[c] *
                   plane[(e[0].at[a] * from[1] + e[1].at[b]) * from[2] + e[2].at[c]];
        }
        out[0][i] = sum;
    }
}

#define GIVEN(...)                                                                                 \
    &(const hki_interpolate_options)                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define LINEAR  .mode = HK_INTERPOLATE_LINEAR
#define CUBIC   .mode = HK_INTERPOLATE_CUBIC
#define ALIGNED .coordinates = HK_COORDINATES_ALIGN_CORNERS
#define PLACED  .coordinates = HK_COORDINATES_ASYMMETRIC
static const hki_sample samples[] = {
    {.inputs = {HKI_SHAPE(2, 3, 4, 5)}, .options = GIVEN(.scale = 2)},
    {.inputs = {HKI_SHAPE(2, 3, 5, 7)}, .options = GIVEN(.size = HKI_SHAPE(3, 10), PLACED)},
    {.inputs = {HKI_SHAPE(2, 3, 5, 7)}, .options = GIVEN(.size = HKI_SHAPE(1, 10), ALIGNED)},
    {.inputs = {HKI_SHAPE(1, 2, 4, 5)}},
    {.inputs = {HKI_SHAPE(2, 2, 5)}, .options = GIVEN(.scale = 1.7, LINEAR)},
    {.inputs = {HKI_SHAPE(2, 2, 4, 5)}, .options = GIVEN(.size = HKI_SHAPE(7, 3), LINEAR)},
    {.inputs = {HKI_SHAPE(1, 2, 4, 5)}, .options = GIVEN(.size = HKI_SHAPE(7, 3), LINEAR, ALIGNED)},
    {.inputs = {HKI_SHAPE(1, 2, 4, 5)}, .options = GIVEN(.scale = 1.5, LINEAR, PLACED)},
    {.inputs = {HKI_SHAPE(1, 2, 2, 3, 2)}, .options = GIVEN(.size = HKI_SHAPE(3, 2, 4), LINEAR)},
    {.inputs = {HKI_SHAPE(0, 2, 4, 5)}, .options = GIVEN(.scale = 2, LINEAR)},
    {.inputs = {HKI_SHAPE(2, 2, 4, 5)}, .options = GIVEN(.size = HKI_SHAPE(7, 3), CUBIC)},
    {.inputs = {HKI_SHAPE(1, 1, 4, 1)}, .options = GIVEN(.size = HKI_SHAPE(6, 3), CUBIC, ALIGNED)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 3, 4, 5)},
     .options = GIVEN(.scale = 0.5, CUBIC, PLACED)},
};

const hk_op hki_op_interpolate = {
    HKI_OP_NAMED(interpolate),
    HKI_OP_PARAMS(interpolate),
    HKI_OP_SAMPLES(samples),
    .signature = "x",
    .doc = "x (n,channels,height,width), or of one or three axes behind the channels, made larger "
           "or smaller: (n,channels,size[0],size[1]), or by scale. An element is made of the "
           "nearest one of x, or of 2 or 4 along each axis, by mode; coordinates says where in x "
           "it lies. Beyond the ends x has the entries at its ends. The nearest one is, with half "
           "pixels, that in which the middle of the element lies; with corners aligned, of two "
           "the first; asymmetric, the one before.",
    .formula = "y[n,c,i,j] = sum over a, b of weight(i,a) weight(j,b) x[n,c,a,b]",
    .dtypes = HKI_FLOATS,
    .infer = infer,
    .compose = compose,
    .reference = reference,
    .tolerance_f32 = 1e-5,
};
